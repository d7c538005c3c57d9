/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Who owns a DMA buffer, and when: the shadow (shadow_dma.h) finds each way to go
 * wrong; the Cadence GEM driver goes none of them; nor does a stack above it, that
 * receives, sends by copy and by reference, answers in the buffer of the question and
 * sends again. Over lines of 16 to 128 bytes, with caches that do as they like.
 */
#include "gem_model.h"

#include <string.h>

#include "internal.h"

enum {
    RING = 32,
    BUFFERS = 72,
    SEGMENTS = 64,
    HEADERS = 48,
    SMALL = 128,
    FULL = 1536,
    KEPT = 6,
    HEADER = 128,
    COPIES = 24,
#ifdef CONFIG_PLUMB_GEM_RX_LINEAR
    COPY = FULL,
#else
    COPY = 256,
#endif
};

/* The arena, cut up: received, sent, headers, lent, copied. */
enum {
    SEGMENT_PLACE = BUFFERS * FULL + SHADOW_DMA_LONGEST,
    HEADER_PLACE = SEGMENT_PLACE + SEGMENTS * FULL,
    LENT_PLACE = HEADER_PLACE + HEADERS * HEADER,
    LENT = 16 * 1024,
    COPY_PLACE = LENT_PLACE + LENT,
};
_Static_assert((int)COPY_PLACE + COPIES * COPY <= (int)MODEL_ARENA, "the arena is too small");

static const size_t lines[] = {16, 32, 64, 128};
enum { LINES = sizeof lines / sizeof *lines };

static struct plumb_gem_descriptor rx_ring[RING + 1], tx_ring[RING + 1];
static struct plumb_packet *rx_held[RING], *tx_held[RING];
static uint8_t *tx_mapped[RING];
static struct plumb_packet rx_packets[BUFFERS], segment_packets[SEGMENTS], header_packets[HEADERS],
    reference_packets[HEADERS], copy_packets[COPIES];
static struct plumb_pool rx_pool, segments, headers, references, copies;
static struct plumb_gem gem;
static struct random chance;
static uint64_t now_us;

/* ---- the shadow itself ---- */

static char told[128];

static void note(void *context, const char *what, const void *address, const void *place) {
    (void)context;
    (void)address;
    (void)place;
    if (!*told)
        strncpy(told, what, sizeof told - 1);
}

static struct shadow_dma *shadow_begin(size_t line) {
    model_reset_caches(rx_ring, tx_ring, line, line);
    model.shadow.look = NULL;
    model.shadow.fail = note;
    *told = 0;
    return &model.shadow;
}

static void expect_told(const char *what) {
    assert_string_equal(told, what);
    *told = 0;
}

/* Nothing, not even a sanitizer, looks at these. */
__attribute__((no_sanitize_address)) static void store(uint8_t *at, uint8_t value) {
    *(volatile uint8_t *)at = value;
}

__attribute__((no_sanitize_address)) static uint8_t load(const uint8_t *at) {
    return *(const volatile uint8_t *)at;
}

static void only_a_sync_reconciles(void **state) {
    (void)state;
    for (unsigned i = 0; i < LINES; i++) {
        const struct shadow_dma *shadow = shadow_begin(lines[i]);
        const struct plumb_dma *dma = &shadow->dma;
        uint8_t *bytes = model_arena + 1024;
        uintptr_t bus = plumb_dma_map(dma, bytes, 512, PLUMB_DMA_FROM_DEVICE);
        memset(shadow_dma_write(&model.shadow, bus, 300), 7, 300);
        expect_equal(load(bytes), SHADOW_DMA_POISON);
        plumb_dma_sync_for_cpu(dma, bytes, 256, PLUMB_DMA_FROM_DEVICE);
        expect(bytes[0] == 7 && bytes[255] == 7);
        expect_equal(bytes[256], SHADOW_DMA_POISON);
        bytes[511] = 1;
        plumb_dma_sync_for_device(dma, bytes, 512, PLUMB_DMA_FROM_DEVICE);
        expect_equal(load(bytes), SHADOW_DMA_POISON);
        plumb_dma_unmap(dma, bytes, 512, PLUMB_DMA_FROM_DEVICE);
        expect_equal(bytes[299], 7);
        bytes[3] = 9;
        bus = plumb_dma_map(dma, bytes + 3, 5, PLUMB_DMA_TO_DEVICE);
        expect_equal(*shadow_dma_read(&model.shadow, bus, 5), 9);
        bytes[2] = 1; /* in the same line, and nobody's business */
        plumb_dma_unmap(dma, bytes + 3, 5, PLUMB_DMA_TO_DEVICE);
        shadow_dma_expect_idle(&model.shadow);
        expect_told("");
    }
}

