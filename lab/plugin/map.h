/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The map of a program's functions, which the lab writes for a plugin.
 *
 * A line of it is one of
 *
 *     code ADDRESS                where its first executable segment was linked
 *                                 (programs of a host are loaded elsewhere)
 *     function ADDRESS SIZE NAME  sorted by address, no overlap; `thumb` may follow
 *
 * and whatever a plugin reads itself. All numbers are hexadecimal.
 *
 * Function 0 stands for all code outside the map; an index is below
 * MAP_FUNCTIONS_MAX, so that a plugin can keep what it counts in arrays.
 */
#ifndef LAB_PLUGIN_MAP_H
#define LAB_PLUGIN_MAP_H

#include <stdbool.h>
#include <stdint.h>

#define MAP_FUNCTIONS_MAX   8192
#define MAP_NAME_CHARACTERS 128

struct map_function {
    uint64_t address;
    uint64_t size;
    bool is_thumb;
    char name[MAP_NAME_CHARACTERS];
};

extern struct map_function map_functions[MAP_FUNCTIONS_MAX];
extern unsigned map_function_count;

/* Takes a line that is neither code nor function; false: it is not understood. */
typedef bool (*map_other_line)(const char *line);

/* Reads the file; `other` may be NULL. False: no such file, or a line is wrong. */
bool map_read(const char *path, map_other_line other);

/* The function that holds an address as it was linked; 0: none. */
unsigned map_function_at(uint64_t address);

/* The function of a name; 0: none. */
unsigned map_function_named(const char *name);

/* How far the program lies from where it was linked: 0 on a board, where
 * is_user_mode is false. */
uint64_t map_displacement(bool is_user_mode);

/* The value of a plugin's argument KEY=VALUE, the last one given; NULL: not given. */
const char *map_argument(int count, char **arguments, const char *key);

#endif
