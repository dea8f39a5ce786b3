# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that die with their objects, created in every order that the verbs allow.

The kernel destroys the objects of a process newest first, in rounds: what others still
use waits for the next round. So the order of creation chooses that of destruction, and
of two objects that do not need each other, each is the first one in some process. They
exit, are killed, or are killed while they move data. Then no object remains, and the
device works. That it refuses no command is seen on the mlx5 interface only: the verbs
interface refuses a region with bound windows, which the kernel destroys a round later.
"""
import functools
import itertools
import os
import random
import re
import signal
import subprocess
import time

import pyverbs.enums as e
from pyverbs.cq import CQ, CompChannel
from pyverbs.device import DM, AllocDmAttr, Context
from pyverbs.flow import Flow, FlowAttr
from pyverbs.mr import DMMR, MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError, PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.spec import EthSpec
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import RecvWR, SendWR

import multicast
import raw
import xrc
from limits import bound
from rig import MEMORY, RECEIVED, REMOTE, End, Lacking, Rig, join, open_window, pair

ORDERS = 6                      # of a scenario at least, if it has so many
MOST = 9                        # of all objects together there would be more
DRAWS = 100                     # of orders at random
SECONDS = 60                    # for the kernel to destroy what a process had
ACCESS = e.IBV_ACCESS_LOCAL_WRITE | REMOTE | e.IBV_ACCESS_MW_BIND
GROUP = '239.1.2.3'
MAC = '52:54:00:77:66:55'       # nobody's
FRAME = bytes.fromhex(MAC.replace(':', '')) + bytes([2, 0, 0, 0, 0, 1]) + b'\x88\xb5'
LENGTH = 4096                   # of a message


class World(Rig):
    """A context whose objects are attributes, with the names of KINDS."""

    def __init__(self, rig):
        before = multicast.files()
        self.ctx = Context(name=rig.ctx.name)
        self.commands = multicast.Commands(multicast.files() - before)
        self.gid_index, self.gid, self.xrcd = rig.gid_index, rig.gid, None


# ---- objects---------------------------------------------------------------------------

def member(w):
    """The queue pair of UD, the only one, becomes a member of the group."""
    found = w.commands.attach(multicast.gid_of(GROUP), 1)
    assert found, 'attach'
    return found


def raw_queue(w):
    cap = QPCap(max_send_wr=16, max_recv_wr=16, max_send_sge=1, max_recv_sge=1)
    qp = QP(w.pd, QPInitAttr(qp_type=e.IBV_QPT_RAW_PACKET, scq=w.cq, rcq=w.cq, cap=cap))
    qp.to_rts(QPAttr(port_num=1))
    return qp


def flow(qp):
    attr = FlowAttr(num_of_specs=1)
    attr.specs.append(EthSpec(dst_mac=MAC))
    return Flow(qp, attr)


def work_queue(w):
    wq = raw.make_wq(w.ctx, w.pd, w.cq)
    raw.to(wq, raw.RDY)
    return wq


def lacking(what, make):
    """The object; Lacking if the device has no such objects."""
    try:
        return make()
    except PyverbsError as error:
        raise Lacking(f'no {what}') from error


# Name: the names of what it needs, and how it is made.
KINDS = {
    'pd': ('', lambda w: PD(w.ctx)),
    'cq': ('', lambda w: CQ(w.ctx, 64)),
    'mr': ('pd', lambda w: MR(w.pd, MEMORY, ACCESS)),
    'qp': ('pd cq', lambda w: End(w, 'RC', w.cq, w.pd).connect()),
    'window_1': ('pd', lambda w: open_window(w.pd, e.IBV_MW_TYPE_1)),
    'window_2': ('pd', lambda w: open_window(w.pd, e.IBV_MW_TYPE_2)),
    'bound_1': ('qp mr window_1', lambda w: bound(w.qp, w.window_1, w.mr)),
    'bound_2': ('qp mr window_2', lambda w: bound(w.qp, w.window_2, w.mr)),
    'channel': ('', lambda w: CompChannel(w.ctx)),
    'event_cq': ('channel', lambda w: CQ(w.ctx, 64, None, w.channel, 0)),
    'event_qp': ('pd event_cq', lambda w: End(w, 'RC', w.event_cq, w.pd).connect()),
    'srq': ('pd', lambda w: SRQ(w.pd, SrqInitAttr(SrqAttr(max_wr=16, max_sge=1)))),
    'srq_qp': ('pd cq srq', lambda w: End(w, 'RC', w.cq, w.pd, w.srq).connect()),
    'domain': ('', lambda w: w.open_xrcd()),
    'xrc_srq': ('pd cq domain', lambda w: xrc.shared_queue(w, w.cq)),
    'initiator': ('pd cq domain', lambda w: End(w, 'XRC_SEND', w.cq, w.pd)),
    'target': ('domain', lambda w: End(w, 'XRC_RECV', 'none', 'none')),
    'joined': ('initiator target', lambda w: join(w.initiator, w.target)),
    'ud': ('pd cq', lambda w: End(w, 'UD', w.cq, w.pd).connect()),
    'member': ('ud', member),
    'ah': ('pd', lambda w: multicast.address_of(w, GROUP)),
    'raw': ('pd cq', raw_queue),
    'flow': ('raw', lambda w: flow(w.raw)),
    'wq': ('pd cq', work_queue),
    'wq_2': ('pd cq', work_queue),
    'table': ('wq wq_2', lambda w: raw.make_table(w.ctx, [w.wq, w.wq_2])),
    'hashed': ('pd table', lambda w: raw.over_table(w.ctx, w.pd, w.table)),
    'hashed_flow': ('hashed', lambda w: flow(w.hashed)),
    'dm': ('', lambda w: lacking('device memory', lambda: DM(w.ctx, AllocDmAttr(4096)))),
    'dm_mr': ('pd dm', lambda w: DMMR(w.pd, 4096, e.IBV_ACCESS_ZERO_BASED | REMOTE
                                      | e.IBV_ACCESS_LOCAL_WRITE, w.dm, 0)),
    'demand': ('pd', lambda w: lacking('on-demand regions', lambda: MR(
        w.pd, MEMORY, ACCESS | e.IBV_ACCESS_ON_DEMAND))),
}
SCENARIOS = {
    'window-1': 'pd cq mr qp window_1 bound_1',
    'window-2': 'pd cq mr qp window_2 bound_2',
    'events': 'pd cq mr channel event_cq event_qp',
    'shared': 'pd cq mr srq srq_qp',
    'xrc': 'pd cq mr domain xrc_srq initiator target joined',
    'group': 'pd cq mr ud member ah',
    'raw': 'pd cq mr raw flow',
    'hash': 'pd cq wq wq_2 table hashed hashed_flow',
    'device-memory': 'pd cq mr qp dm dm_mr',
    'demand': 'pd cq mr qp demand',
    'all': ' '.join(sorted(set(KINDS) - {'dm', 'dm_mr', 'demand'})),
}


# ---- traffic ---------------------------------------------------------------------------

def receive(w, queue, length=LENGTH):
    queue.post_recv(RecvWR(100, 1, [w.sge(length, RECEIVED)]))


def windowed(w, key):
    w.qp.post('WRITE', LENGTH, rkey=key)


def shared(w):
    receive(w, w.srq)
    w.srq_qp.post(length=LENGTH)


def over_domain(w):
    receive(w, w.xrc_srq)
    wr = SendWR(opcode=e.IBV_WR_SEND, num_sge=1, sg=[w.sge(LENGTH)],
                send_flags=e.IBV_SEND_SIGNALED)
    wr.set_qp_type_xrc(w.xrc_srq.get_srq_num())
    w.initiator.qp.post_send(wr)


def to_group(w):
    receive(w, w.ud.qp)
    w.ud.post(length=1024, ah=w.ah, to=multicast.MULTICAST_QPN)


def frame(w):
    receive(w, w.raw)
    w.mr.write(FRAME, len(FRAME), 0)
    w.raw.post_send(SendWR(num_sge=1, sg=[w.sge(64)], send_flags=e.IBV_SEND_SIGNALED))


# Frees the last object that it needs beside the region.
TRAFFIC = {
    'qp': lambda w: w.qp.post('WRITE', LENGTH),
    'bound_1': lambda w: windowed(w, w.bound_1),
    'bound_2': lambda w: windowed(w, w.bound_2),
    'event_qp': lambda w: (w.event_cq.req_notify(), w.event_qp.post('READ', LENGTH)),
    'srq_qp': shared, 'joined': over_domain, 'ah': to_group, 'flow': frame,
}


def move_data(w, names):
    """Until the process is killed."""
    while True:
        for name in names & TRAFFIC.keys():
            try:
                TRAFFIC[name](w)
            except PyverbsRDMAError:        # the queue is full
                pass
        for name in names & {'cq', 'event_cq'}:
            getattr(w, name).poll(16)


# ---- processes -------------------------------------------------------------------------

DEATHS = ('exit', 'kill', 'traffic')


def live(rig, order, death, pipe):
    """Create the objects, and end while they are there."""
    said, name = b'ready', 'context'
    try:
        w = World(rig)
        for name in order:
            setattr(w, name, KINDS[name][1](w))
    except Lacking as lack:
        said = f'lacking {lack}'.encode()
    except Exception as problem:            # the parent reports it
        said = f'{name}: {problem!r}'.encode()
    os.write(pipe, said)
    if death == 'kill':
        os.kill(os.getpid(), signal.SIGKILL)
    if death == 'traffic' and said == b'ready':
        move_data(w, set(order))
    os._exit(0)


def die(rig, order, death):
    """A process with objects that were created in this order dies so."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        live(rig, order, death, writer)
    os.close(writer)
    said = os.read(reader, 1000).decode()
    os.close(reader)
    if death == 'traffic':
        time.sleep(0.02)
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if said.startswith('lacking '):
        raise Lacking(said.partition(' ')[2])
    assert said == 'ready', f'{" ".join(order)}: {said}'


