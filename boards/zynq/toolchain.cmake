# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# Cortex-A9 without an operating system and without a C library: the C
# library's memcpy for this core loads misaligned words, which trap here. The
# four functions that the compiler calls by itself come from src/bytes/libc.c.

set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_ASM_COMPILER arm-none-eabi-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

# -mno-unaligned-access: never merge byte accesses into a wider one.
set(plumb_cpu "-mcpu=cortex-a9 -marm -mfloat-abi=soft -mno-unaligned-access")
set(CMAKE_C_FLAGS_INIT "${plumb_cpu} -ffreestanding -fno-tree-loop-distribute-patterns -g")
set(CMAKE_ASM_FLAGS_INIT "${plumb_cpu} -g")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-nostdlib -nostartfiles")
