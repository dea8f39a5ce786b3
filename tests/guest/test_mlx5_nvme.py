# SPDX-License-Identifier: GPL-2.0-or-later
"""A disk of one guest in another by NVMe over RDMA, with kernels of Debian as they are.

No package of RDMA is in these guests: udev loads the drivers by modalias, and iproute2
does the rest. The initiator has fio, which brings two libraries of RDMA with it, and no
provider for them.
"""
import functools
import re

import links
import mlx5
import storage
from suite import Suite

MTU = 4200                      # of Ethernet, for a path MTU of 4096
MIB, SMALL_MIB = 128, 24
SECONDS = 400
MEMORY = 1024                   # MiB of a guest: the target has the disk in memory
# The link of each kernel.
LINKS = {'6.12-cloud': mlx5.Lab, '6.1': mlx5.Udp, '6.1-cloud': mlx5.Netdev,
         'testing-cloud': mlx5.Netdev}
# fio is linked with these.
LIBRARIES = {'libibverbs1', 'librdmacm1', 'librdmacm1t64'}
RDMA = re.compile(r'rdma|ibverbs|mlx|infiniband|perftest|nvme')


def machines(kernel):
    return mlx5.start(kernel, LINKS[kernel](), MTU, ((), ('fio',)), modules='',
                      memory=MEMORY)


def check_disk(guests, mib, write):
    """write(initiator) writes a disk in the target, whose memory then has the same; the
    target closes the initiator's keys by SEND with Invalidate."""
    target, initiator = guests
    target.check('modprobe -a configfs nvmet-rdma && '
                 f'mount -t configfs none {storage.CONFIG} && '
                 f'truncate -s {mib}M /dev/shm/nvme')
    target.check(storage.NVME.target)
    links.qemu(initiator, 'trace-event-set-state', name='ernic_invalidate', enable=True)
    initiator.check(storage.NVME.initiator)
    write(initiator)
    sums = [one.check(f'md5sum <{path}', 200) for one, path in
            ((target, '/dev/shm/nvme'), (initiator, storage.NVME.path))]
    assert sums[0] == sums[1]
    initiator.check(storage.NVME.end)
    assert initiator.run(f'ls {storage.NVME.path}').status != 0
    closed = re.findall(r'^ernic_invalidate key \S+ remote 1', initiator.log.read_text(),
                        re.M)
    assert len(closed) > mib, len(closed)


def fio(one):
    output = one.check(storage.fio(storage.NVME.path, MIB, storage.DEEP), SECONDS)
    print('#', *re.findall(r'(?:READ|WRITE): bw=\S+', output), flush=True)


def copy(one):
    one.check(f'dd if=/dev/urandom of={storage.NVME.path} bs=64k oflag=direct '
              f'count={SMALL_MIB * 16}', 60)


def test_nvme(guests):
    """fio writes random blocks, reads and verifies them."""
    for image, allowed in zip(guests.image, (set(), LIBRARIES)):
        names = {line.split(' ', 1)[0]
                 for line in (image / 'files').read_text().splitlines()}
        assert 'iproute2' in names
        assert {name for name in names if RDMA.search(name)} <= allowed, names
    check_disk(guests, MIB, fio)


def check_small(guests):
    """The same in guests with other packages, and without fio."""
    check_disk(guests, SMALL_MIB, copy)


def suites():
    for kernel in LINKS:
        yield Suite(f'mlx5-nvme-{kernel}', functools.partial(machines, kernel),
                    [test_nvme, mlx5.test_no_complaints], '*', 'mlx5-verbs-6.12-cloud')
