/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The values of the ERNIC interface's registers, and what software's reads and writes
 * do to them. An index of each block, made once from the table, finds the row
 * of an offset.
 */
#include "qemu/osdep.h"
/* The qtests compile this file as well, without the folders of the engine. */
#include "hw/rdma-ernic/engine/interfaces/pg332/register_file.h"

#define NO_ROW 0xff

/* One block: its rows by word of an element, its values by element. */
typedef struct RegBlock {
    ErnicRegBlockDef def;
    uint32_t num;               /* elements that there are */
    uint32_t words;             /* of an element */
    uint8_t *row;               /* owned; of ernic_reg_defs, or NO_ROW */
    uint32_t *value;            /* in the register file's */
} RegBlock;

struct ErnicRegFile {
    RegBlock block[ERNIC_REG_SCOPES];
    uint32_t num_values;
    uint32_t *value;            /* owned */
};

static void index_block(RegBlock *b, unsigned version, ErnicRegScope scope,
                        uint32_t num)
{
    uint32_t i, k;

    b->def = ernic_reg_blocks[version][scope];
    b->num = num;
    b->words = b->def.size / 4;
    b->row = g_malloc(b->words);
    memset(b->row, NO_ROW, b->words);
    for (i = 0; i < ernic_num_reg_defs; i++) {
        const ErnicRegDef *def = &ernic_reg_defs[i];

        if (def->scope != scope || !(def->versions & (1u << version))) {
            continue;
        }
        for (k = 0; k < MAX(def->count, 1); k++) {
            g_assert(b->row[def->offset / 4 + k] == NO_ROW);
            b->row[def->offset / 4 + k] = i;
        }
    }
}

ErnicRegFile *ernic_regfile_new(unsigned version, uint32_t num_qp)
{
    ErnicRegFile *rf = g_new0(ErnicRegFile, 1);
    uint32_t *value;
    int s;

    g_assert(version < PG332_VERSIONS);
    g_assert(num_qp && num_qp <= ernic_reg_blocks[version][ERNIC_REG_QP].num);
    for (s = 0; s < ERNIC_REG_SCOPES; s++) {
        RegBlock *b = &rf->block[s];

        index_block(b, version, s, s == ERNIC_REG_QP ? num_qp :
                                   ernic_reg_blocks[version][s].num);
        rf->num_values += b->num * b->words;
    }
    rf->value = value = g_new(uint32_t, rf->num_values);
    for (s = 0; s < ERNIC_REG_SCOPES; s++) {
        rf->block[s].value = value;
        value += rf->block[s].num * rf->block[s].words;
    }
    ernic_regfile_reset(rf);
    return rf;
}

void ernic_regfile_free(ErnicRegFile *rf)
{
    int s;

    for (s = 0; rf && s < ERNIC_REG_SCOPES; s++) {
        g_free(rf->block[s].row);
    }
    if (rf) {
        g_free(rf->value);
    }
    g_free(rf);
}

void ernic_regfile_reset(ErnicRegFile *rf)
{
    int s;

    for (s = 0; s < ERNIC_REG_SCOPES; s++) {
        RegBlock *b = &rf->block[s];
        uint32_t i;

        for (i = 0; i < b->words; i++) {
            b->value[i] = b->row[i] == NO_ROW ? 0 : ernic_reg_defs[b->row[i]].reset;
        }
        for (i = 1; i < b->num; i++) {
            memcpy(b->value + i * b->words, b->value, b->words * sizeof(*b->value));
        }
    }
}

/* ---- software's side ------------------------------------------------------- */

/* The block that @offset is in: they follow one another in the window. */
static const RegBlock *block_at(const ErnicRegFile *rf, uint32_t offset)
{
    const RegBlock *b = &rf->block[ERNIC_REG_SCOPES - 1];

    while (offset < b->def.base) {
        b--;                    /* the first begins at 0 */
    }
    return b;
}

bool ernic_regfile_find(const ErnicRegFile *rf, uint32_t offset,
                        ErnicRegRef *ref)
{
    const RegBlock *b = block_at(rf, offset);
    uint32_t in = offset - b->def.base;
    uint32_t element = b->def.num > 1 ? in / PG332_SLOT : 0;
    uint8_t row;

    in -= element * PG332_SLOT;
    if (offset % 4 || element >= b->num || in >= b->def.size) {
        return false;
    }
    row = b->row[in / 4];
    if (row == NO_ROW) {
        return false;
    }
    *ref = (ErnicRegRef) {
        .def = &ernic_reg_defs[row], .element = element,
        .k = (in - ernic_reg_defs[row].offset) / 4,
        .value = &b->value[element * b->words + in / 4],
    };
    return true;
}

uint32_t ernic_regfile_read(const ErnicRegFile *rf, uint32_t offset)
{
    ErnicRegRef ref;

    return ernic_regfile_find(rf, offset, &ref) ? *ref.value : 0;
}

bool ernic_regfile_write(ErnicRegFile *rf, uint32_t offset, uint32_t value,
                         ErnicRegRef *ref)
{
    uint32_t mask;

    if (!ernic_regfile_find(rf, offset, ref)) {
        return false;
    }
    mask = ref->def->write;
    if (*ernic_regfile_at(rf, ERNIC_REG_GLOBAL, 0, PG332_XRNICADCONF) &
        PG332_ADCONF_OVERRIDE) {
        mask |= ref->def->over;
    }
    *ref->value = (*ref->value & ~mask) | (value & mask);
    *ref->value &= ~(value & ref->def->w1c);
    return true;
}

/* ---- the device's side ------------------------------------------------------ */

uint32_t *ernic_regfile_at(ErnicRegFile *rf, ErnicRegScope scope,
                           uint32_t element, uint32_t offset)
{
    RegBlock *b = &rf->block[scope];

    g_assert(element < b->num && offset / 4 < b->words &&
             b->row[offset / 4] != NO_ROW);
    return &b->value[element * b->words + offset / 4];
}

uint32_t ernic_regfile_elements(const ErnicRegFile *rf, ErnicRegScope scope,
                                uint32_t *words)
{
    *words = rf->block[scope].words;
    return rf->block[scope].num;
}

uint32_t *ernic_regfile_word(const ErnicRegFile *rf, ErnicRegScope scope,
                             uint32_t element, uint32_t k)
{
    const RegBlock *b = &rf->block[scope];

    return b->row[k] == NO_ROW ? NULL : &b->value[element * b->words + k];
}

bool ernic_regfile_clears(const ErnicRegFile *rf, ErnicRegScope scope, uint32_t k,
                          uint32_t value)
{
    uint32_t causes = ernic_reg_defs[rf->block[scope].row[k]].w1c;

    return !causes || !(value & ~causes);
}
