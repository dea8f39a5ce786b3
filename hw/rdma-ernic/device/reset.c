/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Reset of what the engine of the verbs or mlx5 interface is part of.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "device/doorbells.h"
#include "device/interface.h"
#include "device/irqfd.h"
#include "device/link.h"
#include "device/mutex.h"
#include "device/reset.h"

void ernic_pci_reset(ErnicPci *d, uint64_t now)
{
    ErnicVerbs *v = &d->verbs;

    assert(ernic_pci_locked(d));
    ernic_pci_doorbells_drop(d);
    qatomic_set(&d->irq_pending, 0);
    ernic_pci_irqfd_drop(d);
    qatomic_set(&v->enabled, false);
    qatomic_set(&v->fatal, false);
    qatomic_set(&v->cmd_pi, 0);
    qatomic_set(&v->cmd_ci, 0);
    v->cmd_addr = v->rsp_addr = 0;
    v->ring_shift = v->error = 0;
    ernic_pci_links_reset(d);
    ernic_reset(d->engine);
    if (d->interface->reset) {
        d->interface->reset(d, now);
    }
    /* The link may be free now for packets of the ERNIC interface that it held back. */
    if (d->pg332.engine) {
        ernic_tx_ready(d->pg332.engine, now);
    }
}
