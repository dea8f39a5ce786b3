# SPDX-License-Identifier: GPL-2.0-or-later
"""DPDK's testpmd on the mlx5 interface, with the default options of its driver."""
import functools
import re

import mlx5
import stock
from suite import Suite

KERNEL = '6.12-cloud'
PACKAGES = (*stock.PACKAGES, 'dpdk-dev', 'librte-net-mlx5-25')
MIB = 1536                      # of memory of a guest
LEAST = 1000                    # frames each way
# Not interactive; and fewer buffers than for 32 ports, for which a guest is too small.
TESTPMD = 'dpdk-testpmd -- --total-num-mbufs=4096 --stats-period=1'
HUGE_PAGES = ('echo 64 >/proc/sys/vm/nr_hugepages && mkdir -p /dev/hugepages && '
              'mount -t hugetlbfs none /dev/hugepages')


class Link(mlx5.Netdev):
    """Debian's DPDK needs a processor that is not the oldest; testpmd needs two."""

    words = (*mlx5.Netdev.words, '-cpu', 'Nehalem', '-smp', '2')


def suites():
    yield Suite(f'dpdk-{KERNEL}', functools.partial(
        mlx5.start, KERNEL, Link(), packages=(PACKAGES,) * 2, memory=MIB),
        [test_both_ways, mlx5.test_no_complaints])


def frames(output):
    """Received and sent in all, of testpmd's last table."""
    total = re.findall(r'^  ([RT])X-packets: (\d+) +\1X-dropped: \d+', output, re.M)
    return [int(n) for _, n in total[:2]]


def test_both_ways(guests):
    """One sends a burst; each sends what it receives."""
    for one in guests:
        one.check('mkdir -p /var && ln -sfn /run /var/run && chmod 755 /')
        one.check(HUGE_PAGES)
    answers = guests[1].start(f'{TESTPMD} >/tmp/testpmd 2>&1; cat /tmp/testpmd', 200)
    guests[1].wait_until('grep -q "Port statistics" /tmp/testpmd', 100)
    asks = guests[0].start(f'{TESTPMD} --tx-first >/tmp/testpmd 2>&1; '
                           'cat /tmp/testpmd', 200)
    guests[0].wait_until('grep -q "Port statistics" /tmp/testpmd', 100)
    guests[0].wait_until('[ $(sed -n "s/.*RX-packets: \\([0-9]*\\).*/\\1/p" '
                         f'/tmp/testpmd | tail -n 1) -ge {LEAST} ]', 100)
    outputs = []
    for one, job in zip(guests, (asks, answers)):
        one.check('killall -INT dpdk-testpmd')
        outputs.append(job.wait().output)
    for output in outputs:
        assert min(frames(output)) >= LEAST, output[-4000:]
        assert not re.search(r'[RT]X-errors: *[1-9]', output), output[-4000:]
