# SPDX-License-Identifier: GPL-2.0-or-later
"""Administration of the kernel's device: rdma(8), counters, namespaces."""
import json
import re

import guest
import links
import programs
from report import Case
from stacks import Suite

SYSFS = f'/sys/class/infiniband/{links.DEVICE}'
COUNTERS, HW_COUNTERS = f'{links.PORT}/counters', f'{links.PORT}/hw_counters'
# One process that has an object of each kind, and traffic.
TRAFFIC = 'ib_send_bw -R -b --use-srq -D 60 -s 4096 -F'
KINDS = ('pd', 'cq', 'qp', 'cm_id', 'mr', 'ctx', 'srq')


class Lacks(Exception):
    """The device lacks the feature that the case tests."""


def check(good, *said):
    if not good:
        raise AssertionError(' '.join(map(str, said)))


def rdma(one, words):
    """The output of rdma(8), parsed."""
    return json.loads(one.check(f'rdma -jd {words}') or '[]')


def refused(result, what):
    """Raise Lacks if the kernel says that the driver has no such operation."""
    if result.status and re.search('not supported|annot allocate', result.output):
        raise Lacks(f'{what}: {result.output}')
    check(result.status == 0, result.output)


# ---- the device and its port ----------------------------------------------------

def link(guests):
    found = [one for one in rdma(guests[0], 'link show')
             if one['ifname'] == links.DEVICE]
    check(found and found[0]['state'] == 'ACTIVE'
          and found[0]['physical_state'] == 'LINK_UP'
          and found[0]['netdev'] == links.INTERFACE, found)


def device(guests):
    found = [one for one in rdma(guests[0], 'dev show') if one['ifname'] == links.DEVICE]
    guid = guests[0].check(f'cat {SYSFS}/node_guid').strip()
    check(found and found[0]['node_type'] == 'ca' and found[0]['node_guid'] == guid,
          found, guid)


def rename(guests):
    guests[0].check(f'rdma dev set {links.DEVICE} name other0')
    try:
        check('other0' in guests[0].check('ibv_devices'), 'ibv_devices')
        check(guests[0].run('ibv_devinfo -d other0').status == 0, 'ibv_devinfo')
    finally:
        guests[0].check(f'rdma dev set other0 name {links.DEVICE}')


# ---- resources -------------------------------------------------------------------

def objects(one, kind, filters=''):
    return rdma(one, f'resource show {kind} {filters}')


def traffic(guests):
    """Client and server, once the client uses its SRQ."""
    for _ in range(programs.TRIES):
        server = guests[1].start(f'timeout 90 {TRAFFIC}', 100)
        guests[1].wait_until(programs.RPING.listens)
        client = guests[0].start(f'timeout 90 {TRAFFIC} {links.ipv4(1)}', 100)
        # The first connection exchanges parameters; the second one has the SRQ.
        while not client.done():
            found = objects(guests[0], 'qp')
            if [qp['state'] for qp in found if qp['comm'] == 'ib_send_bw'] == 2 * ['RTS']:
                return client, server
        guests[1].run('killall ib_send_bw')
        server.wait()
        if programs.REJECTED not in client.wait().output:
            break
    raise AssertionError(client.wait().output)


def in_traffic(guests, look):
    """look() while a process of guest 0 moves data; no object is left after it."""
    client, server = traffic(guests)
    try:
        look(int(guests[0].check('pidof ib_send_bw').split()[0]))
    finally:
        for one in guests:
            one.run('killall ib_send_bw')
        client.wait()
        server.wait()
    for kind in KINDS:
        left = [thing for thing in objects(guests[0], kind)
                if thing.get('comm') == 'ib_send_bw']
        check(not left, 'left behind', kind, left)


def by_process(guests, pid):
    """Each kind of object, only those of the process."""
    summary = rdma(guests[0], 'resource show')[0]
    for kind in KINDS:
        word = 'link' if kind in ('qp', 'cm_id') else 'dev'
        found = objects(guests[0], kind, f'{word} {links.DEVICE} pid {pid}')
        check(found and all(thing['pid'] == pid and thing['comm'] == 'ib_send_bw'
                            for thing in found), kind, found)
        check(summary[kind] >= len(found), kind, summary)
    none = objects(guests[0], 'qp', f'link {links.DEVICE} pid 1')
    check(not none, 'of process 1', none)


