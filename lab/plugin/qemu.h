/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The part of QEMU's plugin interface, version 1, that the counter uses. The
 * distribution packages the emulator without its header, so the prototypes are
 * declared here.
 */
#ifndef LAB_PLUGIN_QEMU_H
#define LAB_PLUGIN_QEMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;

struct qemu_plugin_tb;
struct qemu_plugin_insn;

struct qemu_info {
    const char *target_name;
    struct {
        int lowest;
        int current;
    } version;
    bool system_emulation;
};

enum { CALLBACK_READS_NO_REGISTERS = 0 };
enum { INLINE_ADD_U64 = 0 };
enum { MEMORY_READ_WRITE = 3 };

typedef void (*on_translate)(qemu_plugin_id_t id, struct qemu_plugin_tb *block);
typedef void (*on_execute)(unsigned cpu, void *data);
typedef void (*on_access)(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, on_translate callback);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *instruction,
                                            on_execute callback, int flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *instruction, int operation,
                                                void *counter, uint64_t amount);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *instruction, on_access callback,
                                      int flags, int direction, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *instruction);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *instruction);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
uint64_t qemu_plugin_start_code(void);

/* Offered by the plugin. */
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int count,
                               char **arguments);

#endif
