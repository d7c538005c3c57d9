# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# lwIP as every port here has it: LWIP_SOURCES says where its sources lie, lwip_sources are those
# that are built, lwip_includes where its headers and the port's shared files are, lwip_build how
# it is compiled.

set(LWIP_SOURCES "" CACHE PATH "lwIP's folder, which holds src/")
set(PEER_LEVEL 2 CACHE STRING "0 stock, 1 stock at MSS 1460, 2 tuned, 3 and its checksum in assembly, 4 best")
option(PEER_ASSERTS "lwIP's assertions, where its stock options have them" ON)
option(PEER_FRAGMENTS "IP fragments, both ways" ON)
option(PEER_HARDWARE_CHECKSUM "Checksums left to the device" OFF)

set(src ${LWIP_SOURCES}/src)
set(lwip_sources
  ${src}/core/def.c ${src}/core/inet_chksum.c ${src}/core/init.c ${src}/core/ip.c
  ${src}/core/mem.c ${src}/core/memp.c ${src}/core/netif.c ${src}/core/pbuf.c
  ${src}/core/stats.c ${src}/core/tcp.c ${src}/core/tcp_in.c ${src}/core/tcp_out.c
  ${src}/core/timeouts.c ${src}/core/udp.c ${src}/core/ipv4/etharp.c
  ${src}/core/ipv4/icmp.c ${src}/core/ipv4/ip4.c ${src}/core/ipv4/ip4_addr.c
  ${src}/core/ipv4/ip4_frag.c ${src}/netif/ethernet.c)
# Others' code: what it draws of warnings is not ours to mend.
set_source_files_properties(${lwip_sources} PROPERTIES COMPILE_OPTIONS "-w")
set(lwip_port ${CMAKE_CURRENT_LIST_DIR}/port)
set(lwip_includes ${lwip_port} ${src}/include)

string(STRIP "${CMAKE_C_COMPILER_ID}-${CMAKE_C_COMPILER_VERSION} ${CMAKE_C_FLAGS}" lwip_build)
string(REGEX REPLACE "[ \t]+" " " lwip_build "${lwip_build}")

# lwip_program(TARGET SOURCES...): a program over lwIP as PEER_LEVEL and the options say.
function(lwip_program target)
  add_executable(${target} ${ARGN} ${lwip_sources})
  plumb_own_code(${target})
  target_compile_definitions(${target} PRIVATE PEER_BUILD="${lwip_build}"
    PEER_LEVEL=${PEER_LEVEL} PEER_HARDWARE_CHECKSUM=$<BOOL:${PEER_HARDWARE_CHECKSUM}>
    PEER_ASSERTS=$<BOOL:${PEER_ASSERTS}> PEER_FRAGMENTS=$<BOOL:${PEER_FRAGMENTS}>)
endfunction()
