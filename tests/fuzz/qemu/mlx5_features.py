# SPDX-License-Identifier: GPL-2.0-or-later
"""Inputs of the target "ernic" for the mlx5 interface, one for each part of it;
features.py writes them."""
import struct

import mlx5
import mlx5_frames
from mlx5 import CQ_ARM, END_KEY, EQ_ARM, EQ_SET, LSO, SEND, Function, Qp, at, data, \
    inline, opened, pair, raddr, umr
from mlx5_frames import ethernet, headers

HUB = ('-netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0'
       ' -device ernic,id=net0,addr=04.0,personality=mlx5,netdev=h0'
       ' -device ernic,id=net1,addr=05.0,personality=mlx5,netdev=h1')
NOP, SEND_INV, WRITE, WRITE_IMM, SEND_IMM = 0x00, 0x01, 0x08, 0x09, 0x0b
READ, CMP_SWAP, FETCH_ADD, UMR = 0x10, 0x11, 0x12, 0x25
COMMAND_EVENTS = 1 << 0x0a
# MLX5_MKEY_MASK_*: a fast registration, the end of one, what the UMR queue pair changes.
FAST = 0x3fff | 0xf << 17 | 1 << 21 | 1 << 23 | 1 << 29
FAST &= ~(1 << 7 | 0x1e3c)
MASK_FREE, MASK_ACCESS, MASK_PD = 1 << 29, 7 << 18 | 1 << 17 | 1 << 21, 1 << 7
WANT_FREE, WANT_VALID, LIST_OFFSET, INLINE = 0x20, 0x40, 0x10, 0x80


# ---- the function ---------------------------------------------------------------------

def probe(m):
    """The commands of mlx5_core from its probe on, by event, and its end."""
    f = Function(m, start=False)
    for offset in (0, 4, 0x10, 0x14, 0x1fc, 0x200, 0x23c, 0x1000, 0x1004, 0x1010, 0x2000,
                   0x2004, 0x10000):
        m.script.read(0, 0, offset)
    m.script.read(0, 0, 0x1000, 8)
    # MSI-X, by its place in the configuration space of all these functions.
    m.script.config_write(0, 0x42, 0x8000, 2)
    f.attempt('INIT_HCA')
    f.command('ENABLE_HCA')
    f.command('QUERY_ISSI')
    f.attempt('SET_ISSI', 'current_issi=2')
    f.command('SET_ISSI', 'current_issi=1')
    for group in (0, 1, 2, 3, 4, 7, 0x10, 0x20):
        for op_mod in (group * 2, group * 2 + 1):
            f.attempt('QUERY_HCA_CAP', op_mod=op_mod, out=16 + 512)
    # The general group, with a log_max_qp of 5 and one that is too large.
    for value in (5, 31):
        f.attempt('SET_HCA_CAP', f'capability[4]={value}')
    f.attempt('SET_HCA_CAP', op_mod=0x40)
    for op_mod in range(4):
        f.attempt('QUERY_PAGES', op_mod=op_mod)
        f.attempt('MANAGE_PAGES', 'input_num_entries=2', bytes(16), op_mod)
    f.command('INIT_HCA')
    f.command('SET_DRIVER_VERSION', 'driver_version[0]=76')
    f.command('QUERY_ADAPTER')
    f.uar = f.command('ALLOC_UAR')
    eq = f.event_queue(COMMAND_EVENTS, 2)
    for i in range(6):
        f.command('QUERY_SPECIAL_CONTEXTS')
        f.ring(EQ_ARM if i & 1 else EQ_SET, eq << 24 | i)
    f.command('QUERY_EQ', f'eq_number={eq}')
    f.attempt('CREATE_EQ', f'event_bitmask[0]={COMMAND_EVENTS}', bytes(8))
    f.command('DESTROY_EQ', f'eq_number={eq}')
    f.attempt('DEALLOC_UAR', f'uar={f.uar + 1}')
    f.command('DEALLOC_UAR', f'uar={f.uar}')
    f.command('TEARDOWN_HCA')
    f.command('DISABLE_HCA')


