#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Move random bytes by RDMA WRITE and print their MD5.

usage: move.py DEVICE GID-INDEX MIB          own the memory that is written
       move.py DEVICE GID-INDEX MIB ADDRESS  write into the memory of the other end

The bytes go in rounds: a full buffer by WRITEs of 1 MiB, the last of which has immediate
data that wakes the other end. That end reads its memory and asks over TCP for the next
round.
"""
import hashlib
import json
import os
import socket
import sys
import time

from pyverbs.addr import GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ, CompChannel
from pyverbs.device import Context
from pyverbs.enums import (IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_WRITE, IBV_QPT_RC,
                           IBV_SEND_SIGNALED, IBV_WC_SUCCESS, IBV_WR_RDMA_WRITE,
                           IBV_WR_RDMA_WRITE_WITH_IMM)
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import RecvWR, SGE, SendWR

MIB = 1 << 20
ROUND = 32 * MIB
PORT = 5001


class End:
    """One end: a queue pair with one big buffer."""

    def __init__(self, device, gid_index):
        self.context = Context(name=device)
        self.gid_index = gid_index
        self.mtu = self.context.query_port(1).active_mtu
        self.pd = PD(self.context)
        self.channel = CompChannel(self.context)
        self.cq = CQ(self.context, 256, None, self.channel)
        self.mr = MR(self.pd, ROUND, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
        cap = QPCap(max_send_wr=64, max_recv_wr=4, max_send_sge=1, max_recv_sge=1)
        attr = QPAttr(port_num=1)
        attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE
        self.qp = QP(self.pd, QPInitAttr(qp_type=IBV_QPT_RC, scq=self.cq, rcq=self.cq,
                                         cap=cap, sq_sig_all=0), attr)

    def connect(self, stream):
        """Exchange addresses with the other end, and go to RTS."""
        gid = self.context.query_gid(1, self.gid_index)
        own = {'qpn': self.qp.qp_num, 'gid': str(gid), 'rkey': self.mr.rkey,
               'address': self.mr.buf, 'mtu': self.mtu}
        stream.write(json.dumps(own).encode() + b'\n')
        self.peer = json.loads(stream.readline())
        attr = QPAttr(port_num=1)
        attr.dest_qp_num = self.peer['qpn']
        attr.path_mtu = min(self.mtu, self.peer['mtu'])
        attr.rq_psn = attr.sq_psn = 0
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
        attr.min_rnr_timer, attr.timeout, attr.retry_cnt, attr.rnr_retry = 12, 16, 7, 7
        attr.ah_attr = AHAttr(port_num=1, is_global=1, gr=GlobalRoute(
            dgid=GID(self.peer['gid']), sgid_index=self.gid_index))
        self.qp.to_rts(attr)

    def completion(self):
        """Sleep until the next completion, which has to be good."""
        while True:
            count, found = self.cq.poll(1)
            if not count:
                self.cq.req_notify(False)
                count, found = self.cq.poll(1)
            if count:
                if found[0].status != IBV_WC_SUCCESS:
                    sys.exit(f'completion with status {found[0].status}')
                return found[0]
            self.channel.get_cq_event(self.cq)
            self.cq.ack_events(1)

    def expect(self):
        self.qp.post_recv(RecvWR(num_sge=1, sg=[SGE(self.mr.buf, 8, self.mr.lkey)]))

    def send_round(self):
        for offset in range(0, ROUND, MIB):
            last = offset + MIB == ROUND
            wr = SendWR(opcode=IBV_WR_RDMA_WRITE_WITH_IMM if last else IBV_WR_RDMA_WRITE,
                        num_sge=1, sg=[SGE(self.mr.buf + offset, MIB, self.mr.lkey)],
                        send_flags=IBV_SEND_SIGNALED if last else 0)
            wr.set_wr_rdma(self.peer['rkey'], self.peer['address'] + offset)
            self.qp.post_send(wr)
        self.completion()


def main():
    device, gid_index, mib, *address = sys.argv[1:]
    end, digest = End(device, int(gid_index)), hashlib.md5()
    rounds = int(mib) * MIB // ROUND
    if address:
        connection = socket.create_connection((address[0], PORT), timeout=60)
    else:
        connection = socket.create_server(('', PORT)).accept()[0]
    stream = connection.makefile('rwb', buffering=0)
    end.connect(stream)
    busy = 0
    for _ in range(rounds):
        if address:
            data = os.urandom(ROUND)
            end.mr.write(data, ROUND)
            stream.readline()
            start = time.monotonic()
            end.send_round()
            busy += time.monotonic() - start
        else:
            end.expect()
            stream.write(b'go\n')
            end.completion()
            data = end.mr.read(ROUND, 0)
        digest.update(data)
    print(rounds * ROUND, digest.hexdigest())
    if address:
        print(f'{rounds * ROUND / MIB / busy:.1f} MiB/s', file=sys.stderr)


if __name__ == '__main__':
    main()
