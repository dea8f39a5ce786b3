# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of docs/conformance-results.md: written, read back, kept between runs.

Also: meson has every suite; a test whose process dies is one failure.
"""
import contextlib
import io
import os
import re
import signal
import subprocess
import unittest
from collections import Counter
from pathlib import Path

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
README = 'A | b\n<!-- score: begin -->\nold\n<!-- score: end -->\nc\n'


def page(rows):
    return '\n'.join(['<!-- table: begin -->', *table.lines(rows), '<!-- table: end -->'])


def test_row():
    assert BOTH[:5] == ('both', 'verbs interface', '5', '0', '2'), BOTH
    assert PEER[:5] == ('both', 'soft-RoCE', '3', '4', '0'), PEER
    assert ALONE[:5] == ('alone', 'mlx5 interface', '0', '1', '0'), ALONE


def test_round_trip():
    assert table.parse(page([BOTH, PEER, ALONE])) == [BOTH, PEER, ALONE]
    assert not table.parse(page([]))
    assert not table.parse(PAGE)


def test_total():
    *_, first, last = table.lines([BOTH, PEER, BOTH])
    assert first == '| all | verbs interface | 10 | 0 | 4 |  |  |  |  |', first
    assert last == '| all | soft-RoCE | 3 | 4 | 0 |  |  |  |  |', last


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


def test_score():
    assert list(table.score([BOTH, PEER, ALONE])) == [
        '| Suite | verbs interface | mlx5 interface | soft-RoCE |',
        '| --- | ---: | ---: | ---: |',
        '| both | 5 of 7 |  | 3 of 7 |', '| alone |  | 0 of 1 |  |']


def test_summary():
    assert list(table.summary([BOTH, ALONE, BOTH])) == [
        '- verbs interface: 10 passed, 0 failed, 4 skipped in 2 suites',
        '- mlx5 interface: 0 passed, 1 failed, 0 skipped in 1 suites',
        '- soft-RoCE: 0 passed, 0 failed, 0 skipped in 0 suites']


def test_files(tmp_path):
    """Rows of two runs are there in the end, and what is around the places."""
    (tmp_path / 'docs').mkdir()
    (tmp_path / table.PAGE).write_text(PAGE)
    (tmp_path / table.README).write_text(README)
    assert table.stale(tmp_path) == [table.PAGE, table.README]
    for new in ([BOTH, PEER], [ALONE], [LATER]):
        table.update(tmp_path, new, ['both', 'alone'])
    text = (tmp_path / table.PAGE).read_text()
    assert table.parse(text) == [LATER, PEER, ALONE], text
    assert text.startswith('Text.\n\n<!-- score: begin -->\n| Suite '), text
    assert ('| both | 6 of 8 |  | 3 of 7 |\n| alone |  | 0 of 1 |  |\n'
            '<!-- score: end -->') in text, text
    assert '<!-- table: begin -->\n| Suite | Device | Passed ' in text, text
    assert text.endswith('|\n<!-- table: end -->\n\nMore.\n'), text
    readme = (tmp_path / table.README).read_text()
    said = '\n'.join(table.summary([LATER, PEER, ALONE]))
    assert readme == ('A | b\n<!-- score: begin -->\n'
                      f'{said}\n<!-- score: end -->\nc\n'), readme
    assert not table.stale(tmp_path)


def test_refused():
    """A page without its marks, with two, or with other columns."""
    for text in ('', PAGE + PAGE, page([BOTH]).replace('Form', 'Shape'),
                 page([BOTH]).replace(' whole |', '')):
        try:
            table.parse(text)
        except ValueError:
            continue
        raise AssertionError(f'taken: {text}')


def a_report(results, skips=(), failures=(), short=False, stack='mlx5'):
    """A Report of suite a after these results, and its lines: (good, name, directive)."""
    pins = {'skip': dict.fromkeys(skips, 'ours'),
            'fail': dict.fromkeys(failures, 'theirs')}
    run = report.Report(stack, stacks.Suite('a', 1, None), pins, short)
    run.comment = lambda _: None
    lines = []
    run.line = lambda good, name, directive='': lines.append((good, name, directive))
    for name, result in results:
        run.add(report.Case(name, result, 'why'))
    with contextlib.redirect_stdout(io.StringIO()):
        run.finish()
    return run, lines


def report_lines(*arguments, **more):
    return a_report(*arguments, **more)[1]


def test_report():
    """Results are counted; skips and failures of soft-RoCE need no pin."""
    results = [('one', 'ok'), ('two', 'skip'), ('three', 'fail')]
    run, lines = a_report(results, stack='rxe')
    run.about = ('6.1', 'a 1')
    assert run.row()[:6] == ('a', 'soft-RoCE', '1', '1', '1', 'whole'), run.row()
    assert run.row()[7:] == ('6.1', 'a 1'), run.row()
    assert lines == [(True, 'rxe/a/one', ''), (True, 'rxe/a/two', ' # SKIP on soft-RoCE'),
                     (True, 'rxe/a/three', ' # SKIP on soft-RoCE')], lines
    run, lines = a_report(results, stack='ernic', short=True)
    assert run.row()[:6] == ('a', 'verbs interface', '1', '1', '1', 'short'), run.row()
    assert [good for good, *_ in lines] == [True, False, False], lines


def test_pins():
    """The two interfaces have pins of their own; a stale one is a failure."""
    skips = ('a/one', 'mlx5/a/two', 'mlx5/a/three', 'mlx5/b/one')
    assert report_lines([('one', 'skip'), ('two', 'skip')], skips, stack='ernic') == [
        (True, 'a/one', ' # SKIP ours'), (False, 'a/two', '')]
    found = [('one', 'skip'), ('two', 'skip')]
    wanted = [(False, 'mlx5/a/one', ''), (True, 'mlx5/a/two', ' # SKIP ours')]
    assert report_lines(found, skips, short=True) == wanted
    stale = (False, 'mlx5/a/three (listed in skips.txt)', '')
    assert report_lines(found, skips) == [*wanted, stale]
    assert report_lines([('three', 'ok')], skips, short=True) == [
        (True, 'mlx5/a/three', ''), stale]


def test_failures():
    """A listed failure is not one; with another result it is."""
    failures = ['mlx5/a/one']
    stale = (False, 'mlx5/a/one (listed in failures.txt)', '')
    for result, wanted in (('fail', [(False, 'mlx5/a/one', ' # TODO theirs')]),
                           ('skip', [(False, 'mlx5/a/one', ''), stale]),
                           ('ok', [(True, 'mlx5/a/one', ''), stale])):
        assert report_lines([('one', result)], (), failures) == wanted
    run, _ = a_report([('one', 'fail'), ('two', 'fail')], (), failures)
    assert run.row()[:5] == ('a', 'mlx5 interface', '0', '1', '1')
    run = report.Report('mlx5', stacks.Suite('a', 1, None),
                        {'skip': {}, 'fail': {'mlx5/a/one': 'theirs'}}, False)
    with contextlib.redirect_stdout(io.StringIO()):
        for name in ('one', 'two'):
            run.add(report.Case(name, 'fail'))
    assert run.failed == 1


def test_patterns():
    """A "*" stands for any text; each case that it stands for has to have the result."""
    assert report_lines([('one', 'skip')], ('mlx5/a*/one', 'a*/one', 'mlx5/b*/one')) == [
        (True, 'mlx5/a/one', ' # SKIP ours')]
    failures = ('mlx5/a/*/x-*', 'mlx5/a/[y]*')
    found = [(name, 'fail') for name in ('one/x-1', 'two/x-', 'two/y-1', '[y]')]
    wanted = [(False, 'mlx5/a/one/x-1', ' # TODO theirs'),
              (False, 'mlx5/a/two/x-', ' # TODO theirs'), (False, 'mlx5/a/two/y-1', ''),
              (False, 'mlx5/a/[y]', ' # TODO theirs')]
    assert report_lines(found, (), failures) == wanted
    assert report_lines(found[:3], (), failures, short=True) == wanted[:3]
    assert report_lines(found[:3], (), failures) == [
        *wanted[:3], (False, 'mlx5/a/[y]* (listed in failures.txt)', '')]
    passed = [*found, ('three/x-1', 'ok')]
    assert report_lines(passed, (), failures, short=True) == [
        *wanted, (True, 'mlx5/a/three/x-1', ''),
        (False, 'mlx5/a/*/x-* (listed in failures.txt)', '')]


def test_meson_has_all():
    """Each suite and device is a test of meson, of its form; none has two."""
    said = subprocess.run([ROOT / 'tests/conformance/run', '--list'], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.splitlines()
    text = (ROOT / 'tests/conformance/meson.build').read_text(encoding='utf-8')
    found = []
    for part, form in zip(text.split('conformance_long = {'), ('', ' long')):
        found += [name + form for name in re.findall(r"^  '(\S+)': \d+,$", part, re.M)]
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
