# SPDX-License-Identifier: GPL-2.0-or-later
"""The driver: its reports, its objects, loading, unloading and removal."""
import json
import os
import re
import time

import links
import programs
import test_kernel
from suite import KERNELS, LONG, Suite, named, ours

DRIVER = '/sys/bus/pci/drivers/ernic'
RDMA = f'/sys/class/infiniband/{links.DEVICE}'
TROUBLE = re.compile(r'.*(?:WARNING|BUG|Oops|Call Trace|refcount|leak|hung|ernic.*error'
                     r'|unregister_netdevice).*')
UP = (f'ip link set {links.INTERFACE} mtu 9000 up; '
      f'ip addr replace {links.ipv4(0)}/24 dev {links.INTERFACE}')
DEBUGFS = ('[ -e /sys/kernel/debug/x86 ] || '
           'mount -t debugfs debugfs /sys/kernel/debug')
# How often the device is removed and added under traffic, in each of three ways; others
# are in `rounds` of tests/conformance.
ROUNDS = int(os.environ.get('ERNIC_ROUNDS', '5' if LONG else '3'))


class Plugged(links.Plugged):
    """A guest of two processors, with hot-plug for its device and one more."""

    def __init__(self):
        super().__init__('-smp', '2', '-device', 'pcie-root-port,id=port1,chassis=2')


# Without records the short form has the provider's cases that fill queues; provider-6.1
# has all cases, with records.
QUEUES = () if LONG else ('queue',)


def suites():
    for kernel in KERNELS:
        first = kernel == '6.1'
        yield Suite(f'driver-{kernel}', ours(1, Plugged(), kernel),
                    [test_up, test_attributes, test_port, test_ethtool,
                     test_rings_in_traffic, of_regions('zero_based'),
                     test_lost_interrupt, test_bad_device, test_stolen, test_records,
                     test_sleep, of_regions('vectors'), of_regions('large', 120),
                     of_regions('device_memory'), test_abi, test_kverbs, test_filter,
                     test_counters, test_qp_counters, test_resources, test_ptp, test_raw,
                     test_dead, test_reset, test_unplug, test_no_trace, test_memory_map],
                    *([] if first else ['*', 'driver-6.1']))
        yield Suite(f'vlan-{kernel}', ours(2, links.Netdev(), kernel),
                    [test_vlan, programs.test_log],
                    *([] if first else ['*', 'vlan-6.1']))


def of_regions(name, seconds=60):
    """A test of tests/guest/inside/regions.py."""
    return named(name, lambda guests: programs.inside(guests[0], 'regions', name,
                                                      seconds=seconds))


def address_of(one):
    """The device's place on the PCI bus."""
    return one.check(f'basename $(ls -d {DRIVER}/0*)').strip()


def test_up(guests):
    guests[0].put_programs()
    guests[0].check(UP)
    guests[0].check(DEBUGFS)


def test_attributes(guests):
    want = {'fw_ver': '1.0.0', 'hca_type': 'ernic', 'board_id': '1af4:10f4',
            'hw_rev': '0x0', 'node_guid': '5054:00ff:fe00:0001'}
    for name, value in want.items():
        assert guests[0].check(f'cat {RDMA}/{name}').strip() == value, name
    shown = guests[0].check('ibv_devinfo -v')
    assert re.search(r'fw_ver:\s+1\.0\.0', shown)
    # Programs add to it, and must not overflow.
    assert re.search(r'max_ah:\s+65536$', shown, re.M), shown
    # Without a timing model the device has no files in debugfs.
    assert guests[0].check('ls /sys/kernel/debug/ernic') == ''


