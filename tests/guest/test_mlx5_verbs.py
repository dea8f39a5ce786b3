# SPDX-License-Identifier: GPL-2.0-or-later
"""RDMA by mlx5_ib and the mlx5 provider as Debian has them, between two guests."""
import functools
import re

from capture import capture, roce_tag
import guest
import links
import mlx5
import programs
import stock
import storage
from programs import Program
from suite import Suite, named

# The link of each kernel; the short form runs the first row.
LINKS = {'6.12-cloud': mlx5.Netdev, '6.1': mlx5.Udp, 'testing-cloud': mlx5.Lab}
CHECKED = '-c -n 200'
MIB = 24                        # of the disk
VLAN, MAPPED = 5, 3             # the VLAN, and the priority that its interfaces map to
# Name of the test, program. More are in ibverbs-utils and rdmacm-utils of conformance.
PROGRAMS = [
    ('rc_pingpong', Program('ibv_rc_pingpong', programs.PINGPONG, CHECKED)),
    ('ud_events', Program('ibv_ud_pingpong', programs.PINGPONG, f'{CHECKED} -e')),
    ('rping', programs.BY_NAME['rping']),
    ('write', Program('ib_write_bw', programs.BANDWIDTH, '-s 65536 -n 200')),
    ('read', Program('ib_read_bw', programs.BANDWIDTH, '-s 65536 -n 200 -e')),
    ('send', Program('ib_send_bw', programs.BANDWIDTH, '-s 65536 -n 200 -e')),
    ('inline', Program('ib_send_bw', programs.BANDWIDTH, '-s 32 -I 64 -n 200')),
    ('xrc_send', Program('ib_send_bw', programs.BANDWIDTH, '-c XRC -n 200')),
    ('many_qps', Program('ib_write_bw', programs.BANDWIDTH, '-q 8 -n 100')),
    ('atomic', Program('ib_atomic_bw', programs.RATE, '-n 200')),
    ('compare_swap', Program('ib_atomic_bw', programs.RATE, '-A CMP_AND_SWAP -n 200')),
    ('send_latency', Program('ib_send_lat', programs.LATENCY, '-s 64 -n 200 -e')),
]
# Programs in which both ends send, and the priority of their packets: rdma_cm asks the
# interface, perftest has an option.
IN_VLAN = [
    (programs.BY_NAME['rping'], MAPPED),
    (Program('ib_write_bw', programs.BANDWIDTH, '-n 50 -S 5'), 5),
    (Program('ib_send_lat', programs.LATENCY, '-c UD -s 64 -n 50 -S 6'), 6),
    (Program('ib_send_bw', programs.BANDWIDTH, '-n 50'), 0),
]


PACKAGES = [*stock.PACKAGES, 'prometheus-node-exporter', 'python3-pyverbs']


def machines(kernel):
    return mlx5.start(kernel, LINKS[kernel](), links.MTU, (PACKAGES,) * 2)


def test_devices(guests):
    """Each guest has an active port, and the rdma tool shows it."""
    for one in guests:
        outcome = programs.devinfo(one)
        assert outcome.figure == 'PORT_ACTIVE, MTU 4096', outcome
        assert f'netdev {links.INTERFACE}' in one.check('rdma link')
        assert 'ATOMIC_HCA' in one.check('ibv_devinfo -v')


def in_vlan(n):
    return f'10.0.{VLAN}.{n + 1}'


def tags(guests, program, address):
    """{source, VLAN, priority} of the RoCEv2 packets between the guests."""
    with capture(guests[0]) as frames:
        programs.check(guests, program, address=address)
    return {roce_tag(frame) for frame in frames} - {None}


