/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <plumb/processor.h>

#include "strict.h"

void strict_choose(int count, char **arguments) {
    if (count > 1)
        plumb_processor_misaligned(user_same(arguments[1], "taken") ? PLUMB_MISALIGNED_TAKEN
                                                                    : PLUMB_MISALIGNED_TRAPS);
    if (count > 2 && plumb_processor_use(arguments[2])) {
        board_print("panic: no byte routines %s for this processor\n", arguments[2]);
        board_exit(1);
    }
    board_print("routines %s\n", plumb_processor_routines());
}