def test_port(guests):
    """Speed, state and P_Keys; the MTU follows that of the card."""
    assert guests[0].check(f'cat {links.PORT}/rate') == '100 Gb/sec (4X EDR)\n'
    assert guests[0].check(f'cat {links.PORT}/state {links.PORT}/phys_state') \
        == '4: ACTIVE\n5: LinkUp\n'
    keys = guests[0].check(f'cd {links.PORT}/pkeys && cat $(ls | sort -n)').split()
    assert keys == ['0xffff'] + 15 * ['0x0000'], keys
    for mtu, want in ((1500, 1024), (700, 512), (4500, 4096), (9000, 4096)):
        guests[0].check(f'ip link set {links.INTERFACE} mtu {mtu}')
        assert re.search(rf'active_mtu:\s+{want} ', guests[0].check('ibv_devinfo')), mtu


def test_ethtool(guests):
    def asked(option):
        return guests[0].check(f'ethtool {option} {links.INTERFACE}')

    assert 'driver: ernic\n' in asked('-i')
    assert f'bus-info: {address_of(guests[0])}\n' in asked('-i')
    assert 'Speed: 100000Mb/s' in asked('') and 'Duplex: Full' in asked('')
    for rx, tx, rx_want, tx_want in ((1000, 16, 1024, 64), (4096, 4096, 4096, 4096),
                                     (256, 256, 256, 256)):
        guests[0].check(f'ethtool -G {links.INTERFACE} rx {rx} tx {tx}')
        assert re.findall(r'^[RT]X:\s+(\d+)', asked('-g'), re.M) \
            == ['4096', '4096', str(rx_want), str(tx_want)]
    assert guests[0].run(f'ethtool -G {links.INTERFACE} rx 8192').status != 0
    before = int(re.search(r'device_tx_packets: (\d+)', asked('-S'))[1])
    guests[0].run(f'ping -c 3 -i 0.2 -W 1 {links.ipv4(9)}')
    assert int(re.search(r'device_tx_packets: (\d+)', asked('-S'))[1]) > before


def test_rings_in_traffic(guests):
    """Rings are resized while a program sends as fast as it can; it continues after."""
    def sent():
        return int(re.search(r'device_tx_packets: (\d+)', guests[0].check(
            f'ethtool -S {links.INTERFACE}'))[1])

    fresh(guests[0])
    guests[0].check(f'ip neigh replace {links.ipv4(9)} lladdr {links.mac(9)} '
                    f'dev {links.INTERFACE}')
    job = guests[0].start(
        'rm -f /run/enough; python3 -c "import os, socket\n'
        's = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n'
        'while not os.path.exists(\'/run/enough\'): '
        f's.sendto(bytes(8000), (\'{links.ipv4(9)}\', 9))"', 120)
    guests[0].check('for n in $(seq 20); do for size in 64 128; do '
                    f'ethtool -G {links.INTERFACE} rx $size tx $size || exit 1; '
                    'sleep 0.02; done; done', 80)
    before, end = sent(), time.monotonic() + 20
    while sent() == before:
        assert time.monotonic() < end, 'it sends no more'
    guests[0].check('touch /run/enough')
    assert job.wait().status == 0
    guests[0].check(f'ethtool -G {links.INTERFACE} rx 256 tx 256')
    quiet(guests[0])


def test_ptp(guests):
    """The PTP clock; a file of it that outlives the device."""
    one = guests[0]
    index = one.check(f'ls {RDMA}/device/ptp').strip().removeprefix('ptp')
    shown = one.check(f'ethtool -T {links.INTERFACE}')
    assert re.search(rf'PTP Hardware Clock: {index}$', shown, re.M), shown
    assert 'software-transmit' in shown
    programs.inside(one, 'ptp')
    output = one.check('python3 -c "import os, time\n'
                       f'file = os.open(\'/dev/ptp{index}\', os.O_RDONLY)\n'
                       'time.clock_gettime(~file << 3 | 3)\n'
                       'os.system(\'rmmod ernic && modprobe ernic\')\n'
                       'try: time.clock_gettime(~file << 3 | 3)\n'
                       'except OSError as error: print(error.errno)"')
    assert output == '19\n', output
    one.check(UP)


def test_abi(guests):
    """Providers of version 1, and newer ones: tests/guest/inside/abi.py."""
    programs.inside(guests[0], 'abi')


