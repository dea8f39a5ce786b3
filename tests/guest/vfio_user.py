# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests whose device is in another process, by vfio-user.

Our QEMU exports the device (x-vfio-user-server) and has no guest. The guest's QEMU is a
distribution's, which does not know the device: VFIO_USER_CLIENT names it, 10.1 or newer;
else it is that of the backports of Debian 13, which is unpacked into the cache and runs
with its own libraries, as it is.
"""
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import guest
import mlx5
import stock
from monitor import CACHE, GuestError, Monitor

RELEASE = 'trixie'
# Those whose version in the release is too old for the QEMU of the backports.
PACKAGES = ('qemu-system-x86', 'qemu-system-common', 'qemu-system-data', 'seabios')
KEYRING = Path('/usr/share/keyrings/debian-archive-keyring.gpg')
SECONDS = 60                    # until a server listens
SCRIPT = '''#!/bin/sh
exec {root}/usr/lib64/ld-linux-x86-64.so.2 \\
    --library-path {root}/usr/lib/x86_64-linux-gnu {root}/usr/bin/qemu-system-x86_64 \\
    -L {root}/usr/share/qemu -L {root}/usr/share/seabios "$@"
'''


def archive():
    """The place that this machine gets Debian's packages from."""
    lines = subprocess.run(
        ['apt-get', 'indextargets', '--format', '$(REPO_URI) $(LABEL)',
         'Created-By: Packages', 'Origin: Debian'], stdout=subprocess.PIPE, text=True,
        check=True).stdout.splitlines()
    places = sorted(line.split()[0] for line in lines if line.endswith(' Debian'))
    if not places:
        raise GuestError('apt knows no Debian archive here; run apt-get update, or set '
                         'VFIO_USER_CLIENT')
    return places[0]


def find_client():
    if 'VFIO_USER_CLIENT' in os.environ:
        return os.environ['VFIO_USER_CLIENT']
    folder = CACHE / f'qemu-of-{RELEASE}-backports'
    script = folder / 'qemu-system-x86_64'
    if not script.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        uri = archive()
        include = [f'{name}/{RELEASE}-backports' for name in PACKAGES]
        command = ['mmdebstrap', '--variant=extract',
                   '--include=' + ','.join([*include, 'ipxe-qemu']),
                   '--aptopt=APT::Install-Recommends "false"']
        if KEYRING.exists():
            command.append(f'--keyring={KEYRING}')
        command += [RELEASE, folder / 'root', *(
            f'deb {uri} {suite} main' for suite in (RELEASE, f'{RELEASE}-backports'))]
        with open(folder / 'log', 'wb') as log:
            if subprocess.run(command, stdout=log, stderr=log, check=False).returncode:
                raise GuestError(f'cannot unpack the QEMU of {RELEASE}-backports; see '
                                 f'{folder}/log')
        script.write_text(SCRIPT.format(root=folder / 'root'))
        script.chmod(0o755)
    return script


class Server:
    """A QEMU that exports one device. words: its options, of the device id."""

    def __init__(self, folder, name, words, device='nic'):
        self.name = name
        self.socket = folder / f'{name}.vfio'
        self.qmp = folder / f'{name}.qmp'
        self.log = folder / f'{name}.qemu'
        server = {'qom-type': 'x-vfio-user-server', 'id': 'server', 'device': device,
                  'socket': {'type': 'unix', 'path': str(self.socket)}}
        command = [guest.find_qemu(), '-nodefaults', '-display', 'none',
                   '-name', 'server,debug-threads=on',
                   '-machine', 'x-remote,vfio-user=on',
                   '-qmp', f'unix:{self.qmp},server=on,wait=off', *words,
                   '-object', json.dumps(server)]
        with open(self.log, 'wb') as log:
            self.process = subprocess.Popen(
                list(map(str, command)), stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, preexec_fn=guest.die_with_parent)
        end = time.monotonic() + SECONDS
        while not self.socket.exists():
            if self.process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise GuestError(f'{name} does not listen\n' + self.said())
            time.sleep(0.02)

    def said(self):
        return self.log.read_text(errors='replace')

    def monitor(self):
        return Monitor(self.qmp)

    def threads(self):
        return [file.read_text().strip()
                for file in Path(f'/proc/{self.process.pid}/task').glob('*/comm')]

    def stop(self):
        """It ends by itself after its client."""
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            try:
                self.process.wait(guest.STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Lab(mlx5.Lab):
    """The device of mlx5.Lab, in a server for each guest."""

    cold = 'the device of another process is not in a saved state'

    def __init__(self):
        self.servers = []

    def options(self, n, folder):
        server = Server(folder, f'server{n + 1}', super().options(n, folder))
        self.servers.append(server)
        client = {'driver': 'vfio-user-pci', 'id': 'nic',
                  'socket': {'type': 'unix', 'path': str(server.socket)}}
        return ['-machine', 'memory-backend=ram', '-object',
                f'memory-backend-memfd,id=ram,size={guest.MEMORY_MIB}M,share=on',
                '-device', json.dumps(client)]

    def close(self):
        for server in self.servers:
            server.stop()


class Guests(stock.StockGuests):
    """Guests in the distribution's QEMU."""

    def boot(self, count, qemu, image):
        super().boot(count, find_client(), image)
