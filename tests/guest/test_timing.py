# SPDX-License-Identifier: GPL-2.0-or-later
"""Two guests with the timing model: programs run, and observe the model's time."""
import re

import links
import programs
from suite import KERNELS, Suite, ours
from test_driver import DRIVER, address_of

FLIGHT_US = 1000                # of the profile, much more than the guests take
DEBUGFS = '/sys/kernel/debug/ernic'


class Slow(links.Netdev):
    """A long wire: a ping-pong iteration takes at least two flights."""

    name = 'timed'

    def roce(self, n, folder):
        profile = folder / f'slow{n}'
        profile.write_text('base = generic-100g\n'
                           f'wire.flight = {FLIGHT_US} us # a wire of 200 km\n')
        return f',timing=on,timing-profile={profile}'


def suites():
    for kernel in KERNELS:
        yield Suite(f'timing-{kernel}', ours(2, Slow(), kernel),
                    [test_up, test_latency, test_counters, test_debugfs,
                     test_debugfs_comes_and_goes, test_debugfs_dead],
                    *([] if kernel == '6.1' else ['*', 'timing-6.1']))


def test_up(guests):
    links.up(guests)


def timing(one):
    return links.statistics(one)['timing']


def test_latency(guests):
    """The guest measures at least the time of the model."""
    figure = programs.check(guests, 'ibv_rc_pingpong', '-n 200').figure
    assert float(figure.split()[0]) >= 2 * FLIGHT_US, figure


def test_counters(guests):
    """Traffic is counted, and the times of each stage add up."""
    before = timing(guests[0])
    programs.check(guests, 'ibv_rc_pingpong', '-n 200')
    after = timing(guests[0])
    for name in 'doorbell', 'wqe', 'build', 'mac', 'receive', 'dma_write', 'cqe':
        stage = after['stages'][name]
        assert stage['items'] >= before['stages'][name]['items'] + 200, (name, stage)
    # The other stages may have latency alone, by their profile.
    for name in 'build', 'mac', 'receive':
        assert after['stages'][name]['busy'] > before['stages'][name]['busy'], name
    for name, stage in after['stages'].items():
        spent = stage['busy'] + stage['stalled'] + stage['idle']
        assert spent >= (after['now'] - after['since']) * 1000, (name, stage)
    assert after['queues']['packets_to_leave']['peak'] >= 1, after['queues']


def shown(one, table):
    """A file of the driver: the names of its columns, its rows by name, its times."""
    times, heading, *rows = [line.split() for line in one.check(
        f'cat {DEBUGFS}/{address_of(one)}/timing_{table}').splitlines()]
    assert times[::2] == ['since', 'now'], times
    assert heading[0] == table[:-1], heading
    return ({row[0]: dict(zip(heading[1:], map(int, row[1:]), strict=True))
             for row in rows}, *map(int, times[1::2]))


def test_debugfs(guests):
    """The driver shows the monitor's values, of a time between two readings."""
    one = guests[0]
    one.check('mountpoint -q /sys/kernel/debug || '
              'mount -t debugfs debugfs /sys/kernel/debug')
    before = timing(one)
    tables = {table: shown(one, table) for table in ('stages', 'queues')}
    after = timing(one)
    for table, (rows, since, now) in tables.items():
        assert rows.keys() == before[table].keys(), (rows.keys(), before[table].keys())
        assert since == before['since'] and before['now'] <= now <= after['now']
        for name, row in rows.items():
            first, last = before[table][name], after[table][name]
            assert row.keys() == first.keys(), (name, row, first)
            for column in row.keys() - {'count'}:
                assert first[column] <= row[column] <= last[column], (name, column, row)
    stages, since, now = tables['stages']
    assert stages['mac']['items'] >= 400
    for name, row in stages.items():
        assert row['busy'] + row['stalled'] + row['idle'] >= (now - since) * 1000, name


def test_debugfs_comes_and_goes(guests):
    """An open file outlives the device and reports its end; no file is left."""
    one = guests[0]
    place = address_of(one)
    file = f'{DEBUGFS}/{place}/timing_stages'
    one.check('dmesg -c')
    output = one.check(
        f'exec 7<{file}; echo {place} >{DRIVER}/unbind; cat <&7; echo status $?; '
        f'ls {DEBUGFS}; rmmod ernic && exit 1; exec 7<&-; echo {place} >{DRIVER}/bind')
    assert 'Input/output error' in output and 'status 1\n' in output, output
    assert place not in output, output
    one.check(f'echo 1 >{DRIVER}/{place}/reset')
    assert shown(one, 'stages')[0]['mac']['busy'] == 0
    # Readers do not delay the removal of a device.
    job = one.start(f'end=$(($(date +%s) + 8)); while [ $(date +%s) -lt $end ]; do '
                    f'cat {DEBUGFS}/*/timing_*; done >/dev/null 2>&1; true', 40)
    one.check('for n in 1 2 3; do '
              f'echo {place} >{DRIVER}/unbind && echo {place} >{DRIVER}/bind || exit 1; '
              'done', 40)
    assert job.wait().status == 0
    one.check(f'rmmod ernic && ! [ -e {DEBUGFS} ] && modprobe ernic && [ -e {file} ]')
    said = one.check('dmesg')
    assert not re.search('WARNING|BUG|Oops|Call Trace|leak|debugfs', said), said


def test_debugfs_dead(guests):
    """Reading a dead device is an error, and gives no old figures."""
    one = guests[0]
    place = address_of(one)
    one.check(f'setpci -s {place} COMMAND=0:4')
    for table in 'stages', 'queues':
        result = one.run(f'cat {DEBUGFS}/{place}/timing_{table}')
        assert result.status and 'Input/output error' in result.output, result.output
    one.check(f'rmmod ernic && modprobe ernic && cat {DEBUGFS}/{place}/timing_queues')
