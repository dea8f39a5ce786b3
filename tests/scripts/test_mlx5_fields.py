#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/check-mlx5-fields.py accepts rows that match headers, and refuses others.

The headers are small ones of this test's own. Prints TAP.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import cases

SCRIPT = Path(__file__).resolve().parents[2] / 'scripts/check-mlx5-fields.py'
HEADERS = {
    'mlx5_ifc.h': '''
enum {
    MLX5_CMD_OP_DO_THIS = 0x104,
};
struct mlx5_ifc_part_bits {
    u8 low[0x8];
    u8 reserved_at_8[0x18]; /* a comment */
};
struct mlx5_ifc_whole_bits {
    u8 first[0x4];
    u8 reserved_at_4[0x1c];
    struct mlx5_ifc_part_bits part;
    u8 list[0x2][0x10];
    union {
        u8 one[0x20];
        u8 other[0x20];
    } view;
    u8 pas[][0x40];
};
''',
    'device.h': '''
struct mlx5_ring {
    u8 rsvd0[2];
    __be16 number;
    __be32 op_own;
};
''',
    'qp.h': '',
}
ROWS = '''layout part mlx5_ifc_part_bits 32
field low 0 8 1 -
layout whole mlx5_ifc_whole_bits 128
field first 0 4 1 -
field part 32 32 1 mlx5_ifc_part_bits
field list 64 16 2 -
field one 96 32 1 -
field pas 128 64 0 -
layout ring mlx5_ring 64
field number 16 16 1 -
field opcode 32 8 1 -
command DO_THIS 260 do_this_in plain_out
'''


def check(rows):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in HEADERS.items():
            Path(folder, name).write_text(text, encoding='utf-8')
        return subprocess.run([sys.executable, SCRIPT, folder], input=rows, text=True,
                              capture_output=True, check=False)


def accepts(rows, text):
    result = check(rows)
    assert result.returncode == 0, result.stdout + result.stderr
    assert text in result.stdout, result.stdout


def refuses(old, new, text):
    assert ROWS.count(old) == 1, old
    result = check(ROWS.replace(old, new))
    assert result.returncode == 1, result.stdout + result.stderr
    assert text in result.stdout, result.stdout


CASES = [
    ('accepts the rows', accepts, ROWS, '3 layouts, 8 fields, 1 commands, 0 newer'),
    ('counts newer fields', accepts,
     ROWS.replace('field part', 'field new 8 8 1 -\nfield part'), '1 newer'),
    ('nothing to check', refuses, ROWS, '', '0 layouts'),
    ('offset', refuses, 'low 0 8', 'low 1 8', 'low is at 0x1, not 0x0'),
    ('width', refuses, 'low 0 8', 'low 0 9', 'low has 9 bits, not 8'),
    ('count', refuses, 'list 64 16 2', 'list 64 16 1', 'list has 16 bits, not 32'),
    ('size', refuses, 'whole mlx5_ifc_whole_bits 128', 'whole mlx5_ifc_whole_bits 96',
     'whole has 96 bits, not 128'),
    ('part', refuses, '1 mlx5_ifc_part_bits', '1 mlx5_ifc_whole_bits',
     'not mlx5_ifc_part_bits'),
    ('rest', refuses, 'pas 128 64 0', 'pas 128 64 1', 'pas takes the rest: False'),
    ('name', refuses, 'field first 0', 'field fist 0', 'fist is in no member'),
    ('missing', refuses, 'field low 0 8 1 -\n', '', 'has no row for low'),
    ('missing in C', refuses, 'field number 16 16 1 -\n', '', 'has no row for number'),
    ('outside a member', refuses, 'opcode 32 8', 'opcode 28 8',
     'opcode is in no member'),
    ('opcode', refuses, 'DO_THIS 260', 'DO_THIS 261', 'DO_THIS is 0x105, not 0x104'),
]

if __name__ == '__main__':
    sys.exit(cases.run(CASES))