def details(guests, pid):
    """The attributes of the objects agree with each other."""
    def one(kind):
        return [thing for thing in objects(guests[0], kind) if thing.get('pid') == pid]

    qps, domains, ids, srqs = one('qp'), one('pd'), one('cm_id'), one('srq')
    used = next(qp for qp in qps if qp['state'] == 'RTS')
    number = used['lqpn']
    check(used['type'] == 'RC' and used['rqpn'], used)
    check(used['pdn'] in [thing['pdn'] for thing in domains], used, domains)
    check(any(thing['cqe'] for thing in one('cq')), one('cq'))
    check(any(thing['mrlen'] >= 4096 for thing in one('mr')), one('mr'))
    check(any(thing['state'] == 'CONNECT' and thing['lqpn'] == number
              and thing['dst-addr'].startswith(links.ipv4(1)) for thing in ids), ids)
    numbers = {str(qp['lqpn']) for qp in qps}
    check(any(numbers & set(thing.get('lqpn', ())) for thing in srqs), numbers, srqs)


# ---- counters --------------------------------------------------------------------

def counters(one, folder=COUNTERS):
    if one.run(f'[ -d {folder} ]').status:
        raise Lacks(f'no {folder}')
    text = one.check(f'sleep 0.1; cd {folder} && grep . *')
    return {name: int(value) for name, value in re.findall(r'(\w+):(\d+)', text)}


def write_bytes(guests, mebibytes=16):
    """Sends so much from guest 0 to guest 1."""
    size = 65536
    server = guests[1].start(f'ib_write_bw -F -s {size}', 60)
    guests[1].wait_until(programs.LISTENS)
    client = guests[0].run(f'ib_write_bw -F -s {size} -n {(mebibytes << 20) // size} '
                           f'{links.ipv4(1)}', 60)
    check(client.status == server.wait().status == 0, client.output)


def grown(one, before):
    after = counters(one)
    return {name: after[name] - before[name] for name in after}