@functools.cache
def needs(name):
    """All that has to be there before."""
    found = set(KINDS[name][0].split())
    return found.union(*map(needs, found))


def sort(names):
    """The names in the first order that is possible."""
    order, left = [], list(names)
    while left:
        name = next(one for one in left if needs(one) <= set(order))
        order.append(name)
        left.remove(name)
    return tuple(order)


def orders(names):
    """Orders in which of each two names each one is the first, if it can be."""
    chance, found = random.Random(4711), {}
    missing = {(one, other) for one, other in itertools.permutations(names, 2)
               if other not in needs(one)}
    for _ in range(DRAWS):
        names = chance.sample(names, len(names))
        for order in (sort(names), sort(names[::-1])):
            new = missing.intersection(itertools.combinations(order, 2))
            if new or len(found) < ORDERS:
                found[order] = None
                missing -= new
    assert not missing, missing
    return list(found)


# ---- cases -----------------------------------------------------------------------------

def counts(rig):
    """How many objects of each kind the kernel knows."""
    shown = subprocess.run(['rdma', 'resource'], check=True, text=True,
                           stdout=subprocess.PIPE).stdout
    return re.search(f'{rig.ctx.name}: (.*)', shown)[1].strip()


def dies(rig, names):
    chosen = orders(names)[:MOST]
    die(rig, chosen[0], 'exit')             # the driver keeps some objects of its own
    before = counts(rig)
    for number, order in enumerate(chosen):
        die(rig, order, DEATHS[number % len(DEATHS)])
    end = time.monotonic() + SECONDS
    while counts(rig) != before and time.monotonic() < end:
        time.sleep(0.1)
    after = counts(rig)
    assert after == before, f'{after}, not {before}'
    a, _ = pair(rig)
    a.post('WRITE', LENGTH)
    assert a.status() == 'SUCCESS', 'a WRITE afterwards'


def cases():
    for name, kinds in SCENARIOS.items():
        yield name, dies, (kinds.split(),)
