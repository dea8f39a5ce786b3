# SPDX-License-Identifier: GPL-2.0-or-later
"""On-demand regions, whose pages come and go."""
import re

import programs
from suite import KERNELS, Suite, named, ours
from test_driver import UP, Plugged

CHECKS = ('pages', 'rights', 'fork', 'dontneed', 'punch', 'traffic', 'unmap',
          'protect', 'implicit', 'advice', 'queue', 'many')
# A process with regions is killed while the device requests their pages.
FAULTS = '/sys/class/infiniband/ernic0/ports/1/hw_counters/page_faults'
KILLED = (f'cd /tmp/inside; for n in 1 4 7; do before=$(cat {FAULTS}); '
          'python3 run.py ernic0 GID odp traffic & '
          f'until [ $(cat {FAULTS}) -gt $before ]; do sleep 0.1; done; '
          'sleep 0.$n; kill -9 $! || exit 1; wait $!; [ $? = 137 ] || exit 1; done')


def suites():
    for kernel in KERNELS:
        yield Suite(f'odp-{kernel}', ours(1, Plugged(), kernel),
                    [test_up, *(named(name, check, name) for name in CHECKS),
                     test_killed, test_left],
                    *([] if kernel == '6.1' else ['*', 'odp-6.1']))


def check(guests, name):
    programs.inside(guests[0], 'odp', name, seconds=100)


def test_up(guests):
    guests[0].put_programs()
    guests[0].check(UP)


def test_killed(guests):
    command = KILLED.replace('GID', str(programs.own_gid(guests[0])))
    guests[0].check(f"timeout 150 sh -c '{command}'", 160)


def test_left(guests):
    """No region is left, and the kernel logs no warning."""
    left = guests[0].check('rdma res show')
    assert re.search(r'\bmr 0\b', left), left
    log = guests[0].check('dmesg')
    assert not re.search(r'WARNING|BUG|ernic.*(no answer|pages stay)', log), log
    guests[0].check('rmmod ernic')
