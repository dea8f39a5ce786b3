/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One function of the mlx5 interface, as far as its commands exist: life cycle,
 * capabilities, doorbell pages, the virtual port and the registers of the port.
 */
#ifndef ERNIC_INTERFACES_MLX5_FUNCTION_H
#define ERNIC_INTERFACES_MLX5_FUNCTION_H

#include "base/device.h"
#include "interfaces/mlx5/command/capabilities.h"

/* Pages of doorbells in the BAR. The first are those of the initialization segment. */
#define ERNIC_MLX5_UAR_FIRST    16
#define ERNIC_MLX5_UAR_END      1024
#define ERNIC_MLX5_UAR_MAX      (ERNIC_MLX5_UAR_END - 1)

/* Entries of each list of the virtual port; see the capabilities. */
#define ERNIC_MLX5_LIST_MAX     128
#define ERNIC_MLX5_VLAN_MAX     4096

typedef enum ErnicMlx5State {
    ERNIC_MLX5_DISABLED,        /* after a reset, and before ENABLE_HCA */
    ERNIC_MLX5_ENABLED,
    ERNIC_MLX5_RUNNING,         /* after INIT_HCA */
} ErnicMlx5State;

/* Lists of the virtual port, by allowed_list_type. */
enum { ERNIC_MLX5_LIST_UC, ERNIC_MLX5_LIST_MC, ERNIC_MLX5_LIST_VLAN, ERNIC_MLX5_LISTS };

typedef struct ErnicMlx5Vport {
    uint8_t context[0x100];     /* nic_vport_context, without a list */
    uint32_t num[ERNIC_MLX5_LISTS];
    uint64_t addresses[ERNIC_MLX5_LIST_VLAN][ERNIC_MLX5_LIST_MAX];
    uint16_t vlans[ERNIC_MLX5_VLAN_MAX];
    uint8_t admin_state;
} ErnicMlx5Vport;

/* Why a command is refused: also the syndrome of the answer. */
typedef enum ErnicMlx5Refusal {
    ERNIC_MLX5_ACCEPTED,
    ERNIC_MLX5_UNKNOWN_COMMAND,
    ERNIC_MLX5_NOT_NOW,
    ERNIC_MLX5_BAD_MODIFIER,
    ERNIC_MLX5_OTHER_FUNCTION,
    ERNIC_MLX5_NO_GROUP,
    ERNIC_MLX5_BAD_CAPABILITY,
    ERNIC_MLX5_BAD_ISSI,
    ERNIC_MLX5_NO_PAGES,
    ERNIC_MLX5_NO_UAR,
    ERNIC_MLX5_BAD_UAR,
    ERNIC_MLX5_BAD_LIST,
    ERNIC_MLX5_BAD_SELECT,
    ERNIC_MLX5_BAD_VALUE,
    ERNIC_MLX5_NO_REGISTER,
    ERNIC_MLX5_SHORT_MESSAGE,
    ERNIC_MLX5_NO_OBJECT,
    ERNIC_MLX5_BUSY,
    ERNIC_MLX5_BAD_STATE,
    ERNIC_MLX5_NO_RESOURCE,
    ERNIC_MLX5_DMA,
    ERNIC_MLX5_REFUSALS,
    /*
     * Software never sees this: the slice of work has ended before the command, which
     * has had no effect yet and is executed again in the next slice (base/work.h).
     */
    ERNIC_MLX5_AGAIN,
} ErnicMlx5Refusal;

typedef struct ErnicMlx5Status {
    uint8_t status;             /* of the answer */
    const char *reason;
} ErnicMlx5Status;

extern const ErnicMlx5Status ernic_mlx5_statuses[ERNIC_MLX5_REFUSALS];

/* Bytes of the text that describes the node (IB_DEVICE_NODE_DESC_MAX). */
#define ERNIC_MLX5_NODE_DESC    64

typedef struct ErnicMlx5Function {
    ErnicMlx5Config config;
    Ernic *engine;              /* whose objects the commands create; NULL: none */
    ErnicMlx5State state;
    uint16_t issi;
    ErnicMlx5Capabilities capabilities;
    uint8_t uars[ERNIC_MLX5_UAR_END / 8];       /* allocated: bit by number */
    ErnicMlx5Vport vport;
    uint8_t node_desc[ERNIC_MLX5_NODE_DESC];    /* text that the driver may change */
    uint32_t eth_proto_admin;
    uint16_t mtu;
    uint8_t port_admin;         /* state of the port that the driver asked for (PAOS) */
    bool teardown;              /* all objects of the engine are to be destroyed */
} ErnicMlx5Function;

/* A command in guest memory's byte order; see ErnicMlx5Execute for both lengths. */
typedef struct ErnicMlx5Request {
    const uint8_t *in;
    uint8_t *out;
    uint32_t in_len, out_len;
    uint16_t op_mod;
} ErnicMlx5Request;

/* @engine may be NULL, for commands that need none. */
void ernic_mlx5_function_init(ErnicMlx5Function *f, Ernic *engine,
                              const ErnicMlx5Config *config);
/* Everything but the configuration, as after a reset of the function. */
void ernic_mlx5_function_reset(ErnicMlx5Function *f);

/* Why a function of the engine has failed: its ernic_status, or ERNIC_AGAIN. */
ErnicMlx5Refusal ernic_mlx5_refusal(uint8_t status);

/* Execute one command; an ErnicMlx5Execute, @opaque is the function. */
bool ernic_mlx5_function_execute(void *opaque, const uint8_t *in, uint32_t in_len,
                                 uint8_t *out, uint32_t out_len);

/*
 * Whether the link is up: that of the engine, or without an engine that of the
 * configuration.
 */
static inline bool ernic_mlx5_link(const ErnicMlx5Function *f)
{
    return f->engine ? f->engine->port_active : f->config.link_up;
}

/* Whether all values of a saved state are such that commands could have made them. */
bool ernic_mlx5_function_ok(const ErnicMlx5Function *f);
bool ernic_mlx5_vport_ok(const ErnicMlx5Function *f);
bool ernic_mlx5_port_registers_ok(const ErnicMlx5Function *f);

/* The virtual port and the port's registers; in port/vport.c and port/registers.c. */
void ernic_mlx5_vport_reset(ErnicMlx5Function *f);
/* The 6 bytes of the address of the virtual port. */
const uint8_t *ernic_mlx5_vport_mac(const ErnicMlx5Function *f);
void ernic_mlx5_port_registers_reset(ErnicMlx5Function *f);

#endif /* ERNIC_INTERFACES_MLX5_FUNCTION_H */
