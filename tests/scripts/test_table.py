# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of docs/conformance-results.md: written, read back, kept between runs.

Also: meson has every suite; a test whose process dies is one failure.
"""
import os
import re
import signal
import subprocess
import unittest
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
import pyverbs_suite
import report
import stacks
import table

ABOUT = ('whole', '2026-01-02', '6.1.1-1', 'perftest 4.5+0.17-2')
BOTH = table.row('both', 'ernic', Counter(ok=5, skip=2), *ABOUT)
PEER = table.row('both', 'rxe', Counter(ok=3, fail=4), *ABOUT)
ALONE = table.row('alone', 'mlx5', Counter(fail=1), 'short', '2026-01-03', '6.12', '')
LATER = BOTH._replace(passed='6', date='2026-02-01')
PAGE = ('Text.\n\n<!-- score: begin -->\n<!-- score: end -->\n'
        '<!-- table: begin -->\n<!-- table: end -->\n\nMore.\n')
WHOLE = """Text.

<!-- score: begin -->
| Suite | verbs interface | mlx5 interface | soft-RoCE |
| --- | ---: | ---: | ---: |
| both | 6 of 8 |  | 3 of 7 |
| alone |  | 0 of 1 |  |
<!-- score: end -->
<!-- table: begin -->
| Suite | Device | Passed | Failed | Skipped | Form | Date | Linux | Packages |
| --- | --- | ---: | ---: | ---: | --- | --- | --- | --- |
| both | verbs interface | 6 | 0 | 2 | whole | 2026-02-01 | 6.1.1-1 | PERFTEST |
| both | soft-RoCE | 3 | 4 | 0 | whole | 2026-01-02 | 6.1.1-1 | PERFTEST |
| alone | mlx5 interface | 0 | 1 | 0 | short | 2026-01-03 | 6.12 |  |
| all | verbs interface | 6 | 0 | 2 |  |  |  |  |
| all | mlx5 interface | 0 | 1 | 0 |  |  |  |  |
| all | soft-RoCE | 3 | 4 | 0 |  |  |  |  |
<!-- table: end -->

More.
""".replace('PERFTEST', ABOUT[-1])
README = 'A | b\n<!-- score: begin -->\nold\n<!-- score: end -->\nc\n'


def page(rows):
    return '\n'.join(['<!-- table: begin -->', *table.lines(rows), '<!-- table: end -->'])


def test_parse():
    """Rows are read back, without the sums; another page is refused: without its marks,
    with two, or with other columns."""
    assert table.parse(page([BOTH, PEER, ALONE])) == [BOTH, PEER, ALONE]
    assert not table.parse(PAGE)
    for text in ('', PAGE + PAGE, page([BOTH]).replace('Form', 'Shape'),
                 page([BOTH]).replace(' whole |', '')):
        with pytest.raises(ValueError):
            table.parse(text)


def test_merge():
    merge, order = table.merge, ['alone', 'both']
    assert merge([PEER, BOTH], [ALONE], order) == [ALONE, BOTH, PEER]
    assert merge([ALONE, BOTH, PEER], [LATER], order) == [ALONE, LATER, PEER]
    assert merge([ALONE, BOTH], [LATER], []) == [ALONE, LATER], 'a suite is lost'
    assert merge([BOTH, ALONE, PEER], [], ['both']) == [BOTH, PEER, ALONE]
    # The caller names a suite once for each device.
    assert merge([BOTH, PEER], [LATER], ['both', 'both']) == [LATER, PEER]


def test_suites_exist():
    """Nothing but this removes the rows of a suite that is gone."""
    names = {suite.name for suite, _ in stacks.all_runs().values()}
    rows = table.parse((ROOT / table.PAGE).read_text(encoding='utf-8'))
    assert rows and {one.suite for one in rows} <= names


def test_files(tmp_path):
    """Rows of three runs are there in the end, with what follows from them."""
    (tmp_path / 'docs').mkdir()
    (tmp_path / table.PAGE).write_text(PAGE)
    (tmp_path / table.README).write_text(README)
    assert table.stale(tmp_path) == [table.PAGE, table.README]
    for new in ([BOTH, PEER], [ALONE], [LATER]):
        table.update(tmp_path, new, ['both', 'alone'])
    assert (tmp_path / table.PAGE).read_text() == WHOLE
    assert table.parse(WHOLE) == [LATER, PEER, ALONE]
    assert (tmp_path / table.README).read_text() == README.replace('old', """
