# SPDX-License-Identifier: GPL-2.0-or-later
"""Several suites at a time, each in a process of its own; their output is in order."""
import concurrent.futures
import contextlib
import io
import multiprocessing
import os

import guest

# Guests of a suite wait for each other about half of the time.
MOST = 4


def default_jobs():
    return max(1, min(MOST, len(os.sched_getaffinity(0))))


class Work:
    """The processes inherit the function: it cannot pass a pipe."""

    function = None


def with_output(number):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        value = Work.function(number)
    return value, text.getvalue()


def run(function, count, jobs):
    """function(0) to function(count - 1), so many at a time: their values, in order.

    The output of a function appears before its value is returned. With one job it
    appears at once.
    """
    if jobs == 1:
        yield from map(function, range(count))
        return
    Work.function = function
    with concurrent.futures.ProcessPoolExecutor(
            jobs, multiprocessing.get_context('fork'),
            initializer=guest.die_with_parent) as pool:
        for value, text in pool.map(with_output, range(count)):
            print(text, end='', flush=True)
            yield value
