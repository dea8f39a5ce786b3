# SPDX-License-Identifier: GPL-2.0-or-later
"""mount_nfs.py SERVER CLIENT: mounts at /mnt over RDMA, as mount.nfs does."""
import ctypes
import os
import sys

server, client = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
options = f'vers=4.1,proto=rdma,port=20049,addr={server},clientaddr={client},sec=sys'
if libc.mount(f'{server}:/'.encode(), b'/mnt', b'nfs4', 0, options.encode()):
    sys.exit(os.strerror(ctypes.get_errno()))
