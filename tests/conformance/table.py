# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of docs/conformance-results.md, and their summary in README.md.

The table of results stores the results of earlier runs: a run replaces the rows of its
suites and leaves the others as they are. The score and the line are derived from it.
"""
from pathlib import Path
from typing import NamedTuple

PAGE, README = Path('docs/conformance-results.md'), Path('README.md')
MARK = '<!-- {}: {} -->'
HEAD = ('Suite', 'Device', 'Passed', 'Failed', 'Skipped', 'Form', 'Date', 'Linux',
        'Packages')
NUMBERS = range(2, 5)           # columns of HEAD
KINDS = ('ok', 'fail', 'skip')
DEVICES = {'ernic': 'verbs interface', 'mlx5': 'mlx5 interface', 'rxe': 'soft-RoCE'}
ALL = 'all'                     # the last rows


class Row(NamedTuple):
    """The cells of a suite on a device, as text.

    device: of DEVICES. form: 'whole' or 'short'. packages: those under test, with their
    versions.
    """

    suite: str
    device: str
    passed: str
    failed: str
    skipped: str
    form: str
    date: str
    kernel: str
    packages: str

    def counts(self):
        return [int(self[n]) for n in NUMBERS]


def row(suite, stack, counts, *about):
    """counts: Counter of KINDS. about: the cells from form on."""
    return Row(suite, DEVICES[stack], *(str(counts[kind]) for kind in KINDS), *about)


def join(cells):
    return f'| {" | ".join(cells)} |'


def sums(rows):
    """{device: (suites, passed, failed, skipped)} of all devices."""
    found = {}
    for device in DEVICES.values():
        counts = [one.counts() for one in rows if one.device == device]
        found[device] = (len(counts), *map(sum, zip((0, 0, 0), *counts)))
    return found


def lines(rows):
    """The table in Markdown."""
    yield join(HEAD)
    yield join('---:' if n in NUMBERS else '---' for n in range(len(HEAD)))
    yield from map(join, rows)
    for device, (suites, *counts) in sums(rows).items():
        if suites:
            yield join([ALL, device, *map(str, counts), *[''] * (len(HEAD) - 5)])


def split(text, name):
    """The text before, between and after the two comments that mark a place."""
    begin, end = MARK.format(name, 'begin'), MARK.format(name, 'end')
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f'one "{begin}" and one "{end}" are wanted')
    before, rest = text.split(begin)
    between, after = rest.split(end)
    return before + begin, between, end + after


def read(text):
    """The cells of the rows of a table."""
    return [[cell.strip() for cell in line.strip('|').split('|')]
            for line in text.splitlines() if line]


def parse(text):
    """The rows of a page."""
    found = read(split(text, 'table')[1])
    if found and (found[0] != list(HEAD)
                  or any(len(cells) != len(HEAD) for cells in found)):
        raise ValueError('the table has other columns')
    return [Row(*cells) for cells in found[2:] if cells[0] != ALL]


def merge(old, new, order):
    """The rows in the order of the suites; a new row replaces the old one.

    A suite that is not in the order may be newer than this process, which can take hours:
    its rows follow those of the suite before them.
    """
    rows = {one[:2]: one for one in [*old, *new]}
    names = list(dict.fromkeys(order))
    for before, one in zip([None, *old], old):
        if one.suite not in names:
            names.insert(names.index(before.suite) + 1 if before else 0, one.suite)
    keys = [(name, device) for name in names for device in DEVICES.values()]
    return [rows[key] for key in keys if key in rows]


def score(rows):
    """Passed of all, for each device, in Markdown."""
    yield join(['Suite', *DEVICES.values()])
    yield join(['---', *('---:' for _ in DEVICES)])
    cells = {one[:2]: f'{one.passed} of {sum(one.counts())}' for one in rows}
    for suite in dict.fromkeys(one.suite for one in rows):
        yield join([suite, *(cells.get((suite, device), '')
                             for device in DEVICES.values())])


def summary(rows):
    """The sums, as a list."""
    for device, (suites, passed, failed, skipped) in sums(rows).items():
        yield (f'- {device}: {passed} passed, {failed} failed, {skipped} skipped in '
               f'{suites} suites')


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
