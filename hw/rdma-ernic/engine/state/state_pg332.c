/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rows of strict mode and of the hardware handshake of PG332.
 */
#include "qemu/osdep.h"
#include "interfaces/pg332/handshake.h"
#include "interfaces/pg332/strict.h"
#include "state/state.h"

/* ---- strict mode: rules, and by queue pair those that have been reported ------- */

#define S ErnicViolation
DESCRIBE(violation, U(count), U(value), U(time), U(offset), U(qpn));
#undef S

static void save_last(const ErnicStateField *f, const Ernic *e, const void *obj,
                      GByteArray *out)
{
    const ErnicStrict *s = obj;

    ernic_state_put(out, ernic_num_rules, 4);
    ernic_state_save_structs(e, f->of, s->last, ernic_num_rules, out);
}

/* A rule that the writer did not have was never broken. */
static bool load_last(const ErnicStateField *f, Ernic *e, void *obj, ErnicReader *in)
{
    uint32_t n = ernic_state_read(in, 4), i;
    ErnicStrict *s = obj;

    if (n > ernic_num_rules) {
        return ernic_state_refuse(in, "a newer release saved it: it has more rules");
    }
    for (i = 0; i < n; i++) {
        if (!ernic_state_load_struct(e, f->of, &s->last[i], in) ||
            s->last[i].qpn >= e->cfg.max_qp) {
            return false;
        }
    }
    return true;
}

static const ErnicStateOwned last = { save_last, load_last };

static void save_told(const ErnicStateField *f, const Ernic *e, const void *obj,
                      GByteArray *out)
{
    const ErnicStrict *s = obj;

    ernic_state_put_all(out, s->told, e->cfg.max_qp, sizeof(*s->told));
}

static bool load_told(const ErnicStateField *f, Ernic *e, void *obj, ErnicReader *in)
{
    uint64_t unknown = ernic_num_rules < 64 ? ~0ull << ernic_num_rules : 0;
    ErnicStrict *s = obj;
    uint32_t i;

    for (i = 0; i < e->cfg.max_qp; i++) {
        s->told[i] = ernic_state_read(in, 8);
        if (s->told[i] & unknown) {
            return false;
        }
    }
    return true;
}

static const ErnicStateOwned told = { save_told, load_told };

#define S ErnicStrict
DESCRIBE(strict, OWNED_OF(last, last, violation), OWNED(told, told));
#undef S

/* ---- handshake: by queue pair what user logic has not taken yet ---------------- */

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
