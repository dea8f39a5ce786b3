/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rows of the hardware handshake: by queue pair what user logic has not taken yet.
 */
#include "qemu/osdep.h"
#include "interfaces/pg332/handshake.h"
#include "state/state.h"

#define S ErnicHandshakeQp
DESCRIBE(handshake_qp,
    U(completed), UMAX(received, ERNIC_MAX_WQ_DEPTH),
    DERIVED(again),             /* a record that has begun begins anew */
);
#undef S

static void save_qps(const ErnicStateField *f, const Ernic *e, const void *obj,
                     GByteArray *out)
{
    const ErnicHandshake *h = obj;

    ernic_state_save_structs(e, f->of, h->qp, e->cfg.max_qp, out);
}

/* Number 0 is no queue pair. */
static bool load_qps(const ErnicStateField *f, Ernic *e, void *obj, ErnicReader *in)
{
    ErnicHandshake *h = obj;

    return ernic_state_load_structs(e, f->of, h->qp, e->cfg.max_qp, in) &&
           !h->qp[0].completed && !h->qp[0].received;
}

static const ErnicStateOwned qps = { save_qps, load_qps };

#define S ErnicHandshake
DESCRIBE(handshake,
    DERIVED(turn),              /* any queue pair may be the first */
    OWNED_OF(qp, qps, handshake_qp),
);
#undef S
