/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The channels of the AXI DMA. MM2S collects a frame from its descriptors and waits while
 * the network cannot take one. S2MM fills as many descriptors as a frame needs; one that
 * comes when there is none is lost.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "system/runstate.h"
#include "engine/base/budget.h"
#include "net/eth.h"
#include "bars/xib/channels.h"
#include "device/card.h"
#include "device/clock.h"
#include "device/dma.h"
#include "device/irq.h"
#include "device/mutex.h"
#include "device/pace.h"
#include "device/traffic.h"
#include "net/transmit.h"
#include "net/queues.h"
#include "hw/rdma-ernic/trace.h"

/* Accesses to memory for a descriptor: itself, data, status. */
#define DESC_ACCESSES   3
/* Descriptors that a frame takes when it arrives; the channels' own work has the rest. */
#define DESC_AT_ONCE    16
/* A unit of IRQDelay: 125 cycles of a clock of 250 MHz. */
#define DELAY_NS        500
/* Errors of a descriptor's own data, and where they are in its status. */
#define DATA_ERRORS     (PG332_DMASR_INTERNAL | PG332_DMASR_DECODE)
#define DATA_SHIFT      24

typedef enum XibStep {
    XIB_IDLE,                   /* nothing to do */
    XIB_WORKED,
    XIB_FAILED,                 /* the same, and the channel has an error */
    XIB_GONE,                   /* the function was reset or ejected meanwhile */
} XibStep;

/* ---- interrupts ------------------------------------------------------------------ */

/* The interrupt was @was before a change. */
static void rise(ErnicPci *d, uint32_t ch, bool was)
{
    if (!was && ernic_axi_dma_irq(&d->shell.xib->dma[ch])) {
        ernic_pci_irq(d, ch);
    }
}

void ernic_xib_settle(ErnicPci *d)
{
    uint64_t raised = 0;
    uint32_t ch;

    if (!d->shell.xib || ernic_pci_gone(d) || !ernic_pci_msi_waits(d)) {
        return;
    }
    for (ch = 0; ch < XIB_CHANNELS; ch++) {
        raised |= (uint64_t)ernic_axi_dma_irq(&d->shell.xib->dma[ch]) << ch;
    }
    ernic_pci_lock(d);
    raised |= (uint64_t)ernic_irq_level(d->pg332.engine) << d->pg332.vector;
    ernic_pci_msi_keep(d, raised);
    ernic_pci_unlock(d);
}

void ernic_xib_raise(ErnicPci *d)
{
    uint32_t ch;

    for (ch = 0; d->shell.xib && ch < XIB_CHANNELS; ch++) {
        rise(d, ch, false);
    }
}

void xib_set_timer(ErnicPci *d)
{
    const ErnicXib *x = d->shell.xib;
    QEMUTimer *delay = &d->shell.worker.delay;
    uint64_t first = UINT64_MAX;
    uint32_t ch;

    for (ch = 0; ch < XIB_CHANNELS; ch++) {
        first = x->due[ch] ? MIN(first, x->due[ch]) : first;
    }
    if (first == UINT64_MAX) {
        timer_del(delay);
    } else {
        timer_mod_ns(delay, MIN(first, (uint64_t)INT64_MAX));
    }
}

void xib_delays(ErnicPci *d)
{
    ErnicXib *x = d->shell.xib;
    uint32_t ch;
    bool was;

    for (ch = 0; ch < XIB_CHANNELS; ch++) {
        if (x->due[ch] && x->due[ch] <= ernic_pci_now()) {
            x->due[ch] = 0;
            was = ernic_axi_dma_irq(&x->dma[ch]);
            ernic_axi_dma_expire(&x->dma[ch]);
            rise(d, ch, was);
        }
    }
    xib_set_timer(d);
}

/* The delay begins at the end of a packet, and again at that of the next one. */
static void packet_done(ErnicPci *d, uint32_t ch)
{
    ErnicXib *x = d->shell.xib;
    ErnicAxiDma *c = &x->dma[ch];
    bool was = ernic_axi_dma_irq(c);

    x->due[ch] = 0;
    if (!ernic_axi_dma_packet(c) && ernic_axi_dma_delay(c)) {
        x->due[ch] = ernic_pci_now() + ernic_axi_dma_delay(c) * DELAY_NS;
    }
    xib_set_timer(d);
    rise(d, ch, was);
}

