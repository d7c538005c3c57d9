# SPDX-License-Identifier: Apache-2.0 OR MIT

target_sources(app_selftest PRIVATE
  ${PROJECT_SOURCE_DIR}/tests/shared/frames.c
  ${PROJECT_SOURCE_DIR}/tests/shared/hostile.c
  ${PROJECT_SOURCE_DIR}/tests/shared/trial.c)
target_include_directories(app_selftest PRIVATE ${PROJECT_SOURCE_DIR}/tests/shared)
target_link_libraries(app_selftest PUBLIC plumb_wire)