def port(m):
    """The virtual port and the registers of the port, with all their groups."""
    f = opened(m)
    f.command('QUERY_NIC_VPORT_CONTEXT')
    for kind, size in ((0, 8), (1, 8), (2, 4), (3, 4)):
        f.attempt('MODIFY_NIC_VPORT_CONTEXT', 'field_select.addresses_list=1 '
                  f'nic_vport_context.allowed_list_type={kind} '
                  'nic_vport_context.allowed_list_size=2', bytes(range(2 * size)))
        f.attempt('QUERY_NIC_VPORT_CONTEXT', f'allowed_list_type={kind}', out=16 + 272)
    f.command('MODIFY_NIC_VPORT_CONTEXT',
              ' '.join(f'field_select.{name}=1' for name in (
                  'roce_en', 'promisc', 'change_event', 'mtu', 'permanent_address')) +
              ' nic_vport_context.mtu=1500 nic_vport_context.roce_en=1 '
              'nic_vport_context.promisc_all=1')
    f.attempt('MODIFY_NIC_VPORT_CONTEXT', 'field_select.affiliation=1')
    f.attempt('MODIFY_NIC_VPORT_CONTEXT', 'field_select.mtu=1 '
              'nic_vport_context.mtu=65535')
    for state in (0, 3, 1):
        f.attempt('MODIFY_VPORT_STATE', f'admin_state={state}')
        f.command('QUERY_VPORT_STATE')
    for register, text in ((0x5003, '00010000 00000000 05dc0000 00000000'),
                           (0x5004, '00010004' + ' 00000000' * 15),
                           (0x5006, '00010200 80000000 00000000 00000000'),
                           (0x5007, '00010000' + ' 00000000' * 7),
                           (0x5007, '00010000 00000000 80000000' + ' 00000000' * 5),
                           (0x6001, '41424344' * 16), (0x6000, '00000000')):
        for op_mod in (0, 1):
            f.attempt('ACCESS_REG', f'register_id={register}', bytes.fromhex(text),
                      op_mod, 16 + 64)
    for group in (0, 1, 2, 3, 5, 0x10, 0x11, 0x12, 0x3f):
        f.attempt('ACCESS_REG', 'register_id=0x5008',
                  struct.pack('>II', 0x00010000 | group, 0) + bytes(248), 1, 16 + 256)
    for name in ('QUERY_VNIC_ENV', 'QUERY_VPORT_COUNTER', 'QUERY_HCA_VPORT_PKEY'):
        f.command(name, out=512)
        f.attempt(name, 'other_vport=1')
    m.script.link(0, 1)
    m.step(1000000)
    m.script.link(0, 0)
    m.step(1000000)


def domains(m):
    """Domains, keys and addresses: made, queried, in use, destroyed."""
    f = opened(m)
    xrcd, td = f.command('ALLOC_XRCD'), f.command('ALLOC_TRANSPORT_DOMAIN')
    pages = struct.pack('>4Q', *(f.memory + i * 4096 for i in (3, 1, 2, 0)))
    for text, tail in (('access_mode_1_0=1 lw=1 rr=1 start_addr=0x10000 len=0x4000 '
                        'translations_octword_size=2 log_page_size=12', pages),
                       ('access_mode_1_0=1 free=1 umr_en=1 translations_octword_size=8',
                        b''), ('access_mode_1_0=2 len=4096', b''),
                       ('access_mode_1_0=1 len=8192 translations_octword_size=1', b''),
                       ('length64=1 bsf_en=1', b'')):
        status, index = f.attempt('CREATE_MKEY', f.mkc(text), tail)
        f.attempt('QUERY_MKEY', f'mkey_index={index}')
        f.attempt('DESTROY_MKEY', f'mkey_index={index if not status else 0xffffff}')
    for more in ('roce_address.vlan_valid=1 roce_address.vlan_id=5',
                 'roce_address.roce_l3_type=1', 'roce_address.roce_version=7',
                 'vhca_port_num=3'):
        f.attempt('SET_ROCE_ADDRESS',
                  'roce_address_index=1 roce_address.roce_version=2 ' +
                  at('roce_address.source_l3_address', b'\xfe\x80' + bytes(13) + b'\1') +
                  ' ' + more)
    f.attempt('SET_ROCE_ADDRESS', 'roce_address_index=1')
    f.attempt('SET_ROCE_ADDRESS', 'roce_address_index=4096')
    for name, number in (('PD', f.pd), ('XRCD', xrcd), ('TRANSPORT_DOMAIN', td)):
        field = {'PD': 'pd', 'XRCD': 'xrcd', 'TRANSPORT_DOMAIN': 'transport_domain'}[name]
        f.attempt('DEALLOC_' + name, f'{field}={number}')
        f.attempt('DEALLOC_' + name, f'{field}=0xffffff')


