/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What ./plumb audit is to find: words by bytes, small copies by calls, and, where the
 * processor allows it, misaligned words. Built without builtins. */
#include <stdint.h>
#include <string.h>

struct __attribute__((packed)) frame {
    uint8_t kind;
    uint32_t address;
    uint16_t port;
};

__attribute__((noinline)) void *memcpy(void *to, const void *from, size_t length) {
    for (size_t i = 0; i < length; i++)
        ((volatile uint8_t *)to)[i] = ((const uint8_t *)from)[i];
    return to;
}

__attribute__((noinline)) uint32_t take_packed(const struct frame *frame) {
    return frame->address;
}

__attribute__((noinline)) void put_packed(struct frame *frame, uint32_t address) {
    frame->address = address;
}

__attribute__((noinline)) void copy_six(uint8_t *to, const uint8_t *from) {
    memcpy(to, from, 6);
    to[0] |= 1;
}

__attribute__((noinline)) void copy_any(uint8_t *to, const uint8_t *from, size_t length) {
    memcpy(to, from, length);
    to[0] |= 1;
}

__attribute__((noinline)) uint32_t two_bytes(const uint8_t *bytes) {
    return (uint32_t)bytes[4] + bytes[5];
}

__attribute__((noinline)) uint32_t load_word(const void *address) {
    return *(const volatile uint32_t *)address;
}

int main(int count, char **arguments) {
    static uint32_t words[8];
    uint8_t *bytes = (uint8_t *)words;
    struct frame *frame = (struct frame *)words;
    unsigned odd = count > 1 ? (unsigned)(arguments[1][0] - '0') : 0;
    uint32_t sum = 0;

    put_packed(frame, 0x01020304);
    copy_six(bytes + 16, bytes);
    copy_any(bytes + 24, bytes, (size_t)count);
    for (unsigned i = 0; i < 100; i++)
        sum += load_word(bytes + odd);
    return (take_packed(frame) + sum + two_bytes(bytes)) == 0;
}
