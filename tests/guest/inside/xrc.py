# SPDX-License-Identifier: GPL-2.0-or-later
"""An XRC domain that two processes share by a file, on one device.

usage: xrc.py GID-INDEX [FILE]

One process has the connection, another (with FILE) a shared receive queue in the domain.
Messages of the first to that queue's number arrive at the other; after the other has
ended they fail. Status 1 if not.
"""
import os
import subprocess
import sys
import tempfile
import time

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttrEx
from pyverbs.srq import SRQ, SrqInitAttrEx
from pyverbs.wr import SGE, RecvWR, SendWR
from pyverbs.xrcd import XRCD, XRCDInitAttr

SIZE = 4096
SECONDS = 60
MESSAGES = 8


class Side:
    """The objects of both processes: the domain, memory, completions."""

    def __init__(self, path):
        self.ctx = Context(name='ernic0')
        self.pd = PD(self.ctx)
        self.cq = CQ(self.ctx, 64)
        self.mr = MR(self.pd, SIZE, e.IBV_ACCESS_LOCAL_WRITE)
        self.fd = os.open(path, os.O_RDONLY)
        self.xrcd = XRCD(self.ctx, XRCDInitAttr(
            e.IBV_XRCD_INIT_ATTR_FD | e.IBV_XRCD_INIT_ATTR_OFLAGS, os.O_CREAT, self.fd))

    def wait(self):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            count, found = self.cq.poll(1)
            if count:
                return found[0]
        sys.exit('no completion')


def connect(side, qp, peer, gid_index):
    route = GlobalRoute(dgid=side.ctx.query_gid(1, gid_index), sgid_index=gid_index)
    attr = QPAttr(port_num=1)
    attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=1)
    attr.dest_qp_num = peer.qp_num
    attr.path_mtu = e.IBV_MTU_1024
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
    attr.min_rnr_timer, attr.timeout = 12, 14
    attr.retry_cnt = attr.rnr_retry = 7
    qp.to_rts(attr)


def connection(side, gid_index):
    """An initiator and a target that are each other's peer."""
    attr = QPAttr(port_num=1)
    target = QP(side.ctx, QPInitAttrEx(
        qp_type=e.IBV_QPT_XRC_RECV, comp_mask=e.IBV_QP_INIT_ATTR_XRCD,
        xrcd=side.xrcd), attr)
    initiator = QP(side.ctx, QPInitAttrEx(
        qp_type=e.IBV_QPT_XRC_SEND, comp_mask=e.IBV_QP_INIT_ATTR_PD, pd=side.pd,
        scq=side.cq, sq_sig_all=1,
        cap=QPCap(max_send_wr=MESSAGES, max_recv_sge=0, max_recv_wr=0)), attr)
    connect(side, target, initiator, gid_index)
    connect(side, initiator, target, gid_index)
    return initiator, target


def send(side, initiator, srqn, data):
    side.mr.write(data, len(data))
    request = SendWR(opcode=e.IBV_WR_SEND, num_sge=1,
                     sg=[SGE(side.mr.buf, len(data), side.mr.lkey)])
    request.set_qp_type_xrc(srqn)
    initiator.post_send(request)
    return side.wait().status


def message(n):
    return bytes([n + 1]) * (n * 300 + 1)


def receiver(path):
    """The process that knows nothing but the file."""
    side = Side(path)
    attr = SrqInitAttrEx(max_wr=MESSAGES)
    attr.srq_type, attr.pd, attr.xrcd, attr.cq = (e.IBV_SRQT_XRC, side.pd, side.xrcd,
                                                  side.cq)
    attr.comp_mask = (e.IBV_SRQ_INIT_ATTR_TYPE | e.IBV_SRQ_INIT_ATTR_PD
                      | e.IBV_SRQ_INIT_ATTR_CQ | e.IBV_SRQ_INIT_ATTR_XRCD)
    srq = SRQ(side.ctx, attr)
    print(srq.get_srq_num(), flush=True)
    for n in range(MESSAGES):
        srq.post_recv(RecvWR(num_sge=1, sg=[SGE(side.mr.buf, SIZE, side.mr.lkey)]))
        print('posted', flush=True)
        wc = side.wait()
        if wc.status or side.mr.read(wc.byte_len, 0) != message(n):
            sys.exit(f'message {n}: status {wc.status}, {wc.byte_len} bytes')
        print('received', flush=True)


def sender(gid_index):
    with tempfile.NamedTemporaryFile() as file:
        side = Side(file.name)
        initiator, target = connection(side, gid_index)
        with subprocess.Popen([sys.executable, __file__, str(gid_index), file.name],
                              stdout=subprocess.PIPE, text=True) as other:
            srqn = int(other.stdout.readline())
            for n in range(MESSAGES):
                assert other.stdout.readline() == 'posted\n'
                status = send(side, initiator, srqn, message(n))
                assert status == e.IBV_WC_SUCCESS, status
                assert other.stdout.readline() == 'received\n', n
            assert other.wait(SECONDS) == 0
        status = send(side, initiator, srqn, b'nobody')
        assert status == e.IBV_WC_REM_INV_REQ_ERR, status
        print('ok: target', target.qp_num)


if len(sys.argv) > 2:
    receiver(sys.argv[2])
else:
    sender(int(sys.argv[1]))