/* ---- descriptors ----------------------------------------------------------------- */

static void lost(ErnicPci *d, uint32_t ch, uint32_t len, const char *why)
{
    d->shell.xib->stats.dropped[ch]++;
    trace_ernic_axi_dma_lost(ernic_pci_id(d), ch, len, why);
}

/* The frame under way will not be finished. */
static void drop_frame(ErnicPci *d, uint32_t ch, const char *why)
{
    XibFrame *f = &d->shell.xib->frame[ch];

    if (f->len) {
        lost(d, ch, f->len, why);
        f->len = f->pos = 0;
    }
}

static void fails(ErnicPci *d, uint32_t ch, uint64_t at, uint32_t error)
{
    ErnicXib *x = d->shell.xib;
    uint32_t status = cpu_to_le32((error & DATA_ERRORS) << DATA_SHIFT);
    bool was = ernic_axi_dma_irq(&x->dma[ch]);

    trace_ernic_guest_axi_dma(ernic_pci_id(d), ch, at, error);
    ernic_pci_guest_error(d, "channel %u of the AXI DMA halts at descriptor 0x%" PRIx64
                          ", status 0x%x", ch, at, error);
    if (status) {
        ernic_pci_dma(d, at + PG332_DESC_STATUS, &status, sizeof(status), true);
    }
    x->stats.errors++;
    ernic_axi_dma_fail(&x->dma[ch], error);
    drop_frame(d, ch, "error");
    rise(d, ch, was);
}

/* An access may reach any device, which may reset or eject the function. */
static XibStep access_memory(ErnicPci *d, uint64_t addr, void *buf, uint32_t len,
                             bool write)
{
    uint32_t resets = d->resets;
    bool ok = ernic_pci_dma(d, addr, buf, len, write);

    return d->resets != resets ? XIB_GONE : ok ? XIB_WORKED : XIB_FAILED;
}

/* Not XIB_WORKED: there is none that can be used. */
static XibStep fetch(ErnicPci *d, uint32_t ch, ErnicAxiDesc *desc)
{
    ErnicAxiDma *c = &d->shell.xib->dma[ch];
    uint32_t words[ERNIC_AXI_DESC_WORDS], error = PG332_DMASR_SG_DECODE;
    uint64_t at = ernic_axi_dma_begin(c);
    XibStep did = access_memory(d, at, words, sizeof(words), false);

    if (did == XIB_WORKED) {
        error = ernic_axi_dma_take(c, words, 1, desc);
        did = error ? XIB_FAILED : XIB_WORKED;
    }
    if (did == XIB_FAILED) {
        fails(d, ch, at, error);
    } else if (did == XIB_WORKED) {
        trace_ernic_axi_dma_desc(ernic_pci_id(d), ch, at, desc->buf, desc->control);
    }
    return did;
}

static XibStep move_data(ErnicPci *d, uint32_t ch, const ErnicAxiDesc *desc, void *data,
                         uint32_t len)
{
    XibStep did = len ? access_memory(d, desc->buf, data, len, ch == XIB_S2MM) :
                        XIB_WORKED;

    if (did == XIB_FAILED) {
        fails(d, ch, desc->at, PG332_DMASR_DECODE);
    }
    return did;
}

/* Its data have been moved. Not XIB_WORKED: the status could not be written. */
static XibStep finish(ErnicPci *d, uint32_t ch, const ErnicAxiDesc *desc, uint32_t status)
{
    uint32_t word = cpu_to_le32(status | PG332_DESC_COMPLETE);
    XibStep did = access_memory(d, desc->at + PG332_DESC_STATUS, &word, sizeof(word),
                                true);

    if (did == XIB_FAILED) {
        fails(d, ch, desc->at, PG332_DMASR_SG_DECODE);
    } else if (did == XIB_WORKED) {
        ernic_axi_dma_done(&d->shell.xib->dma[ch], desc);
    }
    return did;
}

/* ---- MM2S ------------------------------------------------------------------------ */