static void misuse_of_what_the_device_reads_is_told(void **state) {
    (void)state;
    for (unsigned i = 0; i < LINES; i++) {
        struct shadow_dma *shadow = shadow_begin(lines[i]);
        const struct plumb_dma *dma = &shadow->dma;
        uint8_t *bytes = model_arena;
        uintptr_t bus = plumb_dma_map(dma, bytes, 1024, PLUMB_DMA_TO_DEVICE);
        bytes[700] ^= 1;
        shadow_dma_read(shadow, bus, 1024);
        expect_told("is given to be read, and was written to");
        plumb_dma_unmap(dma, bytes, 1024, PLUMB_DMA_TO_DEVICE);
        expect_told("was written to while the device could read it");
        plumb_dma_unmap(dma, bytes, 1024, PLUMB_DMA_TO_DEVICE);
        expect_told("is not mapped for the device to read");
        shadow_dma_read(shadow, bus, 1);
        expect_told("is given to be read, and is not mapped");
        plumb_dma_sync_for_device(dma, bytes, 1, PLUMB_DMA_TO_DEVICE);
        expect_told("is not mapped for the device to read");
        plumb_dma_map(dma, bytes, 1, PLUMB_DMA_TO_DEVICE);
        shadow_dma_expect_idle(shadow);
        expect_told("is still mapped for the device to read");
        for (unsigned k = 0; k < 250; k++)
            plumb_dma_map(dma, bytes, 1, PLUMB_DMA_TO_DEVICE);
        expect_told("is mapped again and again, and never unmapped");
        plumb_dma_map(dma, bytes, MODEL_ARENA + 1, PLUMB_DMA_TO_DEVICE);
        expect_told("lies outside of what the device reaches");
    }
}

static void misuse_of_what_the_device_writes_is_told(void **state) {
    (void)state;
    for (unsigned i = 0; i < LINES; i++) {
        struct shadow_dma *shadow = shadow_begin(lines[i]);
        const struct plumb_dma *dma = &shadow->dma;
        uint8_t *bytes = model_arena;
        plumb_dma_map(dma, bytes + 1, lines[i], PLUMB_DMA_FROM_DEVICE);
        expect_told("is mapped to be written, and shares a line");
        plumb_dma_map(dma, bytes, lines[i] - 8, PLUMB_DMA_FROM_DEVICE);
        expect_told("is mapped to be written, and shares a line");
        plumb_dma_sync_for_cpu(dma, bytes, 1, PLUMB_DMA_FROM_DEVICE);
        expect_told("is not mapped for the device to write");
        shadow_dma_give(shadow, shadow_dma_bus(shadow, bytes), 1);
        expect_told("is given to be written, and is not mapped");
        plumb_dma_map(dma, bytes, 1024, PLUMB_DMA_FROM_DEVICE);
        expect_told("");
        plumb_dma_map(dma, bytes, 1024, PLUMB_DMA_FROM_DEVICE);
        expect_told("is mapped already");
        plumb_dma_sync_for_device(dma, bytes, 1, PLUMB_DMA_FROM_DEVICE);
        expect_told("is given to the device, which owns it");
        plumb_dma_map(dma, bytes, 1, PLUMB_DMA_TO_DEVICE);
        expect_told("is given to be read while the device writes it");
        plumb_dma_unmap(dma, bytes, 1, PLUMB_DMA_TO_DEVICE);
        *told = 0;
        store(bytes + 1023, 0);
        plumb_dma_sync_for_cpu(dma, bytes, 1, PLUMB_DMA_FROM_DEVICE);
        expect_told("was written to while the device owned it");
        plumb_dma_sync_for_cpu(dma, bytes, 1, PLUMB_DMA_FROM_DEVICE);
        expect_told("is taken from the device, which does not own it");
    }
}

