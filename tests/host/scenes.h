/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Scenes: what two hosts do with each other, played again and again while something is
 * missing (test_exhaustion.c).
 *
 * A scene is played on a stage, a pair of stacks in virtual time, and leaves it as it was:
 * nothing open, all buffers at home. It never fails a test by itself: it says whether all
 * went well, and `told` counts what the stack has told its users went wrong.
 */
#ifndef PLUMB_TEST_SCENES_H
#define PLUMB_TEST_SCENES_H

#include <plumb/socket.h>

#include "harness.h"

enum { SCENE_PORT = 7, SCENE_HOGS = 64 };

struct stage;

struct scene {
    const char *name;
    bool (*play)(struct stage *stage);
    unsigned variant;   /* of the scene */
    bool lossy;         /* the wire loses, repeats and reorders */
    bool takes_several; /* of the segments at once, having seen that they are there */
    bool survives;      /* goes well in the end whatever packets are missing for a while */
};

struct stage {
    const struct scene *scene;
    struct world *world;
    unsigned told; /* errors and short counts that users were given */
    uint64_t began_us;
    /* Called once in the midst of a play, when so much time has passed; or null. */
    void (*meanwhile)(struct stage *stage);
    uint64_t meanwhile_us;
    void *context;
    uint64_t sockets_memory[2][(PLUMB_SOCKETS_BYTES + 7) / 8];
    struct plumb_sockets *sockets[2]; /* of a and b */
};

extern const struct scene scenes[];
extern const unsigned scene_count;

void stage_begin(struct stage *stage, const struct scene *scene);
void stage_end(struct stage *stage);

/* Plays, and lets time pass until nothing is left of it. */
bool stage_play(struct stage *stage);

/* Until `done` says so or so many seconds have passed. */
void stage_run(struct stage *stage, bool (*done)(void *context), void *context, unsigned seconds);

/* Frames that were lost for want of something on both sides, and what was put off. */
uint32_t stage_missed(const struct stage *stage);

#endif
