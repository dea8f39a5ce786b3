# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs functions as test cases and prints TAP."""
import traceback


def run(cases):
    """Run every (name, function, arguments...); one that raises has failed. The exit
    status."""
    cases, failed = list(cases), 0
    print(f'1..{len(cases)}')
    for number, (name, function, *arguments) in enumerate(cases, 1):
        fault = ''
        try:
            function(*arguments)
        except AssertionError as e:
            fault = str(e) or traceback.format_exc()
        except Exception:                   # the other cases have to run
            fault = traceback.format_exc()
        print('not ok' if fault else 'ok', number, '-', name)
        for line in fault.splitlines():
            print('#', line)
        failed += bool(fault)
    return 1 if failed else 0