/* A dirty line is found by whoever is quicker than the cache, which may write it back. */
static void dirty_lines_are_told(void **state) {
    (void)state;
    unsigned given = 0, taken = 0;
    for (unsigned i = 0; i < LINES; i++) {
        struct shadow_dma *shadow = shadow_begin(lines[i]);
        const struct plumb_dma *dma = &shadow->dma;
        uint8_t *bytes = model_arena;
        uintptr_t bus = plumb_dma_map(dma, bytes, 1024, PLUMB_DMA_FROM_DEVICE);
        for (unsigned k = 0; k < 50; k++) {
            shadow_dma_give(shadow, bus, 1024);
            *told = 0;
            plumb_dma_sync_for_cpu(dma, bytes, 1024, PLUMB_DMA_FROM_DEVICE);
            bytes[1000] ^= 1;
            shadow_dma_give(shadow, bus, 1024);
            given += strcmp(told, "is given to be written, and is dirty") == 0;
            plumb_dma_sync_for_cpu(dma, bytes + 1000, 1, PLUMB_DMA_FROM_DEVICE);
            *told = 0;
            bytes[1000] ^= 1;
            plumb_dma_sync_for_cpu(dma, bytes, 1024, PLUMB_DMA_FROM_DEVICE);
            taken += strncmp(told, "is taken from the device", 24) == 0;
        }
        expect(shadow->written_back > 5 && shadow->fetched > 5);
    }
    expect_equal(given, 50 * LINES); /* nothing came between */
    expect_equal(taken, 50 * LINES);
}

#if defined __SANITIZE_ADDRESS__
int __asan_address_is_poisoned(const void volatile *address);

static void the_sanitizer_guards_what_the_device_owns(void **state) {
    (void)state;
    for (unsigned i = 0; i < LINES; i++) {
        const struct plumb_dma *dma = &shadow_begin(lines[i])->dma;
        uint8_t *bytes = model_arena + 4096;
        plumb_dma_map(dma, bytes, 1024, PLUMB_DMA_FROM_DEVICE);
        expect(__asan_address_is_poisoned(bytes) && __asan_address_is_poisoned(bytes + 1023));
        expect(!__asan_address_is_poisoned(bytes - 1) && !__asan_address_is_poisoned(bytes + 1024));
        plumb_dma_sync_for_cpu(dma, bytes, 1, PLUMB_DMA_FROM_DEVICE);
        expect(!__asan_address_is_poisoned(bytes) && !__asan_address_is_poisoned(bytes + 1023));
    }
}
#endif

static void chance_repeats_by_its_seed(void **state) {
    (void)state;
    uint32_t first[2];
    for (unsigned round = 0; round < 3; round++) {
        model_reset_caches(rx_ring, tx_ring, 32, round == 2);
        model.shadow.look = NULL;
        const struct plumb_dma *dma = &model.shadow.dma;
        plumb_dma_map(dma, model_arena, 4096, PLUMB_DMA_FROM_DEVICE);
        for (unsigned k = 0; k < 200; k++) {
            plumb_dma_sync_for_cpu(dma, model_arena, 4096, PLUMB_DMA_FROM_DEVICE);
            memset(model_arena, (int)k, 2048);
            shadow_dma_disturb(&model.shadow);
            plumb_dma_sync_for_device(dma, model_arena, 4096, PLUMB_DMA_FROM_DEVICE);
        }
        expect(model.shadow.written_back > 100 && model.shadow.fetched > 100);
        if (!round)
            memcpy(first, &model.shadow.written_back, sizeof first);
        else
            expect_equal(memcmp(first, &model.shadow.written_back, sizeof first) == 0, round == 1);
    }
}

/* ---- the driver ---- */

struct variant {
    size_t line;
    uint16_t buffer;
    bool like_qemu;
    uint64_t seed;
};

/* QEMU's device overruns small buffers by two bytes, for which there is to be a line. */
static void pools_create(uint16_t buffer, bool like_qemu) {
    const struct plumb_dma *dma = &model.shadow.dma;
    uint16_t room = like_qemu && buffer == SMALL ? SMALL + SHADOW_DMA_LONGEST : buffer;
    expect_equal(plumb_pool_create(&rx_pool, rx_packets, model_arena, BUFFERS, room, dma), 0);
    expect_equal(plumb_pool_create(&segments, segment_packets, model_arena + SEGMENT_PLACE,
                                   SEGMENTS, FULL, dma),
                 0);
    expect_equal(plumb_pool_create(&headers, header_packets, model_arena + HEADER_PLACE, HEADERS,
                                   HEADER, dma),
                 0);
    expect_equal(plumb_pool_create(&references, reference_packets, 0, HEADERS, 0, dma), 0);
    expect_equal(
        plumb_pool_create(&copies, copy_packets, model_arena + COPY_PLACE, COPIES, COPY, dma), 0);
}

