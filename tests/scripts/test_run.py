#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Two runs of scripts/test in one build directory. Prints TAP."""
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import cases

SCRIPT = Path(__file__).resolve().parents[2] / 'scripts' / 'test'
# The first step of a run; it ends the run.
INSTALL = """#!/bin/bash
flock -n "$BUILD_DIR/lock" echo free || echo held
exit 3
"""


def start(root, build):
    """Exit status and output of a run in a checkout that has nothing but the script."""
    scripts = root / 'scripts'
    scripts.mkdir(exist_ok=True)
    shutil.copy(SCRIPT, scripts)
    (scripts / 'install-packages').write_text(INSTALL)
    (scripts / 'install-packages').chmod(0o755)
    run = subprocess.run([scripts / 'test', 'style'], text=True, check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         env={**os.environ, 'BUILD_DIR': str(build)})
    return run.returncode, run.stdout


def first(root):
    """A run holds the lock from its first step on, and no longer than it lasts."""
    for _ in range(2):
        assert start(root, root / 'build') == (3, 'held\n')


def second(root):
    """Another run is refused and leaves the results alone."""
    build = root / 'build'
    build.mkdir()
    with open(build / 'lock', 'w', encoding='utf-8') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        status, output = start(root, build)
    assert status == 2 and f'another run uses {build}' in output, (status, output)
    assert [path.name for path in build.iterdir()] == ['lock']


def elsewhere(root):
    """A run in another directory is not refused."""
    (root / 'build').mkdir()
    with open(root / 'build/lock', 'w', encoding='utf-8') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert start(root, root / 'other') == (3, 'held\n')


def alone(test):
    with tempfile.TemporaryDirectory() as name:
        test(Path(name))


def main():
    return cases.run((test.__name__, alone, test) for test in (first, second, elsewhere))


if __name__ == '__main__':
    sys.exit(main())
