#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Hold the wire codec against scapy and tshark. Prints TAP.

usage: oracle-scapy.py CODEC-TOOL [SEED]

For each opcode, on IPv4 and IPv6, with and without VLAN, with pad 0 to 3:
what the codec emits is what scapy builds, and is decoded by tshark; what scapy builds is
decoded by the codec. scapy knows no extension header but AETH, so these are laid
out below a second time; tshark decodes them by itself.
"""
import ipaddress
import logging
import os
import random
import struct
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from zlib import crc32

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'common'))
import checks  # noqa: E402

logging.getLogger('scapy').setLevel(logging.ERROR)
from scapy.all import (Dot1Q, Ether, IP, IPv6, Raw, UDP,  # noqa: E402
                       raw, wrpcap)
from scapy.contrib import roce  # noqa: E402
from scapy.contrib.roce import BTH, CNPPadding  # noqa: E402

# scapy 2.5.0 stops at 0x14; IBTA vol. 1, 9.2.1 goes on.
OPS = dict(roce._ops, SEND_LAST_WITH_INVALIDATE=0x16, SEND_ONLY_WITH_INVALIDATE=0x17,
           FLUSH=0x1c, ATOMIC_WRITE=0x1d)
PLACEMENT = ('FLUSH', 'ATOMIC_WRITE')        # of annex A19: on RC
BASES = {'RC': 0x00, 'UC': 0x20, 'UD': 0x60, 'XRC': 0xa0}
RD = 0x40                   # not implemented
NO_VLAN = 0xffff

# name: format, fields of the codec; aeth is syndrome and msn in one.
HEADERS = {
    'xrceth': ('>I', 'xrcsrq'),
    'deth': ('>II', 'qkey', 'sqp'),
    'feth': ('>I', 'feth'),
    'reth': ('>QII', 'va', 'rkey', 'dmalen'),
    'atomiceth': ('>QIQQ', 'va', 'rkey', 'swap', 'compare'),
    'aeth': ('>I', 'aeth'),
    'atomicack': ('>Q', 'orig'),
    'imm': ('>I', 'imm'),
    'ieth': ('>I', 'inv'),
}
WIDTH = {'xrcsrq': 24, 'feth': 32, 'qkey': 32, 'sqp': 24, 'va': 64, 'rkey': 32,
         'dmalen': 32, 'swap': 64, 'compare': 64, 'orig': 64, 'syndrome': 8, 'msn': 24,
         'imm': 32, 'inv': 32}
TSHARK = {'feth': None, 'xrcsrq': None, 'qkey': 'deth.q_key', 'sqp': 'deth.srcqp',
          'va': 'reth.va', 'rkey': 'reth.r_key', 'dmalen': 'reth.dmalen',
          'swap': 'atomiceth.swapdt', 'compare': 'atomiceth.cmpdt',
          'orig': 'atomicacketh.origremdt', 'syndrome': 'aeth.syndrome',
          'msn': 'aeth.msn', 'imm': 'immdt', 'inv': 'ieth',
          'opcode': 'bth.opcode', 'se': 'bth.se', 'migreq': 'bth.m',
          'pad': 'bth.padcnt', 'pkey': 'bth.p_key', 'dqp': 'bth.destqp',
          'ackreq': 'bth.a', 'psn': 'bth.psn', 'icrc': 'invariant.crc'}
BTH_FIELDS = ('opcode', 'se', 'migreq', 'pad', 'pkey', 'dqp', 'ackreq', 'psn')


def headers_of(transport, name):
    """Which headers follow BTH, as the specification's table of opcodes says."""
    found = []
    response = 'RESPONSE' in name or 'ACKNOWLEDGE' in name
    if transport == 'XRC' and not response:
        found.append('xrceth')
    if transport == 'UD':
        found.append('deth')
    if name == 'FLUSH':
        found.append('feth')
    if (name in ('RDMA_READ_REQUEST', 'RDMA_WRITE_FIRST', *PLACEMENT) or
            'WRITE_ONLY' in name):
        found.append('reth')
    if name in ('COMPARE_SWAP', 'FETCH_ADD'):
        found.append('atomiceth')
    if response and 'MIDDLE' not in name:
        found.append('aeth')
    if name == 'ATOMIC_ACKNOWLEDGE':
        found.append('atomicack')
    if 'IMMEDIATE' in name:
        found.append('imm')
    if 'INVALIDATE' in name:
        found.append('ieth')
    return found


