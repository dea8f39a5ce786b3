/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The transmit ring of the Ethernet interface: frames, and large packets, whose data are
 * divided into frames. Frames are built on the stack of the bottom half.
 *
 * A link may refuse frames in the middle of a large packet. The ring then remembers how
 * many bytes of its data have left, and the packet is read again.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/main-loop.h"
#include "system/runstate.h"
#include "net/checksum.h"
#include "net/eth.h"
#include "engine/base/budget.h"
#include "engine/wire/segmentation.h"
#include "device/clock.h"
#include "device/dma.h"
#include "device/interface.h"
#include "device/link.h"
#include "net/eth_rings.h"
#include "net/transmit.h"
#include "hw/rdma-ernic/ernic_abi.h"
#include "hw/rdma-ernic/trace.h"

typedef enum Outcome {
    SENT,                       /* the whole packet */
    REFUSED,                    /* it cannot be sent */
    UNFINISHED,                 /* its end is not posted, or frames are left */
    RESET,                      /* the function was reset: the ring is empty */
} Outcome;

/* The packet at tx_ci: its descriptors, copied once. */
typedef struct Packet {
    ErnicPci *d;
    ErnicBudget *work;
    struct ernic_eth_txd desc[ERNIC_ETH_FRAME_DESC];
    uint32_t num;
    uint32_t skip;              /* descriptors to its end */
    uint32_t len;               /* bytes of all */
} Packet;

/* ---- bytes ------------------------------------------------------------------------- */

/*
 * Copy the descriptors up to the end of the packet. The end of one with too many is not
 * looked for: all that is posted is skipped.
 */
static Outcome fetch(Packet *p)
{
    const ErnicEth *eth = &p->d->net.eth;
    uint32_t posted = eth->tx_pi - eth->tx_ci;

    p->skip = posted;
    p->len = 0;
    for (p->num = 0; p->num < posted;) {
        struct ernic_eth_txd *desc = &p->desc[p->num];

        ernic_budget_charge(p->work, ERNIC_WORK_ACCESS, 0);
        if (p->num == ERNIC_ETH_FRAME_DESC ||
            !ernic_pci_dma(p->d, ernic_pci_eth_slot(eth->tx_addr, eth->tx_ci + p->num,
                                                    eth->tx_shift),
                           desc, sizeof(*desc), false)) {
            return REFUSED;
        }
        p->num++;
        p->len += le16_to_cpu(desc->len);
        if (desc->flags & ERNIC_ETH_EOP) {
            p->skip = p->num;
            return SENT;
        }
    }
    /* A full ring without the end of a frame: the end has no place to follow. */
    return posted == 1u << eth->tx_shift ? REFUSED : UNFINISHED;
}

/* Copy @len bytes of the packet from byte @off on, which exist. */
static bool copy(Packet *p, uint32_t off, uint8_t *to, uint32_t len)
{
    for (uint32_t i = 0; len; i++) {
        uint32_t size = le16_to_cpu(p->desc[i].len), n = MIN(size - MIN(off, size), len);

        ernic_budget_charge(p->work, n ? ERNIC_WORK_ACCESS : 0, n);
        if (n && !ernic_pci_dma(p->d, le64_to_cpu(p->desc[i].addr) + off, to, n, false)) {
            return false;
        }
        off -= MIN(off, size);
        to += n;
        len -= n;
    }
    return true;
}

/*
 * Inserts the checksum that the descriptor requests; false if its range is outside
 * the frame. The checksum field is part of the sum: software has put the sum of the
 * pseudo header there.
 */
static bool checksum(uint8_t *frame, uint32_t len, const struct ernic_eth_txd *desc)
{
    uint32_t start = le16_to_cpu(desc->csum_start);
    uint32_t at = start + le16_to_cpu(desc->csum_offset);

    if (start >= len || at + 2 > len) {
        return false;
    }
    stw_be_p(frame + at, net_checksum_finish_nozero(
        net_checksum_add(len - start, frame + start)));
    return true;
}

/* ---- frames ------------------------------------------------------------------------ */

static void eth_sent(NetClientState *nc, ssize_t len)
{
    ernic_pci_eth_sent(qemu_get_nic_opaque(nc));
}

bool ernic_pci_eth_transmit(ErnicPci *d, const uint8_t *frame, uint32_t len)
{
    ErnicEth *eth = &d->net.eth;
    uint32_t resets = d->resets;
    bool waits;

    eth->tx_packets++;
    eth->tx_bytes += len;
    if (!d->net.nic) {
        return true;
    }
    d->net.busy++;
    waits = qemu_send_packet_async(qemu_get_queue(d->net.nic), frame, len,
                                   eth_sent) == 0;
    d->net.busy--;
    if (d->resets != resets) {
        return false;
    }
    eth->tx_wait = waits || (d->net.port && ernic_wire_waits(d->net.port));
    return true;
}

static Outcome send_frame(Packet *p, uint8_t *frame)
{
    const struct ernic_eth_txd *last = &p->desc[p->num - 1];

    if (p->len < ETH_HLEN || p->len > ERNIC_ETH_FRAME_MAX ||
        !copy(p, 0, frame, p->len) ||
        ((last->flags & ERNIC_ETH_CSUM) && !checksum(frame, p->len, last))) {
        return REFUSED;
    }
    ernic_budget_charge(p->work, ERNIC_WORK_FRAME, 0);
    return ernic_pci_eth_transmit(p->d, frame, p->len) ? SENT : RESET;
}

