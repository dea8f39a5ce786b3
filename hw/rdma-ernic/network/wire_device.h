/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The device "ernic-wire": network/switch.h in virtual time. Each of its ports is a
 * network client of QEMU, and what a netdev would be to the NIC that it is given
 * to. All of it belongs to the main loop and to the BQL.
 */
#ifndef ERNIC_WIRE_H
#define ERNIC_WIRE_H

#include "net/net.h"
#include "qom/object.h"

#define TYPE_ERNIC_WIRE "ernic-wire"
OBJECT_DECLARE_SIMPLE_TYPE(ErnicWire, ERNIC_WIRE)

/* What a port tells its device: it sends all that waited. */
typedef void ErnicWireReady(void *opaque);

/* Has it a port for another device? */
bool ernic_wire_has_room(const ErnicWire *w, Error **errp);
/*
 * The port of the device that is called @name, for its NIC; there is room.
 * @paced: as ernic_switch_plug().
 */
NetClientState *ernic_wire_plug(ErnicWire *w, const char *name, bool paced,
                                ErnicWireReady *ready, void *opaque);
/* The device is gone, and so is its NIC. */
void ernic_wire_unplug(ErnicWire *w, NetClientState *nc);

/* Do frames of the device wait in front of the cable? Then it sends no more. */
bool ernic_wire_waits(NetClientState *nc);
/* Those frames go. */
void ernic_wire_purge(NetClientState *nc);
/* The device may have room again. */
void ernic_wire_resume(NetClientState *nc);

#endif /* ERNIC_WIRE_H */
