# SPDX-License-Identifier: GPL-2.0-or-later
"""The provider's book-keeping, on one device that sends to itself.

Debian's own tests are `rdma-core` and `rdma-core-trixie` of tests/conformance.
"""
import links
import programs
from suite import KERNELS, NEWEST, Suite, ours


def suites():
    for kernel in [*KERNELS, NEWEST]:
        yield Suite(f'provider-{kernel}', ours(1, Alone(), kernel),
                    [test_devinfo, test_bookkeeping, test_errors, test_xrc_domain,
                     programs.test_log],
                    *([] if kernel == '6.1' else ['*', 'provider-6.1']))


class Alone(links.Link):
    """A device on no network."""

    def options(self, n, folder):
        return ['-device', f'ernic,interface=verbs,mac={links.mac(n)}']


def test_devinfo(guests):
    links.up(guests)
    one = guests[0]
    one.put_programs()
    one.wait_until(f'ibv_devinfo -v | grep -q ::ffff:{links.ipv4(0)}')
    output = one.check(f'ibv_devinfo -v -d {links.DEVICE}')
    assert 'PORT_ACTIVE' in output and 'Warning' not in output, output


def test_bookkeeping(guests):
    programs.inside(guests[0], 'provider', seconds=180)


def test_errors(guests):
    programs.inside(guests[0], 'errors')


def test_xrc_domain(guests):
    """Two processes in one domain: tests/guest/inside/xrc.py."""
    programs.inside(guests[0], 'xrc', seconds=180)
