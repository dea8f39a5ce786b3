# SPDX-License-Identifier: GPL-2.0-or-later
"""Inputs of the target "ernic" (target.c): the operations of ops.c, as bytes."""
import struct

SEPARATOR = b'FUZZ'
(READ, WRITE, RAM, FILL, CONFIG_READ, CONFIG_WRITE, STEP, FRAME, DATAGRAM, LINK, PEER,
 STATISTICS, STOP, RESET, MIGRATE) = range(15)
SIZES = {1: 0, 2: 1, 4: 2, 8: 3}
WIRE = 0xff


class Script:
    """Operations in their order."""

    def __init__(self):
        self.ops = []

    def add(self, op, layout, *operands, data=b''):
        self.ops.append(struct.pack('<B' + layout, op, *operands) + data)

    def read(self, device, bar, offset, size=4):
        self.add(READ, 'BBI', SIZES[size], device << 4 | bar, offset)

    def write(self, device, bar, offset, value, size=4):
        self.add(WRITE, 'BBIQ', SIZES[size], device << 4 | bar, offset, value)
        # Bytes that are missing are 0.
        self.ops[-1] = self.ops[-1].rstrip(b'\0')

    def ram(self, address, data):
        if len(data) > 16 and data == data[:1] * len(data):
            self.fill(address, len(data), data[0])
        else:
            self.add(RAM, 'I', address, data=data)

    def fill(self, address, size, byte=0):
        self.add(FILL, 'IIB', address, size, byte)

    def config_read(self, device, offset, size):
        self.add(CONFIG_READ, 'BBB', SIZES[size], device, offset)

    def config_write(self, device, offset, value, size):
        self.add(CONFIG_WRITE, 'BBBI', SIZES[size], device, offset, value)

    def step(self, ns=0):
        self.add(STEP, 'I', ns)

    def link(self, device, down):
        self.add(LINK, 'BB', device, down)

    def peer(self, device, text, port_of=None, remove=False):
        """port_of: the device whose address and port follow the text."""
        flags = remove | (port_of is not None) << 1
        self.add(PEER, 'BBB', device, flags, port_of or 0, data=text.encode())

    def statistics(self, device):
        self.add(STATISTICS, 'B', device)

    def stop(self, ns=1):
        self.add(STOP, 'I', ns)

    def reset(self, device):
        self.add(RESET, 'B', device)

    def migrate(self, device):
        self.add(MIGRATE, 'B', device)

    def pack(self, limit=16 * 1024):
        """The input: as many whole operations as fit."""
        out = b''
        for op in self.ops:
            if len(out) + len(op) > limit:
                break
            # The bytes of the separator inside of an operation would split it.
            out += op.replace(SEPARATOR, b'FUZz') + SEPARATOR
        return out[:-len(SEPARATOR)]
