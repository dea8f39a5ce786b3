# SPDX-License-Identifier: GPL-2.0-or-later
"""The device fails: it loses its access to memory, and is unusable afterwards."""
import os
import subprocess

from pyverbs.cq import CQ
from pyverbs.pyverbs_error import PyverbsRDMAError

import raw
from rig import Lacking, pair


def device_fatal(rig):
    """Every user gets an event, no request hangs, and all objects can be destroyed."""
    place = f'/sys/class/infiniband/{rig.ctx.name}/device'
    if not os.path.exists(place):
        raise Lacking('no function on a bus')
    a, b = pair(rig)
    wq = raw.make_wq(rig.ctx, rig.pd)
    raw.to(wq, raw.RDY)
    address = os.path.basename(os.readlink(place))
    subprocess.run(['setpci', '-s', address, 'COMMAND=0:4'], check=True)
    try:
        CQ(rig.ctx, 4)
        raise AssertionError('a command was answered')
    except PyverbsRDMAError:
        pass
    wanted = ['DEVICE_FATAL', 'QP_FATAL', 'QP_FATAL', 'WQ_FATAL']
    reported = rig.events(wanted)
    assert sorted(reported) == wanted, reported
    try:
        a.post()
    except PyverbsRDMAError:
        pass                                # refused at once
    wq.close()
    for end in (a, b):
        end.qp.close()
        end.cq.close()
    rig.mr.close()


def cases():
    yield 'DEVICE_FATAL', device_fatal, ()
