/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Runs the moves of an Ethernet header, each between the measuring marks, in QEMU's user
 * mode. A line before each says which:
 *
 *     case address|type VARIANT
 *
 * Counted is what is executed outside measure(), which must stay a function for that. A
 * move that went wrong ends the run.
 */
#include "ether.h"
#include "user.h"

static const struct ether_moves *const all[] = {&moves_by_halfwords, &moves_by_bytes,
                                                &moves_by_call};

/* As in a frame behind two bytes of padding: on halfwords and on no word. */
static struct {
    uint16_t before;
    struct plumb_ethernet_address address;
    plumb_be16 type;
    uint16_t after;
} to, from = {1, {{2, 3, 4}}, {5}, 6};

static void require(const struct ether_moves *moves, bool right) {
    if (right)
        return;
    board_print("wrong %s\n", moves->variant);
    board_exit(1);
}

__attribute__((noinline)) static void measure(const struct ether_moves *moves) {
    void (*volatile address)(struct plumb_ethernet_address *,
                             const struct plumb_ethernet_address *) = moves->address;
    void (*volatile type)(plumb_be16 *, const plumb_be16 *) = moves->type;

    to.address = (struct plumb_ethernet_address){{0, 0, 0}};
    to.type.be = 0;
    board_print("case address %s\n", moves->variant);
    board_measure_start();
    address(&to.address, &from.address);
    board_measure_stop();
    require(moves, to.address.half[0] == 2 && to.address.half[1] == 3 && to.address.half[2] == 4);
    require(moves, to.before == 0 && to.type.be == 0);
    board_print("case type %s\n", moves->variant);
    board_measure_start();
    type(&to.type, &from.type);
    board_measure_stop();
    require(moves, to.type.be == 5 && to.address.half[2] == 4 && to.after == 0);
}

int user_main(int count, char **arguments) {
    (void)count;
    (void)arguments;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        measure(all[i]);
    board_print("end\n");
    return 0;
}
