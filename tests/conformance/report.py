# SPDX-License-Identifier: GPL-2.0-or-later
"""A case and its result, and the results of a suite: TAP as they come, then its row."""
import datetime
import re
import time
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import mlx5
import programs
import table

# Lines about the driver's device, or from the device itself.
DRIVER = re.compile(r'mlx5|infiniband')
# Where cases that do not pass are listed, by their result, and TAP's word for them.
PINS = {'skip': 'skips.txt', 'fail': 'failures.txt'}
WORDS = {'skip': 'SKIP', 'fail': 'TODO'}
# A line of programs in guests, as of tests/guest/inside/run.py.
RESULT = re.compile(r'(ok|fail|skip) (\S+) ?(.*)')


class Case(NamedTuple):
    """result: 'ok', 'fail' or 'skip'. why: the reason or the message; may be ''."""

    name: str
    result: str
    why: str = ''


def case(name, good, why=''):
    return Case(name, 'ok' if good else 'fail', '' if good else why)


def read_pins(folder):
    """{result: {'SUITE/CASE': reason}} of the files of PINS."""
    return {result: read_lines(folder / name) for result, name in PINS.items()}


def read_lines(path):
    """{'SUITE/CASE': reason} of a file of such lines; "#" begins a comment.

    On the mlx5 interface names begin with mlx5/. A "*" stands for any text.
    """
    pins = {}
    for line in Path(path).read_text(encoding='utf-8').splitlines():
        if line and not line.startswith('#'):
            name, reason = line.split(': ', 1)
            assert name not in pins and reason.strip(), line
            pins[name] = reason.strip()
    return pins


def fits(name, line):
    """Whether the name is that of a line of these files. Only "*" is special."""
    return name == line or '*' in line and fnmatchcase(
        name, line.replace('[', '[[]').replace('?', '[?]'))


def driver_log(guests, provoked):
    """Linux's mlx5 driver warns of nothing, and no command of it is refused, but for
    what is known, and for lines with a text that the suite provokes."""
    found = [line for one in guests for line in mlx5.complaints(one)
             if DRIVER.search(line) and not any(text in line for text in provoked)]
    return case('(driver log)', not found, '\n'.join(found[:20]))


def kernel_log(guests):
    found = programs.trouble(guests)
    return case('(kernel log)', not found, '\n'.join(found[:20]))


class Report:
    """Results of a suite on a device: tests of the device, or the score of soft-RoCE.

    pins: {'skip' or 'fail': {'SUITE/CASE': reason}}, of read_pins(); such cases count as
    skipped. A failure of soft-RoCE is none of this project, and is skipped.
    """

    def __init__(self, stack, suite, pins, short):
        self.stack = stack
        self.suite = suite
        self.label = suite.name if stack == 'ernic' else f'{stack}/{suite.name}'
        self.pins = {result: {line: why for line, why in lines.items()
                              if fits(self.label, self.suite_of(line))}
                     for result, lines in pins.items()}
        self.short = short
        self.number = self.failed = 0
        self.counts = Counter()         # of results
        self.about = ('', '')           # the kernel and packages that ran
        self.ran = {}                   # {'LABEL/CASE': result}
        self.since = time.monotonic()

    def suite_of(self, line):
        """The part of a line that may be the label of the suite."""
        return '/'.join(line.split('/')[:self.label.count('/') + 1])

    def seconds(self):
        """Since the last call."""
        before, self.since = self.since, time.monotonic()
        return f'{self.since - before:.1f} s'

    def phase(self, what):
        """Says what the time since the last case was for."""
        self.comment(f'{self.seconds()}: {what}')

    def add(self, case):
        name = f'{self.label}/{case.name}'
        reason = next((reason for line, reason in self.pins.get(case.result, {}).items()
                       if fits(name, line)), None)
        self.counts['skip' if reason else case.result] += 1
        self.ran[name] = case.result
        if case.result == 'ok':
            self.line(True, name)
        elif self.stack == 'rxe' and case.name != '(the suite itself)':
            self.comment(f'{case.result}: {case.why.strip()[-200:]}')
            self.line(True, name, ' # SKIP on soft-RoCE')
        elif reason:
            self.line(case.result == 'skip', name, f' # {WORDS[case.result]} {reason}')
        else:
            self.comment(f'This {case.result} is not listed. It says: {case.why}')
            self.line(False, name)
        self.comment(self.seconds())

    def line(self, good, name, directive=''):
        self.number += 1
        self.failed += not good and not directive
        # Readers of TAP take the text after a "#" as a directive.
        print('ok' if good else 'not ok', self.number, '-', name.replace('#', '')
              + directive, flush=True)

    @staticmethod
    def comment(text):
        for line in text.splitlines():
            print('#', line, flush=True)

    def finish(self):
        """A pin is stale if a case of it ran and has another result, or none exists."""
        for result, pins in self.pins.items():
            for line in pins:
                found = [self.ran[name] for name in self.ran if fits(name, line)]
                if set(found) - {result} or not (found or self.short):
                    self.line(False, f'{line} (listed in {PINS[result]})')
        print(f'1..{self.number}', flush=True)

    def row(self):
        return table.row(self.suite.name, self.stack, self.counts,
                         'short' if self.short else 'whole',
                         str(datetime.date.today()), *self.about)
