# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# find_package(plumb) for an installed copy; add_subdirectory and FetchContent
# get the same plumb::plumb from the build itself.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(DIRECTORY include/plumb DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PLUMB_CONFIG_DIR}/plumb_config.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS ${PLUMB_INSTALLED_TARGETS} EXPORT plumb ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT plumb NAMESPACE plumb:: FILE plumb-targets.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/plumb)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/plumb-config.cmake
     "include(\${CMAKE_CURRENT_LIST_DIR}/plumb-targets.cmake)\n")
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/plumb-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/plumb-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/plumb-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/plumb)
