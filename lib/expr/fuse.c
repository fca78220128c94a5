/*
 * fuse.c - shorter code: `variable compared with a constant` in one instruction
 *
 * Most conditions of links are of that form; the fused instruction neither moves values
 * over the stack nor is it three instructions.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "lib/expr/expr_int.h"

static bool is_jump(bf_op_t op)
{
    return op == BF_OP_AND || op == BF_OP_OR || op == BF_OP_JUMP ||
           op == BF_OP_JUMP_FALSE || op == BF_OP_KEEP;
}

static void mark_targets(const bf_instr_t *instrs, uint32_t count, uint8_t *is_target)
{
    for (uint32_t i = 0; i < count; i++) {
        if (is_jump((bf_op_t)instrs[i].op) && instrs[i].arg <= count) {
            is_target[instrs[i].arg] = 1;
        }
    }
}

/* Do the three instructions from here on fit? Nobody may jump between them. */
static bool fits(const bf_instr_t *in, const uint8_t *is_target)
{
    return in[0].op == BF_OP_VAR && in[1].op == BF_OP_CONST && in[2].op >= BF_OP_EQ &&
           in[2].op <= BF_OP_GE && !is_target[1] && !is_target[2];
}

static uint32_t shorten(bf_instr_t *instrs, uint32_t count, const uint8_t *is_target,
                        uint32_t *moved_to)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; used++) {
        moved_to[i] = used;
        if (i + 2 < count && fits(&instrs[i], &is_target[i])) {
            uint32_t operands = instrs[i].arg | instrs[i + 1].arg << 16;
            instrs[used] = (bf_instr_t){.op = BF_OP_TEST,
                                        .argc = instrs[i + 2].op,
                                        .pos = instrs[i + 2].pos,
                                        .arg = operands};
            i += 3;
        } else {
            instrs[used] = instrs[i];
            i++;
        }
    }
    moved_to[count] = used;
    return used;
}

bf_status_t bf_code_fuse(bf_instr_t *instrs, uint32_t *count)
{
    if (*count < 3) {
        return BF_OK;
    }
    uint8_t *is_target = calloc(*count + 1U, sizeof(*is_target));
    uint32_t *moved_to = calloc(*count + 1U, sizeof(*moved_to));
    bf_status_t rc = is_target && moved_to ? BF_OK : BF_E_NOMEM;
    if (rc == BF_OK) {
        mark_targets(instrs, *count, is_target);
        uint32_t used = shorten(instrs, *count, is_target, moved_to);
        for (uint32_t i = 0; i < used; i++) {
            if (is_jump((bf_op_t)instrs[i].op) && instrs[i].arg <= *count) {
                instrs[i].arg = moved_to[instrs[i].arg];
            }
        }
        *count = used;
    }
    free(is_target);
    free(moved_to);
    return rc;
}
