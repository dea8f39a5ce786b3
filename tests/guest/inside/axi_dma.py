# SPDX-License-Identifier: GPL-2.0-or-later
"""usage: axi_dma.py mm2s|s2mm

The xib shell by the character device of ernic_shell.ko: leads a channel of the AXI DMA to
a descriptor that is not in memory, where it halts with an error as soon as it works. The
driver may set RUN before the descriptor is changed: then the channel halts at the last
one, which is complete."""
import glob
import mmap
import os
import sys

PAGE = 0x200000                 # of the registers of the AXI DMA
CHANNEL = {'mm2s': 0x0, 's2mm': 0x30}
CONTROL, CURRENT_HIGH, TAIL_HIGH = 0x0, 0xc, 0x14
RUN = 1
NOWHERE = 1 << 18               # bit 50 of an address


def main():
    node = os.open(glob.glob('/dev/ernic-shell-*')[0], os.O_RDWR)
    with (mmap.mmap(node, 4096, offset=PAGE) as dma,
          memoryview(dma).cast('I') as registers):
        at = CHANNEL[sys.argv[1]]
        control = registers[(at + CONTROL) // 4]
        registers[(at + CONTROL) // 4] = control & ~RUN
        registers[(at + CURRENT_HIGH) // 4] = NOWHERE
        registers[(at + CONTROL) // 4] = control
        registers[(at + TAIL_HIGH) // 4] = NOWHERE


main()
