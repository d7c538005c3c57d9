/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The applications' JSON: texts that are right and wrong, each in memory of exactly its
 * length, so that the sanitizers see whoever reads on.
 */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "json.h"

/* What is wrong with a text; null: nothing. */
static const char *wrong_with(const char *text, size_t length) {
    char *exact = malloc(length ? length : 1);
    struct json value;
    memcpy(exact, text, length);
    const char *wrong = json_read(&value, exact, length);
    if (wrong)
        expect(value.at >= exact && value.at <= exact + length && json_type(value) == JSON_ABSENT);
    free(exact);
    return wrong;
}

static void expect_wrong(const char *text, const char *wrong) {
    const char *said = wrong_with(text, strlen(text));
    if (!said || strcmp(said, wrong))
        fail_msg("of %s it says: %s; and not: %s", text, said ? said : "nothing", wrong);
}

static struct json right(const char *text) {
    struct json value;
    const char *wrong = json_read(&value, text, strlen(text));
    if (wrong)
        fail_msg("of %s it says: %s", text, wrong);
    return value;
}

static void texts_that_are_right(void **state) {
    (void)state;
    const char *texts[] = {
        "{}",
        "[]",
        " [ ] ",
        "0",
        "-0",
        "1.5e-3",
        "1E+9",
        "\"\"",
        "\"\\u00e4\\n\\\\\"",
        "true",
        "false",
        "null",
        "[[],[[]],{}]",
        "{\"a\":{\"b\":[1,2,{\"c\":null}]},\"d\":\"}\"}",
        "\t{ \"a\" : 1 , \"b\" : [ 1 , 2 ] }\r\n",
        "\"\x80\xff\"",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        right(texts[i]);
}

static void texts_that_are_wrong(void **state) {
    (void)state;
    const char value[] = "no value where one has to be", name[] = "no string where one has to be";
    const char digit[] = "number without a digit", behind[] = "something behind the value";
    const char *cases[][2] = {
        {"", value},
        {"  ", value},
        {"[", value},
        {"[1,", value},
        {"[,1]", digit},
        {"[1,]", digit},
        {"{\"a\":", value},
        {"{\"a\"}", "no colon behind a name"},
        {"{1:2}", name},
        {"{", name},
        {"{\"a\":1,}", name},
        {"[1 2]", "neither comma nor end behind a value"},
        {"[1}", "neither comma nor end behind a value"},
        {"{\"a\":1]", "neither comma nor end behind a value"},
        {"1 2", behind},
        {"{}}", behind},
        {"01", behind},
        {"-", digit},
        {"1.", digit},
        {"1e", digit},
        {".5", digit},
        {"+1", digit},
        {"NaN", digit},
        {"tru", "unknown word"},
        {"nul]", "unknown word"},
        {"\"a", "string without end"},
        {"\"\\x\"", "unknown escape"},
        {"\"\\u12g4\"", "unknown escape"},
        {"\"\\", "unknown escape"},
        {"\"a\nb\"", "control character in a string"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_wrong(cases[i][0], cases[i][1]);
    assert_string_equal(wrong_with("[\0]", 3), "null character");
}

static void a_text_cut_anywhere_is_wrong(void **state) {
    (void)state;
    const char text[] = "{\"a\":[1,-2.5e+3,{\"b\":\"\\u00e4\\n\"}],\"c\":true,\"d\":null}";
    for (size_t length = 0; length < sizeof text - 1; length++)
        assert_non_null(wrong_with(text, length));
    assert_null(wrong_with(text, sizeof text - 1));
}

static void nesting_has_an_end(void **state) {
    (void)state;
    static char text[1 << 20];
    memset(text, '[', sizeof text);
    assert_string_equal(wrong_with(text, sizeof text), "nested too deep");
    memset(text + JSON_DEPTH, ']', JSON_DEPTH);
    assert_null(wrong_with(text, 2 * JSON_DEPTH));
    text[JSON_DEPTH] = '[';
    assert_non_null(wrong_with(text, 2 * JSON_DEPTH + 2));
}

static void members_are_found(void **state) {
    (void)state;
    struct json object =
        right(" { \"skip\" : [ {\"time\":1}, \"}\\\"]\" ] , \"time\":10,\"t\":2, \"time\":3,"
              "\"object\":{\"x\":{}} ,\"last\":true}");
    struct json_number number;
    expect(json_number(json_member(object, "time"), 0, &number) && number.magnitude == 10);
    expect(json_number(json_member(object, "t"), 0, &number) && number.magnitude == 2);
    assert_int_equal(json_type(json_member(object, "last")), JSON_TRUE);
    assert_int_equal(json_type(json_member(object, "tim")), JSON_ABSENT);
    assert_int_equal(json_type(json_member(object, "timer")), JSON_ABSENT);
    assert_int_equal(json_type(json_member(json_member(object, "object"), "x")), JSON_OBJECT);
    assert_int_equal(json_type(json_member(json_member(object, "time"), "x")), JSON_ABSENT);
    assert_int_equal(json_type(json_member(json_member(object, "none"), "x")), JSON_ABSENT);
    assert_int_equal(json_type(json_member(right("{}"), "x")), JSON_ABSENT);
}

static void elements_come_in_order(void **state) {
    (void)state;
    const enum json_type types[] = {JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT,
                                    JSON_NULL,   JSON_FALSE,  JSON_NUMBER};
    struct json element = json_first(right("[ 1 ,\"a]\",[2,[3]],{\"b\":[4]} , null,false,5 ]"));
    for (size_t i = 0; i < sizeof types / sizeof *types; i++, element = json_next(element))
        assert_int_equal(json_type(element), types[i]);
    assert_int_equal(json_type(element), JSON_ABSENT);
    assert_int_equal(json_type(json_first(right("[ ]"))), JSON_ABSENT);
    assert_int_equal(json_type(json_first(right("{\"a\":1}"))), JSON_ABSENT);
}

static void expect_number(const char *text, unsigned decimals, uint64_t magnitude) {
    struct json_number number;
    bool negative = *text == '-';
    expect(json_number(right(text), decimals, &number));
    if (number.magnitude != magnitude || number.negative != negative)
        fail_msg("%s to %u decimals reads as %llu", text, decimals,
                 (unsigned long long)number.magnitude);
}

static void numbers_are_read_exactly(void **state) {
    (void)state;
    struct json_number number;
    expect_number("0", 0, 0);
    expect_number("-1", 0, 1);
    expect_number("18446744073709551615", 0, UINT64_MAX);
    expect_number("18446744073709551616", 0, UINT64_MAX);
    expect_number("99999999999999999999999999", 0, UINT64_MAX);
    expect_number("1.8446744073709552e+19", 0, UINT64_MAX);
    expect_number("1e+09", 0, 1000000000);
    expect_number("1.5", 0, 1);
    expect_number("0.000123456789", 9, 123456);
    expect_number("1.23e-05", 9, 12300);
    expect_number("12.5e-1", 6, 1250000);
    expect_number("0e99999999999999999999", 6, 0);
    expect_number("1e99999999999999999999", 0, UINT64_MAX);
    expect_number("1e-99999999999999999999", 19, 0);
    expect_number("123456e-3", 0, 123);
    expect_number("123456e-7", 0, 0);
    const char *others[] = {"\"1\"", "true", "null", "[1]", "{}"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        expect(!json_number(right(others[i]), 0, &number) && !number.magnitude);
}

static void strings_are_compared(void **state) {
    (void)state;
    expect(json_is_string(right("\"cubic\""), "cubic"));
    expect(!json_is_string(right("\"cubic2\""), "cubic"));
    expect(!json_is_string(right("\"cub\""), "cubic"));
    expect(!json_is_string(right("12"), "12"));
}

static void write_all(struct json_writer *w) {
    json_write_open(w, NULL, '{');
    json_write_unsigned(w, "most", UINT64_MAX);
    json_write_signed(w, "least", INT64_MIN);
    json_write_fixed(w, "jitter", 1234, 6);
    json_write_fixed(w, "zero", 0, 3);
    json_write_open(w, "list", '[');
    json_write_true(w, NULL);
    json_write_open(w, NULL, '{');
    json_write_close(w, '}');
    json_write_string(w, NULL, "\"\\\n\x1f");
    json_write_close(w, ']');
    json_write_string(w, "end", "");
    json_write_close(w, '}');
}

static void what_is_written_is_json(void **state) {
    (void)state;
    const char wanted[] = "{\"most\":18446744073709551615,\"least\":-9223372036854775808,"
                          "\"jitter\":0.001234,\"zero\":0.000,"
                          "\"list\":[true,{},\"\\\"\\\\\\u000a\\u001f\"],\"end\":\"\"}";
    char text[256];
    struct json_writer writer;
    json_write_begin(&writer, text, sizeof text);
    write_all(&writer);
    expect(!writer.overflow && writer.length == sizeof wanted - 1);
    assert_memory_equal(text, wanted, writer.length);
    assert_null(wrong_with(text, writer.length));
}

static void what_does_not_fit_is_not_written(void **state) {
    (void)state;
    struct json_writer writer;
    json_write_begin(&writer, (char[256]){0}, 256);
    write_all(&writer);
    for (size_t room = 0, whole = writer.length; room < whole; room++) {
        char *exact = malloc(room ? room : 1);
        json_write_begin(&writer, exact, room);
        write_all(&writer);
        expect(writer.overflow && writer.length == room);
        free(exact);
    }
}

HARNESS_MAIN(cmocka_unit_test(texts_that_are_right), cmocka_unit_test(texts_that_are_wrong),
             cmocka_unit_test(a_text_cut_anywhere_is_wrong), cmocka_unit_test(nesting_has_an_end),
             cmocka_unit_test(members_are_found), cmocka_unit_test(elements_come_in_order),
             cmocka_unit_test(numbers_are_read_exactly), cmocka_unit_test(strings_are_compared),
             cmocka_unit_test(what_is_written_is_json),
             cmocka_unit_test(what_does_not_fit_is_not_written))