- verbs interface: 6 passed, 0 failed, 2 skipped in 1 suites
- mlx5 interface: 0 passed, 1 failed, 0 skipped in 1 suites
- soft-RoCE: 3 passed, 4 failed, 0 skipped in 1 suites""".strip())
    assert not table.stale(tmp_path)


OURS, THEIRS = ' # SKIP ours', ' # TODO theirs'
SKIPS = ('a/one', 'mlx5/a/two', 'mlx5/a/three', 'mlx5/b/one')
STARS = ('mlx5/a/*/x-*', 'mlx5/a/[y]*')
TWO = {'one': 'skip', 'two': 'skip'}
FOUR = dict.fromkeys(('one/x-1', 'two/x-', 'two/y-1', '[y]'), 'fail')
SHORT = {'short': True}
# What is tested, the results by case; the pins of skips, and of failures; more for the
# Report; its lines, but for the suite: a name and its directive, None: it has failed.
REPORTS = [
    ('soft-RoCE needs no pins', {'one': 'ok', 'two': 'skip', 'three': 'fail'}, (), (),
     {'stack': 'rxe'}, {'one': '', 'two': ' # SKIP on soft-RoCE',
                        'three': ' # SKIP on soft-RoCE'}),
    ('a result without a pin', {'one': 'ok', 'two': 'skip', 'three': 'fail'}, (), (),
     {'stack': 'ernic'}, {'one': '', 'two': None, 'three': None}),
    ('pins of the verbs interface', TWO, SKIPS, (), {'stack': 'ernic'},
     {'one': OURS, 'two': None}),
    ('pins of the mlx5 interface', TWO, SKIPS, (), SHORT, {'one': None, 'two': OURS}),
    ('a pin without a case', TWO, SKIPS, (), {},
     {'one': None, 'two': OURS, 'three (listed in skips.txt)': None}),
    ('a pin of a case that passes', {'three': 'ok'}, SKIPS, (), SHORT,
     {'three': '', 'three (listed in skips.txt)': None}),
    ('a listed failure', {'one': 'fail'}, (), ['mlx5/a/one'], {}, {'one': THEIRS}),
    ('a listed failure that is skipped', {'one': 'skip'}, (), ['mlx5/a/one'], {},
     {'one': None, 'one (listed in failures.txt)': None}),
    ('a listed failure that passes', {'one': 'ok'}, (), ['mlx5/a/one'], {},
     {'one': '', 'one (listed in failures.txt)': None}),
    ('names with a star', FOUR, (), STARS, {},
     {'one/x-1': THEIRS, 'two/x-': THEIRS, 'two/y-1': None, '[y]': THEIRS}),
    ('not all cases of a star fail', {**FOUR, 'three/x-1': 'ok'}, (), STARS, SHORT,
     {'one/x-1': THEIRS, 'two/x-': THEIRS, 'two/y-1': None, '[y]': THEIRS,
      'three/x-1': '', '*/x-* (listed in failures.txt)': None}),
    ('a star without a case', {'one/x-1': 'fail'}, (), STARS, {},
     {'one/x-1': THEIRS, '[y]* (listed in failures.txt)': None}),
    ('a suite with a star', {'one': 'skip'},
     ('mlx5/a*/one', 'a*/one', 'mlx5/b*/one'), (), {}, {'one': OURS}),
]


@pytest.mark.parametrize('results, skips, failures, more, wanted',
                         [pytest.param(*row, id=what) for what, *row in REPORTS])
def test_report(results, skips, failures, more, wanted):
    pins = {'skip': dict.fromkeys(skips, 'ours'),
            'fail': dict.fromkeys(failures, 'theirs')}
    run = report.Report(more.get('stack', 'mlx5'), stacks.Suite('a', 1, None), pins,
                        more.get('short', False))
    lines = {}
    say = run.line
    run.line = lambda good, name, directive='': (
        lines.update({name.partition(run.label + '/')[2]: directive if good or directive
                      else None}), say(good, name, directive))
    for name, result in results.items():
        run.add(report.Case(name, result, 'why'))
    run.finish()
    assert lines == wanted
    assert run.failed == list(wanted.values()).count(None)
    assert run.counts == Counter('skip' if wanted[name] in (OURS, THEIRS) else result
                                 for name, result in results.items())


def test_meson_has_all():
    """Each suite and device is a test of meson, of its form; none has two."""
    said = subprocess.run([ROOT / 'tests/conformance/run', '--list'], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.splitlines()
    text = (ROOT / 'tests/conformance/meson.build').read_text(encoding='utf-8')
    short, long = text.split('foreach')[0].split('conformance_long = [')
    found = re.findall(r"'(\S+)': \d+,", short)
    found += [f'{name} long' for name in re.findall(r"'(\S+)',", long)]
    assert sorted(found) == sorted(said), set(found) ^ set(said)


class Three(unittest.TestCase):
    def dies(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def passes(self):
        pass

    def run(self, result=None):
        if self._testMethodName != 'silent':
            super().run(result)

    def silent(self):
        pass


def test_alone(capfd):
    """Each test has a process: one that dies takes no other with it."""
    for name in ('dies', 'silent', 'passes'):
        pyverbs_suite.run_alone(Three(name))
    said = [line for line in capfd.readouterr().out.splitlines() if line]
    assert said == ['The test died: Killed.', 'fail test_table.Three.dies ',
                    'The test died: exit status 1.', 'fail test_table.Three.silent ',
                    'ok test_table.Three.passes '], said
