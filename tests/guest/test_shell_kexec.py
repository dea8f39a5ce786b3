# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel with guest/linux/shell starts another one by kexec while frames and RDMA are
under way: the card is quiet then, and the driver of the new kernel sets it up anew."""
import functools
from pathlib import Path

import ernic
import guest
import links
import modules
import programs
import test_shell
from suite import Suite, named

KERNEL = '6.12'
BUILD = guest.ROOT / 'guest/image/build.py'
MEMORY_MIB = 1536               # for two kernels
SECONDS = 300                   # of the restart; the host may be busy
CARDS = ('RecoNIC', 'xib')


def suites():
    machines = functools.partial(guest.Guests, len(CARDS), test_shell.Netdev(*CARDS),
                                 find_image, memory=MEMORY_MIB,
                                 cold='no other suite has this image')
    yield Suite(f'shell-kexec-{KERNEL}', machines,
                [test_shell.test_load, test_shell.test_tcp,
                 *(named(f'kexec_{name}', check_kexec, n)
                   for n, name in enumerate(CARDS)), programs.test_log],
                '*', 'unload has a test of the short form in shell-6.1')


def find_image():
    """The image, with its kernel and itself in it."""
    plain = guest.find_image(KERNEL)
    added = [word for name in ('kernel', 'initrd')
             for word in ('--add', f'{plain / name}:kexec/{name}')]
    return Path(guest.last_line(BUILD, '--kernel', KERNEL, '--packages', 'kexec-tools',
                                *added))


def check_kexec(guests, n):
    one, other = guests[n], guests[1 - n]
    one.check('kexec --load /kexec/kernel --initrd=/kexec/initrd --reuse-cmdline')
    jobs = [*test_shell.start_rdma(guests),
            other.start(programs.fetch_file(links.ipv4(n)))]
    one.boot_again(lambda: one.start('kexec --exec'), SECONDS)
    for job in jobs:
        if job.guest is other:
            job.kill()
    one.put_programs()
    one.check('python3 /tmp/inside/shell_quiet.py')
    modules.put(one, '--shell', (test_shell.MODULE,))
    test_shell.load(one)
    test_shell.up(guests)
    programs.serve_file(one, 2)
    test_shell.fetch(guests)
    ernic.check(guests, 'read', ernic.SHAPES['batch'])