static void gem_begin(const struct variant *variant) {
    model_reset_caches(rx_ring, tx_ring, variant->line, variant->seed);
    model.pad_every = model.statistics_stay = model.forget_place = variant->like_qemu;
    model.stuck_until_off = !variant->like_qemu;
    model.room_behind = variant->buffer == SMALL;
    chance.state = variant->seed;
    now_us = SECOND;
    pools_create(variant->buffer, variant->like_qemu);
    struct plumb_gem_config config = {
        .name = "gem0",
        .registers = MODEL_BASE,
        .address = plumb_ethernet_address((const uint8_t[6]){2, 0, 0, 0, 0, 2}),
        .phy = PLUMB_GEM_PHY_ANY,
        .landing = PLUMB_LANDING_OFFSET,
        .dma = &model.shadow.dma,
        .rx_pool = &rx_pool,
        .rx_buffer = variant->buffer,
#ifdef CONFIG_PLUMB_GEM_RX_COPIES
        .rx_copies = &copies,
#endif
        .rx = {rx_ring, MODEL_RX_RING, rx_held, NULL, RING},
        .tx = {tx_ring, MODEL_TX_RING, tx_held, tx_mapped, RING},
    };
    expect_equal(plumb_gem_create(&gem, &config), PLUMB_OK);
    expect_equal(gem.offset, variant->like_qemu ? PLUMB_GEM_OFFSET_EVERY : PLUMB_GEM_OFFSET_FIRST);
}

static void gem_end(void) {
    expect_equal(rx_pool.free_count, rx_pool.count);
    expect_equal(segments.free_count, segments.count);
    expect_equal(headers.free_count, headers.count);
    expect_equal(references.free_count, references.count);
    expect_equal(copies.free_count, copies.count);
    shadow_dma_expect_idle(&model.shadow);
    /* No buffer stays with the processor where all is copied. */
    expect(COPY == FULL || model.shadow.fetched);
}

static void each_variant(void (*test)(const struct variant *variant)) {
    for (unsigned i = 0; i < LINES * 4; i++) {
        struct variant variant = {.line = lines[i / 4],
                                  .buffer = i & 1 ? SMALL : FULL,
                                  .like_qemu = i & 2,
                                  .seed = i + 1};
        test(&variant);
    }
}

static uint8_t byte_of(unsigned frame, unsigned index) {
    return (uint8_t)(frame * 31 + index * 7 + (index >> 8));
}

static unsigned arrived, frame_now, length_now;
static struct plumb_packet *kept[KEPT];
static unsigned kept_frame[KEPT], kept_count;

static void expect_bytes(const struct plumb_packet *packet, unsigned frame) {
    unsigned done = 0;
    for (; packet; packet = packet->more)
        for (unsigned i = 0; i < packet->length; i++, done++)
            if (packet->data[i] != byte_of(frame, done))
                fail_msg("frame %u differs at %u", frame, done);
}

/* The reader of a frame may write to all of what it is in, and says so. */
static void scribble(struct plumb_packet *packet) {
    for (; packet; packet = packet->more) {
        uint8_t *memory = packet->owner.memory;
        memory[packet->pool->capacity - 1U] ^= 0x55;
        packet->data[random_below(&chance, packet->length)] ^= 0xff;
        packet->dirty = true;
    }
}

/* Sends a received frame back where it lies, as one that answers pings does. */
static void send_back(struct plumb_packet *packet) {
    for (struct plumb_packet *f = packet; f; f = f->more)
        f->dirty = true;
    packet->data[0] ^= 0xff;
    unsigned before = model.sent_count;
    expect_equal(gem.netif.driver->transmit(&gem.netif, packet), PLUMB_OK);
    gem.netif.driver->flush(&gem.netif);
    expect_equal(model.sent_count, before + 1);
    expect_equal(model.sent_length[before % MODEL_SENT], packet->total);
    const uint8_t *bytes = model.sent[before % MODEL_SENT];
    expect_equal(bytes[0], byte_of(frame_now, 0) ^ 0xff);
    for (unsigned i = 1; i < packet->total; i++)
        if (bytes[i] != byte_of(frame_now, i))
            fail_msg("frame %u, sent back, differs at %u", frame_now, i);
}

