# SPDX-License-Identifier: GPL-2.0-or-later
"""A small driver of the mlx5 interface, for mlx5_features.py and mlx5_frames.py.
Messages, contexts and segments are texts of "path=value", which the device's tables of
fields encode."""
import re
import struct
from pathlib import Path

FACE = Path(__file__).resolve().parents[3] / 'hw/rdma-ernic/core/faces/mlx5'
BOX = 512
# Doorbells of a page, and registers of the initialization segment.
CQ_ARM, EQ_ARM, EQ_SET, BLUE_FLAME = 0x20, 0x40, 0x48, 0x800
QUEUE_HIGH, QUEUE_LOW, DOORBELL = 0x10, 0x14, 0x18
END_KEY = 0x100
# Opcodes that both kinds of send queues have.
SEND, LSO = 0x0a, 0x0e
# Bytes that change and are no further apart are one access to memory.
GAP = 12
ROW = re.compile(r'^(LAYOUT|LAYOUT_OF|F|A|S|SA)\((.*)\)$', re.MULTILINE)


class Layout:
    """Fields by name: offset and width in bits, elements, layout of each."""

    def __init__(self, bits):
        self.bits = bits
        self.fields = {}


def read_layouts():
    layouts, now = {}, None
    for path in sorted(FACE.glob('fields_*.h.inc')):
        for kind, args in ROW.findall(path.read_text()):
            name, *rest = [arg.strip() for arg in args.split(',')]
            if kind.startswith('LAYOUT'):
                now = layouts[name] = Layout(int(rest[-1], 0))
                continue
            part = rest[1] if kind[0] == 'S' else None
            width = 0 if part else int(rest[1], 0)
            count = int(rest[2], 0) if kind in ('A', 'SA') else 1
            now.fields[name] = (int(rest[0], 0), width, count, part)
    return layouts


def read_commands():
    """Opcode, layout of the message and bytes of the answer, by name."""
    text = (FACE / 'commands.c').read_text()
    found = {}
    for opcode, name, kind, layout in re.findall(
            r'\{ (0x\w+), "(\w+)", (PAIR|IN)\((\w+)\) \}', text):
        out = LAYOUTS[layout + '_out'].bits // 8 if kind == 'PAIR' else 16
        found[name] = int(opcode, 0), layout + '_in', out
    return found


LAYOUTS = read_layouts()
COMMANDS = read_commands()


def put(data, bit, width, value):
    first, end = bit // 8, (bit + width + 7) // 8
    data.extend(bytes(max(end - len(data), 0)))
    shift = end * 8 - bit - width
    old = int.from_bytes(data[first:end], 'big') & ~(((1 << width) - 1) << shift)
    data[first:end] = (old | (value & (1 << width) - 1) << shift).to_bytes(end - first,
                                                                           'big')


def put_path(data, layout, path, value, base=0):
    name, index, rest = re.fullmatch(r'(\w+)(?:\[(\d+)\])?(?:\.(.*))?', path).groups()
    offset, width, _, part = LAYOUTS[layout].fields[name]
    width = LAYOUTS[part].bits if part else width
    at = base + offset + int(index or 0) * width
    if part:
        put_path(data, part, rest, value, at)
    else:
        put(data, at, width, value)


