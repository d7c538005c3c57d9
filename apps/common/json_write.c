/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Writes JSON into a buffer: what is behind the end is counted nowhere, and told once. */
#include "json.h"

static void put(struct json_writer *w, char c) {
    if (w->length == w->room)
        w->overflow = true;
    else
        w->to[w->length++] = c;
}

static void put_text(struct json_writer *w, const char *text) {
    for (; *text; text++)
        put(w, *text);
}

static void put_string(struct json_writer *w, const char *string) {
    put(w, '"');
    for (; *string; string++) {
        unsigned c = (unsigned char)*string;
        if (c < ' ') {
            put_text(w, "\\u00");
            put(w, "01"[c >> 4]);
            put(w, "0123456789abcdef"[c & 15]);
            continue;
        }
        if (c == '"' || c == '\\')
            put(w, '\\');
        put(w, (char)c);
    }
    put(w, '"');
}

/* At least one digit before the point, all `decimals` behind it. */
static void put_number(struct json_writer *w, uint64_t value, unsigned decimals) {
    char digits[24];
    unsigned count = 0;
    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value || (count <= decimals && count < sizeof digits));
    while (count) {
        if (count == decimals)
            put(w, '.');
        put(w, digits[--count]);
    }
}

static void begin_value(struct json_writer *w, const char *name) {
    if (w->follows)
        put(w, ',');
    w->follows = true;
    if (!name)
        return;
    put_string(w, name);
    put(w, ':');
}

void json_write_begin(struct json_writer *w, char *to, size_t room) {
    *w = (struct json_writer){.to = to, .room = room};
}

void json_write_open(struct json_writer *w, const char *name, char bracket) {
    begin_value(w, name);
    put(w, bracket);
    w->follows = false;
}

void json_write_close(struct json_writer *w, char bracket) {
    put(w, bracket);
    w->follows = true;
}

void json_write_string(struct json_writer *w, const char *name, const char *string) {
    begin_value(w, name);
    put_string(w, string);
}

void json_write_true(struct json_writer *w, const char *name) {
    begin_value(w, name);
    put_text(w, "true");
}

void json_write_unsigned(struct json_writer *w, const char *name, uint64_t value) {
    json_write_fixed(w, name, value, 0);
}

void json_write_signed(struct json_writer *w, const char *name, int64_t value) {
    begin_value(w, name);
    if (value < 0)
        put(w, '-');
    put_number(w, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 0);
}

void json_write_fixed(struct json_writer *w, const char *name, uint64_t value, unsigned decimals) {
    begin_value(w, name);
    put_number(w, value, decimals);
}
