/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The memory region table of PG332: which keys open which bytes to peers. Requests of
 * software name bus addresses.
 */
#include "qemu/osdep.h"
#include "interfaces/pg332/pg332.h"
#include "objects/mr.h"
#include "trace.h"

#define ACCESS_LEN      0xffff0000      /* of ACCESSDESC: length[47:32] */
#define KEY_NUMBER(key) ((key) >> 8)
#define KEY_BYTE(key)   ((key) & 0xff)

/* The right that each of the three values of ACCESSDESC[3:0] gives. */
static const uint32_t region_access[16] = {
    [PG332_ACCESS_READ] = ERNIC_ACCESS_REMOTE_READ,
    [PG332_ACCESS_WRITE] = ERNIC_ACCESS_REMOTE_WRITE,
    [PG332_ACCESS_READ_WRITE] = ERNIC_ACCESS_REMOTE_READ |
                                ERNIC_ACCESS_REMOTE_WRITE,
};

static uint64_t region_pair(const uint32_t *entry, uint32_t low)
{
    return entry[low / 4] | (uint64_t)entry[low / 4 + 1] << 32;
}

/* Figure 2-9: number, protection domain, key byte, range, right. */
bool ernic_pg332_key_opens(Ernic *e, uint32_t pd, uint32_t key, uint64_t addr,
                           uint64_t len, uint32_t access, uint64_t *bus)
{
    unsigned version = ernic_pg332_version(e);
    uint64_t va, length;
    const uint32_t *entry;

    if (KEY_NUMBER(key) >= ernic_reg_blocks[version][ERNIC_REG_REGION].num) {
        trace_ernic_key_invalid(key);
        return false;
    }
    entry = ernic_regfile_at(e->regs, ERNIC_REG_REGION, KEY_NUMBER(key),
                             PG332_PDPDNUM);
    if (entry[PG332_PDPDNUM / 4] != pd) {
        trace_ernic_key_wrong_pd(key, entry[PG332_PDPDNUM / 4], pd);
        return false;
    }
    if (entry[PG332_BUFRKEY / 4] != KEY_BYTE(key)) {
        trace_ernic_key_invalid(key);
        return false;
    }
    va = region_pair(entry, PG332_VIRTADDRLSB);
    length = entry[PG332_WRRDBUFLEN / 4] |
             (uint64_t)(entry[PG332_ACCESSDESC / 4] & ACCESS_LEN) << 16;
    if (addr < va || addr - va > length || len > length - (addr - va)) {
        trace_ernic_key_out_of_range(key, addr, len, va, length);
        return false;
    }
    if (access & ~region_access[entry[PG332_ACCESSDESC / 4] & PG332_ACCESS]) {
        trace_ernic_key_no_right(key, entry[PG332_ACCESSDESC / 4], access);
        return false;
    }
    *bus = region_pair(entry, PG332_BUFBASEADDRLSB) + (addr - va);
    return true;
}

static bool pg332_check_remote(Ernic *e, uint32_t pd, uint32_t qpn, uint32_t key,
                               uint64_t addr, uint64_t len, uint32_t access,
                               const ErnicMr **mr, uint64_t *off)
{
    *mr = len ? &ernic_mr_bus : NULL;
    *off = 0;
    return !len || ernic_pg332_key_opens(e, pd, key, addr, len, access, off);
}

/* Software reads the key in the side stream; the table of regions is its own. */
static bool pg332_invalidate(Ernic *e, uint32_t pd, uint32_t qpn, uint32_t key,
                             bool remote)
{
    return true;
}

const ErnicKeyOps ernic_pg332_keys = {
    .check_local = ernic_mr_bus_local,
    .check_remote = pg332_check_remote,
    .invalidate = pg332_invalidate,
};
