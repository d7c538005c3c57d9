/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * How often each byte of the memory that may hold payload is loaded and stored.
 *
 * Such memory is an array of buffers, `stride` bytes each. Bytes at the same place of
 * their buffer are counted together: where payload begins behind which headers is
 * for the lab to say, afterwards. With a stride of 0 all bytes are counted together.
 *
 * In a heap, where payload may lie anywhere, only those bytes count that the last store
 * to them was a copying function's: what headers are made of is stored by others.
 */
#ifndef LAB_PLUGIN_BUFFERS_H
#define LAB_PLUGIN_BUFFERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Takes `buffers ADDRESS SIZE STRIDE NAME` or `heap ADDRESS SIZE NAME`, in hexadecimal;
 * false: it is neither. */
bool buffers_take_line(const char *line);

void buffers_note(uint64_t address, unsigned size, bool is_store, bool is_copying);
void buffers_clear(void);

/* [{"name":,"loads":[[PLACE,LENGTH,TIMES],...],"stores":[...]},...], where each of
 * the LENGTH bytes from PLACE on was loaded or stored that often in all buffers. */
void buffers_write(FILE *out);

#endif
