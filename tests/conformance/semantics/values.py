# SPDX-License-Identifier: GPL-2.0-or-later
"""Values of attributes: the least and the greatest are accepted, those beyond are refused
and change nothing (IBTA volume 1, 11.2.5.2).
"""
from typing import NamedTuple

import pyverbs.enums as e

from rig import End
from transitions import find, go, mask


class Row(NamedTuple):
    """An attribute on the edge of RC where it is required; values, or what counts
    them of the device or its port."""

    name: str
    source: str
    to: str
    good: tuple
    bad: tuple


def rows(rig):
    device, port = rig.ctx.query_device(), rig.ctx.query_port(1)
    return (
        Row('port_num', 'RESET', 'INIT', (1, device.phys_port_cnt),
            (0, device.phys_port_cnt + 1)),
        Row('pkey_index', 'RESET', 'INIT', (0,), (port.pkey_tbl_len, 0xffff)),
        Row('path_mtu', 'INIT', 'RTR', (e.IBV_MTU_256, port.active_mtu), (0, 6)),
        Row('min_rnr_timer', 'INIT', 'RTR', (0, 31), (32,)),
        Row('max_dest_rd_atomic', 'INIT', 'RTR', (0, device.max_qp_rd_atom),
            (device.max_qp_rd_atom + 1,)),
        Row('rq_psn', 'INIT', 'RTR', (0, 0xffffff), ()),
        Row('timeout', 'RTR', 'RTS', (0, 31), (32,)),
        Row('retry_cnt', 'RTR', 'RTS', (0, 7), (8,)),
        Row('rnr_retry', 'RTR', 'RTS', (0, 7), (8,)),
        Row('max_rd_atomic', 'RTR', 'RTS', (0, device.max_qp_init_rd_atom),
            (device.max_qp_init_rd_atom + 1,)),
        Row('sq_psn', 'RTR', 'RTS', (0, 0xffffff), ()),
    )


NAMES = ('port_num', 'pkey_index', 'path_mtu', 'min_rnr_timer', 'max_dest_rd_atomic',
         'rq_psn', 'timeout', 'retry_cnt', 'rnr_retry', 'max_rd_atomic', 'sq_psn')


def value(rig, name):
    row = next(row for row in rows(rig) if row.name == name)
    bits = mask(find('RC', row.source, row.to).required.split())
    wrong = []
    for number in (*row.bad, *row.good):
        # Not one for all: soft-RoCE oopses when a depth of 0 is followed by another.
        end = End(rig)
        go(end, row.source)
        did = end.modify(bits, row.to, **{name: number})
        now = end.state()
        if did != (number in row.good) or now != (row.to if did else row.source):
            wrong.append(f'{number}: {"accepted" if did else "refused"}, now in {now}')
        elif did:
            seen = getattr(end.qp.query(0x1ffffff)[0], name)
            if seen != number:
                wrong.append(f'{number}: reads {seen}')
    assert not wrong, '; '.join(wrong)


def cases():
    for name in NAMES:
        yield name, value, (name,)