/* Sends headers made anew before a payload that was written back long ago, and is not now. */
static void send_clean(void) {
    struct plumb_packet *front = plumb_packet_take(&headers, 10);
    struct plumb_packet *clean =
        plumb_packet_take(&segments, (uint16_t)(1 + random_below(&chance, 40)));
    unsigned before = model.sent_count;
    front->length = 54;
    clean->length = (uint16_t)(1 + random_below(&chance, 1400));
    front->total = (uint16_t)(front->length + clean->length);
    front->more = clean;
    for (unsigned i = 0; i < front->total; i++)
        (i < 54 ? front->data : clean->data - 54)[i] = byte_of(frame_now, i);
    plumb_dma_clean(gem.config.dma, clean->data, clean->length);
    clean->flags = PLUMB_PACKET_CLEAN;
    expect_equal(gem.netif.driver->transmit(&gem.netif, front), PLUMB_OK);
    gem.netif.driver->flush(&gem.netif);
    expect_equal(model.sent_count, before + 1);
    expect_equal(model.sent_length[before % MODEL_SENT], front->total);
    const uint8_t *bytes = model.sent[before % MODEL_SENT];
    for (unsigned i = 0; i < front->total; i++)
        if (bytes[i] != byte_of(frame_now, i))
            fail_msg("frame %u, sent clean, differs at %u", frame_now, i);
    plumb_packet_put(front);
}

static void take_frame(struct plumb_netif *netif, struct plumb_packet *packet) {
    (void)netif;
    arrived++;
    expect_equal(packet->total, length_now);
    unsigned what = random_below(&chance, 8);
    if (what) /* else it goes back unread */
        expect_bytes(packet, frame_now);
    if (what == 1)
        scribble(packet);
    if (what == 2)
        send_back(packet);
    if (what == 3 && kept_count < KEPT) {
        kept_frame[kept_count] = frame_now;
        kept[kept_count++] = packet;
        return;
    }
    plumb_packet_put(packet);
}

static void put_one_kept(void) {
    if (!kept_count)
        return;
    unsigned i = random_below(&chance, kept_count--);
    expect_bytes(kept[i], kept_frame[i]);
    plumb_packet_put(kept[i]);
    kept[i] = kept[kept_count];
    kept_frame[i] = kept_frame[kept_count];
}

static void frames_come(unsigned frames, unsigned longest) {
    uint8_t bytes[1518];
    for (unsigned i = 0; i < frames; i++) {
        frame_now++;
        length_now = 14 + random_below(&chance, longest - 13);
        for (unsigned k = 0; k < length_now; k++)
            bytes[k] = byte_of(frame_now, k);
        expect(model_receive(bytes, length_now));
        gem.netif.driver->poll(&gem.netif, now_us += 10, 64);
        if (random_below(&chance, 4) == 0)
            put_one_kept();
        if (random_below(&chance, 8) == 0)
            send_clean();
    }
}

/* Now and then the pool is empty: a frame is lost, and its buffers go back unread. */
static void receives_whatever_becomes_of_a_frame(const struct variant *variant) {
    struct plumb_packet *hoard[BUFFERS + COPIES];
    unsigned count = 0;
    gem_begin(variant);
    arrived = frame_now = kept_count = 0;
    gem.netif.input = take_frame;
    expect_equal(gem.netif.driver->start(&gem.netif), PLUMB_OK);
    for (unsigned round = 0; round < 6; round++) {
        frames_come(30, 1518);
        while (rx_pool.free_count)
            hoard[count++] = plumb_packet_take(&rx_pool, 0);
        while (copies.free_count)
            hoard[count++] = plumb_packet_take(&copies, 0);
        frames_come(5, 1518);
        while (count)
            plumb_packet_put(hoard[--count]);
    }
    while (kept_count)
        put_one_kept();
    gem.netif.driver->poll(&gem.netif, now_us += 10, 64);
    gem.netif.driver->stop(&gem.netif);
    expect_equal(arrived, gem.netif.counters[PLUMB_NETIF_rx_frames]);
    expect_equal(arrived + gem.netif.counters[PLUMB_NETIF_rx_no_buffer], frame_now);
    expect(gem.netif.counters[PLUMB_NETIF_rx_no_buffer] > 10);
    gem_end();
}

static void a_driver_alone(void **state) {
    (void)state;
    each_variant(receives_whatever_becomes_of_a_frame);
}

/* ---- a stack above the driver, and another on the wire ---- */

enum { PIECE = 1024, PIECES = LENT / PIECE, TOTAL = 60000, LOSS = 40 /* in a thousand */ };
enum style { BY_COPY, BY_REFERENCE, STYLES };

static PLUMB_STACK_MEMORY(stack_memory);
static struct plumb *stack;
static struct world *world;
static unsigned sent_seen, pings, echoes, datagrams, replies;
static uint64_t drops;

