#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows of the conformance suites that have two devices, without guests.

Every pair of devices has rows in the whole form and in the short one. Prints TAP.
"""
import itertools
import sys
from pathlib import Path
from types import SimpleNamespace

for folder in ('guest', 'guest/inside', 'conformance'):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / folder))

import cases                                        # noqa: E402
import suite_interop as interop                     # noqa: E402


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


def every_pair_has_rows():
    for suite, guests in pairs():
        for short in False, True:
            parts = list(suite.cases(guests, short))
            rows = [arguments for what, arguments in parts if what == 'peer']
            assert rows, (suite.name, guests.link.names, short)
            for mtu, family, *_ in rows:
                assert mtu in interop.MTUS, (suite.name, mtu)
                assert family in interop.FAMILIES, (suite.name, family)


def no_row_is_for_nobody():
    names = {guests.link.names for _, guests in pairs()}
    assert set(interop.SHORT) == names, set(interop.SHORT) ^ names


def the_whole_form_has_all_rows():
    for suite, guests in pairs():
        rows = {arguments[:2] for what, arguments in suite.cases(guests, False)
                if what == 'peer'}
        assert rows == set(itertools.product(interop.MTUS, interop.FAMILIES)), suite.name


if __name__ == '__main__':
    sys.exit(cases.run((test.__name__, test) for test in (
        every_pair_has_rows, no_row_is_for_nobody, the_whole_form_has_all_rows)))
