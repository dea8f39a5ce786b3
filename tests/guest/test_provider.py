# SPDX-License-Identifier: GPL-2.0-or-later
"""The provider's book-keeping, on one device that sends to itself.

And Debian's tests on the second kernel; `rdma-core` of tests/conformance has the first.
"""
import guest
import links
from suite import KERNELS, Suite, ours

# Those of rdma-core's own tests that this device cannot pass yet, and the reason.
PYVERBS_FAIL = {}
HUGE_PAGES = 16                     # that some of the tests want
PYVERBS_PASS = 145                  # at least; the others are for other hardware


def suites():
    tests = [test_devinfo, test_bookkeeping, test_errors, test_xrc_domain]
    for kernel in KERNELS:
        first = kernel == '6.1'
        yield Suite(f'provider-{kernel}', ours(1, Alone(), kernel),
                    tests if first else [*tests, test_pyverbs],
                    *([] if first else
                      ['*', 'provider-6.1, and rdma-core of tests/conformance']))


class Alone(links.Link):
    """A device on no network."""

    def options(self, n, folder):
        return ['-device', f'ernic,mac={links.mac(n)}']


def run_inside(one, name, seconds):
    """The output of a program of tests/guest/inside, about the IPv4 GID."""
    one.put(guest.INSIDE / name, f'/tmp/{name}')
    return one.run(f'python3 /tmp/{name} {links.DEVICE} 1', seconds)


def test_devinfo(guests):
    links.up(guests)
    one = guests[0]
    one.check('timeout 10 sh -c "until ibv_devinfo -v | grep -q '
              f'::ffff:{links.ipv4(0)}; do sleep 0.2; done"')
    output = one.check(f'ibv_devinfo -v -d {links.DEVICE}')
    assert 'PORT_ACTIVE' in output and 'Warning' not in output, output


def test_bookkeeping(guests):
    result = run_inside(guests[0], 'provider.py', 180)
    assert result.status == 0, result.output


def test_errors(guests):
    result = run_inside(guests[0], 'errors.py', 60)
    assert result.status == 0, result.output


def test_xrc_domain(guests):
    """Two processes in one domain: tests/guest/inside/xrc.py."""
    guests[0].put(guest.INSIDE / 'xrc.py', '/tmp/xrc.py')
    guests[0].check('python3 /tmp/xrc.py 1', 180)


def test_pyverbs(guests):
    guests[0].check(f'echo {HUGE_PAGES} >/proc/sys/vm/nr_hugepages')
    output = run_inside(guests[0], 'pyverbs_suite.py', 400).output
    found = {'ok': set(), 'fail': set(), 'skip': set()}
    for line in output.splitlines():
        words = line.split()
        if len(words) > 1 and words[0] in found:
            found[words[0]].add(words[1])
    wrong = found['fail'] ^ PYVERBS_FAIL.keys()
    assert not wrong, f'{wrong}\n{output}'
    assert len(found['ok']) >= PYVERBS_PASS, output
