/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Doorbell pages (UAR): what a store to each offset does.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "interfaces/mlx5/init_segment.h"
#include "interfaces/mlx5/events.h"
#include "interfaces/mlx5/rdma/records.h"
#include "interfaces/mlx5/eth/send.h"
#include "objects/eq.h"
#include "trace.h"

/*
 * Number of the queue, and the low bits of its consumer counter (mlx5_eq_update_ci).
 * False: there is no such queue, or it has another page.
 */
static bool consume(Ernic *e, uint32_t page, uint64_t value, uint32_t *eqn)
{
    ErnicEq *eq;

    *eqn = value >> 24 & 0xff;
    eq = &e->eq[*eqn < e->cfg.max_eq ? *eqn : 0];
    if (!eq->used || ernic_mlx5_eq_uar(e, *eqn) != page) {
        ernic_mlx5_bad_doorbell(e, "eq", page, *eqn);
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
    { 0x20, 8, ernic_mlx5_ring_cq },
    { 0x40, 4, arm_eq },
    { 0x48, 4, ring_eq },
};

/*
 * BlueFlame: buffers of 256 bytes for the first blocks of a request. The first 8 bytes
 * are the doorbell; the request itself is read from its ring. A processor of 32 bits
 * stores the doorbell in two halves, and the second one has the number of the queue.
 */
#define BLUE_FLAME      0x800
#define BLUE_FLAME_SIZE 0x100

bool ernic_mlx5_uar_ignores(uint32_t offset, uint32_t size)
{
    return offset >= BLUE_FLAME && offset % BLUE_FLAME_SIZE != (size == 8 ? 0 : 4);
}

static void ring_blue_flame(Ernic *e, uint32_t page, uint64_t value)
{
    uint32_t number = value >> 8 & 0xffffff;

    if (number > ERNIC_MLX5_SQN) {
        ernic_mlx5_eth_ring(e, page, number);
    } else {
        ernic_mlx5_ring_sq(e, page, value);
    }
}

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
    if (offset >= BLUE_FLAME) {
        if (!ernic_mlx5_uar_ignores(offset, size)) {
            ring_blue_flame(e, page, value);
        }
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
