# SPDX-License-Identifier: GPL-2.0-or-later
"""Two machines, their link, and everything that happens to them."""
import shutil
import subprocess
import time
from pathlib import Path

from machine import (INTERFACES, Machine, Wrong, folders, guest, os, start,
                     wait)

# Seconds of a machine's absence during which its peer runs.
ABSENCE = 0.5
PORTS = 6                               # of the hub
POSTCOPY = [{'capability': 'postcopy-ram', 'state': True}]
SLOW = 1 << 20                          # bytes a second, until the machine goes on
NIC = '/machine/peripheral/nic'


class Udp:
    """Each machine has a socket; add-peer connects them."""

    name = 'UDP'

    def __init__(self, folder):
        del folder

    def options(self):
        return []

    def properties(self, host):
        del host
        return ',roce-udp=127.0.0.1:0'

    def join(self, machines):
        """Every machine knows the endpoint of each, also of one that is new."""
        self.ports = [one.qmp('qom-get', path=NIC, property='roce-port')
                      for one in machines]
        for one in machines:
            for host, port in enumerate(self.ports, 1):
                self.peer(one, host, port)

    def peer(self, one, host, port):
        """Let packets for the host go to that port; None: nowhere."""
        try:
            one.qmp('qom-set', path=NIC, property='remove-peer', value=f'10.0.0.{host}')
        except guest.GuestError:
            pass                        # it was not there
        if port:
            one.qmp('qom-set', path=NIC, property='add-peer',
                    value=f'10.0.0.{host}=127.0.0.1:{port}')

    def cut(self, machines):
        for one in machines:
            self.peer(one, 3 - one.host, None)

    def mend(self, machines):
        self.join(machines)

    def close(self):
        pass


class Netdev:
    """Each machine has a netdev; a QEMU without a machine is the hub between them."""

    name = 'netdev'

    def __init__(self, folder):
        self.folder = folder
        self.used = 0
        self.waiting = []
        self.free_port = self.port(PORTS - 1)
        command = [os.environ['QEMU'], '-M', 'none', '-nodefaults', '-display', 'none']
        for n in range(PORTS):
            command += ['-netdev', f'stream,id=s{n},server=on,addr.type=unix,'
                        f'addr.path={self.port(n)}',
                        '-netdev', f'hubport,id=h{n},hubid=0,netdev=s{n}']
        self.hub = start(command, subprocess.DEVNULL)
        wait(self.free_port.exists, 'the hub starts')

    def port(self, n):
        return self.folder / f'hub{n}'

    def options(self):
        """The last port is free for other frames.

        A machine connects once join() has been called: the hub stops while a machine
        that still waits for its state takes no frames.
        """
        self.used += 1
        path = self.folder / f'wire{self.used}'
        self.waiting.append((self.port(self.used % (PORTS - 1)), path))
        return ['-netdev', 'stream,id=wire,addr.type=unix,reconnect-ms=20,'
                f'addr.path={path}']

    def properties(self, host):
        return f',netdev=wire,mac=52:54:00:00:00:{host:02x}'

    def join(self, machines):
        for port, path in self.waiting:
            path.symlink_to(port)
        self.waiting.clear()

    def cut(self, machines):
        for one in machines:
            one.qmp('set_link', name='nic', up=False)

    def mend(self, machines):
        for one in machines:
            one.qmp('set_link', name='nic', up=True)

    def close(self):
        self.hub.kill()
        self.hub.wait()


LINKS = {'UDP': Udp, 'netdev': Netdev}


def no_postcopy():
    """Why this user cannot receive a machine by postcopy, or ''."""
    try:
        allowed = int(Path('/proc/sys/vm/unprivileged_userfaultfd').read_text())
    except OSError:
        allowed = 0
    if allowed or os.geteuid() == 0 or os.access('/dev/userfaultfd', os.W_OK):
        return ''
    return 'userfaultfd is for root alone here'


class Absence:
    """A machine is away; its peer runs for ABSENCE seconds of it, and then waits.

    The retries of its connection then bridge the absence on a host that is so busy that
    a new process takes ten seconds to load a state.
    """

    def __init__(self, peer):
        self.peer = peer
        self.start = time.monotonic()
        self.waits = False

    def over(self, yes):
        """Whether it is over, and otherwise what that means for the peer."""
        if not yes and not self.waits and time.monotonic() > self.start + ABSENCE:
            self.peer.qmp('stop')
            self.waits = True
        return yes

    def last(self, seconds):
        """Return when the peer waits, and the absence has lasted so long."""
        wait(lambda: not self.over(False) and self.waits
             and time.monotonic() > self.start + seconds, 'the peer waits')

    def end(self):
        if self.waits:
            self.peer.qmp('cont')


