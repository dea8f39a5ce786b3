#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The instructions of a message do not depend on how many objects there are. TAP.

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

MESSAGES = 2000
# A port looks at the ring of each peer.
CASES = [('queue-pairs', 5000, 1.05), ('regions', 65536, 1.05),
         ('completions', 200000, 1.05), ('contexts', 500, 1.05), ('ports', 6, 1.2)]


def instructions(what, number):
    """The count for one message: request, packets, completion, and their software."""
    with tempfile.NamedTemporaryFile('r') as out:
        done = subprocess.run(
            ['valgrind', '--tool=callgrind', '--collect-atstart=no',
             '--toggle-collect=run_messages',
             '--toggle-collect=run_trains', f'--callgrind-out-file={out.name}',
             sys.argv[1], what, str(number)],
            capture_output=True, text=True, timeout=600, check=False)
        total = re.search(r'^(?:summary|totals): (\d+)', out.read(), re.M)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f'{MESSAGES} messages\n'
    return int(total[1]) / MESSAGES


def check_growth(what, many, most):
    few, more = (instructions(what, number) for number in (1, many))
    print(f'# {what}: {few:.0f} instructions with 1, {more:.0f} with {many}')
    assert 1000 < few < 100000
    assert more / few < most


if __name__ == '__main__':
    sys.exit(checks.run([(case[0], partial(check_growth, *case)) for case in CASES]))
