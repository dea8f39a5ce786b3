/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The send queues of queue pairs and of Ethernet, and the pages of their doorbells, for
 * interfaces/common/db_pages.
 */
#ifndef ERNIC_INTERFACES_MLX5_DB_PAGES_H
#define ERNIC_INTERFACES_MLX5_DB_PAGES_H

#include "interfaces/interface.h"

extern const ErnicDbPageOps ernic_mlx5_db_pages;

#endif /* ERNIC_INTERFACES_MLX5_DB_PAGES_H */
