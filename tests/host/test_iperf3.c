/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What apps/iperf3 reads from strangers: control bytes however cut, and JSON that says too much. */
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "control.h"
#include "exchange.h"
#include "harness.h"

static struct control control;

/* Feeds bytes in pieces of so many; what they complete, and how many it took. */
static enum control_item feed(const char *bytes, size_t length, size_t piece, size_t *taken) {
    enum control_item item = ITEM_NONE;
    for (*taken = 0; *taken < length && item == ITEM_NONE;) {
        size_t left = length - *taken, used;
        item = control_read(&control, (const uint8_t *)bytes + *taken, left < piece ? left : piece,
                            &used);
        expect(used > 0);
        *taken += used;
    }
    return item;
}

static void items_are_read_however_they_are_cut(void **state) {
    (void)state;
    const char cookie[CONTROL_COOKIE] = "abcdefghijklmnopqrstuvwxyz0123456789";
    for (size_t piece = 1; piece < 64; piece++) {
        size_t taken;
        control_want(&control, ITEM_COOKIE);
        assert_int_equal(feed(cookie, sizeof cookie, piece, &taken), ITEM_COOKIE);
        assert_memory_equal(control.bytes, cookie, sizeof cookie);
        control_want(&control, ITEM_TEXT);
        assert_int_equal(feed("\0\0\0\5{\"a\"}\4", 10, piece, &taken), ITEM_TEXT);
        expect(taken == 9 && control.length == 5 && !memcmp(control.text, "{\"a\"}", 5));
        control_want(&control, ITEM_TEXT);
        assert_int_equal(feed("\0\0\0\0\4", 5, piece, &taken), ITEM_TEXT);
        expect(taken == 4 && control.length == 0);
        control_want(&control, ITEM_STATE);
        assert_int_equal(feed("\4\x10", 2, piece, &taken), ITEM_STATE);
        expect(taken == 1 && control.bytes[0] == STATE_TEST_END);
        assert_int_equal(feed("\x10", 1, piece, &taken), ITEM_STATE);
        expect(control.bytes[0] == STATE_DONE);
        control_want(&control, ITEM_ERROR);
        assert_int_equal(feed("\0\0\0\x72\0\0\0\1", 8, piece, &taken), ITEM_ERROR);
        assert_int_equal(control_word(control.bytes), CODE_PARAMETERS);
    }
}

static void a_text_too_long_is_refused_unread(void **state) {
    (void)state;
    static char text[4 + CONTROL_TEXT_MOST + 1];
    size_t taken;
    const uint32_t lengths[] = {CONTROL_TEXT_MOST, CONTROL_TEXT_MOST + 1, 1 << 20, UINT32_MAX};
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned k = 0; k < 4; k++)
            text[k] = (char)(lengths[i] >> (24 - 8 * k));
        control_want(&control, ITEM_TEXT);
        assert_int_equal(feed(text, sizeof text, 1448, &taken), i ? ITEM_TOO_LONG : ITEM_TEXT);
        assert_int_equal(taken, i ? 4 : sizeof text - 1);
    }
}

/* ---- parameters ---- */

static struct parameters parameters;

static unsigned read_text(const char *text) {
    size_t length = strlen(text);
    char *exact = malloc(length ? length : 1);
    memcpy(exact, text, length);
    unsigned code = exchange_read_parameters(&parameters, exact, length);
    free(exact);
    return code;
}

