# SPDX-License-Identifier: GPL-2.0-or-later
"""The xib shell by the character device of ernic_shell.ko, after another program: the
ERNIC is off and has no memory, and the MAC has the bits that the driver does not mean."""
import glob
import mmap
import os
import sys

SIZE = 0x400000
ERNIC = 0x300000
# Of the MAC, as after its reset: the transmitter, the receiver.
VALUES = {0x10000c: 0x3003, 0x100014: 0x33}
# XRNICCONF, INTEN, ERRBUFSZ, IPKTERRQSZ, DATBUFSZ, RESPERRSZ
VALUES |= {ERNIC + 0x20000 + at: 0 for at in (0, 0x180, 0x68, 0x90, 0xa8, 0xb8)}
# QPCONF, and lengths of the regions.
VALUES |= {ERNIC + 0x20100 + 0x100 * i: 0 for i in range(1, 17)}
VALUES |= {ERNIC + 0x18 + 0x100 * i: 0 for i in range(256)}


def main():
    node = os.open(glob.glob('/dev/ernic-shell-*')[0], os.O_RDWR)
    with (mmap.mmap(node, SIZE, offset=0) as bar,
          memoryview(bar).cast('I') as registers):
        wrong = [(hex(at), hex(registers[at // 4])) for at, value in VALUES.items()
                 if registers[at // 4] != value]
    sys.exit(f'not as it should be: {wrong}' if wrong else 0)


main()
