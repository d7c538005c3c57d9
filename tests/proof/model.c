/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What holds of the functions here: each asserts what its header asks of a caller, and
 * returns anything that the header allows. So the sum of some bytes is any number, as long
 * as the bytes are there to be read.
 */
#include "model.h"

#include "bytes/bytes.h"

struct plumb_pool model_pool;
unsigned model_held;
struct plumb model_stack;
struct plumb_netif model_netif;

static struct plumb_packet chain[MODEL_FRAGMENTS];

/* ---- the bytes ---- */

#ifndef MODEL_REAL_BYTES

uint32_t pl_sum(const void *bytes, size_t length) {
    MODEL_ASSERT(length == 0 || __CPROVER_r_ok(bytes, length), "summed bytes are readable");
    return nondet_u16();
}

void pl_copy(void *to, const void *from, size_t length) {
    MODEL_ASSERT(length == 0 || __CPROVER_r_ok(from, length), "copied bytes are readable");
    MODEL_ASSERT(length == 0 || __CPROVER_w_ok(to, length), "there is room for a copy");
    if (length)
        __CPROVER_havoc_slice(to, length);
}

uint32_t pl_copy_sum(void *to, const void *from, size_t length) {
    pl_copy(to, from, length);
    return nondet_u16();
}

#endif

/* ---- the instance ---- */

void pl_drop(struct plumb *stack, enum plumb_counter counter, struct plumb_packet *packet) {
    MODEL_ASSERT(counter < PLUMB_COUNTER_COUNT, "a counter");
    MODEL_ASSERT(packet != NULL, "a packet to drop");
    (void)stack; /* what is counted is the tests' business */
    plumb_packet_put(packet);
}

void model_begin(void) {
    __CPROVER_havoc_object(&model_stack);
    __CPROVER_havoc_object(&model_netif);
    model_stack.netifs = &model_netif;
    model_stack.options.segments = model_stack.options.headers = &model_pool;
    model_netif.stack = &model_stack;
    model_netif.next = NULL;
    model_netif.observer = NULL;
    model_netif.expected = model_netif.expected_flow = NULL;
    MODEL_ASSUME(model_netif.mtu >= 68 && model_netif.mtu <= 9000);
    model_pool = (struct plumb_pool){.capacity = 2048, .count = MODEL_FRAGMENTS};
}

void model_give_free(void) {
    static struct plumb_packet packet;
    static uint8_t buffer[256];

    packet = (struct plumb_packet){.pool = &model_pool};
    packet.owner.memory = buffer;
    model_pool.free = &packet;
    model_pool.free_count = 1;
    model_held++;
}

/* ---- packets ---- */

/* A fragment that ends where its memory ends, of `length` bytes behind `front` of headers. */
static struct plumb_packet *fragment(unsigned length, unsigned front) {
    static unsigned made;
    struct plumb_packet *packet = &chain[made];
    /* An object of its own: what is read behind it would else be its neighbour's. */
    uint8_t *memory = malloc(MODEL_FRONT + MODEL_BYTES);
    uint8_t *data = memory + MODEL_FRONT + MODEL_BYTES - length;

    MODEL_ASSUME(length <= MODEL_BYTES && front <= MODEL_FRONT);
    made++;
    *packet = (struct plumb_packet){.data = data,
                                    .length = (uint16_t)length,
                                    .references = 1,
                                    .pool = &model_pool,
                                    .flags = nondet_u8()};
    packet->owner.memory = data;
    model_held++;
    return packet;
}

/* Hangs 0 to `fragments` more behind the first, with up to `room` bytes; returns how many. */
static unsigned add_fragments(struct plumb_packet *last, unsigned fragments, unsigned room) {
    unsigned bytes = 0;

    for (unsigned i = 0; i < fragments; i++) {
        unsigned length = nondet_u8();
        if (nondet_bool())
            break;
        MODEL_ASSUME(length <= room - bytes);
        last->more = fragment(length, 0);
        last = last->more;
        bytes += length;
    }
    return bytes;
}

struct plumb_packet *model_packet(unsigned fragments, unsigned most) {
    unsigned length = nondet_u8();

    MODEL_ASSUME(length <= most);
    struct plumb_packet *first = fragment(length, 0);
    first->total = (uint16_t)(length + add_fragments(first, fragments - 1, most - length));
    return first;
}

void model_check_packet(const struct plumb_packet *packet) {
    unsigned total = packet->total, sum = 0;

    for (; packet; packet = packet->more) {
        MODEL_ASSERT(packet->length == 0 || __CPROVER_r_ok(packet->data, packet->length),
                     "a fragment is readable");
        MODEL_ASSERT(packet->references != 0, "a fragment is held");
        sum += packet->length;
    }
    MODEL_ASSERT(sum == total, "the total is the sum of the lengths");
}

void model_check_datagram(const struct pl_ipv4_header *header, const struct plumb_packet *packet) {
    unsigned length = (header->version_length & 15U) * 4;

    MODEL_ASSERT(header->version_length >> 4 == 4, "version 4");
    MODEL_ASSERT(length >= PL_IPV4_HEADER, "a whole header");
    MODEL_ASSERT((const uint8_t *)header + length == packet->data, "the header lies in front");
    model_check_packet(packet);
}

struct plumb_packet *model_datagram(const struct pl_ipv4_header **header, uint8_t protocol,
                                    unsigned fragments, unsigned most) {
    unsigned words = nondet_u8(), length = nondet_u8();

    MODEL_ASSUME(words >= 5 && words <= MODEL_FRONT / 4 && length <= most);
    struct plumb_packet *first = fragment(length, words * 4);
    struct pl_ipv4_header *own = (void *)(first->data - words * 4);
    own->version_length = (uint8_t)(0x40 | words);
    own->protocol = protocol;
    first->total = (uint16_t)(length + add_fragments(first, fragments - 1, most - length));
    *header = own;
    return first;
}

void model_end(void) {
    MODEL_ASSERT(model_pool.free_count == model_held, "every fragment was put, and once");
}
