/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Reads a command line of a hundred characters, which comes from whoever started the board. */
#include "arguments.h"

enum { DEFAULT_TIME_S = 10, DEFAULT_UDP_RATE = 1000000 };

static const char *skip_blanks(const char *at) {
    while (*at == ' ')
        at++;
    return at;
}

static bool ends(char c) {
    return !c || c == ' ';
}

static const char *skip_word(const char *at) {
    while (!ends(*at))
        at++;
    return at;
}

static bool is_word(const char *at, const char *word) {
    for (; *word; word++)
        if (*at++ != *word)
            return false;
    return ends(*at);
}

/* Digits up to something else; null: none, or more than 18 of them. */
static const char *read_digits(const char *at, uint64_t *value) {
    const char *first = at;
    for (*value = 0; *at >= '0' && *at <= '9'; at++)
        *value = *value * 10 + (unsigned)(*at - '0');
    return at > first && at - first <= 18 ? at : NULL;
}

static bool read_size(const char *at, unsigned kilo, uint64_t *value) {
    at = read_digits(at, value);
    if (!at)
        return false;
    for (const char *unit = "KMG"; !ends(*at); unit++) {
        if (!*unit || *value >> 50)
            return false;
        *value *= kilo;
        if (*at == *unit)
            return ends(at[1]);
    }
    return true;
}

static bool read_word(const char *at, uint32_t *value) {
    uint64_t wide;
    if (!read_size(at, 1024, &wide) || wide > UINT32_MAX)
        return false;
    *value = (uint32_t)wide;
    return true;
}

static bool read_port(const char *at, uint16_t *port) {
    uint32_t value;
    if (!read_word(at, &value) || !value || value > UINT16_MAX)
        return false;
    *port = (uint16_t)value;
    return true;
}

static bool read_address(const char *at, plumb_ipv4 *address) {
    uint32_t word = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint64_t part;
        at = read_digits(at, &part);
        if (!at || part > 255 || (i < 3 ? *at++ != '.' : !ends(*at)))
            return false;
        word = word << 8 | (uint32_t)part;
    }
    *address = plumb_put32(word);
    return true;
}

static bool read_flag(struct parameters *p, const char *word) {
    if (is_word(word, "-u"))
        p->udp = true;
    else if (is_word(word, "-R"))
        p->reverse = true;
    else if (is_word(word, "--bidir"))
        p->bidirectional = true;
    else if (is_word(word, "-N"))
        p->nodelay = true;
    else
        return false;
    return true;
}

/* A letter and its value. */
static bool read_option(struct arguments *a, char letter, const char *value) {
    struct parameters *p = &a->parameters;
    switch (letter) {
    case 'c':
        a->client = true;
        return read_address(value, &a->server.address);
    case 'p':
        return read_port(value, &a->server.port);
    case 't':
        return read_word(value, &p->time_s);
    case 'O':
        return read_word(value, &p->omit_s);
    case 'P':
        return read_word(value, &p->parallel);
    case 'l':
        return read_word(value, &p->length);
    case 'n':
        return read_size(value, 1024, &p->bytes);
    case 'k':
        return read_size(value, 1024, &p->blocks);
    case 'b':
        return read_size(value, 1000, &p->rate);
    default:
        return false;
    }
}

static void fill_in(struct parameters *p, bool rate_is_said) {
    if (!p->length)
        p->length = p->udp ? IPERF3_UDP_LENGTH : IPERF3_TCP_LENGTH;
    if (!p->time_s && !p->bytes && !p->blocks)
        p->time_s = DEFAULT_TIME_S;
    if (p->udp && !rate_is_said)
        p->rate = DEFAULT_UDP_RATE;
    p->wide = p->udp;
}

const char *arguments_read(struct arguments *a, const char *text) {
    bool rate_is_said = false;
    *a = (struct arguments){.server.port = IPERF3_PORT, .parameters = exchange_default};
    for (text = skip_blanks(text); *text; text = skip_blanks(skip_word(text))) {
        const char *word = text, *value;
        if (read_flag(&a->parameters, word))
            continue;
        value = skip_blanks(skip_word(word));
        if (word[0] != '-' || ends(word[1]) || !ends(word[2]) || !read_option(a, word[1], value))
            return word;
        rate_is_said |= word[1] == 'b';
        text = value;
    }
    fill_in(&a->parameters, rate_is_said);
    return NULL;
}
