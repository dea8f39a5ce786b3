# SPDX-License-Identifier: GPL-2.0-or-later
"""A case and its result, and the results of all: TAP as they come, then the table."""
import datetime
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import table

# No suite may leave these in the kernel's log. rdma_rxe of 6.12 logs each completion in
# error ("ernic0: qp#17 ..."), which is allowed.
TROUBLE = re.compile(r'.*(?:\bBUG\b|WARNING:|Oops|Call Trace|'
                     r'ernic(?!0: qp#).*(?:bad|error)).*')


class Case(NamedTuple):
    """result: 'ok', 'fail' or 'skip'. why: the reason or the message; may be ''."""

    name: str
    result: str
    why: str = ''


def read_pins(path):
    """{'SUITE/CASE': reason} of a file of such lines; "#" begins a comment."""
    pins = {}
    for line in Path(path).read_text(encoding='utf-8').splitlines():
        if line and not line.startswith('#'):
            name, reason = line.split(': ', 1)
            assert name not in pins and reason.strip(), line
            pins[name] = reason.strip()
    return pins


def kernel_log(guests):
    found = [line for one in guests for line in TROUBLE.findall(one.check('dmesg'))]
    return Case('(kernel log)', 'fail' if found else 'ok', '\n'.join(found[:20]))


class Report:
    """Results on the device are tests; those on soft-RoCE are for comparison.

    rxe_alone: the device takes no part. Cases that soft-RoCE passes are counted, and
    its failures are skipped: they are not failures of this project.
    """

    def __init__(self, pins, short, rxe_alone=False):
        self.pins = pins
        self.short = short
        self.rxe_alone = rxe_alone
        self.number = self.failed = 0
        self.counts = {}                # suite: {stack: Counter of results}
        self.about = {}                 # suite: the kernel and packages that ran
        self.ran = {}                   # suite: {'SUITE/CASE': result}

    def add(self, stack, suite, case):
        counts = self.counts.setdefault(suite, {})
        counts.setdefault(stack, Counter())[case.result] += 1
        if stack != 'ernic':
            if case.result != 'ok':
                self.comment(f'{stack}: {case.result}: {suite}/{case.name}: '
                             + case.why.strip()[-200:])
            if self.rxe_alone:
                self.line(True, f'{suite}/{case.name}',
                          '' if case.result == 'ok' else ' # SKIP on soft-RoCE')
            return
        name = f'{suite}/{case.name}'
        self.ran.setdefault(suite, {})[name] = case.result
        if case.result == 'fail':
            self.comment(case.why)
        directive = ''
        good = case.result == 'ok'
        if case.result == 'skip':
            good = name in self.pins
            if good:
                directive = f' # SKIP {self.pins[name]}'
            else:
                self.comment(f'This skip is not listed. It says: {case.why}')
        self.line(good, name, directive)

    def line(self, good, name, directive=''):
        self.number += 1
        self.failed += not good
        # Readers of TAP take the text after a "#" as a directive.
        print('ok' if good else 'not ok', self.number, '-', name.replace('#', '')
              + directive, flush=True)

    @staticmethod
    def comment(text):
        for line in text.splitlines():
            print('#', line, flush=True)

    def finish(self):
        """A pin is stale if its case ran and was not skipped, or does not exist."""
        for name in self.pins:
            suite = name.split('/')[0]
            ran = self.ran.get(suite)
            if ran and ran.get(name) != 'skip' and (name in ran or not self.short):
                self.line(False, f'{name} (listed in skips.txt)')
        print(f'1..{self.number}', flush=True)

    def table(self):
        """The lines of the table of this run."""
        return table.lines(self.rows())

    def rows(self):
        """A table.Row for each suite that ran."""
        form = 'short' if self.short else 'whole'
        return [table.row(suite, counts, form, str(datetime.date.today()),
                          *self.about.get(suite, ('', '')))
                for suite, counts in self.counts.items()]