def every_command(m, operands):
    """Without those that end everything."""
    f = opened(m)
    f.cq()
    for name, (opcode, _, _) in mlx5.COMMANDS.items():
        if name not in ('TEARDOWN_HCA', 'DISABLE_HCA'):
            f.post_bytes(struct.pack('>H6x', opcode) + operands, 16)


def all_zeros(m):
    every_command(m, bytes(8))


def all_ones(m):
    every_command(m, b'\xff' * 8)


def number_one(m):
    every_command(m, struct.pack('>2I', 1, 1))


def messages(m):
    """Entries and mailboxes that are wrong, and doorbells of entries that are not."""
    f = Function(m)
    good = struct.pack('>H14x', 0x107)
    for at_, value in ((0, b'\6'), (1, b'\1'), (4, b'\xff' * 4), (4, bytes(4)),
                       (56, b'\xff' * 4), (56, bytes(4)), (11, b'\1'), (60, b'\5')):
        f.post_bytes(good, 16, change=(at_, value))
        f.wait()
    for size in (17, 528, 529, 1100):
        f.post_bytes(good.ljust(size, b'\0'), size)
        f.wait()
    # A chain that goes in a circle, a wrong number, an address that does not exist.
    for box in (0x100200, 0x7fffff000, 0x600000):
        f.post_bytes(good.ljust(600, b'\0'), 600,
                     change=(8, struct.pack('>Q', box)))
        f.wait()
    f.store(mlx5.DOORBELL, 0xffffffff)
    f.store(mlx5.QUEUE_LOW, 0x400000 | 7)
    f.store(mlx5.QUEUE_LOW, 1 << 8)
    f.store(mlx5.QUEUE_LOW, f.page)
    f.wait()
    f.store(mlx5.DOORBELL, 1)
    f.wait()


def events(m):
    """An event queue in memory that does not exist, a full one, and many doorbells."""
    f = opened(m)
    small = f.event_queue(0, 1)
    f.eq = small
    cqs = [f.cq() for _ in range(3)]
    for cqn in cqs:
        f.ring(CQ_ARM, 1 << 56 | cqn, 8)
        f.ring(CQ_ARM, cqn, 8)
    for cq in cqs:
        qp = Qp(f, 2, cq=cq)
        qp.connect()
        qp.receive()
        f.ring(CQ_ARM, 1 << 60 | cq, 8)
        f.m.ram(f.cq_record, struct.pack('>II', 0, 1 << 28))
        qp.send(SEND, bytes(48), inline(b'x'))
        qp.change('2ERR_QP')
    f.ring(EQ_SET, small << 24 | 1)
    f.ring(EQ_ARM, small << 24 | 2)
    f.ring(EQ_ARM, 0xff << 24)
    f.wait()
    for offset in (0, 0x10, 0x20, 0x28, 0x800, 0x808, 0x900, 0xa00, 0xfff):
        f.ring(offset & ~3, 0xffffffff)
        f.ring(offset & ~7, (1 << 64) - 1, 8)
        f.store(5 * 4096 + (offset & ~3), 1)
    status, lost = f.attempt('CREATE_EQ', f'eq_context_entry.log_eq_size=3 '
                             f'eq_context_entry.uar_page={f.uar} event_bitmask[0]=1024',
                             struct.pack('>Q', 0xffff000))
    if not status:
        f.ring(EQ_ARM, lost << 24)
        f.post('QUERY_ISSI')
        f.wait()
    m.script.read(0, 0, 0x23c)


