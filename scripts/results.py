# SPDX-License-Identifier: GPL-2.0-or-later
"""The results of a run of meson test: counts by suite, seconds by test, failures.

A program that dies, breaks its own plan or says nothing has failed, whatever its single
lines say.
"""
import json
import re
from collections import deque
from typing import NamedTuple

RESULT = re.compile(r'^(not )?ok\b *(\d*)(?: *-)? *([^#]*)(?:# *(\w+))?')
PLAN = re.compile(r'^1\.\.(\d+)(?: *# *(SKIP))?', re.I)
# Said after the line of a result; a reason follows where a test may take long.
SECONDS = re.compile(r'^# (\d+\.\d+) s(?:: (.*))?$')
GLIB_SECONDS = re.compile(r'^# slow test (\S+) executed in ([\d.]+) secs')
# A test that takes longer declares a reason.
LONG = 60
# Lines that the summary has of what a failed test says before its result.
SAID = 8


def last_lines(text=''):
    return deque(text.splitlines(), SAID)


class Time(NamedTuple):
    seconds: float
    name: str
    reason: str = ''


class Test:
    """One program of meson's log: what its TAP says, or its exit status."""

    def __init__(self, entry, tap):
        *suite, self.name = re.split(r'[:/] ?', entry['name'].replace(' ', ''))
        self.suite = suite[-1].split('+')[0] if suite else self.name
        self.start, self.seconds = entry['starttime'], entry['duration']
        self.passed = self.skipped = 0
        self.failures, self.times = [], []
        self.said = {}                  # the last lines, by the number of the failure
        result, text = entry['result'], entry.get('stdout') or ''
        self.reason = (entry.get('env') or {}).get('ERNIC_SLOW', '')
        if tap:
            self.tap(text, entry['returncode'])
        elif result in ('OK', 'SKIP'):
            self.passed += result == 'OK'
            self.skipped += result == 'SKIP'
        if result not in ('OK', 'SKIP') and not self.failures:
            self.failures.append(result.lower())
        end = [*last_lines(text), *last_lines(entry.get('stderr') or '')]
        for number in range(len(self.failures)):
            self.said.setdefault(number, end)
        # Else its tests say where the time goes.
        if sum(time.seconds for time in self.times) < self.seconds / 2:
            self.times.append(Time(self.seconds, '', self.reason))

    def tap(self, text, status):
        plan, last, seen, skipped = None, '', 0, False
        near = last_lines()
        for line in text.splitlines():
            if found := PLAN.match(line):
                plan, skipped = int(found[1]), bool(found[2])
            elif found := SECONDS.match(line):
                self.times.append(Time(float(found[1]), last, found[2] or self.reason))
            elif found := GLIB_SECONDS.match(line):
                self.times.append(Time(float(found[2]), found[1]))
            elif line.startswith('Bail out!'):
                self.failures.append(line)
            elif found := RESULT.match(line):
                seen += 1
                last = found[3].strip() or found[2]
                number = len(self.failures)
                self.count(found, last)
                if len(self.failures) > number:
                    self.said[number] = near
                near = last_lines()
            else:
                near.append(line)
        if plan is None:
            self.failures.append('no plan')
        elif plan == seen == 0:
            self.skipped += skipped
            self.failures += [] if skipped else ['no test ran']
        elif plan != seen:
            self.failures.append(f'{seen} results, {plan} planned')
        if status and not self.failures:
            self.failures.append(f'exit status {status}')

    def count(self, found, name):
        if (found[4] or '').lower() in ('skip', 'todo'):
            self.skipped += 1
        elif found[1]:
            self.failures.append(name)
        else:
            self.passed += 1


def read(path, tap):
    """The tests of a log; tap: the names of those that print TAP."""
    with open(path, encoding='utf-8', errors='replace') as file:
        entries = list(map(json.loads, file))
    return [Test(entry, entry['name'].rpartition('/')[2].strip() in tap)
            for entry in entries]


def times(tests):
    """Every test that says its seconds, and every program, the longest first."""
    return sorted((time._replace(name=f'{test.suite}/{test.name} {time.name}'.strip())
                   for test in tests for time in test.times), reverse=True)


def row(name, tests):
    """seconds: the sum over the programs, of which several run at a time."""
    return (f'{name:<11} {sum(test.seconds for test in tests):8.0f} '
            f'{sum(test.passed for test in tests):8} '
            f'{sum(len(test.failures) for test in tests):8} '
            f'{sum(test.skipped for test in tests):8}')


def table(tests, missing=()):
    """The lines of the summary; the last has the totals. missing: that did not run."""
    yield f'{"suite":<11} {"seconds":>8} {"passed":>8} {"failed":>8} {"skipped":>8}'
    for suite in sorted({test.suite for test in tests}):
        yield row(suite, [test for test in tests if test.suite == suite])
    longest = times(tests)
    yield '\nThe ten longest tests:'
    for time in longest[:10]:
        reason = time.reason and f' ({time.reason})'
        yield f'{time.seconds:8.1f} s  {time.name}{reason}'
    without = [time.name for time in longest if time.seconds > LONG and not time.reason]
    if without:
        yield f'\nOver {LONG} s without a reason: ' + ', '.join(without)
    failures = [(test, number) for test in tests for number in range(len(test.failures))]
    if failures or missing:
        yield '\nFailed:'
    for test, number in failures:
        yield f'  {test.suite}/{test.name}: {test.failures[number]}'
        yield from (f'    | {line[:200]}' for line in test.said[number])
    yield from (f'  {name}: did not run' for name in missing)
    failed = len(failures) + len(missing)
    yield (f'\n{sum(test.passed for test in tests)} passed, {failed} failed, '
           f'{sum(test.skipped for test in tests)} skipped')


def good(tests, missing=()):
    return not missing and any(test.passed for test in tests) and not any(
        test.failures for test in tests)
