# SPDX-License-Identifier: GPL-2.0-or-later
"""Inputs of the target "ernic" for frames and flow tables of the mlx5 interface."""
import struct

from mlx5 import LSO, SEND, EthQueue, Function, at, data, inline, opened

OUTER = 'match_criteria.outer_headers.'
VALUE = 'match_value.outer_headers.'


def ethernet(f, self_lb=3):
    """Queues, a TIS, and a root table whose only entry leads to a TIR."""
    f.td = f.command('ALLOC_TRANSPORT_DOMAIN')
    tis = f.command('CREATE_TIS', f'ctx.transport_domain={f.td}')
    sq = EthQueue(f, 'sq', f'tis_lst_sz=1 tis_num_0={tis} flush_in_error_en=1', log=5)
    rq = EthQueue(f, 'rq')
    tir = f.command('CREATE_TIR', f'ctx.inline_rqn={rq.number} '
                    f'ctx.transport_domain={f.td} ctx.self_lb_block={self_lb}')
    f.table = f.command('CREATE_FLOW_TABLE', 'flow_table_context.level=9 '
                        'flow_table_context.log_size=3')
    f.group = f.command('CREATE_FLOW_GROUP', f'table_id={f.table} end_flow_index=3')
    entry(f, 0, tir)
    f.command('SET_FLOW_TABLE_ROOT', f'table_id={f.table}')
    return sq, rq, tir


def entry(f, index, to, kind=2, text='', op_mod=0, group=None, table=None):
    words = f'group_id={group or f.group} action=4 destination_list_size=1 {text}'.split()
    return f.attempt('SET_FLOW_TABLE_ENTRY', f'table_id={table or f.table} '
                     f'flow_index={index} ' +
                     ' '.join('flow_context.' + word for word in words),
                     struct.pack('>II', kind << 24 | to, 0) + bytes(8), op_mod)


def headers(g, h, proto=17, payload=20, version=4, tag=b'', flags=0x18):
    """A frame from h to g up to its payload; checksums are 0."""
    l4 = (struct.pack('>HHHH', 1000, 7, 8 + payload, 0) if proto == 17 else
          struct.pack('>HHIIBBHHH', 1000, 7, 1, 1, 0x50, flags, 100, 0, 0))
    if version == 4:
        ip = b'\x08\0' + struct.pack('>BBHHHBBH', 0x45, 0, 20 + len(l4) + payload, 1, 0,
                                     64, proto, 0) + h.gid[12:] + g.gid[12:]
    else:
        ip = b'\x86\xdd' + struct.pack('>IHBB', 6 << 28, len(l4) + payload, proto,
                                       9) + h.gid + g.gid
    return g.mac + h.mac + tag + ip + l4


def frames_out(m):
    """Frames of every kind of request, which come back, and large packets."""
    f = opened(m)
    sq, rq, _ = ethernet(f)
    for _ in range(6):
        rq.post(data(f.memory + 0x10000, 2048, f.key))
    head = headers(f, f)
    sq.send(0)
    sq.send(SEND, head, inline(bytes(20)), sums=0xc0)
    sq.send(SEND, head[:18], data(f.memory, 1000, f.key), sums=0x40)
    sq.send(SEND, b'', inline(head + bytes(20)), tag=(0x8000, 5))
    sq.send(SEND, headers(f, f, 6, 100, 6, b'\x81\0\0\5')[:60],
            data(f.memory, 200, f.key), sums=0xc0)
    for flags in (0x19, 0x82):
        sq.send(LSO, headers(f, f, 6, 0, flags=flags), data(f.memory, 5000, f.key),
                sums=0xc0, mss=1000)
    sq.send(LSO, headers(f, f, 17, 0, 6), data(f.memory, 3000, f.key), mss=1200)
    f.command('QUERY_SQ', f'sqn={sq.number}')


