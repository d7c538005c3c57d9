/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "bytes_check.h"

#include <plumb/address.h>

#include "bytes/bytes.h"
#include "random.h"

enum {
    LONGEST_OF_ALL = 300, /* every length to here */
    PLACES = 8,
    LONGEST_OF_PAIRS = 80, /* zeroes and ones to every place to here */
    MARGIN = 16,           /* compared on either side of what is written */
    WRITTEN_OVER = 0xa5,
    ADDRESS = sizeof(struct plumb_ethernet_address),
    HEADER = 20,
};

/* EDGE is all ones but for a small number at the end: what carries last, carries. */
enum data { RANDOM, EDGE, ZEROES, ONES, DATA };

enum routine { SUM, COPY, COPY_SUM };
static const char *const names[] = {"pl_sum", "pl_copy", "pl_copy_sum"};

/* The one check under way. */
static const struct bytes_memory *memory;
static struct bytes_failure *failed;
static struct random source;

static bool fail(const char *routine, const char *what, size_t length, const void *to,
                 const void *from) {
    *failed = (struct bytes_failure){.routine = routine,
                                     .what = what,
                                     .length = (unsigned)length,
                                     .to = (uintptr_t)to & 7,
                                     .from = (uintptr_t)from & 7};
    return false;
}

/* ---- memory ---- */

static size_t margin(void) {
    return memory->guarded ? 0 : MARGIN;
}

static size_t longest(void) {
    return memory->length - 2 * margin() - PLACES;
}

/* `length` bytes of an area at a place modulo 8, as near to one of its ends as that
 * allows. */
static uint8_t *place(uint8_t *area, size_t length, unsigned offset, bool at_end) {
    if (!at_end)
        return area + margin() + offset;
    uint8_t *start = area + memory->length - margin() - length;
    return start - (((uintptr_t)start - offset) & 7);
}

static void fill_random(uint8_t *bytes, size_t length) {
    for (; length >= 4; length -= 4, bytes += 4) {
        uint32_t value = random_next(&source);
        for (unsigned i = 0; i < 4; i++)
            bytes[i] = (uint8_t)(value >> 8 * i);
    }
    while (length--)
        *bytes++ = (uint8_t)random_next(&source);
}

static void fill_edge(uint8_t *bytes, size_t length) {
    size_t zeroes = random_below(&source, length < 16 ? (uint32_t)length + 1 : 17);

    for (size_t i = 0; i < length; i++)
        bytes[i] = i < length - zeroes ? 0xff : 0;
    if (zeroes)
        bytes[length - 1 - random_below(&source, (uint32_t)zeroes)] =
            (uint8_t)(1 + random_below(&source, 4));
}

static void fill(uint8_t *bytes, size_t length, enum data data) {
    if (data == RANDOM)
        fill_random(bytes, length);
    else if (data == EDGE)
        fill_edge(bytes, length);
    else
        while (length--)
            *bytes++ = data == ONES ? 0xff : 0;
}

/* As much of the margin as the area has before, or behind, some of its bytes. */
static size_t room_before(const uint8_t *area, const uint8_t *bytes) {
    size_t distance = (size_t)(bytes - area);
    return distance < MARGIN ? distance : MARGIN;
}

static size_t room_behind(const uint8_t *area, const uint8_t *bytes, size_t length) {
    size_t distance = memory->length - (size_t)(bytes - area) - length;
    return distance < MARGIN ? distance : MARGIN;
}

static void write_over(uint8_t *bytes, size_t length) {
    uint8_t *start = bytes - room_before(memory->to, bytes);
    uint8_t *end = bytes + length + room_behind(memory->to, bytes, length);
    while (start != end)
        *start++ = WRITTEN_OVER;
}

static bool same(const uint8_t *a, const uint8_t *b, size_t length) {
    for (; length; length--)
        if (*a++ != *b++)
            return false;
    return true;
}

static bool written_over(const uint8_t *bytes, size_t length) {
    for (; length; length--)
        if (*bytes++ != WRITTEN_OVER)
            return false;
    return true;
}

/* Nothing but `bytes` has changed since write_over(). */
static bool kept_beside(const uint8_t *bytes, size_t length) {
    size_t ahead = room_before(memory->to, bytes), after = room_behind(memory->to, bytes, length);
    return written_over(bytes - ahead, ahead) && written_over(bytes + length, after);
}

/* ---- the three routines ---- */

/* By its definition, without any of the routines. */
static uint32_t reference(const uint8_t *bytes, size_t length) {
    uint32_t sum = 0;

    for (; length >= 2; length -= 2, bytes += 2) {
        sum += PL_BYTE_AT_EVEN(bytes[0]) + PL_BYTE_AT_ODD(bytes[1]);
        if (sum > 0xffff)
            sum -= 0xffff;
    }
    if (length)
        sum += PL_BYTE_AT_EVEN(bytes[0]);
    return sum > 0xffff ? sum - 0xffff : sum;
}

