# SPDX-License-Identifier: GPL-2.0-or-later
"""A process with every kind of object, while its device is removed and added.

usage: users.py

RDMA WRITEs to pinned memory and to on-demand regions, explicit and implicit, whose pages
are given back meanwhile; queue pairs of XRC and their domain; a memory window. All of it
until the device is removed, then on the next one, for ever. Prints "ready" each time
after a WRITE to each region, and any error that is not the removal's.
"""
import time

import pyverbs.enums as e
from pyverbs.mr import MR, MW
from pyverbs.pyverbs_error import PyverbsError, PyverbsRDMAError

import odp
from loop import gone
from rig import End, Rig, pair, statuses
from xrc import shared_queue


class Users:
    """The objects; close() destroys them."""

    def __init__(self):
        self.rig = Rig('ernic0')
        self.a, self.b = pair(self.rig)
        self.window = MW(self.rig.pd, e.IBV_MW_TYPE_1)
        self.base = odp.map_memory(2 * odp.MIB)
        self.demand = MR(self.rig.pd, odp.MIB, odp.DEMAND, address=self.base)
        self.implicit = MR(self.rig.pd, odp.MIB, odp.DEMAND, implicit=True)
        self.ends = [End(self.rig, kind) for kind in ('XRC_SEND', 'XRC_RECV')]
        self.srq = shared_queue(self.rig, self.ends[0].cq)

    def turn(self, n):
        """A WRITE to each region; the reason why one failed, or None."""
        page = n % 256 * odp.PAGE
        for rkey, address in ((None, None), (self.demand.rkey, self.base + page),
                              (self.implicit.rkey, self.base + odp.MIB + page)):
            try:
                self.a.post('WRITE', odp.PAGE, rkey, address)
            except PyverbsRDMAError as error:
                return f'post {error.error_code}'
            found = statuses(self.a.take(1, 10))
            if found != ['SUCCESS']:
                return f'status {found}'
        if not n % 8:
            odp.libc.madvise(self.base, 2 * odp.MIB, odp.MADV_DONTNEED)
        return None

    def close(self):
        self.rig.close()
        odp.libc.munmap(self.base, 2 * odp.MIB)


def once():
    """Write until the device is removed."""
    users = Users()
    n, why = 0, None
    while not why:
        why = users.turn(n)
        n += 1
        if n == 1 and not why:
            print('ready', flush=True)
        if gone(users.rig) or (why and gone(users.rig, 5)):
            why = 'gone'
        time.sleep(0.002)               # there are others
    if why != 'gone':
        print('wrong:', why, flush=True)
    users.close()


if __name__ == '__main__':
    while True:
        try:
            once()
        except (PyverbsError, StopIteration, OSError):  # not there yet, or removed again
            time.sleep(0.05)
