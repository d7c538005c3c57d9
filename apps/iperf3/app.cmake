# SPDX-License-Identifier: Apache-2.0 OR MIT

target_sources(app_iperf3 PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/common/json.c
                                  ${CMAKE_CURRENT_SOURCE_DIR}/common/json_write.c)
target_include_directories(app_iperf3 PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/common)
