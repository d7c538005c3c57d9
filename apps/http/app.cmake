# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# What lies in files/ goes into the image.

target_sources(app_http PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/common/json_write.c)
file(READ ${CMAKE_CURRENT_SOURCE_DIR}/http/files/index.html bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/http/index.inc CONTENT "${bytes}\n" @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             ${CMAKE_CURRENT_SOURCE_DIR}/http/files/index.html)
target_include_directories(app_http PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/common
                                            ${CMAKE_CURRENT_BINARY_DIR}/http)