def encode(layout, text=''):
    """The structure, and the elements of a list after it."""
    to = bytearray(LAYOUTS[layout].bits // 8)
    for word in text.split():
        path, value = word.split('=')
        put_path(to, layout, path, int(value, 0))
    return bytes(to) + bytes(-len(to) % 4)


def at(path, data, width=8):
    """The text of an array with these bytes."""
    step = width // 8
    return ' '.join(f'{path}[{i}]={int.from_bytes(data[i * step:(i + 1) * step], "big")}'
                    for i in range(len(data) // step))


# ---- segments of requests -------------------------------------------------------------

def data(address, length, key):
    return struct.pack('>IIQ', length, key, address)


def raddr(address, key):
    return struct.pack('>QIxxxx', address, key)


def inline(bytes_):
    text = struct.pack('>I', 1 << 31 | len(bytes_)) + bytes_
    return text + bytes(-len(text) % 16)


def umr(key_text, mask, flags=0x80, octowords=0, offset=0):
    """UMR control segment and key context; offset: of the translations, in octowords."""
    return (struct.pack('>B3xHHQI28x', flags, octowords, offset & 0xffff, mask,
                        offset >> 16) + encode('mkc', key_text))


class Function:
    """One function from its probe on: a page of doorbells, an event queue."""

    def __init__(self, machine, device=0, start=True):
        m = self.m = machine
        self.device, self.entry = device, 0
        m.enable(device, 0)
        self.gid = bytes(10) + b'\xff\xff\x0a\0\0' + bytes([device + 1])
        self.mac = b'\x52\x54\0\0\0' + bytes([device + 1])
        self.page = m.alloc(4096)
        self.store(QUEUE_HIGH, 0)
        self.store(QUEUE_LOW, self.page)
        if start:
            self.start()

    def start(self):
        for name in ('ENABLE_HCA', 'INIT_HCA'):
            self.command(name)
        self.uar = self.command('ALLOC_UAR')
        self.eq = self.event_queue(0x1f023c)

    def objects(self):
        """A domain, all memory as a region, an address."""
        self.pd = self.command('ALLOC_PD')
        self.key = self.command('CREATE_MKEY', self.mkc(
            'length64=1 lw=1 lr=1 rr=1 rw=1 a=1 mkey_7_0=0x11')) << 8 | 0x11
        self.memory = self.m.alloc(0x20000)
        self.address()

    def address(self, index=0, more=''):
        self.command('SET_ROCE_ADDRESS', f'roce_address_index={index} ' +
                     at('roce_address.source_l3_address', self.gid) +
                     ' roce_address.source_mac_47_32=0x5254 roce_address.roce_version=2'
                     f' roce_address.source_mac_31_0={self.device + 1} ' + more)

    def mkc(self, text):
        """The context of a new key, in all queue pairs."""
        return ' '.join('memory_key_mkey_entry.' + word for word in
                        f'qpn=0xffffff pd={self.pd} {text}'.split())

    def store(self, offset, value, size=4):
        """Registers are big-endian."""
        self.m.write(self.device, offset,
                     int.from_bytes(value.to_bytes(size, 'big'), 'little'), size)

    def ring(self, offset, value, size=4, page=None):
        self.store((self.uar if page is None else page) * 4096 + offset, value, size)

    def sparse(self, address, data_):
        """Writes only the bytes that are not there already."""
        old = self.m.peek(address, len(data_))
        new = bytes(a != b for a, b in zip(old, data_))
        for run in re.finditer(b'\1(?:.{0,%d}\1)*' % GAP, new, re.DOTALL):
            self.m.ram(address + run.start(), data_[slice(*run.span())])

    def boxes(self, message, size):
        """A chain of mailboxes for the bytes after the first 16; returns its address."""
        count = -(-(size - 16) // BOX)
        if count <= 0:
            return 0
        first = self.m.alloc(count * 1024)
        for i in range(count):
            part = message[16 + i * BOX:16 + (i + 1) * BOX].ljust(560, b'\0')
            follow = first + (i + 1) * 1024 if i + 1 < count else 0
            self.sparse(first + i * 1024, part + struct.pack('>QI', follow, i))
        return first

    def post_bytes(self, message, out, change=None):
        """An entry of the command queue, which its doorbell names; returns its number.
        change: a place in the entry, and the bytes that are written there."""
        number, self.entry = self.entry % 32, self.entry + 1
        entry = bytearray(struct.pack('>B3xIQ', 7, len(message),
                                      self.boxes(message, len(message))) +
                          bytes(message[:16]) + bytes(16) +
                          struct.pack('>QI3xB', self.boxes(b'', out), out, 1))
        if change:
            entry[change[0]:change[0] + len(change[1])] = change[1]
        self.sparse(self.page + number * 64, bytes(entry))
        self.store(DOORBELL, 1 << number)
        return number

    def post(self, name, text='', tail=b'', op_mod=0, out=None):
        """A command of COMMANDS."""
        opcode, layout, answer = COMMANDS[name]
        message = bytearray(encode(layout, text) + tail)
        struct.pack_into('>HxxxxH', message, 0, opcode, op_mod)
        return self.post_bytes(message, answer if out is None else out)

    def attempt(self, name, text='', tail=b'', op_mod=0, out=None):
        """Status and number of an answer."""
        number = self.post(name, text, tail, op_mod, out)
        for _ in range(100):
            entry = self.m.peek(self.page + number * 64, 64)
            if not entry[63] & 1:
                return entry[32], struct.unpack('>I', entry[40:44])[0] & 0xffffff
            self.m.step()
        raise AssertionError(f'{name}: no answer')

    def command(self, name, text='', tail=b'', op_mod=0, out=None):
        """Returns the number in an answer, and fails with any but a success."""
        status, number = self.attempt(name, text, tail, op_mod, out)
        if status:
            raise AssertionError(f'{name} {text}: status {status:#x}')
        return number

    def event_queue(self, mask, log=4, intr=1):
        number = self.command('CREATE_EQ',
                              f'eq_context_entry.log_eq_size={log} '
                              f'eq_context_entry.uar_page={self.uar} '
                              f'eq_context_entry.intr={intr} event_bitmask[0]={mask} '
                              f'pas[0]={self.m.alloc(4096)}') & 0xff
        self.ring(EQ_ARM, number << 24)
        return number

    def cq(self, log=6, more=''):
        """A completion queue; its record follows in the same page."""
        ring = self.m.alloc(8192)
        number = self.command('CREATE_CQ', ' '.join(
            'cq_context.' + word for word in
            f'log_cq_size={log} uar_page={self.uar} c_eqn_or_apu_element={self.eq} '
            f'dbr_addr={ring + 4096} {more}'.split()) + f' pas[0]={ring}')
        self.cq_record = ring + 4096
        return number

    def wait(self, ns=4000):
        self.m.step(ns)


def opened(m, device=0):
    f = Function(m, device)
    f.objects()
    return f


class Qp:
    """A queue pair with both rings in one page, and its record in the next one."""

    def __init__(self, f, st=0, more='', cq=None):
        self.f, self.sent, self.received = f, 0, 0
        self.ring = f.m.alloc(8192)
        self.record = self.ring + 4096
        self.cq = cq or f.cq()
        self.st = st
        self.slots = 'rq_type' not in more
        self.sq = self.ring + (512 if self.slots else 0)
        self.number = f.command('CREATE_QP', ' '.join('qpc.' + word for word in (
            f'st={st} pd={f.pd} log_sq_size=5 uar_page={f.uar} user_index=7 fre=1 '
            f'cqn_snd={self.cq} cqn_rcv={self.cq} dbr_addr={self.record} ' +
            ('log_rq_size=3 log_rq_stride=2 ' if self.slots else '') + more).split()) +
            f' pas[0]={self.ring}')

    def change(self, name, text='', options=0):
        """A transition; words with a / in front are of the path."""
        words = ['qpc.primary_address_path.' + word[1:] if word[0] == '/' else
                 'qpc.' + word for word in text.split()]
        words += [f'opt_param_mask={options}'] if options else []
        return self.f.command(name, ' '.join([f'qpn={self.number}', *words]))

    def connect(self, to=None, psn=0x1000):
        """To RTS, with the attributes that the type requires."""
        to = to or self
        peer = to.f
        self.change('RST2INIT_QP', '/vhca_port_num=1 rwe=1 rre=1 rae=1 q_key=0x11111111')
        self.change('INIT2RTR_QP',
                    f'mtu=3 remote_qpn={to.number} next_rcv_psn={psn} log_rra_max=2 '
                    'min_rnr_nak=1 /hop_limit=64 /rmac_47_32=0x5254 '
                    f'/rmac_31_0={peer.device + 1} ' + at('/rgid_rip', peer.gid))
        self.change('RTR2RTS_QP', f'next_send_psn={psn} log_sra_max=2 retry_count=1 '
                    'rnr_retry=1 /ack_timeout=8')

    def receive(self, length=4096, key=None):
        f = self.f
        f.m.ram(self.ring + self.received % 8 * 64,
                data(f.memory + 0x10000, length, key or f.key) + data(0, 0, END_KEY))
        self.received += 1
        f.m.ram(self.record, struct.pack('>I', self.received))

    def send(self, opcode, *segments, ce=2, fence=0, imm=0, size=None, wait=True):
        """size: the field ds, else what the segments have."""
        body = b''.join(segments)
        count = 1 + len(body) // 16 if size is None else size
        self.request(struct.pack('>IIxxxBI', (self.sent & 0xffff) << 8 | opcode,
                                 self.number << 8 | count, fence << 5 | ce << 2, imm) +
                     body, wait)

    def request(self, wqe, wait=True):
        f, room = self.f, (32 - self.sent % 32) * 64
        f.m.ram(self.sq + self.sent % 32 * 64, wqe[:room])
        if wqe[room:]:
            f.m.ram(self.sq, wqe[room:])
        self.sent += -(-len(wqe) // 64)
        f.m.ram(self.record + 4, struct.pack('>I', self.sent))
        f.ring(BLUE_FLAME, self.number << 8, 8)
        if wait:
            f.wait()


def pair(f, st=0, other=None, more=''):
    """Two queue pairs that are connected to each other."""
    one, two = Qp(f, st, more), Qp(other or f, st, more)
    one.connect(two)
    two.connect(one)
    return one, two


class EthQueue:
    """A send queue (kind "sq") or a receive queue ("rq") in one page."""

    def __init__(self, f, kind, more='', stride=6, log=4):
        self.f, self.kind, self.posted = f, kind, 0
        self.ring = f.m.alloc(8192)
        self.record, self.slots, self.stride = self.ring + 4096, 1 << log, 1 << stride
        self.cq = f.cq()
        words = f'cqn={self.cq} user_index=9 {more}'.split()
        words += ['wq.' + word for word in (
            f'wq_type=1 pd={f.pd} uar_page={f.uar} dbr_addr={self.record} '
            f'log_wq_sz={log} log_wq_stride={stride} pas[0].pa_h=0 '
            f'pas[0].pa_l={self.ring >> 12}').split()]
        self.number = f.command('CREATE_' + kind.upper(),
                                ' '.join('ctx.' + word for word in words))
        self.state(0, 1)

    def state(self, old, new, more=''):
        kind = self.kind
        return self.f.attempt('MODIFY_' + kind.upper(), f'{kind}_state={old} '
                              f'{kind}n={self.number} ctx.state={new} {more}')

    def post(self, *segments):
        """A receive request."""
        slot = b''.join(segments)
        if len(slot) < self.stride:
            slot += data(0, 0, END_KEY)
        self.f.m.ram(self.ring + self.posted % self.slots * self.stride, slot)
        self.posted += 1
        self.f.m.ram(self.record, struct.pack('>I', self.posted))

    def send(self, opcode, head=b'', *segments, sums=0, mss=0, size=None, ce=2,
             tag=None, ds=None):
        """A request: control segment, Ethernet segment with header or tag, the rest."""
        eth = struct.pack('>4xBxHxxxx', sums, mss)
        eth += struct.pack('>HH', *tag) if tag else struct.pack(
            '>H', len(head) if size is None else size) + head
        eth += bytes(-len(eth) % 16)
        body = eth + b''.join(segments) if opcode else b''
        count = 1 + len(body) // 16 if ds is None else ds
        wqe = struct.pack('>IIxxxB4x', (self.posted & 0xffff) << 8 | opcode,
                          self.number << 8 | count, ce << 2) + body
        room = (self.slots - self.posted % self.slots) * 64
        self.f.m.ram(self.ring + self.posted % self.slots * 64, wqe[:room])
        if wqe[room:]:
            self.f.m.ram(self.ring, wqe[room:])
        self.posted += -(-len(wqe) // 64)
        self.f.m.ram(self.record + 4, struct.pack('>I', self.posted))
        self.f.ring(BLUE_FLAME, self.number << 8, 8)
        self.f.wait()
