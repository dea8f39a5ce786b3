# SPDX-License-Identifier: GPL-2.0-or-later
"""Multicast of UD queue pairs.

usage: multicast.py receive DEVICE GID-INDEX GROUP
       multicast.py send DEVICE GID-INDEX GROUP FIRST NUMBER

The receiver attaches two of three queue pairs to the group and creates /tmp/attached-2.
Each has to get the messages from 0 to MESSAGES - 1. Then it detaches one of them and
creates /tmp/attached-1: only the other one gets message MESSAGES. The third queue pair
gets none. The sender sends NUMBER messages from FIRST on, and is not attached.

rdma_cm has no part in it: Linux joins no IPv6 groups of RoCEv2 through it.
"""
import ipaddress
import os
import struct
import sys
from pathlib import Path

import pyverbs.enums as e
from pyverbs.addr import AH, GID, AHAttr, GlobalRoute
from pyverbs.mr import MR
from pyverbs.wr import RecvWR, SGE

from rig import End, Rig, ids

MESSAGES, SIZE, GRH = 5, 1000, 40
SLOT = GRH + SIZE
MULTICAST_QPN = 0xffffff
SECONDS = 150                   # for a message, on a busy host
ATTACH, DETACH = 30, 31         # of enum ib_uverbs_write_cmds; pyverbs has neither
HANDLES = 32                    # more than this program has objects


def content(number):
    return bytes(32 + (number * 31 + i * 7) % 95 for i in range(SIZE))


class Member(End):
    """A queue pair with memory for all messages of the test."""

    def __init__(self, rig):
        super().__init__(rig, 'UD')
        self.connect()
        self.mr = MR(rig.pd, (MESSAGES + 1) * SLOT, e.IBV_ACCESS_LOCAL_WRITE)
        for number in range(MESSAGES + 1):
            self.qp.post_recv(RecvWR(number, num_sge=1, sg=[
                SGE(self.mr.buf + number * SLOT, SLOT, self.mr.lkey)]))

    def next(self, number, group):
        found = self.take(1, SECONDS)
        assert ids(found) == [number], number
        assert found[0].byte_len == SLOT and found[0].wc_flags & e.IBV_WC_GRH
        data = self.mr.read(SLOT, number * SLOT)
        assert data[GRH - len(group.packed):GRH] == group.packed, data[:GRH].hex()
        assert data[GRH:] == content(number), number


def files():
    """Descriptors of open devices."""
    links = {fd: os.readlink(f'/proc/self/fd/{fd}')
             for fd in map(int, os.listdir('/proc/self/fd'))
             if os.path.exists(f'/proc/self/fd/{fd}')}
    return {fd for fd, link in links.items() if '/uverbs' in link}


class Commands:
    """Commands to the kernel about the open device, the only one of these files."""

    def __init__(self, found):
        self.fd, = found

    def group(self, command, gid, handle):
        """Attach or detach the queue pair of a handle. False: it is not that of one."""
        body = struct.pack('=16sIHH', gid, handle, 0, 0)
        head = struct.pack('=IHH', command, (8 + len(body)) // 4, 0)
        try:
            return os.write(self.fd, head + body) == len(head + body)
        except OSError:
            return False

    def attach(self, gid, count):
        """The handles of the first queue pairs, in the order of their creation."""
        found = []
        for handle in range(HANDLES):
            if len(found) < count and self.group(ATTACH, gid, handle):
                found.append(handle)
        return found


def gid_of(group):
    """The 16 bytes of its address."""
    return ipaddress.ip_address(group if ':' in group else f'::ffff:{group}').packed


def address_of(rig, group):
    """An address handle for it."""
    text = gid_of(group).hex(':', 2)
    route = GlobalRoute(dgid=GID(text), sgid_index=rig.gid_index)
    return AH(rig.pd, attr=AHAttr(gr=route, is_global=1, port_num=1))


def receive(rig, group):
    members = [Member(rig) for _ in range(3)]
    commands, gid = Commands(files()), gid_of(group)
    handles = commands.attach(gid, 2)
    assert len(handles) == 2, handles
    address = ipaddress.ip_address(group)
    Path('/tmp/attached-2').touch()
    for number in range(MESSAGES):
        for member in members[:2]:
            member.next(number, address)
    assert commands.group(DETACH, gid, handles[1])
    Path('/tmp/attached-1').touch()
    members[0].next(MESSAGES, address)
    assert not any(member.take(1, 0.1) for member in members)
    assert commands.group(DETACH, gid, handles[0])
    print('received', MESSAGES + 1, 'and', MESSAGES)


def send(rig, group, first, number):
    end = End(rig, 'UD').connect()
    ah = address_of(rig, group)
    for message in range(int(first), int(first) + int(number)):
        rig.mr.write(content(message), SIZE, 0)
        end.post(length=SIZE, ah=ah, to=MULTICAST_QPN)
        assert end.status() == 'SUCCESS'


if __name__ == '__main__':
    ROLE, DEVICE, INDEX, *WORDS = sys.argv[1:]
    {'receive': receive, 'send': send}[ROLE](Rig(DEVICE, int(INDEX)), *WORDS)