static bool may_send(ErnicPci *d)
{
    const ErnicEth *eth = &d->net.eth;

    return ernic_pci_working(d) && runstate_is_running() &&
           (eth->ctrl & ERNIC_ETH_TX) && !eth->tx_wait && eth->tx_ci != eth->tx_pi;
}

/* Send frames of a large packet, from byte tx_sent of its data on. */
static Outcome send_large(Packet *p, uint8_t *frame)
{
    const struct ernic_eth_txd *last = &p->desc[p->num - 1];
    uint32_t head = le16_to_cpu(last->head_len), mss = le16_to_cpu(last->mss);
    uint8_t headers[ERNIC_ETH_LSO_HEAD_MAX];
    ErnicEth *eth = &p->d->net.eth;
    uint32_t data = p->len - head, n;
    ErnicSegmentation s;

    if (head > sizeof(headers) || head >= p->len || head + mss > ERNIC_ETH_FRAME_MAX ||
        data > ERNIC_ETH_LSO_MAX || eth->tx_sent >= data || !copy(p, 0, headers, head) ||
        !ernic_segmentation_init(&s, headers, head, mss)) {
        return REFUSED;
    }
    do {
        n = MIN(mss, data - eth->tx_sent);
        memcpy(frame, headers, head);
        if (!copy(p, head + eth->tx_sent, frame + head, n)) {
            return REFUSED;
        }
        ernic_segmentation_adapt(&s, frame, n, eth->tx_sent / mss,
                                 eth->tx_sent + n == data);
        eth->tx_sent += n;
        trace_ernic_pci_eth_large(ernic_pci_id(p->d), eth->tx_ci, eth->tx_sent, data);
        ernic_budget_charge(p->work, ERNIC_WORK_FRAME, 0);
        if (!ernic_pci_eth_transmit(p->d, frame, head + n)) {
            return RESET;
        }
        if (eth->tx_sent == data) {
            return SENT;
        }
    } while (ernic_budget_left(p->work) && may_send(p->d));
    return UNFINISHED;
}

static Outcome send_packet(Packet *p, uint8_t *frame)
{
    Outcome outcome = fetch(p);

    if (outcome != SENT) {
        return outcome;
    }
    switch (p->desc[p->num - 1].flags & (ERNIC_ETH_CSUM | ERNIC_ETH_LSO)) {
    case ERNIC_ETH_LSO:
        return send_large(p, frame);
    case ERNIC_ETH_LSO | ERNIC_ETH_CSUM:
        return REFUSED;
    default:
        return send_frame(p, frame);
    }
}

/* ---- turns ------------------------------------------------------------------------- */

static void eth_tx_bh(void *opaque)
{
    ErnicPci *d = opaque;
    ErnicEth *eth = &d->net.eth;
    uint8_t frame[ERNIC_ETH_FRAME_MAX];
    ErnicBudget work = ernic_budget_new(ernic_pci_clock(d));
    Packet p = { .d = d, .work = &work };
    uint32_t before = eth->tx_ci;
    Outcome outcome = SENT;

    while (outcome < UNFINISHED && ernic_budget_left(&work) && may_send(d)) {
        outcome = send_packet(&p, frame);
        if (outcome == RESET) {
            return;
        }
        if (outcome == REFUSED) {
            qatomic_inc(&eth->tx_errors);
            trace_ernic_guest_bad_frame(ernic_pci_id(d), eth->tx_ci + p.skip, p.len);
            ernic_pci_guest_error(d, "a frame that cannot be sent");
        }
        if (outcome < UNFINISHED) {
            eth->tx_ci += p.skip;
            eth->tx_sent = 0;
        }
    }
    if (eth->tx_ci != before) {
        ernic_pci_eth_report(d);
    }
    if (!ernic_budget_left(&work)) {
        ernic_pci_continue(d, &d->net.kick, d->net.bh);
    }
}

static void eth_tx_timer(void *opaque)
{
    ernic_pci_guarded(opaque, eth_tx_bh);
}

void ernic_pci_eth_kick(ErnicPci *d)
{
    ernic_pci_schedule(d, &d->net.kick, d->net.bh);
}

void ernic_pci_eth_sent(ErnicPci *d)
{
    if (d->net.eth.tx_wait) {
        d->net.eth.tx_wait = false;
        ernic_pci_eth_kick(d);
        if (d->interface->can_send) {
            d->interface->can_send(d);
        }
    }
}

bool ernic_pci_eth_waits(const ErnicPci *d)
{
    return d->net.eth.tx_wait;
}

/* ---- life -------------------------------------------------------------------------- */

void ernic_pci_eth_tx_init(ErnicPci *d)
{
    d->net.bh = qemu_bh_new_guarded(eth_tx_bh, d, &DEVICE(d)->mem_reentrancy_guard);
    timer_init_ns(&d->net.kick, QEMU_CLOCK_VIRTUAL, eth_tx_timer, d);
}

void ernic_pci_eth_tx_fini(ErnicPci *d)
{
    timer_del(&d->net.kick);
    g_clear_pointer(&d->net.bh, qemu_bh_delete);
}
