# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of docs/conformance.md, and their summary in README.md.

The table of results stores the results of earlier runs: a run replaces the rows of its
suites and leaves the others as they are. The score and the line are derived from it.
"""
from collections import Counter
from pathlib import Path
from typing import NamedTuple

PAGE, README = Path('docs/conformance.md'), Path('README.md')
MARK = '<!-- {}: {} -->'
HEAD = ('Suite', 'Passed', 'Failed', 'Skipped', 'soft-RoCE: passed', 'failed', 'skipped',
        'Form', 'Date', 'Linux', 'Packages')
NUMBERS = range(1, 7)           # columns of HEAD
KINDS = ('ok', 'fail', 'skip')
ALL = 'all'                     # the last row


class Row(NamedTuple):
    """The cells of a suite, as text; those of soft-RoCE are '' where it cannot run it.

    form: 'whole' or 'short'. packages: those under test, with their versions.
    """

    suite: str
    passed: str
    failed: str
    skipped: str
    rxe_passed: str
    rxe_failed: str
    rxe_skipped: str
    form: str
    date: str
    kernel: str
    packages: str


def row(suite, counts, *about):
    """counts: {stack: Counter of KINDS}. about: the cells from form on."""
    cells = [str(counts[stack][kind]) if stack in counts else ''
             for stack in ('ernic', 'rxe') for kind in KINDS]
    return Row(suite, *cells, *about)


def join(cells):
    return f'| {" | ".join(cells)} |'


def lines(rows):
    """The table in Markdown."""
    total = Counter()
    yield join(HEAD)
    yield join('---:' if n in NUMBERS else '---' for n in range(len(HEAD)))
    for one in rows:
        total.update({n: int(one[n] or 0) for n in NUMBERS})
        yield join(one)
    yield join([ALL, *(str(total[n]) for n in NUMBERS), *[''] * (len(HEAD) - 7)])


def split(text, name):
    """The text before, between and after the two comments that mark a place."""
    begin, end = MARK.format(name, 'begin'), MARK.format(name, 'end')
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f'one "{begin}" and one "{end}" are wanted')
    before, rest = text.split(begin)
    between, after = rest.split(end)
    return before + begin, between, end + after


def parse(text):
    """The rows of a page."""
    found = [[cell.strip() for cell in line.strip('|').split('|')]
             for line in split(text, 'table')[1].splitlines() if line]
    if found and (found[0] != list(HEAD)
                  or any(len(cells) != len(HEAD) for cells in found)):
        raise ValueError('the table has other columns')
    return [Row(*cells) for cells in found[2:] if cells[0] != ALL]


def merge(old, new, order):
    """Rows of the suites that exist, in their order; a new row replaces the old one."""
    rows = {one.suite: one for one in [*old, *new]}
    return [rows[name] for name in order if name in rows]


def score(rows):
    """Passed of all, on the device and on soft-RoCE, in Markdown."""
    yield '| Suite | rdma-ernic | soft-RoCE |'
    yield '| --- | ---: | ---: |'
    for one in rows:
        cells = [one[first:first + 3] for first in (1, 4)]
        yield join([one.suite, *(f'{counts[0]} of {sum(map(int, counts))}'
                                 if counts[0] else '' for counts in cells)])


def summary(rows):
    """The sums of all suites, and of those that soft-RoCE can run, as one line."""
    ours, theirs = ([tuple(map(int, one[first:first + 3])) for one in rows if one[first]]
                    for first in (1, 4))
    passed, failed, skipped = (sum(column) for column in zip(*ours, (0, 0, 0)))
    yield (f'rdma-ernic: {passed} passed, {failed} failed, {skipped} skipped in '
           f'{len(ours)} suites. soft-RoCE: {sum(counts[0] for counts in theirs)} of '
           f'{sum(map(sum, theirs))} passed in {len(theirs)}.')


# Places whose text follows from the results: page, name of the place, lines.
DERIVED = ((PAGE, 'score', score), (README, 'score', summary))


def write(path, name, text):
    before, _, after = split(path.read_text(encoding='utf-8'), name)
    path.write_text('\n'.join([before, *text, after]), encoding='utf-8')


def update(root, new, order):
    """Put new rows into the table of results, and derive the rest from it."""
    page = root / PAGE
    rows = merge(parse(page.read_text(encoding='utf-8')), new, order)
    write(page, 'table', lines(rows))
    for path, name, derive in DERIVED:
        write(root / path, name, derive(rows))


def stale(root):
    """The pages whose score is not that of the table of results."""
    rows = parse((root / PAGE).read_text(encoding='utf-8'))
    return [path for path, name, derive in DERIVED
            if split((root / path).read_text(encoding='utf-8'),
                     name)[1].strip().splitlines() != list(derive(rows))]
