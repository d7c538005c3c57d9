/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Reads parameters and results from a peer's JSON, and writes one's own. */
#include "exchange.h"

#include "control.h"

enum { LONGEST_OMIT_S = 60, LONGEST_BLOCK = 1 << 20 };

const struct parameters exchange_default = {.time_s = 0, .parallel = 1};

/* ---- members: what is absent leaves things as they are ---- */

static bool read_number(struct json object, const char *name, uint64_t *value) {
    struct json member = json_member(object, name);
    struct json_number number;
    if (json_type(member) == JSON_ABSENT)
        return true;
    if (!json_number(member, 0, &number) || (number.negative && number.magnitude))
        return false;
    *value = number.magnitude;
    return true;
}

static bool read_word(struct json object, const char *name, uint32_t *value) {
    uint64_t wide = *value;
    if (!read_number(object, name, &wide) || wide > UINT32_MAX)
        return false;
    *value = (uint32_t)wide;
    return true;
}

/* A flag is a truth, or a number that is not zero. */
static bool read_flag(struct json object, const char *name, bool *value) {
    struct json member = json_member(object, name);
    struct json_number number;
    switch (json_type(member)) {
    case JSON_ABSENT:
        return true;
    case JSON_TRUE:
    case JSON_FALSE:
        *value = json_type(member) == JSON_TRUE;
        return true;
    default:
        *value = json_number(member, 0, &number) && number.magnitude;
        return json_type(member) == JSON_NUMBER;
    }
}

/* ---- parameters ---- */

static bool read_all(struct parameters *p, struct json object) {
    return read_flag(object, "udp", &p->udp) && read_flag(object, "reverse", &p->reverse) &&
           read_flag(object, "bidirectional", &p->bidirectional) &&
           read_flag(object, "nodelay", &p->nodelay) &&
           read_flag(object, "udp_counters_64bit", &p->wide) &&
           read_word(object, "time", &p->time_s) && read_word(object, "omit", &p->omit_s) &&
           read_word(object, "parallel", &p->parallel) && read_word(object, "len", &p->length) &&
           read_word(object, "window", &p->window) && read_number(object, "num", &p->bytes) &&
           read_number(object, "blockcount", &p->blocks) &&
           read_number(object, "bandwidth", &p->rate);
}

static unsigned read_congestion(struct parameters *p, struct json object) {
    struct json member = json_member(object, "congestion");
    if (json_type(member) == JSON_ABSENT)
        return CODE_NONE;
    p->congestion = json_is_string(member, "cubic") ? CONGESTION_CUBIC : CONGESTION_RENO;
    return p->congestion == CONGESTION_CUBIC || json_is_string(member, "reno") ? CODE_NONE
                                                                               : CODE_CONGESTION;
}

unsigned exchange_check(const struct parameters *p) {
    if (p->reverse && p->bidirectional)
        return CODE_REVERSE_BIDIRECTIONAL;
    if (p->time_s > PARAMETERS_LONGEST_S)
        return CODE_DURATION;
    if (p->omit_s > LONGEST_OMIT_S)
        return CODE_OMIT;
    if (!p->parallel || p->parallel > IPERF3_STREAMS ||
        p->parallel << p->bidirectional > IPERF3_STREAMS)
        return CODE_STREAMS;
    if (!p->udp)
        return p->length > 0 && p->length <= LONGEST_BLOCK ? CODE_NONE : CODE_BLOCK;
    return p->length >= IPERF3_UDP_LEAST && p->length <= IPERF3_UDP_MOST ? CODE_NONE
                                                                         : CODE_UDP_BLOCK;
}

unsigned exchange_read_parameters(struct parameters *p, const char *text, size_t length) {
    struct json object;
    bool sctp = false;
    *p = exchange_default;
    if (json_read(&object, text, length) || json_type(object) != JSON_OBJECT ||
        !read_all(p, object) || !read_flag(object, "sctp", &sctp))
        return CODE_PARAMETERS;
    if (sctp)
        return CODE_NO_SCTP;
    if (!p->length)
        p->length = p->udp ? IPERF3_UDP_LENGTH : IPERF3_TCP_LENGTH;
    unsigned code = read_congestion(p, object);
    return code ? code : exchange_check(p);
}

static void write_if(struct json_writer *w, const char *name, uint64_t value) {
    if (value)
        json_write_unsigned(w, name, value);
}

