# SPDX-License-Identifier: GPL-2.0-or-later
"""On-demand regions of a process, whose pages come and go."""
import ctypes
import mmap
import os
import subprocess
import threading
import time

import pyverbs.enums as e
from pyverbs.mr import MR
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.wr import SGE

from rig import REMOTE, pair

PAGE = 4096
MIB = 1 << 20
ACCESS = e.IBV_ACCESS_LOCAL_WRITE | REMOTE
DEMAND = ACCESS | e.IBV_ACCESS_ON_DEMAND
FAULTS = '/sys/class/infiniband/ernic0/ports/1/hw_counters/page_faults'
ANONYMOUS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
BOTH = mmap.PROT_READ | mmap.PROT_WRITE
MAP_FIXED = 0x10
MADV_DONTNEED = 4
FALLOC_PUNCH = 0x1 | 0x2            # and keep the size

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                      ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]


def expect(what, want):
    assert what == want, f'{what!r} instead of {want!r}'


def map_memory(size, prot=BOTH, at=None, fd=-1, offset=0):
    flags = ANONYMOUS if fd < 0 else mmap.MAP_SHARED
    found = libc.mmap(at, size, prot, flags | (MAP_FIXED if at else 0), fd, offset)
    assert found != ctypes.c_void_p(-1).value, os.strerror(ctypes.get_errno())
    return found


def faults():
    # The kernel queries the device again when its last answer is 12 ms old.
    time.sleep(0.03)
    with open(FAULTS, encoding='ascii') as counter:
        return int(counter.read())


class Mover:
    """Moves bytes between a pinned region and others."""

    def __init__(self, rig, **make):
        """make: for rig.pair()."""
        self.rig = rig
        self.ends = pair(rig, **make)
        self.mr = MR(rig.pd, MIB, ACCESS)

    def move(self, op, sge, rkey, address):
        """One request, and the status of its completion."""
        self.ends[0].post(op, sges=[sge], rkey=rkey, raddr=address)
        return self.ends[0].status()

    def write(self, data, rkey, address):
        self.mr.write(data, len(data))
        return self.move('WRITE', SGE(self.mr.buf, len(data), self.mr.lkey), rkey,
                         address)

    def read(self, length, rkey, address):
        """The bytes that are there, or the status of the completion."""
        status = self.move('READ', SGE(self.mr.buf, length, self.mr.lkey), rkey, address)
        return self.mr.read(length, 0) if status == 'SUCCESS' else status

    def demand(self, size, address):
        return MR(self.rig.pd, size, DEMAND, address=address)


def demanding(rig, size=MIB, **memory):
    """A Mover, new memory, and an on-demand region over it."""
    mover, base = Mover(rig), map_memory(size, **memory)
    return mover, base, mover.demand(size, base)


