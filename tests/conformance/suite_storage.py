# SPDX-License-Identifier: GPL-2.0-or-later
"""Disks and files of one guest in another: NVMe, iSER and NFS over RDMA; fio verifies.

guests[0] has them in memory; guests[1] is the initiator or client.
"""
import guest
import storage
from report import case
from stacks import STACKS, Suite

PACKAGES = ('fio', 'open-iscsi')
MEMORY = 1536
MIB = 128                       # of a disk, and written to it; less in the short form
SHORT_MIB = 24
SECONDS = 400

# Name: the protocol, and fio's way of writing.
KINDS = {'nvme': (storage.NVME, storage.DEEP), 'iser': (storage.ISER, storage.DEEP),
         'nfs': (storage.NFS, '--ioengine=psync --fsync=64 --invalidate=1')}


def cases(guests, short):
    size = SHORT_MIB if short else MIB
    guests[0].check(f'modprobe configfs; mount -t configfs none {storage.CONFIG}; '
                    f'for name in nvme iser; do truncate -s {size}M /dev/shm/$name; done')
    guests[1].put(guest.INSIDE / 'mount_nfs.py', '/tmp/mount_nfs.py')
    for name, (way, options) in KINDS.items():
        fio = storage.fio(way.path, size, options)
        for what, one, command in (('target', guests[0], way.target),
                                   ('connects', guests[1], way.initiator),
                                   ('fio verifies', guests[1], fio),
                                   ('disconnects', guests[1], way.end)):
            result = one.run(command, SECONDS)
            yield case(f'{name} {what}', result.status == 0,
                       f'status {result.status}\n{result.output}')
            if result.status:
                break


# The flavours of a cloud have no ib_iser and no ib_isert.
SUITES = [Suite('storage', 2, cases, PACKAGES, MEMORY, devices=STACKS, about=PACKAGES,
                short=('ernic',), stock=('python3',)),
          Suite('storage-trixie', 2, cases, PACKAGES, MEMORY, devices=('mlx5',), short=(),
                about=PACKAGES, release='trixie', stock=('python3',),
                stock_kernel='6.12')]
