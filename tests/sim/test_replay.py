#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A seed replays identically, log and all, and two seeds differ. Prints TAP.

usage: test_replay.py ERNIC-SIM
"""
import subprocess
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'common'))
import checks                                       # noqa: E402

SEEDS = ['3', '17', '42', '1000000007']
histories = set()


def check_seed(seed):
    first, second = (subprocess.run([sys.argv[1], '--seed', seed, '--verbose'],
                                    stdout=subprocess.PIPE, check=False).stdout
                     for _ in range(2))
    assert first == second and b'# history ' in first
    histories.update(line for line in first.splitlines()
                     if line.startswith(b'# history '))


def check_different():
    assert len(histories) == len(SEEDS)


if __name__ == '__main__':
    sys.exit(checks.run([(f'seed {seed} replays identically', partial(check_seed, seed))
                         for seed in SEEDS] + [('seeds differ', check_different)]))
