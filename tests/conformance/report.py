# SPDX-License-Identifier: GPL-2.0-or-later
"""What a case is, and the results of all: TAP as they come, then the table."""
import datetime
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

BEGIN, END = '<!-- table: begin -->', '<!-- table: end -->'
# What no suite may leave in the kernel's log.
TROUBLE = re.compile(r'.*(?:\bBUG\b|WARNING:|Oops|Call Trace|ernic.*(?:bad|error)).*')


class Case(NamedTuple):
    """result: 'ok', 'fail' or 'skip'. why: the reason, or what was said; may be ''."""

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
    """Results on the device are tests; those on soft-RoCE are there to compare."""

    def __init__(self, pins, short):
        self.pins = pins
        self.short = short
        self.number = self.failed = 0
        self.counts = {}                # (suite, stack): Counter of results
        self.ran = {}                   # suite: {'SUITE/CASE': result}

    def add(self, stack, suite, case):
        self.counts.setdefault((suite, stack), Counter())[case.result] += 1
        if stack != 'ernic':
            if case.result == 'fail':
                self.comment(f'{stack}: {suite}/{case.name} failed: '
                             + case.why[-200:])
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
        # The counters of TAP take what follows a "#" as a directive.
        print('ok' if good else 'not ok', self.number, '-', name.replace('#', '')
              + directive, flush=True)

    @staticmethod
    def comment(text):
        for line in text.splitlines():
            print('#', line, flush=True)

    def finish(self):
        """A pin of a case that ran and was not skipped, or of none, has to go."""
        for name in self.pins:
            suite = name.split('/')[0]
            ran = self.ran.get(suite)
            if ran and ran.get(name) != 'skip' and (name in ran or not self.short):
                self.line(False, f'{name} (listed in skips.txt)')
        print(f'1..{self.number}', flush=True)

    def table(self):
        """The lines of the table in Markdown."""
        kinds = ('ok', 'fail', 'skip')
        yield ('| Suite | Passed | Failed | Skipped '
               '| soft-RoCE: passed | failed | skipped |')
        yield '| --- | ---: | ---: | ---: | ---: | ---: | ---: |'
        total = Counter()
        for suite in dict.fromkeys(suite for suite, _ in self.counts):
            cells = []
            for stack in ('ernic', 'rxe'):
                count = self.counts.get((suite, stack))
                total.update({(stack, kind): count[kind] for kind in kinds}
                             if count else {})
                cells += [str(count[kind]) if count else '' for kind in kinds]
            yield f'| {suite} | {" | ".join(cells)} |'
        cells = [str(total[stack, kind]) for stack in ('ernic', 'rxe') for kind in kinds]
        yield f'| all | {" | ".join(cells)} |'

    def write(self, path, kernel):
        text = path.read_text(encoding='utf-8')
        before, rest = text.split(BEGIN, 1)
        _, after = rest.split(END, 1)
        form = 'the short form' if self.short else 'the whole'
        made = (f'{datetime.date.today()}, {form}, Linux {kernel} of Debian in the '
                'guests:')
        path.write_text('\n'.join([before + BEGIN, made, '', *self.table(), '',
                                   END + after]), encoding='utf-8')
