#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of docs/conformance.md: written, read back, and kept from run to run.

Also: a name chooses suites; a test whose process dies is one failure. Prints TAP.
"""
import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

for folder in ('guest', 'guest/inside', 'conformance'):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / folder))

import cases                                        # noqa: E402
import pyverbs_suite                                # noqa: E402
import report                                       # noqa: E402
import stacks                                       # noqa: E402
import table                                        # noqa: E402

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
    assert BOTH[:5] == ('both', 'verbs face', '5', '0', '2'), BOTH
    assert PEER[:5] == ('both', 'soft-RoCE', '3', '4', '0'), PEER
    assert ALONE[:5] == ('alone', 'mlx5 interface', '0', '1', '0'), ALONE


def test_round_trip():
    assert table.parse(page([BOTH, PEER, ALONE])) == [BOTH, PEER, ALONE]
    assert not table.parse(page([]))
    assert not table.parse(PAGE)


def test_total():
    *_, first, last = table.lines([BOTH, PEER, BOTH])
    assert first == '| all | verbs face | 10 | 0 | 4 |  |  |  |  |', first
    assert last == '| all | soft-RoCE | 3 | 4 | 0 |  |  |  |  |', last


def test_merge():
    merge, order = table.merge, ['alone', 'both']
    assert merge([PEER, BOTH], [ALONE], order) == [ALONE, BOTH, PEER]
    assert merge([ALONE, BOTH, PEER], [LATER], order) == [ALONE, LATER, PEER]
    assert merge([ALONE, BOTH], [LATER], []) == [ALONE, LATER], 'a suite is lost'
    assert merge([BOTH, ALONE, PEER], [], ['both']) == [BOTH, PEER, ALONE]


def test_suites_exist():
    """Nothing but this removes the rows of a suite that is gone."""
    root = Path(__file__).resolve().parents[2]
    names = subprocess.run([root / 'tests/conformance/run', '--list'], check=True,
                           stdout=subprocess.PIPE, text=True).stdout.splitlines()
    rows = table.parse((root / table.PAGE).read_text(encoding='utf-8'))
    assert rows and {one.suite for one in rows} <= set(names)


def test_score():
    assert list(table.score([BOTH, PEER, ALONE])) == [
        '| Suite | verbs face | mlx5 interface | soft-RoCE |',
        '| --- | ---: | ---: | ---: |',
        '| both | 5 of 7 |  | 3 of 7 |', '| alone |  | 0 of 1 |  |']


def test_summary():
    assert list(table.summary([BOTH, ALONE, BOTH])) == [
        '- verbs face: 10 passed, 0 failed, 4 skipped in 2 suites',
        '- mlx5 interface: 0 passed, 1 failed, 0 skipped in 1 suites',
        '- soft-RoCE: 0 passed, 0 failed, 0 skipped in 0 suites']


def test_files():
    """Rows of two runs are there in the end, and what is around the places."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / 'docs').mkdir()
        (root / table.PAGE).write_text(PAGE)
        (root / table.README).write_text(README)
        assert table.stale(root) == [table.PAGE, table.README]
        for new in ([BOTH, PEER], [ALONE], [LATER]):
            table.update(root, new, ['both', 'alone'])
        text = (root / table.PAGE).read_text()
        assert table.parse(text) == [LATER, PEER, ALONE], text
        assert text.startswith('Text.\n\n<!-- score: begin -->\n| Suite '), text
        assert ('| both | 6 of 8 |  | 3 of 7 |\n| alone |  | 0 of 1 |  |\n'
                '<!-- score: end -->') in text, text
        assert '<!-- table: begin -->\n| Suite | Device | Passed ' in text, text
        assert text.endswith('|\n<!-- table: end -->\n\nMore.\n'), text
        readme = (root / table.README).read_text()
        said = '\n'.join(table.summary([LATER, PEER, ALONE]))
        assert readme == ('A | b\n<!-- score: begin -->\n'
                          f'{said}\n<!-- score: end -->\nc\n'), readme
        assert not table.stale(root)


def test_refused():
    """A page without its marks, with two, or with other columns."""
    for text in ('', PAGE + PAGE, page([BOTH]).replace('Form', 'Shape'),
                 page([BOTH]).replace(' whole |', '')):
        try:
            table.parse(text)
        except ValueError:
            continue
        raise AssertionError(f'taken: {text}')


def test_report():
    """Results are counted by stack; skips of soft-RoCE need no pin."""
    run = report.Report({'skip': {}, 'fail': {}}, short=True)
    run.line = lambda *_: None
    said = []
    run.comment = said.append
    for stack, result in (('ernic', 'ok'), ('rxe', 'ok'), ('rxe', 'skip')):
        run.add(stack, 'a', report.Case('case', result, 'why'))
    assert said == ['rxe: skip: a/case: why'], said
    run.about['a', 'ernic'] = ('6.1', 'a 1')
    row, other = run.rows()
    assert row[:6] == ('a', 'verbs face', '1', '0', '0', 'short'), row
    assert row.kernel == '6.1' and row.packages == 'a 1', row
    assert other[:6] == ('a', 'soft-RoCE', '1', '0', '1', 'short'), other
    assert other.kernel == '', other


