# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of results, and the verdict on what should not grow."""
import os
import time
from pathlib import Path
from typing import NamedTuple

COLUMNS = ('what', 'face', 'link', 'rounds', 'seconds', 'verified', 'errors',
           'MiB first/last/peak', 'files', 'objects, bytes left')
WARM_UP = 0.2                   # of the samples; until then caches fill
GROWTH = 1.1                    # of memory, beside
SLACK_KIB = 8 << 10
SLACK_FILES = 2


class Sample(NamedTuple):
    """Of all processes: memory of their own in KiB, open files."""

    memory: int
    files: int


def sample(pids):
    memory = files = 0
    for pid in pids:
        process = Path(f'/proc/{pid}')
        memory += next(int(line.split()[1])
                       for line in (process / 'status').read_text().splitlines()
                       if line.startswith('RssAnon:'))
        files += len(os.listdir(process / 'fd'))
    return Sample(memory, files)


def steady(samples):
    """Those after the warm-up; at least one."""
    return samples[min(int(len(samples) * WARM_UP), len(samples) - 1):]


def grown(samples):
    """The reason why the samples are not flat, or None."""
    first, last = steady(samples)[0], samples[-1]
    if last.memory > first.memory * GROWTH + SLACK_KIB:
        return f'memory grew from {first.memory} to {last.memory} KiB'
    if last.files > first.files + SLACK_FILES:
        return f'open files grew from {first.files} to {last.files}'
    return None


class Result:
    """Of a row, filled in while it runs."""

    def __init__(self, row, wanted, full):
        self.row, self.wanted, self.full = row, wanted, full
        self.rounds = self.verified = 0
        self.samples = []
        self.errors = []
        self.left = 0               # objects of the kernel, more than before
        self.bytes = 0              # of objects at the device, more than before
        self.notes = ''             # for the log of a row that failed
        self.start = time.monotonic()
        self.seconds = 0.0

    def judge(self):
        """Add the errors that only the end shows."""
        self.seconds = time.monotonic() - self.start
        if not self.rounds and not self.errors:
            self.errors.append('no round ended')
        if not self.verified and not self.errors:
            self.errors.append('nothing was verified')
        if self.samples and (reason := grown(self.samples)):
            self.errors.append(reason)
        if self.left > 0 or self.bytes > 0:
            self.errors.append(f'{self.left} objects and {self.bytes} bytes are left')

    def words(self):
        of = f' of {self.full}' if self.rounds < self.full else ''
        flat = steady(self.samples) if self.samples else []
        memory = files = '-'
        if flat:
            memory = '/'.join(f'{kib / 1024:.0f}' for kib in (
                flat[0].memory, flat[-1].memory, max(s.memory for s in self.samples)))
            files = f'{flat[0].files}/{flat[-1].files}'
        return (self.row.what, self.row.face, self.row.link, f'{self.rounds}{of}',
                f'{self.seconds:.0f}', str(self.verified), str(len(self.errors)), memory,
                files, f'{self.left}, {self.bytes}')


def table(heading, results):
    """Lines of Markdown."""
    rows = [COLUMNS, *(result.words() for result in results)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ['| ' + ' | '.join(word.ljust(width) for word, width in zip(row, widths))
             + ' |' for row in rows]
    lines.insert(1, '|' + '|'.join(' ' + '-' * width + ' ' for width in widths) + '|')
    return [heading, '', *lines]
