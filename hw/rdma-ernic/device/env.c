/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The environment of the engine of the verbs and the mlx5 interface.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "device/dma.h"
#include "device/env.h"
#include "device/freeing.h"
#include "device/ioeventfd.h"
#include "device/irq.h"
#include "device/link.h"
#include "device/traffic.h"
#include "hw/rdma-ernic/trace.h"

static bool env_dma_read(void *env, uint64_t addr, void *buf, uint64_t len)
{
    return ernic_pci_dma(env, addr, buf, len, false);
}

static bool env_dma_write(void *env, uint64_t addr, const void *buf,
                          uint64_t len)
{
    return ernic_pci_dma(env, addr, (void *)buf, len, true);
}

static bool env_dma_atomic64(void *env, uint64_t addr, ErnicAtomicOp op, uint64_t arg,
                             uint64_t compare, uint64_t *old)
{
    return ernic_pci_dma_atomic(env, addr, op, arg, compare, old);
}

/*
 * Frames that software composed go to the netdev, also if RoCE uses a link of the host
 * that carries none. Packets of that link must not wait for a full netdev: with both
 * links, a frame that the netdev does not take is lost.
 */
static bool send_frame(ErnicPci *d, const ErnicTrain *train)
{
    if (d->link->carries_frames) {
        return ernic_pci_to_link(d, ERNIC_PCI_VERBS, train);
    }
    if (d->card->tx(d, ERNIC_PCI_VERBS, train)) {
        return true;
    }
    if (d->link == d->card) {
        return false;
    }
    qatomic_inc(&d->net.eth.tx_errors);         /* the main loop counts there too */
    trace_ernic_pci_frame_lost(ernic_pci_id(d), train->len);
    return true;
}

static bool env_tx(void *env, const ErnicTrain *train)
{
    ErnicPci *d = env;

    if (train->frame) {
        return send_frame(d, train);
    }
    return ernic_pci_to_engine(d->pg332.engine, d->engine->now, train) ||
           ernic_pci_to_link(d, ERNIC_PCI_VERBS, train);
}

static uint64_t env_tx_departed(void *env)
{
    ErnicPci *d = env;

    return d->link->departed(d, ERNIC_PCI_VERBS);
}

static void env_irq(void *env, uint16_t vector)
{
    ernic_pci_irq(env, vector);
}

static void env_wake_at(void *env, uint64_t ns)
{
    ErnicPci *d = env;

    d->wake = ns;
}

const ErnicEnvOps ernic_pci_env_ops = {
    .dma_read = env_dma_read,
    .dma_write = env_dma_write,
    .dma_atomic64 = env_dma_atomic64,
    .tx = env_tx,
    .tx_departed = env_tx_departed,
    .irq = env_irq,
    .wake_at = env_wake_at,
    .page_event = ernic_pci_page_event,
    .free_later = ernic_pci_free_later,
    .freeing = ernic_pci_freeing,
};
