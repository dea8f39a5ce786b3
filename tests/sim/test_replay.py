#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A seed replays identically, log and all, and two seeds differ.

usage: test_replay.py ERNIC-SIM
"""
import subprocess
import sys

SEEDS = ['3', '17', '42', '1000000007']


def log(seed):
    run = subprocess.run([sys.argv[1], '--seed', seed, '--verbose'],
                         stdout=subprocess.PIPE, check=False)
    return run.stdout


def main():
    histories = []
    failed = 0
    for n, seed in enumerate(SEEDS, 1):
        first, second = log(seed), log(seed)
        ok = first == second and b'# history ' in first
        failed += not ok
        print(f'{"" if ok else "not "}ok {n} - seed {seed} replays identically')
        histories += [line for line in first.splitlines()
                      if line.startswith(b'# history ')]
    ok = len(set(histories)) == len(SEEDS)
    failed += not ok
    print(f'{"" if ok else "not "}ok {len(SEEDS) + 1} - seeds differ')
    print(f'1..{len(SEEDS) + 1}')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