def on_transport(transport, name):
    if name in PLACEMENT:
        return transport == 'RC'
    if transport == 'UD':
        return name in ('SEND_ONLY', 'SEND_ONLY_WITH_IMMEDIATE')
    if transport == 'UC':
        return ('SEND' in name or 'WRITE' in name) and 'INVALIDATE' not in name
    return True


class Opcode:
    def __init__(self, transport, name):
        self.name = f'{transport}_{name}'
        self.value = BASES[transport] + OPS[name]
        self.headers = headers_of(transport, name)
        self.data = 'SEND' in name or 'WRITE' in name or 'RESPONSE' in name
        self.cnp = False
        # Of XRC and annex A19 the tshark of Debian 12 reads BTH only.
        self.bth_only = transport == 'XRC' or name in PLACEMENT

    def fields(self):
        names = [n for h in self.headers for n in HEADERS[h][1:]]
        if 'aeth' in names:
            names[names.index('aeth')] = 'syndrome'
            names.append('msn')
        return names


class Cnp(Opcode):
    def __init__(self):
        self.name, self.value, self.headers = 'CNP', roce.CNP_OPCODE, []
        self.data, self.cnp, self.bth_only = False, True, False


OPCODES = [Opcode(t, n) for t in BASES for n in OPS if on_transport(t, n)] + [Cnp()]


class Tool:
    """The codec, one line in and one line out."""

    def __init__(self, path):
        self.proc = subprocess.Popen([path], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True, bufsize=1)

    def ask(self, line):
        self.proc.stdin.write(line + '\n')
        return self.proc.stdout.readline().strip()

    def emit(self, values):
        words = (f'{k}={v.hex() if isinstance(v, bytes) else v}'
                 for k, v in values.items() if k != 'pad')
        answer = self.ask('emit ' + ' '.join(words))
        if not answer.startswith('ok '):
            raise ValueError(answer)
        return bytes.fromhex(answer[3:])

    def parse(self, frame):
        words = self.ask('parse ' + frame.hex()).split()
        if words[0] != 'ok':
            return {'drop': ' '.join(words)}
        return dict(w.split('=', 1) for w in words[1:])


def gid(address):
    a = ipaddress.ip_address(address)
    return bytes(10) + b'\xff\xff' + a.packed if a.version == 4 else a.packed


def case_values(rnd, op, v6, vlan, pad):
    """The values of one packet, every field random."""
    hosts = ('2001:db8::1:2', '2001:db8::3:4') if v6 else ('10.1.2.3', '10.4.5.6')
    values = {
        'sgid': gid(hosts[0]), 'dgid': gid(hosts[1]),
        'smac': bytes.fromhex('02000000000a'), 'dmac': bytes.fromhex('02000000000b'),
        'vlan': rnd.choice((0, 0x6064, 0xeffe)) if vlan else NO_VLAN,
        'sport': rnd.randrange(0xc000, 0x10000), 'hops': rnd.randrange(8, 256),
        'tclass': rnd.randrange(256), 'flow': rnd.randrange(1 << 20) if v6 else 0,
        'opcode': op.value, 'se': rnd.randrange(2), 'migreq': rnd.randrange(2),
        'pkey': rnd.randrange(1 << 16), 'fecn': rnd.randrange(2),
        'becn': rnd.randrange(2), 'dqp': rnd.randrange(2, 1 << 24),
        'ackreq': rnd.randrange(2), 'psn': rnd.randrange(1 << 24), 'pad': 0,
    }
    for name in op.fields():
        values[name] = rnd.randrange(1 << WIDTH[name])
    if op.data:
        size = rnd.choice((0, 64, 1020)) + 4 - pad
        # Starts with 0, lest tshark take it for Ethernet or IP over InfiniBand.
        values['payload'] = bytes(i > 3 and rnd.randrange(256) for i in range(size))
        values['pad'] = pad
    return values


