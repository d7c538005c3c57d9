/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The processor that an image finds itself on, where one image serves several.
 *
 * Which routines copy and sum bytes is then settled once, by plumb_create() at the
 * latest, by what the processor tells. Nothing here has to be called. A board calls it
 * before plumb_create() when it knows more than the processor tells, when a user wants
 * certain routines, or to say which ones run.
 */
#ifndef PLUMB_PROCESSOR_H
#define PLUMB_PROCESSOR_H

#ifdef __cplusplus
extern "C" {
#endif

/* What becomes of a load or store of a word at an address that is no multiple of its
 * size. */
enum plumb_misaligned {
    PLUMB_MISALIGNED_UNKNOWN,
    PLUMB_MISALIGNED_TRAPS, /* or goes wrong: never to be done */
    PLUMB_MISALIGNED_TAKEN, /* is done, by the processor itself */
};

/* What a board has found out, by its operating system or by trying; unless this is
 * called the processor is asked, and one that cannot tell is taken to trap. Pairs of
 * words and loads of many registers are never misaligned, whatever is said here. */
void plumb_processor_misaligned(enum plumb_misaligned misaligned);

/* The name of the routines in use. */
const char *plumb_processor_routines(void);

/* The names of all that this processor can run, the best first; null behind the last. */
const char *plumb_processor_choice(unsigned index);

/* Takes the routines of this name; PLUMB_ERROR_INVALID, and nothing changes, for any
 * that plumb_processor_choice() does not give. */
int plumb_processor_use(const char *routines);

#ifdef __cplusplus
}
#endif

#endif
