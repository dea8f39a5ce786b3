/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The device as a QEMU NIC, and the netdev link.
 */
#ifndef ERNIC_NET_NETDEV_H
#define ERNIC_NET_NETDEV_H

#include "device/device.h"

/* Creates the NIC; nothing can fail any more. */
void ernic_pci_netdev_start(ErnicPci *d);
/*
 * Report to the engines if the backend accepts frames again; inside enter and
 * leave.
 */
void ernic_pci_netdev_run(ErnicPci *d, uint64_t now);
/*
 * Send what waits, if the machine runs and the backend can, and accept frames that did
 * not fit before. Called in the main loop, outside of enter and leave.
 */
void ernic_pci_netdev_run_main(ErnicPci *d);
/* Accept frames that waited for room in the engine. Outside of enter and leave. */
void ernic_pci_netdev_resume(ErnicPci *d);
/* Report a change of the link to the guest, unless the machine is stopped. */
void ernic_pci_netdev_report_link(ErnicPci *d);

#endif /* ERNIC_NET_NETDEV_H */
