/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * How a compiler makes the moves of an Ethernet header: an address's and a type's, each
 * a function to be disassembled and run. VARIANT is halfwords, bytes or call, as the
 * configuration says.
 */
#include "ether.h"

#define JOIN(a, b)    a##b
#define NAME(a, b)    JOIN(a, b)
#define TEXT(variant) #variant
#define QUOTED(text)  TEXT(text)

void NAME(address_by_, VARIANT)(struct plumb_ethernet_address *to,
                                const struct plumb_ethernet_address *from);
void NAME(type_by_, VARIANT)(plumb_be16 *to, const plumb_be16 *from);

void NAME(address_by_, VARIANT)(struct plumb_ethernet_address *to,
                                const struct plumb_ethernet_address *from) {
    plumb_ethernet_copy(to, from);
}

void NAME(type_by_, VARIANT)(plumb_be16 *to, const plumb_be16 *from) {
    PLUMB_HALF_MOVE(to->be, from->be);
}

const struct ether_moves NAME(moves_by_, VARIANT) = {QUOTED(VARIANT), NAME(address_by_, VARIANT),
                                                     NAME(type_by_, VARIANT)};
