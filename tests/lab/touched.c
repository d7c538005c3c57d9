/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A program whose every touch of payload is known; bare on the zynq machine. */

static volatile unsigned char heap[64], pool[4][16], source[16];
__attribute__((used)) unsigned char stack[1024];

__attribute__((noinline, used)) void board_measure_start(void) {
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline, used)) void board_measure_stop(void) {
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void copy(volatile unsigned char *to, unsigned length) {
    for (unsigned i = 0; i < length; i++)
        to[i] = source[i];
}

__attribute__((noinline)) static unsigned sum(volatile unsigned char *bytes, unsigned length) {
    unsigned total = 0;
    while (length--)
        total += *bytes++;
    return total;
}

__attribute__((noinline)) static void use_heap(void) {
    for (unsigned i = 0; i < 8; i++)
        heap[i] = 1; /* a header: not payload */
    copy(heap + 8, 16);
    sum(heap, 24); /* 16 of them */
    for (unsigned i = 8; i < 12; i++)
        heap[i] = 2; /* another header takes its place */
    sum(heap, 24);   /* 12 of them */
}

__attribute__((noinline)) static void use_pool(void) {
    static volatile unsigned short own[2];
    pool[1][3] = 1; /* a header's last byte */
    pool[1][4] = 1;
    (void)pool[3][4];
    (void)pool[2][15];
    (void)*(volatile unsigned short *)&pool[0][3]; /* half of it */
    own[1] = 0;
}

__attribute__((used)) static void run(void) {
    board_measure_start();
    use_heap();
    use_pool();
    board_measure_stop();
    *(volatile unsigned *)0xF8000008 = 0xDF0D; /* unlock, then reset: the emulator ends */
    *(volatile unsigned *)0xF8000200 = 1;
    for (;;)
        ;
}

__attribute__((naked)) void _start(void) {
    __asm__("ldr sp, =stack + 1024\n\tb run");
}
