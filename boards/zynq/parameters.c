/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Boot parameters: a small table that whoever loads the firmware may leave at
 * 0x00100000; without it, defaults and a seed that says it is weak.
 *
 *     offset 0   magic 0x504C4D42 ("PLMB" as a number)
 *            4   version 1
 *            8   seed, four words, random
 *           24   flags: bit 0, set the address below and ask no DHCP server; and for a
 *                generic image, bit 1, use the routines named below, and bit 2, have
 *                misaligned words taken rather than trapped
 *           28   address, network mask, gateway: four bytes each, as on the wire
 *           40   the name of byte routines, ended by a null within 16 bytes
 *           56   with flag bit 3, what the application is to know, ended by a null within
 *                128 bytes
 */
#include "zynq.h"

enum {
    MAGIC = 0x504C4D42,
    VERSION = 1,
    FLAG_FIXED = 1,
    FLAG_ROUTINES = 2,
    FLAG_MISALIGNED = 4,
    FLAG_ARGUMENTS = 8,
    ARGUMENTS = 128,
};

struct table {
    uint32_t magic;
    uint32_t version;
    uint32_t seed[4];
    uint32_t flags;
    plumb_be32 address, netmask, gateway;
    char routines[ZYNQ_NAME];
    char arguments[ARGUMENTS];
};

extern const volatile struct table boot_parameters;

static void weak_seed(uint64_t seed[2], const struct plumb_ethernet_address *ethernet) {
    for (unsigned i = 0; i < 2; i++)
        seed[i] = (uint64_t)clock_jitter() << 32 | (clock_jitter() ^ ethernet->half[i + 1]);
    board_print("plumb: seed=weak (no boot parameters): sequence numbers can be guessed\n");
}

void parameters_read(struct zynq_parameters *parameters,
                     const struct plumb_ethernet_address *ethernet) {
    const volatile struct table *t = &boot_parameters;

    parameters->address = board_default_address;
    if (t->magic != MAGIC || t->version != VERSION) {
        weak_seed(parameters->seed, ethernet);
        return;
    }
    for (unsigned i = 0; i < 2; i++)
        parameters->seed[i] = (uint64_t)t->seed[2 * i] << 32 | t->seed[2 * i + 1];
    if (t->flags & FLAG_FIXED) {
        parameters->address.fixed = true;
        parameters->address.address.be = t->address.be;
        parameters->address.netmask.be = t->netmask.be;
        parameters->address.gateway.be = t->gateway.be;
    }
}

void parameters_read_processor(struct zynq_processor *processor) {
    const volatile struct table *t = &boot_parameters;

    *processor = (struct zynq_processor){0};
    if (t->magic != MAGIC || t->version != VERSION)
        return;
    processor->misaligned = t->flags & FLAG_MISALIGNED;
    for (unsigned i = 0; (t->flags & FLAG_ROUTINES) && i < ZYNQ_NAME - 1; i++)
        processor->routines[i] = t->routines[i];
}

const char *board_arguments(void) {
    static char text[ARGUMENTS];
    const volatile struct table *t = &boot_parameters;

    if (t->magic != MAGIC || t->version != VERSION || !(t->flags & FLAG_ARGUMENTS))
        return "";
    for (unsigned i = 0; i < ARGUMENTS - 1; i++)
        text[i] = t->arguments[i];
    return text;
}
