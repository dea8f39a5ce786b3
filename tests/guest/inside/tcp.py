#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Move random bytes through TCP and print their SHA-256.

usage: tcp.py PORT              receive until the other end closes
       tcp.py PORT ADDRESS MIB  send
"""
import hashlib
import os
import socket
import sys
import time

CHUNK = 1 << 20


def receive(port):
    listener = socket.create_server(('::', port), family=socket.AF_INET6,
                                    dualstack_ipv6=True)
    connection = listener.accept()[0]
    while data := connection.recv(CHUNK):
        yield data


def connect(address, port):
    for _ in range(100):                # the other end may not listen yet
        try:
            return socket.create_connection((address, port), timeout=30)
        except ConnectionRefusedError:
            time.sleep(0.1)
    sys.exit('nobody listens')


def send(address, port, mib):
    with connect(address, port) as connection:
        for _ in range(mib):
            data = os.urandom(CHUNK)
            connection.sendall(data)
            yield data


def main():
    port, *rest = sys.argv[1:]
    digest, size = hashlib.sha256(), 0
    for data in send(rest[0], int(port), int(rest[1])) if rest else receive(int(port)):
        digest.update(data)
        size += len(data)
    print(size, digest.hexdigest())


if __name__ == '__main__':
    main()
