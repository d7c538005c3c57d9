/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * board_print: formatting for the console, over board_write.
 *
 * Takes %s %c %d %u %x %lu %lx %llu %llx %I %M %%, a width and a leading zero.
 * What is printed is gathered in a short buffer on the stack, so that a line is
 * few calls of board_write; a longer line is several, never cut.
 */
#include "board.h"

struct output {
    unsigned length;
    char bytes[96];
};

struct field {
    unsigned width;
    bool zero;
    unsigned longs; /* how many l stood before the letter */
};

static void flush(struct output *out) {
    if (out->length)
        board_write(out->bytes, out->length);
    out->length = 0;
}

static void put(struct output *out, char c) {
    if (out->length == sizeof out->bytes)
        flush(out);
    out->bytes[out->length++] = c;
}

static void put_text(struct output *out, const char *text, unsigned width) {
    unsigned length = 0;
    while (text[length])
        length++;
    for (; width > length; width--)
        put(out, ' ');
    for (; *text; text++)
        put(out, *text);
}

/* In 32 bits when the value fits: a 64-bit division is a long call on most targets. */
static unsigned take_digit(uint64_t *value, unsigned base) {
    unsigned digit;
    if (*value >> 32) {
        digit = (unsigned)(*value % base);
        *value /= base;
    } else {
        uint32_t small = (uint32_t)*value;
        digit = small % base;
        *value = small / base;
    }
    return digit;
}

static void put_number(struct output *out, uint64_t value, unsigned base, bool negative,
                       const struct field *field) {
    char digits[24];
    unsigned count = 0;
    do
        digits[count++] = "0123456789abcdef"[take_digit(&value, base)];
    while (value);
    unsigned padding = field->width > count + negative ? field->width - count - negative : 0;
    for (; padding && !field->zero; padding--)
        put(out, ' ');
    if (negative)
        put(out, '-');
    for (; padding; padding--)
        put(out, '0');
    while (count)
        put(out, digits[--count]);
}

static void put_ipv4(struct output *out, uint32_t be) {
    static const struct field plain = {0};
    uint32_t address = PLUMB_SWAP32(be);
    for (unsigned shift = 24;; shift -= 8) {
        put_number(out, address >> shift & 0xff, 10, false, &plain);
        if (!shift)
            return;
        put(out, '.');
    }
}

static void put_ethernet(struct output *out, const struct plumb_ethernet_address *address) {
    static const struct field two = {.width = 2, .zero = true};
    for (unsigned i = 0; i < 3; i++) {
        uint16_t half = PLUMB_SWAP16(address->half[i]);
        if (i)
            put(out, ':');
        put_number(out, half >> 8, 16, false, &two);
        put(out, ':');
        put_number(out, half & 0xff, 16, false, &two);
    }
}

static const char *parse_field(const char *format, struct field *field) {
    *field = (struct field){0};
    if (*format == '0') {
        field->zero = true;
        format++;
    }
    for (; *format >= '0' && *format <= '9'; format++)
        field->width = 10 * field->width + (unsigned)(*format - '0');
    for (; *format == 'l'; format++)
        field->longs++;
    return format;
}

static uint64_t unsigned_argument(va_list *arguments, unsigned longs) {
    if (longs == 0)
        return va_arg(*arguments, unsigned);
    if (longs == 1)
        return va_arg(*arguments, unsigned long);
    return va_arg(*arguments, unsigned long long);
}

static int64_t signed_argument(va_list *arguments, unsigned longs) {
    if (longs == 0)
        return va_arg(*arguments, int);
    if (longs == 1)
        return va_arg(*arguments, long);
    return va_arg(*arguments, long long);
}

static void put_signed(struct output *out, int64_t value, const struct field *field) {
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    put_number(out, magnitude, 10, value < 0, field);
}

static void put_argument(struct output *out, char letter, const struct field *field,
                         va_list *arguments) {
    switch (letter) {
    case 's':
        put_text(out, va_arg(*arguments, const char *), field->width);
        break;
    case 'c':
        put(out, (char)va_arg(*arguments, int));
        break;
    case 'd':
        put_signed(out, signed_argument(arguments, field->longs), field);
        break;
    case 'u':
        put_number(out, unsigned_argument(arguments, field->longs), 10, false, field);
        break;
    case 'x':
        put_number(out, unsigned_argument(arguments, field->longs), 16, false, field);
        break;
    case 'I':
        put_ipv4(out, va_arg(*arguments, uint32_t));
        break;
    case 'M':
        put_ethernet(out, va_arg(*arguments, const struct plumb_ethernet_address *));
        break;
    default: /* also %% */
        put(out, letter);
    }
}

void(board_print)(const char *format, ...) {
    struct output out = {.length = 0};
    va_list arguments;
    va_start(arguments, format);
    while (*format) {
        struct field field;
        char c = *format++;
        if (c != '%') {
            put(&out, c);
            continue;
        }
        format = parse_field(format, &field);
        if (*format)
            put_argument(&out, *format++, &field, &arguments);
    }
    va_end(arguments);
    flush(&out);
}
