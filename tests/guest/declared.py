#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks the declarations of all suites, and that meson.build has each of them.

usage: declared.py NAME... --long NAME...
"""
import importlib
import sys
from pathlib import Path

import suite


def main(short, long):
    suites = [one for file in sorted(Path(__file__).parent.glob('test_*.py'))
              for one in importlib.import_module(file.stem).suites()]
    suite.check(suites)
    for names, wanted in ((short, False), (long, True)):
        declared = {one.name for one in suites if wanted == all(map(one.is_long,
                                                                    one.tests))}
        assert set(names) == declared, f'meson.build: {set(names) ^ declared}'


if __name__ == '__main__':
    at = sys.argv.index('--long')
    main(sys.argv[1:at], sys.argv[at + 1:])
