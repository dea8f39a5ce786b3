# SPDX-License-Identifier: GPL-2.0-or-later
"""A device and two connected queue pairs of it, for the tests of the driver.

usage: loop.py ROUNDS SECONDS

As a program: RDMA WRITEs from one to the other until the device is removed, then on the
one that is added, until ROUNDS are over or the time is. Prints "ready", each
asynchronous event, the number of writes and the reason of the end.
"""
import os
import select
import sys
import time

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError, PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

ACCESS = (e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE
          | e.IBV_ACCESS_REMOTE_READ)
DEPTH = 16


def open_device():
    return Context(name='ernic0')


def gid_index(ctx):
    """The index of the GID of the first IPv4 address."""
    for index in range(ctx.query_port(1).gid_tbl_len):
        if str(ctx.query_gid(1, index)).startswith('0000:0000:0000:0000:0000:ffff:'):
            return index
    raise SystemExit('no IPv4 address')


def make_qp(pd, cq):
    cap = QPCap(max_send_wr=DEPTH, max_recv_wr=DEPTH, max_send_sge=1, max_recv_sge=1)
    return QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=cap))


def connect(ctx, qp, peer):
    attr = QPAttr(port_num=1)
    attr.qp_access_flags = ACCESS
    qp.to_init(attr)
    index = gid_index(ctx)
    route = GlobalRoute(dgid=ctx.query_gid(1, index), sgid_index=index)
    attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=1)
    attr.dest_qp_num = peer.qp_num
    attr.path_mtu = e.IBV_MTU_1024
    attr.max_dest_rd_atomic = attr.max_rd_atomic = 1
    attr.min_rnr_timer = 12
    attr.timeout = 14
    attr.retry_cnt = attr.rnr_retry = 7
    qp.to_rtr(attr)
    qp.to_rts(attr)


class Pair:
    """Queue pairs a and b, connected, each with its completion queue."""

    def __init__(self, ctx, vector=0, channel=None, make_cq=None):
        self.pd = PD(ctx)
        make_cq = make_cq or (lambda: CQ(ctx, 2 * DEPTH, None, channel, vector))
        self.cqs = [make_cq() for _ in range(2)]
        self.a, self.b = (make_qp(self.pd, cq) for cq in self.cqs)
        connect(ctx, self.a, self.b)
        connect(ctx, self.b, self.a)

    def post(self, opcode, sge, rkey, address):
        request = SendWR(opcode=opcode, num_sge=1, sg=[sge], wr_id=1)
        request.set_wr_rdma(rkey, address)
        self.a.post_send(request)

    def wait(self, seconds=10):
        """The status of a's next completion, or None if there was none in time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            count, completions = self.cqs[0].poll(1)
            if count:
                return completions[0].status
        return None

    def move(self, opcode, sge, rkey, address):
        """One request, and the status of its completion."""
        self.post(opcode, sge, rkey, address)
        return self.wait()


class Events:
    """The device's asynchronous events. The library's call would block all threads."""

    def __init__(self, ctx):
        self.ctx = ctx
        self.seen = []
        fds = [int(fd) for fd in os.listdir('/proc/self/fd')
               if 'infinibandevent' in link_of(fd)]
        self.poll = select.poll()
        self.poll.register(fds[0], select.POLLIN)

    def look(self):
        """Note the events that are there. Returns whether the device is gone."""
        while self.poll.poll(0):
            event = self.ctx.get_async_event()
            self.seen.append(event.event_type)
            print('event', event.event_type, flush=True)
            event.ack()
        return e.IBV_EVENT_DEVICE_FATAL in self.seen


    def gone(self, seconds):
        """Whether it is gone within so many seconds."""
        end = time.monotonic() + seconds
        while not self.look() and time.monotonic() < end:
            self.poll.poll(100)
        return self.look()


def link_of(fd):
    try:
        return os.readlink(f'/proc/self/fd/{fd}')
    except OSError:
        return ''


def write(pair, mr, sge):
    """One WRITE; the reason why it failed, or None."""
    try:
        pair.post(e.IBV_WR_RDMA_WRITE, sge, mr.rkey, mr.buf + 4096)
    except PyverbsRDMAError as error:
        return f'post {error.error_code}'
    status = pair.wait(2)
    return None if status == e.IBV_WC_SUCCESS else f'status {status}'


def traffic(seconds):
    """WRITEs until the device is gone, or for so many seconds. Returns whether it is."""
    ctx = open_device()
    events = Events(ctx)
    pair = Pair(ctx)
    mr = MR(pair.pd, 8192, ACCESS)
    sge = SGE(mr.buf, 4096, mr.lkey)
    writes, why = 0, None
    end = time.monotonic() + seconds
    print('ready', flush=True)
    while not why and time.monotonic() < end:
        why = write(pair, mr, sge)
        # An error may come before the event: the core destroys the region first.
        if events.look() or (why and events.gone(5)):
            why = 'gone'
        writes += not why
    print('writes', writes, 'end', why or 'time', flush=True)
    ctx.close()
    return why == 'gone'


def again(rounds, seconds):
    """The same with the next device, until so many have been removed."""
    end = time.monotonic() + seconds
    while rounds and time.monotonic() < end:
        try:
            rounds -= traffic(end - time.monotonic())
        except (PyverbsError, SystemExit):      # not there yet, or removed again
            time.sleep(0.02)
    print('left', rounds, flush=True)


if __name__ == '__main__':
    again(int(sys.argv[1]), float(sys.argv[2]))
    os._exit(0)                 # without the objects that Python still holds
