/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The register file of the ERNIC interface: one table says what registers there are
 * (register_table.c), one object holds their values (register_file.c). Nothing here
 * knows what a register is for.
 */
#ifndef ERNIC_INTERFACES_PG332_REGISTER_FILE_H
#define ERNIC_INTERFACES_PG332_REGISTER_FILE_H

#include "hw/rdma-ernic/ernic_regs.h"

/* The blocks that registers are in. */
typedef enum ErnicRegScope {
    ERNIC_REG_REGION,           /* of each entry of the memory region table */
    ERNIC_REG_GLOBAL,
    ERNIC_REG_QP,               /* of each queue pair */
    ERNIC_REG_SCOPES
} ErnicRegScope;

/* Version bits of a row. */
#define ERNIC_REG_V3    (1u << PG332_V3_1)
#define ERNIC_REG_V4_0  (1u << PG332_V4_0)
#define ERNIC_REG_V4_2  (1u << PG332_V4_2)
#define ERNIC_REG_V4    (ERNIC_REG_V4_0 | ERNIC_REG_V4_2)
#define ERNIC_REG_ANY   (ERNIC_REG_V3 | ERNIC_REG_V4)

/* One row: a register, or a bank of registers that follow one another. */
typedef struct ErnicRegDef {
    const char *name;           /* PG332's; of a bank: without the number */
    const char *suffix;         /* of a bank: the text after the number */
    uint32_t reset;
    uint32_t write;             /* bits that software writes */
    uint32_t over;              /* and with XRNICADCONF's override */
    uint32_t w1c;               /* bits that writing 1 clears */
    uint16_t offset;            /* bytes, in its block */
    uint8_t count;              /* of a bank: registers; else 0 */
    uint8_t scope;              /* ErnicRegScope */
    uint8_t versions;           /* ERNIC_REG_V* */
} ErnicRegDef;

/* A block in the window of one version. */
typedef struct ErnicRegBlockDef {
    uint32_t base;
    uint32_t size;              /* bytes of an element that registers fill */
    uint32_t num;               /* elements; queue pairs: at the most */
} ErnicRegBlockDef;

extern const ErnicRegDef ernic_reg_defs[];
extern const uint32_t ernic_num_reg_defs;
/* The blocks of each version, by scope. */
extern const ErnicRegBlockDef ernic_reg_blocks[PG332_VERSIONS][ERNIC_REG_SCOPES];
/* Bytes of the window. */
uint32_t ernic_reg_window(unsigned version);

#define ERNIC_REG_NAME_MAX 40
/* The name of register @k of @def. */
void ernic_reg_name(const ErnicRegDef *def, uint32_t k,
                    char name[ERNIC_REG_NAME_MAX]);

typedef struct ErnicRegFile ErnicRegFile;

/* One register of a register file. */
typedef struct ErnicRegRef {
    const ErnicRegDef *def;
    uint32_t element;           /* region, or queue pair less 1 */
    uint32_t k;                 /* in its bank */
    uint32_t *value;            /* as it is stored */
} ErnicRegRef;

/*
 * The registers of @version, with slots for @num_qp queue pairs: 1 to what the version
 * has. All registers have their reset values.
 */
ErnicRegFile *ernic_regfile_new(unsigned version, uint32_t num_qp);
void ernic_regfile_free(ErnicRegFile *rf);
void ernic_regfile_reset(ErnicRegFile *rf);

/* The register at @offset of the window; false: none, or @offset is not aligned. */
bool ernic_regfile_find(const ErnicRegFile *rf, uint32_t offset,
                        ErnicRegRef *ref);
/* Read as software does: an offset without a register reads 0. */
uint32_t ernic_regfile_read(const ErnicRegFile *rf, uint32_t offset);
/*
 * Write as software does: bits that it may not write keep their value. *@ref is the
 * register; false: there is none.
 */
bool ernic_regfile_write(ErnicRegFile *rf, uint32_t offset, uint32_t value,
                         ErnicRegRef *ref);

/*
 * A register by name, for the device itself: @offset in its block, of @element
 * (global registers: 0). It has to exist.
 */
uint32_t *ernic_regfile_at(ErnicRegFile *rf, ErnicRegScope scope,
                           uint32_t element, uint32_t offset);

/*
 * To save and load the registers: how many elements @scope has, of *@words words of
 * 32 bits each, and the value of word @k of an element; NULL: it is no register.
 */
uint32_t ernic_regfile_elements(const ErnicRegFile *rf, ErnicRegScope scope,
                                uint32_t *words);
uint32_t *ernic_regfile_word(const ErnicRegFile *rf, ErnicRegScope scope,
                             uint32_t element, uint32_t k);
/* Whether software can clear all causes in @value of word @k, which is a register. */
bool ernic_regfile_clears(const ErnicRegFile *rf, ErnicRegScope scope, uint32_t k,
                          uint32_t value);

#endif /* ERNIC_INTERFACES_PG332_REGISTER_FILE_H */
