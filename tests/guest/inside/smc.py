# SPDX-License-Identifier: GPL-2.0-or-later
"""Sockets of SMC-R, which move the bytes of TCP programs by RDMA.

usage: smc.py eid NAME                              give this host an EID of users
       smc.py serve PORT                            answer each message by its MD5 sum
       smc.py send ADDRESS PORT CONNECTIONS BYTES   send messages to that server
"""
import hashlib
import os
import random
import socket
import struct
import sys
import threading

SMC = 43                        # the address family; addresses are those of IPv4
NETLINK_GENERIC = 16
ACK = 5                         # NLM_F_REQUEST | NLM_F_ACK
CONTROL, GET_FAMILY, FAMILY_ID, FAMILY_NAME = 16, 3, 1, 2
ADD_EID, EID, EID_SIZE = 10, 1, 32
LISTENS = '/tmp/smc.listens'


def attribute(kind, data):
    return struct.pack('=HH', 4 + len(data), kind) + data + bytes(-len(data) % 4)


def generic(kind, command, version, attributes):
    """Send a message of generic netlink; the attributes of the answer, if any."""
    text = struct.pack('=BBH', command, version, 0) + attributes
    answer = b''
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC) as sock:
        sock.send(struct.pack('=IHHII', 16 + len(text), kind, ACK, 1, 0) + text)
        while True:
            data = sock.recv(1 << 16)
            while data:
                length, got = struct.unpack_from('=IH', data)
                if got == 2:                    # NLMSG_ERROR, also of success
                    error, = struct.unpack_from('=i', data, 16)
                    if error:
                        raise OSError(-error, os.strerror(-error))
                    return answer
                answer, data = data[20:length], data[(length + 3) & ~3:]


def family(name):
    answer = generic(CONTROL, GET_FAMILY, 1, attribute(FAMILY_NAME, name + b'\0'))
    while struct.unpack_from('=HH', answer)[1] != FAMILY_ID:
        answer = answer[(struct.unpack_from('=H', answer)[0] + 3) & ~3:]
    return struct.unpack_from('=H', answer, 4)[0]


def add_eid(name):
    generic(family(b'SMC_GEN_NETLINK'), ADD_EID, 1,
            attribute(EID, name.encode().ljust(EID_SIZE) + b'\0'))


def new_socket():
    """Python has no addresses for this family, so it believes that this is TCP."""
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0,
                         socket.socket(SMC, socket.SOCK_STREAM).detach())


def receive(sock, length):
    data = b''
    while len(data) < length:
        part = sock.recv(length - len(data))
        if not part:
            raise OSError('the peer has gone')
        data += part
    return data


def answer(sock):
    try:
        while True:
            left, = struct.unpack('>Q', receive(sock, 8))
            found = hashlib.md5()
            while left:
                part = receive(sock, min(left, 1 << 16))
                found.update(part)
                left -= len(part)
            sock.sendall(found.digest())
    except OSError:
        sock.close()


def serve(port):
    listening = new_socket()
    listening.bind(('0.0.0.0', port))
    listening.listen(64)
    open(LISTENS, 'w').close()
    while True:
        threading.Thread(target=answer, args=(listening.accept()[0],)).start()


def send(address, port, length, failed):
    try:
        sock = new_socket()
        sock.connect((address, port))
        data = random.randbytes(1 << 16)
        found = hashlib.md5()
        sock.sendall(struct.pack('>Q', length))
        for at in range(0, length, len(data)):
            part = data[:length - at]
            sock.sendall(part)
            found.update(part)
        if receive(sock, 16) != found.digest():
            raise OSError('wrong data')
        sock.close()
    except OSError as e:
        failed.append(e)


def main():
    command, *words = sys.argv[1:]
    if command == 'eid':
        add_eid(*words)
    elif command == 'serve':
        serve(int(words[0]))
    else:
        address, port, connections, length = words[0], *map(int, words[1:])
        failed = []
        threads = [threading.Thread(target=send, args=(address, port, length, failed))
                   for _ in range(connections)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failed:
            sys.exit(f'{len(failed)} failed: {failed[0]}')


main()
