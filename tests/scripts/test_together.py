#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Suites that run at the same time: values and output in order. Prints TAP."""
import contextlib
import io
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'guest'))

import cases                                        # noqa: E402
import suite                                        # noqa: E402
import together                                     # noqa: E402


def output(function, *arguments):
    """Its value and output."""
    with contextlib.redirect_stdout(io.StringIO()) as text:
        value = function(*arguments)
    return value, text.getvalue()


def values(function, count, jobs):
    return list(together.run(function, count, jobs))


def test_in_order():
    def work(n):
        print('line', n)
        return 10 * n

    for jobs in 1, 3:
        assert output(values, work, 4, jobs) == (
            [0, 10, 20, 30], 'line 0\nline 1\nline 2\nline 3\n'), jobs


def test_at_the_same_time():
    """Each of two opens a pipe that the other opens too."""
    with tempfile.TemporaryDirectory() as folder:
        pipe = Path(folder) / 'pipe'

        def meet(n):
            with open(pipe, 'r' if n else 'w', encoding='ascii'):
                return os.getpid()

        os.mkfifo(pipe)
        one, other = values(meet, 2, 2)
    assert len({one, other, os.getpid()}) == 3


def test_errors():
    def fail(n):
        raise ValueError(n)

    for jobs in 1, 2:
        try:
            values(fail, 2, jobs)
        except ValueError:
            continue
        raise AssertionError(jobs)


def test_numbers():
    """The results of suites that run together have the numbers of the plan."""
    def good(_):
        pass

    def bad(_):
        assert False

    suites = [suite.Suite(name, lambda: contextlib.nullcontext([]),
                          [suite.named('good', good), suite.named('bad', bad)])
              for name in 'ab']
    for jobs in 1, 2:
        status, text = output(suite.run, suites, jobs)
        lines = [line for line in text.splitlines() if line[0] != '#']
        assert (status, lines) == (1, [
            '1..4', 'ok 1 - a/good', 'not ok 2 - a/bad',
            'ok 3 - b/good', 'not ok 4 - b/bad']), lines


if __name__ == '__main__':
    sys.exit(cases.run((name, test) for name, test in list(globals().items())
                       if name.startswith('test_')))
