/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Packets that waited in a device whose link needs no ICRC, and now leave by one that
 * does. Their ICRC is 0: they get one. Any other value stays, right or wrong.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "state/state.h"
#include "timing/timing.h"
#include "transport/tx.h"
#include "wire/icrc.h"

static void add_icrc(const ErnicPath *path, uint8_t *data, uint32_t len, uint32_t seg)
{
    ErnicIcrcCtx ctx;
    uint32_t pos, n;

    ernic_icrc_init(&ctx, path);
    for (pos = 0; pos < len; pos += n) {
        n = MIN(seg, len - pos);
        if (n >= ERNIC_BTH_LEN + ERNIC_ICRC_LEN &&
            ldl_le_p(data + pos + n - ERNIC_ICRC_LEN) == 0) {
            stl_le_p(data + pos + n - ERNIC_ICRC_LEN,
                     ernic_icrc_packet(&ctx, data + pos, n - ERNIC_ICRC_LEN));
        }
    }
}

/* With its IP header, a packet comes from a link that has the ICRC. */
static void add_to_fifo(ErnicDelayFifo *l)
{
    ErnicTimedPacket *p;
    uint64_t due;
    uint32_t i;

    for (i = 0; i < l->count; i++) {
        p = ernic_delay_fifo_at(l, i, &due);
        if (!p->ip_len) {
            add_icrc(&p->path, p->data, p->len, p->len);
        }
    }
}

void ernic_state_derive_icrc(Ernic *e)
{
    uint32_t pos = e->tx->loop_pos;
    ErnicTrain train;

    if (e->cfg.no_icrc) {
        return;                 /* nobody looks at it */
    }
    if (e->tx->packets && !e->tx->frame) {
        add_icrc(&e->tx->path, e->tx->buf, e->tx->len, e->tx->seg);
    }
    while (ernic_tx_loop_next(e, &pos, &train)) {
        if (!train.frame) {
            add_icrc(&train.path, (uint8_t *)train.data, train.len, train.seg);
        }
    }
    if (e->timing) {
        add_to_fifo(&e->timing->tx);
        add_to_fifo(&e->timing->rx);
    }
}
