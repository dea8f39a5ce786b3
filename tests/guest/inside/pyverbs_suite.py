# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs rdma-core's own tests, those for any device: a line "RESULT NAME" for each.

usage: pyverbs_suite.py DEVICE GID-INDEX
"""
import sys
import traceback
import unittest
from pathlib import Path

ROOT = Path('/usr/share/rdma-core-tests')


class Lines(unittest.TestResult):
    def line(self, result, test, why=''):
        print(result, test.id().removeprefix('tests.'), why, flush=True)

    def addSuccess(self, test):
        self.line('ok', test)

    def addSkip(self, test, reason):
        self.line('skip', test, reason)

    def addError(self, test, err):
        traceback.print_exception(*err)
        self.line('fail', test)

    addFailure = addError

    def addSubTest(self, test, subtest, err):
        if err:
            self.addError(test, err)


def main():
    sys.path[:0] = [str(ROOT), str(ROOT / 'tests')]
    sys.argv[1:] = ['--dev', sys.argv[1], '--gid', sys.argv[2]]
    # The tests import it by this name.
    from args_parser import parser
    parser.parse_args()
    names = ['tests.' + file.stem for file in sorted((ROOT / 'tests').glob('test_*.py'))
             if 'mlx5' not in file.stem and 'efa' not in file.stem]
    unittest.defaultTestLoader.loadTestsFromNames(names).run(Lines())


main()
