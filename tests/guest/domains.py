# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests that libvirt starts, from the XML of docs/user-guide.md.

Each libvirtd here has folders of its own, so that it does not know the domains and the
settings of this machine. These differ from the document: names, paths, the accelerator,
and the way to boot.
"""
import contextlib
import itertools
import os
import re
import shutil
import socket
import subprocess
import textwrap
import threading
import time
import xml.etree.ElementTree as ET

import folders
import guest
import links
import stock
from monitor import GuestError

GUIDE = guest.ROOT / 'docs/user-guide.md'
QEMU = 'http://libvirt.org/schemas/domain/qemu/1.0'
ET.register_namespace('qemu', QEMU)
NOBODY = 65534
SECONDS = 180                   # of a command of virsh; the host may be busy
# What libvirt keeps on a machine, for each part of Daemon.folder.
PLACES = {'etc': '/etc/libvirt', 'lib': '/var/lib/libvirt', 'run': '/run/libvirt',
          'cache': '/var/cache/libvirt', 'log': '/var/log/libvirt'}
BRIDGE = 'br0'
KERNEL = '6.12-cloud'
LAB, MAC = '/run/lab', '52:54:00:00:00:01'


# ---- what the document has --------------------------------------------------------

def blocks():
    """The indented blocks of the section about libvirt."""
    section = GUIDE.read_text().partition('\n## With libvirt\n')[2].partition('\n## ')[0]
    return [textwrap.dedent(block) for block in
            re.findall(r'(?:^(?:    .*)?\n)+', section, re.M) if block.strip()]


def domain(word):
    """The first domain of the document with that word, as a tree."""
    return ET.fromstring(next(block for block in blocks()
                              if block.lstrip().startswith('<domain') and word in block))


def in_a_lab():
    return domain('lab=')


def as_an_interface():
    """That with a lab, with what the other one has in the place of its device."""
    root, part = in_a_lab(), domain('<interface')
    root.remove(root.find(f'{{{QEMU}}}commandline'))
    root.find('devices').append(part.find('devices/interface'))
    root.append(part.find(f'{{{QEMU}}}override'))
    return root


def by_the_hook():
    """The same, by the script for KubeVirt."""
    plain = as_an_interface()
    plain.remove(plain.find(f'{{{QEMU}}}override'))
    block = next(block for block in blocks() if 'onDefineDomain: |\n' in block)
    script = textwrap.dedent(block.partition('onDefineDomain: |\n')[2])
    return ET.fromstring(subprocess.run(
        ['/bin/sh', '-c', script, 'onDefineDomain', '--vmi', '{}', '--domain',
         ET.tostring(plain, 'unicode')], stdout=subprocess.PIPE, check=True).stdout)


# ---- libvirtd ---------------------------------------------------------------------

def as_nobody():
    """For a session: libvirt takes root for the user of the system."""
    return [] if os.getuid() else ['setpriv', f'--reuid={NOBODY}', f'--regid={NOBODY}',
                                   '--clear-groups', '--pdeathsig=KILL']


class Daemon:
    """A libvirtd. system: of root, with the network of a machine that has only a bridge;
    else of an ordinary user. number: it takes itself for another host than others."""

    def __init__(self, folder, system, number=1):
        self.folder = folder / str(number)
        self.system = system
        for part in (*PLACES, 'home/libvirt'):
            (self.folder / part).mkdir(parents=True)
        self.run = self.folder / ('run' if system else 'home/libvirt')
        self.logs = self.folder / ('log/qemu' if system else 'home/libvirt/qemu/log')
        self.uri = (f'qemu+unix:///{"system" if system else "session"}?socket='
                    f'{self.run / "libvirt-sock"}')
        self.configure(number)
        with open(self.folder / 'said', 'wb') as log:
            self.process = subprocess.Popen(
                list(map(str, self.command())), stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, preexec_fn=guest.die_with_parent)
        end = time.monotonic() + SECONDS
        while self.try_virsh('list').returncode:
            if self.process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise GuestError('libvirtd does not answer\n' + self.said())
            time.sleep(0.2)

    def configure(self, number):
        """Without passwords and virtlogd, with a user whom every system has."""
        (self.folder / 'etc/libvirtd.conf').write_text(
            f'host_uuid = "00000000-0000-4000-8000-{number:012}"\n'
            'auth_unix_rw = "none"\n')
        (self.folder / ('etc' if self.system else 'home/libvirt') / 'qemu.conf'
         ).write_text('stdio_handler = "file"\n'
                      + 'user = "nobody"\ngroup = "nogroup"\n' * self.system)
        if os.getuid() == 0 and not self.system:
            give(self.folder)

    def command(self):
        """In a namespace of processes: none of them outlives the one that started it.
        The shell is their init."""
        unshare = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']
        run = f'libvirtd -f {self.folder}/etc/libvirtd.conf; exit'
        if self.system:
            setup = [f'mkdir -p {" ".join(PLACES.values())}',
                     *(f'mount --bind {self.folder / part} {place}'
                       for part, place in PLACES.items()),
                     # libvirtd wants its default user before it reads qemu.conf;
                     # the package libvirt-daemon-system would create it.
                     *(f'(cat /etc/{file}; echo libvirt-qemu:x:{NOBODY}:{more}) '
                       f'>{self.folder}/{file}\n'
                       f'mount --bind {self.folder}/{file} /etc/{file}'
                       for file, more in (('passwd', f'{NOBODY}::/:/bin/false'),
                                          ('group', ''))),
                     f'ip link add {BRIDGE} mtu 9000 type bridge',
                     f'ip link set {BRIDGE} up', run]
            return [*unshare, '--net', 'sh', '-ec', '\n'.join(setup)]
        if os.getuid():
            unshare += ['--user', '--map-current-user']
        homes = [f'{name}={self.folder / "home"}' for name in (
            'HOME', 'XDG_RUNTIME_DIR', 'XDG_CONFIG_HOME', 'XDG_CACHE_HOME',
            'XDG_DATA_HOME')]
        return [*unshare, *as_nobody(), 'env', '-i',
                'PATH=/usr/sbin:/usr/bin:/sbin:/bin', *homes, 'sh', '-c', run]

    def said(self):
        return (self.folder / 'said').read_text(errors='replace')

    def try_virsh(self, *words):
        prefix = [] if self.system else as_nobody()
        return subprocess.run(
            [*prefix, 'env', f'HOME={self.folder / "home"}', 'virsh', '-q', '-c',
             self.uri, *map(str, words)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            timeout=SECONDS)

    def virsh(self, *words):
        """The output of a command that has to succeed."""
        done = self.try_virsh(*words)
        if done.returncode:
            raise GuestError(f'virsh {words}: {done.stdout}\n{self.said()}')
        return done.stdout

    def stop(self):
        self.process.kill()
        self.process.wait(guest.STOP_SECONDS)


def give(folder):
    """To the user of a session."""
    for path in (folder, *folder.rglob('*')):
        os.chown(path, NOBODY, NOBODY)


# ---- the guests -------------------------------------------------------------------

class Domain(stock.StockGuest):
    """A guest of libvirt. daemon: whose domain it is now. xml: a tree like in_a_lab()."""

    def __init__(self, number, folder, daemon, xml):
        # pylint: disable=super-init-not-called
        self.name = f'guest{number + 1}'
        self.folder = folder
        self.daemon = daemon
        self.process = daemon.process
        self.console = folder / f'{self.name}.console'
        self.serial = folder / f'{self.name}.serial'
        self.agent = folder / f'{self.name}.agent'
        self.log = daemon.logs / f'{self.name}.log'
        self.numbers = itertools.count(1)
        self.answers = {}
        self.changed = threading.Condition()
        self.socket = self.reader = None
        self.started = time.monotonic()
        file = folder / f'{self.name}.xml'
        file.write_text(ET.tostring(self.fill_in(xml, number), 'unicode'))
        daemon.virsh('define', file)
        daemon.virsh('start', self.name)

    def fill_in(self, xml, number):
        """Change what a reader of the document changes, and boot without the disk: the
        kernel and the two serial ports are those of stock.py."""
        image = self.folder / f'{self.name}.qcow2'
        subprocess.run(['qemu-img', 'create', '-q', '-f', 'qcow2', image, '1G'],
                       check=True)
        if os.getuid() == 0:
            os.chown(image, NOBODY, NOBODY)
        xml.set('type', os.environ.get('GUEST_ACCEL', 'tcg').replace('tcg', 'qemu'))
        xml.find('name').text = self.name
        system = xml.find('os')
        for name, value in (('kernel', self.folder / 'kernel'),
                            ('initrd', self.folder / 'initrd'),
                            ('cmdline', 'console=ttyS0 quiet panic=-1 mitigations=off '
                             'no_timer_check rdinit=/bin/sh')):
            ET.SubElement(system, name).text = str(value)
        devices = xml.find('devices')
        devices.find('emulator').text = str(self.folder / 'qemu-system-x86_64')
        devices.find('disk/source').set('file', str(image))
        devices.remove(devices.find('serial'))
        for path in (self.serial, self.agent):
            port = ET.SubElement(devices, 'serial', type='unix')
            ET.SubElement(port, 'source', mode='bind', path=str(path))
            if path == self.serial:
                ET.SubElement(port, 'log', file=str(self.console), append='on')
        text = ET.tostring(xml, 'unicode')
        for old, new in ((LAB, str(self.folder / 'lab')), (MAC, links.mac(number))):
            text = text.replace(old, new)
        return ET.fromstring(text)

    def connect(self, _=None):
        """To the agent, in the QEMU that has the guest now."""
        self.disconnect()
        self.gone = False
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(self.agent))
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def disconnect(self):
        if self.socket:
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)
            self.reader.join()
            self.socket.close()

    def reconnect(self):
        """After another QEMU has got the guest: wait until it answers."""
        self.connect()
        end = time.monotonic() + guest.SECONDS
        while time.monotonic() < end:
            job = self.start('true', 5)
            with self.changed:
                if self.changed.wait_for(job.done, 5) and not self.gone:
                    return
        raise GuestError(f'{self.name}: no agent\n' + self.tail())

    def migrate(self, target):
        """To another daemon. The source removes its sockets, so there are new ones."""
        xml = self.daemon.virsh('dumpxml', '--migratable', self.name)
        for name in ('serial', 'agent'):
            old = getattr(self, name)
            setattr(self, name, old.with_suffix(old.suffix + '2'))
            xml = xml.replace(f"path='{old}'", f"path='{getattr(self, name)}'")
        file = self.folder / f'{self.name}.target.xml'
        file.write_text(xml)
        self.daemon.virsh('migrate', '--live', '--persistent', '--undefinesource',
                          '--unsafe', '--xml', file, self.name, target.uri,
                          '--migrateuri', 'tcp://127.0.0.1')
        self.daemon = target
        self.reconnect()

    def wait_boot(self):
        self.connect()
        self.wait_agent()
        return self.age()

    def fate(self):
        return f'is {self.daemon.try_virsh("domstate", self.name).stdout.strip()}'

    def stop(self):
        self.disconnect()
        self.daemon.try_virsh('destroy', self.name)
        return ''


class Domains(list):
    """Two of them. system: of the system, as interfaces of libvirt on a bridge; else of
    the daemons of two sessions, in a lab."""

    def __init__(self, system):
        super().__init__()
        self.folder = folders.make('ernic-domains.')
        self.daemons = []
        try:
            self.boot(system)
        except BaseException:
            self.close()
            raise

    def boot(self, system):
        self.folder.chmod(0o755)
        image = stock.find_image(KERNEL)
        # Below root's home they are out of reach.
        for file in (guest.find_qemu(), image / 'kernel', image / 'initrd'):
            shutil.copy(file, self.folder)
        if os.getuid() == 0 and not system:
            give(self.folder)
        for number in (1,) if system else (1, 2):
            self.daemons.append(Daemon(self.folder, system, number))
        makers = (as_an_interface, by_the_hook) if system else (in_a_lab, in_a_lab)
        for number, make in enumerate(makers):
            self.append(Domain(number, self.folder, self.daemons[0], make()))
        self.boot_seconds = [one.wait_boot() for one in self]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for one in self:
            one.stop()
        self.clear()
        for daemon in self.daemons:
            daemon.stop()
        folders.remove(self.folder)
