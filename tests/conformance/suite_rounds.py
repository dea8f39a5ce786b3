# SPDX-License-Identifier: GPL-2.0-or-later
"""The device is removed and added under its users, and no object is left.

20 rounds on Debian's kernel; 1,000 on one that checks locking and finds leaks
(guest/image/debug_kernel.py). The short form has the same events in driver-6.1/unplug and
in the soak of unplug under Linux.
"""
import re

import guest
import links
import stacks
from report import case
from stacks import Suite

# Rounds at a time, and the number of times.
ROUNDS, TIMES = 20, 50
SECONDS = 60                    # for a round, at the most
TROUBLE = re.compile(r'.*(?:\bBUG\b|WARNING:|Oops|Call Trace|INFO: task|ODEBUG|refcount'
                     r'|ernic.*(?:bad|error|no answer)|waiting for .* to become free).*')
KMEMLEAK = '/sys/kernel/debug/kmemleak'


class Machine(links.Link):
    """Two processors, which race; the device talks to itself.

    The debug kernel has no ACPI, and finds processors by socket only.
    """

    words = ('-smp', '2,sockets=2')


def trouble(one):
    """Its lines in the kernel's log, and the lines after the first of them."""
    said = one.check('dmesg')
    found = TROUBLE.search(said)
    return found and said[found.start():found.start() + 6000]


def some_rounds(one, rounds):
    result = one.run(f'python3 /tmp/inside/rounds.py {rounds} {links.ipv4(0)}',
                     rounds * SECONDS)
    pings = re.search(r'pings (\d+)', result.output)
    if result.status or not pings or not int(pings[1]):
        return result.output[-3000:]
    return trouble(one)


def leaks(one):
    """The findings of kmemleak, which scans young objects again 5 seconds later. Without
    memory for its own objects it stops for good, finds nothing, and refuses to scan."""
    for _ in range(2):
        one.check(f'echo scan >{KMEMLEAK} && sleep 6', 300)
    return one.check(f'cat {KMEMLEAK}', 60)[:6000]


def come_and_go(guests, rounds, times):
    one = guests[0]
    links.up(guests, stacks.MTU)
    one.put_programs()
    for n in range(times):
        why = some_rounds(one, rounds)
        yield case(f'{rounds} rounds, number {n + 1}', not why, why)
        if why:
            return


def cases(guests, _):
    yield from come_and_go(guests, ROUNDS, 1)


def debug_cases(guests, _):
    one = guests[0]
    yield from come_and_go(guests, ROUNDS, TIMES)
    one.check('mount -t debugfs none /sys/kernel/debug')
    found = leaks(one)
    yield case('no leak', not found, found)
    locks = one.check('cat /proc/lockdep_stats')
    yield case('locking was watched', re.search(r'debug_locks: +1', locks), locks)


def start(kernel):
    return guest.Guests(1, Machine(), stacks.image(kernel, ()), memory=1536,
                        cold="the debug kernel has no ACPI, which plugs devices in")


SUITES = [Suite('rounds', 1, cases, devices=('ernic',), short=(),
                start=lambda _: start('6.1')),
          Suite('rounds-debug', 1, debug_cases, devices=('ernic',), short=(),
                start=lambda _: start('6.1-debug'))]
