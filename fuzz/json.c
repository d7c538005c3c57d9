/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * JSON texts that end where memory does: one that passes is walked through, value by value,
 * each within the text and within the one it belongs to; one that does not has its mistake
 * within the text.
 *
 * The input is a byte, with which number of decimals numbers are asked for, and the text.
 */
#include <stdlib.h>
#include <string.h>

#include <stdio.h>

#include "json.h"

enum { VALUES_MOST = 20000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned decimals, visited;

static void expect_that(bool right, const char *what) {
    if (right)
        return;
    fprintf(stderr, "json: %s\n", what);
    abort();
}

static bool is_within(struct json value, struct json outer) {
    return value.at >= outer.at && value.at < value.end && value.end <= outer.end;
}

/* Asks everything of a value, whatever it is. */
static void ask(struct json value) {
    static const char *const names[] = {"a", "", "streams", "cpu_util_total", "\\u0061"};
    struct json_number number, whole;

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        struct json member = json_member(value, names[i]);
        expect_that(json_type(member) == JSON_ABSENT || is_within(member, value),
                    "a member outside of its object");
        expect_that(json_type(value) == JSON_OBJECT || json_type(member) == JSON_ABSENT,
                    "a member of what is no object");
    }
    bool is_number = json_number(value, decimals, &number);
    expect_that(is_number == (json_type(value) == JSON_NUMBER), "a number that is none");
    expect_that(is_number || (!number.magnitude && !number.negative), "what is no number is not 0");
    if (is_number) {
        json_number(value, 0, &whole);
        expect_that(whole.magnitude <= number.magnitude, "decimals make a number smaller");
        expect_that(whole.negative == number.negative, "decimals change a sign");
    }
    json_is_string(value, "reno");
}

/* Element by element, and in arrays within arrays again: json.h cannot be asked for all the
 * members of an object. */
static void walk(struct json value, unsigned depth) {
    expect_that(depth <= JSON_DEPTH, "deeper than can be");
    expect_that(++visited <= VALUES_MOST, "there is no end to it");
    ask(value);
    for (struct json element = json_first(value); json_type(element) != JSON_ABSENT;
         element = json_next(element)) {
        expect_that(json_type(value) == JSON_ARRAY, "an element of what is no array");
        expect_that(is_within(element, value), "an element outside of its array");
        walk(element, depth + 1);
    }
    struct json inner = json_member(value, "a");
    if (json_type(inner) != JSON_ABSENT)
        walk(inner, depth + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct json value;

    if (!size)
        return 0;
    char *text = malloc(size - 1);
    decimals = data[0] % 12;
    visited = 0;
    if (size > 1)
        memcpy(text, data + 1, size - 1);
    if (json_read(&value, text, size - 1)) {
        expect_that(value.at >= text && value.at <= text + size - 1, "a mistake outside");
    } else {
        expect_that(is_within(value, (struct json){text, text + size - 1}), "a value outside");
        expect_that(json_type(value) != JSON_ABSENT, "a text that is no value");
        walk(value, 0);
    }
    free(text);
    return 0;
}
