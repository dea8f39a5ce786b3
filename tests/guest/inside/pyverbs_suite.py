# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs those of rdma-core's tests that suit any device: a line "RESULT NAME" for each.

usage: pyverbs_suite.py DEVICE GID-INDEX
"""
import multiprocessing
import os
import re
import signal
import sys
import traceback
import unittest
from pathlib import Path

ROOT = Path('/usr/share/rdma-core-tests')
# Tests that fail, rather than skip, where the kernel is older than this.
KERNELS = {
    # The library writes an event into the CM by a command that came with it.
    'test_rdmacm.CMTestCase.test_rdmacm_async_resolve_addrinfo': (6, 17),
}


def name_of(test):
    return test.id().removeprefix('tests.')


class Lines(unittest.TestResult):
    said = 0

    def line(self, result, test, why=''):
        self.said += 1
        print(result, name_of(test), why, flush=True)

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


def tests_in(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_in(test)
        else:
            yield test


def skip_by_kernel(suite):
    kernel = tuple(map(int, re.match(r'(\d+)\.(\d+)', os.uname().release).groups()))
    for test in tests_in(suite):
        needs = KERNELS.get(name_of(test), (0, 0))
        if kernel < needs:
            why = f'needs Linux {needs[0]}.{needs[1]}'
            setattr(test, test._testMethodName, unittest.skip(why)(lambda: None))


def run_alone(test):
    """Run it in a process of its own, so that a test that dies ends no other.

    A test without a result has failed too.
    """
    child = os.fork()
    if not child:
        lines = Lines()
        unittest.TestSuite([test]).run(lines)
        os._exit(not lines.said)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        what = signal.strsignal(-status) if status < 0 else f'exit status {status}'
        print(f'The test died: {what}.')
        Lines().line('fail', test)


def main():
    sys.path[:0] = [str(ROOT), str(ROOT / 'tests')]
    device, gid = sys.argv[1:]
    sys.argv[1:] = ['--dev', device, '--gid', gid]
    # The tests import it by this name.
    from args_parser import parser
    parser.parse_args()
    names = [file.stem for file in sorted((ROOT / 'tests').glob('test_*.py'))
             if 'mlx5' not in file.stem and 'efa' not in file.stem]
    suite = unittest.defaultTestLoader.loadTestsFromNames('tests.' + name
                                                          for name in names)
    skip_by_kernel(suite)
    # Tests start processes as copies of themselves; Python 3.14 no longer does that
    # unasked.
    multiprocessing.set_start_method('fork')
    for test in tests_in(suite):
        run_alone(test)


if __name__ == '__main__':
    main()