static void before(const void *from, size_t length, void *to) {
    if (memory->before)
        memory->before(from, length, to, to ? length : 0);
}

static void after(void) {
    if (memory->after)
        memory->after();
}

static bool check_sum(const uint8_t *from, size_t length) {
    before(from, length, NULL);
    uint32_t sum = pl_sum(from, length);
    after();
    if (sum != reference(from, length))
        return fail(names[SUM], "sum", length, from, from);
    return true;
}

static bool check_copy(enum routine routine, uint8_t *to, const uint8_t *from, size_t length,
                       uint32_t expected) {
    uint32_t sum = expected;

    write_over(to, length);
    before(from, length, to);
    if (routine == COPY_SUM)
        sum = pl_copy_sum(to, from, length);
    else
        pl_copy(to, from, length);
    after();
    if (sum != expected)
        return fail(names[routine], "sum", length, to, from);
    if (!same(to, from, length))
        return fail(names[routine], "bytes", length, to, from);
    if (!kept_beside(to, length))
        return fail(names[routine], "bytes beside", length, to, from);
    return true;
}

/* The two copies of what lies at `from`, to every place. */
static bool check_copies(const uint8_t *from, size_t length, bool at_end) {
    uint32_t expected = reference(from, length);

    for (unsigned offset = 0; offset < PLACES; offset++) {
        uint8_t *to = place(memory->to, length, offset, at_end);
        if (!check_copy(COPY, to, from, length, expected) ||
            !check_copy(COPY_SUM, to, from, length, expected))
            return false;
    }
    return true;
}

/* What lies beside plain bytes differs from them most, so that a sum of too many shows. */
static void lay(uint8_t *from, size_t length, enum data data) {
    size_t ahead = room_before(memory->from, from), after = room_behind(memory->from, from, length);
    enum data other = data == ZEROES ? ONES : ZEROES;

    if (data == RANDOM)
        return; /* as all of the memory is */
    fill(from - ahead, ahead, other);
    fill(from, length, data);
    fill(from + length, after, other);
}

static bool check_length(size_t length, enum data data) {
    for (unsigned turn = 0; turn < 2 * PLACES; turn++) {
        bool at_end = turn & 1;
        uint8_t *from = place(memory->from, length, turn / 2, at_end);
        lay(from, length, data);
        if (!check_sum(from, length))
            return false;
        if ((data <= EDGE || length <= LONGEST_OF_PAIRS) && !check_copies(from, length, at_end))
            return false;
    }
    return true;
}

static bool check_lengths(enum data data) {
    size_t most = longest() < LONGEST_OF_ALL ? longest() : LONGEST_OF_ALL;

    fill_random(memory->from, memory->length);
    for (size_t length = 0; length <= most; length++)
        if (!check_length(length, data))
            return false;
    return true;
}

/* Some length of its own for each, at places that chance gives it. */
static bool check_long(size_t length, enum data data) {
    uint8_t *from = place(memory->from, length, random_below(&source, PLACES), true);
    uint8_t *to = place(memory->to, length, random_below(&source, PLACES), false);

    fill(from, length, data);
    return check_sum(from, length) &&
           check_copy(COPY_SUM, to, from, length, reference(from, length)) &&
           check_copy(COPY, place(memory->to, length, (uintptr_t)from & 7, true), from, length, 0);
}

static bool check_sample(void) {
    for (size_t size = 512; size <= longest(); size *= 2) {
        size_t near = size - PLACES + random_below(&source, 2 * PLACES);
        size_t any = size + random_below(&source, (uint32_t)size);
        for (enum data data = 0; data < DATA; data++)
            if (!check_long(near < longest() ? near : longest(), data) ||
                !check_long(any < longest() ? any : longest(), data))
                return false;
    }
    for (enum data data = 0; data < DATA; data++)
        if (!check_long(longest() < 65535 ? longest() : 65535, data))
            return false;
    return true;
}

/* ---- sums of sums ---- */

/* A first part before `cut`, and the rest in two. */
static bool check_three(const uint8_t *bytes, size_t length, size_t cut, uint32_t expected) {
    const uint8_t *rest = bytes + cut;
    const size_t left = length - cut;
    uint32_t first = pl_sum(bytes, cut);

    for (size_t middle = 0; middle <= left; middle++) {
        uint32_t sum = pl_sum_append(first, cut, pl_sum(rest, middle));
        sum = pl_sum_append(sum, cut + middle, pl_sum(rest + middle, left - middle));
        if (sum != expected)
            return fail("pl_sum_append", "sum of three parts", length, bytes, rest + middle);
    }
    return true;
}

