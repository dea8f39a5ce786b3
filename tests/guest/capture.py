# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames of a guest's netdev, recorded by QEMU (filter-dump), and the tags of RoCEv2.

scapy takes longer to load than all other modules here, and few tests need it.
"""
import contextlib

import links


@contextlib.contextmanager
def capture(guest, netdev='wire'):
    """A list that has the frames of both directions at the end."""
    from scapy.utils import RawPcapReader
    path, frames = guest.folder / f'{guest.name}.pcap', []
    links.qemu(guest, 'object-add', id='dump', netdev=netdev, file=str(path),
               **{'qom-type': 'filter-dump'})
    try:
        yield frames
    finally:
        links.qemu(guest, 'object-del', id='dump')
        frames += (frame for frame, _ in RawPcapReader(str(path)))


def roce_tag(frame):
    """Source address, VLAN and priority of a RoCEv2 packet, or None.

    A packet without a tag has None and None.
    """
    from scapy.contrib.roce import BTH
    from scapy.layers.l2 import Dot1Q, Ether
    packet = Ether(frame)
    tag = packet.getlayer(Dot1Q)
    return (packet.src, tag and tag.vlan, tag and tag.prio) if BTH in packet else None