# ---- queues of RDMA -------------------------------------------------------------------

def requests(m):
    """Every opcode of a connection, with pointers and inline data."""
    f = opened(m)
    one, two = pair(f)
    here, there = data(f.memory, 3000, f.key), raddr(f.memory + 0x8000, f.key)
    for _ in range(5):
        two.receive()
    one.send(NOP)
    one.send(SEND, here, data(f.memory, 30, f.key), imm=7, fence=2)
    one.send(SEND_IMM, inline(b'inline' * 9), imm=7)
    one.send(WRITE, there, here, ce=0)
    one.send(WRITE_IMM, there, here, imm=9)
    one.send(READ, there, here, fence=4)
    operands = struct.pack('>QQ', 5, 6)
    one.send(CMP_SWAP, there, operands, data(f.memory, 8, f.key))
    one.send(FETCH_ADD, there, operands, data(f.memory, 8, f.key), ce=1)
    one.send(SEND_INV, inline(b'bye'), imm=f.key)
    f.wait()
    f.command('QUERY_QP', f'qpn={one.number}')


def refused(f, requests_):
    """Each stops the queue pair, which is reset and connected again."""
    qp = Qp(f)
    for opcode, body, size, *imm in requests_:
        qp.connect()
        qp.send(opcode, body, size=size, imm=sum(imm))
        qp.change('2RST_QP')
        qp.sent = 0


def wrong_requests(m):
    """Requests without sense, and keys and rights that do not exist."""
    f = opened(m)
    refused(f, ((SEND, data(f.memory, 30, 5), None), (0x77, b'', None), (READ, b'', None),
                (WRITE, raddr(f.memory, f.key), 40), (SEND, inline(bytes(1004)), None),
                (SEND, b'', 0), (UMR, bytes(48), None)))


def wrong_memory(m):
    """Requests for memory that does not exist, and atomics of a wrong size."""
    f = opened(m)
    there = raddr(f.memory, f.key)
    refused(f, ((WRITE, raddr(1 << 50, f.key) + data(f.memory, 16, f.key), None),
                (WRITE, raddr(f.memory, 5) + data(f.memory, 16, f.key), None),
                (WRITE, there + data(1 << 50, 16, f.key), None),
                (READ, there + data(1 << 50, 16, f.key), None),
                (CMP_SWAP, there + bytes(16) + data(f.memory, 4, f.key), None),
                (FETCH_ADD, raddr(f.memory + 4, f.key) + bytes(16) +
                 data(f.memory, 8, f.key), None)))


def datagrams(m):
    """UD, queue pair 1, and a multicast group."""
    f = opened(m)
    group = bytes(10) + b'\xff\xff\xe0\0\0\1'
    for st in (2, 8):
        one, two = pair(f, st) if st == 2 else (Qp(f, st),) * 2
        if st == 8:
            one.connect()
        for _ in range(3):
            two.receive()
        f.attempt('ATTACH_TO_MCG', f'qpn={two.number} ' + at('multicast_gid', group))
        for gid, dest in ((f.gid, two.number), (group, 0xffffff)):
            av = mlx5.encode('wqe_av', f'qkey=0x11111111 extended=1 dqpn={dest} grh=1 '
                             'hop_limit=9 ' + at('rmac', f.mac) + ' ' + at('rgid', gid))
            one.send(SEND, av, data(f.memory, 256, f.key))
            one.send(SEND_IMM, av, inline(bytes(20)))
        f.attempt('DETACH_FROM_MCG', f'qpn={two.number} ' + at('multicast_gid', group))


def list_of(f, address, slots=16, stride=64):
    """A shared receive queue's ring: each slot names the next one."""
    for i in range(slots):
        f.m.ram(address + i * stride, struct.pack('>HH12x', 0, (i + 1) % slots) +
                data(f.memory + 0x10000, 4096, f.key) + data(0, 0, END_KEY))