/* Sends the frame. False: the function was reset or ejected meanwhile. */
static bool leave(ErnicPci *d)
{
    ErnicXib *x = d->shell.xib;
    XibFrame *f = &x->frame[XIB_MM2S];
    bool with_fcs = !(x->regs[XIB_TX] & XIB_TX_ADD_FCS);
    uint32_t len = f->len - MIN(f->len, with_fcs ? ERNIC_MAC_FCS : 0);
    uint32_t resets = d->resets;
    const char *why = len < ETH_HLEN || len > ERNIC_MAC_FRAME_MAX ? "length" :
                      !(x->regs[XIB_TX] & XIB_TX_ENABLE) ? "disabled" : NULL;

    if (why) {
        drop_frame(d, XIB_MM2S, why);
        return true;
    }
    f->len = 0;
    if (len < ETH_ZLEN) {
        memset(f->bytes + len, 0, ETH_ZLEN - len);
        len = ETH_ZLEN;
    }
    x->stats.packets[XIB_MM2S]++;
    x->stats.bytes[XIB_MM2S] += len;
    ernic_mac_count(&x->mac[XIB_MM2S], f->bytes, len);
    return ernic_pci_eth_transmit(d, f->bytes, len) && d->resets == resets;
}

/* A descriptor that begins a frame ends one without an end. */
static XibStep mm2s_step(ErnicPci *d, ErnicBudget *work)
{
    ErnicXib *x = d->shell.xib;
    XibFrame *f = &x->frame[XIB_MM2S];
    ErnicAxiDesc desc;
    uint32_t at, n;
    XibStep did;

    if (!ernic_axi_dma_ready(&x->dma[XIB_MM2S])) {
        ernic_pace_idle(d->shell.pace);
        return XIB_IDLE;
    }
    if (ernic_pci_eth_waits(d)) {
        ernic_pace_stall(d->shell.pace);
        return XIB_IDLE;
    }
    ernic_budget_charge(work, ERNIC_WORK_ACCESS * DESC_ACCESSES, 0);
    did = fetch(d, XIB_MM2S, &desc);
    if (did != XIB_WORKED) {
        return did;
    }
    if (ernic_pace_waits(d, d->shell.pace, desc.at / ERNIC_AXI_DESC_ALIGN, desc.len)) {
        return XIB_IDLE;
    }
    ernic_pace_done(d->shell.pace);
    if (desc.control & PG332_DESC_SOF) {
        drop_frame(d, XIB_MM2S, "no end");
    }
    at = MIN(f->len, sizeof(f->bytes));
    n = MIN(desc.len, sizeof(f->bytes) - at);
    ernic_budget_charge(work, 0, n);
    did = move_data(d, XIB_MM2S, &desc, f->bytes + at, n);
    if (did != XIB_WORKED) {
        return did;
    }
    f->len = MIN(f->len + desc.len, sizeof(f->bytes) + 1);
    did = finish(d, XIB_MM2S, &desc, desc.len);
    if (did != XIB_WORKED || !(desc.control & PG332_DESC_EOF)) {
        return did;
    }
    ernic_budget_charge(work, ERNIC_WORK_FRAME, 0);
    packet_done(d, XIB_MM2S);
    return leave(d) ? XIB_WORKED : XIB_GONE;
}

/* ---- S2MM ------------------------------------------------------------------------ */

/* Moves as much of the frame as the next descriptor holds. */
static XibStep s2mm_step(ErnicPci *d, ErnicBudget *work)
{
    ErnicXib *x = d->shell.xib;
    XibFrame *f = &x->frame[XIB_S2MM];
    ErnicAxiDesc desc;
    uint32_t n, flags;
    XibStep did;

    if (!f->len || !ernic_axi_dma_ready(&x->dma[XIB_S2MM])) {
        return XIB_IDLE;
    }
    if (work) {
        ernic_budget_charge(work, ERNIC_WORK_ACCESS * DESC_ACCESSES, 0);
    } else {
        ernic_pci_rx_work(d, DESC_ACCESSES, 0);
    }
    did = fetch(d, XIB_S2MM, &desc);
    if (did != XIB_WORKED) {
        return did;
    }
    assert(f->pos < f->len);
    n = MIN(f->len - f->pos, desc.len);
    flags = (f->pos ? 0 : PG332_DESC_SOF) | (f->pos + n == f->len ? PG332_DESC_EOF : 0);
    did = move_data(d, XIB_S2MM, &desc, f->bytes + f->pos, n);
    if (did == XIB_WORKED) {
        did = finish(d, XIB_S2MM, &desc, n | flags);
    }
    if (did != XIB_WORKED) {
        return did;
    }
    f->pos += n;
    if (flags & PG332_DESC_EOF) {
        x->stats.packets[XIB_S2MM]++;
        x->stats.bytes[XIB_S2MM] += f->len;
        f->len = f->pos = 0;
        packet_done(d, XIB_S2MM);
    }
    return XIB_WORKED;
}

