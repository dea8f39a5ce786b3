/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The device "ernic-wire": fabric/switch.h in virtual time. Each port is a
 * network client of QEMU, and takes the place of a netdev for the NIC that gets
 * it. It runs in the main loop, under the BQL.
 */
#ifndef ERNIC_FABRIC_WIRE_DEVICE_H
#define ERNIC_FABRIC_WIRE_DEVICE_H

#include "net/net.h"
#include "qom/object.h"

#define TYPE_ERNIC_WIRE "ernic-wire"
OBJECT_DECLARE_SIMPLE_TYPE(ErnicWire, ERNIC_WIRE)

/* A port calls this when all frames of its device have left, or may leave. */
typedef void ErnicWireReady(void *opaque);

/* Whether there is a free port. */
bool ernic_wire_has_room(const ErnicWire *w, Error **errp);
/*
 * Connect the device called @name and return the port for its NIC; there is a
 * free one. @paced: as for ernic_switch_plug().
 */
NetClientState *ernic_wire_plug(ErnicWire *w, const char *name, bool paced,
                                ErnicWireReady *ready, void *opaque);
/* Disconnect: the device and its NIC are gone. */
void ernic_wire_unplug(ErnicWire *w, NetClientState *nc);

/* Whether frames of the device wait for the cable. If so, it sends no more. */
bool ernic_wire_waits(NetClientState *nc);
/* Drop those frames. */
void ernic_wire_purge(NetClientState *nc);
/* The device may have room for frames again. */
void ernic_wire_resume(NetClientState *nc);

#endif /* ERNIC_FABRIC_WIRE_DEVICE_H */
