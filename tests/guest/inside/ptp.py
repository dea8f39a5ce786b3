# SPDX-License-Identifier: GPL-2.0-or-later
"""The PTP clock of the device: set, stepped and steered; completions in its time."""
import ctypes
import errno
import fcntl
import mmap
import os
import struct
import time

import pyverbs.enums as e
from pyverbs.cq import CQEX, CqInitAttrEx, PollCqAttr

from rig import pair

SECOND = 10**9
PTP = '/sys/class/infiniband/ernic0/device/ptp'
# linux/timex.h, linux/ptp_clock.h
ADJ_FREQUENCY, ADJ_SETOFFSET, ADJ_NANO = 2, 0x100, 0x2000
PTP_SYS_OFFSET_EXTENDED, PTP_ENABLE_PPS = 0xc4c03d09, 0x40043d04
SAMPLES = 5
WC_FLAGS = (e.IBV_WC_STANDARD_FLAGS | e.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
            e.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)


class Timex(ctypes.Structure):
    _fields_ = [('modes', ctypes.c_uint),
                *((name, ctypes.c_long) for name in ('offset', 'freq', 'maxerror',
                                                     'esterror')),
                ('status', ctypes.c_int),
                *((name, ctypes.c_long) for name in ('constant', 'precision',
                                                     'tolerance', 'sec', 'nsec',
                                                     'tick')),
                ('rest', ctypes.c_char * 128)]


class Clock:
    """The PTP clock, by its file."""

    def __init__(self):
        self.file = os.open('/dev/' + os.listdir(PTP)[0], os.O_RDWR)
        self.id = (~self.file << 3) | 3

    def now(self):
        return time.clock_gettime_ns(self.id)

    def adjust(self, modes, **values):
        """0 or the errno."""
        libc = ctypes.CDLL(None, use_errno=True)
        values = Timex(modes=modes, **values)
        failed = libc.clock_adjtime(self.id, ctypes.byref(values)) < 0
        return ctypes.get_errno() if failed else 0

    def step(self, ns):
        assert not self.adjust(ADJ_SETOFFSET | ADJ_NANO, sec=ns // SECOND,
                               nsec=ns % SECOND)

    def steer(self, ppm):
        return self.adjust(ADJ_FREQUENCY, freq=ppm << 16)


def device_ns(ctx):
    return ctx.query_rt_values_ex(e.IBV_VALUES_MASK_RAW_CLOCK)[1]


def near(value, want, by=10 * SECOND):
    assert want <= value < want + by, (value, want)


def steps(clock):
    near(clock.now(), time.time_ns() - 5 * SECOND)
    clock_set = 1000 * SECOND
    time.clock_settime_ns(clock.id, clock_set)
    near(clock.now(), clock_set)
    clock.step(5 * SECOND)
    near(clock.now(), clock_set + 5 * SECOND)
    clock.step(-15 * SECOND)
    near(clock.now(), clock_set - 10 * SECOND)


def rate(clock, ctx):
    """The clock's rate against the device's clock, read in between."""
    for ppm in (0, 50000, -50000, 1):
        assert not clock.steer(ppm)
        before = clock.now(), device_ns(ctx), clock.now()
        time.sleep(0.3)
        after = clock.now(), device_ns(ctx), clock.now()
        passed = (after[1] - before[1]) * (10**6 + ppm) // 10**6
        assert after[0] - before[2] <= passed <= after[2] - before[0], \
            (ppm, before, after)
        assert after[1] - before[1] > SECOND // 5
    assert clock.steer(110000) == errno.ERANGE


def cross(clock):
    """The system's clock before and after each reading; no pulse, no alarm."""
    answer = bytearray(struct.pack('4I', SAMPLES, 0, 0, 0) + bytes(25 * 48))
    fcntl.ioctl(clock.file, PTP_SYS_OFFSET_EXTENDED, answer)
    last = 0
    for sample in struct.iter_unpack('<qIIqIIqII', answer[16:16 + 48 * SAMPLES]):
        before, _, later = (sample[n] * SECOND + sample[n + 1] for n in (0, 3, 6))
        assert last < before <= later, sample
        last = later
    try:
        fcntl.ioctl(clock.file, PTP_ENABLE_PPS, 1)
    except OSError as error:
        assert error.errno == errno.EOPNOTSUPP, error
    else:
        raise AssertionError('a pulse per second')


def completion(end, cq):
    """A WRITE's time, by the device's clock and by the wall clock."""
    end.post('WRITE', 64)
    end = time.monotonic() + 10
    while cq.start_poll(PollCqAttr()):
        assert time.monotonic() < end
    assert cq.status == e.IBV_WC_SUCCESS
    return cq.read_timestamp(), cq.read_completion_wallclock_ns()


def completions(clock, rig):
    """The wall clock of completions is this clock, to the ns, after every change."""
    ctx = rig.ctx
    cq = CQEX(ctx, CqInitAttrEx(cqe=32, wc_flags=WC_FLAGS))
    a, _b = pair(rig, cq=cq)
    for step, ppm in ((0, 0), (3600 * SECOND, 70000), (-60 * SECOND, -70000)):
        clock.step(step)
        assert not clock.steer(ppm)
        before, device_before = clock.now(), device_ns(ctx)
        stamp, wall = completion(a, cq)
        assert before <= wall <= clock.now(), (before, wall)
        assert device_before <= stamp <= device_ns(ctx)
        # Earlier completions are converted to the new time, too.
        clock.step(7 * SECOND)
        assert cq.read_completion_wallclock_ns() == wall + 7 * SECOND
        assert cq.read_timestamp() == stamp
        cq.end_poll()


def page(ctx):
    """The page of the clock can only be read, and is one page."""
    for size, protection in ((mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE),
                             (2 * mmap.PAGESIZE, mmap.PROT_READ)):
        try:
            mmap.mmap(ctx.cmd_fd, size, mmap.MAP_SHARED, protection,
                      offset=mmap.PAGESIZE)
        except OSError:
            continue
        raise AssertionError((size, protection))
    mapped = mmap.mmap(ctx.cmd_fd, mmap.PAGESIZE, mmap.MAP_SHARED, mmap.PROT_READ,
                       offset=mmap.PAGESIZE)
    assert struct.unpack_from('I', mapped)[0] % 2 == 0
    libc = ctypes.CDLL(None, use_errno=True)
    address = next(int(line.split('-')[0], 16) for line in open('/proc/self/maps')
                   if 'uverbs' in line and line.split()[2] == '00001000')
    assert libc.mprotect(ctypes.c_void_p(address), mmap.PAGESIZE,
                         mmap.PROT_READ | mmap.PROT_WRITE) < 0
    mapped.close()


def check_clock(rig):
    context, ptp = rig.ctx, Clock()
    attr = context.query_device_ex()
    assert attr.completion_timestamp_mask == 2**64 - 1 and attr.hca_core_clock == 10**6
    steps(ptp)
    rate(ptp, context)
    cross(ptp)
    completions(ptp, rig)
    page(context)
