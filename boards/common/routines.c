/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "run.h"

void board_use_routines(const char *wanted) {
    if (*wanted && plumb_processor_use(wanted)) {
        board_print("panic: no byte routines %s for this processor, but:", wanted);
        for (unsigned i = 0; plumb_processor_choice(i); i++)
            board_print(" %s", plumb_processor_choice(i));
        board_print("\n");
        board_exit(1);
    }
    board_print("plumb: bytes=%s\n", plumb_processor_routines());
}
