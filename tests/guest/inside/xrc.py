# SPDX-License-Identifier: GPL-2.0-or-later
"""An XRC domain that two processes share by a file, on one device.

One process has the connection, the other, which runs this file, a shared receive queue in
the domain. Messages of the first to that queue's number arrive at the other; after the
other has ended they fail.
"""
import os
import subprocess
import sys
import tempfile

import pyverbs.enums as e
from pyverbs.cq import CQ
from pyverbs.srq import SRQ, SrqInitAttrEx
from pyverbs.wr import RecvWR, SendWR
from pyverbs.xrcd import XRCD, XRCDInitAttr

from rig import RECEIVED, End, Rig, ids, join, take

SECONDS = 60
MESSAGES = 8


def share(rig, path):
    """Give the rig the domain of that file."""
    rig.file = os.open(path, os.O_RDONLY)
    rig.xrcd = XRCD(rig.ctx, XRCDInitAttr(
        e.IBV_XRCD_INIT_ATTR_FD | e.IBV_XRCD_INIT_ATTR_OFLAGS, os.O_CREAT, rig.file))


def shared_queue(rig, cq, depth=MESSAGES):
    attr = SrqInitAttrEx(max_wr=depth)
    attr.srq_type, attr.pd, attr.xrcd, attr.cq = e.IBV_SRQT_XRC, rig.pd, rig.xrcd, cq
    attr.comp_mask = (e.IBV_SRQ_INIT_ATTR_TYPE | e.IBV_SRQ_INIT_ATTR_PD
                      | e.IBV_SRQ_INIT_ATTR_CQ | e.IBV_SRQ_INIT_ATTR_XRCD)
    return SRQ(rig.ctx, attr)


def send(end, srqn, data):
    end.rig.mr.write(data, len(data))
    request = SendWR(opcode=e.IBV_WR_SEND, num_sge=1, sg=[end.rig.sge(len(data))],
                     send_flags=e.IBV_SEND_SIGNALED)
    request.set_qp_type_xrc(srqn)
    end.qp.post_send(request)
    return end.status()


def message(n):
    return bytes([n + 1]) * (n * 300 + 1)


def receiver(rig):
    """The process that knows nothing but the file."""
    cq = CQ(rig.ctx, 64)
    srq = shared_queue(rig, cq)
    print(srq.get_srq_num(), flush=True)
    for n in range(MESSAGES):
        srq.post_recv(RecvWR(n, num_sge=1, sg=[rig.sge(4096, RECEIVED)]))
        print('posted', flush=True)
        found = take(cq, 1, SECONDS)
        assert ids(found) == [n], found
        assert rig.mr.read(found[0].byte_len, RECEIVED) == message(n), n
        print('received', flush=True)


def check_domain(rig):
    with tempfile.NamedTemporaryFile() as file:
        share(rig, file.name)
        initiator, _target = join(End(rig, 'XRC_SEND'), End(rig, 'XRC_RECV'))
        with subprocess.Popen(
                [sys.executable, __file__, rig.ctx.name, str(rig.gid_index), file.name],
                stdout=subprocess.PIPE, text=True) as other:
            srqn = int(other.stdout.readline())
            for n in range(MESSAGES):
                assert other.stdout.readline() == 'posted\n'
                assert send(initiator, srqn, message(n)) == 'SUCCESS'
                assert other.stdout.readline() == 'received\n', n
            assert other.wait(SECONDS) == 0
        assert send(initiator, srqn, b'nobody') == 'REM_INV_REQ_ERR'


if __name__ == '__main__':
    RIG = Rig(sys.argv[1], int(sys.argv[2]))
    share(RIG, sys.argv[3])
    receiver(RIG)
