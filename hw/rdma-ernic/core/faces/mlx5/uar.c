/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Doorbell pages (UAR): what a store to each offset does.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "faces/mlx5/mlx5.h"
#include "objects/eq.h"
#include "trace.h"

/*
 * Number of the queue, and the low bits of its consumer counter (mlx5_eq_update_ci).
 * False: there is no such queue.
 */
static bool consume(Ernic *e, uint32_t page, uint64_t value, uint32_t *eqn)
{
    ErnicEq *eq;

    *eqn = value >> 24 & 0xff;
    eq = &e->eq[*eqn < e->cfg.max_eq ? *eqn : 0];
    if (!eq->used) {
        trace_ernic_mlx5_bad_queue(page, *eqn);
        return false;
    }
    ernic_eq_consume(e, *eqn, eq->ci + ((value - eq->ci) & 0xffffff));
    ernic_mlx5_report_commands(e);
    return true;
}

static void ring_eq(Ernic *e, uint32_t page, uint64_t value)
{
    uint32_t eqn;

    consume(e, page, value, &eqn);
}

static void arm_eq(Ernic *e, uint32_t page, uint64_t value)
{
    uint32_t eqn;

    if (consume(e, page, value, &eqn)) {
        ernic_eq_arm(e, eqn);
    }
}

static const struct {
    uint32_t offset, size;
    /* @value is the number that the big-endian bytes stand for. */
    void (*ring)(Ernic *e, uint32_t page, uint64_t value);
} doorbells[] = {
    { 0x40, 4, arm_eq },
    { 0x48, 4, ring_eq },
};

void ernic_mlx5_uar_write(Ernic *e, uint32_t page, uint32_t offset, uint32_t size,
                          uint64_t value)
{
    const uint8_t *uars = e->mlx5->function.uars;
    uint32_t i;

    ernic_charge(e, ERNIC_WORK_DOORBELL);
    if (page >= ERNIC_MLX5_UAR_END || !(uars[page / 8] & 1u << page % 8)) {
        trace_ernic_mlx5_bad_page(page, offset);
        return;
    }
    for (i = 0; i < ARRAY_SIZE(doorbells); i++) {
        if (doorbells[i].offset == offset && doorbells[i].size == size) {
            doorbells[i].ring(e, page, value);
            return;
        }
    }
    trace_ernic_mlx5_bad_write(page * ERNIC_MLX5_PAGE + offset, value);
}