def stopped(f, requests_):
    """Each stops the send queue, which is reset."""
    sq, rq, _ = ethernet(f)
    for opcode, arguments, pieces in requests_:
        sq.send(opcode, headers(f, f), *pieces, **arguments)
        sq.state(3, 0)
        sq.posted = 0
        sq.state(0, 1)
    return sq, rq


def frames_wrong(m):
    """Requests of a send queue without sense."""
    f = opened(m)
    stopped(f, ((SEND, {'size': 0x4000}, ()), (SEND, {'size': 500}, ()),
                (SEND, {'ds': 1}, ()), (SEND, {'ds': 0}, ()), (0x33, {}, ()),
                (LSO, {'mss': 0}, ()), (LSO, {'mss': 9000}, ())))


def frames_memory(m):
    """Frames in memory that does not exist, and the states of both queues."""
    f = opened(m)
    sq, rq = stopped(f, [(SEND, {}, (piece,)) for piece in (
        data(f.memory, 100, 5), data(1 << 50, 100, f.key), data(f.memory, 0, f.key),
        data(f.memory, 20000, f.key))])
    sq.state(1, 3)
    sq.state(1, 2)
    rq.state(1, 3)
    rq.post(data(f.memory, 100, f.key))
    f.command('QUERY_RQ', f'rqn={rq.number}')
    f.attempt('DESTROY_RQ', f'rqn={rq.number}')
    f.attempt('DESTROY_SQ', f'sqn={sq.number}')


def rss(f, queues):
    """A TIR that selects one of the queues by a hash of addresses and ports."""
    table = f.command('CREATE_RQT', 'rqt_context.rqt_max_size=4 '
                      f'rqt_context.rqt_actual_size={len(queues)}',
                      struct.pack(f'>{len(queues)}I', *(rq.number for rq in queues)))
    key = at('ctx.rx_hash_toeplitz_key', bytes(range(40)), 32)
    return table, f.command(
        'CREATE_TIR', f'ctx.disp_type=1 ctx.indirect_table={table} ctx.rx_hash_fn=2 '
        f'ctx.transport_domain={f.td} '
        'ctx.rx_hash_field_selector_outer.selected_fields=15 ' + key)


def frames_of(f, g):
    """Frames from g to f: UDP, TCP, IPv6, tags, none of these, and parts of them."""
    return [headers(f, g) + bytes(20), headers(f, g, 6, 20) + bytes(20),
            headers(f, g, 6, 0, 6, flags=0x10) + bytes(3),
            headers(f, g, 17, 20, 6) + bytes(20),
            headers(f, g, tag=b'\x81\0\x20\5') + bytes(20),
            headers(f, g, tag=b'\x88\xa8\0\5\x81\0\0\6') + bytes(20),
            f.mac + g.mac + b'\x88\xb5' + bytes(20), headers(f, g, 1)[:50],
            b'\xff' * 6 + headers(f, g)[6:], headers(f, g)[:30]]


def receive(m):
    """Frames of each kind to one queue, and of one kind to no queue that can have it."""
    f = opened(m)
    g = Function(m, 1, start=False)
    _, rq, _ = ethernet(f, 0)
    frames = frames_of(f, g)
    for frame in frames:
        rq.post(data(f.memory + 0x10000, 2048, f.key))
        m.script.frame(0, frame)
    m.script.frame(0, frames[0])
    rq.post(data(f.memory, 20, f.key))
    m.script.frame(0, frames[0])
    rq.posted -= 1
    rq.post(data(1 << 50, 2000, f.key))
    m.script.frame(0, frames[0])
    m.script.frame(0, frames[0])
    f.command('SET_FLOW_TABLE_ROOT', op_mod=1)
    m.script.frame(0, frames[0])


