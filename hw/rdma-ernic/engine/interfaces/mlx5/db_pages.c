/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Queue pairs and Ethernet queues have different numbers, and each a record.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/command/lists.h"
#include "interfaces/mlx5/db_pages.h"
#include "interfaces/mlx5/eth/objects.h"
#include "interfaces/mlx5/eth/send.h"
#include "interfaces/mlx5/rdma/records.h"

#define LAST    (ERNIC_MLX5_SQN + ERNIC_LIM_ETH_QUEUE)

QEMU_BUILD_BUG_ON(ERNIC_MLX5_UAR_END != ERNIC_DB_PAGES);
QEMU_BUILD_BUG_ON(LAST > UINT16_MAX);

static bool exists(const Ernic *e, uint32_t page)
{
    return ernic_mlx5_has_uar(&e->mlx5->function, page);
}

static uint32_t next_number(const Ernic *e, uint32_t number)
{
    return number + 1 < e->qp_ids.fresh ? number + 1 :
           number < ERNIC_MLX5_SQN ? ERNIC_MLX5_SQN + 1 :
           number < LAST ? number + 1 : 0;
}

static uint32_t page_of(const Ernic *e, uint32_t number)
{
    return number > ERNIC_MLX5_SQN ? ernic_mlx5_sq_page(e, number) :
                                     ernic_mlx5_qp_page(e, number);
}

static void look(Ernic *e, uint32_t number)
{
    if (number > ERNIC_MLX5_SQN) {
        ernic_mlx5_eth_take(e, number);
    } else {
        ernic_mlx5_take_sends(e, number);
    }
}

const ErnicDbPageOps ernic_mlx5_db_pages = {
    .first = ERNIC_MLX5_UAR_FIRST,
    .exists = exists,
    .next = next_number,
    .page_of = page_of,
    .look = look,
};