def check_vlan(guests):
    """Packets of a GID in a VLAN have its tag with their priority, others have none."""
    for n, one in enumerate(guests):
        one.check(f'ip link add link {links.INTERFACE} name v{VLAN} type vlan id {VLAN} '
                  f'egress-qos-map 0:{MAPPED} && ip addr add {in_vlan(n)}/24 dev v{VLAN} '
                  f'&& ip link set v{VLAN} up')
    for program, priority in IN_VLAN:
        seen = tags(guests, program, in_vlan)
        assert seen == {(links.mac(n), VLAN, priority) for n in (0, 1)}, (program, seen)
        seen = tags(guests, program, links.ipv4)
        assert seen == {(links.mac(n), None, None) for n in (0, 1)}, (program, seen)
    for one in guests:
        one.check(f'ip link del v{VLAN}')


def statistics(one, words=''):
    """{name: number} of the counters that the rdma tool shows."""
    text = one.check(f'rdma statistic show link {links.DEVICE}/1 {words}').split()
    return dict(zip(text[2::2], map(int, text[3::2])))


def test_counters(guests):
    """Every file of the port's counters can be read, and they have counted."""
    for one in guests:
        files = one.check(f'cd {links.PORT} && for f in counters/* hw_counters/*; do '
                          'n=$(cat $f) || exit 1; echo $f $n; done').split()
        values = dict(zip(files[::2], map(int, files[1::2])))
        assert len(values) >= 21 + 11, values
        for name in ('port_rcv_packets', 'port_xmit_data', 'unicast_xmit_packets'):
            assert values[f'counters/{name}'] > 0, values
        assert values['counters/symbol_error'] == 0
    # One end of each program is served by the other one.
    served = [statistics(one) for one in guests]
    for name in ('rx_write_requests', 'rx_read_requests', 'rx_atomic_requests'):
        assert sum(counts[name] for counts in served) >= 200, (name, served)


def test_node_exporter(guests):
    """Prometheus' exporter understands every counter; they are those of sysfs."""
    one = guests[0]
    exporter = one.start('prometheus-node-exporter', 60)
    one.wait_until('busybox wget -q -O /tmp/metrics http://127.0.0.1:9100/metrics', 40)
    exporter.kill()
    log = exporter.wait().output
    text = one.check('grep -E "^node_(infiniband|scrape)_" /tmp/metrics')
    assert 'collector_success{collector="infiniband"} 1' in text, text + log
    found = {name: float(value) for name, value in re.findall(
        rf'node_infiniband_(\w+){{device="{links.DEVICE}",port="1"}} (\S+)', text)}
    words = int(one.check(f'cat {links.PORT}/counters/port_xmit_data'))
    assert len(found) >= 21, text
    assert found['port_data_transmitted_bytes_total'] == 4 * words > 0, found
    assert found['state_id'] == 4 and found['rate_bytes_per_second'] > 0, found


def test_statistics(guests):
    """Every form of `rdma statistic`, with queue pairs that end in each state."""
    one, where = guests[0], f'link {links.DEVICE}/1'
    for words in (f'show {where}', 'show', 'mr', f'qp show {where}', f'mode {where}',
                  f'mode supported {where}', 'qp mode',
                  f'qp set {where} auto type on'):
        one.check(f'rdma statistic {words}')
    for program in (PROGRAMS[0][1], programs.BY_NAME['rping']):
        programs.check(guests, program)
    for words in (f'{where} auto off', f'{where} auto pid on', f'{where} auto off'):
        one.check(f'rdma statistic qp set {words}')
    # The driver offers this one always, and asks the device when it is switched on.
    assert 'cc_rx_ce_pkts' in one.check(f'rdma statistic mode supported {where}')
    result = one.run(f'rdma statistic set {where} optional-counters cc_rx_ce_pkts')
    assert result.status and 'not supported' in result.output, result.output
    one.check(f'rdma statistic unset {where} optional-counters')
    # Queue pairs that wait for their peers get a counter of their own, and back.
    waiting = [one.start(f'ibv_rc_pingpong -g 1 -p {port}', 60) for port in (7001, 7002)]
    one.wait_until('[ $(rdma resource show qp | grep -c pingpong) = 2 ]', 30)
    text = one.check('rdma resource show qp')
    first, second = re.findall(r'lqpn (\d+) .*pingpong', text)
    one.check(f'rdma statistic qp bind {where} lqpn {first}')
    bound = one.check(f'rdma statistic qp show {where} lqpn {first}')
    assert f'LQPN: <{first}>' in bound, bound
    cntn = re.search(r'cntn (\d+)', bound)[1]
    one.check(f'rdma statistic qp bind {where} lqpn {second} cntn {cntn}')
    bound = one.check(f'rdma statistic qp show {where}')
    assert set(re.search('LQPN: <(.*?)>', bound)[1].split(',')) == {first, second}, bound
    one.check(f'rdma statistic qp unbind {where} cntn {cntn} lqpn {first}')
    one.check(f'rdma statistic qp unbind {where} cntn {cntn}')
    assert 'LQPN' not in one.check(f'rdma statistic qp show {where} lqpn {second}')
    for job in waiting:
        job.kill()
    for job in waiting:
        job.wait()


