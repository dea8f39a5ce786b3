# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian as people install it, on a disk: the mlx5 interface with the packages that the
distribution has for RDMA, through restarts and sleep, and with a file system at boot."""
import functools
import re

import disk
import links
import mlx5
import programs
from programs import Program
from suite import NEWEST, Suite, named
from test_suspend import suspend

PROGRAMS = [Program('ibv_rc_pingpong', programs.PINGPONG, '-c -n 200'),
            Program('ib_write_bw', programs.BANDWIDTH, '-s 65536 -n 200'),
            programs.BY_NAME['rping']]
# Modules that rules of rdma-core load, beside the driver that the kernel asks for.
MODULES = {'mlx5_core', 'mlx5_ib', 'ib_uverbs', 'ib_umad', 'rdma_ucm'}
EXPORT, MOUNT = '/export', '/mnt'
MIB = 16                        # of the file
# Parts of warnings beside those of mlx5.py, and their reasons.
KNOWN_WARNINGS = {
    'regulatory.db': 'firmware of wireless interfaces, which no package here has',
    'missing firmware': 'likewise',
    'Spurious LAPIC timer': 'after kexec, that of the kernel before',
    'CONFIG_IMA_DISABLE_HTABLE': 'the device mapper of 6.1 says so when it is loaded',
}
# What starts the kernel anew while the other guest writes.
RESTARTS = {
    'reboot': lambda one: one.start('systemctl reboot'),
    'reset': lambda one: links.qemu(one, 'system_reset'),
    # The kernel computes sums of both files, which took two minutes on a busy host.
    'kexec': lambda one: one.start('kexec --load /vmlinuz --initrd=/initrd.img '
                                   '--reuse-cmdline && systemctl kexec',
                                   disk.BOOT_SECONDS),
}


def suites():
    for kernel in disk.RELEASES:
        yield Suite(f'disk-{kernel}', functools.partial(machines, kernel),
                    [named('boot', check_boot, kernel), test_udev, test_up, test_units,
                     *(named(program.name, programs.check, program)
                       for program in PROGRAMS),
                     *(named(name, check_restart, event)
                       for name, event in RESTARTS.items()),
                     test_suspend, test_nfs,
                     named('no_complaints', mlx5.test_no_complaints, *KNOWN_WARNINGS)],
                    '*', "the guests of Debian's packages in an initramfs")


def machines(kernel):
    return disk.DiskGuests(2, mlx5.Lab(), disk.find_image(kernel))


def check_all(guests):
    disk.wait_up(guests)
    for program in PROGRAMS:
        programs.check(guests, program)


def check_boot(guests, kernel):
    """The disk's own kernel and systemd."""
    for one in guests:
        assert kernel == NEWEST or one.check('uname -r').startswith(kernel + '.')
        assert one.check('findmnt -n -o SOURCE /').strip() == '/dev/vda1'
        assert one.check('cat /proc/1/comm').strip() == 'systemd'
    print('# booted in ' + ', '.join(f'{seconds:.0f} s'
                                     for seconds in guests.boot_seconds), flush=True)


def test_udev(guests):
    """By its rules alone: the drivers, the modules of RDMA, a name that stays."""
    for one in guests:
        for module in MODULES:
            one.wait_until(f'test -d /sys/module/{module}', 300)
        assert re.search(r'^link rocep\w+/1 .*netdev eth0', one.check('rdma link'))


def test_up(guests):
    disk.up(guests)
    for one in guests:
        assert programs.devinfo(one).figure == 'PORT_ACTIVE, MTU 4096'


def test_units(guests):
    """Every unit has started."""
    for one in guests:
        state = one.run('systemctl is-system-running --wait').output.strip()
        assert state == 'running', state + one.run('systemctl --failed').output


def check_restart(guests, event):
    """The next boot sets up all by itself, and the peer reaches it again."""
    _, peer = mlx5.write(guests)
    seconds = guests[0].restart(functools.partial(event, guests[0]))
    print(f'# {seconds:.0f} s', flush=True)
    peer.kill()
    check_all(guests)


def test_suspend(guests):
    """To RAM (S3), without traffic and with it."""
    suspend(guests[0], 'systemctl suspend')
    check_all(guests)
    _, peer = mlx5.write(guests)
    suspend(guests[0], 'systemctl suspend')
    peer.kill()
    check_all(guests)


def test_nfs(guests):
    """A file system over RDMA, of which /etc/fstab says that it is mounted at boot."""
    server, client = guests
    server.check(f'''
        mkdir {EXPORT} && echo '{EXPORT} *(rw,no_root_squash,no_subtree_check)' \
            >/etc/exports && mkdir -p /etc/nfs.conf.d &&
        printf '[nfsd]\\nrdma=y\\nrdma-port=20049\\n' >/etc/nfs.conf.d/rdma.conf &&
        systemctl restart nfs-server && grep 'rdma 20049' /proc/fs/nfsd/portlist''')
    client.check(f"echo '{server.name}:{EXPORT} {MOUNT} nfs4 "
                 "_netdev,proto=rdma,port=20049 0 0' >>/etc/fstab")
    client.restart(lambda: client.start('systemctl reboot'))
    client.wait_until(f'mountpoint -q {MOUNT}', 120)
    assert 'proto=rdma' in client.check(f'findmnt -n -o OPTIONS {MOUNT}')
    sums = client.check(f'''
        dd if=/dev/urandom of=/tmp/file bs=1M count={MIB} 2>&1 &&
        cp /tmp/file {MOUNT} && sync && md5sum </tmp/file''')
    assert server.check(f'md5sum <{EXPORT}/file') in sums
    disk.wait_up(guests)
