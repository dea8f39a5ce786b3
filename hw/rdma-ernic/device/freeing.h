/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A thread of QEMU that frees the memory of engines (engine/deferred.h): one for all
 * functions, from the first one on. It takes no lock of a device, and never the BQL.
 */
#ifndef ERNIC_DEVICE_FREEING_H
#define ERNIC_DEVICE_FREEING_H

#include "device/device.h"

/* Call both with the BQL held. Memory that waits when the device goes is still freed. */
void ernic_pci_freeing_open(ErnicPci *d);
void ernic_pci_freeing_close(ErnicPci *d);
/* Schedule @bh after something of @d was freed, from now on; NULL: nothing. */
void ernic_pci_freeing_wakes(ErnicPci *d, QEMUBH *bh);

/* Methods of ErnicEnvOps; @env is the device. */
void ernic_pci_free_later(void *env, ErnicDeferred *memory);
bool ernic_pci_freeing(void *env);

#endif /* ERNIC_DEVICE_FREEING_H */
