#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The verdict and the table of the soaks: tests/soak/report.py. Prints TAP."""
import sys
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'soak'))

import cases                                                    # noqa: E402
import report                                                   # noqa: E402

ROW = SimpleNamespace(what='flap', face='verbs', link='UDP')
MIB = 1 << 10                   # in KiB


def result(samples, rounds=10, verified=100, full=10):
    one = report.Result(ROW, rounds, full)
    one.samples = [report.Sample(memory, files) for memory, files in samples]
    one.rounds, one.verified = rounds, verified
    return one


def errors(one):
    one.judge()
    return one.errors


def flat():
    """Memory that fills at the start, and changes a little later, has not grown."""
    samples = [(20 * MIB, 5), (60 * MIB, 10)] + 7 * [(100 * MIB, 10)]
    assert not errors(result(samples + [(110 * MIB, 11)]))


def grows():
    memory = [((100 + 5 * n) * MIB, 10) for n in range(10)]
    files = [(100 * MIB, 10 + n) for n in range(10)]
    assert 'memory grew' in errors(result(memory))[0]
    assert 'open files grew' in errors(result(files))[0]


def leftovers():
    one = result([(1, 1)])
    one.left = 1
    assert '1 objects and 0 bytes are left' in errors(one)
    one = result([(1, 1)])
    one.bytes = 64
    assert '0 objects and 64 bytes are left' in errors(one)


def nothing():
    """A row without a round, or without a message that was verified, has failed."""
    assert errors(result([], rounds=0)) == ['no round ended']
    assert errors(result([(1, 1)], verified=0)) == ['nothing was verified']


def table():
    """A reduced number of rounds shows the full one; an error is counted."""
    full, reduced = result([(MIB, 1)]), result([(MIB, 1)], rounds=3)
    reduced.errors = ['wrong']
    for one in full, reduced:
        one.judge()
    lines = report.table('today', [full, reduced])
    assert lines[0] == 'today' and '| 10 ' in lines[4] and ' of ' not in lines[4]
    assert '| 3 of 10 ' in lines[5] and '| 1      |' in lines[5], lines[5]


def sample():
    """Of this process, and of two."""
    one = report.sample(['self'])
    assert one.memory > 1000 and one.files > 2
    two = report.sample(['self', 'self'])
    assert two.memory > 1.5 * one.memory and two.files >= 2 * one.files - 2


if __name__ == '__main__':
    sys.exit(cases.run((test.__name__, test) for test in (
        flat, grows, leftovers, nothing, table, sample)))
