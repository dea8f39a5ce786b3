# SPDX-License-Identifier: GPL-2.0-or-later
"""How the test files declare their tests, and how these are run."""
import itertools
import time
import traceback
from typing import Callable, NamedTuple

import together

# Tests that are known to fail, and the reason: 'suite/test': 'reason'.
EXPECTED_FAILURES = {}


class Suite(NamedTuple):
    """Tests on one set of machines, in order: later ones may use the effects of others.

    machines() returns a context manager, whose value is the tests' argument.
    """

    name: str
    machines: Callable
    tests: list


def test_name(suite, test):
    return f'{suite.name}/{test.__name__.removeprefix("test_")}'


def named(name, function, *arguments):
    """A test of that name: the function with arguments after the machines."""
    def test(guests):
        function(guests, *arguments)
    test.__name__ = name
    return test


class Tap:
    """The Test Anything Protocol, with the reasons of failures before their line."""

    def __init__(self, number):
        """number: of the results before."""
        self.number = number
        self.failed = 0

    def comment(self, text):
        for line in text.splitlines():
            print('#', line, flush=True)

    def result(self, name, passed):
        self.number += 1
        directive = ''
        if name in EXPECTED_FAILURES:
            if passed:
                self.comment('This was expected to fail: remove it from the list.')
            else:
                directive = f' # TODO {EXPECTED_FAILURES[name]}'
            passed = not passed
        self.failed += not passed
        print('ok' if passed and not directive else 'not ok', self.number, '-',
              name + directive, flush=True)


def run_suite(suite, tap):
    try:
        machines = suite.machines()
    except Exception:                           # the other suites have to run
        tap.comment(traceback.format_exc())
        for test in suite.tests:
            tap.result(test_name(suite, test), False)
        return
    failed = tap.failed
    with machines as guests:
        for test in suite.tests:
            passed = True
            start = time.monotonic()
            try:
                test(guests)
            except Exception:                   # and so do the other tests
                tap.comment(traceback.format_exc())
                passed = False
            tap.result(test_name(suite, test), passed)
            tap.comment(f'{time.monotonic() - start:.1f} s')
        if tap.failed > failed:
            for guest in guests:
                tap.comment(guest.tail())


def run(suites, jobs):
    """Run all suites, so many at a time; the exit status."""
    before = list(itertools.accumulate((len(suite.tests) for suite in suites), initial=0))

    def run_one(n):
        tap = Tap(before[n])
        start = time.monotonic()
        run_suite(suites[n], tap)
        tap.comment(f'{suites[n].name}: {time.monotonic() - start:.0f} s')
        return tap.failed

    print(f'1..{before[-1]}', flush=True)
    return 1 if sum(together.run(run_one, len(suites), jobs)) else 0