def test_kverbs(guests):
    """Handlers in the kernel on both processors: kverbs_smp.c of guest/linux/kverbs."""
    test_kernel.put_kverbs(guests[0])
    guests[0].check(UP)
    test_kernel.kverbs(guests[0], 'smp=1', [test_kernel.KVERBS / 'kverbs_smp.c'], 3)


def test_filter(guests):
    """The filter changes while the rings do; each time frames leave by the new ones."""
    one = guests[0]
    test_kernel.put_kverbs(one)
    fresh(one)
    one.check(f'ip neigh replace {links.ipv4(9)} lladdr {links.mac(9)} '
              f'dev {links.INTERFACE}')
    one.check(f'insmod /tmp/filter.ko netdev={links.INTERFACE}')
    # A frame counts when the device reports, in the ring of now, that it has left.
    # A busy host does fewer rounds.
    done = one.run(
        f'sent=/sys/class/net/{links.INTERFACE}/statistics/tx_packets; '
        'end=$(($(date +%s) + 30)); for n in $(seq 10); do '
        'if [ $(date +%s) -ge $end ]; then break; fi; for size in 64 128; do '
        f'ethtool -G {links.INTERFACE} rx $size tx $size || exit 1; '
        f'before=$(cat $sent); ping -c 1 -W 0.1 {links.ipv4(9)} >/dev/null; '
        'timeout 3 sh -c "until [ \\$(cat $sent) -gt $before ]; do sleep 0.05; done" || '
        '{ echo "no frame leaves, round $n"; exit 1; }; done; done; echo "rounds $n"', 90)
    changes = int(one.check('cat /sys/module/filter/parameters/changes'))
    # It holds the card, without which no later test could unload the driver.
    one.check('rmmod filter')
    assert done.status == 0 and int(done.output.split()[-1]) >= 3, done.output
    assert changes > 1000, changes
    one.check(f'ethtool -G {links.INTERFACE} rx 256 tx 256')
    quiet(one)


def counter(one, name):
    return int(one.check(f'sleep 0.05; cat {links.PORT}/hw_counters/{name}'))


def test_counters(guests):
    """Each WRITE to ourselves is one message sent and one received. A busy host may be
    late with an ACK: then a message is sent, and counted, again."""
    names = ('tx_messages', 'rx_messages', 'tx_packets', 'completions', 'retransmits')
    before = [counter(guests[0], name) for name in names]
    output = guests[0].check('python3 /tmp/inside/loop.py 1 1')
    writes = int(re.search(r'writes (\d+) end time', output)[1])
    grown = [counter(guests[0], name) - old for name, old in zip(names, before)]
    assert writes <= grown[0] <= writes + grown[4], (grown, writes)
    assert grown[1] == grown[3] == writes and grown[2] >= 4 * writes, (grown, writes)
    shown = guests[0].check('rdma statistic show')
    assert f'tx_messages {counter(guests[0], "tx_messages")} ' in shown
    # All counters of the device except faults, by the same names.
    outside = links.statistics(guests[0])
    drops = {f'drop_{name}': n for name, n in outside['drops'].items() if name != 'none'}
    want = {name: n for name, n in outside.items() if isinstance(n, int)} | drops
    inside_too = {name: int(n) for name, n in re.findall(r' (\w+) (\d+)', shown)}
    assert set(inside_too) == set(want), set(inside_too) ^ set(want)
    assert all(inside_too[name] == want[name] for name in drops), inside_too


def bound(one):
    """The values of each counter of queue pairs, by its number; lqpn: its queue pairs."""
    return {held['cntn']: held for held
            in json.loads(one.check('rdma -j statistic qp show') or '[]')}


def accounted(one):
    """The port's counters are the sum of all, destroyed queue pairs included."""
    outside = links.statistics(one)
    for name in ('tx_messages', 'rx_messages', 'tx_acks', 'rx_acks', 'retransmits'):
        assert counter(one, name) == outside[name], (name, outside[name])


