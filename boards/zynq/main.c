/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The zynq board's wiring: pools, the stack, the Cadence GEM, the superloop.
 *
 * Packets and descriptor rings lie in sections of their own (see zynq.ld): the
 * first is not cleared at start, the second is not cached.
 */
#include "zynq.h"

enum {
    RECEIVE_PACKETS = 512,
    SEGMENT_PACKETS = 512,
    SEGMENT_BYTES = PLUMB_DMA_WHOLE_LINES(1600),
    HEADER_PACKETS = 256,
    HEADER_BYTES = 128,
    REFERENCE_PACKETS = 128,
    SMALL_BYTES = PLUMB_DMA_WHOLE_LINES(192),
    RX_RING = CONFIG_PLUMB_GEM_RX_DESCRIPTORS,
    TX_RING = CONFIG_PLUMB_GEM_TX_DESCRIPTORS,
    RX_BUFFER = CONFIG_PLUMB_GEM_RX_BUFFER,
    /* As many bytes of buffers whatever the size of one. */
    RX_BUFFERS = RECEIVE_PACKETS * 1536 / RX_BUFFER,
#ifdef PLUMB_ZYNQ_SHADOW_DMA
    /* QEMU's device overruns small buffers, which is more than any cache could take. */
    RX_ROOM = RX_BUFFER < 1536 ? RX_BUFFER + 128 : RX_BUFFER,
#else
    RX_ROOM = RX_BUFFER,
#endif
};

/* The build that reads headers by halfwords shows a MAC that cannot pad. */
#ifdef CONFIG_PLUMB_NETWORK_HEADER_ALIGNED
#define LANDING PLUMB_LANDING_OFFSET
#else
#define LANDING PLUMB_LANDING_WORD
#endif
#ifdef CONFIG_PLUMB_GEM_CHECKSUM_OFFLOAD
#define CHECKSUM_OFFLOAD true
#else
#define CHECKSUM_OFFLOAD false
#endif

#define PACKETS  __attribute__((section(".packets"), aligned(PLUMB_DMA_LINE)))
#define UNCACHED __attribute__((section(".uncached"), aligned(PLUMB_DMA_LINE)))

#ifdef CONFIG_PLUMB_ZYNQ_RX_UNCACHED
#define RECEIVED UNCACHED
#else
#define RECEIVED PACKETS
#endif

/* And a guard: see plumb_gem_config.rx_pool. */
static RECEIVED uint8_t receive_memory[RX_BUFFERS * RX_ROOM + PLUMB_DMA_LINE];
static PACKETS uint8_t segment_memory[SEGMENT_PACKETS][SEGMENT_BYTES];
static PACKETS uint8_t header_memory[HEADER_PACKETS * HEADER_BYTES];
static PACKETS struct plumb_packet receive_packets[RX_BUFFERS];
static PACKETS struct plumb_packet segment_packets[SEGMENT_PACKETS];
static PACKETS struct plumb_packet header_packets[HEADER_PACKETS];
static PACKETS struct plumb_packet reference_packets[REFERENCE_PACKETS];
static struct plumb_pool receive, segments, headers, references;
#ifdef CONFIG_PLUMB_GEM_RX_PULL
static PACKETS uint8_t small_memory[RX_BUFFERS * SMALL_BYTES];
static PACKETS struct plumb_packet small_packets[RX_BUFFERS];
static struct plumb_pool small;
#endif

#ifdef CONFIG_PLUMB_GEM_RX_COPIES
#define COPIES RECEIVE_PACKETS
#ifdef CONFIG_PLUMB_GEM_RX_LINEAR
#define COPY_BYTES 1536
#else
#define COPY_BYTES 128
#endif
static PACKETS uint8_t copy_memory[COPIES][COPY_BYTES];
static PACKETS struct plumb_packet copy_packets[COPIES];
static struct plumb_pool copies;
#endif

static UNCACHED struct plumb_gem_descriptor rx_ring[RX_RING + 1];
static UNCACHED struct plumb_gem_descriptor tx_ring[TX_RING + 1];
static struct plumb_packet *rx_held[RX_RING];
static struct plumb_packet *tx_held[TX_RING];
static uint8_t *tx_mapped[TX_RING];

static PLUMB_STACK_MEMORY(stack_memory);
static struct plumb_gem gem;

static void check(int error, const char *what) {
    if (error) {
        board_print("panic: %s: %s\n", what, plumb_error_text(error));
        board_exit(1);
    }
}

static void make_pools(void) {
    check(
        plumb_pool_create(&receive, receive_packets, receive_memory, RX_BUFFERS, RX_ROOM, ZYNQ_DMA),
        "receive pool");
    check(plumb_pool_create(&segments, segment_packets, segment_memory, SEGMENT_PACKETS,
                            SEGMENT_BYTES, ZYNQ_DMA),
          "segment pool");
    check(plumb_pool_create(&headers, header_packets, header_memory, HEADER_PACKETS, HEADER_BYTES,
                            ZYNQ_DMA),
          "header pool");
    check(plumb_pool_create(&references, reference_packets, NULL, REFERENCE_PACKETS, 0, ZYNQ_DMA),
          "reference pool");
#ifdef COPIES
    check(plumb_pool_create(&copies, copy_packets, copy_memory, COPIES, COPY_BYTES, ZYNQ_DMA),
          "copy pool");
#endif
#ifdef CONFIG_PLUMB_GEM_RX_PULL
    check(plumb_pool_create(&small, small_packets, small_memory, RX_BUFFERS, SMALL_BYTES, ZYNQ_DMA),
          "small pool");
#endif
}

