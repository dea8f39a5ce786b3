# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests of Debian's packages sleep (S3) and wake up: the mlx5 driver leaves the device
and sets it up again."""
import functools
import time

import guest
import links
import mlx5
import programs
from programs import Program
from suite import Suite

# The kernels of cloud images cannot sleep.
KERNELS = ('6.1', '6.12', 'testing')
EVENTS = Program('ibv_rc_pingpong', programs.PINGPONG, '-c -n 200 -e')
WOKEN = "dmesg | grep -c 'Waking up from system sleep state S3'"


def suspend(one, command='echo mem >/sys/power/state'):
    """A command that suspends to RAM; the monitor wakes the machine up, unless something
    else does before. The job ends after the kernel has logged a further wake-up."""
    job = one.start(f'n=$({WOKEN}); {command} && until [ $({WOKEN}) -gt $n ]; do '
                    'sleep 0.2; done')
    end = time.monotonic() + guest.SECONDS
    while not job.done():
        if links.qemu(one, 'query-status')['status'] == 'suspended':
            links.qemu(one, 'system_wakeup')
        assert time.monotonic() < end, one.tail()
        time.sleep(0.1)
    result = job.wait()
    assert not result.status, result.output


def check_device(guests):
    """The driver has made a new RDMA device, so it has the name of udev."""
    mlx5.prepare(guests)
    links.up(guests, links.MTU)
    programs.check(guests, EVENTS)


def test_idle(guests):
    suspend(guests[0])
    check_device(guests)


def test_traffic(guests):
    """While the guest writes to the other one."""
    _, peer = mlx5.write(guests)
    suspend(guests[0])
    peer.kill()
    check_device(guests)


def suites():
    for kernel in KERNELS:
        yield Suite(f'suspend-{kernel}',
                    functools.partial(mlx5.start, kernel, mlx5.Lab(), links.MTU),
                    [test_idle, test_traffic, mlx5.test_no_complaints],
                    '*', 'reset of the function has tests of the short form')