def end_traffic(one, job):
    job.kill()
    job.wait()
    one.wait_until('! rdma res show qp | grep -q python3', 40)


def test_qp_counters(guests):
    """rdma-statistic(8): queue pairs counted apart, by hand and by their type."""
    one = guests[0]
    job = one.start('python3 /tmp/inside/loop.py 1 300', 300)
    one.wait_until('rdma res show qp | grep -q python3', 40)
    numbers = sorted(int(n) for n in re.findall(
        r'lqpn (\d+) .*type RC state RTS .*python3', one.check('rdma res show qp')))
    assert len(numbers) == 2, numbers
    assert not bound(one)
    bind = f'rdma statistic qp bind link {links.DEVICE}/1 lqpn'
    one.check(f'{bind} {numbers[0]}')
    one.check(f'{bind} {numbers[1]}')
    counters = bound(one)
    assert len(counters) == 2, counters
    assert all('tx_packets' not in held for held in counters.values()), counters
    sender, = (n for n, held in counters.items() if held['tx_messages'])
    receiver, = set(counters) - {sender}
    assert counters[sender]['rx_messages'] == 0, counters
    assert counters[receiver]['rx_messages'] > 0, counters
    assert bound(one)[sender] != counters[sender]
    # A second queue pair with the counter; then the first alone again.
    lqpn, = counters[receiver]['lqpn']
    unbind = f'rdma statistic qp unbind link {links.DEVICE}/1 cntn'
    one.check(f'{unbind} {receiver} lqpn {lqpn}')
    one.check(f'{bind} {lqpn} cntn {sender}')
    counters = bound(one)
    assert set(counters) == {sender}, counters
    assert sorted(counters[sender]['lqpn']) == numbers, counters
    assert bound(one)[sender]['rx_messages'] > 0
    one.check(f'{unbind} {sender} lqpn {lqpn}')
    end_traffic(one, job)
    assert not bound(one)
    accounted(one)
    # By type: both queue pairs are found, and share one counter.
    one.check(f'rdma statistic qp set link {links.DEVICE}/1 auto type on')
    job = one.start('python3 /tmp/inside/loop.py 1 300', 300)
    one.wait_until('rdma statistic qp show | grep -q tx_messages', 40)
    held, = bound(one).values()
    assert len(held['lqpn']) == 2, held
    end_traffic(one, job)
    assert not bound(one)
    one.check(f'rdma statistic qp set link {links.DEVICE}/1 auto off')
    accounted(one)


def test_resources(guests):
    """rdma(8) shows the objects of a process."""
    job = guests[0].start('python3 /tmp/inside/loop.py 1 70', 90)
    guests[0].wait_until('rdma res show mr | grep -q mrlen', 40)
    qps = guests[0].check('rdma res show qp -dd')
    assert len(re.findall(r'type RC state RTS .*comm python3 drv_uctx [1-9]\d* '
                          r'drv_sq_wr \d+ drv_sq_sge \d+ ', qps)) == 2, qps
    assert 'type GSI state RTS' in qps
    assert 'drv_hw_cqn' in guests[0].check('rdma res show cq -dd')
    assert 'mrlen 65536' in guests[0].check('rdma res show mr -dd')
    end_traffic(guests[0], job)


def test_raw(guests):
    programs.inside(guests[0], 'raw')


def test_lost_interrupt(guests):
    """Without the device's interrupts commands are still answered, only later."""
    place = address_of(guests[0])
    count = 'grep ernic-async /proc/interrupts'
    guests[0].check(f'setpci -s {place} CAP_MSIX+2.w=c000:c000')
    before = guests[0].check(count)
    first, second = (counter(guests[0], 'commands') for _ in range(2))
    assert second > first
    assert guests[0].check(count) == before
    guests[0].check(f'setpci -s {place} CAP_MSIX+2.w=8000:c000')
    counter(guests[0], 'commands')
    assert guests[0].check(count) != before