bool ernic_xib_room(const ErnicPci *d)
{
    const ErnicXib *x = d->shell.xib;

    return !x || !x->frame[XIB_S2MM].len || !ernic_axi_dma_ready(&x->dma[XIB_S2MM]);
}

/* There may be room again for frames that wait for it. */
static void ask_for_frames(ErnicPci *d)
{
    if ((d->net.rx_full || d->thread) && ernic_xib_room(d)) {
        ernic_pci_netq_kick(d);
    }
}

/* Why the MAC does not pass the frame, which it counts; NULL: it does. */
static const char *refused(ErnicXib *x, const uint8_t *frame, uint32_t len)
{
    uint32_t mtu = x->regs[XIB_RX_MTU], bytes = len + ERNIC_MAC_FCS;
    bool too_long = len > ERNIC_MAC_FRAME_MAX || bytes > extract32(mtu, 16, 15);

    if (too_long || bytes < extract32(mtu, 0, 8)) {
        ernic_mac_count_bad(&x->mac[XIB_S2MM], len, too_long);
        return "length";
    }
    ernic_mac_count(&x->mac[XIB_S2MM], frame, len);
    return ernic_axi_dma_halted(&x->dma[XIB_S2MM]) ? "halted" :
           x->dma[XIB_S2MM].idle ? "no descriptor" :
           x->frame[XIB_S2MM].len ? "no room" : NULL;
}

/* The first descriptors of a frame at once; the channels' own work does the others. */
static void begin_frame(ErnicPci *d)
{
    ErnicXib *x = d->shell.xib;
    XibStep did = XIB_WORKED;
    uint32_t i;

    if (!x->running) {
        x->running = true;
        for (i = 0; i < DESC_AT_ONCE && did == XIB_WORKED; i++) {
            did = s2mm_step(d, NULL);
        }
        x->running = false;
    }
    if (x->frame[XIB_S2MM].len || x->again) {
        x->again = false;
        ernic_pci_card_kick(d);
    }
}

bool ernic_xib_receive(ErnicPci *d, const uint8_t *frame, uint32_t len)
{
    ErnicXib *x = d->shell.xib;
    const char *why;
    XibFrame *f;

    if (!x) {
        return false;
    }
    if (!(x->regs[XIB_RX] & XIB_RX_ENABLE) || !xib_channels_valid(x)) {
        return true;                    /* the MAC does not see it */
    }
    ernic_pci_rx_work(d, 0, len);
    why = refused(x, frame, len);
    if (why) {
        lost(d, XIB_S2MM, len, why);
        return true;
    }
    f = &x->frame[XIB_S2MM];
    memcpy(f->bytes, frame, len);
    f->pos = 0;
    f->len = len;
    if (!(x->regs[XIB_RX] & XIB_RX_CUT_FCS)) {
        stl_le_p(f->bytes + len, ernic_mac_fcs(frame, len));
        f->len += ERNIC_MAC_FCS;
    }
    begin_frame(d);
    return true;
}

/* ---- both ------------------------------------------------------------------------ */

static bool may_run(ErnicPci *d)
{
    return ernic_pci_working(d) && runstate_is_running();
}