def shared(m):
    """A shared receive queue with its limit, and a list that breaks."""
    f = opened(m)
    ring = m.alloc(8192)
    list_of(f, ring, 4)
    wq = f'ctx.wq.pd={f.pd} ctx.wq.log_wq_stride=6 ctx.wq.log_wq_sz=2 '
    rmp = f.command('CREATE_RMP', f'ctx.state=1 {wq} ctx.wq.dbr_addr={ring + 4096} '
                    f'ctx.wq.pas[0].pa_l={ring >> 12}')
    m.ram(ring + 4096, struct.pack('>I', 3))
    f.command('MODIFY_RMP', f'rmp_state=1 rmpn={rmp} bitmask.lwm=1 ctx.state=1 '
              'ctx.wq.lwm=2')
    one, two = pair(f, more=f'rq_type=1 srqn_rmpn_xrqn={rmp}')
    for _ in range(2):
        one.send(SEND, data(f.memory, 3000, f.key))
    f.command('QUERY_RMP', f'rmpn={rmp}')
    m.ram(ring + 64, struct.pack('>HH', 0, 0x4444))
    m.ram(ring + 4096, struct.pack('>I', 5))
    two.send(SEND, data(f.memory, 30, f.key))
    one.send(SEND, data(f.memory, 30, f.key))
    f.command('QUERY_RMP', f'rmpn={rmp}')
    f.attempt('DESTROY_RMP', f'rmpn={rmp}')
    for qp in (one, two):
        f.command('DESTROY_QP', f'qpn={qp.number}')
    f.command('DESTROY_RMP', f'rmpn={rmp}')


def xrc(m):
    """An initiator, a target, and the shared receive queue of its domain."""
    f = opened(m)
    domain, cq = f.command('ALLOC_XRCD'), f.cq()
    ring = m.alloc(8192)
    list_of(f, ring, 4)
    srq = f.command('CREATE_XRC_SRQ', ' '.join(
        'xrc_srq_context_entry.' + word for word in
        f'pd={f.pd} xrcd={domain} cqn={cq} log_xrc_srq_size=2 log_rq_stride=2 '
        f'user_index=9 db_record_addr_l={(ring + 4096) >> 2}'.split()) +
        f' pas[0]={ring}')
    m.ram(ring + 4096, struct.pack('>I', 3))
    f.command('ARM_XRC_SRQ', f'xrc_srqn={srq} lwm=2', op_mod=1)
    one = Qp(f, 3, f'rq_type=3 xrcd={domain}', cq)
    two = Qp(f, 3, f'rq_type=3 no_sq=1 xrcd={domain}', cq)
    one.connect(two)
    two.connect(one)
    to = struct.pack('>I12x', srq)
    one.send(SEND, to, data(f.memory, 3000, f.key))
    one.send(WRITE_IMM, to, raddr(f.memory + 0x8000, f.key), data(f.memory, 300, f.key))
    one.send(READ, to, raddr(f.memory, f.key), data(f.memory, 300, f.key))
    one.send(FETCH_ADD, to, raddr(f.memory, f.key), bytes(16), data(f.memory, 8, f.key))
    f.command('QUERY_XRC_SRQ', f'xrc_srqn={srq}')
    f.command('QUERY_QP', f'qpn={two.number}')
    f.attempt('DESTROY_XRC_SRQ', f'xrc_srqn={srq}')
    one.send(SEND, to, data(f.memory, 30, f.key))


def free_key(f, pages=16):
    """A region without pages, as IB_WR_REG_MR and the queue pair for UMR fill them."""
    return f.command('CREATE_MKEY', f.mkc(
        'access_mode_1_0=1 free=1 umr_en=1 log_page_size=12 '
        f'translations_octword_size={pages // 2}')) << 8


SHAPE = 'qpn=0xffffff lr=1 lw=1 rr=1 rw=1 en_rinval=1 log_page_size=12 '


