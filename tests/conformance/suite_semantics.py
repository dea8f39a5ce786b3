# SPDX-License-Identifier: GPL-2.0-or-later
"""Expectations of the verbs that the suites of others do not test.

The tests are in the folder semantics and run in the guest.
"""
from pathlib import Path

import links
import programs
import report
import stock
from report import Case
from stacks import STACKS, Suite

FOLDER = Path(__file__).resolve().parent / 'semantics'
GROUPS = ('transitions', 'values', 'completions', 'events', 'limits')
SHORT = ('exits all',)          # in place of the next ones, which are slow
LONG = ('exits', 'big')
# Of Linux's mlx5 driver: path MTUs that do not exist, rights that do not belong, and
# completion queues that overrun.
PROVOKED = ('invalid mtu', 'CQ error on CQN',
            'RST2INIT_QP(0x502) op_mod(0x0) failed, status bad parameter',
            'RST2INIT_QP (0x502) op_mod 0x0: a value is out of range')


def start(one, group):
    return one.start(f'cd /tmp/inside && python3 run.py {links.DEVICE} 1 {group}', 900)


def results(job, group):
    """The cases of one file."""
    result = job.wait()
    found = list(filter(None, map(report.RESULT.fullmatch, result.output.splitlines())))
    for match in found:
        yield Case(match[2], match[1], match[3])
    if result.status or not found:
        yield Case(f'{group}/(to the end)', 'fail',
                   f'status {result.status}\n{result.output[-2000:]}')


def pulled(one):
    """The cable is unplugged and plugged in while a program waits for the events."""
    job = start(one, 'link')
    for event, up in (('PORT_ERR', False), ('PORT_ACTIVE', True)):
        one.wait_until(f'test -e /tmp/inside/{event}')
        links.qemu(one, 'set_link', name='nic', up=up)
    yield from results(job, 'link')


def answered(guests):
    """The host is the peer, at the other end of the wire."""
    import raw_peer             # loads scapy, which no other suite needs
    peer = raw_peer.RawPeer(guests.folder / 'wire')
    try:
        yield from results(start(guests[0], 'peer'), 'peer')
    finally:
        peer.close()


def broken(guests):
    """The last of all. The driver's messages about it are expected."""
    if isinstance(guests[0], stock.StockGuest):
        yield Case('fatal/DEVICE_FATAL', 'skip', 'mlx5_core waits for each command')
    elif report.kernel_log(guests).result == 'ok':
        yield from results(start(guests[0], 'fatal'), 'fatal')
        # Else the report of the log shows all of it.
        if not programs.trouble(guests, programs.NO_ANSWER):
            guests[0].check('dmesg -c')


def cases(guests, short):
    one = guests[0]
    one.put_programs()
    one.put_programs(FOLDER)
    for group in GROUPS + (SHORT if short else LONG):
        yield from results(start(one, group), group)
    yield from answered(guests)
    yield from pulled(one)
    yield from broken(guests)


SUITES = [Suite('semantics', 1, cases, devices=STACKS, about=('python3-pyverbs',),
                stock=('python3-pyverbs',), provoked=PROVOKED,
                # Requests without an answer fail soon.
                nic=',retry-time=100')]
