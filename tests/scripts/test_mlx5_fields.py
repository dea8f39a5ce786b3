# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/check-mlx5-fields.py accepts rows that match headers, and refuses others.

The headers are small ones of this test's own.
"""
import subprocess
import sys
from pathlib import Path

import pytest

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


# The fault, a text of ROWS, another in its place, and the report.
WRONG = [
    ('nothing to check', ROWS, '', '0 layouts'),
    ('offset', 'low 0 8', 'low 1 8', 'low is at 0x1, not 0x0'),
    ('width', 'low 0 8', 'low 0 9', 'low has 9 bits, not 8'),
    ('count', 'list 64 16 2', 'list 64 16 1', 'list has 16 bits, not 32'),
    ('size', 'whole mlx5_ifc_whole_bits 128', 'whole mlx5_ifc_whole_bits 96',
     'whole has 96 bits, not 128'),
    ('part', '1 mlx5_ifc_part_bits', '1 mlx5_ifc_whole_bits', 'not mlx5_ifc_part_bits'),
    ('rest', 'pas 128 64 0', 'pas 128 64 1', 'pas takes the rest: False'),
    ('name', 'field first 0', 'field fist 0', 'fist is in no member'),
    ('outside a member', 'opcode 32 8', 'opcode 28 8', 'opcode is in no member'),
    ('opcode', 'DO_THIS 260', 'DO_THIS 261', 'DO_THIS is 0x105, not 0x104'),
]


@pytest.mark.parametrize('rows, status, text', [
    pytest.param(ROWS, 0, '3 layouts, 8 fields, 1 commands, 0 newer', id='accepts'),
    pytest.param(ROWS.replace('field part', 'field new 8 8 1 -\nfield part'), 0,
                 '1 newer', id='counts newer fields'),
    *(pytest.param(ROWS.replace(old, new), 1, text, id=f'refuses: {what}')
      for what, old, new, text in WRONG)])
def test_rows(tmp_path, rows, status, text):
    for name, header in HEADERS.items():
        (tmp_path / name).write_text(header, encoding='utf-8')
    done = subprocess.run([sys.executable, SCRIPT, tmp_path], input=rows, text=True,
                          capture_output=True, check=False)
    assert done.returncode == status and text in done.stdout, done.stdout + done.stderr
