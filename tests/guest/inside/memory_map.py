# SPDX-License-Identifier: GPL-2.0-or-later
"""While one processor changes the memory map, the timer of another has to run.

usage: memory_map.py CONFIG SECONDS     CONFIG: the configuration space, a file, of a
                                        function that no driver uses
"""
import os
import sys
import time

COMMAND, MEMORY = 4, 2


def sleep(seconds):
    """Sleep as often as possible: each sleep writes to the local APIC."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.0005)


def change(config, seconds):
    """Enable and disable its BARs."""
    count, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        for command in (0, MEMORY):
            os.pwrite(config, bytes([command]), COMMAND)
        count += 1
    return count


child = os.fork()
os.sched_setaffinity(0, {1 if child == 0 else 0})
if child == 0:
    sleep(float(sys.argv[2]))
    os._exit(0)
print('changes', change(os.open(sys.argv[1], os.O_RDWR), float(sys.argv[2])))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0)