struct end {
    struct plumb_tcp *connection;
    struct plumb_tcp_listener *listener;
    uint32_t seed_out, seed_in, sent, received;
    enum style style;
    bool little; /* small segments: the receiver joins them */
    bool read_by_copy, shut, peer_closed, closed;
    int error;
    uint32_t taken; /* pieces that are lent */
    struct plumb_reference lent[PIECES];
};

static struct end ends[2]; /* over the driver, on the wire */

static void come_back(struct plumb_reference *reference) {
    struct end *end = reference->context;
    unsigned piece = (unsigned)(reference - end->lent);
    end->taken &= ~(1U << piece);
    memset(model_arena + LENT_PLACE + piece * PIECE, 0xdd, PIECE);
}

/* Lends a piece of a length and a place that no line likes. */
static bool push_reference(struct end *end, uint32_t room) {
    unsigned piece = 0, skip = end->sent % 5;
    uint32_t length = 1 + end->sent % (PIECE - 6);
    while (piece < PIECES && (end->taken >> piece & 1))
        piece++;
    if (piece == PIECES)
        return false;
    uint8_t *bytes = model_arena + LENT_PLACE + piece * PIECE + skip;
    length = length < room ? length : room;
    for (uint32_t i = 0; i < length; i++)
        bytes[i] = pattern_at(end->seed_out, end->sent + i);
    end->lent[piece] = (struct plumb_reference){
        .memory = bytes, .length = length, .release = come_back, .context = end};
    /* Every other piece is written back by who lends it, and then never again. */
    if (end == &ends[0] && piece % 2)
        plumb_reference_clean(stack, &end->lent[piece]);
    end->taken |= 1U << piece;
    if (plumb_tcp_send_reference(end->connection, &end->lent[piece]) != PLUMB_OK) {
        end->taken &= ~(1U << piece);
        return false;
    }
    end->sent += length;
    return true;
}

static bool push_copy(struct end *end, uint32_t room) {
    uint8_t bytes[2000];
    uint32_t length = end->little ? 1 + end->sent % 150 : sizeof bytes;
    length = length < room ? length : room;
    for (uint32_t i = 0; i < length; i++)
        bytes[i] = pattern_at(end->seed_out, end->sent + i);
    int taken = plumb_tcp_send(end->connection, bytes, length);
    if (taken > 0)
        end->sent += (uint32_t)taken;
    return taken == (int)length;
}

static void push(struct end *end) {
    unsigned turns = end->little ? 4 : TOTAL;
    while (end->sent < TOTAL && turns-- &&
           (end->style == BY_REFERENCE ? push_reference : push_copy)(end, TOTAL - end->sent))
        ;
    if (end->sent == TOTAL && !end->shut) {
        end->shut = true;
        plumb_tcp_shutdown(end->connection);
    }
}

static void check(struct end *end, const uint8_t *bytes, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (bytes[i] != pattern_at(end->seed_in, end->received++))
            fail_msg("received byte %u is wrong", end->received - 1);
}

/* All, or now and then a part, so that some is read long after it came. */
static void pull(struct end *end) {
    struct plumb_iovec run;
    uint8_t bytes[700];
    int length;
    if (end->read_by_copy) {
        while ((length = plumb_tcp_read(end->connection, bytes, sizeof bytes)) > 0)
            check(end, bytes, (size_t)length);
        return;
    }
    while (plumb_tcp_peek(end->connection, &run, 1)) {
        size_t part = run.length > 1 && random_below(&chance, 4) == 0 ? run.length / 2 : run.length;
        check(end, run.data, part);
        plumb_tcp_consume(end->connection, part);
    }
}

static void on_event(struct plumb_tcp *connection, unsigned events, void *context) {
    struct end *end = context;
    end->connection = connection;
    if (events & PLUMB_TCP_CONNECTED)
        expect_equal(plumb_tcp_set_option(connection, PLUMB_TCP_NODELAY, 1), PLUMB_OK);
    if (events & PLUMB_TCP_PEER_CLOSED)
        end->peer_closed = true;
    pull(end);
    if (events & PLUMB_TCP_CLOSED) {
        end->error = plumb_tcp_error(connection);
    } else {
        push(end);
        if (!end->peer_closed || !end->shut)
            return;
        plumb_tcp_close(connection);
    }
    end->connection = 0;
    end->closed = true;
}

static void on_accept(struct plumb_tcp_listener *listener, struct plumb_tcp *connection,
                      void *context) {
    (void)listener;
    plumb_tcp_set_handler(connection, on_event, context);
    on_event(connection, 0, context);
}

