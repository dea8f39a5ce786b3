# SPDX-License-Identifier: GPL-2.0-or-later
"""usage: card_memory.py TURNS

The character device of ernic_shell.ko: what the engines of the QDMA copy to the card's
memory comes back, and is in BAR 4; not beyond its end."""
import errno
import glob
import mmap
import os
import sys

BAR4 = 1 << 40                  # ERNIC_SHELL_MAP_CARD
SIZE = 16 << 20
PART = 5 << 20                  # at an odd address


def write_all(node, data, at):
    done = 0
    while done < len(data):
        done += os.pwrite(node, data[done:], at + done)


def read_all(node, size, at):
    data = b''
    while len(data) < size:
        data += os.pread(node, min(size - len(data), 60001), at + len(data))
    return data


def main():
    node = os.open(glob.glob('/dev/ernic-shell-*')[0], os.O_RDWR)
    some, at = os.urandom(PART), 12345
    for turn in range(int(sys.argv[1])):
        data, at = some[turn:] + some[:turn], at + 4099
        write_all(node, data, at)
        assert read_all(node, PART, at) == data
    with mmap.mmap(node, SIZE, offset=BAR4) as card:
        assert card[at:at + PART] == data
        card[:8] = b'by BAR 4'
    assert os.pread(node, 8, 0) == b'by BAR 4'
    assert os.pwrite(node, b'the end', SIZE - 3) == 3
    assert os.pread(node, 9, SIZE - 3) == b'the'
    assert os.pread(node, 9, SIZE) == b''
    try:
        os.pwrite(node, b'!', SIZE)
    except OSError as error:
        assert error.errno == errno.ENOSPC
    else:
        raise AssertionError('a write beyond the end')


main()
