#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the semantics tests of this folder: a line "RESULT GROUP/NAME WHY" for each.

usage: run.py DEVICE GID-INDEX GROUP [WORD...]

A GROUP is a file here with cases(), which yields a name, a function, and the arguments
of the function after a Rig of its own. A case passes unless it raises;
Lacking means that the device reports the feature as missing. A WORD chooses the cases in
whose name it occurs.
"""
import importlib
import sys
import traceback

from pyverbs.pyverbs_error import PyverbsError, PyverbsRDMAError

from rig import Lacking, Rig


def run(device, gid_index, function, arguments):
    """(result, why)"""
    rig = Rig(device, gid_index)
    try:
        function(rig, *arguments)
        return 'ok', ''
    except Lacking as lack:
        return 'skip', str(lack)
    except AssertionError as problem:
        return 'fail', str(problem)
    except (PyverbsError, PyverbsRDMAError) as problem:
        place = traceback.extract_tb(problem.__traceback__)[-1]
        return 'fail', ' '.join(f'{problem} {place}'.split())
    finally:
        rig.close()


def main():
    device, gid_index, group, *words = sys.argv[1:]
    for name, function, arguments in importlib.import_module(group).cases():
        if all(word in name for word in words):
            result, why = run(device, int(gid_index), function, arguments)
            print(result, f'{group}/{name}', why, flush=True)


main()
