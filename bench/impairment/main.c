/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The command line; who is started, and ended; and the line that tells, a JSON object.
 */
#include "impair.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAMES_LONGEST = 64 };

static const char usage[] =
    "usage: plumb_impair [options]\n"
    "  --program PATH     the subject, a program of the linux board; else this host's kernel\n"
    "  --algorithm NAME   congestion control of Linux where it sends (cubic)\n"
    "  --receives         the subject receives instead of sending\n"
    "  --seconds N        (5)\n"
    "  --seed N           of the faults (0)\n"
    "  --rate N           bits per second (100000000)\n"
    "  --queue N          frames that wait for it (1000)\n"
    "  --delay US         one way (500)\n"
    "  --jitter US        up to as much more (0)\n"
    "  --loss N --reordering N --duplication N --corruption N   frames in 10000 (0)\n"
    "  --reordering-us N  how long one stays behind (2000)\n"
    "  --pcap FILE        the program's frames\n";

enum { PROGRAM = 1, ALGORITHM, CAPTURE, RECEIVES, NUMBERS };
static const struct option known[] = {{"program", 1, NULL, PROGRAM},
                                      {"algorithm", 1, NULL, ALGORITHM},
                                      {"pcap", 1, NULL, CAPTURE},
                                      {"receives", 0, NULL, RECEIVES},
                                      {"seconds", 1, NULL, NUMBERS},
                                      {"seed", 1, NULL, NUMBERS + 1},
                                      {"rate", 1, NULL, NUMBERS + 2},
                                      {"queue", 1, NULL, NUMBERS + 3},
                                      {"delay", 1, NULL, NUMBERS + 4},
                                      {"jitter", 1, NULL, NUMBERS + 5},
                                      {"loss", 1, NULL, NUMBERS + 6},
                                      {"reordering", 1, NULL, NUMBERS + 7},
                                      {"duplication", 1, NULL, NUMBERS + 8},
                                      {"corruption", 1, NULL, NUMBERS + 9},
                                      {"reordering-us", 1, NULL, NUMBERS + 10},
                                      {NULL, 0, NULL, 0}};

static void take_number(struct impair_options *options, int which, const char *text) {
    struct plumb_wire_faults *faults = &options->faults;
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (*end || !*text) {
        fprintf(stderr, "impair: not a number: %s\n%s", text, usage);
        exit(2);
    }
    switch (which - NUMBERS) {
    case 0:
        options->seconds = (unsigned)value;
        break;
    case 1:
        options->seed = value;
        break;
    case 2:
        faults->rate = value;
        break;
    case 3:
        faults->queue_limit = (uint16_t)value;
        break;
    case 4:
        faults->delay_us = (uint32_t)value;
        break;
    case 5:
        faults->jitter_us = (uint32_t)value;
        break;
    case 6:
        faults->loss = (uint16_t)value;
        break;
    case 7:
        faults->reordering = (uint16_t)value;
        break;
    case 8:
        faults->duplication = (uint16_t)value;
        break;
    case 9:
        faults->corruption = (uint16_t)value;
        break;
    default:
        faults->reordering_us = (uint32_t)value;
        break;
    }
}

