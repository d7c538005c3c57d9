/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Stands for the file that newlib's configure makes, of which its memcpy takes nothing;
 * and tells it of a processor that came after it. */
#ifdef __loongarch__
#define __IEEE_LITTLE_ENDIAN
#endif
