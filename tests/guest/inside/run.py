#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs tests with verbs: a line "RESULT GROUP/NAME WHY" for each.

usage: run.py DEVICE GID-INDEX GROUP [WORD...]

A GROUP is a file beside this one with functions check_NAME(), or with cases(), which
yields a name, a function and its arguments; the first argument is a Rig of its own. A
case passes unless it raises; Lacking means that the device reports the feature as
missing. A WORD chooses the cases in whose name it occurs.
"""
import importlib
import os
import sys
import traceback

from rig import Lacking, Rig


def run(device, gid_index, function, arguments):
    """(result, why)"""
    rig = Rig(device, gid_index)
    try:
        function(rig, *arguments)
        return 'ok', ''
    except Lacking as lack:
        return 'skip', str(lack)
    except Exception as problem:            # the other cases have to run
        place = traceback.extract_tb(problem.__traceback__)[-1]
        return 'fail', ' '.join(f'{problem!r} {place}'.split())
    finally:
        rig.close()


def cases(module):
    if hasattr(module, 'cases'):
        return module.cases()
    return [(name.removeprefix('check_'), function, ())
            for name, function in vars(module).items() if name.startswith('check_')]


def main():
    device, gid_index, group, *words = sys.argv[1:]
    for name, function, arguments in cases(importlib.import_module(group)):
        if all(word in name for word in words):
            result, why = run(device, int(gid_index), function, arguments)
            print(result, f'{group}/{name}', why, flush=True)


main()
os._exit(0)                     # without the objects that Python still holds
