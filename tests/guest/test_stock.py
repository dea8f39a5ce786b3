# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels and programs of Debian as they are: the images of stock.KERNELS, of which
test_mlx5*.py boot each. No guest.
"""
import contextlib
import hashlib
import re
import stat
from pathlib import Path

import stock
from suite import Suite, named

MERGED = ['bin', 'lib', 'lib64', 'sbin']        # Debian's links in /
# The folders that any kernel finds, and the console.
EMPTY = ['dev', 'proc', 'root', 'run', 'sys', 'tmp']


# The short form looks at the images that its other tests boot.
SAME = {'6.1-cloud': 'stock-6.1', '6.12': 'stock-6.12-cloud',
        'testing': 'stock-testing-cloud'}


def suites():
    for kernel in stock.KERNELS:
        yield Suite(f'stock-{kernel}', lambda: contextlib.nullcontext([]),
                    [named('files', check_files, kernel),
                     named('foreign_files', check_foreign_files, kernel)],
                    *(['*', SAME[kernel]] if kernel in SAME else []))


def entries(data):
    """Name, mode and content of each entry of an archive (newc)."""
    at = 0
    while True:
        fields = [int(data[at + 6 + 8 * n:at + 14 + 8 * n], 16) for n in range(13)]
        mode, size, length = fields[1], fields[6], fields[11]
        name = data[at + 110:at + 110 + length - 1].decode()
        start = (at + 110 + length + 3) & ~3
        if name == 'TRAILER!!!':
            return
        yield name, mode, data[start:start + size]
        at = (start + size + 3) & ~3


def foreign(archive, listed):
    """The entries of an archive that no package has like that.

    listed: text of the file `files` of an image.
    """
    known = {tuple(line.split(' ', 1)[1].split(' ', 2)) for line in listed.splitlines()}
    folders = {path for kind, path, _ in known if kind == 'd'}
    for _, path, _ in known:
        folders.update(str(parent) for parent in Path(path).parents)
    for name, mode, content in archive:
        if stat.S_ISREG(mode):
            fine = (('f', name, hashlib.md5(content).hexdigest()) in known
                    # depmod's, of which an installed package leaves the like
                    or re.fullmatch(r'usr/lib/modules/[^/]+/modules\.[a-z.]+', name))
        elif stat.S_ISLNK(mode):
            fine = (('l', name, content.decode()) in known
                    or name in MERGED and content.decode() == f'usr/{name}')
        elif stat.S_ISDIR(mode):
            fine = name in folders or name in EMPTY
        else:
            fine = name == 'dev/console'
        if not fine:
            yield name


def parts(kernel):
    image = stock.find_image(kernel)
    return (list(entries((image / 'initrd').read_bytes())),
            (image / 'files').read_text())


def check_files(_, kernel):
    """Every file of the image is as it is in a package of Debian."""
    archive, listed = parts(kernel)
    found = list(foreign(archive, listed))
    names = {Path(name).name.partition('.')[0] for name, _, _ in archive}
    assert {'busybox', 'mlx5_core', 'ibv_devinfo'} <= names
    assert not found, found


def check_foreign_files(_, kernel):
    """That check finds a file of ours, a changed one, and a link."""
    archive, listed = parts(kernel)
    name, mode, content = next(one for one in archive if one[0] == 'usr/bin/busybox')
    for wrong in (('usr/lib/modules/extra/ernic.ko', mode, b''), ('init', mode, b''),
                  (name, mode, content + b'\0'), ('init', stat.S_IFLNK, b'usr/bin/sh'),
                  ('usr/agent', stat.S_IFDIR, b'')):
        assert list(foreign([*archive, wrong], listed)) == [wrong[0]], wrong[0]