static bool lost(void) {
    bool is_lost = random_below(&chance, 1000) < LOSS;
    drops += is_lost;
    return is_lost;
}

enum { ECHO = 7, ASKER = 4000 };

/* Answers where the datagram lies, as it came or changed. */
static void on_datagram(struct plumb_udp *socket, struct plumb_packet *payload,
                        const struct plumb_udp_source *source, void *context) {
    uint8_t first, changed;
    (void)context;
    plumb_packet_copy_out(payload, 0, &first, 1);
    changed = byte_of(first, 1); /* to what it is: it is written to */
    if (random_below(&chance, 4) == 0)
        plumb_packet_copy_in(payload, 1, &changed, 1);
    expect_equal(plumb_udp_reply(socket, payload, source), PLUMB_OK);
}

static void ask(void) {
    struct frame frame;
    uint8_t bytes[1000];
    struct frame_path path = {.from = FRAME_IPV4(10, 0, 0, 1),
                              .to = FRAME_IPV4(10, 0, 0, 2),
                              .from_port = ASKER,
                              .to_port = ECHO};
    bytes[0] = (uint8_t)datagrams++;
    for (unsigned i = 1; i < sizeof bytes; i++)
        bytes[i] = byte_of(bytes[0], i);
    memcpy(path.from_ethernet, world->a.ethernet, 6);
    memcpy(path.to_ethernet, &gem.netif.address, 6);
    frame_udp(&frame, &path, bytes,
              2 + random_below(&chance, random_below(&chance, 2) ? 80 : sizeof bytes - 2));
    model_receive(frame.bytes, frame.length);
}

/* Nor does a reply to a datagram. */
static bool was_reply(const uint8_t *bytes, unsigned length) {
    static const unsigned protocol = FRAME_NETWORK + 9;
    static const uint8_t ports[] = {0, ECHO, ASKER >> 8, ASKER & 255};
    struct frame frame = {.length = (uint16_t)length};
    if (length < FRAME_UDP_PAYLOAD || bytes[protocol] != 17 ||
        memcmp(bytes + FRAME_TRANSPORT, ports, sizeof ports) != 0)
        return false;
    memcpy(frame.bytes, bytes, length);
    frame.network = FRAME_NETWORK;
    frame.transport = FRAME_TRANSPORT;
    expect(frame_checksums_good(&frame));
    for (unsigned i = 1; i < length - FRAME_UDP_PAYLOAD; i++)
        expect_equal(bytes[FRAME_UDP_PAYLOAD + i], byte_of(bytes[FRAME_UDP_PAYLOAD], i));
    replies++;
    return true;
}

/* An echo's answer goes no further. */
static bool was_echo(const uint8_t *frame, unsigned length) {
    static const unsigned protocol = FRAME_NETWORK + 9;
    if (length < FRAME_TRANSPORT + 8U || frame[12] != 8 || frame[13] || frame[protocol] != 1)
        return false;
    expect_equal(frame[FRAME_TRANSPORT], 0);
    for (unsigned i = FRAME_TRANSPORT + 8; i < length; i++)
        expect_equal(frame[i], byte_of(frame[FRAME_TRANSPORT + 7], i));
    echoes++;
    return true;
}

static void ping(void) {
    struct frame frame;
    uint8_t bytes[1000];
    struct frame_path path = {.from = FRAME_IPV4(10, 0, 0, 1), .to = FRAME_IPV4(10, 0, 0, 2)};
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = byte_of(pings % 256, FRAME_TRANSPORT + 8 + i);
    memcpy(path.from_ethernet, world->a.ethernet, 6);
    memcpy(path.to_ethernet, &gem.netif.address, 6);
    frame_icmp(&frame, &path, 8, 0, pings++ % 256, bytes, 1 + random_below(&chance, sizeof bytes));
    model_receive(frame.bytes, frame.length);
}

/* What each side has sent is carried to the other. */
static void carry(void) {
    uint8_t frame[PLUMB_WIRE_LONGEST];
    uint16_t length;
    expect(model.sent_count - sent_seen <= MODEL_SENT);
    for (; sent_seen < model.sent_count; sent_seen++) {
        const uint8_t *sent = model.sent[sent_seen % MODEL_SENT];
        length = model.sent_length[sent_seen % MODEL_SENT];
        if (!was_echo(sent, length) && !was_reply(sent, length) && !lost())
            expect_equal(plumb_wire_inject(world->a.end, sent, length), PLUMB_OK);
    }
    while ((length = plumb_wire_collect(&world->wire.end[1], world->now_us, frame)))
        if (!lost())
            model_receive(frame, length);
}