static bool check_parts(size_t length, enum data data) {
    for (unsigned offset = 0; offset < 2; offset++) {
        uint8_t *bytes = place(memory->from, length, offset, true);
        fill(bytes, length, data);
        uint32_t expected = reference(bytes, length);
        for (size_t cut = 0; cut <= length; cut++) {
            uint32_t first = pl_sum(bytes, cut), more = pl_sum(bytes + cut, length - cut);
            if (pl_sum_append(first, cut, more) != expected)
                return fail("pl_sum_append", "sum of two parts", length, bytes, bytes + cut);
            if (length <= 40 && !check_three(bytes, length, cut, expected))
                return false;
        }
    }
    return true;
}

static bool check_appending(void) {
    static const size_t lengths[] = {0, 1, 2, 3, 7, 8, 31, 40, 257};

    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (enum data data = 0; data < DATA; data++)
            if (!check_parts(lengths[i], data))
                return false;
    return true;
}

/* Any 16-bit number, the special ones more often. */
static uint16_t some_halfword(void) {
    static const uint16_t special[] = {0, 0xffff, 1, 0xfffe, 0x8000, 0x00ff, 0xff00};
    uint32_t choice = random_below(&source, 2 * sizeof special / sizeof *special);

    return choice < sizeof special / sizeof *special ? special[choice]
                                                     : (uint16_t)random_next(&source);
}

static uint32_t some_word(void) {
    return (uint32_t)some_halfword() << 16 | some_halfword();
}

static bool check_folding(void) {
    for (unsigned i = 0; i < 2000; i++) {
        uint32_t low = some_word(), high = some_word();
        uint32_t halves = (low >> 16) + (low & 0xffff);
        if (halves > 0xffff)
            halves -= 0xffff;
        if (pl_fold(low) != halves)
            return fail("pl_fold", "sum", i, 0, 0);
        const uint16_t four[] = {(uint16_t)low, (uint16_t)(low >> 16), (uint16_t)high,
                                 (uint16_t)(high >> 16)};
        uint32_t expected = reference((const uint8_t *)four, sizeof four);
        if (pl_fold64((uint64_t)high << 32 | low) != expected)
            return fail("pl_fold64", "sum", i, 0, 0);
        if (pl_words_fold(pl_words_add(low, high)) != expected)
            return fail("pl_words_add", "sum", i, 0, 0);
    }
    return true;
}

/* ---- headers ---- */

static void lay_header(uint8_t *header, unsigned i) {
    if (i < DATA) {
        fill(header, HEADER, (enum data)i);
        return;
    }
    for (unsigned k = 0; k < HEADER; k += 2) {
        uint16_t value = some_halfword();
        header[k] = (uint8_t)(value >> 8);
        header[k + 1] = (uint8_t)value;
    }
}

static bool check_headers(void) {
    for (unsigned i = 0; i < 500; i++) {
        uint8_t *header = place(memory->from, HEADER, i / 2 % 4 * 2, i & 1);
        lay_header(header, i / 8);
        uint32_t expected = reference(header, HEADER);
        before(header, HEADER, NULL);
        uint32_t sum = pl_sum_header(header);
        uint32_t on_word = (uintptr_t)header & 3 ? sum : pl_sum_header_on_word(header);
        after();
        if (sum != expected)
            return fail("pl_sum_header", "sum", HEADER, header, header);
        if (on_word != expected)
            return fail("pl_sum_header_on_word", "sum", HEADER, header, header);
    }
    return true;
}

/* RFC 9293 section 3.1: addresses, zero, protocol, length. */
static bool check_pseudo(void) {
    for (unsigned i = 0; i < 500; i++) {
        plumb_be32 source_address = {some_word()}, destination = {some_word()};
        uint8_t protocol = (uint8_t)some_halfword();
        uint16_t length = some_halfword();
        uint8_t bytes[12] = {[9] = protocol, [10] = (uint8_t)(length >> 8), [11] = (uint8_t)length};
        for (unsigned k = 0; k < 4; k++) {
            bytes[k] = ((const uint8_t *)&source_address)[k];
            bytes[4 + k] = ((const uint8_t *)&destination)[k];
        }
        uint32_t addresses = pl_sum_addresses(source_address.be, destination.be);
        if (addresses != reference(bytes, 8))
            return fail("pl_sum_addresses", "sum", i, 0, 0);
        if (pl_fold(pl_sum_pseudo(addresses, protocol, length)) != reference(bytes, sizeof bytes))
            return fail("pl_sum_pseudo", "sum", i, 0, 0);
    }
    return true;
}

/* A header with some field replaced has the checksum that it gets from the beginning.
 * None is all zero: that has no place in a header. */
