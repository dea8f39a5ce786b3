/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The ports of PG332's hardware handshake as a character device: the property
 * "user-logic". With the BQL held, unless noted.
 */
#ifndef ERNIC_BARS_USER_LOGIC_H
#define ERNIC_BARS_USER_LOGIC_H

#include "device/device.h"

/* Whether the property is set. */
bool ernic_pci_user_logic_is(const ErnicPci *d);
bool ernic_pci_user_logic_check(const ErnicPci *d, Error **errp);
/* After the engine was created; without the property it does nothing. */
void ernic_pci_user_logic_open(ErnicPci *d);
void ernic_pci_user_logic_close(ErnicPci *d);
/*
 * The engine was reset or loaded: records that have come are dropped, and one that is
 * half sent ends as it began.
 */
void ernic_pci_user_logic_reset(ErnicPci *d);
/* ErnicEnvOps: the engine has a record. Any thread, while the device exists. */
void ernic_pci_user_logic_has(void *env);
/* Records may wait, to be sent or to be executed. The same. */
void ernic_pci_user_logic_kick(ErnicPci *d);

#endif /* ERNIC_BARS_USER_LOGIC_H */
