/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which pages ring by an event: those that are allocated and have had a send queue
 * since then, because to make and remove an event takes KVM longer than many doorbells.
 * One that has had too many queues gets no event again before it has none, so that the
 * list of the others need not be searched for.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/command/lists.h"
#include "interfaces/mlx5/command/uar_queues.h"
#include "trace.h"

static void update(Ernic *e, uint32_t page)
{
    ErnicMlx5UarQueues *q = e->mlx5->uar_queues;
    const ErnicMlx5Uar *uar = &q->uar[page];
    bool had = q->events[page / 8] & 1u << page % 8;
    bool has = (uar->count || had) && !uar->crowded &&
               ernic_mlx5_has_uar(&e->mlx5->function, page);

    if (has == had || !e->ops->page_event) {
        return;
    }
    q->events[page / 8] ^= 1u << page % 8;
    trace_ernic_mlx5_page_event(page, has);
    e->ops->page_event(e->env, page, has);
}

static bool in_range(uint32_t page)
{
    return page >= ERNIC_MLX5_UAR_FIRST && page < ERNIC_MLX5_UAR_END;
}

void ernic_mlx5_uar_add(Ernic *e, uint32_t page, uint32_t number)
{
    ErnicMlx5Uar *uar = &e->mlx5->uar_queues->uar[in_range(page) ? page : 0];

    if (!in_range(page)) {
        return;
    }
    if (uar->count < ERNIC_MLX5_UAR_QUEUES && !uar->crowded) {
        uar->number[uar->count] = number;
    } else {
        uar->crowded = true;
    }
    uar->count++;
    update(e, page);
}

void ernic_mlx5_uar_remove(Ernic *e, uint32_t page, uint32_t number)
{
    ErnicMlx5Uar *uar = &e->mlx5->uar_queues->uar[in_range(page) ? page : 0];
    uint32_t i;

    if (!in_range(page)) {
        return;
    }
    uar->count--;
    for (i = 0; !uar->crowded && i < uar->count; i++) {
        if (uar->number[i] == number) {
            uar->number[i] = uar->number[uar->count];
        }
    }
    uar->crowded = uar->crowded && uar->count;
    update(e, page);
}

void ernic_mlx5_uar_changed(Ernic *e, uint32_t page)
{
    update(e, page);
}

void ernic_mlx5_uars_gone(Ernic *e)
{
    const uint8_t *events = e->mlx5->uar_queues->events;
    uint32_t page;

    for (page = 0; page < ERNIC_MLX5_UAR_END; page++) {
        if (events[page / 8] & 1u << page % 8) {
            update(e, page);
        }
    }
}

void ernic_mlx5_uars_empty(Ernic *e)
{
    ErnicMlx5UarQueues *q = e->mlx5->uar_queues;

    memset(q->uar, 0, sizeof(q->uar));
    ernic_mlx5_uars_gone(e);
    q->next = 0;
    q->again = false;
}