/* The address that a loader, or the emulator, left in the device; or one of our own. */
static struct plumb_ethernet_address find_ethernet(void) {
    static const uint8_t ours[6] = {0x02, 0x50, 0x4C, 0x55, 0x4D, 0x42};
    struct plumb_ethernet_address address;
    return plumb_gem_stored_address(ZYNQ_GEM0, &address) ? address : plumb_ethernet_address(ours);
}

static void make_gem(struct plumb_ethernet_address ethernet) {
    const struct plumb_gem_config config = {
        .name = "gem0",
        .registers = ZYNQ_GEM0,
        .address = ethernet,
        .phy = PLUMB_GEM_PHY_ANY,
        .mdc_divisor = PLUMB_GEM_MDC_DIV_64,
        .landing = LANDING,
        .checksum_offload = CHECKSUM_OFFLOAD,
        .dma = ZYNQ_DMA,
        .rx_pool = &receive,
        .rx_buffer = RX_BUFFER,
#ifdef CONFIG_PLUMB_GEM_RX_PULL
        .rx_small = &small,
#endif
#ifdef COPIES
        .rx_copies = &copies,
#endif
        .rx = {.descriptors = rx_ring,
               .bus = (uintptr_t)rx_ring,
               .held = rx_held,
               .count = RX_RING},
        .tx = {.descriptors = tx_ring,
               .bus = (uintptr_t)tx_ring,
               .held = tx_held,
               .mapped = tx_mapped,
               .count = TX_RING},
    };
    check(plumb_gem_create(&gem, &config), "gem0");
    board_print("plumb: gem0 revision=0x%08x phy=%u offset=%s statistics=%s\n", gem.revision,
                gem.phy, plumb_gem_offset_text(gem.offset), gem.statistics_stay ? "stay" : "clear");
}

static struct plumb *make_stack(const struct zynq_parameters *parameters) {
    struct plumb *stack;
    const struct plumb_options options = {
        .seed = {parameters->seed[0], parameters->seed[1]},
        .segments = &segments,
        .headers = &headers,
        .references = &references,
    };
    check(plumb_create(&stack, stack_memory, sizeof stack_memory, &options), "stack");
    return stack;
}

#ifdef CONFIG_PLUMB_SAMPLING
/* Sampling ends a WFI as well, and then sleep goes on. */
static inline __attribute__((always_inline)) void sleep(uintptr_t pc) {
    do {
        __asm__ volatile("cpsid i" ::: "memory");
        interrupt_let_through(true);
        __asm__ volatile("dsb\n\twfi" ::: "memory");
        sampling_slept(pc);
        interrupt_let_through(false);
        __asm__ volatile("cpsie i" ::: "memory");
    } while (!interrupt_pending());
}
#else
static inline __attribute__((always_inline)) void sleep(uintptr_t pc) {
    (void)pc;
    __asm__ volatile("dsb\n\twfi" ::: "memory");
}
#endif

/*
 * Sleeps until the deadline or a frame. A function of its own, which a tool that
 * counts leaves out by name.
 *
 * No wake-up is lost: what the device had latched is cleared first, then the
 * rings are looked at; a frame that comes later latches again, and a WFI with an
 * interrupt pending does not sleep.
 */
__attribute__((noinline, noclone, used)) static void board_idle(uint64_t deadline_us) {
#ifdef CONFIG_PLUMB_SAMPLING
    if (sampling_tell())
        return;
#endif
    plumb_gem_acknowledge(&gem);
    interrupt_clear(ZYNQ_GEM0_INTERRUPT);
    uint64_t now = board_now_us();
    if (plumb_gem_pending(&gem) || deadline_us <= now)
        return;
    clock_alarm(deadline_us - now);
    sleep((uintptr_t)board_idle);
    clock_alarm_stop();
}

int main(void) {
    struct zynq_parameters parameters;
    struct plumb_ethernet_address ethernet = find_ethernet();

    console_start();
#ifdef CONFIG_PLUMB_ALIGNMENT_UNALIGNED
    exceptions_check_no_alignment();
#else
    exceptions_check_alignment();
#endif
#ifdef CONFIG_PLUMB_ALIGNMENT_GENERIC
    alignment_settle();
#endif
    clock_start();
    interrupt_start();
#ifdef CONFIG_PLUMB_SAMPLING
    sampling_prepare();
#endif
    parameters_read(&parameters, &ethernet);
#ifdef PLUMB_ZYNQ_SHADOW_DMA
    shadow_start(&gem);
#endif
    make_pools();
    make_gem(ethernet);
    struct plumb *stack = make_stack(&parameters);
    check(plumb_netif_attach(stack, &gem.netif), "gem0");
    board_run(stack, &gem.netif, &parameters.address, board_idle);
}
