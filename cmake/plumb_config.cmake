# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# Makes plumb_config.h in the build folder. With no settings of one's own the
# committed defaults are used and no Python is needed; a test holds them equal
# to what Kconfig says.

set(PLUMB_CONFIG_DIR ${CMAKE_CURRENT_BINARY_DIR}/config)
set(plumb_settings ${PLUMB_CONFIG} ${PLUMB_SETTINGS})

if(NOT plumb_settings)
  configure_file(cmake/default/plumb_config.h ${PLUMB_CONFIG_DIR}/plumb_config.h COPYONLY)
else()
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/.venv/bin/python)
    set(plumb_python ${CMAKE_CURRENT_SOURCE_DIR}/.venv/bin/python)
  else()
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    set(plumb_python ${Python3_EXECUTABLE})
  endif()
  execute_process(
    COMMAND ${plumb_python} ${CMAKE_CURRENT_SOURCE_DIR}/cmake/kconfig.py
            ${CMAKE_CURRENT_SOURCE_DIR}/Kconfig ${PLUMB_CONFIG_DIR}/plumb_config.h ${plumb_settings}
    RESULT_VARIABLE plumb_result ERROR_VARIABLE plumb_error)
  if(plumb_result)
    message(FATAL_ERROR "Kconfig (needs Python with kconfiglib): ${plumb_error}")
  endif()
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  Kconfig apps/Kconfig drivers/Kconfig cmake/kconfig.py cmake/default/plumb_config.h)
