# SPDX-License-Identifier: Apache-2.0 OR MIT

target_sources(app_selftest PRIVATE
  ${PROJECT_SOURCE_DIR}/tests/shared/bytes_check.c
  ${PROJECT_SOURCE_DIR}/tests/shared/emulation_check.c
  ${PROJECT_SOURCE_DIR}/tests/shared/frames.c
  ${PROJECT_SOURCE_DIR}/tests/shared/hostile.c
  ${PROJECT_SOURCE_DIR}/tests/shared/trial.c)
# The byte routines are no part of the public interface.
target_include_directories(app_selftest PRIVATE ${PROJECT_SOURCE_DIR}/tests/shared
                                                ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(app_selftest PUBLIC plumb_wire)