def fast_register(m):
    """Fast registration with pages inline and in memory, a WRITE, invalidation."""
    f = opened(m)
    one, two = pair(f)
    key = free_key(f)
    pages = struct.pack('>8Q', *(f.memory + i * 4096 | 3 for i in range(8)))
    m.ram(f.memory + 0x1f000, pages)
    for i, kind in ((1, INLINE), (2, 0), (2, 0)):
        body = umr(SHAPE + f'mkey_7_0={i} start_addr=0x10000 len=0x4000', FAST,
                   kind | WANT_FREE, 4)
        one.send(UMR, body, pages[:64] if kind else
                 data(f.memory + 0x1f000, 64, f.key), imm=key | i)
        two.send(WRITE, raddr(0x10800, key | i), data(f.memory, 5000, f.key))
        if i == 1:
            one.send(UMR, umr('free=1', MASK_FREE), imm=key | i)
    one.receive()
    two.send(SEND_INV, inline(b'x'), imm=key | 2)


def umr_queue(m):
    """The queue pair for UMR: pages in two requests, rights, domain, revocation."""
    f = opened(m)
    qp = Qp(f, 0xc)
    qp.connect()
    key = free_key(f, 16)
    pages = struct.pack('>16Q', *(f.memory + i * 4096 | 3 for i in range(16)))
    m.ram(f.memory + 0x1f000, pages)
    for half in (0, 1):
        qp.send(UMR, umr('', 0, LIST_OFFSET | WANT_FREE, 4, half * 4),
                data(f.memory + 0x1f000 + half * 64, 64, f.key), imm=key)
    qp.send(UMR, umr(SHAPE + f'pd={f.pd} start_addr=0x20000 len=0x10000', FAST | MASK_PD,
                     WANT_FREE), imm=key)
    qp.send(UMR, umr('lr=1', MASK_ACCESS, WANT_VALID), imm=key)
    qp.send(UMR, umr(f'pd={f.command("ALLOC_PD")}', MASK_PD, WANT_VALID), imm=key)
    qp.send(UMR, umr('free=1', MASK_FREE | MASK_PD), imm=key)
    qp.send(UMR, umr('', 1 << 60), imm=key)
    f.command('QUERY_MKEY', f'mkey_index={key >> 8}')
    f.attempt('DESTROY_MKEY', f'mkey_index={key >> 8}')


def klm_key(f, more):
    """A key of mode KLM, which is free."""
    return f.command('CREATE_MKEY', f.mkc(
        f'access_mode_1_0=2 free=1 umr_en=1 translations_octword_size=8 {more}')) << 8


def windows(m):
    """Windows of both types: bind, WRITE, end; one without a region."""
    f = opened(m)
    one, two = pair(f, more='fre=0')
    pages = struct.pack('>8Q', *(f.memory + i * 4096 for i in range(8)))
    region = f.command('CREATE_MKEY', f.mkc(
        'access_mode_1_0=1 umr_en=1 lw=1 rr=1 rw=1 len=0x8000 log_page_size=12 '
        'translations_octword_size=4 start_addr=0x40000'), pages) << 8
    for kind in (1, 2):
        key = klm_key(f, f'en_rinval={kind - 1}')
        qpn = 0xffffff if kind == 1 else one.number
        shape = f'rr=1 rw=1 mkey_7_0=1 qpn={qpn} start_addr=0x40064 len=200'
        mask = MASK_FREE | MASK_ACCESS | 1 | 1 << 6 | 1 << 13 | (kind - 1) << 14
        flags = LIST_OFFSET | INLINE | (kind == 2 and WANT_FREE)
        one.send(UMR, umr(shape, mask, flags, 4), data(0x40064, 200, region), imm=key)
        two.send(WRITE, raddr(0x40070, key | 1), data(f.memory, 100, f.key))
        one.send(UMR, umr(f'free=1 qpn={qpn} mkey_7_0={(kind == 1) * 2}',
                          MASK_FREE | 1 << 13 | (kind - 1) << 14, INLINE), imm=key | 1)
    one.send(UMR, umr(shape, mask, WANT_FREE, 4), imm=key)


