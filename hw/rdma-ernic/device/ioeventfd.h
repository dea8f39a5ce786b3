/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Doorbell pages that ring by an eventfd (ioeventfd) in place of a store that the device
 * executes. KVM, or QEMU's memory core, signals it; the value of the store is lost.
 */
#ifndef ERNIC_DEVICE_IOEVENTFD_H
#define ERNIC_DEVICE_IOEVENTFD_H

#include "device/device.h"

/* Decides by ioeventfd= whether there are any. */
void ernic_pci_ioeventfd_init(ErnicPci *d);
/* ErnicEnvOps.page_event. Any thread; returns before the page has its event. */
void ernic_pci_page_event(void *env, uint32_t page, bool on);
/*
 * Passes the pages that have been rung to the engine, in half of what is left of the
 * slice; inside enter and leave. False: call it in the next slice, too.
 */
bool ernic_pci_ioeventfd_run(ErnicPci *d, uint64_t now);
/*
 * Call it before the BAR is mapped, unmapped or moved: no page has an event until a
 * bottom half runs. BQL.
 */
void ernic_pci_ioeventfd_move(ErnicPci *d);
/* The function is gone, but its AioContext still exists: no page has an event. BQL. */
void ernic_pci_ioeventfd_stop(ErnicPci *d);

#endif /* ERNIC_DEVICE_IOEVENTFD_H */
