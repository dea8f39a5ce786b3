/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The life and the migrated state of the xib shell.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "migration/vmstate.h"
#include "bars/xib/channels.h"
#include "bars/xib/registers.h"
#include "device/card.h"
#include "device/pace.h"

void ernic_xib_reset(ErnicPci *d)
{
    ErnicXib *x = d->shell.xib;

    if (x) {
        xib_channels_reset(d);
        ernic_pace_reset(d);
        memset(x->mac, 0, sizeof(x->mac));
        x->stats = (ErnicXibStats) { };
        xib_mac_reset(x);
    }
}

/* A state that was only loaded in part may be any. */
static void check(ErnicPci *d)
{
    if (!xib_channels_valid(d->shell.xib)) {
        ernic_xib_reset(d);
    }
}

static void run(void *opaque)
{
    check(opaque);
    xib_channels_run(opaque);
}

static void delay_ends(void *opaque)
{
    check(opaque);
    xib_delays(opaque);
}

void ernic_xib_open(ErnicPci *d)
{
    d->shell.xib = g_new0(ErnicXib, 1);
    ernic_pci_card_open(d, run, delay_ends);
    ernic_xib_reset(d);
}

/* ---- migration ------------------------------------------------------------------- */

static bool has_xib(void *opaque)
{
    ErnicPci *d = opaque;

    return d->shell.xib;
}

/* A stream may have this for another device. */
static int xib_pre_load(void *opaque)
{
    return has_xib(opaque) ? 0 : -EINVAL;
}

static int xib_post_load(void *opaque, int version)
{
    ErnicPci *d = opaque;

    if (!xib_channels_valid(d->shell.xib)) {
        ernic_xib_reset(d);
        error_report("ernic: the incoming state of the AXI DMA is not valid");
        return -EINVAL;
    }
    xib_set_timer(d);
    return 0;
}

static const VMStateDescription channel_vmstate = ERNIC_VMSTATE(
    "ernic/xib-channel",
    VMSTATE_UINT32(cr, ErnicAxiDma),
    VMSTATE_UINT32(sr, ErnicAxiDma),
    VMSTATE_UINT64(cur, ErnicAxiDma),
    VMSTATE_UINT64(tail, ErnicAxiDma),
    VMSTATE_UINT64(next, ErnicAxiDma),
    VMSTATE_BOOL(idle, ErnicAxiDma),
    VMSTATE_UINT8(left, ErnicAxiDma));

static const VMStateDescription mac_vmstate = ERNIC_MAC_VMSTATE("ernic/xib-mac");

#define FRAME_STATE(ch) \
    VMSTATE_UINT32(frame[ch].len, ErnicXib), \
    VMSTATE_UINT32(frame[ch].pos, ErnicXib)

static const VMStateDescription state_vmstate = ERNIC_VMSTATE(
    "ernic/xib-state",
    VMSTATE_STRUCT_ARRAY(dma, ErnicXib, XIB_CHANNELS, 1, channel_vmstate,
                         ErnicAxiDma),
    FRAME_STATE(XIB_MM2S),
    FRAME_STATE(XIB_S2MM),
    VMSTATE_UINT64_ARRAY(due, ErnicXib, XIB_CHANNELS),
    VMSTATE_UINT32_ARRAY(regs, ErnicXib, XIB_MAC_WORDS),
    VMSTATE_UINT64_ARRAY(stats.packets, ErnicXib, XIB_CHANNELS),
    VMSTATE_UINT64_ARRAY(stats.bytes, ErnicXib, XIB_CHANNELS),
    VMSTATE_UINT64_ARRAY(stats.dropped, ErnicXib, XIB_CHANNELS),
    VMSTATE_UINT64(stats.errors, ErnicXib),
    VMSTATE_STRUCT_ARRAY(mac, ErnicXib, XIB_CHANNELS, 1, mac_vmstate, ErnicMac),
    VMSTATE_BUFFER(frame[XIB_MM2S].bytes, ErnicXib),
    VMSTATE_BUFFER(frame[XIB_S2MM].bytes, ErnicXib));

const VMStateDescription ernic_xib_vmstate = {
    ERNIC_VMSTATE_V1("ernic/xib"),
    .needed = has_xib,
    .pre_load = xib_pre_load,
    .post_load = xib_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_POINTER(shell.xib, ErnicPci, state_vmstate, ErnicXib),
        VMSTATE_END_OF_LIST()
    }
};
