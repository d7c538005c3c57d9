/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Stands for newlib's own, of which its memcpy takes one name: how it keeps its compiler
 * from making calls of its loops. Here a flag does. */
#define __inhibit_loop_to_libcall