class Pair:
    """The machines 1 and 2, connected; timeout: the exponent of their ACK timeout.
    properties: further ones of both devices, each after a comma."""

    def __init__(self, interface, link, timeout, properties=''):
        self.folder = folders.make('ernic-soak.')
        self.interface = interface
        self.timeout = timeout
        self.properties = properties
        self.epoch = 0
        self.lost = 0                   # verified by machines that are gone
        self.machines = []
        self.link = None
        try:
            self.link = LINKS[link](self.folder)
            self.machines = [self.start(host) for host in (1, 2)]
            self.link.join(self.machines)
            self.connect()
        except BaseException:
            self.close()
            raise

    def device(self, host):
        """The device and its properties."""
        return ('ernic,interface=verbs,id=nic,addr=4' + self.link.properties(host)
                + INTERFACES[self.interface][1] + self.properties)

    def start(self, host, incoming=False):
        return Machine(self.interface, host, self.folder,
                       [*self.link.options(), '-device', self.device(host)], incoming)

    # ---- the connection ------------------------------------------------------

    def connect(self):
        """Anew: both ends stop, then both go. Nothing that was completed is lost."""
        self.epoch += 1
        before = [one.counters() for one in self.machines]
        for one in self.machines:
            one.command(b'c', self.epoch % 256, self.timeout)
        found = [self.reached(one, 'held') for one in self.machines]
        # A program that has just started has no connection that could have ended.
        if all(counters['epoch'] for counters in before):
            self.nothing_lost([(one['last_completed'], one['last_received'])
                               for one in found])
        self.go_on()

    def reached(self, one, state):
        def now():
            found = one.counters()
            return found if (found['state'] == state and
                             found['epoch'] == self.epoch % 256) else None
        return wait(now, lambda: f'machine {one.host} is {state}: {one.counters()}')

    def nothing_lost(self, ends):
        """ends: what each has completed and received."""
        for (completed, _), (_, received) in (ends, ends[::-1]):
            if completed > received:
                raise Wrong(f'{completed} messages were completed, {received} received')

    def defect(self, kind):
        """Let a machine commit it, to see that it is found."""
        self.machines[0].command(b'd', kind)
        self.progress()
        self.connect()

    def verified(self):
        return [one.counters()['verified'] for one in self.machines]

    def total(self):
        return self.lost + sum(self.verified())

    def progress(self, messages=8):
        """Wait until each has verified so many more."""
        before = self.verified()

        def moved():
            for one in self.machines:
                if one.counters()['state'] == 'broken':
                    raise Wrong(f'the connection of machine {one.host} has ended')
            return all(new >= old + messages for old, new in zip(before, self.verified()))
        wait(moved, lambda: f'{messages} more messages: {before}, {self.verified()}')

    def settle(self):
        """At the end: all messages are completed, and all of these are there."""
        for one in self.machines:
            one.command(b'h')

        def quiet():
            found = [one.counters() for one in self.machines]
            return (all(c['state'] == 'held' and c['posted'] == c['completed']
                        for c in found)
                    and [c['completed'] for c in found]
                    == [c['received'] for c in found[::-1]])
        wait(quiet, lambda: f'rest: {[one.counters() for one in self.machines]}')

    def go_on(self):
        """After settle()."""
        for one in self.machines:
            one.command(b'g')

    def account(self):
        return sum(one.account() for one in self.machines)

    # ---- what happens --------------------------------------------------------

    def move(self, index, file=False, seconds=0, postcopy=False):
        """A machine goes on in another process: through a socket, or a file.

        seconds: how long it is away at least, as on a busy host; with a file. postcopy:
        it goes on while most of its memory is still in the old process.
        """
        old = self.machines[index]
        new = self.start(old.host, incoming=True)
        try:
            path = new.folder / 'state'
            if postcopy:
                for one in old, new:
                    one.qmp('migrate-set-capabilities', capabilities=POSTCOPY)
                old.qmp('migrate-set-parameters', **{'max-bandwidth': SLOW})
            if not file:
                new.qmp('migrate-incoming', uri=f'unix:{path}')
            old.qmp('migrate', uri=f'{"file" if file else "unix"}:{path}')
            if postcopy:
                wait(lambda: self.status(old) == 'active', 'memory is copied')
                old.qmp('migrate-start-postcopy')
            wait(lambda: self.status(old) == 'completed', 'the migration ends')
            if postcopy and not old.qmp('query-migrate')['ram']['postcopy-bytes']:
                raise Wrong('nothing was copied after the machine went on')
            absence = Absence(self.machines[1 - index])
            if file:
                absence.last(seconds)
                old.kill()
                new.qmp('migrate-incoming', uri=f'file:{path}')
            wait(lambda: absence.over(new.qmp('query-status')['status'] == 'running'),
                 'it runs')
            path.unlink(missing_ok=True)
        except BaseException:
            new.kill()
            raise
        old.kill()
        shutil.rmtree(old.folder)
        self.machines[index] = new
        self.link.join(self.machines)
        absence.end()

    def status(self, one):
        """Of the migration of a machine."""
        found = one.qmp('query-migrate')
        if found.get('status') == 'failed':
            raise Wrong(f'migration: {found}')
        return found.get('status')

    def die(self, index):
        """A machine dies with its messages under way."""
        self.lost += self.machines[index].counters()['verified']
        self.machines[index].kill()

    def give_up(self, index):
        """The end that is left finds out, by its retries."""
        one = self.machines[index]
        wait(lambda: one.counters()['state'] == 'broken',
             lambda: f'the retries of machine {one.host} end: {one.counters()}')

    def come_back(self, index):
        shutil.rmtree(self.machines[index].folder)
        self.machines[index] = self.start(self.machines[index].host)
        self.link.join(self.machines)
        self.connect()

    def replug(self, index):
        """Unplug the device with requests under way, and plug in another."""
        one = self.machines[index]
        plugs = one.counters()['plugs']
        one.qmp('device_del', id='nic')
        wait(lambda: one.counters()['plugs'] > plugs, 'the guest ejects the device')
        wait(lambda: 'nic' not in str(one.qmp('qom-list', path='/machine/peripheral')),
             'the device is gone')
        driver, *rest = self.device(one.host).split(',')
        one.qmp('device_add', driver=driver,
                **{key: int(value) if key == 'ernic-qps' else value
                   for key, value in (word.split('=') for word in rest)})
        self.link.join(self.machines)
        self.connect()

    def notes(self):
        """The ends of all messages, for the log of a row that failed."""
        text = ''
        for one in self.machines:
            for file in (one.log, one.folder / 'text'):
                if file.exists():
                    text += file.read_text(errors='replace')[-2000:]
        return text

    def close(self):
        for one in self.machines:
            one.kill()
        if self.link:
            self.link.close()
        folders.remove(self.folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
