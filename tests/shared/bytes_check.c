/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "bytes_check.h"

#include "bytes/bytes.h"
#include "random.h"

enum { LONGEST = 200, PLACES = 4, MARGIN = 8, GUARD = 0x5a, PATTERNS = 3 };

static uint8_t from[MARGIN + LONGEST + MARGIN], to[MARGIN + LONGEST + MARGIN];
static struct random source;

static void fill(unsigned pattern) {
    for (unsigned i = 0; i < sizeof from; i++)
        from[i] = pattern == 0 ? 0 : pattern == 1 ? 0xff : (uint8_t)random_next(&source);
}

static uint32_t reference(const uint8_t *bytes, unsigned length) {
    uint32_t sum = 0;

    for (unsigned i = 0; i < length; i++)
        sum += (i & 1) ? PL_BYTE_AT_ODD(bytes[i]) : PL_BYTE_AT_EVEN(bytes[i]);
    return pl_fold(sum);
}

/* Is `to` a copy of the source there, and as it was around it? */
static bool copied(const uint8_t *here, const uint8_t *original, unsigned length) {
    for (unsigned i = 0; i < sizeof to; i++) {
        const uint8_t *byte = &to[i];
        bool inside = byte >= here && byte < here + length;
        if (*byte != (inside ? original[byte - here] : GUARD))
            return false;
    }
    return true;
}

static void wipe(void) {
    for (unsigned i = 0; i < sizeof to; i++)
        to[i] = GUARD;
}

static const char *check(const uint8_t *original, unsigned length) {
    uint32_t expected = reference(original, length);

    if (pl_sum(original, length) != expected)
        return "pl_sum";
    for (unsigned place = 0; place < PLACES; place++) {
        uint8_t *here = to + MARGIN + place;
        wipe();
        if (pl_copy_sum(here, original, length) != expected || !copied(here, original, length))
            return "pl_copy_sum";
        wipe();
        pl_copy(here, original, length);
        if (!copied(here, original, length))
            return "pl_copy";
    }
    return 0;
}

const char *bytes_check(void) {
    source = (struct random){1};
    for (unsigned pattern = 0; pattern < PATTERNS; pattern++)
        for (unsigned length = 0; length <= LONGEST - PLACES; length++) {
            fill(pattern);
            for (unsigned place = 0; place < PLACES; place++) {
                const char *failure = check(from + MARGIN + place, length);
                if (failure)
                    return failure;
            }
        }
    return 0;
}
