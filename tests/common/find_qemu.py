# SPDX-License-Identifier: GPL-2.0-or-later
"""The QEMU that tests use: that of the variable QEMU, or one of scripts/qemu-tree."""
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def find_qemu(*arguments):
    """The path of qemu-system-x86_64. arguments: of scripts/qemu-tree; an option for a
    build of its kind disregards QEMU."""
    kind = any(argument.startswith('--') for argument in arguments)
    if 'QEMU' in os.environ and not kind:
        return Path(os.environ['QEMU']).resolve()
    done = subprocess.run([ROOT / 'scripts/qemu-tree', *arguments],
                          stdout=subprocess.PIPE, text=True, check=True)
    return Path(done.stdout.splitlines()[-1]) / 'qemu-system-x86_64'
