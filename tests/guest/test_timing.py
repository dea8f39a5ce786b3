# SPDX-License-Identifier: GPL-2.0-or-later
"""Two guests whose devices take time: programs run, and see the time of the model."""
import functools
import re

import guest
import links
import programs
from suite import Suite

FLIGHT_US = 1000                # of the profile, much more than the guests take


class Slow(links.Netdev):
    """A long wire: an iteration of a ping-pong takes two flights at least."""

    name = 'timed'

    def options(self, n, folder):
        profile = folder / f'slow{n}'
        profile.write_text('base = generic-100g\n'
                           f'wire.flight = {FLIGHT_US} us # a wire of 200 km\n')
        words = super().options(n, folder)
        return [*words[:-1], f'{words[-1]},timing=on,timing-profile={profile}']


def suites(kernel, image, short):
    if short:
        return []
    return [Suite(f'timing-{kernel}', functools.partial(guest.Guests, 2, Slow(), image),
                  [test_up, test_latency, test_counters])]


def test_up(guests):
    links.up(guests)


def timing(one):
    return links.qemu(one, 'qom-get', path=links.NIC, property='statistics')['timing']


def test_latency(guests):
    """What the guest measures is at least what the model has to take."""
    outcome = programs.run(guests, programs.BY_NAME['ibv_rc_pingpong'], '-n 200')
    assert not outcome.reason, f'{outcome.reason}\n{outcome.output}'
    us = float(re.search(r'[\d.]+', outcome.figure)[0])
    assert us >= 2 * FLIGHT_US, outcome.figure
    print(f'# {outcome.figure}, of which the flights are {2 * FLIGHT_US} us', flush=True)


def test_counters(guests):
    """Traffic is counted, and each stage accounts for all its time."""
    before = timing(guests[0])
    outcome = programs.run(guests, programs.BY_NAME['ibv_rc_pingpong'], '-n 200')
    assert not outcome.reason, f'{outcome.reason}\n{outcome.output}'
    after = timing(guests[0])
    for name in 'doorbell', 'wqe', 'build', 'mac', 'receive', 'dma_write', 'cqe':
        stage = after['stages'][name]
        assert stage['items'] >= before['stages'][name]['items'] + 200, (name, stage)
    # The others may have latency alone, as their profile has it.
    for name in 'build', 'mac', 'receive':
        assert after['stages'][name]['busy'] > before['stages'][name]['busy'], name
    for name, stage in after['stages'].items():
        spent = stage['busy'] + stage['stalled'] + stage['idle']
        assert spent >= (after['now'] - after['since']) * 1000, (name, stage)
    assert after['queues']['packets_to_leave']['peak'] >= 1, after['queues']
