#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The instructions of a message do not depend on how many objects there are, nor on how
many members a lab has. TAP.

usage: test_scale.py ERNIC-SCALE

Callgrind counts them, so a busy host changes nothing. The time that the processor's
caches cost is in ernic-bench.
"""
import re
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'common'))
import checks                                       # noqa: E402

ENGINE_MOST = 1.05
ENGINE = [('queue-pairs', 5000), ('regions', 65536), ('completions', 200000),
          ('contexts', 500)]
# The search for the owner of an address takes the logarithm of their number.
LAB_MOST = 1.2
# A member that polls looks at the rings of all that send: about 40 instructions for each,
# of the 10,000 of a message.
POLLS_MOST = 1.5
MEMBERS = [2, 4, 8]
# The wake-ups of a train that a member receives.
LAB = [('lab-idle', LAB_MOST, 1), ('lab-polls', LAB_MOST, 0),
       ('lab-polls-each', POLLS_MOST, 0), ('lab-pairs', LAB_MOST, 1),
       ('lab-to-each', LAB_MOST, 1), ('lab-from-each', LAB_MOST, 1),
       ('lab-frames', LAB_MOST, 1)]


def count(what, number):
    """The instructions of a message or train of both sides, and its wake-ups."""
    with tempfile.NamedTemporaryFile('r') as out:
        done = subprocess.run(
            ['valgrind', '--tool=callgrind', '--collect-atstart=no',
             '--toggle-collect=run_messages',
             '--toggle-collect=run_trains', f'--callgrind-out-file={out.name}',
             sys.argv[1], what, str(number)],
            capture_output=True, text=True, timeout=600, check=False)
        total = re.search(r'^(?:summary|totals): (\d+)', out.read(), re.M)
    assert done.returncode == 0, done.stderr
    ran = re.fullmatch(r'(\d+) (?:messages|trains)(?:, (\d+) wake-ups)?\n', done.stdout)
    messages = int(ran[1])
    assert messages > 1000
    return int(total[1]) / messages, int(ran[2] or 0) / messages


def check_growth(what, numbers, most, wakeups=0):
    """No number of objects or members takes more than @most times what the first does."""
    counts = [count(what, number) for number in numbers]
    few = counts[0][0]
    print(f'# {what}: instructions, ratio and wake-ups:', '; '.join(
        f'{number}: {per:.0f}, {per / few:.3f}, {woken:.2f}'
        for number, (per, woken) in zip(numbers, counts)))
    assert 500 < few < 100000
    assert all(per / few < most and woken == wakeups for per, woken in counts)


def check_broadcast():
    """Each further member takes a copy, and as much as those before it."""
    counts = [count('lab-broadcast', number) for number in MEMBERS]
    two, four, eight = ((number - 1) * per for number, (per, _) in zip(MEMBERS, counts))
    some, more = (four - two) / 2, (eight - four) / 4
    print(f'# lab-broadcast: instructions with 2 members: {two:.0f}; of each further '
          f'one up to 4: {some:.0f}, up to 8: {more:.0f}, ratio {more / some:.3f}')
    assert 500 < some < 100000
    assert more / some < LAB_MOST and eight / 7 / two < LAB_MOST
    assert all(woken == 1 for _, woken in counts)


if __name__ == '__main__':
    sys.exit(checks.run(
        [(what, partial(check_growth, what, [1, many], ENGINE_MOST))
         for what, many in ENGINE] +
        [(what, partial(check_growth, what, MEMBERS, most, wakeups))
         for what, most, wakeups in LAB] + [('lab-broadcast', check_broadcast)]))
