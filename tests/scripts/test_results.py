# SPDX-License-Identifier: GPL-2.0-or-later
"""Give scripts/results.py good and broken results."""
import json

import pytest

import results


def entry(name, result, status, stdout='', seconds=1, env=None):
    return {'name': name, 'result': result, 'returncode': status, 'stdout': stdout,
            'starttime': 0, 'duration': seconds, 'env': env or {}}


# Name, TAP, exit status; passed and skipped tests, and the failures.
TAP = [
    ('all good', '1..2\nok 1 - a\nok 2 - b\n', 0, 2, 0, []),
    ('plan at the end', 'ok 1 a\n1..1\n', 0, 1, 0, []),
    ('diagnostics', '# x\n1..1\nnoise\nok 1 - a\n', 0, 1, 0, []),
    ('a failure', '1..2\nok 1 - a\nnot ok 2 - b c\n', 1, 1, 0, ['b c']),
    ('a failure without a name', '1..1\nnot ok 1\n', 1, 0, 0, ['1']),
    ('failure and status 0', '1..1\nnot ok 1 - a\n', 0, 0, 0, ['a']),
    ('skip', '1..1\nok 1 - a # SKIP why\n', 0, 0, 1, []),
    ('all skipped', '1..0 # SKIP why\n', 0, 0, 1, []),
    ('no tests', '1..0\n', 0, 0, 0, ['no test ran']),
    ('no plan', 'ok 1 - a\n', 0, 1, 0, ['no plan']),
    ('silence', '', 0, 0, 0, ['no plan']),
    ('todo', '1..1\nnot ok 1 - a # TODO\n', 0, 0, 1, []),
    ('good lines, bad status', '1..1\nok 1 - a\n', 139, 1, 0, ['exit status 139']),
    ('died early', '1..3\nok 1 - a\n', 134, 1, 0, ['1 results, 3 planned']),
    ('died early with status 0', '1..3\nok 1 - a\n', 0, 1, 0, ['1 results, 3 planned']),
    ('too many', '1..1\nok 1\nok 2\n', 0, 2, 0, ['2 results, 1 planned']),
    ('bail out', '1..1\nok 1\nBail out! why\n', 0, 1, 0, ['Bail out! why']),
]
# Name, entries of the log, the three of all tests.
LOGS = [
    ('exit code', [entry('p:style / a', 'OK', 0)], 1, 0, []),
    ('exit code, failed', [entry('p:style / a', 'FAIL', 1, 'x')], 0, 0, ['fail']),
    ('timeout', [entry('a', 'TIMEOUT', -9)], 0, 0, ['timeout']),
    ('skip', [entry('a', 'SKIP', 77)], 0, 1, []),
    ('TAP that takes too long', [entry('p:unit / tap', 'TIMEOUT', 0, '1..1\nok 1 /x\n')],
     1, 0, ['timeout']),
    ('two tests', [entry('a', 'OK', 0), entry('b', 'ERROR', 1)], 1, 0, ['error']),
]
# These print TAP.
TAP_NAMES = {'tap', 'slow'}
TIMED = ('1..3\nok 1 - a\n# 70.5 s: a disk\nok 2 - b\n# 80.0 s\n'
         '# slow test /c executed in 1.25 secs\nok 3 - /c\n')


def log(folder, entries):
    path = folder / 'log.json'
    path.write_text(''.join(json.dumps(one) + '\n' for one in entries))
    return results.read(path, TAP_NAMES)


@pytest.mark.parametrize('entries, passed, skipped, failures', [
    *(pytest.param([entry('p:unit / tap', 'FAIL' if status or failures else 'OK', status,
                          text)], passed, skipped, failures, id=f'TAP: {what}')
      for what, text, status, passed, skipped, failures in TAP),
    *(pytest.param(*row, id=f'log: {what}') for what, *row in LOGS)])
def test_counts(tmp_path, entries, passed, skipped, failures):
    tests = log(tmp_path, entries)
    got = (sum(test.passed for test in tests), sum(test.skipped for test in tests),
           [failure for test in tests for failure in test.failures])
    assert got == (passed, skipped, failures), got
    assert results.good(tests) == (passed > 0 and not failures)


def test_times(tmp_path):
    tests = log(tmp_path, [
        entry('p:guest / slow', 'OK', 0, TIMED, 160),
        entry('p:unit / one', 'OK', 0, seconds=61, env={'ERNIC_SLOW': 'why'})])
    names = [(one.name, one.seconds, one.reason) for one in results.times(tests)]
    assert names == [('guest/slow b', 80, ''), ('guest/slow a', 70.5, 'a disk'),
                     ('unit/one', 61, 'why'), ('guest/slow /c', 1.25, '')], names
    text = '\n'.join(results.table(tests))
    assert 'Over 60 s without a reason: guest/slow b\n' in text, text
    assert text.endswith('\n4 passed, 0 failed, 0 skipped'), text
    text = '\n'.join(results.table(tests, ['lost']))
    assert 'lost: did not run' in text and '4 passed, 1 failed' in text, text
    assert results.good(tests) and not results.good(tests, ['lost'])


# The summary has the last lines before each failed test, and the end of what a program
# has written that died.
SAID = [
    entry('p:guest / tap', 'FAIL', 134, 'early\n# other\nok 1 - a\n' + '# x\n' * 8
          + '# why\nnot ok 2 - b\n# late\nok 3 - b\n1..4\n# abort\n'),
    {**entry('p:style / prose', 'FAIL', 1, 'spoke\n'), 'stderr': 'an error\n'}]


def test_failures_are_explained(tmp_path):
    lines = list(results.table(log(tmp_path, SAID)))
    at = lines.index('\nFailed:')
    assert lines[at + 1:] == [
        '  guest/tap: b', *['    | # x'] * 7, '    | # why',
        '  guest/tap: 3 results, 4 planned', '    | # x', '    | # x', '    | # why',
        '    | not ok 2 - b', '    | # late', '    | ok 3 - b', '    | 1..4',
        '    | # abort', '  style/prose: fail', '    | spoke', '    | an error',
        '\n2 passed, 3 failed, 0 skipped']
