/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Why commands are refused, and what their handlers share.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "interfaces/mlx5/command/function.h"
#include "hw/rdma-ernic/ernic_abi.h"

/*
 * Status values of an answer (MLX5_CMD_STAT in the driver). LIM means that all are used,
 * and Linux reports ENOMEM. NO_RES (0x0f) stands for EAGAIN there, and the driver
 * repeats some commands without end.
 */
enum {
    STAT_OK = 0x00,
    STAT_INT_ERR = 0x01,
    STAT_BAD_OP = 0x02,
    STAT_BAD_PARAM = 0x03,
    STAT_BAD_SYS_STATE = 0x04,
    STAT_BAD_RES = 0x05,
    STAT_RES_BUSY = 0x06,
    STAT_LIM = 0x08,
    STAT_BAD_RES_STATE = 0x09,
    STAT_BAD_INP_LEN = 0x50,
};

const ErnicMlx5Status ernic_mlx5_statuses[ERNIC_MLX5_REFUSALS] = {
    [ERNIC_MLX5_ACCEPTED] = { STAT_OK, "accepted" },
    [ERNIC_MLX5_UNKNOWN_COMMAND] = { STAT_BAD_OP, "the command does not exist" },
    [ERNIC_MLX5_NOT_NOW] = { STAT_BAD_SYS_STATE,
                             "the function is in another state" },
    [ERNIC_MLX5_BAD_MODIFIER] = { STAT_BAD_PARAM, "unknown op_mod" },
    [ERNIC_MLX5_OTHER_FUNCTION] = { STAT_BAD_PARAM,
                                    "a virtual function manages no other one" },
    [ERNIC_MLX5_NO_GROUP] = { STAT_BAD_PARAM, "the capability group does not exist" },
    [ERNIC_MLX5_BAD_CAPABILITY] = { STAT_BAD_PARAM,
                                    "a capability has a value that is not allowed" },
    [ERNIC_MLX5_BAD_ISSI] = { STAT_BAD_PARAM, "unknown ISSI" },
    [ERNIC_MLX5_NO_PAGES] = { STAT_BAD_PARAM, "the function takes no pages" },
    [ERNIC_MLX5_NO_UAR] = { STAT_LIM, "all doorbell pages are allocated" },
    [ERNIC_MLX5_BAD_UAR] = { STAT_BAD_RES, "the doorbell page is not allocated" },
    [ERNIC_MLX5_BAD_LIST] = { STAT_BAD_PARAM,
                              "unknown list, or a list that is too long" },
    [ERNIC_MLX5_BAD_SELECT] = { STAT_BAD_PARAM, "a field that cannot be changed" },
    [ERNIC_MLX5_BAD_VALUE] = { STAT_BAD_PARAM, "a value is out of range" },
    [ERNIC_MLX5_NO_REGISTER] = { STAT_BAD_PARAM, "the register does not exist" },
    [ERNIC_MLX5_SHORT_MESSAGE] = { STAT_BAD_INP_LEN, "the message is too short" },
    [ERNIC_MLX5_NO_OBJECT] = { STAT_BAD_RES, "the object does not exist" },
    [ERNIC_MLX5_BUSY] = { STAT_RES_BUSY, "other objects refer to the object" },
    [ERNIC_MLX5_BAD_STATE] = { STAT_BAD_RES_STATE, "the object is in another state" },
    [ERNIC_MLX5_NO_RESOURCE] = { STAT_LIM,
                                 "no object, or no memory for it, is left" },
    [ERNIC_MLX5_DMA] = { STAT_INT_ERR, "an access to guest memory failed" },
};

ErnicMlx5Refusal ernic_mlx5_refusal(uint8_t status)
{
    static const uint8_t refusals[] = {
        [ERNIC_OK] = ERNIC_MLX5_ACCEPTED,
        [ERNIC_ERR_OPCODE] = ERNIC_MLX5_BAD_VALUE,
        [ERNIC_ERR_RESERVED] = ERNIC_MLX5_BAD_VALUE,
        [ERNIC_ERR_HANDLE] = ERNIC_MLX5_NO_OBJECT,
        [ERNIC_ERR_PARAM] = ERNIC_MLX5_BAD_VALUE,
        [ERNIC_ERR_STATE] = ERNIC_MLX5_BAD_STATE,
        [ERNIC_ERR_ATTR_MASK] = ERNIC_MLX5_BAD_SELECT,
        [ERNIC_ERR_NO_RESOURCE] = ERNIC_MLX5_NO_RESOURCE,
        [ERNIC_ERR_BUSY] = ERNIC_MLX5_BUSY,
        [ERNIC_ERR_DMA] = ERNIC_MLX5_DMA,
        [ERNIC_ERR_PERM] = ERNIC_MLX5_BAD_VALUE,
        [ERNIC_ERR_FULL] = ERNIC_MLX5_BAD_VALUE,
    };

    if (status == ERNIC_AGAIN) {
        return ERNIC_MLX5_AGAIN;
    }
    g_assert(status < ARRAY_SIZE(refusals));
    return refusals[status];
}