def test_bad_device(guests):
    """A probe that fails leaves no resource of the driver."""
    def state():
        return guests[0].check('ls /sys/class/net /sys/class/infiniband; rdma link; '
                               'grep ernic /proc/interrupts | sed "s/ .* / /"; '
                               'grep ernic /proc/iomem; lsmod | grep ^ernic')

    before = state()
    fresh(guests[0])
    monitor = guests[0].monitor()
    monitor.execute('device_add', driver='ernic', interface='verbs', id='bad',
                    bus='port1', vectors=2)
    # The core says so when the driver has returned.
    guests[0].wait_until('dmesg | grep -q "ernic.*failed with error -"')
    assert state() == before
    unplug(monitor, 'bad')
    monitor.close()
    said = fresh(guests[0], 'fewer than 3|failed with error')
    assert 'fewer than 3 MSI-X vectors' in said


def test_dead(guests):
    """A device without access to memory."""
    dies(guests[0], f'setpci -s {address_of(guests[0])} COMMAND=0:4')


def test_stolen(guests):
    """The device works after a function level reset that the driver did not request."""
    setpci = f'setpci -s {address_of(guests[0])}'
    names = [f'BASE_ADDRESS_{n}' for n in range(2, 6)] + ['COMMAND']
    values = guests[0].check(f'{setpci} {" ".join(names)}').split()
    back = ' '.join(f'{name}={value}' for name, value in zip(names, values))
    dies(guests[0], f'{setpci} CAP_EXP+8.w=8000:8000 && sleep 0.2 && {setpci} {back}')


def dies(one, how):
    """Every user gets an error, nothing hangs, and reloading the driver repairs it."""
    job = traffic(one, '1 30 >/tmp/dead', 60)
    ready(one, '/tmp/dead', 1)
    one.check(how)
    start = time.monotonic()
    assert one.run('rdma link').status != 0
    assert time.monotonic() - start < 5
    assert one.run('ibv_devinfo').status != 0
    assert job.wait().status == 0
    output = one.check('cat /tmp/dead')
    assert 'event DEVICE_FATAL\n' in output and 'end gone\nleft 0\n' in output, output
    assert one.run(f'ip link set {links.INTERFACE} down && '
                   f'ip link set {links.INTERFACE} up').status != 0
    one.check('rmmod ernic && modprobe ernic && ' + UP)
    assert 'no answer' in fresh(one, programs.NO_ANSWER)
    assert 'end time' in one.check('python3 /tmp/inside/loop.py 1 1')


def traffic(one, words, seconds):
    """Start the traffic, with the files of earlier tests removed."""
    fresh(one)
    one.check('rm -f /tmp/rounds /tmp/dead')
    return one.start(f'python3 /tmp/inside/loop.py {words}', seconds)


def ready(one, file, count):
    """Wait until the traffic has begun so many times."""
    one.wait_until(f'[ $(grep -c ready {file}) -ge {count} ]', 25)


def in_traffic(one, leave):
    """leave() removes the device under traffic and adds it again."""
    job = traffic(one, f'{ROUNDS} 900 >/tmp/rounds', 910)
    for n in range(ROUNDS):
        ready(one, '/tmp/rounds', n + 1)
        leave()
        one.check(UP)
    assert job.wait().status == 0
    output = one.check('cat /tmp/rounds')
    assert output.endswith('left 0\n'), output[-500:]
    assert len(re.findall(r'^writes \d+ end gone$', output, re.M)) == ROUNDS, output
    quiet(one)
    assert 'end time' in one.check('python3 /tmp/inside/loop.py 1 1')


def quiet(one, but='^$', command='dmesg'):
    """The kernel has logged no warning except in such lines; the log."""
    said = one.check(command)
    bad = [line for line in TROUBLE.findall(said) if not re.search(but, line)]
    assert not bad, '\n'.join(bad[:20])
    return said


def fresh(one, but='^$'):
    """The log until now, which is quiet; it is empty then."""
    return quiet(one, but, 'dmesg -c')


