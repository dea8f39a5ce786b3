# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's verbs: a module that uses all of them, and NVMe, NFS and RDS on RDMA.

NVMe and NFS run here where `storage` of tests/conformance does not: over the UDP link, on
the second kernel, and while the driver is unloaded.
"""
import lzma
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import guest
import links
import storage
from suite import KERNELS, Suite, ours

INSIDE = guest.ROOT / 'tests/guest/inside'
KVERBS = guest.ROOT / 'guest/linux/kverbs'
DEVICE = f'/sys/class/infiniband/{links.DEVICE}/device'
MODULES = ('kverbs', 'nomem', 'filter')
MIB = 120                       # what is written to the disk, and read back
# No test may leave these in the kernel's log.
TROUBLE = re.compile(r'.*(?:BUG|WARNING|Oops|Call Trace|ernic.*(?:bad|error)).*')
# Messages about a device that dies, and their sources.
NO_ANSWER = 'no answer, status|Fatal error .* on MAD QP'


def suites():
    for kernel, link in zip(KERNELS, (links.Udp(), links.Netdev())):
        yield Suite(f'kernel-{link.name}-{kernel}', ours(2, link, kernel),
                    [test_kverbs, test_rings_no_memory, test_rds, test_nvme,
                     test_nvme_again, test_nfs, test_log, test_nvme_dead, test_dead],
                    *([] if kernel == '6.1' else ['*', 'kernel-udp-6.1']))


def build_kverbs(one, target):
    """Build the modules for a guest's kernel in the folder target; copy them there."""
    kernel = '.'.join(one.check('uname -r').split('.')[:2])
    headers = guest.last_line(guest.ROOT / 'guest/image/build.py', '--kernel', kernel,
                              '--headers')
    tree = target / 'modules'
    shutil.copytree(KVERBS, tree)
    made = subprocess.run(['make', '-s', '-C', tree, f'KDIR={headers}', 'W=1',
                           'CONFIG_DEBUG_INFO_BTF_MODULES='], check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert made.returncode == 0 and 'warning:' not in made.stdout, made.stdout
    for name in MODULES:
        subprocess.run(['strip', '--strip-debug', tree / f'{name}.ko'], check=True)
        packed = target / f'{name}.ko.xz'
        packed.write_bytes(lzma.compress((tree / f'{name}.ko').read_bytes(),
                                         check=lzma.CHECK_CRC32))
        one.put(packed, f'/tmp/{name}.ko.xz')
        one.check(f'unxz /tmp/{name}.ko.xz')


def test_kverbs(guests):
    """Every test of guest/linux/kverbs, on one device."""
    links.up(guests, 4200)
    with tempfile.TemporaryDirectory(prefix='ernic-kverbs.') as folder:
        build_kverbs(guests[0], Path(folder))
    kverbs(guests[0], '', [file for file in KVERBS.glob('*.c')
                           if file.stem not in ('kverbs_dead', 'kverbs_smp')], 17)


def test_rings_no_memory(guests):
    """A card that cannot get rings of another size continues with its own."""
    one = guests[0]
    one.check(f'ethtool -G {links.INTERFACE} rx 128 tx 256')
    # Each of the rings; then the first buffer of the new ones, whose failure is no error.
    for options in ('skip=0', 'skip=1', 'skip=2', 'symbol=dma_map_page_attrs value=-1'):
        one.check(f'insmod /tmp/nomem.ko {options}')
        assert one.run(f'ethtool -G {links.INTERFACE} rx 512 tx 4096').status != 0
        assert one.check('cat /sys/module/nomem/parameters/failed') == 'Y\n', options
        one.check('rmmod nomem')
        sizes = re.findall(r'^[RT]X:\s+(\d+)',
                           one.check(f'ethtool -g {links.INTERFACE}'), re.M)
        assert sizes[2:] == ['128', '256'], (options, sizes)
        one.check(f'ping -c 2 -i 0.2 -W 5 {links.ipv4(1)}')
    one.check(f'ethtool -G {links.INTERFACE} rx 256 tx 256')
    one.check(f'ping -c 2 -i 0.2 -W 5 {links.ipv4(1)}')


def kverbs(one, options, files, least):
    """Every test in the files passes, and there are at least so many."""
    quiet(one)
    one.check('dmesg -c')
    one.check(f'insmod /tmp/kverbs.ko {options}; rmmod kverbs', 120)
    log = one.check('dmesg')
    wanted = [name for file in sorted(files)
              for name in re.findall(r'\{ "(\w+)", kv_test_', file.read_text())]
    assert len(wanted) >= least and 'kverbs: done' in log, log
    passed = re.findall(r'kverbs: ok (\w+)', log)
    assert sorted(passed) == sorted(wanted) and 'not ok' not in log, log


def attach(one):
    one.check(storage.NVME.initiator, 60)


def detach(one):
    one.check(storage.NVME.end, 60)
    assert one.run('ls /dev/nvme0*').status != 0


def md5(one, command):
    """The checksum of a command's output: the cheapest one under emulation."""
    return one.check(f'{command} 2>/dev/null | md5sum', 200).split()[0]


def test_rds(guests):
    """Datagrams of 1 byte to 32 KiB, and their first bytes back."""
    links.up(guests, 4200)
    for one in guests:
        one.check('modprobe rds_rdma')
        one.put(INSIDE / 'rds.py', '/tmp/rds.py')
    server = guests[0].start(f'python3 /tmp/rds.py {links.ipv4(0)}', 120)
    guests[0].check('timeout 20 sh -c "until [ -e /tmp/rds.bound ]; do sleep 0.1; done"')
    client = guests[1].run(
        f'python3 /tmp/rds.py {links.ipv4(1)} {links.ipv4(0)}', 120)
    assert client.output.strip() == '100 echoes', client.output
    assert server.wait().status == 0
    for one in guests:
        one.check('modprobe -r rds_rdma')


def test_nvme(guests):
    """Write random bytes past the page cache, read them, compare all three copies."""
    guests[0].check(f'mount -t configfs none {storage.CONFIG} && '
                    f'truncate -s {MIB}M /dev/shm/nvme')
    guests[0].check(storage.NVME.target, 60)
    attach(guests[1])
    guests[1].check(f'head -c {MIB << 20} /dev/urandom >/dev/shm/data', 60)
    guests[1].check('dd if=/dev/shm/data of=/dev/nvme0n1 bs=1M oflag=direct', 200)
    data = md5(guests[1], 'cat /dev/shm/data')
    assert md5(guests[1], 'dd if=/dev/nvme0n1 bs=1M iflag=direct') == data
    assert md5(guests[0], 'cat /dev/shm/nvme') == data
    detach(guests[1])


def test_nvme_again(guests):
    """Unload the driver under a connection; the next one finds the same disk."""
    attach(guests[1])
    guests[1].start('dd if=/dev/nvme0n1 of=/dev/null bs=64k iflag=direct', 60)
    guests[1].check('sleep 0.5; rmmod ernic', 60)
    guests[1].check('! ls /dev/nvme0n1 && modprobe ernic')
    links.up(guests, 4200)
    attach(guests[1])
    assert (md5(guests[1], 'cat /dev/nvme0n1') == md5(guests[0], 'cat /dev/shm/nvme'))
    detach(guests[1])


def test_nfs(guests):
    """A file system of one guest in the other."""
    guests[1].put(INSIDE / 'mount_nfs.py', '/tmp/mount_nfs.py')
    guests[0].check(storage.NFS.target, 60)
    guests[1].check(storage.NFS.initiator, 60)
    guests[1].check('head -c 33554432 /dev/urandom >/tmp/file')
    guests[1].check('cp /tmp/file /mnt/file && sync && '
                    'echo 3 >/proc/sys/vm/drop_caches', 120)
    file = md5(guests[1], 'cat /tmp/file')
    assert md5(guests[0], 'cat /export/file') == file
    assert md5(guests[1], 'cat /mnt/file') == file
    guests[1].check(storage.NFS.end, 60)
    guests[0].check('echo 0 >/proc/fs/nfsd/threads', 60)


def test_log(guests):
    for one in guests:
        quiet(one)


def quiet(one, but='^$'):
    """The kernel's log has no warnings except in such lines."""
    found = [line for line in TROUBLE.findall(one.check('dmesg'))
             if not re.search(but, line)]
    assert not found, '\n'.join(found)


def test_nvme_dead(guests):
    """The initiator's device dies under a connection, and is removed then."""
    attach(guests[1])
    guests[1].check('dmesg -c')
    guests[1].start('dd if=/dev/nvme0n1 of=/dev/null bs=64k iflag=direct', 60)
    address = guests[1].check(f'basename $(readlink {DEVICE})').strip()
    guests[1].check(f'sleep 0.5; setpci -s {address} COMMAND=0:4; ! rdma link')
    guests[1].check('rmmod ernic', 60)
    quiet(guests[1], NO_ANSWER)
    # NVMe keeps trying to connect, unless it was removed together with the device.
    guests[1].run(storage.NVME.end, 60)
    guests[1].check('! ls /dev/nvme0n1 && modprobe ernic')
    links.up(guests, 4200)
    attach(guests[1])
    assert (md5(guests[1], 'cat /dev/nvme0n1') == md5(guests[0], 'cat /dev/shm/nvme'))
    detach(guests[1])


def test_dead(guests):
    """After the device dies, its users in the kernel neither hang nor warn."""
    kverbs(guests[0], 'dead=1', [KVERBS / 'kverbs_dead.c'], 1)
    quiet(guests[0], NO_ANSWER)
