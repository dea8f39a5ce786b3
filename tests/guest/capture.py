# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames of a guest's netdev, recorded by QEMU (filter-dump), and the tags of RoCEv2."""
import contextlib
import struct

import links

FILE, RECORD, LENGTH = 24, 16, 8        # of pcap: headers; a length in the latter
SOURCE, ETHERTYPE, TAG = 6, 12, 4
VLAN, IPV4, IPV6 = 0x8100, 0x0800, 0x86dd
# EtherType: where the header has the protocol, its length.
HEADERS = {IPV4: (9, 20), IPV6: (6, 40)}
UDP, PORT = 17, 4791


def read(data):
    """The frames of a pcap file."""
    at = FILE
    while at < len(data):
        length, = struct.unpack_from('=I', data, at + LENGTH)
        yield data[at + RECORD:at + RECORD + length]
        at += RECORD + length


@contextlib.contextmanager
def capture(guest, netdev='wire'):
    """A list that has the frames of both directions at the end."""
    path, frames = guest.folder / f'{guest.name}.pcap', []
    links.qemu(guest, 'object-add', id='dump', netdev=netdev, file=str(path),
               **{'qom-type': 'filter-dump'})
    try:
        yield frames
    finally:
        links.qemu(guest, 'object-del', id='dump')
        frames += read(path.read_bytes())


def roce_tag(frame):
    """Source address, VLAN and priority of a RoCEv2 packet, or None.

    A packet without a tag has None and None.
    """
    source, at, vlan, priority = frame[SOURCE:ETHERTYPE].hex(':'), ETHERTYPE, None, None
    kind, tag = struct.unpack_from('>HH', frame, at)
    if kind == VLAN:
        vlan, priority = tag & 0xfff, tag >> 13
        at += TAG
        kind, = struct.unpack_from('>H', frame, at)
    if kind not in HEADERS:
        return None
    protocol, length = HEADERS[kind]
    header = at + 2
    if frame[header + protocol] != UDP:
        return None
    port, = struct.unpack_from('>H', frame, header + length + 2)
    return (source, vlan, priority) if port == PORT else None
