# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks that are functions, and their report in TAP."""
import signal


def run(checks):
    """Calls each check, a name and a function, and returns the exit status. A check has
    failed if it raises an exception. SIGTERM is Ctrl-C, which removes what they have
    made."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    failed = 0
    print(f'1..{len(checks)}', flush=True)
    for number, (name, check) in enumerate(checks, 1):
        result = 'ok'
        try:
            check()
        except Exception as e:          # pylint: disable=broad-exception-caught
            failed, result = 1, 'not ok'
            for line in f'{type(e).__name__}: {e}'.splitlines():
                print('#', line)
        print(result, number, '-', name, flush=True)
    return failed
