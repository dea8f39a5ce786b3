# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests in guests, as docs/testing.md describes. A suite is a set of machines and its
tests, in order; meson.build has the list of them.
"""
import os

import pytest

import folders
import guest
import suite

pytest_plugins = ['tap']


def pytest_addoption(parser):
    parser.addoption('--long', action='store_true', default=suite.LONG,
                     help='also what only the long form runs')
    parser.addoption('--suite', help='only the suite of that name')


def pytest_pycollect_makemodule(module_path, parent):
    return Topic.from_parent(parent, path=module_path)


def pytest_configure():
    folders.end_at_sigterm()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    only = config.getoption('suite')
    if only and not items:
        raise pytest.UsageError(f'{only} has no test in this form: scripts/test --long '
                                '--list shows the names; --long runs the long form')


class Topic(pytest.Module):
    """A file test_*.py."""

    def collect(self):
        only = self.config.getoption('suite')
        for one in self.obj.suites():
            if only in (None, one.name):
                yield Machines.from_parent(self, name=one.name, suite=one)


class Machines(pytest.Collector):
    """A suite. Its machines run from before its first test until after its last one."""

    def __init__(self, *, suite, **more):
        super().__init__(**more)
        self.suite = suite
        self.context = self.guests = None

    def collect(self):
        for test in self.suite.tests:
            if self.config.getoption('long') or not self.suite.is_long(test):
                yield Test.from_parent(self, name=suite.name_of(test), function=test)

    def setup(self):
        os.environ['QEMU'] = guest.find_qemu()
        context = self.suite.machines()
        self.guests = context.__enter__()
        self.context = context

    def teardown(self):
        if self.context:
            self.context.__exit__(None, None, None)


class Test(pytest.Item):
    """Passes unless the function raises an exception."""

    def __init__(self, *, function, **more):
        super().__init__(**more)
        self.function = function
        self.slow = getattr(function, 'slow', '')

    def runtest(self):
        try:
            self.function(self.parent.guests)
        except Exception:
            for one in self.parent.guests:
                self.add_report_section('call', one.name, one.tail())
            raise

    def reportinfo(self):
        return self.path, None, self.nodeid
