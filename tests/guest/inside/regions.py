# SPDX-License-Identifier: GPL-2.0-or-later
"""Regions and completion queues of a process, as the driver makes them.

usage: regions.py CHECK

CHECK is one of the functions below that begin with check_. Nothing is printed and
the exit status is 0 when all is right.
"""
import ctypes
import mmap
import os
import re
import sys

import loop
import pyverbs.enums as e
from pyverbs.cq import CompChannel
from pyverbs.device import DM, AllocDmAttr
from pyverbs.mr import MR
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.wr import SGE

MIB = 1 << 20
UNIT = 16 * MIB
MAP_FIXED = 0x10


def expect(what, want):
    if what != want:
        raise SystemExit(f'{what!r} instead of {want!r}')


class Source:
    """64 bytes to write, and their destination."""

    def __init__(self, pair):
        self.pair = pair
        self.mr = MR(pair.pd, 64, loop.ACCESS)

    def write(self, text, rkey, address):
        self.mr.write(text, len(text))
        return self.pair.move(e.IBV_WR_RDMA_WRITE,
                              SGE(self.mr.buf, len(text), self.mr.lkey), rkey, address)


def map_again(count):
    """16 MiB of memory, mapped so many times in a row; its file and address."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                          ctypes.c_int, ctypes.c_long]
    file = os.memfd_create('unit')
    os.truncate(file, UNIT)
    base = libc.mmap(None, count * UNIT, 0,
                     mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    for n in range(count):
        expect(libc.mmap(base + n * UNIT, UNIT, mmap.PROT_READ | mmap.PROT_WRITE,
                         mmap.MAP_SHARED | MAP_FIXED, file, 0), base + n * UNIT)
    return file, base


def check_large():
    """More than 2 GiB in pages of 4 KiB, and sizes around one list of 512."""
    pair = loop.Pair(loop.open_device())
    source = Source(pair)
    file, base = map_again(200)
    for size in (512 * 4096, 512 * 4096 + 1, 3 * UNIT, 200 * UNIT):
        mr = MR(pair.pd, size, loop.ACCESS, address=base)
        for at in (0, size // 2 + 4096 - 3, size - 16):
            text = f'at {at:x}'.encode().ljust(16)
            expect(source.write(text, mr.rkey, base + at), e.IBV_WC_SUCCESS)
            expect(os.pread(file, 16, at % UNIT), text)
        mr.close()


def check_zero_based():
    pair = loop.Pair(loop.open_device())
    source = Source(pair)
    mr = MR(pair.pd, 8192, loop.ACCESS | e.IBV_ACCESS_ZERO_BASED)
    expect(source.write(b'at the end', mr.rkey, 8192 - 10), e.IBV_WC_SUCCESS)
    expect(mr.read(10, 8192 - 10), b'at the end')
    expect(source.write(b'beyond', mr.rkey, 8192 - 5), e.IBV_WC_REM_ACCESS_ERR)


def check_rereg():
    """Another place, other rights; attributes without their flag stay."""
    pair = loop.Pair(loop.open_device())
    source = Source(pair)
    mr = MR(pair.pd, 4096, loop.ACCESS)
    other = MR(pair.pd, 4096, loop.ACCESS)
    mr.rereg(e.IBV_REREG_MR_CHANGE_TRANSLATION, None, other.buf, 4096, 0)
    expect(source.write(b'moved', mr.rkey, other.buf), e.IBV_WC_SUCCESS)
    expect(other.read(5, 0), b'moved')
    mr.rereg(e.IBV_REREG_MR_CHANGE_ACCESS, None, 0, 0, e.IBV_ACCESS_REMOTE_READ)
    read = pair.move(e.IBV_WR_RDMA_READ, SGE(source.mr.buf, 5, source.mr.lkey),
                     mr.rkey, other.buf)
    expect(read, e.IBV_WC_SUCCESS)
    expect(source.write(b'moved', mr.rkey, other.buf), e.IBV_WC_REM_ACCESS_ERR)


def interrupts(vector):
    with open('/proc/interrupts', encoding='ascii') as table:
        row = next(line for line in table if f'ernic-comp{vector}\n' in line)
    return sum(int(word) for word in row.split()[1:3])


def check_vectors():
    """Each completion vector signals the queues that chose it, and no others."""
    ctx = loop.open_device()
    count = ctx.num_comp_vectors
    expect(count, os.cpu_count())
    for vector in range(count):
        channel = CompChannel(ctx)
        pair = loop.Pair(ctx, vector, channel)
        source = Source(pair)
        target = MR(pair.pd, 64, loop.ACCESS)
        pair.cqs[0].req_notify()
        before = [interrupts(n) for n in range(count)]
        expect(source.write(b'x', target.rkey, target.buf), e.IBV_WC_SUCCESS)
        channel.get_cq_event(pair.cqs[0])
        pair.cqs[0].ack_events(1)
        after = [interrupts(n) for n in range(count)]
        expect([a - b for a, b in zip(after, before)],
               [int(n == vector) for n in range(count)])


def check_resize():
    """Unread completions survive a longer and a shorter ring."""
    ctx = loop.open_device()
    pair = loop.Pair(ctx)
    source = Source(pair)
    target = MR(pair.pd, 64, loop.ACCESS)
    sge = SGE(source.mr.buf, 1, source.mr.lkey)
    for depth in (256, 8, 64):
        for _ in range(5):
            pair.post(e.IBV_WR_RDMA_WRITE, sge, target.rkey, target.buf)
        # The last of them has arrived once this READ completes.
        pair.post(e.IBV_WR_RDMA_READ, sge, target.rkey, target.buf)
        pair.cqs[0].resize(depth)
        expect([pair.wait() for _ in range(6)], 6 * [e.IBV_WC_SUCCESS])
    try:
        pair.cqs[0].resize(1 << 30)
    except PyverbsRDMAError:
        return
    raise SystemExit('a ring beyond the limit')


def check_device_memory():
    """It is mapped write-combining, as the kernel's table of memory types shows."""
    ctx = loop.open_device()
    dm = DM(ctx, AllocDmAttr(3 * 4096))
    dm.copy_to_dm(4096, b'some bytes.!', 12)
    expect(dm.copy_from_dm(4096, 12), b'some bytes.!')
    with open('/sys/class/infiniband/ernic0/device/resource', encoding='ascii') as table:
        first, last, _ = (int(word, 16) for word in table.readlines()[2].split())
    with open('/sys/kernel/debug/x86/pat_memtype_list', encoding='ascii') as table:
        found = re.findall(r'0x([0-9a-f]+)-0x([0-9a-f]+)\] (\S+)', table.read())
    of_bar = {(int(end, 16) - int(begin, 16), kind) for begin, end, kind in found
              if first <= int(begin, 16) <= last}
    # The last address of a range is that of its last byte, or the one after it.
    if not of_bar & {(3 * 4096 + n, 'write-combining') for n in (-1, 0)}:
        raise SystemExit(f'{of_bar}\n{found}')
    dm.close()


if __name__ == '__main__':
    globals()['check_' + sys.argv[1]]()
    sys.stdout.flush()
    os._exit(0)                 # without the objects that Python still holds
