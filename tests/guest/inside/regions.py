# SPDX-License-Identifier: GPL-2.0-or-later
"""Regions and completion queues of a process, as the driver makes them."""
import os
import re

import pyverbs.enums as e
from pyverbs.cq import CompChannel
from pyverbs.device import DM, AllocDmAttr
from pyverbs.mr import MR

import loop
from odp import Mover, expect, map_memory

MIB = 1 << 20
UNIT = 16 * MIB


def map_again(count):
    """16 MiB of memory, mapped so many times in a row; its file and address."""
    file = os.memfd_create('unit')
    os.truncate(file, UNIT)
    base = map_memory(count * UNIT, 0)
    for n in range(count):
        map_memory(UNIT, at=base + n * UNIT, fd=file)
    return file, base


def check_large(_):
    """More than 2 GiB in pages of 4 KiB, and sizes around one list of 512."""
    mover = Mover()
    file, base = map_again(200)
    for size in (512 * 4096, 512 * 4096 + 1, 3 * UNIT, 200 * UNIT):
        mr = MR(mover.pair.pd, size, loop.ACCESS, address=base)
        for at in (0, size // 2 + 4096 - 3, size - 16):
            text = f'at {at:x}'.encode().ljust(16)
            expect(mover.write(text, mr.rkey, base + at), e.IBV_WC_SUCCESS)
            expect(os.pread(file, 16, at % UNIT), text)
        mr.close()


def check_zero_based(_):
    mover = Mover()
    mr = MR(mover.pair.pd, 8192, loop.ACCESS | e.IBV_ACCESS_ZERO_BASED)
    expect(mover.write(b'at the end', mr.rkey, 8192 - 10), e.IBV_WC_SUCCESS)
    expect(mr.read(10, 8192 - 10), b'at the end')
    expect(mover.write(b'beyond', mr.rkey, 8192 - 5), e.IBV_WC_REM_ACCESS_ERR)


def check_rereg(_):
    """Another place, other rights; attributes without their flag stay."""
    mover = Mover()
    mr = MR(mover.pair.pd, 4096, loop.ACCESS)
    other = MR(mover.pair.pd, 4096, loop.ACCESS)
    mr.rereg(e.IBV_REREG_MR_CHANGE_TRANSLATION, None, other.buf, 4096, 0)
    expect(mover.write(b'moved', mr.rkey, other.buf), e.IBV_WC_SUCCESS)
    expect(other.read(5, 0), b'moved')
    mr.rereg(e.IBV_REREG_MR_CHANGE_ACCESS, None, 0, 0, e.IBV_ACCESS_REMOTE_READ)
    expect(mover.read(5, mr.rkey, other.buf), b'moved')
    expect(mover.write(b'moved', mr.rkey, other.buf), e.IBV_WC_REM_ACCESS_ERR)


def interrupts(vector):
    with open('/proc/interrupts', encoding='ascii') as table:
        row = next(line for line in table if f'ernic-comp{vector}\n' in line)
    return sum(int(word) for word in row.split()[1:3])


def check_vectors(_):
    """Each completion vector signals the queues that chose it, and no others."""
    ctx = loop.open_device()
    count = ctx.num_comp_vectors
    expect(count, os.cpu_count())
    for vector in range(count):
        channel = CompChannel(ctx)
        pair = loop.Pair(ctx, vector, channel)
        mover = Mover(pair)
        target = MR(pair.pd, 64, loop.ACCESS)
        pair.cqs[0].req_notify()
        before = [interrupts(n) for n in range(count)]
        expect(mover.write(b'x', target.rkey, target.buf), e.IBV_WC_SUCCESS)
        channel.get_cq_event(pair.cqs[0])
        pair.cqs[0].ack_events(1)
        after = [interrupts(n) for n in range(count)]
        expect([a - b for a, b in zip(after, before)],
               [int(n == vector) for n in range(count)])


def check_device_memory(_):
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
        raise AssertionError((of_bar, found))
    dm.close()