def test_nvme(guests):
    """A disk of one kernel in the other; the target closes the initiator's keys by SEND
    with Invalidate."""
    target, initiator = guests
    target.check('modprobe -a configfs nvmet-rdma && '
                 f'mount -t configfs none {storage.CONFIG} && '
                 f'truncate -s {MIB}M /dev/shm/nvme')
    target.check(storage.NVME.target)
    links.qemu(initiator, 'trace-event-set-state', name='ernic_invalidate', enable=True)
    initiator.check(storage.NVME.initiator)
    initiator.check(f'dd if=/dev/urandom of={storage.NVME.path} bs=64k oflag=direct '
                    f'count={MIB * 16}', 60)
    sums = [one.check(f'md5sum <{path}', 200) for one, path in
            ((target, '/dev/shm/nvme'), (initiator, storage.NVME.path))]
    assert sums[0] == sums[1]
    initiator.check(storage.NVME.end)
    assert initiator.run(f'ls {storage.NVME.path}').status != 0
    closed = re.findall(r'^ernic_invalidate key \S+ remote 1', initiator.log.read_text(),
                        re.M)
    assert len(closed) > MIB, len(closed)


def test_exits(guests):
    """Processes die with objects of all kinds, which were created in many orders."""
    guests[0].put_programs()
    guests[0].put_programs(guest.ROOT / 'tests/conformance/semantics')
    programs.inside(guests[0], 'exits', 'all', seconds=300)


def test_objects(guests):
    """No object is left; the driver goes and comes back."""
    for n, one in enumerate(guests):
        kinds = one.check('rdma resource show qp')
        assert all('type GSI' in line for line in kinds.splitlines()), kinds
        function = links.function(one)
        one.check(f'echo {function} >/sys/bus/pci/drivers/mlx5_core/unbind')
        assert one.check('rdma link').strip() == ''
        one.check(f'echo {function} >/sys/bus/pci/drivers/mlx5_core/bind')
        one.wait_until('rdma link | grep -q link', 60)


# Doorbells are events.
IN_EVENTS = ('rc_pingpong', 'ud_events', 'rping', 'send', 'many_qps', 'atomic')


def suites():
    yield Suite('mlx5-ioeventfd',
                functools.partial(mlx5.start, '6.12-cloud', mlx5.Events(), links.MTU),
                [test_devices, *(named(name, programs.check, program)
                                 for name, program in PROGRAMS if name in IN_EVENTS),
                 named('events', programs.check_events, 500), test_objects,
                 mlx5.test_no_complaints],
                '*', 'ioeventfd-6.1, and the qtests of irqfd and of the mlx5 interface')
    for kernel, link in LINKS.items():
        # Datagrams of the UDP link have no tags.
        vlan = [named('vlan', check_vlan)] * (link is mlx5.Netdev)
        yield Suite(f'mlx5-verbs-{kernel}', functools.partial(machines, kernel),
                    [test_devices, *(named(name, programs.check, program)
                                     for name, program in PROGRAMS),
                     *vlan, test_nvme, test_counters, test_node_exporter,
                     test_statistics, test_exits, test_objects, mlx5.test_no_complaints],
                    *([] if kernel == '6.12-cloud' else ['*', 'mlx5-verbs-6.12-cloud']))
