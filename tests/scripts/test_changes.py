#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Walk scripts/changes, the table of scripts/test --changed. Prints TAP.

usage: test_changes.py BUILD

Each row is the first one that fits some file, and each name chooses a test of BUILD."""
import os
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

import cases

ROOT = Path(__file__).resolve().parents[2]
os.environ['BUILD_DIR'] = sys.argv[1]
sys.path.insert(0, str(ROOT / 'scripts'))
front = SourceFileLoader('front', str(ROOT / 'scripts/test')).load_module()
# These change what is built, for which no part is enough.
EVERYTHING = ('meson.build', 'meson_options.txt', '.ci/run')


def files():
    done = subprocess.run(['git', '-C', ROOT, 'ls-files'], stdout=subprocess.PIPE,
                          text=True, check=True)
    return [path for path in done.stdout.splitlines() if path not in EVERYTHING]


def every_file():
    for path in files():
        assert front.row_of(path), f'no row of scripts/changes fits {path}'
    for path in EVERYTHING:
        assert front.names_of_paths(['README.md', path]) is None, path


def every_row(used, pattern):
    assert pattern in used, f'{pattern} is the first row of no file'


def every_name(known, name):
    assert list(front.choose(known, [name], True)), f'no test has {name}'


def main():
    known = front.known_tests(front.introspect())
    table = list(front.rows())
    used = {row[0] for row in map(front.row_of, files()) if row}
    names = dict.fromkeys(name for _, names in table for name in names)
    return cases.run(
        [('every file', every_file)]
        + [(f'row {pattern}', every_row, used, pattern) for pattern, _ in table]
        + [(f'name {name}', every_name, known, name) for name in names])


if __name__ == '__main__':
    sys.exit(main())
