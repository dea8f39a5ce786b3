# SPDX-License-Identifier: GPL-2.0-or-later
"""The verbs of the kernel: a module that uses all of them, and NVMe over RDMA."""
import functools
import lzma
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import guest
import links
from suite import Suite

KVERBS = guest.ROOT / 'guest/linux/kverbs'
MIB = 120                       # what is written to the disk, and read back
SUBSYSTEM = '/sys/kernel/config/nvmet/subsystems/disk'
PORT = '/sys/kernel/config/nvmet/ports/1'
# What no test may leave in the kernel's log.
TROUBLE = re.compile(r'.*(?:BUG|WARNING|Oops|Call Trace|ernic.*(?:bad|error)).*')


def suites(kernel, image, short):
    found = [Suite(f'kernel-{link.name}-{kernel}',
                   functools.partial(guest.Guests, 2, link, image),
                   [test_kverbs, test_nvme, test_nvme_again, test_log])
             for link in (links.Netdev(), links.Udp())]
    return found[:1] if short else found


def build_kverbs(one, target):
    """Make the module for the kernel of a guest; target: where to put it."""
    kernel = '.'.join(one.check('uname -r').split('.')[:2])
    headers = guest.last_line(guest.ROOT / 'guest/image/build.py', '--kernel', kernel,
                              '--headers')
    tree = target / 'kverbs'
    shutil.copytree(KVERBS, tree)
    made = subprocess.run(['make', '-s', '-C', tree, f'KDIR={headers}', 'W=1',
                           'CONFIG_DEBUG_INFO_BTF_MODULES='], check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert made.returncode == 0 and 'warning:' not in made.stdout, made.stdout
    subprocess.run(['strip', '--strip-debug', tree / 'kverbs.ko'], check=True)
    packed = target / 'kverbs.ko.xz'
    packed.write_bytes(lzma.compress((tree / 'kverbs.ko').read_bytes(),
                                     check=lzma.CHECK_CRC32))
    return packed


def test_kverbs(guests):
    """Every test of guest/linux/kverbs, on one device."""
    links.up(guests, 4200)
    with tempfile.TemporaryDirectory(prefix='ernic-kverbs.') as folder:
        guests[0].put(build_kverbs(guests[0], Path(folder)), '/tmp/kverbs.ko.xz')
    guests[0].check('unxz /tmp/kverbs.ko.xz')
    guests[0].check('insmod /tmp/kverbs.ko; rmmod kverbs', 120)
    log = guests[0].check('dmesg | grep kverbs:')
    wanted = [name for file in sorted(KVERBS.glob('*.c'))
              for name in re.findall(r'\{ "(\w+)", kv_test_', file.read_text())]
    assert len(wanted) >= 17 and 'kverbs: done' in log, log
    passed = re.findall(r'kverbs: ok (\w+)', log)
    assert sorted(passed) == sorted(wanted) and 'not ok' not in log, log


def serve(one):
    """Offer a disk in memory to others by NVMe over RDMA."""
    one.check(f'''
        modprobe nvmet-rdma && modprobe loop && sleep 0.5
        [ -e /dev/loop0 ] || mknod /dev/loop0 b 7 0
        mount -t configfs none /sys/kernel/config
        dd if=/dev/zero of=/dev/shm/disk bs=1M count={MIB} 2>/dev/null &&
        losetup /dev/loop0 /dev/shm/disk &&
        mkdir {SUBSYSTEM} && echo 1 >{SUBSYSTEM}/attr_allow_any_host &&
        mkdir {SUBSYSTEM}/namespaces/1 &&
        printf /dev/loop0 >{SUBSYSTEM}/namespaces/1/device_path &&
        echo 1 >{SUBSYSTEM}/namespaces/1/enable &&
        mkdir {PORT} && echo rdma >{PORT}/addr_trtype && echo ipv4 >{PORT}/addr_adrfam &&
        echo {links.ipv4(0)} >{PORT}/addr_traddr && echo 4420 >{PORT}/addr_trsvcid &&
        ln -s {SUBSYSTEM} {PORT}/subsystems/disk''', 60)


def attach(one):
    one.check('modprobe nvme-rdma')
    one.check('echo "transport=rdma,nqn=disk,trsvcid=4420,nr_io_queues=1,'
              f'traddr={links.ipv4(0)}" >/dev/nvme-fabrics', 60)
    one.check('timeout 10 sh -c "until [ -b /dev/nvme0n1 ]; do sleep 0.1; done"', 15)


def detach(one):
    one.check('echo 1 >/sys/class/nvme/nvme0/delete_controller', 60)
    assert one.run('ls /dev/nvme0*').status != 0


def test_nvme(guests):
    """Write random bytes past the page cache, read them, compare all three copies."""
    serve(guests[0])
    attach(guests[1])
    guests[1].check(f'head -c {MIB << 20} /dev/urandom >/dev/shm/data', 60)
    guests[1].check('dd if=/dev/shm/data of=/dev/nvme0n1 bs=1M oflag=direct', 200)
    guests[1].check('dd if=/dev/nvme0n1 bs=1M iflag=direct | cmp - /dev/shm/data', 200)
    sums = [one.check(f'sha256sum {file}', 60).split()[0] for one, file in
            zip(guests, ('/dev/shm/disk', '/dev/shm/data'))]
    assert sums[0] == sums[1]
    detach(guests[1])


def test_nvme_again(guests):
    """Take the driver away under a connection; the next one finds the same disk."""
    attach(guests[1])
    guests[1].start('dd if=/dev/nvme0n1 of=/dev/null bs=64k iflag=direct', 60)
    guests[1].check('sleep 0.5; rmmod ernic', 60)
    guests[1].check('! ls /dev/nvme0n1 && modprobe ernic')
    links.up(guests, 4200)
    attach(guests[1])
    guests[1].check('cmp /dev/nvme0n1 /dev/shm/data', 200)
    detach(guests[1])


def test_log(guests):
    for one in guests:
        found = TROUBLE.findall(one.check('dmesg'))
        assert not found, '\n'.join(found)
