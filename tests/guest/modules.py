# SPDX-License-Identifier: GPL-2.0-or-later
"""Modules of guest/linux that no image has, in a guest."""
import lzma
import subprocess
import tempfile
from pathlib import Path

import guest


def put(one, option, names):
    """Build modules by the option of guest/linux/build; they become /tmp/NAME.ko."""
    if not one.run(f'ls /tmp/{names[0]}.ko').status:
        return
    kernel = '.'.join(one.check('uname -r').split('.')[:2])
    made = subprocess.run([guest.ROOT / 'guest/linux/build', '--kernel', kernel, option],
                          check=False, text=True, capture_output=True)
    assert not made.returncode and 'warning:' not in made.stderr, made.stderr
    folder = Path(made.stdout.splitlines()[-1]).parent
    with tempfile.TemporaryDirectory(prefix='ernic-modules.') as target:
        for name in names:
            packed = Path(target, f'{name}.ko.xz')
            file = Path(target, f'{name}.ko')
            subprocess.run(['strip', '--strip-debug', '-o', file, folder / f'{name}.ko'],
                           check=True)
            packed.write_bytes(lzma.compress(file.read_bytes(), check=lzma.CHECK_CRC32))
            one.put(packed, f'/tmp/{name}.ko.xz')
            one.check(f'unxz /tmp/{name}.ko.xz')
