# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's verbs: a module that uses all of them, and NVMe and RDS on RDMA.

NVMe runs here where `storage` of tests/conformance does not: while the driver is unloaded
or the device dies.
"""
import re

import guest
import links
import modules
import programs
import storage
from suite import KERNELS, Suite, ours

KVERBS = guest.ROOT / 'guest/linux/kverbs'
MODULES = ('kverbs', 'nomem', 'filter')
MIB = 16                        # of the disk


def suites():
    for kernel, link in zip(KERNELS, (links.Udp(), links.Netdev())):
        yield Suite(f'kernel-{link.name}-{kernel}', ours(2, link, kernel),
                    [test_kverbs, test_rings_no_memory, test_rds, test_nvme_again,
                     programs.test_log, test_nvme_dead, test_dead],
                    *([] if kernel == '6.1' else ['*', 'kernel-udp-6.1']))


def put_kverbs(one):
    """Put the modules of guest/linux/kverbs into the guest, unless they are there."""
    modules.put(one, '--kverbs', MODULES)


def test_kverbs(guests):
    """Every test of guest/linux/kverbs, on one device."""
    links.up(guests, links.MTU)
    put_kverbs(guests[0])
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
    programs.test_log([one])
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


def start_reading(one):
    """The disk is read from now on; the messages are requests."""
    programs.sends(one, 'while :; do dd if=/dev/nvme0n1 of=/dev/null bs=64k '
                   'iflag=direct || exit; done', 60, 20)


def same_disk(guests):
    """The initiator reads what the target has; md5 is cheap under emulation."""
    attach(guests[1])
    sums = [one.check(f'md5sum <{path}', 200) for one, path in
            zip(guests, ('/dev/shm/nvme', storage.NVME.path))]
    assert sums[0] == sums[1]
    detach(guests[1])


def test_rds(guests):
    links.up(guests, links.MTU)
    for one in guests:
        one.check('modprobe rds_rdma')
        one.put_programs()
    programs.check_rds(guests)
    for one in guests:
        one.check('modprobe -r rds_rdma')


def test_nvme_again(guests):
    """Unload the driver under a connection; the next one finds the same disk."""
    guests[0].check(f'mount -t configfs none {storage.CONFIG} && '
                    f'head -c {MIB << 20} /dev/urandom >/dev/shm/nvme')
    guests[0].check(storage.NVME.target, 60)
    attach(guests[1])
    start_reading(guests[1])
    guests[1].check('rmmod ernic', 60)
    guests[1].check('! ls /dev/nvme0n1 && modprobe ernic')
    links.up(guests, links.MTU)
    same_disk(guests)


def test_nvme_dead(guests):
    """The initiator's device dies under a connection, and is removed then."""
    attach(guests[1])
    guests[1].check('dmesg -c')
    start_reading(guests[1])
    guests[1].check(f'setpci -s {links.function(guests[1])} COMMAND=0:4; ! rdma link')
    guests[1].check('rmmod ernic', 60)
    programs.test_log(guests[1:], programs.NO_ANSWER)
    # NVMe keeps trying to connect, unless it was removed together with the device.
    guests[1].run(storage.NVME.end, 60)
    guests[1].check('! ls /dev/nvme0n1 && modprobe ernic')
    links.up(guests, links.MTU)
    same_disk(guests)


def test_dead(guests):
    """After the device dies, its users in the kernel neither hang nor warn."""
    kverbs(guests[0], 'dead=1', [KVERBS / 'kverbs_dead.c'], 1)
    programs.test_log(guests[:1], programs.NO_ANSWER)
