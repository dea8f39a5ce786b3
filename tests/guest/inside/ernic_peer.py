#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""An RC queue pair of libibverbs as the peer of guest/ernic-user, by its protocol.

usage: ernic_peer.py DEVICE GID-INDEX serve
       ernic_peer.py DEVICE GID-INDEX send|write|read ADDRESS [COUNT [SIZE]]

Exchanges the same over TCP as ernic-user (guest/ernic-user/meet.c): queue pair, PSN,
address, MAC, region, key; then jobs. Every byte is compared.
"""
import ipaddress
import os
import socket
import sys
import time

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.mr import MR
from pyverbs.wr import SGE, RecvWR

import rig

PORT = 5003
SECONDS = 30
DEPTH = 64
SLOT = 32768
BYTES = 2 << 20
MTUS = {256: e.IBV_MTU_256, 512: e.IBV_MTU_512, 1024: e.IBV_MTU_1024,
        2048: e.IBV_MTU_2048, 4096: e.IBV_MTU_4096}
INVERSE = bytes(255 - b for b in range(256))


def pattern(seed, length):
    """ernic-user's pattern, which repeats every 64 KiB."""
    period = bytes((seed * 31 + o * 7 + (o >> 8)) & 0xff
                   for o in range(min(length, 1 << 16)))
    return (period * (length // len(period) + 1))[:length]


class Job:
    def __init__(self, what, count, size, seed):
        self.what, self.count, self.size, self.seed = what, count, size, seed
        self.places = min(count, BYTES // size)
        self.bytes = pattern(seed, self.places * size)

    def place(self, n):
        return n % self.places * self.size


class Peer:
    """The queue pair, memory for each direction, and a stream."""

    def __init__(self, device, gid_index, connection):
        # A stream for both directions would lose its read-ahead when it writes.
        self.heard, self.said = connection.makefile('r'), connection.makefile('w')
        self.rig = rig.Rig(device, gid_index)
        self.end = rig.End(self.rig, cq=CQ(self.rig.ctx, 2 * DEPTH), max_send_wr=DEPTH,
                           max_recv_wr=DEPTH)
        access = e.IBV_ACCESS_LOCAL_WRITE | rig.REMOTE
        self.data = MR(self.rig.pd, BYTES, access)  # SENDs arrive here, requests start
        self.region = MR(self.rig.pd, BYTES, access)
        self.psn = 0x123456
        self.ip = int(ipaddress.ip_address(connection.getsockname()[0]))
        self.introduce()
        self.connect()
        self.received = 0

    # ---- meeting ----

    def introduce(self):
        mac = open(f'/sys/class/net/{os.environ.get("NETDEV", "eth0")}/address',
                   encoding='ascii').read().strip()
        self.say(self.end.number, self.psn, self.ip, mac, self.region.buf,
                 self.region.rkey, BYTES, SLOT, 4096)
        words = self.hear().split()
        self.peer_qpn, self.peer_psn, self.peer_ip = map(int, words[:3])
        self.peer_va, self.peer_key, _, _, self.peer_mtu = map(int, words[4:])

    def connect(self):
        mapped = (0xffff << 32 | self.peer_ip).to_bytes(16, 'big').hex(':', 2)
        port = self.rig.ctx.query_port(1)
        self.end.qp.to_rts(self.end.attr(
            dest_qp_num=self.peer_qpn, sq_psn=self.psn, rq_psn=self.peer_psn,
            path_mtu=MTUS[min(self.peer_mtu, 128 << port.active_mtu)],
            max_rd_atomic=16, max_dest_rd_atomic=16, min_rnr_timer=12,
            ah_attr=AHAttr(port_num=1, is_global=1, gr=GlobalRoute(
                dgid=GID(mapped), sgid_index=self.rig.gid_index, hop_limit=64))))

    def say(self, *words):
        self.said.write(' '.join(map(str, words)) + '\n')
        self.said.flush()

    def hear(self, wanted=None):
        line = self.heard.readline().strip()
        if not line or (wanted and line != wanted):
            raise SystemExit(f'the peer says {line!r}, not {wanted!r}')
        return line

    # ---- requests ----

    def completion(self):
        found = self.end.take(1, SECONDS)
        if rig.statuses(found) != ['SUCCESS']:
            raise SystemExit(f'completion: {rig.statuses(found)}')
        return found[0]

    def post_recv(self, n):
        self.end.qp.post_recv(RecvWR(wr_id=n, num_sge=1, sg=[
            SGE(self.data.buf + n % DEPTH * SLOT, SLOT, self.data.lkey)]))

    def receive(self, job):
        """Whether all of a job's SENDs were right."""
        good = True
        for n in range(job.count):
            wc = self.completion()
            seen = self.data.read(job.size, wc.wr_id % DEPTH * SLOT)
            at = job.place(n)
            good &= wc.byte_len == job.size and seen == job.bytes[at:at + job.size]
            self.post_recv(wc.wr_id)
        return good

    def serve(self):
        for n in range(DEPTH - 1):
            self.post_recv(n)
        self.say('connected')
        self.hear('connected')
        while (line := self.hear()) != 'quit':
            what, *numbers = line.split()
            job, good = Job(what, *map(int, numbers)), True
            spoilt = job.bytes.translate(INVERSE)
            content = job.bytes if what == 'read' else spoilt
            self.region.write(content, len(content), 0)
            self.say('ready')
            if what == 'send':
                good = self.receive(job)
            self.hear('check')
            if what == 'write':
                good = self.region.read(len(job.bytes), 0) == job.bytes
            self.say('good' if good else 'bad')
        self.say('quit')

    def ask(self, job):
        self.say('connected')
        self.hear('connected')
        spoilt = job.bytes.translate(INVERSE)
        self.data.write(spoilt if job.what == 'read' else job.bytes, len(spoilt), 0)
        self.say(job.what, job.count, job.size, job.seed)
        self.hear('ready')
        under_way, since = 0, time.monotonic()
        for n in range(job.count):
            if under_way == DEPTH:
                self.completion()
                under_way -= 1
            self.end.post(job.what.upper(), rkey=self.peer_key,
                          raddr=self.peer_va + job.place(n), sges=[SGE(
                              self.data.buf + job.place(n), job.size, self.data.lkey)])
            under_way += 1
        for _ in range(under_way):
            self.completion()
        took = time.monotonic() - since
        self.say('check')
        self.hear('good')
        if job.what == 'read' and self.data.read(len(job.bytes), 0) != job.bytes:
            raise SystemExit('the data read is wrong')
        self.say('quit')
        self.hear('quit')
        print(f'{job.what}: {job.count} x {job.size} bytes: '
              f'{took * 1e6 / job.count:.2f} us each, '
              f'{job.count * job.size / took / 1e6:.1f} MB/s, verified')


def main():
    device, gid_index, what, *more = sys.argv[1:]
    if what == 'serve':
        listener = socket.create_server(('', PORT))
        connection = listener.accept()[0]
    else:
        for _ in range(100):
            try:
                connection = socket.create_connection((more[0], PORT))
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise SystemExit('the peer does not answer')
    peer = Peer(device, int(gid_index), connection)
    if what == 'serve':
        peer.serve()
    else:
        count, size = [*map(int, more[1:]), 16, 4096][:2]
        peer.ask(Job(what, count, size, int(time.time()) & 0xffff))


main()