def stamp(n, length=3 * PAGE + 100):
    return (n.to_bytes(4, 'little') * (length // 4 + 1))[:length]


def check_pages(rig):
    """Untouched memory in both directions: each page is requested once."""
    mover, base, mr = demanding(rig, 4 * MIB)
    before = faults()
    expect(mover.read(16, mr.rkey, base + 5), bytes(16))
    for n, at in enumerate((0, 100 * PAGE + 50, 4 * MIB - 3 * PAGE - 100)):
        expect(mover.write(stamp(n), mr.rkey, base + at), 'SUCCESS')
        expect(ctypes.string_at(base + at, len(stamp(n))), stamp(n))
        expect(mover.read(len(stamp(n)), mr.rkey, base + at), stamp(n))
    expect(faults() > before, True)
    before = faults()
    expect(mover.write(stamp(9), mr.rkey, base), 'SUCCESS')
    expect(faults(), before)


def check_rights(rig):
    """A page that is requested for reading leaves its neighbours writable."""
    mover, base, mr = demanding(rig)
    for at in (0, 2 * PAGE, 4 * PAGE):
        expect(mover.write(b'abcd', mr.rkey, base + at), 'SUCCESS')
    expect(mover.read(5 * PAGE, mr.rkey, base)[:4], b'abcd')
    before = faults()
    for at in (0, 2 * PAGE, 4 * PAGE):
        expect(mover.write(b'efgh', mr.rkey, base + at), 'SUCCESS')
    expect(faults(), before)


def check_fork(rig):
    """The child never sees bytes written to its parent."""
    mover, base, mr = demanding(rig)
    for n in range(5):
        expect(mover.write(stamp(n), mr.rkey, base), 'SUCCESS')
        ends = os.pipe()
        child = os.fork()
        if not child:
            os.read(ends[0], 1)
            os._exit(ctypes.string_at(base, len(stamp(n))) != stamp(n))
        expect(mover.write(stamp(n + 100), mr.rkey, base), 'SUCCESS')
        expect(ctypes.string_at(base, len(stamp(n))), stamp(n + 100))
        os.write(ends[1], b'x')
        expect(os.waitpid(child, 0)[1], 0)


def check_dontneed(rig):
    """Memory that was given back reads as zeros for both, and can be used again."""
    mover, base, mr = demanding(rig)
    for n in range(20):
        expect(mover.write(stamp(n + 1), mr.rkey, base), 'SUCCESS')
        expect(libc.madvise(base, MIB, MADV_DONTNEED), 0)
        expect(mover.read(PAGE, mr.rkey, base + PAGE), bytes(PAGE))
        expect(ctypes.string_at(base, PAGE), bytes(PAGE))


def check_punch(rig):
    """Pages of a file are removed and replaced by others."""
    fd = os.memfd_create('pages')
    os.truncate(fd, MIB)
    mover, base, mr = demanding(rig, fd=fd)
    for n in range(20):
        expect(mover.write(stamp(n), mr.rkey, base), 'SUCCESS')
        expect(os.pread(fd, len(stamp(n)), 0), stamp(n))
        expect(libc.fallocate(fd, FALLOC_PUNCH, 0, MIB), 0)
        expect(mover.read(PAGE, mr.rkey, base), bytes(PAGE))


def check_traffic(rig):
    """
    Memory is given back, protected and mapped again while WRITEs are under way: each
    of them succeeds, and none reaches memory that has another owner by then.
    """
    mover, base, mr = demanding(rig)
    stop = threading.Event()

    def churn():
        while not stop.is_set():
            libc.madvise(base, MIB, MADV_DONTNEED)
            map_memory(MIB, at=base)
            other = map_memory(MIB)
            ctypes.memset(other, 0x5a, MIB)
            time.sleep(0.002)
            if ctypes.string_at(other, MIB) != b'\x5a' * MIB:
                os._exit(3)
            libc.munmap(other, MIB)

    thread = threading.Thread(target=churn)
    thread.start()
    end = time.monotonic() + 5
    writes = 0
    while time.monotonic() < end or writes <= 20:      # the host may be busy
        expect(mover.write(stamp(writes, 100000), mr.rkey, base), 'SUCCESS')
        writes += 1
    stop.set()
    thread.join()


def check_unmap(rig):
    """A page that was unmapped ends the connection, on either side."""
    mover, base, mr = demanding(rig)
    expect(mover.write(stamp(1), mr.rkey, base), 'SUCCESS')
    expect(libc.munmap(base, MIB), 0)
    expect(mover.write(stamp(2), mr.rkey, base), 'REM_ACCESS_ERR')
    mover, base, mr = demanding(rig)
    expect(libc.munmap(base + PAGE, MIB - PAGE), 0)
    sge = SGE(base, 2 * PAGE, mr.lkey)
    expect(mover.move('WRITE', sge, mover.mr.rkey, mover.mr.buf),
           'LOC_PROT_ERR')


def check_protect(rig):
    """Memory that the process itself cannot write."""
    mover, base, mr = demanding(rig, prot=mmap.PROT_READ)
    expect(mover.read(PAGE, mr.rkey, base), bytes(PAGE))
    expect(mover.write(stamp(1), mr.rkey, base), 'REM_ACCESS_ERR')
    mover = Mover(rig)
    mr = mover.demand(MIB, base)
    expect(libc.mprotect(base, MIB, BOTH), 0)
    expect(mover.write(stamp(1), mr.rkey, base), 'SUCCESS')


def check_implicit(rig):
    """One region of all memory, of later mappings too."""
    mover = Mover(rig)
    mr = MR(rig.pd, MIB, DEMAND, implicit=True)
    for n in range(5):
        base = map_memory(5 * MIB)
        for at in (0, 2 * MIB - 5000, 5 * MIB - len(stamp(n))):
            expect(mover.write(stamp(n), mr.rkey, base + at), 'SUCCESS')
            expect(ctypes.string_at(base + at, len(stamp(n))), stamp(n))
        expect(libc.munmap(base, 5 * MIB), 0)
    expect(mover.write(stamp(1), mr.rkey, base), 'REM_ACCESS_ERR')
    for address in (0, 1 << 46, (1 << 56) - PAGE):
        mover = Mover(rig)
        mr = MR(rig.pd, MIB, DEMAND, implicit=True)
        expect(mover.write(stamp(1), mr.rkey, address), 'REM_ACCESS_ERR')


def advise(mover, sge, advice, flags=e._IBV_ADVISE_MR_FLAG_FLUSH):
    try:
        mover.rig.pd.advise_mr(advice, flags, [sge])
    except PyverbsRDMAError as error:
        return error.error_code
    return 0


def check_advice(rig):
    """Pages that advice has fetched are not requested; wrong advice is refused."""
    mover, base, mr = demanding(rig, 4 * MIB)
    sge = SGE(base, 4 * MIB, mr.lkey)
    expect(advise(mover, sge, e._IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE), 0)
    before = faults()
    expect(mover.write(stamp(1), mr.rkey, base + 2 * MIB - 100), 'SUCCESS')
    expect(faults(), before)
    # Advice without faults maps only pages that exist: of fresh memory none.
    fresh = map_memory(MIB)
    other = mover.demand(MIB, fresh)
    sge = SGE(fresh, MIB, other.lkey)
    advise(mover, sge, e._IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
    before = faults()
    expect(mover.read(16, other.rkey, fresh), bytes(16))
    expect(faults() > before, True)
    ctypes.memset(fresh + MIB // 2, 1, MIB // 2)
    sge = SGE(fresh + MIB // 2, MIB // 2, other.lkey)
    expect(advise(mover, sge, e._IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT), 0)
    before = faults()
    expect(mover.read(16, other.rkey, fresh + MIB - 16), bytes([1] * 16))
    expect(faults(), before)
    for bad in (SGE(base, 16, mr.lkey ^ 0x100), SGE(base, 16, mover.mr.lkey)):
        expect(advise(mover, bad, e._IBV_ADVISE_MR_ADVICE_PREFETCH) != 0, True)
        expect(advise(mover, bad, e._IBV_ADVISE_MR_ADVICE_PREFETCH, 0) != 0, True)
    for bad in (SGE(base + 1, 4 * MIB, mr.lkey), SGE(base - 1, 16, mr.lkey)):
        expect(advise(mover, bad, e._IBV_ADVISE_MR_ADVICE_PREFETCH) != 0, True)


def check_queue(rig):
    """Advice without waiting is queued up to a bound; after that it is waited for.

    While the device's messages are masked a command takes half a second, and each
    advice is one.
    """
    mover, base, mr = demanding(rig, 4 * MIB)
    place = os.path.basename(os.readlink('/sys/class/infiniband/ernic0/device'))
    mask = f'setpci -s {place} CAP_MSIX+2.w='
    slow = 3
    expect(os.system(f'{mask}c000:c000'), 0)
    start = time.monotonic()
    with subprocess.Popen(f'sleep {slow}; {mask}8000:c000', shell=True) as back:
        for n in range(300):
            sge = SGE(base + n * PAGE, 16, mr.lkey)
            expect(advise(mover, sge, e._IBV_ADVISE_MR_ADVICE_PREFETCH, 0), 0)
        waited = time.monotonic() - start
        expect(back.wait(), 0)
    expect(waited >= slow, True)


def check_many(rig):
    """Regions come and go, and their memory before or after them."""
    mover = Mover(rig)
    for n in range(40):
        base = map_memory(MIB)
        with mover.demand(MIB, base) as mr:
            expect(mover.write(stamp(n), mr.rkey, base), 'SUCCESS')
            expect(ctypes.string_at(base, len(stamp(n))), stamp(n))
            if n % 2:
                expect(libc.munmap(base, MIB), 0)
        if not n % 2:
            expect(libc.munmap(base, MIB), 0)
