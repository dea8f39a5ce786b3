#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The pictures and tables of docs/timing.md, out of what the timing program prints.

usage: plot_timing.py ROOT ERNIC-TIMING [--check]
"""
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import timing_pictures
import timing_tables

PAGE = 'docs/timing.md'
IMAGES = 'docs/images'


class Data:
    """Lines of --data, by their first word; what a trace says."""

    def __init__(self, program, profiles):
        self.profiles = profiles
        text = subprocess.run([program, profiles, '--data'], text=True, check=True,
                              stdout=subprocess.PIPE).stdout
        self.lines = defaultdict(list)
        for line in text.splitlines():
            kind, *words = line.split('\t')
            self.lines[kind].append(words)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / 'trace.json'
            subprocess.run([program, profiles, '--trace', path], check=True,
                           stdout=subprocess.DEVNULL)
            self.trace = json.loads(path.read_text())

    def of(self, kind, *words):
        """The rest of the lines that begin so."""
        n = len(words)
        found = [line[n:] for line in self.lines[kind] if line[:n] == list(words)]
        if not found:
            raise SystemExit(f'plot-timing: no data of {kind} {words}')
        return found


def fill_in(page, tables):
    """@page with new text between <!-- NAME --> and <!-- end -->."""
    for name, text in tables.items():
        begin, end = f'<!-- {name} -->\n', '<!-- end -->'
        head, found, rest = page.partition(begin)
        if not found or end not in rest:
            raise SystemExit(f'{PAGE}: no place for "{name}"')
        page = head + begin + text + end + rest.partition(end)[2]
    return page


def main():
    root, program = Path(sys.argv[1]), sys.argv[2]
    data = Data(program, root / 'hw/rdma-ernic/profiles')
    page = (root / PAGE).read_text(encoding='utf-8')
    files = {f'{IMAGES}/timing-{name}.svg': str(draw(data))
             for name, draw in timing_pictures.ALL.items()}
    files[PAGE] = fill_in(page, {name: make(data)
                                 for name, make in timing_tables.ALL.items()})
    stale = 0
    for number, (name, text) in enumerate(files.items(), 1):
        path = root / name
        if sys.argv[3:] != ['--check']:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding='utf-8')
            print(name)
            continue
        same = path.exists() and path.read_text(encoding='utf-8') == text
        stale += not same
        print(f'{"" if same else "not "}ok {number} - {name} is what'
              ' scripts/plot-timing writes')
    if sys.argv[3:] == ['--check']:
        print(f'1..{len(files)}')
    return 1 if stale else 0


if __name__ == '__main__':
    sys.exit(main())
