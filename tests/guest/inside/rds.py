# SPDX-License-Identifier: GPL-2.0-or-later
"""rds.py ADDRESS: echo the first bytes of datagrams; rds.py ADDRESS PEER: send them.

Reliable Datagram Sockets, which choose RDMA by the address.
"""
import socket
import sys
import time

PORT, COUNT, ECHO = 4000, 100, 16
END = b'end'


def message(n):
    return bytes(i * n & 0xff for i in range(256)) * (n * n // 80 + 1)


def main():
    address, peer = sys.argv[1], sys.argv[2:]
    sock = socket.socket(socket.AF_RDS if hasattr(socket, 'AF_RDS') else 21,
                         socket.SOCK_SEQPACKET)
    sock.bind((address, PORT))
    # Datagrams to an unbound address are dropped.
    open('/tmp/rds.bound', 'w').close()
    sock.settimeout(60)
    for n in range(COUNT):
        if not peer:
            data, sender = sock.recvfrom(1 << 16)
            assert data == message(n), n
            sock.sendto(data[:ECHO], sender)
            continue
        sock.sendto(message(n), (peer[0], PORT))
        assert sock.recv(1 << 16) == message(n)[:ECHO], n
    if peer:
        print(COUNT, 'echoes')
        sock.sendto(END, (peer[0], PORT))
        time.sleep(2)           # it is still on its way; nothing depends on it
        return
    # The last echo is still on its way, too.
    try:
        assert sock.recv(1 << 16) == END
    except TimeoutError:
        pass


main()
