#!/usr/bin/env python3
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
import signal
import struct
import sys
import time
from pathlib import Path

import pyverbs.enums as e
from pyverbs.addr import AH, GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import RecvWR, SGE, SendWR

MESSAGES, SIZE, GRH = 5, 1000, 40
QKEY, MULTICAST_QPN = 0x1234, 0xffffff
SECONDS = 150                   # for everything, on a busy host
ATTACH, DETACH = 30, 31         # of enum ib_uverbs_write_cmds; pyverbs has neither
HANDLES = 32                    # more than this program has objects


def content(number):
    return ''.join(chr(32 + (number * 31 + i * 7) % 95) for i in range(SIZE))


class Member:
    """A queue pair with memory for all messages of the test."""

    def __init__(self, ctx, pd):
        self.cq = CQ(ctx, MESSAGES + 1)
        cap = QPCap(max_send_wr=1, max_recv_wr=MESSAGES + 1)
        attr = QPAttr(port_num=1)
        attr.qkey = QKEY
        self.qp = QP(pd, QPInitAttr(qp_type=e.IBV_QPT_UD, scq=self.cq, rcq=self.cq,
                                    cap=cap), attr)
        self.slot = GRH + SIZE
        self.mr = MR(pd, (MESSAGES + 1) * self.slot, e.IBV_ACCESS_LOCAL_WRITE)
        for number in range(MESSAGES + 1):
            self.qp.post_recv(RecvWR(num_sge=1, sg=[self.sge(number, self.slot)]))

    def sge(self, number, length):
        return SGE(self.mr.buf + number * self.slot, length, self.mr.lkey)

    def wait(self):
        """The next completion, which has to be good."""
        while True:
            count, found = self.cq.poll(1)
            if count:
                assert found[0].status == e.IBV_WC_SUCCESS, found[0].status
                return found[0]
            time.sleep(0.01)

    def has_none(self):
        return self.cq.poll(1)[0] == 0

    def receive(self, number, group):
        wc = self.wait()
        assert wc.byte_len == self.slot and wc.wc_flags & e.IBV_WC_GRH, str(wc)
        data = self.mr.read(self.slot, number * self.slot)
        assert data[GRH - len(group.packed):GRH] == group.packed, data[:GRH].hex()
        assert data[GRH:] == content(number).encode(), number

    def send(self, number, ah):
        self.mr.write(content(number), SIZE)
        wr = SendWR(num_sge=1, sg=[self.sge(0, SIZE)], send_flags=e.IBV_SEND_SIGNALED)
        wr.set_wr_ud(ah, MULTICAST_QPN, QKEY)
        self.qp.post_send(wr)
        self.wait()


class Commands:
    """Commands to the kernel about the open device."""

    def __init__(self):
        links = {fd: os.readlink(f'/proc/self/fd/{fd}')
                 for fd in map(int, os.listdir('/proc/self/fd'))
                 if os.path.exists(f'/proc/self/fd/{fd}')}
        self.fd, = (fd for fd, link in links.items() if '/uverbs' in link)

    def group(self, command, gid, handle):
        """Attach the queue pair of a handle, or detach it; is it one?"""
        body = struct.pack('=16sIHH', gid, handle, 0, 0)
        head = struct.pack('=IHH', command, (8 + len(body)) // 4, 0)
        try:
            return os.write(self.fd, head + body) == len(head + body)
        except OSError:
            return False

    def attach_two(self, gid):
        """The handles of the first two queue pairs, in the order of their creation."""
        found = []
        for handle in range(HANDLES):
            if len(found) < 2 and self.group(ATTACH, gid, handle):
                found.append(handle)
        return found


def gid_of(group):
    """As an address of 16 bytes."""
    return ipaddress.ip_address(group if ':' in group else f'::ffff:{group}')


def receive(ctx, pd, index, group):
    members = [Member(ctx, pd) for _ in range(3)]
    commands, gid = Commands(), gid_of(group).packed
    handles = commands.attach_two(gid)
    assert len(handles) == 2, handles
    address = ipaddress.ip_address(group)
    Path('/tmp/attached-2').touch()
    for number in range(MESSAGES):
        for member in members[:2]:
            member.receive(number, address)
    assert commands.group(DETACH, gid, handles[1])
    Path('/tmp/attached-1').touch()
    members[0].receive(MESSAGES, address)
    assert all(member.has_none() for member in members)
    assert commands.group(DETACH, gid, handles[0])
    print('received', MESSAGES + 1, 'and', MESSAGES)


def send(ctx, pd, index, group, first, number):
    member = Member(ctx, pd)
    route = GlobalRoute(dgid=GID(gid_of(group).exploded), sgid_index=index)
    ah = AH(pd, attr=AHAttr(gr=route, is_global=1, port_num=1))
    for message in range(int(first), int(first) + int(number)):
        member.send(message, ah)


def main():
    signal.alarm(SECONDS)
    role, device, index, *words = sys.argv[1:]
    ctx = Context(name=device)
    {'receive': receive, 'send': send}[role](ctx, PD(ctx), int(index), *words)


if __name__ == '__main__':
    main()