static struct impair_options parse(int argc, char **argv) {
    struct impair_options options = {
        .algorithm = "cubic",
        .seconds = 5,
        .faults = {.rate = 100000000, .queue_limit = 1000, .delay_us = 500}};
    for (int which; (which = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (which == PROGRAM)
            options.program = optarg;
        else if (which == ALGORITHM)
            options.algorithm = optarg;
        else if (which == CAPTURE)
            options.capture = optarg;
        else if (which == RECEIVES)
            options.receives = true;
        else if (which >= NUMBERS)
            take_number(&options, which, optarg);
        else
            exit(2);
    }
    if (optind < argc) {
        fputs(usage, stderr);
        exit(2);
    }
    return options;
}

/* A process of its own, which does not outlive this one; 0 in it. */
static pid_t start_child(void) {
    pid_t child = fork();
    if (child < 0)
        give_up("a process");
    if (!child)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return child;
}

/* Waits until it says that it listens. */
static pid_t start_program(const struct impair_options *options) {
    int console[2];
    char text[NAMES_LONGEST] = "";
    if (pipe(console))
        give_up("a pipe");
    pid_t child = start_child();
    if (!child) {
        /* The wire carries frames as they are, so nothing is left to the device. */
        const char *arguments[] = {options->program, "--tap",     "plumb0",   "--offload",
                                   "none",           "--address", "10.1.0.1", "--gateway",
                                   "10.1.0.2",       NULL,        NULL,       NULL};
        if (options->capture) {
            arguments[9] = "--pcap";
            arguments[10] = options->capture;
        }
        dup2(console[1], STDOUT_FILENO);
        execv(options->program, (char *const *)(uintptr_t)arguments);
        give_up(options->program);
    }
    close(console[1]);
    FILE *lines = fdopen(console[0], "r");
    while (!strstr(text, "listening"))
        if (!fgets(text, sizeof text, lines))
            give_up("the program ended");
    /* The pipe stays open, so that what the program prints does not end it. */
    return child;
}

static pid_t start_subject(const struct impair_options *options, int *device) {
    namespace_enter();
    if (options->program) {
        *device = device_of_program("plumb0");
        return start_program(options);
    }
    *device = device_of_linux(LEFT_ADDRESS);
    int listener = flow_listen(options->algorithm);
    pid_t child = start_child();
    if (!child)
        flow_serve(listener);
    close(listener);
    return child;
}

/* Returns the end of a pipe from which the result comes. */
static int start_measuring(int connection, const struct impair_options *options) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        give_up("a pipe");
    if (!start_child()) {
        struct flow_result result = flow_measure(connection, options);
        _exit(write(ends[1], &result, sizeof result) != sizeof result);
    }
    close(ends[1]);
    close(connection);
    return ends[0];
}

static void tell(const struct flow_result *flow, const struct relay_result *relay, int status) {
    printf("{\"bytes\": %llu, \"elapsed_us\": %llu, \"connected\": %d, \"ended\": %d, "
           "\"error\": %d, \"frames\": [%u, %u], \"lost\": [%u, %u], \"overflowed\": [%u, %u], "
           "\"refused\": %u, \"late\": %u, \"latest_us\": %llu, \"status\": %d}\n",
           (unsigned long long)flow->bytes, (unsigned long long)flow->elapsed_us, flow->connected,
           flow->ended, flow->error, relay->frames[0], relay->frames[1], relay->lost[0],
           relay->lost[1], relay->overflowed[0], relay->overflowed[1], relay->refused, relay->late,
           (unsigned long long)relay->latest_us, status);
}

/* The program checks its pools when it is asked to end; the kernel needs no asking. */
static int end_subject(pid_t subject, bool is_program) {
    int status = 0;
    kill(subject, is_program ? SIGTERM : SIGKILL);
    waitpid(subject, &status, 0);
    return is_program ? (WIFEXITED(status) ? WEXITSTATUS(status) : -1) : 0;
}

/* What else this host does is no impairment; where that is refused `late` tells of it. */
static void go_first(void) {
    const struct sched_param priority = {.sched_priority = 1};
    sched_setscheduler(0, SCHED_FIFO, &priority);
}

int main(int argc, char **argv) {
    struct impair_options options = parse(argc, argv);
    struct flow_result flow;
    int device[2];

    go_first();
    namespace_enter();
    device[1] = device_of_linux(RIGHT_ADDRESS);
    int connection = flow_socket(options.algorithm);
    pid_t subject = start_subject(&options, &device[0]);
    int done = start_measuring(connection, &options);
    struct relay_result relay = relay_run(device, done, &options);
    if (read(done, &flow, sizeof flow) != sizeof flow)
        give_up("no result");
    int status = end_subject(subject, options.program != NULL);
    tell(&flow, &relay, status);
    return 0;
}
