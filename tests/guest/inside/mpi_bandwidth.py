# SPDX-License-Identifier: GPL-2.0-or-later
"""mpi_bandwidth.py MIB: moves so much from process 0 to 1 and back, and verifies it."""
import sys
import time

from mpi4py import MPI

SIZE = 1 << 20
world = MPI.COMM_WORLD
rank = world.Get_rank()
other = 1 - rank
start = time.monotonic()
for n in range(int(sys.argv[1])):
    sent = bytes((n * 7 + rank + i) & 0xff for i in range(256)) * (SIZE // 256)
    wanted = bytes((n * 7 + other + i) & 0xff for i in range(256)) * (SIZE // 256)
    got = bytearray(SIZE)
    world.Sendrecv([sent, MPI.BYTE], other, n, [got, MPI.BYTE], other, n)
    if got != wanted:
        world.Abort(3)
world.Barrier()
if rank == 0:
    seconds = time.monotonic() - start
    print(f'verified {sys.argv[1]} MiB each way, '
          f'{int(sys.argv[1]) / seconds:.1f} MiB/s each way')
