/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Puts the items of the control connection together, however their bytes are cut. */
#include "control.h"

enum { PREFIX = 4 };

uint32_t control_word(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

void control_want(struct control *control, enum control_item item) {
    control->wanted = item;
    control->have = control->length = 0;
}

static uint32_t bytes_wanted(const struct control *control) {
    switch (control->wanted) {
    case ITEM_COOKIE:
        return CONTROL_COOKIE;
    case ITEM_STATE:
        return 1;
    case ITEM_ERROR:
        return CONTROL_ERROR_BYTES;
    default:
        return PREFIX + control->length;
    }
}

static void take(struct control *control, uint8_t byte) {
    if (control->wanted != ITEM_TEXT || control->have < PREFIX)
        control->bytes[control->have] = byte;
    else
        control->text[control->have - PREFIX] = (char)byte;
    control->have++;
    if (control->wanted == ITEM_TEXT && control->have == PREFIX)
        control->length = control_word(control->bytes);
}

enum control_item control_read(struct control *control, const uint8_t *bytes, size_t length,
                               size_t *used) {
    for (*used = 0; *used < length;) {
        take(control, bytes[(*used)++]);
        if (control->length > CONTROL_TEXT_MOST) {
            control->length = 0;
            return ITEM_TOO_LONG;
        }
        if (control->have >= bytes_wanted(control)) {
            control->have = 0;
            return control->wanted;
        }
    }
    return ITEM_NONE;
}