def cases(rnd, op):
    for v6 in (False, True):
        for vlan in (False, True):
            for pad in range(4) if op.data else (0,):
                yield case_values(rnd, op, v6, vlan, pad)


def extension(op, values):
    """The bytes between BTH and payload."""
    values = dict(values, aeth=values.get('syndrome', 0) << 24 | values.get('msn', 0))
    return b''.join(struct.pack(HEADERS[h][0], *(values[n] for n in HEADERS[h][1:]))
                    for h in op.headers)


def body(op, values):
    """All that follows BTH but the ICRC."""
    if op.cnp:
        return bytes(16)
    return extension(op, values) + values.get('payload', b'') + bytes(values['pad'])


def icrc_v6(frame):
    """scapy 2.5.0 has the ICRC of IPv4 only: the same masking for IPv6."""
    ip = frame[IPv6].copy()
    ip.tc, ip.fl, ip.hlim = 0xff, 0xfffff, 0xff
    ip[UDP].chksum = 0xffff
    ip[BTH].fecn, ip[BTH].becn, ip[BTH].resv6 = 1, 1, 0x3f
    ip[BTH].icrc = 0
    return crc32(b'\xff' * 8 + raw(ip)[:-4])


def with_scapy(op, values, icrc=None):
    """The same packet, built by scapy. Its ICRC is scapy's own on IPv4."""
    host = [ipaddress.ip_address(values[k]) for k in ('sgid', 'dgid')]
    v6 = host[0].ipv4_mapped is None
    frame = Ether(src=values['smac'].hex(':'), dst=values['dmac'].hex(':'))
    if values['vlan'] != NO_VLAN:
        tci = values['vlan']
        frame /= Dot1Q(prio=tci >> 13, id=tci >> 12 & 1, vlan=tci & 0xfff)
    if v6:
        frame /= IPv6(src=str(host[0]), dst=str(host[1]), tc=values['tclass'],
                      fl=values['flow'], hlim=values['hops'])
    else:
        frame /= IP(src=str(host[0].ipv4_mapped), dst=str(host[1].ipv4_mapped),
                    tos=values['tclass'], ttl=values['hops'], id=0, flags='DF')
    payload = body(op, values)
    size = 8 + 12 + len(payload) + 4
    frame /= UDP(sport=values['sport'], dport=4791, chksum=0, len=size)
    frame /= BTH(opcode=values['opcode'], solicited=values['se'],
                 migreq=values['migreq'], padcount=values['pad'],
                 pkey=values['pkey'], fecn=values['fecn'], becn=values['becn'],
                 dqpn=values['dqp'], ackreq=values['ackreq'], psn=values['psn'],
                 icrc=icrc)
    if payload:
        frame /= CNPPadding() if op.cnp else Raw(payload)
    if v6:
        frame[IPv6].plen = size
        if icrc is None:
            frame[BTH].icrc = int.from_bytes(
                icrc_v6(frame).to_bytes(4, 'little'), 'big')
    else:
        frame[IP].len = 20 + size
    return raw(frame)


def tool_sees(values, parsed):
    if 'drop' in parsed:
        return [parsed['drop']]
    wrong = []
    for name, got in parsed.items():
        want = values.get(name, b'' if name == 'payload' else 0)
        want = want.hex() if isinstance(want, bytes) else str(want)
        if got != want:
            wrong.append(f'{name} {got} not {want}')
    return wrong + [n for n in values if n not in parsed]


