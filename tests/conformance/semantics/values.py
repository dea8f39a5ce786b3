# SPDX-License-Identifier: GPL-2.0-or-later
"""Values of attributes: the least and the greatest are accepted, those beyond are refused
and change nothing (IBTA volume 1, 11.2.5.2).
"""
from typing import Callable, NamedTuple

import pyverbs.enums as e

from rig import End
from transitions import find, go, mask


class Row(NamedTuple):
    """An attribute on the edge of RC where it is required; of(device, port): values that
    are accepted, and those that are refused."""

    name: str
    source: str
    to: str
    of: Callable


ROWS = (
    Row('port_num', 'RESET', 'INIT', lambda device, _: (
        (1, device.phys_port_cnt), (0, device.phys_port_cnt + 1))),
    Row('pkey_index', 'RESET', 'INIT', lambda _, port: (
        (0,), (port.pkey_tbl_len, 0xffff))),
    Row('path_mtu', 'INIT', 'RTR', lambda _, port: (
        (e.IBV_MTU_256, port.active_mtu), (0, 6))),
    Row('min_rnr_timer', 'INIT', 'RTR', lambda *_: ((0, 31), (32,))),
    Row('max_dest_rd_atomic', 'INIT', 'RTR', lambda device, _: (
        (0, device.max_qp_rd_atom), (device.max_qp_rd_atom + 1,))),
    Row('rq_psn', 'INIT', 'RTR', lambda *_: ((0, 0xffffff), ())),
    Row('timeout', 'RTR', 'RTS', lambda *_: ((0, 31), (32,))),
    Row('retry_cnt', 'RTR', 'RTS', lambda *_: ((0, 7), (8,))),
    Row('rnr_retry', 'RTR', 'RTS', lambda *_: ((0, 7), (8,))),
    Row('max_rd_atomic', 'RTR', 'RTS', lambda device, _: (
        (0, device.max_qp_init_rd_atom), (device.max_qp_init_rd_atom + 1,))),
    Row('sq_psn', 'RTR', 'RTS', lambda *_: ((0, 0xffffff), ())),
)


def value(rig, row):
    good, bad = row.of(rig.ctx.query_device(), rig.ctx.query_port(1))
    bits = mask(find('RC', row.source, row.to).required.split())
    wrong = []
    for number in (*bad, *good):
        # Not one for all: soft-RoCE oopses when a depth of 0 is followed by another.
        end = End(rig)
        go(end, row.source)
        did = end.modify(bits, row.to, **{row.name: number})
        now = end.state()
        if did != (number in good) or now != (row.to if did else row.source):
            wrong.append(f'{number}: {"accepted" if did else "refused"}, now in {now}')
        elif did:
            seen = getattr(end.qp.query(0x1ffffff)[0], row.name)
            if seen != number:
                wrong.append(f'{number}: reads {seen}')
    assert not wrong, '; '.join(wrong)


def cases():
    for row in ROWS:
        yield row.name, value, (row,)