def hashes(m):
    """Frames to queues that a hash selects, of either function and of all fields."""
    f = opened(m)
    g = Function(m, 1, start=False)
    _, rq, _ = ethernet(f, 0)
    other = EthQueue(f, 'rq', 'vsd=1', 4)
    table, hashed = rss(f, [rq, other])
    f.command('SET_FLOW_TABLE_ENTRY', f'table_id={f.table} modify_enable_mask=4 '
              f'flow_context.group_id={f.group} flow_context.action=4 '
              'flow_context.destination_list_size=1',
              struct.pack('>II8x', 2 << 24 | hashed, 0), 1)
    for _ in range(4):
        rq.post(data(f.memory + 0x10000, 2048, f.key))
        other.post(data(f.memory + 0x10000, 2048, f.key))
    for frame in frames_of(f, g)[:5]:
        m.script.frame(0, frame)
    f.command('MODIFY_TIR', f'tirn={hashed} bitmask.hash=1 ctx.rx_hash_fn=1 '
              'ctx.rx_hash_field_selector_outer.l3_prot_type=1 '
              'ctx.rx_hash_field_selector_outer.selected_fields=3')
    f.command('MODIFY_RQT', f'rqtn={table} bitmask.rqn_list=1 ctx.rqt_actual_size=1',
              struct.pack('>I', rq.number))
    for frame in frames_of(f, g)[2:4]:
        m.script.frame(0, frame)


def two_tables(f):
    """An upper table, which is the root, over that of ethernet(), and a lower one."""
    _, rq, tir = ethernet(f, 0)
    rq.post(data(f.memory + 0x10000, 2048, f.key))
    lower = f.command('CREATE_FLOW_TABLE', 'flow_table_context.level=10 '
                      'flow_table_context.log_size=2')
    upper = f.command('CREATE_FLOW_TABLE', 'flow_table_context.level=8 '
                      'flow_table_context.log_size=2 '
                      'flow_table_context.table_miss_action=1 '
                      f'flow_table_context.table_miss_id={lower}')
    f.command('SET_FLOW_TABLE_ROOT', f'table_id={upper}')
    return upper, lower, tir


def flow_match(m):
    """Masks and values; a frame without an entry goes to the lower table."""
    f = opened(m)
    g = Function(m, 1, start=False)
    upper, lower, _ = two_tables(f)
    rows = (('udp_dport=0xffff', 'udp_dport=7'), ('ip_protocol=0xff', 'ip_protocol=6'),
            ('dmac_47_16=0xffffffff', 'dmac_47_16=0x52540000'),
            ('cvlan_tag=1', 'cvlan_tag=1'))
    for i, (mask, value) in enumerate(rows):
        group = f.command('CREATE_FLOW_GROUP', f'table_id={upper} start_flow_index={i} '
                          f'end_flow_index={i} match_criteria_enable=1 {OUTER}{mask}')
        entry(f, i, f.table, 1, VALUE + value, group=group, table=upper)
    group = f.command('CREATE_FLOW_GROUP', f'table_id={lower} end_flow_index=3')
    entry(f, 0, 0, text='action=2', group=group, table=lower)
    for frame in frames_of(f, g)[:7]:
        m.script.frame(0, frame)


def flow_tables(m):
    """An entry that counts and has two destinations; everything's end."""
    f = opened(m)
    g = Function(m, 1, start=False)
    upper, lower, tir = two_tables(f)
    counter = f.command('ALLOC_FLOW_COUNTER')
    group = f.command('CREATE_FLOW_GROUP', f'table_id={upper} end_flow_index=2')
    f.command('SET_FLOW_TABLE_ENTRY', f'table_id={upper} flow_context.group_id={group} '
              'flow_context.action=12 flow_context.destination_list_size=2 '
              'flow_context.flow_counter_list_size=1',
              struct.pack('>6I', 1 << 24 | f.table, 0, 2 << 24 | tir, 0, counter, 0))
    m.script.frame(0, headers(f, g) + bytes(20))
    f.command('QUERY_FLOW_COUNTER', f'flow_counter_id={counter} clear=1', out=32)
    f.attempt('QUERY_FLOW_COUNTER', 'num_of_counters=4', out=16 + 64)
    f.command('MODIFY_FLOW_TABLE', f'table_id={upper} modify_field_select=1')
    for mask in ('tcp_flags=1', 'frag=1'):
        f.attempt('CREATE_FLOW_GROUP', f'table_id={lower} match_criteria_enable=1 ' +
                  OUTER + mask)
    for action in (1, 6, 12):
        entry(f, 1, tir, text=f'action={action}', group=group, table=upper)
    f.attempt('DESTROY_FLOW_TABLE', f'table_id={f.table}')
    f.attempt('DESTROY_FLOW_GROUP', f'table_id={upper} group_id={group}')
    f.command('DELETE_FLOW_TABLE_ENTRY', f'table_id={upper}')
    f.command('DESTROY_FLOW_GROUP', f'table_id={upper} group_id={group}')
    f.command('DEALLOC_FLOW_COUNTER', f'flow_counter_id={counter}')
    for table in (upper, lower, f.table):
        f.attempt('DESTROY_FLOW_TABLE', f'table_id={table}')


