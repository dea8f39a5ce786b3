# SPDX-License-Identifier: GPL-2.0-or-later
"""DKMS builds the driver from the files that "make dkms" installs. No guest."""
import contextlib
import os
import re
import subprocess
import tempfile
from pathlib import Path

import guest
from suite import KERNELS, NEWEST, Suite, named

DRIVER = guest.ROOT / 'guest/linux/ernic'
# Debian's headers of 6.12 want a program of another package for debug information
# in BTF; what is a variable of make here stands for it.
NO_BTF = 'CONFIG_DEBUG_INFO_BTF_MODULES='
# The compiler of this machine instead of the newest kernel's (guest/linux/build).
OLDER = ' CC=gcc CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT='


def suites():
    for kernel in [*KERNELS, NEWEST]:
        yield Suite(f'dkms-{kernel}', nullguests, [named('build', build, kernel)],
                    '*', 'every image has the driver of these files (guest/linux/build)')


def nullguests():
    return contextlib.nullcontext([])


def build(_, kernel):
    headers = Path(guest.last_line(guest.ROOT / 'guest/image/build.py',
                                   '--kernel', kernel, '--headers'))
    version = headers.name.removeprefix('linux-headers-')
    with tempfile.TemporaryDirectory(prefix='ernic-dkms.') as folder:
        place = Path(folder)
        for part in ('tree', 'modules'):
            (place / part).mkdir()
        guest.last_line('make', '-C', DRIVER, 'dkms', f'DESTDIR={place}')
        conf = next(place.glob('usr/src/ernic-*/dkms.conf'))
        name = 'ernic/' + re.search(r'^PACKAGE_VERSION="(.*)"$', conf.read_text(),
                                    re.M)[1]
        done = subprocess.run(
            ['dkms', 'build', name, '-k', version, '--arch', 'x86_64',
             '--kernelsourcedir', headers, '--sourcetree', place / 'usr/src',
             '--dkmstree', place / 'tree', '--installtree', place / 'modules'],
            env=dict(os.environ, MAKEFLAGS=NO_BTF + OLDER * (kernel == NEWEST)),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        assert done.returncode == 0, done.stdout
        module = place / 'tree' / name / version / 'x86_64/module/ernic.ko'
        info = subprocess.run(['/sbin/modinfo', module], stdout=subprocess.PIPE,
                              text=True, check=True).stdout
        assert re.search(r'^alias: +pci:v00001AF4d000010F4', info, re.M), info
        assert re.search(rf'^vermagic: +{re.escape(version)} ', info, re.M), info