static bool check_replacing(void) {
    for (unsigned i = 0; i < 3000; i++) {
        uint16_t header[6] = {some_halfword(), some_halfword(), some_halfword(),
                              some_halfword(), some_halfword(), 0x4500};
        uint16_t checksum = (uint16_t)~reference((const uint8_t *)header, sizeof header);
        uint16_t from = header[1], to = some_halfword();
        header[1] = to;
        checksum = pl_checksum_replace(checksum, from, to);
        if (checksum != (uint16_t)~reference((const uint8_t *)header, sizeof header))
            return fail("pl_checksum_replace", "checksum", i, 0, 0);
        uint32_t word_from = (uint32_t)header[2] << 16 | header[3], word_to = some_word();
        header[2] = (uint16_t)(word_to >> 16);
        header[3] = (uint16_t)word_to;
        checksum = pl_checksum_replace32(checksum, word_from, word_to);
        if (checksum != (uint16_t)~reference((const uint8_t *)header, sizeof header))
            return fail("pl_checksum_replace32", "checksum", i, 0, 0);
    }
    return true;
}

/* ---- what is always inline ---- */

static bool check_any(const uint8_t *from, uint8_t *to) {
    uint16_t half = (uint16_t)(from[0] << 8 | from[1]);
    uint32_t word = (uint32_t)half << 16 | (uint32_t)from[2] << 8 | from[3];

    if (plumb_get16_any((const void *)from) != half)
        return fail("plumb_get16_any", "value", 2, from, from);
    if (plumb_get32_any((const void *)from) != word)
        return fail("plumb_get32_any", "value", 4, from, from);
    write_over(to, 2);
    plumb_put16_any((void *)to, half);
    if (!same(to, from, 2) || !kept_beside(to, 2))
        return fail("plumb_put16_any", "bytes", 2, to, from);
    write_over(to, 4);
    plumb_put32_any((void *)to, word);
    if (!same(to, from, 4) || !kept_beside(to, 4))
        return fail("plumb_put32_any", "bytes", 4, to, from);
    return true;
}

/* At even places. */
static bool check_half(const uint8_t *from, uint8_t *to) {
    const plumb_be32_half *field = (const void *)from;
    const plumb_be16 *type = (const void *)from;

    if (plumb_get16(*type) != plumb_get16_any((const void *)from))
        return fail("plumb_get16", "value", 2, from, from);
    if (plumb_get32(plumb_from_half(field)) != plumb_get32_any((const void *)from))
        return fail("plumb_from_half", "value", 4, from, from);
    write_over(to, 4);
    plumb_to_half((void *)to, plumb_put32(plumb_get32_any((const void *)from)));
    if (!same(to, from, 4) || !kept_beside(to, 4))
        return fail("plumb_to_half", "bytes", 4, to, from);
    return true;
}

static bool check_address(const uint8_t *from, uint8_t *to) {
    const struct plumb_ethernet_address *original = (const void *)from;
    struct plumb_ethernet_address *copy = (void *)to;

    write_over(to, ADDRESS);
    plumb_ethernet_copy(copy, original);
    if (!same(to, from, ADDRESS) || !kept_beside(to, ADDRESS))
        return fail("plumb_ethernet_copy", "bytes", ADDRESS, to, from);
    if (!plumb_ethernet_equal(copy, original))
        return fail("plumb_ethernet_equal", "says no", ADDRESS, to, from);
    for (unsigned bit = 0; bit < 8 * ADDRESS; bit++) {
        to[bit / 8] ^= (uint8_t)(1U << bit % 8);
        if (plumb_ethernet_equal(copy, original))
            return fail("plumb_ethernet_equal", "says yes", bit, to, from);
        to[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    return true;
}

static bool check_fields(void) {
    fill_random(memory->from, memory->length);
    for (unsigned turn = 0; turn < 2 * PLACES * PLACES; turn++) {
        unsigned from = turn / 2 % PLACES, to = turn / 2 / PLACES;
        bool at_end = turn & 1, even = ((from | to) & 1) == 0;
        const uint8_t *four = place(memory->from, 4, from, at_end);
        if (!check_any(four, place(memory->to, 4, to, at_end)))
            return false;
        if (even && !check_half(four, place(memory->to, 4, to, at_end)))
            return false;
        if (even && !check_address(place(memory->from, ADDRESS, from, at_end),
                                   place(memory->to, ADDRESS, to, at_end)))
            return false;
    }
    return true;
}

bool bytes_check(const struct bytes_memory *given, struct bytes_failure *failure) {
    memory = given;
    failed = failure;
    source = (struct random){1};
    return check_fields() && check_folding() && check_lengths(RANDOM) && check_lengths(EDGE) &&
           check_lengths(ZEROES) && check_lengths(ONES) && check_sample() && check_appending() &&
           check_headers() && check_pseudo() && check_replacing();
}
