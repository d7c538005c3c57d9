/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Reads JSON.
 *
 * check() goes through a text from a stranger once, with a bit per level that says whether an
 * object or an array is open: it is the only part that can find an end too soon. Everything
 * behind it goes through a checked text, where each string has its end and each bracket its
 * partner, and looks at the first byte of a value to know what it is.
 */
#include "json.h"

static const char *skip_space(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    return at;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_one_of(char c, const char *set) {
    while (*set && *set != c)
        set++;
    return *set;
}

/* ---- the check ---- */

struct scan {
    const char *at, *end;
    const char *wrong;
    unsigned depth;
    uint32_t objects; /* bit n: what is open at depth n is an object */
};

_Static_assert(JSON_DEPTH <= 32, "a bit per level");

static bool fail(struct scan *s, const char *wrong) {
    s->wrong = wrong;
    return false;
}

static bool has(const struct scan *s, char c) {
    return s->at < s->end && *s->at == c;
}

static bool take_word(struct scan *s, const char *word) {
    for (; *word; word++, s->at++)
        if (!has(s, *word))
            return fail(s, "unknown word");
    return true;
}

static bool take_digits(struct scan *s) {
    const char *first = s->at;
    while (s->at < s->end && is_digit(*s->at))
        s->at++;
    return s->at > first || fail(s, "number without a digit");
}

static bool take_number(struct scan *s) {
    if (has(s, '-'))
        s->at++;
    if (has(s, '0'))
        s->at++;
    else if (!take_digits(s))
        return false;
    if (has(s, '.')) {
        s->at++;
        if (!take_digits(s))
            return false;
    }
    if (!has(s, 'e') && !has(s, 'E'))
        return true;
    s->at++;
    if (has(s, '+') || has(s, '-'))
        s->at++;
    return take_digits(s);
}

static bool take_escape(struct scan *s) {
    s->at++;
    if (s->at == s->end || !is_one_of(*s->at, "\"\\/bfnrtu"))
        return fail(s, "unknown escape");
    if (*s->at++ != 'u')
        return true;
    for (unsigned i = 0; i < 4; i++, s->at++)
        if (s->at == s->end || !is_hex(*s->at))
            return fail(s, "unknown escape");
    return true;
}

static bool take_string(struct scan *s) {
    if (!has(s, '"'))
        return fail(s, "no string where one has to be");
    for (s->at++; s->at < s->end && *s->at != '"';) {
        if ((unsigned char)*s->at < ' ')
            return fail(s, "control character in a string");
        if (*s->at != '\\')
            s->at++;
        else if (!take_escape(s))
            return false;
    }
    if (s->at == s->end)
        return fail(s, "string without end");
    s->at++;
    return true;
}

static bool take_scalar(struct scan *s) {
    switch (s->at < s->end ? *s->at : 0) {
    case '"':
        return take_string(s);
    case 't':
        return take_word(s, "true");
    case 'f':
        return take_word(s, "false");
    case 'n':
        return take_word(s, "null");
    case 0:
        return fail(s, s->at == s->end ? "no value where one has to be" : "null character");
    default:
        return take_number(s);
    }
}

/* A member's name and its colon. */
static bool take_name(struct scan *s) {
    s->at = skip_space(s->at, s->end);
    if (!take_string(s))
        return false;
    s->at = skip_space(s->at, s->end);
    if (!has(s, ':'))
        return fail(s, "no colon behind a name");
    s->at++;
    return true;
}

static bool is_in_object(const struct scan *s) {
    return s->objects >> (s->depth - 1) & 1;
}

/* True with `opened` set: it is open, and its first value comes; else it was empty. */
static bool open_bracket(struct scan *s, bool *opened) {
    bool object = *s->at == '{';
    if (s->depth == JSON_DEPTH)
        return fail(s, "nested too deep");
    s->at = skip_space(s->at + 1, s->end);
    *opened = !has(s, object ? '}' : ']');
    if (!*opened) {
        s->at++;
        return true;
    }
    s->objects = (s->objects & ~(1U << s->depth)) | (uint32_t)object << s->depth;
    s->depth++;
    return !object || take_name(s);
}

/* Behind a value: true, and at the next value of what is open, or at depth 0. */
static bool end_value(struct scan *s) {
    while (s->depth) {
        bool object = is_in_object(s);
        s->at = skip_space(s->at, s->end);
        if (has(s, ',')) {
            s->at++;
            return !object || take_name(s);
        }
        if (!has(s, object ? '}' : ']'))
            return fail(s, "neither comma nor end behind a value");
        s->at++;
        s->depth--;
    }
    return true;
}

static bool check(struct scan *s) {
    do {
        bool opened = false;
        s->at = skip_space(s->at, s->end);
        bool right = has(s, '{') || has(s, '[') ? open_bracket(s, &opened) : take_scalar(s);
        if (!right || (!opened && !end_value(s)))
            return false;
    } while (s->depth);
    s->at = skip_space(s->at, s->end);
    return s->at == s->end || fail(s, "something behind the value");
}

const char *json_read(struct json *value, const char *text, size_t length) {
    struct scan scan = {.at = text, .end = text + length};
    if (!check(&scan)) {
        *value = (struct json){scan.at, scan.at};
        return scan.wrong;
    }
    *value = (struct json){skip_space(text, scan.end), scan.end};
    return NULL;
}

/* ---- values of a checked text ---- */

enum json_type json_type(struct json value) {
    switch (value.at < value.end ? *value.at : 0) {
    case 0:
        return JSON_ABSENT;
    case 'n':
        return JSON_NULL;
    case 'f':
        return JSON_FALSE;
    case 't':
        return JSON_TRUE;
    case '"':
        return JSON_STRING;
    case '[':
        return JSON_ARRAY;
    case '{':
        return JSON_OBJECT;
    default:
        return JSON_NUMBER;
    }
}

static const char *skip_string(const char *at) {
    for (at++; *at != '"'; at++)
        at += *at == '\\';
    return at + 1;
}

/* Behind a value that has something behind it: it is within an array or an object. */
static const char *skip_value(const char *at) {
    unsigned depth = 0;
    for (;;) {
        if (*at == '"') {
            at = skip_string(at);
            if (!depth)
                return at;
            continue;
        }
        if (!depth && is_one_of(*at, ",]} \t\n\r"))
            return at;
        depth += *at == '{' || *at == '[';
        if (*at == '}' || *at == ']') {
            if (!--depth)
                return at + 1;
        }
        at++;
    }
}

/* The value behind a comma, or absent at a bracket's end. */
static struct json behind_comma(const char *at, const char *end) {
    at = skip_space(at, end);
    return (struct json){*at == ',' ? skip_space(at + 1, end) : end, end};
}

struct json json_first(struct json array) {
    const struct json absent = {array.end, array.end};
    if (json_type(array) != JSON_ARRAY)
        return absent;
    const char *at = skip_space(array.at + 1, array.end);
    return *at == ']' ? absent : (struct json){at, array.end};
}

struct json json_next(struct json element) {
    return behind_comma(skip_value(element.at), element.end);
}

static bool is_named(const char *quoted, const char *name) {
    for (quoted++; *name && *quoted == *name; quoted++)
        name++;
    return !*name && *quoted == '"';
}

struct json json_member(struct json object, const char *name) {
    const struct json absent = {object.end, object.end};
    if (json_type(object) != JSON_OBJECT)
        return absent;
    struct json member = {skip_space(object.at + 1, object.end), object.end};
    while (member.at < member.end && *member.at == '"') {
        const char *value = skip_space(skip_string(member.at), member.end) + 1;
        value = skip_space(value, member.end);
        if (is_named(member.at, name))
            return (struct json){value, object.end};
        member = behind_comma(skip_value(value), member.end);
    }
    return absent;
}

bool json_is_string(struct json value, const char *string) {
    return json_type(value) == JSON_STRING && is_named(value.at, string);
}

/* ---- numbers ---- */

/* The exponent of ten, no further from zero than a thousand. */
static int read_exponent(const char *at, const char *end) {
    int exponent = 0;
    bool negative = *at == '-';
    at += *at == '-' || *at == '+';
    for (; at < end && is_digit(*at); at++)
        if (exponent < 1000)
            exponent = exponent * 10 + (*at - '0');
    exponent = exponent < 1000 ? exponent : 1000;
    return negative ? -exponent : exponent;
}

static void append_digit(uint64_t *magnitude, unsigned digit) {
    const uint64_t most = UINT64_MAX;
    *magnitude = *magnitude > (most - digit) / 10 ? most : *magnitude * 10 + digit;
}

bool json_number(struct json value, unsigned decimals, struct json_number *number) {
    const char *at = value.at, *exponent;
    *number = (struct json_number){0};
    if (json_type(value) != JSON_NUMBER)
        return false;
    number->negative = *at == '-';
    at += number->negative;
    for (exponent = at; exponent < value.end && (is_digit(*exponent) || *exponent == '.');)
        exponent++;
    int shift = (int)decimals; /* digits behind the point that count */
    if (exponent < value.end && (*exponent == 'e' || *exponent == 'E'))
        shift += read_exponent(exponent + 1, value.end);
    const char *point = at;
    while (point < exponent && *point != '.')
        point++;
    long left = (point - at) + shift; /* digits that count */
    for (; at < exponent && left > 0; at++) {
        if (*at == '.')
            continue;
        append_digit(&number->magnitude, (unsigned)(*at - '0'));
        left--;
    }
    for (; left > 0 && number->magnitude && number->magnitude != UINT64_MAX; left--)
        append_digit(&number->magnitude, 0);
    return true;
}
