# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows of the conformance suites that have two devices, without guests.

Every pair of devices has rows in the whole form and in the short one.
"""
import itertools
from types import SimpleNamespace

import suite_interop as interop


def two(names, _kernel):
    return SimpleNamespace(link=SimpleNamespace(names=names))


def fake(what):
    """A part of the suite that says what it would run."""
    def part(_guests, *arguments):
        yield what, arguments
    return part


# No guest is started, and no program runs in one.
interop.start = two
for name in 'peer', 'both_ways', 'multicast', 'lossy':
    setattr(interop, name, fake(name))


def pairs():
    """The guests of every suite on every device that it runs on."""
    return [(suite, suite.start(device, '6.1'))
            for suite in interop.SUITES for device in suite.devices]


def test_every_pair_has_rows():
    for suite, guests in pairs():
        for short in False, True:
            parts = list(suite.cases(guests, short))
            rows = [arguments for what, arguments in parts if what == 'peer']
            assert rows, (suite.name, guests.link.names, short)
            for mtu, family, *_ in rows:
                assert mtu in interop.MTUS, (suite.name, mtu)
                assert family in interop.FAMILIES, (suite.name, family)


def test_no_row_is_for_nobody():
    names = {guests.link.names[0] for _, guests in pairs()}
    assert set(interop.SHORT) == names, set(interop.SHORT) ^ names


def test_the_whole_form_has_all_rows():
    for suite, guests in pairs():
        rows = {arguments[:2] for what, arguments in suite.cases(guests, False)
                if what == 'peer'}
        assert rows == set(itertools.product(interop.MTUS, interop.FAMILIES)), suite.name
