#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Walk scripts/changes, the table of scripts/test --changed, and the files of tests.
Prints TAP.

usage: test_changes.py BUILD

Each row is the first one that fits some file, and each name chooses a test of BUILD.
Each file of tests belongs to a test of BUILD."""
import json
import os
import re
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
# tests/guest/declared.py has those of the guests.
TESTS = re.compile(r'(?!tests/guest/).*/(test_.*\.py|(test|fuzz)-.*\.c)')


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


def every_test():
    """Meson starts it, or a program with it."""
    said = json.loads(subprocess.run(
        ['meson', 'introspect', '--tests', '--targets', sys.argv[1]], check=True,
        stdout=subprocess.PIPE).stdout)
    known = {os.path.realpath(Path(sys.argv[1], word))
             for test in said['tests'] for word in test['cmd']}
    known |= {source for target in said['targets']
              if known & set(target['filename']) or target['type'] == 'custom'
              for group in target['target_sources']
              for source in group.get('sources', ())}
    lost = [path for path in files()
            if TESTS.fullmatch(path) and str(ROOT / path) not in known]
    assert not lost, f'no test of meson: {lost}'


def main():
    known = front.known_tests(front.introspect())
    table = list(front.rows())
    used = {row[0] for row in map(front.row_of, files()) if row}
    names = dict.fromkeys(name for _, names in table for name in names)
    return cases.run(
        [('every file', every_file), ('every test', every_test)]
        + [(f'row {pattern}', every_row, used, pattern) for pattern, _ in table]
        + [(f'name {name}', every_name, known, name) for name in names])


if __name__ == '__main__':
    sys.exit(main())
