# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of results, and the verdict on what should not grow."""
import os
import time
from pathlib import Path
from typing import NamedTuple

COLUMNS = ('what', 'interface', 'link', 'rounds', 'seconds', 'verified', 'errors',
           'MiB first/last/peak', 'TCG MiB', 'files', 'objects, bytes left')
WARM_UP = 0.2                   # of the samples; until then caches fill
# Memory may grow by the allocator's unevenness and a step of TCG's hash table, and by a
# fifth of the code that TCG has made: for each block it keeps a node of a search tree, an
# entry of the hash table, and lists by page of the guest, about 100 bytes.
SLACK_KIB = 4 << 10
TREES = 0.2
# A short row is all warm-up: "unplug and plug" grows by 12 MiB in its first 50 rounds,
# and by 1 MiB in the 200 after them.
SHORT, SHORT_SLACK_KIB = 50, 12 << 10
SLACK_FILES = 2


class Sample(NamedTuple):
    """Sums of all processes: own memory and code that TCG has made in KiB, open files."""

    memory: int
    code: int
    files: int


def anonymous(smaps):
    """KiB of a process's own memory, and of that which is executable: TCG's buffer.

    TCG translates each page of the guest's code once for each physical address, and
    throws nothing away before its buffer (-accel tcg,tb-size=) is full.
    """
    memory = code = 0
    executable = False
    for line in smaps.splitlines():
        key, _, rest = line.partition(':')
        if key == 'Anonymous':
            kib = int(rest.split()[0])
            memory += 0 if executable else kib
            code += kib if executable else 0
        elif '-' in key and ' ' in key:
            executable = key.split()[1].startswith('rwx')
    return memory, code


def sample(pids):
    memory = code = files = 0
    for pid in pids:
        process = Path(f'/proc/{pid}')
        own, translated = anonymous((process / 'smaps').read_text())
        memory += own
        code += translated
        files += len(os.listdir(process / 'fd'))
    return Sample(memory, code, files)


def steady(samples):
    """The samples after the warm-up; at least one."""
    return samples[min(int(len(samples) * WARM_UP), len(samples) - 1):]


def grown(samples):
    """The reason why the samples are not flat, or None."""
    first, last = steady(samples)[0], samples[-1]
    slack = SHORT_SLACK_KIB if len(samples) < SHORT else SLACK_KIB
    if last.memory > first.memory + TREES * (last.code - first.code) + slack:
        return f'memory grew from {first.memory} to {last.memory} KiB'
    if last.files > first.files + SLACK_FILES:
        return f'open files grew from {first.files} to {last.files}'
    return None


class Result:
    """The result of a row, filled in while it runs."""

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
        memory = code = files = '-'
        if flat:
            code = f'{flat[0].code / 1024:.0f}/{flat[-1].code / 1024:.0f}'
            memory = '/'.join(f'{kib / 1024:.0f}' for kib in (
                flat[0].memory, flat[-1].memory, max(s.memory for s in self.samples)))
            files = f'{flat[0].files}/{flat[-1].files}'
        return (self.row.what, self.row.interface, self.row.link, f'{self.rounds}{of}',
                f'{self.seconds:.0f}', str(self.verified), str(len(self.errors)), memory,
                code, files, f'{self.left}, {self.bytes}')


def table(heading, results):
    """Lines of Markdown."""
    rows = [COLUMNS, *(result.words() for result in results)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ['| ' + ' | '.join(word.ljust(width) for word, width in zip(row, widths))
             + ' |' for row in rows]
    lines.insert(1, '|' + '|'.join(' ' + '-' * width + ' ' for width in widths) + '|')
    return [heading, '', *lines]
