# SPDX-License-Identifier: GPL-2.0-or-later
"""How the test files declare their tests.

Each file test_*.py has suites(), which yields Suites.
"""
import functools
import os
from typing import Callable, NamedTuple

import guest

KERNELS = ['6.1', '6.12']       # of our guests
NEWEST = 'testing'              # a further one that our driver is built for

# Whether the long form runs; a test that repeats something then does so more often.
LONG = bool(os.environ.get('ERNIC_LONG'))


class Suite(NamedTuple):
    """Tests on one set of machines, in order: later ones may use the effects of others.

    machines() returns a context manager, whose value is the tests' argument. long: names
    of tests that only the long form runs, '*' for all. same: the suite whose short form
    has tests of these names, or a sentence that says what else finds the same.
    """

    name: str
    machines: Callable
    tests: list
    long: str = ''
    same: str = ''

    def is_long(self, test):
        return self.long == '*' or name_of(test) in self.long.split()


def name_of(test):
    return test.__name__.removeprefix('test_')


def named(name, function, *arguments):
    """A test of that name: the function with arguments after the machines."""
    @functools.wraps(function)
    def test(guests):
        function(guests, *arguments)
    test.__name__ = name
    return test


def slow(reason):
    """Declares why a test of the short form takes more than a minute."""
    def mark(test):
        test.slow = reason
        return test
    return mark


def ours(count, link, kernel, **more):
    """Suite.machines: guests with the image of that kernel; more: for guest.Guests."""
    return functools.partial(guest.Guests, count, link,
                             functools.partial(guest.find_image, kernel), **more)


def check(suites):
    """Each name of Suite.long is a test, and is in the short form of Suite.same."""
    known = {one.name: one for one in suites}
    assert len(known) == len(suites), 'two suites have the same name'
    for one in suites:
        tests = {name_of(test): test for test in one.tests}
        assert len(tests) == len(one.tests), f'{one.name}: two tests have the same name'
        long = [name for name, test in tests.items() if one.is_long(test)]
        unknown = set(one.long.split()) - {*tests, '*'}
        assert not unknown, f'{one.name} has no test {unknown}'
        assert bool(long) == bool(one.same), one.name
        if ' ' in one.same:
            continue
        for name in long:
            other = known[one.same]
            assert any(name_of(test) == name and not other.is_long(test)
                       for test in other.tests), f'no short {one.same}/{name}'
