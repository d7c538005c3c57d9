# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# board_executable(TARGET BOARD APP SOURCES...): a firmware, or a program, of
# one application: the board's own sources, what all boards share, and the
# application. Adds no compiler or linker flags beyond those of our own code.

set(BOARD_COMMON_DIR ${CMAKE_CURRENT_LIST_DIR})

function(board_executable target board app)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  string(STRIP "${CMAKE_C_COMPILER_ID}-${CMAKE_C_COMPILER_VERSION} ${CMAKE_C_FLAGS_${type}} ${CMAKE_C_FLAGS}" build)
  string(REGEX REPLACE "[ \t]+" " " build "${build}")
  add_executable(${target} ${ARGN} ${BOARD_COMMON_DIR}/run.c ${BOARD_COMMON_DIR}/routines.c
    ${BOARD_COMMON_DIR}/print.c)
  plumb_own_code(${target})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/boards ${BOARD_COMMON_DIR})
  target_compile_definitions(${target} PRIVATE
    BOARD_NAME="${board}" BOARD_APP="${app}" BOARD_BUILD="${build}")
  target_link_libraries(${target} PRIVATE app_${app} plumb::plumb)
endfunction()
