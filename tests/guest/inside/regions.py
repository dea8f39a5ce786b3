# SPDX-License-Identifier: GPL-2.0-or-later
"""Regions and completion queues of a process, as the driver makes them."""
import os
import re

import pyverbs.enums as e
from pyverbs.cq import CQ, CompChannel
from pyverbs.device import DM, AllocDmAttr
from pyverbs.mr import MR

from odp import ACCESS, Mover, expect, map_memory

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


def check_large(rig):
    """More than 2 GiB in pages of 4 KiB, and sizes around one list of 512."""
    mover = Mover(rig)
    file, base = map_again(200)
    for size in (512 * 4096, 512 * 4096 + 1, 3 * UNIT, 200 * UNIT):
        mr = MR(rig.pd, size, ACCESS, address=base)
        for at in (0, size // 2 + 4096 - 3, size - 16):
            text = f'at {at:x}'.encode().ljust(16)
            expect(mover.write(text, mr.rkey, base + at), 'SUCCESS')
            expect(os.pread(file, 16, at % UNIT), text)
        mr.close()


def check_zero_based(rig):
    mover = Mover(rig)
    mr = MR(rig.pd, 8192, ACCESS | e.IBV_ACCESS_ZERO_BASED)
    expect(mover.write(b'at the end', mr.rkey, 8192 - 10), 'SUCCESS')
    expect(mr.read(10, 8192 - 10), b'at the end')
    expect(mover.write(b'beyond', mr.rkey, 8192 - 5), 'REM_ACCESS_ERR')


def interrupts(vector):
    with open('/proc/interrupts', encoding='ascii') as table:
        row = next(line for line in table if f'ernic-comp{vector}\n' in line)
    return sum(int(word) for word in row.split()[1:3])


def check_vectors(rig):
    """Each completion vector signals the queues that chose it, and no others."""
    ctx = rig.ctx
    count = ctx.num_comp_vectors
    expect(count, os.cpu_count())
    for vector in range(count):
        channel = CompChannel(ctx)
        cq = CQ(ctx, 64, None, channel, vector)
        mover = Mover(rig, cq=cq)
        target = MR(rig.pd, 64, ACCESS)
        cq.req_notify()
        before = [interrupts(n) for n in range(count)]
        expect(mover.write(b'x', target.rkey, target.buf), 'SUCCESS')
        channel.get_cq_event(cq)
        cq.ack_events(1)
        after = [interrupts(n) for n in range(count)]
        expect([a - b for a, b in zip(after, before)],
               [int(n == vector) for n in range(count)])


def check_device_memory(rig):
    """It is mapped write-combining, as the kernel's table of memory types shows."""
    dm = DM(rig.ctx, AllocDmAttr(3 * 4096))
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
