#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check a rule of the house that no tool knows: calls, events, layers, names, prose,
sentences, style or writers, each in the file of this name.

usage: scripts/checks NAME [ROOT [BUILT]]

BUILT is the engine's static library, of which "layers" reads calls and data, or QEMU's
build folder, for the calls of the device.
"""
import importlib
import sys
from pathlib import Path

import house

if __name__ == '__main__':
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    NAME, ROOT, *BUILT = sys.argv[1:] + ['.'] * (len(sys.argv) == 2)
    sys.exit(house.run(importlib.import_module(NAME).check, Path(ROOT), *BUILT))
