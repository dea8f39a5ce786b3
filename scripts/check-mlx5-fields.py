#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare the field tables of the mlx5 interface with Linux's public headers.

usage: test-mlx5-fields --print | check-mlx5-fields.py HEADERS

HEADERS is a directory include/linux/mlx5 of Linux, for example of Debian's package
linux-headers-6.12.*-common. Fields that the headers do not have must be reserved there:
then they are newer than these headers, and are counted.
"""
import argparse
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

# Code for the structures alone; what they use of other headers is empty.
PRELUDE = '''
typedef unsigned char u8, __u8;
typedef unsigned short u16, __be16;
typedef unsigned int u32, __be32;
typedef unsigned long long __be64;
#pragma pack(1)
#define __packed
#define MLX5_CMD_DATA_BLOCK_SIZE 512
#define MLX5_CMD_SET_MONITOR_NUM_COUNTER 1
#define MLX5_ST_SZ_BYTES(type) 1
#define DECLARE_FLEX_ARRAY(type, name) type name[0]
#define struct_group(name, ...) __VA_ARGS__
'''
CLANG = ['clang', '-xc', '-', '-fsyntax-only', '-w', '-Xclang',
         '-fdump-record-layouts-complete']
STRUCTURE = re.compile(r'^(?:struct|union) (?:mlx5_\w+|health_buffer|ev_data) \{\n.*?^\}'
                       r'[^;]*;', re.S | re.M)
MEMBER = re.compile(r' *(?P<offset>\d+) \|(?P<depth> +)(?P<part>struct |union )?'
                    r'(?P<kind>\w+|.*\))(?P<dims>(?:\[\d*\])*) (?P<name>\w*)')
DIMENSION, SIZE = re.compile(r'\[(\d*)\]'), re.compile(r'\[sizeof=(\d+)')
COMMENT = re.compile(r'/\*.*?\*/', re.S)
# Bits of the types of C structures.
TYPES = {'u8': 8, '__u8': 8, '__be16': 16, 'u16': 16, '__be32': 32, 'u32': 32,
         '__be64': 64}

# Layouts of functions, or of files that are not public headers.
NOT_IN_HEADERS = {
    'plain_in': 'what all messages begin with',
    'plain_out': 'what all answers begin with',
    'qp_doorbell_record': 'two words; their numbers are constants of qp.h',
    'cq_doorbell_record': 'two words, which cq.h writes one by one',
    'cq_doorbell': 'cq.h writes it in mlx5_cq_arm()',
    'node_desc': "a structure of mlx5_ib's main.c",
}
# (structure, field): why a row is not what the header has under that name.
DIFFERENT = {
    ('flow_context', 'destination'): "one kind of element of the header's union",
    ('cqe64', 'srqn'): 'the low 24 bits of the member',
}
# The same for headers of Linux 6.1: newer ones have more bits, or other names.
OLDER = {
    ('mkc', 'log_page_size'): '5 bits',
    ('ppcnt_reg', 'prio_tc'): '3 bits',
}
OTHER_SIZE = {
    'query_qp_out': 'without the extension of the context',
}
# Rows of a bit structure that a C structure of the headers has. Two halves of a counter,
# NAME_high and NAME_low, are one row.
ALSO = {'initial_seg': 'mlx5_init_seg'}


class Member(NamedTuple):
    """part: the structure of its elements. rest: they fill the rest of the structure."""

    name: str
    offset: int
    bits: int
    part: str
    rest: bool


class Headers:
    """The structures of the headers, both of bits and of C types, as clang lays them out.

    A byte of a structure of bits stands for a bit.
    """

    def __init__(self, folder):
        texts = [COMMENT.sub('', (folder / name).read_text(encoding='utf-8'))
                 for name in ('mlx5_ifc.h', 'device.h', 'qp.h')]
        self.opcodes = {m[1]: int(m[2], 0) for text in texts
                        for m in re.finditer(r'MLX5_CMD_OP_(\w+)\s*=\s*(0x\w+)', text)}
        code = '\n'.join(m[0] for text in texts for m in STRUCTURE.finditer(text))
        known = set(re.findall(r'^(\w+ \w+) \{', code, re.M))
        used = set(re.findall(r'((?:struct|union) \w+)\s+\w', code))
        source = PRELUDE + ''.join(f'{kind} {{ }};\n' for kind in used - known) + code
        said = subprocess.run(CLANG, input=source, text=True, stdout=subprocess.PIPE,
                              check=True).stdout
        self.members, self.sizes = {}, {}
        for record in said.split('*** Dumping AST Record Layout\n')[1:]:
            self.read(record.splitlines())

    def read(self, lines):
        """A record: a member in each line, indented by its depth."""
        name = lines[0].split(' | ')[1].split(' ', 1)[1]
        unit = 1 if name.startswith('mlx5_ifc_') else 8
        size = next(m[1] for m in map(SIZE.search, lines) if m)
        members, inner = [], ''
        for m in filter(None, map(MEMBER.fullmatch, lines[1:])):
            if inner and m['depth'].startswith(inner):
                continue                        # of a part, whose rows are elsewhere
            kind, dims = m['kind'], [int(n or 0) for n in DIMENSION.findall(m['dims'])]
            inline = ' at ' in kind
            inner = '' if inline or kind not in self.sizes else m['depth'] + ' '
            bits = math.prod(dims) * self.sizes.get(kind, TYPES.get(kind, 1) // 8 * unit)
            if m['name']:
                members.append(Member(m['name'], int(m['offset']) * unit, bits,
                                      m['part'] and not inline and kind, 0 in dims))
        self.members[name], self.sizes[name] = members, int(size) * unit


def is_reserved(name):
    return re.match(r'reserved|rsvd', name)


class Checker:
    def __init__(self, headers):
        self.headers, self.found, self.fields, self.newer = headers, [], 0, []

    def say(self, *words):
        self.found.append(' '.join(str(word) for word in words))

    def layout(self, name, source, size, rows):
        short = source.removeprefix('mlx5_ifc_').removesuffix('_bits')
        short = short.removeprefix('mlx5_')
        if name in NOT_IN_HEADERS:
            return
        if source not in self.headers.members:
            self.newer.append(name)
            return
        members = self.headers.members[source]
        if self.headers.sizes[source] != size and short not in OTHER_SIZE:
            self.say(name, 'has', size, 'bits, not', self.headers.sizes[source])
        if short in ALSO:
            names = {m.name for m in members}
            members = members + [m for m in self.headers.members[ALSO[short]]
                                 if m.name not in names]
        members = members + [Member(m.name[:-5], m.offset, 2 * m.bits, '', False)
                             for m in members if m.name.endswith('_high')]
        for row in rows:
            self.row(name, short, source.startswith('mlx5_ifc_'), members, row)

    def row(self, layout, short, bits, members, row):
        field, offset, width, count, _ = row
        self.fields += 1
        if (short, field) in DIFFERENT:
            return
        same = [m for m in members if m.name == field]
        if same:
            why = [self.difference(m, row) for m in same]
            if all(why):
                self.differs(layout, short, field, why[0])
            return
        inside = [m for m in members if not m.part and m.offset <= offset
                  and offset + width * max(count, 1) <= m.offset + m.bits]
        free = any(is_reserved(m.name) for m in inside)
        if bits and free:
            self.newer.append(f'{layout}.{field}')
        elif bits or not any(not is_reserved(m.name) for m in inside):
            self.differs(layout, short, field, 'is in no member')

    def differs(self, layout, short, field, why):
        if (short, field) in OLDER:
            self.newer.append(f'{layout}.{field}')
        else:
            self.say(layout, field, why)

    def difference(self, member, row):
        """The error of a row for @member, or None."""
        _, offset, width, count, part = row
        if offset != member.offset:
            return f'is at {offset:#x}, not {member.offset:#x}'
        if part not in ('-', member.part):
            return f'is {part}, not {member.part}'
        if (count == 0) != member.rest:
            return f'takes the rest: {count == 0}'
        if count and width * count != member.bits:
            return f'has {width * count} bits, not {member.bits}'
        return None

    def command(self, name, opcode):
        if name not in self.headers.opcodes:
            self.newer.append(name)
        elif self.headers.opcodes[name] != opcode:
            self.say(name, f'is {opcode:#x}, not {self.headers.opcodes[name]:#x}')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('headers', type=Path)
    checker = Checker(Headers(parser.parse_args().headers))
    layouts, commands = [], 0
    for line in sys.stdin:
        kind, *words = line.split()
        if kind == 'layout':
            layouts.append((words[0], words[1], int(words[2]), []))
        elif kind == 'field':
            layouts[-1][3].append((words[0], int(words[1]), int(words[2]),
                                   int(words[3]), words[4]))
        else:
            checker.command(words[0], int(words[1]))
            commands += 1
    for layout in layouts:
        checker.layout(*layout)
    for line in checker.found:
        print(line)
    if checker.newer:
        print('newer than these headers:', *checker.newer)
    print(f'check-mlx5-fields: {len(layouts)} layouts, {checker.fields} fields, '
          f'{commands} commands, {len(checker.newer)} newer, '
          f'{len(checker.found)} findings')
    return 1 if checker.found or not layouts or not commands else 0


if __name__ == '__main__':
    sys.exit(main())