/* Returns whether there may be more to do. */
static bool run_slice(ErnicPci *d)
{
    ErnicBudget work = ernic_budget_new(ernic_pci_clock(d));
    XibStep out = XIB_WORKED, in = XIB_WORKED;

    while (out != XIB_IDLE || in != XIB_IDLE) {
        if (!ernic_budget_left(&work)) {
            return true;
        }
        out = may_run(d) ? mm2s_step(d, &work) : XIB_GONE;
        in = out != XIB_GONE && may_run(d) ? s2mm_step(d, &work) : XIB_GONE;
        if (in == XIB_GONE) {
            return false;
        }
    }
    return false;
}

/*
 * A device that a frame or an access of ours reaches may poll the bottom halves of the
 * main loop, so this work too: what is in use there stays as it is until it returns.
 */
void xib_channels_run(ErnicPci *d)
{
    ErnicXib *x = d->shell.xib;
    bool more;

    assert(bql_locked());
    if (x->running) {
        x->again = true;
        return;
    }
    if (!may_run(d)) {
        ernic_pace_no_power(d);
    }
    x->running = true;
    more = run_slice(d);
    x->running = false;
    ask_for_frames(d);
    if (more || x->again) {
        x->again = false;
        ernic_pci_card_continue(d);
    }
}

void xib_channels_reset(ErnicPci *d)
{
    ErnicXib *x = d->shell.xib;
    uint32_t ch;

    for (ch = 0; ch < XIB_CHANNELS; ch++) {
        ernic_axi_dma_reset(&x->dma[ch]);
        x->frame[ch].len = x->frame[ch].pos = 0;
        x->due[ch] = 0;
    }
    timer_del(&d->shell.worker.delay);
}

static void wrote(ErnicPci *d, uint32_t ch, ErnicAxiWrite what)
{
    switch (what) {
    case ERNIC_AXI_RESET:
        drop_frame(d, XIB_MM2S, "reset");
        drop_frame(d, XIB_S2MM, "reset");
        xib_channels_reset(d);
        ernic_pace_stall(d->shell.pace);
        ask_for_frames(d);
        break;
    case ERNIC_AXI_HALT:
        if (ch == XIB_MM2S) {
            ernic_pace_stall(d->shell.pace);
        }
        drop_frame(d, ch, "halted");
        ask_for_frames(d);
        break;
    case ERNIC_AXI_GO:
        ernic_pci_card_kick(d);
        break;
    case ERNIC_AXI_NONE:
        break;
    }
}

/* Causes that remain after a write of DMASR interrupt again. */
void xib_channel_write(ErnicPci *d, uint32_t ch, uint32_t offset, uint32_t value)
{
    ErnicAxiDma *c = &d->shell.xib->dma[ch];
    bool was = offset != ERNIC_AXI_SR && ernic_axi_dma_irq(c);

    wrote(d, ch, ernic_axi_dma_write(c, offset, value));
    rise(d, ch, was);
    ernic_xib_settle(d);
}

void xib_channel_tail(ErnicPci *d, uint32_t ch, uint64_t value)
{
    wrote(d, ch, ernic_axi_dma_write_tail(&d->shell.xib->dma[ch], value));
}

/* ---- a saved state --------------------------------------------------------------- */

static bool valid(const ErnicAxiDma *c)
{
    const uint32_t bits = PG332_DMACR_WRITE | PG332_DMACR_ONES | PG332_DMACR_THRESHOLD;
    const uint64_t low = ERNIC_AXI_DESC_ALIGN - 1;

    return !(c->cr & ~bits) && (c->cr & PG332_DMACR_ONES) &&
           (c->cr & PG332_DMACR_THRESHOLD) && c->left &&
           !(c->sr & ~(PG332_DMASR_ERRORS | PG332_DMA_IRQS)) &&
           (ernic_axi_dma_halted(c) || !(c->sr & PG332_DMASR_ERRORS)) &&
           !((c->cur | c->tail | c->next) & low);
}

bool xib_channels_valid(const ErnicXib *x)
{
    const XibFrame *out = &x->frame[XIB_MM2S], *in = &x->frame[XIB_S2MM];

    return valid(&x->dma[XIB_MM2S]) && valid(&x->dma[XIB_S2MM]) &&
           out->len <= sizeof(out->bytes) + 1 && !out->pos &&
           in->len <= sizeof(in->bytes) && in->pos <= in->len &&
           (in->pos < in->len || !in->len);
}
