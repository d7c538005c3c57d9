/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * JSON (RFC 8259) for applications: a reader of a text that lies in memory, and a writer into
 * a buffer. Neither allocates nor recurses, and neither uses floating point.
 *
 * A text is checked once, as a whole, by json_read(); the values in it are then pieces of the
 * text, and nothing that is asked of them can fail but by being of another type. The reader is
 * strict, but for this: bytes from 0x80 on are taken as they are, UTF-8 or not, and of two
 * members of one name the first counts.
 */
#ifndef PLUMB_APPS_JSON_H
#define PLUMB_APPS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JSON_DEPTH = 16 }; /* arrays and objects within each other */

enum json_type {
    JSON_ABSENT, /* no value at all: a member that there is not */
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

/* A value: where it stands in a checked text, and where that ends. */
struct json {
    const char *at, *end;
};

/* Checks a text of `length` bytes, which is one value and white space around it. Null, and
 * `value` stands for it; or what is wrong, in words ("nested too deep"), and `value->at` says
 * where. The text must outlive its values. */
const char *json_read(struct json *value, const char *text, size_t length);

enum json_type json_type(struct json value);

/* The member of an object, or absent: also of what is no object. Names are compared byte by
 * byte, as they are written: one with an escape is not found. */
struct json json_member(struct json object, const char *name);

/* The first element of an array, and the one behind another; absent behind the last, and of
 * what is no array. */
struct json json_first(struct json array);
struct json json_next(struct json element);

/* A number times 10^decimals, cut off behind the point; beyond 64 bits, the largest value. */
struct json_number {
    uint64_t magnitude;
    bool negative;
};

/* False, and zero: it is no number. */
bool json_number(struct json value, unsigned decimals, struct json_number *number);

/* Whether it is this string, which has nothing that is written as an escape. */
bool json_is_string(struct json value, const char *string);

/* Writes a text; what does not fit is not written, and `overflow` says so. */
struct json_writer {
    char *to;
    size_t room;
    size_t length;
    bool follows; /* a comma stands before the next value */
    bool overflow;
};

void json_write_begin(struct json_writer *writer, char *to, size_t room);

/* Each with its name in an object, and with null in an array or alone. `bracket` is '{' or
 * '['; closing takes '}' or ']'. */
void json_write_open(struct json_writer *writer, const char *name, char bracket);
void json_write_close(struct json_writer *writer, char bracket);
void json_write_string(struct json_writer *writer, const char *name, const char *string);
void json_write_true(struct json_writer *writer, const char *name);
void json_write_unsigned(struct json_writer *writer, const char *name, uint64_t value);
void json_write_signed(struct json_writer *writer, const char *name, int64_t value);
/* value / 10^decimals. */
void json_write_fixed(struct json_writer *writer, const char *name, uint64_t value,
                      unsigned decimals);

#endif