/* As iperf3 3.12 says them. */
static void parameters_are_understood(void **state) {
    (void)state;
    assert_int_equal(read_text("{\"tcp\":true,\"omit\":2,\"time\":10,\"num\":0,\"blockcount\":0,"
                               "\"parallel\":4,\"reverse\":true,\"len\":131072,"
                               "\"pacing_timer\":1000,\"client_version\":\"3.12\"}"),
                     CODE_NONE);
    const struct parameters *p = &parameters;
    expect(!p->udp && p->reverse && !p->bidirectional && p->parallel == 4 && p->omit_s == 2);
    expect(p->time_s == 10 && p->length == 131072 && !p->bytes && !p->rate);
    assert_int_equal(read_text("{\"udp\":true,\"num\":1e10,\"parallel\":8,\"bidirectional\":true,"
                               "\"bandwidth\":1048576,\"udp_counters_64bit\":1,"
                               "\"congestion\":\"cubic\",\"window\":4096,\"nodelay\":true}"),
                     CODE_NONE);
    expect(p->udp && p->wide && p->bytes == 10000000000 && p->rate == 1048576 && p->nodelay);
    expect(p->length == IPERF3_UDP_LENGTH && p->congestion == CONGESTION_CUBIC);
    expect(!p->reverse && !p->time_s && p->window == 4096);
    assert_int_equal(read_text("{}"), CODE_NONE);
    expect(!p->udp && p->parallel == 1 && p->length == IPERF3_TCP_LENGTH);
}

