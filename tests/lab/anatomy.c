/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A program whose stack, structures and pieces are known. */
#include <stdint.h>

#define NOINLINE __attribute__((noinline, noclone))
#ifdef LARGER
#define BYTES 200
#else
#define BYTES 100
#endif

struct holed {
    uint8_t first;
    uint32_t second;
    uint16_t third;
};

struct whole {
    uint32_t first[4];
    uint16_t second, third;
#ifdef LARGER
    uint32_t fourth;
#endif
};

struct bits {
    uint32_t first : 4, second : 12;
    uint32_t word;
};

struct operations {
    int (*start)(int argument);
    int (*stop)(int argument);
};

struct device {
    const struct operations *operations;
    int (*handler)(int argument);
    struct whole whole;
    struct bits bits;
};

volatile uint8_t sink;
struct holed holed = {1, 2, 3};
struct device device;
#ifdef LARGER
uint32_t only_here[5];
#endif

static NOINLINE int use(volatile uint8_t *bytes, int count) {
    for (int i = 0; i < count; i++)
        bytes[i] = sink;
    return bytes[0];
}

NOINLINE int leaf(int argument) {
    volatile uint8_t bytes[BYTES];
    return use(bytes, BYTES) + argument;
}

NOINLINE int by_table(int argument) {
    volatile uint8_t bytes[300];
    return use(bytes, 300) + argument;
}

NOINLINE int never_by_table(int argument) {
    volatile uint8_t bytes[5000];
    return use(bytes, 5000) + argument;
}

NOINLINE int by_handler(int argument) {
    volatile uint8_t bytes[700];
    return use(bytes, 700) + argument;
}

static const struct operations operations = {by_table, leaf};

NOINLINE int ring_two(int argument);

NOINLINE int ring_one(int argument) {
    return argument ? ring_two(argument - 1) + 1 : 0;
}

NOINLINE int ring_two(int argument) {
    return argument ? ring_one(argument - 1) + 2 : 0;
}

NOINLINE int grows(int argument) {
    volatile uint8_t bytes[argument + 1];
    return use(bytes, argument) + 1;
}

NOINLINE int through_table(struct device *one) {
    return one->operations->start(1) + 1;
}

NOINLINE int through_handler(struct device *one) {
    return one->handler(1) + 1;
}

NOINLINE void set_handler(struct device *one, int (*handler)(int argument)) {
    one->handler = handler;
}

int main(void) {
    device.operations = &operations;
    set_handler(&device, by_handler);
    return leaf(1) + through_table(&device) + through_handler(&device) + ring_one(3) + grows(sink) +
           holed.first;
}

void _start(void) {
    main();
    never_by_table(0);
    for (;;) {
    }
}
