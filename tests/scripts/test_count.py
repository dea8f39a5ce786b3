#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Give count-tests.py good and broken results. Prints TAP."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import cases

SCRIPT = Path(__file__).resolve().parents[2] / 'scripts' / 'count-tests.py'

# (what, TAP, exit status, expected output)
TAP = [
    ('all good', '1..2\nok 1 - a\nok 2 - b\n', 0, '2 0 0\n'),
    ('plan at the end', 'ok 1 a\n1..1\n', 0, '1 0 0\n'),
    ('diagnostics', '# x\n1..1\nnoise\nok 1 - a\n', 0, '1 0 0\n'),
    ('a failure', '1..2\nok 1 - a\nnot ok 2 - b c\n', 1, '1 1 0\nb c\n'),
    ('a failure without a name', '1..1\nnot ok 1\n', 1, '0 1 0\n1\n'),
    ('failure and status 0', '1..1\nnot ok 1 - a\n', 0, '0 1 0\na\n'),
    ('skip', '1..1\nok 1 - a # SKIP why\n', 0, '0 0 1\n'),
    ('all skipped', '1..0 # SKIP why\n', 0, '0 0 1\n'),
    ('todo', '1..1\nnot ok 1 - a # TODO\n', 0, '0 0 1\n'),
    ('good lines, bad status', '1..1\nok 1 - a\n', 139, '1 1 0\nexit status 139\n'),
    ('died early', '1..3\nok 1 - a\n', 134, '1 1 0\n1 results, 3 planned\n'),
    ('died early with status 0', '1..3\nok 1 - a\n', 0,
     '1 1 0\n1 results, 3 planned\n'),
    ('too many', '1..1\nok 1\nok 2\n', 0, '2 1 0\n2 results, 1 planned\n'),
    ('no plan', 'ok 1 - a\n', 0, '1 1 0\n1 results, None planned\n'),
    ('silence', '', 0, '0 1 0\nno results, exit status 0\n'),
    ('a wrong option', 'usage: x\n', 2, '0 1 0\nno results, exit status 2\n'),
    ('bail out', '1..1\nok 1\nBail out! why\n', 0, '1 1 0\nBail out! why\n'),
]


def entry(name, result, status, stdout=''):
    return json.dumps({'name': name, 'result': result, 'returncode': status,
                       'stdout': stdout}) + '\n'


# (what, test log, expected output)
MESON = [
    ('exit code protocol', entry('p:style / a', 'OK', 0), '1 0 0\n'),
    ('exit code failure', entry('p:style / a', 'FAIL', 1, 'x'), '0 1 0\na: fail\n'),
    ('timeout', entry('a', 'TIMEOUT', -9), '0 1 0\na: timeout\n'),
    ('skip', entry('a', 'SKIP', 77), '0 0 1\n'),
    ('TAP', entry('p:unit / a', 'OK', 0, '1..2\nok 1 /x\nok 2 /y\n'), '2 0 0\n'),
    ('TAP failure', entry('a', 'FAIL', 1, '1..2\nok 1 /x\nnot ok 2 /y\n'),
     '1 1 0\na: /y\n'),
    ('TAP abort', entry('a', 'ERROR', -6, '1..2\nok 1 /x\n'),
     '1 1 0\na: 1 results, 2 planned\n'),
    ('TAP timeout', entry('a', 'TIMEOUT', 0, '1..1\nok 1 /x\n'),
     '1 1 0\na: timeout\n'),
    ('two tests', entry('a', 'OK', 0) + entry('b', 'ERROR', 1), '1 1 0\nb: error\n'),
]


def counted(kind, text, more, want):
    with tempfile.NamedTemporaryFile('w', suffix='.log') as f:
        f.write(text)
        f.flush()
        got = subprocess.run([sys.executable, SCRIPT, kind, f.name, *more],
                             stdout=subprocess.PIPE, text=True, check=False).stdout
    assert got == want, f'wanted {want!r}, got {got!r}'


def main():
    return cases.run([(f'tap: {name}', counted, 'tap', text, [str(status)], want)
                      for name, text, status, want in TAP]
                     + [(f'meson: {name}', counted, 'meson', text, [], want)
                        for name, text, want in MESON])


if __name__ == '__main__':
    sys.exit(main())