static void parameters_that_make_no_test_are_refused(void **state) {
    (void)state;
    const struct {
        const char *text;
        unsigned code;
    } cases[] = {
        {"", CODE_PARAMETERS},
        {"[]", CODE_PARAMETERS},
        {"{\"tcp\":true", CODE_PARAMETERS},
        {"{\"time\":\"10\"}", CODE_PARAMETERS},
        {"{\"time\":-1}", CODE_PARAMETERS},
        {"{\"time\":4294967296}", CODE_PARAMETERS},
        {"{\"parallel\":{}}", CODE_PARAMETERS},
        {"{\"num\":true}", CODE_PARAMETERS},
        {"{\"reverse\":\"yes\"}", CODE_PARAMETERS},
        {"{\"time\":86401}", CODE_DURATION},
        {"{\"omit\":61}", CODE_OMIT},
        {"{\"parallel\":0}", CODE_STREAMS},
        {"{\"parallel\":17}", CODE_STREAMS},
        {"{\"parallel\":4294967295,\"bidirectional\":true}", CODE_STREAMS},
        {"{\"parallel\":2147483649,\"bidirectional\":true}", CODE_STREAMS},
        {"{\"parallel\":9,\"bidirectional\":true}", CODE_STREAMS},
        {"{\"reverse\":true,\"bidirectional\":true}", CODE_REVERSE_BIDIRECTIONAL},
        {"{\"len\":1048577}", CODE_BLOCK},
        {"{\"udp\":true,\"len\":15}", CODE_UDP_BLOCK},
        {"{\"udp\":true,\"len\":65508}", CODE_UDP_BLOCK},
        {"{\"sctp\":true}", CODE_NO_SCTP},
        {"{\"congestion\":\"bbr\"}", CODE_CONGESTION},
        {"{\"congestion\":1}", CODE_CONGESTION},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (read_text(cases[i].text) != cases[i].code)
            fail_msg("%s is answered by %u", cases[i].text, read_text(cases[i].text));
}

static void what_a_client_says_a_server_understands(void **state) {
    (void)state;
    struct arguments said;
    struct json_writer writer;
    char text[512];
    assert_null(arguments_read(&said, "-c 10.0.2.2 -u --bidir -P 3 -l 1000 -b 5M -n 2K -O 1"));
    json_write_begin(&writer, text, sizeof text);
    exchange_write_parameters(&said.parameters, &writer);
    expect(!writer.overflow);
    assert_int_equal(exchange_read_parameters(&parameters, text, writer.length), CODE_NONE);
    assert_memory_equal(&parameters, &said.parameters, sizeof parameters);
}

/* ---- results ---- */

static struct results results;

static bool read_results(const char *text) {
    return exchange_read_results(&results, text, strlen(text));
}

static void results_are_understood(void **state) {
    (void)state;
    expect(read_results("{\"cpu_util_total\":1.5,\"sender_has_retransmits\":1,\"streams\":["
                        "{\"id\":1,\"bytes\":99999999999,\"retransmits\":18446744073709551615,"
                        "\"jitter\":1.5e-05,\"errors\":3,\"packets\":100,\"start_time\":0,"
                        "\"end_time\":1.000123},{\"id\":3,\"bytes\":0,\"retransmits\":7}]}"));
    const struct result *r = results.streams;
    expect(results.count == 2 && r[0].id == 1 && r[1].id == 3);
    expect(r[0].bytes == 99999999999 && r[0].retransmits == -1 && r[0].jitter_ns == 15000);
    expect(r[0].lost == 3 && r[0].packets == 100 && r[0].end_us == 1000123);
    expect(r[1].retransmits == 7);
    expect(!read_results("{\"streams\":1}") && !read_results("{}") &&
           !read_results("{\"streams\":"));
    expect(!read_results("{\"streams\":[1]}") && !read_results("{\"streams\":[{\"id\":1}]}"));
    expect(!read_results("{\"streams\":[{\"id\":\"1\",\"retransmits\":0}]}"));
}

static void results_of_every_stream_fit(void **state) {
    (void)state;
    static char text[CONTROL_TEXT_MOST];
    static struct results most, back;
    struct json_writer writer;
    const struct result one = {.bytes = UINT64_MAX,
                               .jitter_ns = UINT64_MAX,
                               .start_us = UINT64_MAX,
                               .end_us = UINT64_MAX,
                               .lost = UINT64_MAX,
                               .packets = UINT64_MAX,
                               .omitted_lost = UINT64_MAX,
                               .omitted_packets = UINT64_MAX,
                               .id = UINT32_MAX,
                               .retransmits = INT32_MAX};
    most.count = IPERF3_STREAMS;
    for (unsigned i = 0; i < most.count; i++)
        most.streams[i] = one;
    json_write_begin(&writer, text, sizeof text);
    exchange_write_results(&most, -1, &writer);
    expect(!writer.overflow && exchange_read_results(&back, text, writer.length));
    assert_memory_equal(&back, &most, sizeof most);
}

/* ---- arguments ---- */

static void arguments_are_understood(void **state) {
    (void)state;
    struct arguments a;
    assert_null(arguments_read(&a, ""));
    expect(!a.client && a.server.port == IPERF3_PORT && a.parameters.parallel == 1);
    assert_null(arguments_read(&a, "  -c  192.168.1.254 -p 5300 -t 3 -R -N -n 1M -k 2 "));
    expect(a.client && plumb_get32(a.server.address) == 0xc0a801fe && a.server.port == 5300);
    expect(a.parameters.time_s == 3 && a.parameters.reverse && a.parameters.nodelay);
    expect(a.parameters.bytes == 1 << 20 && a.parameters.blocks == 2 && !a.parameters.rate);
    assert_null(arguments_read(&a, "-c 1.2.3.4 -u"));
    expect(a.parameters.rate == 1000000 && a.parameters.time_s == 10 && a.parameters.wide);
    assert_null(arguments_read(&a, "-c 1.2.3.4 -u -b 0"));
    expect(!a.parameters.rate);
    const char *wrong[] = {
        "-c",        "-c host", "-c 1.2.3", "-c 1.2.3.256", "-c 1.2.3.4.5",  "-x",
        "-t",        "-t 1x",   "-t 1KK",   "-p 0",         "-p 65536",      "-uR",
        "--reverse", "x",       "-t -1",    "-n 1T",        "-t 4294967296", "-"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (!arguments_read(&a, wrong[i]))
            fail_msg("%s is taken", wrong[i]);
}

HARNESS_MAIN(cmocka_unit_test(items_are_read_however_they_are_cut),
             cmocka_unit_test(a_text_too_long_is_refused_unread),
             cmocka_unit_test(parameters_are_understood),
             cmocka_unit_test(parameters_that_make_no_test_are_refused),
             cmocka_unit_test(what_a_client_says_a_server_understands),
             cmocka_unit_test(results_are_understood),
             cmocka_unit_test(results_of_every_stream_fit),
             cmocka_unit_test(arguments_are_understood))