def port_counters(guests):
    """Both ends count the same words of 32 bits and the same packets."""
    before = [counters(one) for one in guests]
    write_bytes(guests)
    sent, received = (grown(one, old) for one, old in zip(guests, before))
    words = (16 << 20) // 4
    check(words < sent['port_xmit_data'] < 1.2 * words, sent)
    check(words < received['port_rcv_data'] < 1.2 * words, received)
    check(sent['port_xmit_packets'] >= (16 << 20) // 4096
          and received['port_rcv_packets'] >= (16 << 20) // 4096, sent, received)
    check(received['port_xmit_packets'] > 0 and sent['port_rcv_packets'] > 0,
          sent, received)
    check(not any(count[name] for count in (sent, received) for name in count
                  if 'err' in name or 'drop' in name or 'disc' in name), sent, received)


def link_downed(guests):
    before = counters(guests[0])
    links.qemu(guests[0], 'set_link', name='nic', up=False)
    guests[0].wait_until(f'grep -q DOWN {links.PORT}/state')
    links.qemu(guests[0], 'set_link', name='nic', up=True)
    guests[0].wait_until(f'grep -q ACTIVE {links.PORT}/state')
    check(grown(guests[0], before)['link_downed'] == 1, counters(guests[0]))


def ask(guests, method, attribute, port=1):
    """Status and data of guest 1's answer to guest 0."""
    index = programs.gid_index(guests[0], links.ipv6(0))
    status, data = guests[0].check(
        f'python3 /tmp/perfquery.py {links.DEVICE} {index} {links.ipv6(1)} '
        f'{method} {attribute} {port}', 40).split()
    return int(status), bytes.fromhex(data)


def perfquery(guests):
    """The peer's counters are the same over the network as in its sysfs."""
    counters(guests[1])
    for one in guests:
        one.check('modprobe ib_umad')
    guests[0].put(guest.INSIDE / 'perfquery.py', '/tmp/perfquery.py')
    status, data = ask(guests, 1, 0x1d)             # Get(PortCountersExtended)
    after = counters(guests[1])
    reported = [int.from_bytes(data[at:at + 8]) for at in range(8, 40, 8)]
    check(status == 0 and data[1] == 1, status, data.hex())
    for name, value in zip(('port_xmit_data', 'port_rcv_data', 'port_xmit_packets',
                            'port_rcv_packets'), reported):
        check(0 < value <= after[name] < value + 2000, name, value, after)
    status, data = ask(guests, 1, 0x12, 0xff)       # Get(PortCounters), all ports
    check(status == 0 and int.from_bytes(data[24:28]) >= reported[0], status, data.hex())
    status, data = ask(guests, 1, 1)                # Get(ClassPortInfo)
    check(status == 0 and data[:2] == b'\1\1' and data[2] & 4, status, data.hex())
    for method, attribute, port, want in ((1, 0x12, 2, 0x1c), (2, 0x12, 1, 0xc),
                                          (1, 0x7777, 1, 0xc)):
        status, data = ask(guests, method, attribute, port)
        check(status == want, method, attribute, port, status)


def statistic(guests):
    """rdma(8) shows the same counters as sysfs, and they grow with traffic."""
    before = counters(guests[0], HW_COUNTERS)
    write_bytes(guests, 1)
    shown = [one for one in rdma(guests[0], 'statistic show')
             if one['ifname'] == links.DEVICE]
    after = counters(guests[0], HW_COUNTERS)
    check(shown and set(after) - {'lifespan'} <= set(shown[0]), shown)
    check(any(before[name] < shown[0][name] <= after[name] for name in after
              if name != 'lifespan'), before, shown)


def statistic_qp(guests, pid):
    """A counter of one queue pair. The kernel does not remember a missing operation."""
    number = next(qp['lqpn'] for qp in objects(guests[0], 'qp') if qp.get('pid') == pid)
    link_of = f'link {links.DEVICE}/1'
    refused(guests[0].run(f'rdma statistic qp bind {link_of} lqpn {number}'), 'a counter')
    held, = rdma(guests[0], 'statistic qp show')
    check(held['lqpn'] == [number], held)
    guests[0].check(f'rdma statistic qp unbind {link_of} cntn {held["cntn"]} '
                    f'lqpn {number}')
    check(not rdma(guests[0], 'statistic qp show'), 'a counter without a queue pair')


# ---- network namespaces ------------------------------------------------------------

def netns(guests):
    """The device moves to a namespace, has traffic there, and moves back."""
    one = guests[0]
    one.check('rdma system set netns exclusive')
    try:
        one.check('ip netns add lab')
        refused(one.run(f'rdma dev set {links.DEVICE} netns lab'), 'namespaces')
        one.check(f'ip link set {links.INTERFACE} netns lab && '
                  f'ip -n lab link set {links.INTERFACE} mtu 9000 up && '
                  f'ip -n lab addr add {links.ipv4(0)}/24 dev {links.INTERFACE}')
        check(links.DEVICE not in one.check('rdma dev; ibv_devices'), 'seen outside')
        check(links.DEVICE in one.check('ip netns exec lab rdma dev'), 'not inside')
        server = guests[1].start('timeout 30 rping -s -C 20 -a ' + links.ipv4(1), 40)
        guests[1].wait_until(programs.RPING.listens)
        client = one.run('ip netns exec lab rping -c -C 20 -a ' + links.ipv4(1), 40)
        check(client.status == server.wait().status == 0, client.output)
    finally:
        one.run(f'ip -n lab link set {links.INTERFACE} netns 1; ip netns del lab')
        one.wait_until(f'rdma dev | grep -q {links.DEVICE} && '
                       'rdma system set netns shared')
        links.up(guests, 9000)
    check(links.DEVICE in one.check('rdma dev'), 'did not come back')


def run(name, function, *arguments):
    try:
        function(*arguments)
    except Lacks as e:
        return Case(name, 'skip', str(e))
    except Exception as e:                          # the other cases have to run
        return Case(name, 'fail', f'{type(e).__name__}: {e}')
    return Case(name, 'ok')


def looks_in_traffic(guests):
    looks = []
    done = run('in_traffic', in_traffic, guests, lambda pid: looks.extend(
        run(look.__name__, look, guests, pid)
        for look in (by_process, details, statistic_qp)))
    return looks if done.result == 'ok' else [*looks, done]


def rdma_cases(guests, short):
    for function in (link, device, rename, port_counters, perfquery, statistic):
        yield run(function.__name__, function, guests)
    yield from looks_in_traffic(guests)
    for function in (link_downed, netns):
        yield run(function.__name__, function, guests)


SUITES = [Suite('kernel', 2, rdma_cases)]
