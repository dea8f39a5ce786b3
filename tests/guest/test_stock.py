# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels and programs of Debian as they are: images, boot, drivers.

A suite for each kernel of stock.KERNELS; each makes its image when it starts.
"""
import functools
import hashlib
import re
import stat
from pathlib import Path

import links
import stock
from suite import Suite, named

MERGED = ['bin', 'lib', 'lib64', 'sbin']        # Debian's links in /
# The folders that any kernel finds, and the console.
EMPTY = ['dev', 'proc', 'root', 'run', 'sys', 'tmp']


def machines(kernel):
    return stock.StockGuests(1, links.SoftRoce(), stock.find_image(kernel),
                             cold='the boot is tested')


# The short form boots the other kernels with the device, in test_mlx5*.py.
SAME = {'6.1': 'stock-6.1-cloud', '6.12-cloud': 'stock-6.12',
        'testing-cloud': 'stock-testing'}


def suites():
    for kernel in stock.KERNELS:
        yield Suite(f'stock-{kernel}', functools.partial(machines, kernel),
                    [named('kernel', check_kernel, kernel), test_files,
                     test_foreign_files, test_driver, test_programs, test_no_complaints],
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


def parts(guests):
    return (list(entries((guests.image / 'initrd').read_bytes())),
            (guests.image / 'files').read_text())


def test_files(guests):
    """Every file of the image is as it is in a package of Debian."""
    archive, listed = parts(guests)
    found = list(foreign(archive, listed))
    names = {Path(name).name.partition('.')[0] for name, _, _ in archive}
    assert {'busybox', 'mlx5_core', 'ibv_devinfo'} <= names
    assert not found, found


def test_foreign_files(guests):
    """That check finds a file of ours, a changed one, and a link."""
    archive, listed = parts(guests)
    name, mode, content = next(one for one in archive if one[0] == 'usr/bin/busybox')
    for wrong in (('usr/lib/modules/extra/ernic.ko', mode, b''), ('init', mode, b''),
                  (name, mode, content + b'\0'), ('init', stat.S_IFLNK, b'usr/bin/sh'),
                  ('usr/agent', stat.S_IFDIR, b'')):
        assert list(foreign([*archive, wrong], listed)) == [wrong[0]], wrong[0]


def check_kernel(guests, kernel):
    release = guests[0].check('uname -r').strip()
    assert ('-cloud-' in release) == kernel.endswith('-cloud'), release
    if not kernel.startswith('testing'):
        assert release.startswith(kernel.removesuffix('-cloud') + '.'), release


def test_driver(guests):
    """udev has loaded the driver of the device, by its modalias."""
    path = '/sys/bus/virtio/drivers/virtio_net/virtio*/net/*/address'
    assert guests[0].check(f'cat {path}').split() == [links.mac(0)]
    assert 'virtio_net' in guests[0].check('lsmod')


def test_programs(guests):
    """The programs of RDMA start, and see no device. The driver that they are for can be
    loaded from the image, with all that it needs."""
    guests[0].check('modprobe -a mlx5_core mlx5_ib ib_uverbs rdma_ucm ib_umad')
    assert guests[0].check('rdma link') == ''
    assert 'No IB devices found' in guests[0].run('ibv_devinfo').output
    for program in ('ib_send_bw', 'rping', 'qperf'):
        assert program in guests[0].check(f'which {program}')


def test_no_complaints(guests):
    for one in guests:
        lines = stock.warnings(one)
        assert not lines, '\n'.join(lines)
