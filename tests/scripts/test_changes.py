# SPDX-License-Identifier: GPL-2.0-or-later
"""Walk scripts/changes, the table of scripts/test --changed, and the files of tests.
Prints TAP.

Each row is the first one that fits some file, and each name chooses a test of $BUILD_DIR.
Each file of tests belongs to a test there."""
import json
import os
import re
import runpy
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
front = SimpleNamespace(**runpy.run_path(str(ROOT / 'scripts/test')))
# These change what is built, for which no part is enough.
EVERYTHING = ('meson.build', 'meson_options.txt', '.ci/run')
# tests/guest/declared.py has those of the guests.
TESTS = re.compile(r'(?!tests/guest/).*/(test_.*\.py|(test|fuzz)-.*\.c)')


def files():
    done = subprocess.run(['git', '-C', ROOT, 'ls-files'], stdout=subprocess.PIPE,
                          text=True, check=True)
    return [path for path in done.stdout.splitlines() if path not in EVERYTHING]


@pytest.fixture(scope='module')
def used():
    return {row[0] for row in map(front.row_of, files()) if row}


@pytest.fixture(scope='module')
def known():
    return front.known_tests(front.introspect())


def test_every_file():
    for path in files():
        assert front.row_of(path), f'no row of scripts/changes fits {path}'
    for path in EVERYTHING:
        assert front.names_of_paths(['README.md', path]) is None, path


@pytest.mark.parametrize('pattern', [pattern for pattern, _ in front.rows()])
def test_every_row(used, pattern):
    assert pattern in used, f'{pattern} is the first row of no file'


@pytest.mark.parametrize('name', dict.fromkeys(
    name for _, names in front.rows() for name in names))
def test_every_name(known, name):
    assert list(front.choose(known, [name], True)), f'no test has {name}'


def test_every_test():
    """Meson starts it, or a program with it."""
    said = json.loads(subprocess.run(
        ['meson', 'introspect', '--tests', '--targets', front.BUILD], check=True,
        stdout=subprocess.PIPE).stdout)
    known = {os.path.realpath(Path(front.BUILD, word))
             for test in said['tests'] for word in test['cmd']}
    known |= {source for target in said['targets']
              if known & set(target['filename']) or target['type'] == 'custom'
              for group in target['target_sources']
              for source in group.get('sources', ())}
    lost = [path for path in files()
            if TESTS.fullmatch(path) and str(ROOT / path) not in known]
    assert not lost, f'no test of meson: {lost}'