void exchange_write_parameters(const struct parameters *p, struct json_writer *w) {
    json_write_open(w, NULL, '{');
    json_write_true(w, p->udp ? "udp" : "tcp");
    json_write_unsigned(w, "omit", p->omit_s);
    write_if(w, "time", p->time_s);
    write_if(w, "num", p->bytes);
    write_if(w, "blockcount", p->blocks);
    json_write_unsigned(w, "parallel", p->parallel);
    if (p->reverse)
        json_write_true(w, "reverse");
    if (p->bidirectional)
        json_write_true(w, "bidirectional");
    if (p->nodelay)
        json_write_true(w, "nodelay");
    json_write_unsigned(w, "len", p->length);
    write_if(w, "bandwidth", p->rate);
    if (p->wide)
        json_write_unsigned(w, "udp_counters_64bit", 1);
    json_write_string(w, "client_version", "3.12"); /* whose protocol this is */
    json_write_close(w, '}');
}

/* ---- results ---- */

static bool read_scaled(struct json object, const char *name, unsigned decimals, uint64_t *value) {
    struct json member = json_member(object, name);
    struct json_number number;
    if (json_type(member) == JSON_ABSENT)
        return true;
    if (!json_number(member, decimals, &number))
        return false;
    *value = number.negative ? 0 : number.magnitude;
    return true;
}

/* Minus one is -1, or, from a client that prints it so, 18446744073709551615. */
static bool read_retransmits(struct json object, int32_t *value) {
    struct json_number number;
    if (!json_number(json_member(object, "retransmits"), 0, &number))
        return false;
    bool known = !number.negative && number.magnitude <= INT32_MAX;
    *value = known ? (int32_t)number.magnitude : -1;
    return true;
}

static bool read_result(struct result *r, struct json object) {
    *r = (struct result){.retransmits = -1};
    return json_type(object) == JSON_OBJECT && read_word(object, "id", &r->id) &&
           read_number(object, "bytes", &r->bytes) && read_retransmits(object, &r->retransmits) &&
           read_scaled(object, "jitter", 9, &r->jitter_ns) &&
           read_scaled(object, "errors", 0, &r->lost) &&
           read_scaled(object, "packets", 0, &r->packets) &&
           read_scaled(object, "omitted_errors", 0, &r->omitted_lost) &&
           read_scaled(object, "omitted_packets", 0, &r->omitted_packets) &&
           read_scaled(object, "start_time", 6, &r->start_us) &&
           read_scaled(object, "end_time", 6, &r->end_us);
}

bool exchange_read_results(struct results *results, const char *text, size_t length) {
    struct json object;
    results->count = 0;
    if (json_read(&object, text, length))
        return false;
    struct json streams = json_member(object, "streams");
    if (json_type(streams) != JSON_ARRAY)
        return false;
    for (struct json s = json_first(streams); json_type(s) != JSON_ABSENT; s = json_next(s)) {
        if (results->count == IPERF3_STREAMS)
            break;
        if (!read_result(&results->streams[results->count++], s))
            return false;
    }
    return true;
}

static void write_result(const struct result *r, struct json_writer *w) {
    json_write_open(w, NULL, '{');
    json_write_unsigned(w, "id", r->id);
    json_write_unsigned(w, "bytes", r->bytes);
    json_write_signed(w, "retransmits", r->retransmits);
    json_write_fixed(w, "jitter", r->jitter_ns, 9);
    json_write_unsigned(w, "errors", r->lost);
    json_write_unsigned(w, "omitted_errors", r->omitted_lost);
    json_write_unsigned(w, "packets", r->packets);
    json_write_unsigned(w, "omitted_packets", r->omitted_packets);
    json_write_fixed(w, "start_time", r->start_us, 6);
    json_write_fixed(w, "end_time", r->end_us, 6);
    json_write_close(w, '}');
}

/* A board does not know how busy it is, and says zero. */
void exchange_write_results(const struct results *results, int has_retransmits,
                            struct json_writer *w) {
    json_write_open(w, NULL, '{');
    json_write_unsigned(w, "cpu_util_total", 0);
    json_write_unsigned(w, "cpu_util_user", 0);
    json_write_unsigned(w, "cpu_util_system", 0);
    json_write_signed(w, "sender_has_retransmits", has_retransmits);
    json_write_open(w, "streams", '[');
    for (unsigned i = 0; i < results->count; i++)
        write_result(&results->streams[i], w);
    json_write_close(w, ']');
    json_write_close(w, '}');
}