def test_reset(guests):
    """Function level reset, while the driver is bound."""
    in_traffic(guests[0], lambda: guests[0].check(
        f'echo 1 >$(ls -d {DRIVER}/0*)/reset'))


def test_records(guests):
    """The driver without records, and a process without them; then both with."""
    one = guests[0]
    one.check('rmmod ernic && modprobe ernic records=0 && ' + UP)
    try:
        assert one.check('cat /sys/module/ernic/parameters/records') == 'N\n'
        programs.inside(one, 'provider', *QUEUES, seconds=180)
        test_kernel.put_kverbs(one)
        one.check(UP)
        test_kernel.kverbs(one, 'smp=1', [test_kernel.KVERBS / 'kverbs_smp.c'], 3)
    finally:
        one.check('rmmod ernic && modprobe ernic && ' + UP)
    programs.inside(one, 'provider', *QUEUES, seconds=180,
                    environment='ERNIC_RECORDS=0 ')


def test_sleep(guests):
    """Every step of suspending except the sleep itself."""
    guests[0].check('echo 0 >/sys/module/suspend/parameters/pm_test_delay && '
                    'echo devices >/sys/power/pm_test')
    in_traffic(guests[0], lambda: guests[0].check('echo mem >/sys/power/state', 60))
    guests[0].check('echo none >/sys/power/pm_test')


def unplug(monitor, name):
    """Ask the guest to release the device, and wait until it has."""
    monitor.execute('device_del', id=name)
    end = time.monotonic() + 60
    while name in str(monitor.execute('qom-list', path='/machine/peripheral')):
        assert time.monotonic() < end, f'{name} stays'
        time.sleep(0.02)


def test_unplug(guests):
    monitor = guests[0].monitor()

    def leave():
        unplug(monitor, 'nic')
        monitor.execute('device_add', **guests.link.plugged())
        guests[0].wait_until(f'[ -e {links.PORT} ]')

    in_traffic(guests[0], leave)
    monitor.close()


def test_no_trace(guests):
    """After all these tests, unloading finds no object left."""
    fresh(guests[0])
    guests[0].check('rmmod ernic')
    assert 'ernic' not in guests[0].check('cat /proc/interrupts /proc/iomem')
    guests[0].check('modprobe ernic')
    quiet(guests[0])


def test_memory_map(guests):
    """BARs are enabled and disabled while another processor uses its local APIC."""
    config = f'/sys/bus/pci/devices/{address_of(guests[0])}/config'
    output = guests[0].check(
        f'rmmod ernic && python3 /tmp/inside/memory_map.py {config} 8', 60)
    assert int(output.split()[-1]) > 0
    guests[0].check('modprobe ernic')
    quiet(guests[0])


def test_vlan(guests):
    """A VLAN of the card: network packets, and RDMA by its GID."""
    for n, one in enumerate(guests):
        one.check(
            f'ip link set {links.INTERFACE} up && modprobe 8021q && '
            f'ip link add link {links.INTERFACE} name vlan100 type vlan id 100 && '
            f'ip link set vlan100 up && ip addr add 10.100.0.{n + 1}/24 dev vlan100')
    guests[0].check('ping -c 1 -W 5 10.100.0.2')
    assert ' 0% packet loss' in guests[0].check('ping -c 3 -i 0.2 10.100.0.2')
    index = guests[0].check(
        f'cd {links.PORT}/gid_attrs/ndevs && for n in $(ls | sort -n); do '
        'if grep -qx vlan100 $n 2>/dev/null && '
        'grep -q "ffff:0a64:0001" ../../gids/$n && '
        'grep -q "RoCE v2" ../types/$n; then echo $n; fi; done').split()[-1]
    server = guests[1].start(f'ibv_rc_pingpong -g {index} -n 200', 60)
    guests[1].wait_until(programs.LISTENS)
    client = guests[0].check(f'ibv_rc_pingpong -g {index} -n 200 10.100.0.2', 60)
    assert server.wait().status == 0 and '200 iters' in client
