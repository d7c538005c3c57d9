# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# plumb_own_code(TARGET): how our own code is compiled: C11, every warning an
# error, a section per function so that what is not used is not linked.
# Users of the library inherit none of it.

option(PLUMB_WERROR "Treat warnings as errors" OFF)

function(plumb_own_code target)
  set_target_properties(${target} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS ON)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wconversion -Wcast-align -Wundef -Wshadow -Wstrict-prototypes
    -Wmissing-prototypes -Wvla -ffunction-sections -fdata-sections -fno-common
    $<$<BOOL:${PLUMB_WERROR}>:-Werror>)
endfunction()