def tshark_reads(pcap):
    """A dict of fields per frame."""
    names = sorted(set(n for n in TSHARK.values() if n))
    command = ['tshark', '-r', pcap, '-n', '-T', 'fields', '-E', 'separator=/t',
               '-E', 'occurrence=f',
               # Guesses at the payload, and RFC 6936, which allows checksum 0.
               '--disable-protocol', 'rpcordma',
               '-o', 'udp.ignore_ipv6_zero_checksum:TRUE',
               '-o', 'ip.check_checksum:TRUE',
               '-e', '_ws.malformed', '-e', '_ws.expert.message',
               '-e', 'frame.protocols']
    for name in names:
        command += ['-e', 'infiniband.' + name]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        malformed, expert, protocols, *values = line.split('\t')
        seen = dict(zip(names, values))
        seen['bad'] = malformed or expert
        seen['protocols'] = protocols
        yield seen


def number(text):
    text = text.replace(':', '')
    if text in ('True', 'False'):
        return int(text == 'True')
    return int(text, 0)


def tshark_sees(op, values, frame, seen):
    want = {n: values[n] for n in BTH_FIELDS}
    if not op.bth_only:
        want.update((n, values[n]) for n in op.fields())
        if not op.cnp:
            want['icrc'] = int.from_bytes(frame[-4:], 'big')
    wrong = ['not infiniband'] if 'infiniband' not in seen['protocols'] else []
    for name, value in want.items():
        text = seen[TSHARK[name]]
        if name in ('imm', 'inv'):
            text = '0x' + text.replace(':', '')
        if not text or number(text) != value:
            wrong.append(f'{name} {text} not {value:#x}')
    if not op.bth_only:
        wrong += [f'{n} not sent' for n, field in TSHARK.items()
                  if field and n not in want and seen[field]]
    return wrong + ([seen['bad']] if seen['bad'] else [])


class Results(list):
    """Names, and functions that raise what is wrong."""

    def add(self, name, wrong):
        self.append((name, partial(self.check, wrong[:5])))

    @staticmethod
    def check(wrong):
        assert not wrong, '\n'.join(wrong)


def check_table(results, tool):
    """Both sides must know the same opcodes."""
    ours = {int(w) for w in tool.ask('opcodes').split()[1:]}
    theirs = {op.value for op in OPCODES}
    results.add('same opcodes', [f'{v:#x}' for v in sorted(ours ^ theirs)])
    known = {v for v in roce._bth_opcodes if v & 0xe0 != RD}
    results.add('every opcode of scapy but RD',
             [f'{v:#x}' for v in sorted(known - ours)])


def main():
    tool, results = Tool(sys.argv[1]), Results()
    seed = int(sys.argv[2], 0) if len(sys.argv) > 2 else 4791
    rnd = random.Random(seed)
    print(f'# seed {seed}')
    check_table(results, tool)

    sent = []
    for op in OPCODES:
        wrong_emit, wrong_parse, wrong_icrc = [], [], []
        for values in cases(rnd, op):
            frame = tool.emit(values)
            sent.append((op, values, frame))
            built = with_scapy(op, values)
            if frame != built:
                wrong_emit.append(f'{frame.hex()} not {built.hex()}')
            wrong_parse += tool_sees(values, tool.parse(built))
            bad = with_scapy(op, values, icrc=rnd.randrange(1 << 32))
            if tool.parse(bad) != {'drop': 'drop bad_icrc'}:
                wrong_icrc.append(bad.hex())
        results.add(f'scapy builds {op.name} alike', wrong_emit)
        results.add(f'codec reads scapy\'s {op.name}', wrong_parse)
        results.add(f'codec refuses a wrong ICRC of {op.name}', wrong_icrc)

    with tempfile.TemporaryDirectory() as directory:
        pcap = os.path.join(directory, 'sent.pcap')
        wrpcap(pcap, [Ether(frame) for _, _, frame in sent])
        seen = list(tshark_reads(pcap))
    results.add('tshark sees every frame',
             [] if len(seen) == len(sent) else [f'{len(seen)} of {len(sent)}'])
    wrong = {op.name: [] for op in OPCODES}
    for (op, values, frame), fields in zip(sent, seen):
        wrong[op.name] += tshark_sees(op, values, frame, fields)
    for name, lines in wrong.items():
        results.add(f'tshark reads {name}', lines)
    return checks.run(results)


if __name__ == '__main__':
    sys.exit(main())
