/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Shared dialogues.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "dialog_cases.h"

void dlg_not_of_xrc(ErnicOp op)
{
    uint8_t bytes[40] = { ERNIC_BTH_XRC | op, 0x40, 0xff, 0xff };
    Dialog d;

    dlg_open(&d, ERNIC_QPT_XRC_TGT);
    stl_be_p(bytes + 4, d.qp.qpn);
    stl_be_p(bytes + 8, DLG_RQ_PSN);
    dlg_inject_raw(&d, bytes, sizeof(bytes), true);
    SENT_NAK(&d, ERNIC_NAK_INV_REQ, DLG_RQ_PSN, 0);
    dlg_event(&d, ERNIC_EV_QP_REQ_ERR);
    dlg_event(&d, ERNIC_EV_LAST_WQE);
    dlg_close(&d);
}

void dlg_from_any(uint8_t state)
{
    Dialog d;

    for (uint8_t type = 0; type < ERNIC_QPT_GSI; type++) {
        for (uint8_t from = ERNIC_QPS_INIT; from < ERNIC_QPS_COUNT; from++) {
            if (type == ERNIC_QPT_RC && from == ERNIC_QPS_SQE) {
                continue;
            }
            dlg_open_in(&d, type, from);
            dlg_state(&d, state);
            dlg_state_is(&d, state);
            dlg_close(&d);
        }
    }
}

void dlg_open_bad_recv(Dialog *d, uint8_t type, uint32_t len)
{
    struct ernic_sge sge;

    dlg_open(d, type);
    sge = fake_sge(d->mem, len, d->key ^ 1);
    fake_post_recv(d->e, &d->qp, 0, &sge, 1);
    dlg_recv(d, DLG_SINK, len);
}

void dlg_close_bad_recv(Dialog *d)
{
    RECV_WC(d, 0, LOC_PROT_ERR);
    RECV_WC(d, 1, WR_FLUSH_ERR);
    STATE_IS(d, ERR);
    dlg_close(d);
}