def gaps(m):
    """A region of pieces, with its list inline and in memory; access over a gap."""
    f = opened(m)
    one, two = pair(f)
    key = klm_key(f, '')
    pieces = [data(f.memory + at_, length, f.key) for at_, length in
              ((0, 100), (5000, 300), (9001, 401), (0x4000, 50))]
    m.ram(f.memory + 0x1f000, b''.join(pieces))
    for i, tail in enumerate((pieces, [data(f.memory + 0x1f000, 64, f.key)],
                              pieces[:1] + [data(1 << 50, 9, 5)] * 3)):
        one.send(UMR, umr(SHAPE + 'access_mode_1_0=2 start_addr=0x10000 len=801', FAST,
                          WANT_FREE | (i != 1 and INLINE), 4), *tail, imm=key)
        two.send(WRITE, raddr(0x10060, key), data(f.memory + 0x8000, 600, f.key))
        one.send(UMR, umr('free=1', MASK_FREE), imm=key)


def wrong_lists(m):
    """UMR requests whose pages are not there, or not in the region."""
    f = opened(m)
    key, pages = free_key(f), bytes(64)
    refused(f, [(UMR, body + tail, None, key) for body, tail in (
        (umr('', 0, INLINE, 40), pages), (umr('', 0, 0, 4), data(0, 16, f.key)),
        (umr('', 0, 0, 4), data(f.memory, 64, 5)),
        (umr(SHAPE + 'start_addr=0x10800 len=0x20000', FAST, INLINE, 4), pages),
        (umr('', 0, LIST_OFFSET | INLINE, 4, 1 << 24), pages))])


def wrong_masks(m):
    """UMR requests with wrong properties, and of a queue pair of a user."""
    f = opened(m)
    key = free_key(f)
    refused(f, [(UMR, body, None, key) for body in (
        umr('', 1 << 20), umr('', 1), umr('log_page_size=60', 2),
        umr('', 0, WANT_VALID))])
    qp = Qp(f, more='fre=0')
    qp.connect()
    qp.send(UMR, umr('', 0), imm=key)


def transitions(m):
    """All transitions, their attributes, queries, and queues with requests in them."""
    f = opened(m)
    counter = f.command('ALLOC_Q_COUNTER')
    one, two = pair(f)
    rights = '/vhca_port_num=1 rwe=1'
    one.change('RTS2RTS_QP', f'counter_set_id={counter} min_rnr_nak=5 ' + rights,
               1 << 25 | 1 << 6 | 1 << 1 | 1 << 2 | 1 << 3)
    for text, options in (('', 1 << 31), ('counter_set_id=77', 1 << 25),
                          ('drain_sigerr=1', 0)):
        f.attempt('RTS2RTS_QP', f'qpn={one.number} opt_param_mask={options} ' +
                  ' '.join('qpc.' + word for word in text.split()))
    one.send(SEND, data(f.memory, 3000, f.key), wait=False)
    two.receive(100)
    f.wait(2000000)
    f.command('QUERY_Q_COUNTER', f'counter_set_id={counter} clear=1')
    one.change('2ERR_QP')
    one.receive()
    one.send(SEND, inline(b'flushed'))
    f.command('QUERY_QP', f'qpn={one.number}')
    one.change('2RST_QP')
    one.change('RST2INIT_QP', rights)
    one.change('INIT2INIT_QP', rights)
    for name in ('SQERR2RTS_QP', 'SQD_RTS_QP', 'RTR2RTS_QP'):
        f.attempt(name, f'qpn={one.number}')
    f.attempt('DEALLOC_Q_COUNTER', f'counter_set_id={counter}')
    for text in ('qpc.st=6', 'qpc.cqn_snd=99', 'qpc.pd=99', 'qpc.uar_page=99',
                 'qpc.rq_type=2', 'input_qpn=5', 'qpc.log_rq_stride=7',
                 'qpc.dbr_addr=4', 'qpc.log_sq_size=15'):
        f.attempt('CREATE_QP', f'qpc.pd={f.pd} qpc.cqn_snd={one.cq} '
                  f'qpc.cqn_rcv={one.cq} qpc.uar_page={f.uar} {text} '
                  f'pas[0]={one.ring}')
    for name in ('DESTROY_QP', 'QUERY_QP', 'RST2INIT_QP'):
        f.attempt(name, 'qpn=77')
    f.attempt('DESTROY_CQ', f'cqn={one.cq}')
    f.command('DESTROY_QP', f'qpn={one.number}')
    f.command('DESTROY_CQ', f'cqn={one.cq}')


