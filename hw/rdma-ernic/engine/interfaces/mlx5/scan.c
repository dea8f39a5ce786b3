/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Doorbells without a value. A page with an event has a list of its few send queues. The
 * walk over all queues is for a machine that starts, because events are not part of a
 * saved state, and for a page that rings while its event is being removed because it has
 * too many queues.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "interfaces/mlx5/command/uar_queues.h"
#include "interfaces/mlx5/eth/objects.h"
#include "interfaces/mlx5/eth/send.h"
#include "interfaces/mlx5/rdma/records.h"
#include "interfaces/mlx5/scan.h"
#include "objects/qp.h"
#include "trace.h"

#define LAST    (ERNIC_MLX5_SQN + ERNIC_LIM_ETH_QUEUE)

static uint32_t page_of(const Ernic *e, uint32_t number)
{
    return number > ERNIC_MLX5_SQN ? ernic_mlx5_sq_page(e, number) :
                                     ernic_mlx5_qp_page(e, number);
}

/* The number of a send queue after @number, which is 0 at first; 0: none. */
static uint32_t next_number(const Ernic *e, uint32_t number)
{
    return number + 1 < e->qp_ids.fresh ? number + 1 :
           number < ERNIC_MLX5_SQN ? ERNIC_MLX5_SQN + 1 :
           number < LAST ? number + 1 : 0;
}

static void take(Ernic *e, uint32_t number)
{
    ernic_charge(e, 1);
    if (number > ERNIC_MLX5_SQN) {
        ernic_mlx5_eth_take(e, number);
    } else {
        ernic_mlx5_take_sends(e, number);
    }
}

void ernic_mlx5_page_rung(Ernic *e, uint32_t page)
{
    const ErnicMlx5Uar *uar = &e->mlx5->uar_queues->uar[page];
    uint32_t i;

    ernic_charge(e, ERNIC_WORK_DOORBELL);
    if (!ernic_mlx5_has_uar(&e->mlx5->function, page)) {
        return;
    }
    if (uar->crowded) {
        ernic_mlx5_scan_all(e);
        return;
    }
    for (i = 0; i < uar->count; i++) {
        take(e, uar->number[i]);
    }
}

void ernic_mlx5_scan_all(Ernic *e)
{
    ErnicMlx5UarQueues *q = e->mlx5->uar_queues;

    if (e->mlx5->function.state != ERNIC_MLX5_RUNNING) {
        return;
    }
    trace_ernic_mlx5_scan_all(q->next);
    q->again = q->next;
    q->next = q->next ?: next_number(e, 0);
}

bool ernic_mlx5_scan_has_work(const Ernic *e)
{
    return e->mlx5->uar_queues->next;
}

void ernic_mlx5_scan_run(Ernic *e)
{
    ErnicMlx5UarQueues *q = e->mlx5->uar_queues;

    while (q->next && ernic_work_left(e)) {
        if (ernic_mlx5_has_uar(&e->mlx5->function, page_of(e, q->next))) {
            take(e, q->next);
        }
        ernic_charge_objects(e, 1);
        q->next = next_number(e, q->next);
        if (!q->next && q->again) {
            q->again = false;
            q->next = next_number(e, 0);
        }
    }
}

void ernic_mlx5_scan_derive(Ernic *e)
{
    uint32_t number;

    ernic_mlx5_uars_empty(e);
    for (number = next_number(e, 0); number; number = next_number(e, number)) {
        ernic_mlx5_uar_add(e, page_of(e, number), number);
    }
}

/* Whether @uar lists @number, of a page that is not crowded, once. */
static bool lists(const ErnicMlx5Uar *uar, uint32_t number)
{
    uint32_t n = 0, i;

    for (i = 0; i < MIN(uar->count, ERNIC_MLX5_UAR_QUEUES); i++) {
        n += uar->number[i] == number;
    }
    return n == 1;
}

bool ernic_mlx5_scan_ok(const Ernic *e)
{
    const ErnicMlx5Uar *uar = e->mlx5->uar_queues->uar;
    uint16_t count[ERNIC_MLX5_UAR_END] = { };
    uint32_t number, page;

    for (number = next_number(e, 0); number; number = next_number(e, number)) {
        page = page_of(e, number);
        if (page < ERNIC_MLX5_UAR_FIRST || page >= ERNIC_MLX5_UAR_END) {
            continue;
        }
        count[page]++;
        if (!uar[page].crowded && !lists(&uar[page], number)) {
            return false;
        }
    }
    for (page = 0; page < ERNIC_MLX5_UAR_END; page++) {
        if (uar[page].count != count[page] || uar[page].crowded > uar[page].count) {
            return false;
        }
    }
    return true;
}