def ethernet_objects(m):
    """Each Ethernet object: wrong messages, changes, and its end while it is in use."""
    f = opened(m)
    sq, rq, tir = ethernet(f)
    for name, text in (('CREATE_TIR', 'ctx.disp_type=3'), ('CREATE_TIR', ''),
                       ('CREATE_TIR', 'ctx.disp_type=1 ctx.indirect_table=9'),
                       ('CREATE_TIR', f'ctx.inline_rqn={rq.number} ctx.tls_en=1'),
                       ('CREATE_TIS', 'ctx.transport_domain=99'),
                       ('CREATE_RQT', 'rqt_context.rqt_max_size=3'),
                       ('CREATE_RQT', 'rqt_context.rqt_max_size=4 '
                        'rqt_context.rqt_actual_size=9'),
                       ('CREATE_SQ', 'ctx.cqn=99'), ('CREATE_RQ', 'ctx.cqn=99'),
                       ('CREATE_SQ', f'ctx.cqn={sq.cq} ctx.wq.wq_type=2'),
                       ('CREATE_RQ', f'ctx.cqn={rq.cq} ctx.wq.wq_type=1 '
                        'ctx.wq.log_wq_stride=12'),
                       ('MODIFY_TIS', 'tisn=1 bitmask.prio=1 ctx.prio=5'),
                       ('MODIFY_TIR', f'tirn={tir} bitmask.self_lb_en=1'),
                       ('MODIFY_TIR', f'tirn={tir} bitmask.packet_merge=1'),
                       ('MODIFY_RQ', f'rqn={rq.number} rq_state=1 ctx.state=1 '
                        'modify_bitmask=2 ctx.vsd=1'),
                       ('MODIFY_RQ', f'rqn={rq.number} rq_state=1 ctx.state=1 '
                        'modify_bitmask=8 ctx.counter_set_id=1'),
                       ('MODIFY_SQ', f'sqn={sq.number} sq_state=0 ctx.state=1'),
                       ('DESTROY_TIS', 'tisn=1'), ('DESTROY_TIR', f'tirn={tir}'),
                       ('DESTROY_RQ', f'rqn={rq.number}'), ('DESTROY_RQT', 'rqtn=1'),
                       ('QUERY_RQ', 'rqn=5'), ('QUERY_SQ', 'sqn=5')):
        f.attempt(name, text)
    f.command('DELETE_FLOW_TABLE_ENTRY', f'table_id={f.table}')
    for name, text in (('DESTROY_TIR', f'tirn={tir}'), ('DESTROY_SQ', f'sqn={sq.number}'),
                       ('DESTROY_RQ', f'rqn={rq.number}'), ('DESTROY_TIS', 'tisn=1'),
                       ('DEALLOC_TRANSPORT_DOMAIN', f'transport_domain={f.td}'),
                       ('QUERY_VNIC_ENV', '')):
        f.attempt(name, text)


SEEDS = (frames_out, frames_wrong, frames_memory, receive, hashes, flow_match,
         flow_tables, ethernet_objects)
