# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows of the table: what happens to two machines, how often, and who verifies it."""
import re
import time
from functools import partial
from typing import Callable, NamedTuple

import flood
import linux
import machine
import pair
import report
from machine import Wrong


FORMS = ('short', 'long', 'full')


class Row(NamedTuple):
    """rounds(result, more) runs as long as more() says so, and fills in the result.

    counts: rounds of each of FORMS. share: of the form's time.
    """

    what: str
    interface: str
    link: str
    rounds: Callable
    counts: tuple
    share: float

    def count(self, form):
        return self.counts[FORMS.index(form)]


# ---- two machines of our own: a round each ------------------------------------------

def migrate(two, n):
    two.move(n % 2)


def postcopy(two, n):
    two.move(n % 2, postcopy=True)


def snapshot(two, n):
    two.move(n % 2, file=True)


def replug(two, n):
    two.replug(n % 2)


def die(two, n):
    """A machine is killed; the other end's retries end; a new machine takes its place."""
    two.die(n % 2)
    two.give_up(1 - n % 2)
    two.come_back(n % 2)


def fall_silent(two, n):
    """A machine stops and acknowledges nothing; the other end's retries end."""
    silent = two.machines[n % 2]
    silent.qmp('stop')
    two.give_up(1 - n % 2)
    silent.qmp('cont')
    two.connect()


def flap(two, _n):
    """The link is down for a time that the retries bridge."""
    two.link.cut(two.machines)
    time.sleep(0.05)
    two.link.mend(two.machines)


# Exponents of the ACK timeout. Where the connection must stay, its eight timeouts of one
# second bridge a host so busy that a machine does not run: with 0.27 s, both connections
# of rows that ran side by side ended in the same second.
# A flood makes the host drop packets of the connection, and each costs a timeout: with
# one second a round would only wait.
ALIVE, FLOODED, GIVES_UP = 18, 16, 15


class Step(NamedTuple):
    what: str
    step: Callable
    timeout: int                # exponent of the ACK timeout
    counts: tuple
    share: float


STEPS = (
    Step('migration', migrate, ALIVE, (2, 100, 100), 2),
    Step('postcopy', postcopy, ALIVE, (2, 100, 100), 2),
    Step('snapshot', snapshot, ALIVE, (2, 100, 100), 2),
    Step('unplug and plug', replug, ALIVE, (4, 250, 250), 2),
    Step('peer dies and returns', die, GIVES_UP, (1, 20, 100), 2),
    Step('peer never acknowledges', fall_silent, GIVES_UP, (1, 20, 100), 2),
    Step('link flaps', flap, ALIVE, (3, 100, 1000), 1),
    Step('flood', None, FLOODED, (2, 50, 100), 1),
)


def run_pair(step, interface, link, result, more):
    # Nothing is waited for but the end of the retries.
    properties = ',retry-time=1000' if step.timeout == GIVES_UP else ''
    with pair.Pair(interface, link, step.timeout, properties) as two:
        two.progress()
        two.settle()
        before = two.account()
        two.go_on()
        third = flood.Flood(two) if step.step is None else None
        act = (lambda _two, n: third.round(n)) if third else step.step
        try:
            while more():
                act(two, result.rounds)
                two.progress()
                result.samples.append(report.sample(
                    one.process.pid for one in two.machines))
                result.rounds += 1
            two.settle()
            result.verified = two.total()
            result.bytes = two.account() - before
        except Exception:
            result.notes = two.notes()
            raise
        finally:
            if third:
                third.close()


DEFECTS = {1: 'a byte that changed', 2: 'a message that is lost',
           3: 'an acknowledgement without a message'}
# What a row says of them; that nothing happens in time may be the host's fault.
FINDINGS = re.compile(r'line \d+ of main\.c|messages were completed')


def is_found(kind):
    """Whether the row reports a defect that the machines commit."""
    with pair.Pair('verbs', 'UDP', ALIVE) as two:
        two.progress()
        try:
            for _ in range(3):
                two.defect(kind)
        except Wrong as e:
            return bool(FINDINGS.search(str(e)))
    return False


BUSY = 12                       # seconds; the retries of a connection end after 9


def is_bridged():
    """Whether a connection outlives a host so busy that a snapshot takes long."""
    with pair.Pair('verbs', 'UDP', ALIVE) as two:
        two.progress()
        try:
            two.move(0, file=True, seconds=BUSY)
            two.progress()
        except Wrong:
            return False
    return True


def pairs():
    """Each step on each interface and each link; the short form has each interface with
    the links in turn."""
    for i, step in enumerate(STEPS):
        for j, interface in enumerate(machine.INTERFACES):
            for k, link in enumerate(pair.LINKS):
                short, *more = step.counts
                in_turn = (i + j + k) % len(pair.LINKS) == 0
                yield Row(step.what, interface, link,
                          partial(run_pair, step, interface, link),
                          (short if in_turn else 0, *more), step.share)


def rows():
    """The long ones first."""
    return [*(Row(what, 'driver', link, run, counts, share)
              for what, link, run, counts, share in linux.ROWS), *pairs()]