def completions(m):
    """Moderation, another ring, an overrun, notifications of each kind."""
    f = opened(m)
    qp = Qp(f, cq=f.cq(2))
    qp.connect()
    record = f.cq_record
    f.command('MODIFY_CQ', f'cqn={qp.cq} modify_field_select_resize_field_select=3 '
              'cq_context.cq_period=3 cq_context.cq_max_count=2')
    f.ring(CQ_ARM, qp.cq, 8)
    qp.send(NOP)
    m.ram(record, struct.pack('>II', 1, 1))
    f.ring(CQ_ARM, 1 << 32 | qp.cq, 8)
    qp.send(NOP)
    for select in (8, 7):
        f.attempt('MODIFY_CQ', f'cqn={qp.cq} cq_context.log_cq_size=3 '
                  f'modify_field_select_resize_field_select={select} '
                  f'pas[0]={m.alloc(4096)}', op_mod=1)
    f.command('QUERY_CQ', f'cqn={qp.cq}')
    for _ in range(9):
        qp.send(NOP, wait=False)
    f.wait()
    f.command('QUERY_CQ', f'cqn={qp.cq}')
    for text in ('log_cq_size=31', 'oi=1', 'uar_page=99', 'c_eqn_or_apu_element=99',
                 'dbr_addr=3', 'log_page_size=31'):
        f.attempt('CREATE_CQ', f'cq_context.uar_page={f.uar} cq_context.' + text,
                  bytes(8))


def two_functions(m):
    """A connection between two functions, one of which is migrated, reset and stopped."""
    f, g = opened(m), opened(m, 1)
    one, two = pair(f, other=g)
    two.receive()
    one.send(SEND, data(f.memory, 4000, f.key))
    one.send(SEND, data(f.memory, 4000, f.key), wait=False)
    m.script.migrate(1)
    two.receive()
    f.wait(1000000)
    one.send(READ, raddr(g.memory, g.key), data(f.memory, 4000, f.key), wait=False)
    m.script.stop(1000)
    f.wait(1000000)
    m.script.reset(1)
    one.send(WRITE, raddr(g.memory, g.key), data(f.memory, 100, f.key))
    for _ in range(8):
        m.step(20000000)


# ---- life -----------------------------------------------------------------------------

def life(m):
    """Work to do when the function is migrated, loses its link, stops and is reset."""
    f = opened(m)
    one, two = pair(f)
    sq, rq, _ = ethernet(f)
    one.send(SEND, data(f.memory, 3000, f.key))
    sq.send(LSO, headers(f, f, 6, 0), data(f.memory, 5000, f.key), sums=0xc0, mss=100)
    script = m.script
    script.migrate(0)
    script.link(0, 1)
    f.wait(1000000)
    script.link(0, 0)
    rq.post(data(f.memory + 0x10000, 2048, f.key))
    sq.send(SEND, headers(f, f), inline(bytes(20)))
    two.receive()
    f.post('QUERY_ISSI')
    script.stop(1000)
    f.wait(1000000)
    script.statistics(0)
    for offset, byte in ((300, 1), (-9, 0xff), (900, 0x80), (2000, 1)):
        script.migrate(0, [(offset, byte)])
    f.store(mlx5.QUEUE_LOW, 1 << 8)
    f.wait()
    script.reset(0)
    f.store(mlx5.QUEUE_LOW, f.page)
    f.command('ENABLE_HCA')


SEEDS = (probe, port, domains, all_zeros, all_ones, number_one, messages, events,
         requests, wrong_requests, wrong_memory, datagrams, shared, xrc, fast_register,
         umr_queue, windows, gaps, wrong_lists, wrong_masks, transitions, completions,
         two_functions, life, *mlx5_frames.SEEDS)
