# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages of 2 GiB, the longest allowed, and of one byte more; 100,000 regions.

The messages use little memory: three pieces, the middle one mapped again and again.
"""
import collections
import mmap
import os
import random

import pyverbs.enums as e
from pyverbs.mr import MR
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.wr import SGE, RecvWR

from odp import libc, map_memory
from rig import REMOTE, Lacking, pair, statuses

PIECE = 2 << 20
MOST = 1 << 31
SECONDS = 600                   # for a message


class Span:
    """2 GiB and a piece more of addresses, and a region over them."""

    def __init__(self, rig):
        self.fd = os.memfd_create('span')
        os.ftruncate(self.fd, 3 * PIECE)
        self.pieces = mmap.mmap(self.fd, 3 * PIECE)
        self.length = MOST + PIECE
        self.base = map_memory(self.length, 0)
        last = MOST // PIECE - 1
        for n in range(last + 2):
            source = 0 if n == 0 else 2 if n == last else 1
            map_memory(PIECE, at=self.base + n * PIECE, fd=self.fd, offset=source * PIECE)
        self.mr = MR(rig.pd, self.length, e.IBV_ACCESS_LOCAL_WRITE | REMOTE,
                     address=self.base)

    def close(self):
        self.mr.close()
        libc.munmap(self.base, self.length)
        self.pieces.close()
        os.close(self.fd)

    def sge(self, length, offset=0):
        return SGE(self.base + offset, length, self.mr.lkey)

    def fill(self, seed):
        self.pieces[:] = random.Random(seed).randbytes(3 * PIECE)

    def same(self, other):
        """Compare without the pages in the text of an assertion."""
        return self.pieces[:] == other.pieces[:]


class Spans:
    """Two regions, for as long as they are needed."""

    def __init__(self, rig):
        most = rig.ctx.query_port(1).max_msg_sz
        if most < MOST:
            raise Lacking(f'its messages are of at most {most} bytes')
        self.here, self.there = Span(rig), Span(rig)

    def __enter__(self):
        return self.here, self.there

    def __exit__(self, *_):
        self.here.close()
        self.there.close()


def move(ends, spans, op):
    (a, b), (here, there) = ends, spans
    if op == 'SEND':
        b.qp.post_recv(RecvWR(1, 1, [there.sge(MOST)]))
    a.post(op, sges=[here.sge(MOST)], rkey=there.mr.rkey, raddr=there.base)
    assert statuses(a.take(1, SECONDS)) == ['SUCCESS'], f'{op}: sender'
    if op == 'SEND':
        found = b.take(1)
        assert statuses(found) == ['SUCCESS'] and found[0].byte_len == MOST, 'receiver'
    assert here.same(there), f'{op}: the bytes differ'


def most(rig):
    with Spans(rig) as (here, there):
        for n, op in enumerate(('WRITE', 'READ', 'SEND')):
            here.fill(2 * n)
            there.fill(2 * n + 1)
            move(pair(rig), (here, there), op)


def more(rig):
    """One byte more is refused, or ends with Local Length Error; nothing moves."""
    with Spans(rig) as (here, there):
        here.fill(1)
        there.fill(2)
        for op in ('WRITE', 'READ', 'SEND'):
            a, b = pair(rig)
            sges = [here.sge(MOST), here.sge(1, PIECE)]
            try:
                a.post(op, sges=sges, rkey=there.mr.rkey, raddr=there.base)
                status = a.status()
            except PyverbsRDMAError:
                status = 'LOC_LEN_ERR'
            assert status == 'LOC_LEN_ERR', f'{op}: {status}'
            assert not here.same(there), f'{op}: it was moved all the same'
            b.qp.close()


def regions(rig):
    """100,000 regions come and go, 1,000 at a time: those that are there work, the one
    that went last does not."""
    a, b = pair(rig)
    held = collections.deque()
    for n in range(100000):
        if len(held) == 1000:
            gone = held.popleft()
            key, address = gone.rkey, gone.buf
            gone.close()
        held.append(MR(rig.pd, 4096, e.IBV_ACCESS_LOCAL_WRITE | REMOTE))
        if n % 1000 == 999:
            first, last = held[0], held[-1]
            first.write(text := f'region {n}', len(text))
            a.post('WRITE', sges=[SGE(first.buf, len(text), first.lkey)], rkey=last.rkey,
                   raddr=last.buf)
            assert a.status() == 'SUCCESS', f'region {n}'
            assert last.read(len(text), 0) == text.encode(), f'region {n}'
    a.post('WRITE', sges=[SGE(first.buf, 8, first.lkey)], rkey=key, raddr=address)
    assert a.status() == 'REM_ACCESS_ERR', 'the region that went last'
    for mr in held:
        mr.close()


def cases():
    yield 'regions', regions, ()
    yield '2GiB', most, ()
    yield '2GiB-and-1', more, ()
