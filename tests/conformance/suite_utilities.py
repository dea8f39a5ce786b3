# SPDX-License-Identifier: GPL-2.0-or-later
"""ibverbs-utils and rdmacm-utils of Debian: every program between two guests, those of
rdma_cm over both links."""
import guest
import links
import programs
from programs import Family, Program
from report import Case, case
from stacks import STACKS, Suite

FAMILIES = {'ipv4': links.ipv4, 'ipv6': links.ipv6}
# Messages of a program that finds its feature missing in the device.
LACKS = ("Couldn't Open the XRC Domain", 'Error opening XRC domain',
         'rdma_create_ep: Operation not supported')

# The -c of the last one is the number of clients.
PINGPONGS = [*(Program(f'ibv_{kind}_pingpong', programs.PINGPONG, '-c -n 300')
               for kind in ('rc', 'uc', 'ud', 'srq')),
             Program('ibv_xsrq_pingpong', programs.XSRQ, '-n 300', good='success')]
CM_LISTENS = programs.RPING.listens
SOCKET = Family('{name} -b {address} {opt}', '{name} -s {address} {opt}', CM_LISTENS,
                r'(1m|64k|1k|custom)\s', 'done')
CMTIME = Family('{name} -b {address} {opt}', '{name} -s {address} {opt}', CM_LISTENS,
                r'connect\s+:?\s*([\d.]+)', 'us', ends=False)
CLIENT = Family('rdma_server -s {address}', 'rdma_client -s {address}', CM_LISTENS,
                r'client: end (0)', 'status')
XCLIENT = Family('rdma_xserver {opt}', 'rdma_xclient -s {address} {opt}', CM_LISTENS,
                 r'xclient: end (0)', 'status')
# Their server takes no address.
XCM = [Program('rdma_xclient rc', XCLIENT, '-c r'),
       Program('rdma_xclient xrc', XCLIENT, '-c x')]
CM = [
    *(programs.BY_NAME[name] for name in ('rping', 'ucmatose', 'udaddy')),
    Program('cmtime', CMTIME, '-c 20'),
    Program('rdma_client', CLIENT),
    Program('rstream', SOCKET, '-I 20 -C 10 -S 65536 -T v'),
    Program('riostream', SOCKET, '-I 20 -C 10 -S 65536 -T v'),
]


def run(guests, name, program, options='', address=links.ipv4, tcp=links.ipv4):
    try:
        outcome = programs.run(guests, program, options, address, tcp)
    except Exception as e:                          # the other programs have to run
        return Case(name, 'fail', str(e))
    if outcome.reason and any(text in outcome.output for text in LACKS):
        return Case(name, 'skip', outcome.output)
    return case(name, not outcome.reason, f'{outcome.reason}\n{outcome.output}')


def ibverbs(guests, short):
    yield case('ibv_devices', links.DEVICE in guests[0].check('ibv_devices'))
    outcome = programs.devinfo(guests[0])
    yield case('ibv_devinfo', not outcome.reason, outcome.reason)
    for program in PINGPONGS:
        for family, address in FAMILIES.items():
            for wait, options in (('poll', ''), ('events', '-e')):
                if not short or (family == 'ipv4') == (wait == 'poll'):
                    yield run(guests, f'{program.name} {family} {wait}', program,
                              options, address)


def with_cable(guests, short):
    """The UDP link has no cable."""
    yield from ibverbs(guests, short)
    yield asyncwatch(guests)


def asyncwatch(guests):
    """Unplugging and plugging in the cable makes two events."""
    one, said = guests[0], '/tmp/asyncwatch'
    job = one.start(f'ibv_asyncwatch -d {links.DEVICE} >{said}', 60)
    try:
        one.wait_until(f'grep -q FD {said}')
        for up, event in ((False, 'PORT_ERR'), (True, 'PORT_ACTIVE')):
            links.qemu(one, 'set_link', name='nic', up=up)
            one.wait_until(f'grep -q IBV_EVENT_{event} {said}')
    except guest.GuestError as e:
        return Case('ibv_asyncwatch', 'fail', f'{e}\n{one.check(f"cat {said}")}')
    finally:
        links.qemu(one, 'set_link', name='nic', up=True)
        job.kill()
        job.wait()
    return Case('ibv_asyncwatch', 'ok')


def rdmacm(guests, short):
    for program in CM:
        for family, address in FAMILIES.items():
            if not short or family == 'ipv4':
                yield run(guests, f'{program.name} {family}', program, address=address)
    for program in XCM:
        yield run(guests, program.name, program)
    yield mckey(guests)
    yield rcopy(guests)


def mckey(guests, name='mckey', address=links.ipv4):
    """Both join a multicast group; one sends to it, 3 seconds after it has joined."""
    group = '239.1.2.3'
    options = f'-m {group} -c 1 -C 10'
    listener = guests[1].start(f'mckey -b {address(1)} {options}', 40)
    # The file has addresses as the processor reads them.
    member = ''.join(f'{int(part):02X}' for part in reversed(group.split('.')))
    guests[1].wait_until(f'grep -q {member} /proc/net/igmp')
    sender = guests[0].run(f'mckey -s -b {address(0)} {options}', 40)
    heard = listener.wait()
    return case(name, sender.status == heard.status == 0
                and 'test complete' in heard.output, sender.output + heard.output)


def rcopy(guests):
    """1 MiB through rsockets arrives unchanged."""
    guests[0].check('head -c 1048576 /dev/urandom >/tmp/copied')
    server = guests[1].start('cd /tmp && timeout 20 rcopy', 40)
    guests[1].wait_until(CM_LISTENS)
    client = guests[0].run(f'rcopy /tmp/copied {links.ipv4(1)}:/tmp/copied', 30)
    guests[1].run('killall rcopy')
    server.wait()
    sums = [one.run('md5sum </tmp/copied').output for one in guests]
    return case('rcopy', client.status == 0 and sums[0] == sums[1], client.output)


SUITES = [Suite('ibverbs-utils', 2, with_cable, about=('ibverbs-utils',), devices=STACKS,
                short=('ernic', 'mlx5')),
          Suite('ibverbs-utils-udp', 2, ibverbs, about=('ibverbs-utils',),
                devices=('mlx5',), short=(), link='udp'),
          # The short form has the same in rdmacm-utils-udp, and rping in mlx5-verbs-*.
          Suite('rdmacm-utils', 2, rdmacm, about=('rdmacm-utils',), devices=STACKS,
                short=()),
          Suite('rdmacm-utils-udp', 2, rdmacm, about=('rdmacm-utils',),
                devices=('ernic', 'mlx5'), short=('ernic',), link='udp')]
