# SPDX-License-Identifier: GPL-2.0-or-later
"""Ask the performance management agent of a port for its counters, over the network.

usage: perfquery.py DEVICE GID-INDEX PEER-GID METHOD ATTRIBUTE PORT

perfquery with GIDs instead of LIDs, which RoCE does not have: a MAD through
/dev/infiniband/umad0 to queue pair 1 of the peer. Prints the status of the answer and
its class-specific data in hex; numbers are in Python's notation.
"""
import fcntl
import ipaddress
import os
import select
import struct
import sys

PERFORMANCE = 4                         # the management class
QKEY = 0x80010000
# linux/rdma/ib_user_mad.h: struct ib_user_mad_hdr, struct ib_user_mad_reg_req
HEADER = struct.Struct('=IIIII4s4sHBBBBBB16s4sH6s')
REGISTER, PKEYS = 0xc01c1b01, 0x1b03    # _IOWR(0x1b, 1, 28 bytes), _IO(0x1b, 3)
MAD = struct.Struct('>BBBBHHQHHI')
DATA = 64                               # offset of the class-specific data


def ask(device, gid_index, gid, method, attribute, port):
    name = next(name for name in os.listdir('/sys/class/infiniband_mad')
                if name.startswith('umad') and open(
                    f'/sys/class/infiniband_mad/{name}/ibdev',
                    encoding='ascii').read().strip() == device)
    fd = os.open(f'/dev/infiniband/{name}', os.O_RDWR)
    fcntl.ioctl(fd, PKEYS)
    request = bytearray(28)             # of no class: for answers only
    request[20] = 1                     # the queue pair
    fcntl.ioctl(fd, REGISTER, request)
    agent = struct.unpack_from('=I', request)[0]
    mad = bytearray(256)
    MAD.pack_into(mad, 0, 1, PERFORMANCE, 1, method, 0, 0, 0x4711, attribute, 0, 0)
    mad[DATA + 1] = port
    head = HEADER.pack(agent, 0, 3000, 2, 0, struct.pack('>I', 1),
                       struct.pack('>I', QKEY), 0, 0, 0, 1, gid_index, 64, 0,
                       ipaddress.IPv6Address(gid).packed, bytes(4), 0, bytes(6))
    os.write(fd, head + mad)
    if not select.select([fd], [], [], 20)[0]:
        raise SystemExit('no answer')
    answer = os.read(fd, len(head) + len(mad))
    status = struct.unpack_from('=I', answer, 4)[0]
    if status:
        raise SystemExit(f'not sent: {status}')
    answer = answer[len(head):]
    return MAD.unpack_from(answer)[4], answer[DATA:].hex()


if __name__ == '__main__':
    numbers = [int(word, 0) for word in sys.argv[4:7]]
    print(*ask(sys.argv[1], int(sys.argv[2]), sys.argv[3], *numbers))
