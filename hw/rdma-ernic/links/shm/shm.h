/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The shared-memory link in QEMU.
 */
#ifndef ERNIC_LINKS_SHM_H
#define ERNIC_LINKS_SHM_H

#include "device/device.h"

bool ernic_pci_shm_open(ErnicPci *d, Error **errp);
void ernic_pci_shm_close(ErnicPci *d);

#endif /* ERNIC_LINKS_SHM_H */
