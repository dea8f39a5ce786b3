/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Completion entries (mlx5_cqe64, mlx5_err_cqe): offsets and values that the entries of
 * queue pairs and of Ethernet queues share. fields_queues.h.inc has the layouts.
 */
#ifndef ERNIC_INTERFACES_MLX5_CQE_H
#define ERNIC_INTERFACES_MLX5_CQE_H

#include "base/fault.h"

/* Bytes before a field. */
enum {
    CQE_HASH = 12, CQE_HASH_TYPE = 16, CQE_SUM = 20,
    CQE_FLAGS_RQPN = 24, CQE_CHECKED = 28,
    CQE_L3_L4 = 29, CQE_VLAN = 30, CQE_INDEX = 32,
    CQE_IMM = 36, CQE_BYTES = 44, CQE_TIME = 48,
    CQE_VENDOR = 54, CQE_SYNDROME = 55, CQE_QPN = 56,
    CQE_COUNTER = 60, CQE_OWNER = 63,
};

/* Opcodes of entries (MLX5_CQE_*), in the upper half of the last byte. */
enum {
    CQE_REQ = 0, CQE_RESP_WRITE_IMM = 1,
    CQE_RESP_SEND = 2, CQE_RESP_SEND_IMM = 3,
    CQE_RESP_SEND_INV = 4, CQE_RESIZE = 5,
    CQE_REQ_ERROR = 13, CQE_RESP_ERROR = 14,
};

/* Bit of CQE_L3_L4: CQE_VLAN has the tag, and the data have not. */
#define CQE_VLAN_STRIPPED    0x01

/* MLX5_CQE_SYNDROME_* of a request that has ended with @fault. */
uint8_t ernic_mlx5_syndrome(ErnicFault fault);

#endif /* ERNIC_INTERFACES_MLX5_CQE_H */
