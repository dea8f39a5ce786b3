/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The shell that AMD's verbs driver "xib" is used with on PCIe: a bridge (XDMA), a
 * 10G/25G Ethernet MAC (PG210), and an AXI DMA (PG021) for its frames, beside an ERNIC.
 * All of it is used by the main loop and by vCPUs with the BQL held, also if the engine
 * runs in a thread.
 */
#ifndef ERNIC_BARS_XIB_XIB_H
#define ERNIC_BARS_XIB_XIB_H

#include "device/device.h"
#include "engine/base/axi_dma.h"
#include "net/mac.h"

/* The channels of the AXI DMA; each has the vector of its number. */
enum { XIB_MM2S, XIB_S2MM, XIB_CHANNELS };

/* Stored registers of the MAC. */
enum { XIB_GT_RESET, XIB_RESET, XIB_MODE, XIB_TX, XIB_RX, XIB_RX_MTU, XIB_MAC_WORDS };
#define XIB_TX_ENABLE   0x1
#define XIB_TX_ADD_FCS  0x2
#define XIB_RX_ENABLE   0x1
#define XIB_RX_CUT_FCS  0x2

/*
 * A frame that has no end yet (MM2S), which is too long if len is greater than bytes; or
 * one that has arrived (S2MM), of which pos bytes are in memory.
 */
typedef struct XibFrame {
    uint32_t len, pos;
    uint8_t bytes[ERNIC_MAC_FRAME_MAX + ERNIC_MAC_FCS];
} XibFrame;

/* Counted since the last reset of the function. */
typedef struct ErnicXibStats {
    uint64_t packets[XIB_CHANNELS], bytes[XIB_CHANNELS], dropped[XIB_CHANNELS];
    uint64_t errors;
} ErnicXibStats;

struct ErnicXib {
    uint64_t due[XIB_CHANNELS]; /* ns: end of an interrupt's delay; 0: there is none */
    ErnicAxiDma dma[XIB_CHANNELS];
    XibFrame frame[XIB_CHANNELS];
    ErnicMac mac[XIB_CHANNELS];
    uint32_t regs[XIB_MAC_WORDS];
    ErnicXibStats stats;
    bool running;               /* the channels work below: frames are in use */
    bool again;                 /* they had to work meanwhile */
};

extern const MemoryRegionOps ernic_xib_ops;             /* of BAR 0 */
extern const VMStateDescription ernic_xib_vmstate;      /* of ErnicPci */

/* The functions do nothing for a device that has not this shell. */
void ernic_xib_open(ErnicPci *d);
void ernic_xib_reset(ErnicPci *d);
/* Software may have ended the cause of an interrupt that has not been sent. */
void ernic_xib_settle(ErnicPci *d);
/* Messages are enabled: sends those of interrupts that are raised. */
void ernic_xib_raise(ErnicPci *d);
/*
 * Whether there is room for a frame: none waits for descriptors that are ready. If they
 * have ended, the next frame is lost.
 */
bool ernic_xib_room(const ErnicPci *d);
/* A frame that is not for an engine; false: this is another shell. */
bool ernic_xib_receive(ErnicPci *d, const uint8_t *frame, uint32_t len);

#endif /* ERNIC_BARS_XIB_XIB_H */
