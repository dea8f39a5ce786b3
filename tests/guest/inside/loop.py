# SPDX-License-Identifier: GPL-2.0-or-later
"""RDMA WRITEs from one queue pair of a device to another, for the tests of the driver.

usage: loop.py ROUNDS SECONDS

They go on until the device is removed, then on the one that is added, until ROUNDS are
over or the time is. Prints "ready", each asynchronous event, the number of writes and the
reason of the end.
"""
import os
import sys
import time

from pyverbs.pyverbs_error import PyverbsError, PyverbsRDMAError

from rig import Rig, pair, statuses


def gone(rig, seconds=0):
    """Whether the device is gone within so many seconds; prints the events that came."""
    found = rig.events(['DEVICE_FATAL'] if seconds else (), seconds)
    for name in found:
        print('event', name, flush=True)
    return 'DEVICE_FATAL' in found


def write(end):
    """One WRITE; the reason why it failed, or None."""
    try:
        end.post('WRITE', 4096)
    except PyverbsRDMAError as error:
        return f'post {error.error_code}'
    found = statuses(end.take(1, 2))
    return None if found == ['SUCCESS'] else f'status {found}'


def traffic(seconds):
    """WRITEs until the device is gone, or for so many seconds. Returns whether it is."""
    rig = Rig('ernic0')
    a, _b = pair(rig)
    writes, why = 0, None
    end = time.monotonic() + seconds
    print('ready', flush=True)
    while not why and time.monotonic() < end:
        why = write(a)
        # An error may come before the event: the core destroys the region first.
        if gone(rig) or (why and gone(rig, 5)):
            why = 'gone'
        writes += not why
    print('writes', writes, 'end', why or 'time', flush=True)
    rig.close()
    return why == 'gone'


def again(rounds, seconds):
    """The same with the next device, until so many have been removed."""
    end = time.monotonic() + seconds
    while rounds and time.monotonic() < end:
        try:
            rounds -= traffic(end - time.monotonic())
        except (PyverbsError, StopIteration):   # not there yet, or removed again
            time.sleep(0.02)
    print('left', rounds, flush=True)


if __name__ == '__main__':
    again(int(sys.argv[1]), float(sys.argv[2]))
    os._exit(0)                 # without the objects that Python still holds