static void push_again(struct end *end) {
    if (end->connection && end->sent)
        push(end);
}

static void pass_time(void) {
    world->now_us += 200;
    plumb_poll(stack, world->now_us);
    push_again(&ends[0]);
    world_settle(world);
    push_again(&ends[1]);
    if (random_below(&chance, 8) == 0)
        ping();
    if (random_below(&chance, 4) == 0)
        ask();
    carry();
}

static void stack_begin(const struct variant *variant) {
    gem_begin(variant);
    struct plumb_options options = {.seed = {variant->seed, 2},
                                    .segments = &segments,
                                    .headers = &headers,
                                    .references = &references};
    world = world_single(&(struct world_options){.seed = variant->seed});
    sent_seen = model.sent_count;
    pings = echoes = datagrams = replies = 0;
    drops = 0;
    expect_equal(plumb_create(&stack, stack_memory, sizeof stack_memory, &options), PLUMB_OK);
    plumb_poll(stack, world->now_us);
    expect_equal(plumb_netif_attach(stack, &gem.netif), PLUMB_OK);
    expect_equal(plumb_netif_set_ipv4(&gem.netif, ipv4_of(FRAME_IPV4(10, 0, 0, 2)),
                                      ipv4_of(0xffffff00U), PLUMB_IPV4_ANY),
                 PLUMB_OK);
}

static void serve_datagrams(void) {
    struct plumb_udp *socket;
    expect_equal(plumb_udp_open(stack, endpoint_of(0, ECHO), on_datagram, NULL, &socket), PLUMB_OK);
}

static void stack_end(void) {
    plumb_destroy(stack);
    expect_equal(ends[0].taken, 0);
    gem_end();
    world_end(world);
}

/* Both ways at once; some frames are lost, both ways. */
static void transfer(const struct variant *variant, enum style style) {
    stack_begin(variant);
    memset(ends, 0, sizeof ends);
    ends[0] = (struct end){.seed_out = 1, .seed_in = 2, .style = style};
    ends[1] = (struct end){
        .seed_out = 2, .seed_in = 1, .read_by_copy = true, .little = style == BY_REFERENCE};
    ends[0].read_by_copy = variant->seed & 4;
    serve_datagrams();
    expect_equal(
        plumb_tcp_listen(stack, endpoint_of(0, 80), 4, on_accept, &ends[0], &ends[0].listener),
        PLUMB_OK);
    expect_equal(plumb_tcp_connect(world->a.stack, endpoint_of(FRAME_IPV4(10, 0, 0, 2), 80), 0,
                                   on_event, &ends[1], &ends[1].connection),
                 PLUMB_OK);
    const unsigned some = 4;
    for (unsigned i = 0; i < 400000; i++) {
        if (ends[0].closed && ends[1].closed && echoes >= some && replies >= some)
            break;
        pass_time();
    }
    expect(ends[0].closed && ends[1].closed && echoes >= some && replies >= some);
    expect(!ends[0].error && !ends[1].error);
    expect_equal(ends[0].received, TOTAL);
    expect_equal(ends[1].received, TOTAL);
    expect(drops);
    stack_end();
}

static void transfer_by_copy(const struct variant *variant) {
    transfer(variant, BY_COPY);
}

static void transfer_by_reference(const struct variant *variant) {
    transfer(variant, BY_REFERENCE);
}

static void a_stack_that_sends_by_copy(void **state) {
    (void)state;
    each_variant(transfer_by_copy);
}

static void a_stack_that_sends_by_reference(void **state) {
    (void)state;
    each_variant(transfer_by_reference);
}

HARNESS_MAIN(cmocka_unit_test(only_a_sync_reconciles),
             cmocka_unit_test(misuse_of_what_the_device_reads_is_told),
             cmocka_unit_test(misuse_of_what_the_device_writes_is_told),
             cmocka_unit_test(dirty_lines_are_told),
#if defined __SANITIZE_ADDRESS__
             cmocka_unit_test(the_sanitizer_guards_what_the_device_owns),
#endif
             cmocka_unit_test(chance_repeats_by_its_seed), cmocka_unit_test(a_driver_alone),
             cmocka_unit_test(a_stack_that_sends_by_copy),
             cmocka_unit_test(a_stack_that_sends_by_reference))
