# SPDX-License-Identifier: GPL-2.0-or-later
"""Expectations of the verbs that the suites of others do not test.

The tests are in the folder semantics and run in the guest.
"""
import re
from pathlib import Path

import links
import raw_peer
import report
from report import Case
from stacks import Suite

FOLDER = Path(__file__).resolve().parent / 'semantics'
GROUPS = ('transitions', 'values', 'completions', 'events', 'limits')
LONG = ('big',)                 # too slow for the short form
RESULT = re.compile(r'(ok|fail|skip) (\S+) ?(.*)')


def start(one, group):
    return one.start(f'cd /tmp/semantics && python3 run.py {links.DEVICE} 1 {group}', 900)


def results(job, group):
    """The cases of one file."""
    result = job.wait()
    for line in result.output.splitlines():
        if match := RESULT.fullmatch(line):
            yield Case(match[2], match[1], match[3])
    if result.status:
        yield Case(f'{group}/(to the end)', 'fail',
                   f'status {result.status}\n{result.output[-2000:]}')


def pulled(one):
    """The cable is unplugged and plugged in while a program waits for the events."""
    job = start(one, 'link')
    one.check('timeout 20 sh -c "until test -e /tmp/semantics/waits; do sleep 0.2; done"',
              25)
    for up in (False, True):
        links.qemu(one, 'set_link', name='nic', up=up)
        one.check('sleep 1')
    yield from results(job, 'link')


def answered(guests):
    """The host is the peer, at the other end of the wire."""
    peer = raw_peer.RawPeer(guests.folder / 'wire')
    try:
        yield from results(start(guests[0], 'peer'), 'peer')
    finally:
        peer.close()


def broken(guests):
    """The last of all. The driver's messages about it are expected."""
    if report.kernel_log(guests).result == 'ok':
        yield from results(start(guests[0], 'fatal'), 'fatal')
        guests[0].check('dmesg -c')


def cases(guests, short):
    one = guests[0]
    one.check('mkdir -p /tmp/semantics')
    for file in FOLDER.glob('*.py'):
        one.put(file, f'/tmp/semantics/{file.name}')
    for group in GROUPS if short else GROUPS + LONG:
        yield from results(start(one, group), group)
    yield from answered(guests)
    yield from pulled(one)
    yield from broken(guests)


SUITES = [Suite('semantics', 1, cases, about=('python3-pyverbs',))]