def report_lines(skips, results, short=False, failures=None, **more):
    """The lines of a Report: (good, name, directive)."""
    run = report.Report({'skip': skips, 'fail': failures or {}}, short, **more)
    run.comment = lambda _: None
    lines = []
    run.line = lambda good, name, directive='': lines.append((good, name, directive))
    for stack, name, result in results:
        run.add(stack, 'a', report.Case(name, result, 'why'))
    with contextlib.redirect_stdout(io.StringIO()):
        run.finish()
    return lines


def test_pins():
    """The two faces have pins of their own; a stale one is a failure."""
    pins = {'a/one': 'ours', 'mlx5/a/two': 'theirs', 'mlx5/a/three': 'gone',
            'mlx5/b/one': 'other suite'}
    assert report_lines(pins, [('ernic', 'one', 'skip'), ('ernic', 'two', 'skip')]) == [
        (True, 'a/one', ' # SKIP ours'), (False, 'a/two', '')]
    found = [('mlx5', 'one', 'skip'), ('mlx5', 'two', 'skip')]
    wanted = [(False, 'mlx5/a/one', ''), (True, 'mlx5/a/two', ' # SKIP theirs')]
    assert report_lines(pins, found, short=True) == wanted
    assert report_lines(pins, found) == [
        *wanted, (False, 'mlx5/a/three (listed in skips.txt)', '')]
    assert report_lines(pins, [('mlx5', 'three', 'ok')], short=True) == [
        (True, 'mlx5/a/three', ''), (False, 'mlx5/a/three (listed in skips.txt)', '')]


def test_failures():
    """A listed failure is not one; with another result it is."""
    failures = {'mlx5/a/one': 'the driver'}
    for result, wanted in (
            ('fail', [(False, 'mlx5/a/one', ' # TODO the driver')]),
            ('skip', [(False, 'mlx5/a/one', ''),
                      (False, 'mlx5/a/one (listed in failures.txt)', '')]),
            ('ok', [(True, 'mlx5/a/one', ''),
                    (False, 'mlx5/a/one (listed in failures.txt)', '')])):
        assert report_lines({}, [('mlx5', 'one', result)], failures=failures) == wanted
    run = report.Report({'skip': {}, 'fail': failures}, short=False)
    with contextlib.redirect_stdout(io.StringIO()):
        for name in ('one', 'two'):
            run.add('mlx5', 'a', report.Case(name, 'fail'))
    assert run.failed == 1
    assert run.rows()[0][:5] == ('a', 'mlx5 interface', '0', '1', '1')


def test_patterns():
    """A "*" stands for any text; each case that it stands for has to have the result."""
    failures = {'mlx5/a/*/x-*': 'the driver', 'mlx5/a/[y]*': 'the provider'}
    listed = ' (listed in failures.txt)'
    found = [('mlx5', 'one/x-1', 'fail'), ('mlx5', 'two/x-', 'fail'),
             ('mlx5', 'two/y-1', 'fail'), ('mlx5', '[y]', 'fail')]
    wanted = [(False, 'mlx5/a/one/x-1', ' # TODO the driver'),
              (False, 'mlx5/a/two/x-', ' # TODO the driver'),
              (False, 'mlx5/a/two/y-1', ''),
              (False, 'mlx5/a/[y]', ' # TODO the provider')]
    assert report_lines({}, found, failures=failures) == wanted
    assert report_lines({}, found[:3], True, failures) == wanted[:3]
    assert report_lines({}, found[:3], False, failures) == [
        *wanted[:3], (False, 'mlx5/a/[y]*' + listed, '')]
    passed = [*found, ('mlx5', 'three/x-1', 'ok')]
    assert report_lines({}, passed, True, failures) == [
        *wanted, (True, 'mlx5/a/three/x-1', ''), (False, 'mlx5/a/*/x-*' + listed, '')]


def test_rxe_alone():
    """Without the device what soft-RoCE passes counts, and nothing has failed."""
    results = [('rxe', 'one', 'ok'), ('rxe', 'two', 'fail'), ('rxe', 'three', 'skip')]
    lines = report_lines({'a/one': 'a pin'}, results, rxe_alone=True)
    skipped = ' # SKIP on soft-RoCE'
    assert lines == [(True, 'a/one', ''), (True, 'a/two', skipped),
                     (True, 'a/three', skipped)], lines


def test_named():
    """A whole name chooses one suite, a part all that have it."""
    suites = [stacks.Suite(name, 1, None) for name in ('core', 'core-new', 'other')]
    for names, wanted in (([], ['core', 'core-new', 'other']), (['core'], ['core']),
                          (['cor'], ['core', 'core-new']), (['none'], []),
                          (['core', 'oth'], ['core', 'other'])):
        found = [one.name for one in stacks.named(suites, names)]
        assert found == wanted, (names, found)


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


def test_alone():
    """Each test has a process: one that dies takes no other with it."""
    said = subprocess.run([sys.executable, __file__, 'alone'], check=True,
                          capture_output=True, text=True).stdout.splitlines()
    assert said == ['The test died: Killed.', 'fail __main__.Three.dies ',
                    'The test died: exit status 1.', 'fail __main__.Three.silent ',
                    'ok __main__.Three.passes '], said


def main():
    if sys.argv[1:] == ['alone']:
        for name in ('dies', 'silent', 'passes'):
            pyverbs_suite.run_alone(Three(name))
        return 0
    return cases.run((name, test) for name, test in globals().items()
                     if name.startswith('test_'))


if __name__ == '__main__':
    sys.exit(main())
