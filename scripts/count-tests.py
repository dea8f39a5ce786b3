#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Count test results: passed, failed and skipped, then the names of what failed.

A program that dies, breaks its own plan or says nothing has failed, whatever its
single lines say.
"""
import argparse
import json
import re

LINE = re.compile(r'^(not )?ok\b *(\d*)(?: *-)? *([^#]*)(?:# *(\w+))?')
PLAN = re.compile(r'^1\.\.(\d+)')


class Count:
    def __init__(self):
        self.passed, self.skipped, self.failures = 0, 0, []

    def tap(self, text, name, status):
        """Adds what a TAP stream says; @status is the exit status of its source."""
        plan, seen, before = None, 0, len(self.failures)
        prefix = f'{name}: ' if name else ''
        for line in text.splitlines():
            m = PLAN.match(line)
            if m:
                plan = int(m[1])
            if line.startswith('Bail out!'):
                self.failures.append(prefix + line)
            m = LINE.match(line)
            if not m:
                continue
            seen += 1
            if (m[4] or '').lower() in ('skip', 'todo'):
                self.skipped += 1
            elif m[1]:
                self.failures.append(prefix + (m[3].strip() or m[2]))
            else:
                self.passed += 1
        if plan == 0 and status == 0:
            self.skipped += 1
        elif plan is None and seen == 0:
            self.failures.append(f'{prefix}no results, exit status {status}')
        elif plan != seen:
            self.failures.append(f'{prefix}{seen} results, {plan} planned')
        if status != 0 and len(self.failures) == before:
            self.failures.append(f'{prefix}exit status {status}')

    def meson(self, path):
        with open(path, encoding='utf-8') as f:
            for line in f:
                self.meson_test(json.loads(line))

    def meson_test(self, test):
        name, result = test['name'].split(' / ')[-1], test['result']
        before = len(self.failures)
        out = test.get('stdout') or ''
        if any(PLAN.match(line) for line in out.splitlines()):
            self.tap(out, name, test['returncode'])
        elif result == 'SKIP':
            self.skipped += 1
        elif result == 'OK':
            self.passed += 1
        if result not in ('OK', 'SKIP', 'EXPECTEDFAIL') \
                and len(self.failures) == before:
            self.failures.append(f'{name}: {result.lower()}')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    kinds = parser.add_subparsers(dest='kind', required=True)
    kinds.add_parser('meson').add_argument('log', help="meson's testlog.json")
    tap = kinds.add_parser('tap')
    tap.add_argument('log', help='the output of a program that prints TAP')
    tap.add_argument('status', type=int, help='its exit status')
    args = parser.parse_args()
    count = Count()
    if args.kind == 'meson':
        count.meson(args.log)
    else:
        with open(args.log, encoding='utf-8', errors='replace') as f:
            count.tap(f.read(), '', args.status)
    print(count.passed, len(count.failures), count.skipped)
    print(*count.failures, sep='\n', end='\n' if count.failures else '')


if __name__ == '__main__':
    main()
