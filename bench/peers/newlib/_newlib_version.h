/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Stands for the other file that newlib's configure makes. */
