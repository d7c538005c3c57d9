# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# PLUMB_UNALIGNED_FLAGS: by which this compiler may load misaligned words. gcc for
# RISC-V besides has to be told of a core on which that is fast, or it keeps to bytes.

include(CheckCCompilerFlag)

set(PLUMB_UNALIGNED_FLAGS "")
foreach(flag -munaligned-access -mno-strict-align)
  string(MAKE_C_IDENTIFIER "plumb_takes${flag}" known)
  check_c_compiler_flag("-Werror ${flag}" ${known})
  if(${known} AND NOT PLUMB_UNALIGNED_FLAGS)
    set(PLUMB_UNALIGNED_FLAGS ${flag})
  endif()
endforeach()
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  check_c_compiler_flag("-Werror -mtune=thead-c906" plumb_takes_mtune_thead_c906)
  if(plumb_takes_mtune_thead_c906)
    list(APPEND PLUMB_UNALIGNED_FLAGS -mtune=thead-c906)
  endif()
endif()
