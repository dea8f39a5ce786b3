# SPDX-License-Identifier: GPL-2.0-or-later
"""Remove and add the device under its users, in four ways by turns.

usage: rounds.py ROUNDS ADDRESS

users.py and rping are its users, over the network card's ADDRESS. Prints a line for each
round, with its seconds; then the number of pings. Exit status 1 and "wrong: ..." if the
device or a user did not come back.
"""
import os
import pathlib
import random
import re
import subprocess
import sys
import time

DRIVER = '/sys/bus/pci/drivers/ernic'
INTERFACE = 'eth0'
SECONDS = 120                   # for users to come back; the machine may be slow


def run(command):
    subprocess.run(command, shell=True, check=True)


def write(path, text):
    pathlib.Path(path).write_text(text, encoding='ascii')


def unload(place):
    run('rmmod ernic && modprobe ernic')


def remove(place):
    write(f'/sys/bus/pci/devices/{place}/remove', '1')
    write('/sys/bus/pci/rescan', '1')


def reset(place):
    write(f'/sys/bus/pci/devices/{place}/reset', '1')


def rebind(place):
    write(f'{DRIVER}/unbind', place)
    write(f'{DRIVER}/bind', place)


WAYS = (unload, remove, reset, rebind)


def up(address):
    run(f'ip link set {INTERFACE} mtu 9000 up && '
        f'ip addr replace {address}/24 dev {INTERFACE}')


def lines(file, what):
    text = pathlib.Path(file).read_text(encoding='ascii')
    if re.search('^(wrong|Traceback)', text, re.M):
        time.sleep(1)                   # for the rest of it
        text = pathlib.Path(file).read_text(encoding='ascii')
        raise SystemExit(text[-3000:])
    return text.count(what)


def ready(count):
    end = time.monotonic() + SECONDS
    while lines('/tmp/users', 'ready\n') < count:
        if time.monotonic() > end:
            raise SystemExit(f'wrong: users not ready in round {count}')
        time.sleep(0.01)


def start_users(address):
    """Start the users; those of rdma_cm start again whenever they end."""
    users = ['exec python3 /tmp/inside/users.py >/tmp/users 2>&1',
             f'while :; do rping -s -P -a {address}; sleep 0.1; done',
             f'while :; do rping -c -a {address} -v -C 100000 >>/tmp/pings; '
             'sleep 0.1; done']
    for file in ('/tmp/users', '/tmp/pings'):
        write(file, '')
    return [subprocess.Popen(['sh', '-c', command], start_new_session=True,
                             stderr=subprocess.DEVNULL) for command in users]


def main():
    rounds, address = int(sys.argv[1]), sys.argv[2]
    moment = random.Random(4711)
    up(address)
    users = start_users(address)
    try:
        for n in range(rounds):
            start = time.monotonic()
            ready(n + 1)
            time.sleep(moment.random() * 0.2)
            way = WAYS[n % len(WAYS)]
            way(os.readlink('/sys/class/infiniband/ernic0/device').split('/')[-1])
            up(address)
            print(n, way.__name__, f'{time.monotonic() - start:.1f}', flush=True)
        ready(rounds + 1)
    finally:
        for user in users:
            os.killpg(user.pid, 9)
            user.wait()
    print('pings', lines('/tmp/pings', 'ping data'))


if __name__ == '__main__':
    main()
