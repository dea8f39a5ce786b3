/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The train that is being built: packets are appended as long as path and
 * size allow, and leave together. While the link is busy nothing is appended.
 */
#ifndef ERNIC_TX_H
#define ERNIC_TX_H

#include "base/device.h"
#include "timing/hooks.h"
#include "wire/headers.h"
#include "wire/icrc.h"

struct ErnicTx {
    bool busy;                  /* the link refused the train that is held */
    bool loop_full;             /* loopback has no room for it */
    uint32_t len, seg, packets; /* of the train that is held */
    bool closed;                /* nothing may follow its last packet */
    bool frame;                 /* it is an Ethernet frame */
    uint64_t serial;            /* trains that have left */
    ErnicPath path;
    ErnicIcrcCtx icrc;
    uint8_t buf[ERNIC_TRAIN_BYTES];
    /* Loopback: trains to the device itself, in order, until ernic_run(). */
    uint8_t *loop;
    uint32_t loop_len;
};

ErnicTx *ernic_tx_new(void);
void ernic_tx_free(ErnicTx *tx);

/*
 * Room for one packet on @path whose headers are those of @pkt, which is
 * emitted there; *@payload is where @pkt->payload_len bytes go. Flushes the
 * held train if the packet does not fit behind it. False: that has to wait.
 */
bool ernic_tx_packet(Ernic *e, const ErnicPath *path, const ErnicPkt *pkt,
                     uint8_t **payload);
/*
 * The payload is in place: pad, ICRC, count. A packet that is not committed
 * is forgotten when the next one takes its room.
 */
void ernic_tx_commit(Ernic *e, uint32_t qpn, const ErnicPkt *pkt);
/*
 * The same for one Ethernet frame of @len bytes, which stays alone: room for it,
 * and that it is there.
 */
bool ernic_tx_frame(Ernic *e, uint32_t len, uint8_t **frame);
void ernic_tx_commit_frame(Ernic *e, uint32_t qpn, uint32_t len);
/*
 * Hand the held train to the link or to loopback. False: it is held on, until
 * ernic_tx_ready(), or until loopback is served.
 */
bool ernic_tx_flush(Ernic *e);
/* Timing model: hand over the packets whose time has come. */
void ernic_tx_depart(Ernic *e);
/* Copy @train into the loopback store. False: it is full. */
bool ernic_tx_loop_add(Ernic *e, const ErnicTrain *train);
/* The loopback train at *@pos, borrowed, and *@pos behind it; false: none. */
bool ernic_tx_loop_next(const Ernic *e, uint32_t *pos, ErnicTrain *train);
/* Whether @gid is in the port's GID table. */
bool ernic_gid_is_local(const Ernic *e, const ErnicGid *gid);
/* Serial number of the train that is held, or that comes next. */
static inline uint64_t ernic_tx_serial(const Ernic *e)
{
    return e->tx->serial + 1;
}

/* What has left the engine may still not have left the device. */
static inline bool ernic_tx_link_busy(const Ernic *e)
{
    return ernic_timed_link_busy(e, e->tx->busy) ||
           (e->ops->tx_waits && e->ops->tx_waits(e->env));
}

#endif /* ERNIC_TX_H */
