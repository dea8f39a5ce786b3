# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests of older and of newer providers than the driver.

For each request with a part of the driver's: version 1 of its structure is accepted,
with and without the padding that the provider of version 1 sends; a shorter one is
refused; a longer one is accepted if the tail is zero. Some may end with addresses of
records. A request without such a part may have one of zeros. The commands go to the
kernel without libibverbs.
"""
import ctypes
import errno
import mmap
import os
import struct
from pathlib import Path

DEVICE = '/dev/infiniband/uverbs0'
# Numbers of commands, of the kernel's header ib_user_verbs.h
GET_CONTEXT, ALLOC_PD, CREATE_CQ, RESIZE_CQ, CREATE_QP = 0, 3, 18, 19, 24
CREATE_AH, REG_MR, REREG_MR, ALLOC_MW = 5, 9, 11, 14
MODIFY_QP, OPEN_XRCD, CREATE_FLOW = 26, 37, 50
CREATE_SRQ, MODIFY_SRQ, CREATE_WQ = 32, 33, 52
EXTENDED = 0x80000000
RC, RAW_PACKET, SRQ_MAX_WR, SRQ_LIMIT, PAGE = 2, 8, 1, 2, 4096
NO_FILE, QP_STATE = 0xffffffff, 1
GID = '/sys/class/infiniband/ernic0/ports/1/gids/0'
MEMORY = []                             # rings: not freed while the process lives


def ring(size=PAGE):
    """The address of so many bytes, page-aligned."""
    MEMORY.append(mmap.mmap(-1, size))
    return ctypes.addressof(ctypes.c_char.from_buffer(MEMORY[-1]))


class Uverbs:
    """A context, by commands."""

    def __init__(self, driver=b''):
        """driver: what the request for the context carries."""
        self.file = os.open(DEVICE, os.O_RDWR)
        self.answer = ctypes.create_string_buffer(256)
        self.write(GET_CONTEXT, 'Q', '', driver)
        self.pd = self.make(ALLOC_PD, 'Q', '', b'')

    def where(self):
        return ctypes.addressof(self.answer)

    def write(self, number, head, tail, driver, *values):
        """A command: head is the address of the response, if the command has one."""
        core = struct.pack('=' + head + tail, *([self.where()] if head else []), *values)
        size = 8 + len(core) + len(driver)
        assert not size % 4
        os.write(self.file, struct.pack('=IHH', number, size // 4, 64) + core + driver)

    def write_extended(self, number, _, tail, driver, *values):
        core = struct.pack('=' + tail, *values)
        assert not len(core) % 8 and not len(driver) % 8
        os.write(self.file, struct.pack(
            '=IHHQHHI', number | EXTENDED, len(core) // 8, 16, self.where(),
            len(driver) // 8, 0, 0) + core + driver)

    def make(self, *command):
        """A command that makes something; its handle."""
        self.write(*command)
        return struct.unpack_from('=I', self.answer)[0]


def rows(uverbs):
    """Command, its head and tail and their values; the driver's part of version 1; bytes
    of its members; records that may follow; how to write it."""
    cq = uverbs.make(CREATE_CQ, 'Q', 'QIIiI', struct.pack('=QQII', ring(), 0, 4, 0),
                     0, 3, 0, -1, 0)
    srq = uverbs.make(CREATE_SRQ, 'Q', 'QIIII', struct.pack('=QIHH', ring(), 4, 1, 0),
                      0, uverbs.pd, 4, 1, 0)
    write = uverbs.write
    yield ((CREATE_CQ, 'Q', 'QIIiI'), (0, 3, 0, -1, 0),
           lambda: struct.pack('=QQII', ring(), 0, 4, 0), 20, 0, write)
    yield ((RESIZE_CQ, 'Q', 'II'), (cq, 7),
           lambda: struct.pack('=QII', ring(), 8, 0), 12, 0, write)
    yield ((CREATE_SRQ, 'Q', 'QIIII'), (0, uverbs.pd, 4, 1, 0),
           lambda: struct.pack('=QIHH', ring(), 4, 1, 0), 14, 1, write)
    yield ((MODIFY_SRQ, '', 'IIII'), (srq, SRQ_MAX_WR, 8, 0),
           lambda: struct.pack('=QII', ring(), 8, 0), 12, 0, write)
    yield ((CREATE_QP, 'Q', 'Q9I4B'),
           (0, uverbs.pd, cq, cq, 0, 4, 4, 1, 1, 0, 0, RC, 0, 0),
           lambda: struct.pack('=QQIIBB6x', ring(), ring(), 4, 4, 2, 1), 26, 2, write)
    yield ((CREATE_WQ, '', 'IIQIIIIII'),
           (0, 0, 0, uverbs.pd, cq, 4, 1, 0, 0),
           lambda: struct.pack('=QIHH', ring(), 4, 1, 0), 14, 1, uverbs.write_extended)


def outcome(write, command, driver, values):
    try:
        write(*command, driver, *values)
    except OSError as error:
        return error.errno
    return 0


def answers(command, values, make, members, records, write):
    unit = 8 if write.__name__ == 'write_extended' else 4
    first = -(-members // unit) * unit
    sent = len(make())
    later = 8 * records
    cases = {
        'version 1 without padding': (make()[:first], 0),
        'version 1': (make(), 0),
        'too short': (make()[:first - unit], errno.EINVAL),
        'longer, zero': (make() + bytes(later + 2 * unit), 0),
        'longer, not zero': (make() + bytes(later + 2 * unit - 1) + b'\1',
                             errno.EOPNOTSUPP),
    }
    if records:
        place = struct.pack('=Q', ring() + 64)
        cases['records'] = (make() + records * place, 0)
        cases['the last record'] = (make() + bytes(later - 8) + place, 0)
        cases['record not aligned'] = (make() + bytes(later - 8) +
                                       struct.pack('=Q', ring() + 4), errno.EINVAL)
    if members < sent:
        cases['padding not zero'] = (make()[:-1] + b'\1', errno.EOPNOTSUPP)
    for name, (driver, want) in cases.items():
        found = outcome(write, command, driver, values)
        assert found == want, f'command {command[0]}, {name}: {found}, want {want}'


def check_versions(_):
    for row in rows(Uverbs()):
        answers(*row)


def new_context(*command):
    """A context of its own, as a file has one."""
    Uverbs(command[-1])


def bare_rows(uverbs):
    """Command, its head and tail and their values; how to write it: the driver has no
    part of these."""
    srq = uverbs.make(CREATE_SRQ, 'Q', 'QIIII', struct.pack('=QIHH', ring(), 4, 1, 0),
                      0, uverbs.pd, 4, 1, 0)
    start = ring()
    region = uverbs.make(REG_MR, 'Q', 'QQQII', b'', start, PAGE, start, uverbs.pd, 1)
    gid = bytes.fromhex(Path(GID).read_text().replace(':', ''))
    cq = uverbs.make(CREATE_CQ, 'Q', 'QIIiI', struct.pack('=QQII', ring(), 0, 4, 0),
                     0, 3, 0, -1, 0)
    qp = uverbs.make(CREATE_QP, 'Q', 'Q9I4B',
                     struct.pack('=QQIIBB6x', ring(), ring(), 4, 4, 2, 1), 0, uverbs.pd,
                     cq, cq, 0, 4, 4, 1, 1, 0, 0, RAW_PACKET, 0, 0)
    write, extended = uverbs.write, uverbs.write_extended
    yield (GET_CONTEXT, 'Q', ''), (), new_context
    yield (ALLOC_PD, 'Q', ''), (), write
    yield (CREATE_AH, 'Q', 'QII16sI4BH6B'), (0, uverbs.pd, 0, gid, 0, 0, 64, 0, 0,
                                            0, 0, 0, 0, 1, 1, 0), write
    yield (REG_MR, 'Q', 'QQQII'), (start, PAGE, start, uverbs.pd, 1), write
    yield (REREG_MR, 'Q', 'IIQQQII'), (region, 4, 0, 0, 0, 0, 3), write
    yield (ALLOC_MW, 'Q', 'IB3x'), (uverbs.pd, 1), write
    yield (MODIFY_SRQ, '', 'IIII'), (srq, SRQ_LIMIT, 0, 2), write
    yield (OPEN_XRCD, 'Q', 'II'), (NO_FILE, os.O_CREAT), write
    # To Reset; with a rate limit it would have a part of the driver's.
    yield (MODIFY_QP, '', '64xII48x'), (qp, QP_STATE), extended
    yield (CREATE_FLOW, '', 'IIIHHB2xBI'), (0, qp, 0, 0, 0, 0, 1, 0), extended


def check_no_request(_):
    """A part that the driver does not know has to be zero."""
    uverbs = Uverbs()
    for command, values, write in bare_rows(uverbs):
        for driver, want in ((b'', 0), (bytes(8), 0),
                             (bytes(7) + b'\1', errno.EOPNOTSUPP)):
            found = outcome(write, command, driver, values)
            assert found == want, f'command {command[0]}, {driver}: {found}, want {want}'
