# SPDX-License-Identifier: GPL-2.0-or-later
"""Connect tests/guest/monitor.py to a socket that answers as QEMU does, or never."""
import contextlib
import json
import socket
import threading

import pytest

import guest
import monitor

GREETING = {'QMP': {'version': {}, 'capabilities': []}}
EVENT = {'event': 'RESUME', 'timestamp': {'seconds': 0, 'microseconds': 0}}
RETURN = {'return': {'status': 'running'}}
# What a connection says; a RETURN answers a command.
GOOD = [GREETING, RETURN, RETURN]
EARLY = [EVENT, GREETING]
BEFORE_REPLY = [GREETING, EVENT, RETURN]


@pytest.fixture(scope='module', autouse=True)
def fixture_package():
    """The Python package of QEMU's source, which is fetched if nobody has it yet."""
    guest.last_line(guest.ROOT / 'scripts/qemu-tree', '--source')


@pytest.fixture(name='serve')
def fixture_serve(tmp_path):
    """Starts a server that has so many connections; the path of its socket."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / 'qmp'))
        server.listen()
        server.settimeout(20)
        threads = []

        def say(peer, messages):
            for message in messages:
                if message is RETURN:
                    command = json.loads(peer.recv(4096) or '{}')
                    message = {**message, 'id': command.get('id')}
                peer.sendall(json.dumps(message).encode() + b'\n')
            if messages:
                peer.recv(1)                    # until the client hangs up

        def answer(connections):
            for messages in connections:
                with server.accept()[0] as peer, contextlib.suppress(OSError):
                    say(peer, messages)

        def start(connections):
            threads.append(threading.Thread(target=answer, args=(connections,)))
            threads[-1].start()
            return tmp_path / 'qmp'
        yield start
        for thread in threads:
            thread.join(20)
            assert not thread.is_alive(), 'not all connections were made'


@pytest.mark.parametrize('early', [
    pytest.param([], id='never'), pytest.param([EARLY], id='greeting'),
    pytest.param([BEFORE_REPLY], id='reply'),
    pytest.param([EARLY, BEFORE_REPLY] * 4, id='often')])
def test_event_before_negotiation(serve, early):
    with monitor.Monitor(serve([*early, GOOD])) as one:
        assert one.execute('query-status') == RETURN['return']


def test_never_a_greeting(serve):
    with pytest.raises(ConnectionError, match='Greeting'):
        monitor.Monitor(serve([EARLY] * monitor.CONNECTS))


def test_nobody_listens(tmp_path):
    with pytest.raises(ConnectionError):
        monitor.Monitor(tmp_path / 'qmp')


def test_hangs_up(serve):
    with pytest.raises(ConnectionError):
        monitor.Monitor(serve([[]]))
