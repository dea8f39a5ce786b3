# SPDX-License-Identifier: GPL-2.0-or-later
"""pytest prints the Test Anything Protocol, with the seconds of each test.

Comments before the line of a test have its output, and the reason of a failure.
"""
import sys

import pytest

SLOW = 60                       # seconds; a test that takes longer has a reason


def pytest_addoption(parser):
    parser.addoption('--tap', action='store_true', help='print TAP, for meson')


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    if config.getoption('tap'):
        config.pluginmanager.unregister(name='terminalreporter')
        config.pluginmanager.register(Tap(), 'ernic-tap')


def comment(text):
    for line in text.splitlines():
        print(line if line.startswith('#') else f'# {line}', flush=True)


class Tap:
    """Prints a test when all three of its phases have ended."""

    def __init__(self):
        self.number = 0
        self.reports = []
        self.slow = {}

    def pytest_collectreport(self, report):
        if report.failed:
            comment(report.longreprtext)
            print('Bail out! The tests cannot be collected', flush=True)

    def pytest_collection_finish(self, session):
        self.slow = {item.nodeid: getattr(item, 'slow', '') for item in session.items}
        print(f'1..{len(session.items)}', flush=True)

    def pytest_internalerror(self, excrepr):
        print(excrepr, file=sys.stderr)

    def pytest_runtest_logreport(self, report):
        self.reports.append(report)
        if report.when == 'teardown':
            self.result(report.nodeid, {one.when: one for one in self.reports})
            self.reports = []

    def result(self, nodeid, phases):
        comment(phases['teardown'].capstdout)
        for report in phases.values():
            if report.failed:
                for title, text in report.sections:
                    if not title.startswith('Captured stdout'):
                        comment(f'--- {title}\n{text}')
                comment(report.longreprtext)    # the reason is the last line
        # Machines start before the first test of a suite, and stop after the last one.
        if phases['setup'].duration > 0.5:
            comment(f'{phases["setup"].duration:.1f} s: machines')
        self.number += 1
        good = all(report.passed for report in phases.values())
        print('ok' if good else 'not ok', self.number, '-',
              '/'.join(nodeid.split('::')[1:]), flush=True)
        seconds = phases['call'].duration if 'call' in phases else 0
        reason = self.slow[nodeid]
        comment(f'{seconds:.1f} s' + (f': {reason}' if reason and seconds > SLOW else ''))
