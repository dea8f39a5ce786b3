/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The thread that runs the engines and the links: the main loop, an iothread that the
 * user has made, or one of the device.
 */
#ifndef ERNIC_PCI_ENGINE_THREAD_H
#define ERNIC_PCI_ENGINE_THREAD_H

#include "device/device.h"

/* Chooses ErnicPci.thread by the properties; BQL held. */
bool ernic_pci_engine_thread_open(ErnicPci *d, Error **errp);
/*
 * Between these two, the start of the machine moves the engine to the main loop if an
 * IOMMU was added after the device.
 */
void ernic_pci_engine_thread_start(ErnicPci *d);
void ernic_pci_engine_thread_stop(ErnicPci *d);
/* Ends a thread of the device, in which nothing may run any more. BQL held. */
void ernic_pci_engine_thread_close(ErnicPci *d);

#endif /* ERNIC_PCI_ENGINE_THREAD_H */
