# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/ci-guests as its users call it: what goes wrong, and the examples of ci/."""
import errno
import os
import re
import runpy
import socket
import subprocess
import tarfile
import time
from argparse import Namespace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
script = Namespace(**runpy.run_path(str(ROOT / 'scripts/ci-guests')))
CHECK = '''
set -e
test "$GUESTS $(hostname)" = "3 guest$GUEST"
test "$(echo $ADDRESSES | cut -d ' ' -f $GUEST)" = "$ADDRESS"
for name in $ADDRESSES guest1 guest2 guest3; do ping -c 1 -w 100 $name; done
ls /sys/class/infiniband/$DEVICE /sys/class/net/$INTERFACE
sha256sum data/random >"$RESULTS/sum"
# The second guest fails when the others have come here: on a busy host they are later.
if test "$GUEST" = 2; then
    nc -l -p 7001
    nc -l -p 7003
    exit 7
fi
until echo done | nc guest2 700$GUEST; do sleep 0.2; done
test "$GUEST" = 1 || sleep 250
'''


def run(folder, *options):
    """(exit status, what it has printed) for the results in @folder, called in ci/."""
    done = subprocess.run([ROOT / 'scripts/ci-guests', '--results', folder, *options],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, cwd=ROOT / 'ci')
    return done.returncode, done.stdout


@pytest.fixture
def folder(tmp_path):
    """For results; it is not there yet."""
    return tmp_path / 'results'


def test_environment(tmp_path):
    """Three guests have the folder, variables and each other. The second one fails, and
    the third is ended; the results of an earlier run go."""
    work, results = tmp_path / 'work', tmp_path / 'results'
    (work / 'data').mkdir(parents=True)
    (work / 'script').write_text(CHECK)
    (work / 'data/random').write_bytes(os.urandom(1 << 20))
    (work / 'results').mkdir()
    (work / 'results/of-mine').touch()
    (results / 'guest1').mkdir(parents=True)
    for file in 'guest1/old', '.ci-guests':
        (results / file).touch()
    status, said = run(results, '--guests', '3', '--folder', work, '--capture',
                       'test -e results/of-mine', '&& sh script')
    assert status == 7, said
    wanted = subprocess.run(['sha256sum', work / 'data/random'], text=True, check=True,
                            stdout=subprocess.PIPE).stdout.split()[0]
    for n in 1, 2, 3:
        got = results / f'guest{n}'
        assert (got / 'sum').read_text().split()[0] == wanted
        status = re.search(rf'guest{n}: status (\d+)$', said, re.M)[1]
        assert status == ('0', '7', '137')[n - 1], said
        # Not a command: the prompt of the shell may come in the middle of its echo.
        console = (got / 'console.txt').read_text()
        assert 'Starting systemd-udevd' in console, console
        assert (got / 'capture.pcapng').stat().st_size > 1000
    left = [path for pattern in ('**/disk', '*.tar', '**/old')
            for path in results.glob(pattern)]
    assert not left, left


def test_timeout(folder):
    """A folder that is too large, and a command that does not end; what it has written is
    there."""
    big = folder.parent / 'big'
    big.mkdir()
    with open(big / 'file', 'wb') as file:
        file.truncate(600 << 20)
    status, said = run(folder, '--guests', '1', '--memory', '512', '--folder', big,
                       'true')
    assert status == 1 and 'cannot unpack the folder' in said.splitlines()[-1], said
    status, said = run(folder, '--guests', '1', '--timeout', '20',
                       'echo begun | tee "$RESULTS/file"; sleep 1000')
    assert status == 124, said
    assert (folder / 'guest1/file').read_text() == 'begun\n'
    assert 'begun' in said


def test_refused(folder):
    """One line says what is wrong, before anything starts."""
    folder.mkdir()
    (folder / 'file').touch()
    for options, says in ((['--guests', '9', 'x'], '1 to 8'),
                          (['--memory', '0', 'x'], '--memory: 512 MiB or more'),
                          (['--timeout', '0', 'x'], '--timeout: 1 second or more'),
                          ([' '], 'the command is empty'),
                          (['--folder', '/nowhere', 'x'], '/nowhere is no folder'),
                          (['x'], 'has other files'), ([], 'required: command')):
        status, said = run(folder, *options)
        assert status == 2 and says in said.splitlines()[-1], said
    assert [file.name for file in folder.iterdir()] == ['file']
    status, said = run(folder.parent / 'other', '--packages', 'no-such-package', 'x')
    assert status == 1 and 'Debian trixie has no package no-such-package\n' in said, said
    assert 'Traceback' not in said, said


OLD = """#!/bin/sh
echo "-device ernic,help: 'ernic' is not a valid device model name" >&2
exit 1
"""
# Variables, and the answer of scripts/ci-guests and scripts/demo to them.
WRONG = {'no QEMU': ({'QEMU': '/nowhere'}, 'No such file .*; the device needs a QEMU'),
         'old QEMU': ({'QEMU': './old'}, 'no.* valid device .*; the device needs a QEMU')}


@pytest.mark.parametrize('name', WRONG)
@pytest.mark.parametrize('words', [['ci-guests', 'true'], ['demo', '--guest', 'stock']],
                         ids=lambda words: words[0])
def test_wrong(words, name, tmp_path):
    """The last line says what to do, before an image is made; nothing is left."""
    variables, answer = WRONG[name]
    (tmp_path / 'old').write_text(OLD)
    (tmp_path / 'old').chmod(0o755)
    done = subprocess.run([ROOT / 'scripts' / words[0], *words[1:]], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          cwd=tmp_path, env={**os.environ, **variables})
    lines = done.stdout.splitlines()
    assert done.returncode == 1 and re.search(answer, lines[-1]), lines
    assert len(lines) <= 2 and 'image' not in done.stdout, lines
    assert not list(tmp_path.glob('ci-results/[!.]*'))


def test_no_permission(monkeypatch, tmp_path):
    """Of /dev/kvm: it is not remembered, and GUEST_ACCEL=kvm is refused."""
    import accelerator
    monkeypatch.setattr(accelerator, 'CACHE', tmp_path)

    def refuse(*_):
        raise PermissionError(errno.EACCES, 'Permission denied')
    with monkeypatch.context() as patch:
        patch.setattr(accelerator.os, 'open', refuse)
        patch.setenv('GUEST_ACCEL', 'restored')
        patch.delenv('GUEST_ACCEL')
        script.choose_accelerator()
        assert os.environ['GUEST_ACCEL'] == 'tcg' and not list(tmp_path.iterdir())
        patch.setenv('GUEST_ACCEL', 'kvm')
        with pytest.raises(SystemExit, match='add this user to the group kvm, .*; unset'):
            script.choose_accelerator()


def test_kept(monkeypatch, tmp_path):
    """The answer of a boot is that of one QEMU. That it took too long is no answer."""
    import accelerator
    monkeypatch.setattr(accelerator, 'CACHE', tmp_path)
    monkeypatch.setenv('QEMU', str(tmp_path / 'qemu'))
    for n, answer in enumerate(('', 'no boot')):
        (tmp_path / 'qemu').write_text(n * 'other')
        monkeypatch.setattr(accelerator, 'find_obstacle', lambda _: accelerator.LATE)
        assert accelerator.obstacle('tcg') == accelerator.LATE
        monkeypatch.setattr(accelerator, 'find_obstacle', lambda _, answer=answer: answer)
        assert accelerator.obstacle('tcg') == answer
        monkeypatch.setattr(accelerator, 'find_obstacle', None)
        assert accelerator.obstacle('tcg') == answer


def test_no_space(monkeypatch, tmp_path):
    """For the copy of the folder: one line that names both places."""
    (tmp_path / 'tar').write_text('#!/bin/sh\necho "tar: No space left on device\n'
                                  'Error" >&2; exit 2')
    (tmp_path / 'tar').chmod(0o755)
    monkeypatch.setenv('PATH', f'{tmp_path}:{os.environ["PATH"]}')
    options = Namespace(folder=tmp_path, results=tmp_path / 'results')
    with pytest.raises(SystemExit) as raised:
        script.pack(options)
    assert re.fullmatch(r'ci-guests: cannot pack .*\(--folder\) into .* \(--results\): '
                        'tar: No space left on device', str(raised.value))


def test_no_space_for_results(tmp_path):
    """On the host, for what the guests have written: one line for each guest."""
    one = Namespace(name='guest1', console=tmp_path / 'console', log=Path('/nowhere'))
    one.console.write_text('text')
    folder = tmp_path / 'guest1'
    folder.mkdir()
    with tarfile.open(folder / 'disk', 'w') as tar:
        tar.add(one.console, 'output.txt')
    (folder / 'console.txt').symlink_to('/dev/full')
    assert script.unpack([folder], [one]) == [
        f'{folder}/console.txt: No space left on device']
    assert (folder / 'output.txt').read_text() == 'text'
    with open(folder / 'disk', 'r+b') as file:
        file.truncate(700)
    wrong = script.unpack([folder], [one])[0]
    assert wrong.startswith(f'cannot unpack the results of guest1 into {folder}: tar: ')


def test_full_disk(folder):
    """The disk of the results has less room than they need."""
    folder.mkdir()
    done = subprocess.run(
        ['unshare', '--map-root-user', '--mount', 'sh', '-c',
         'mount -t tmpfs -o size=8m tmpfs "$0" && exec "$@"', folder,
         ROOT / 'scripts/ci-guests', '--guests', '1', '--results', folder,
         'head -c 20m /dev/urandom >"$RESULTS/random"'], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, cwd=ROOT / 'ci')
    assert done.returncode == 1, done.stdout
    assert re.search(rf'^ci-guests: guest1 cannot write to {folder} \(--results\), which '
                     r'has \d MiB left: dd: ', done.stdout.splitlines()[-1]), done.stdout


def test_second_shell(monkeypatch, tmp_path):
    """Of scripts/demo: refused while the first one runs, not after it was killed."""
    monkeypatch.syspath_prepend(ROOT / 'scripts')
    import demo
    monkeypatch.setattr(demo, 'RUNNING', tmp_path / 'demo')
    monkeypatch.setattr(demo, 'boot', lambda *_, **__: pytest.fail('boots'))
    (tmp_path / 'folder').mkdir()
    demo.RUNNING.symlink_to(tmp_path / 'folder')
    with socket.socket(socket.AF_UNIX) as first:
        first.bind(str(tmp_path / 'folder/guest1.serial'))
        first.listen(0)
        for _ in range(2):
            with pytest.raises(demo.Failure, match='runs already'):
                demo.shell(None, 'lab', None)
    with pytest.raises(pytest.fail.Exception, match='boots'):
        demo.shell(None, 'lab', None)


def test_not_up(monkeypatch):
    """Of scripts/demo: guests that cannot be set up end before the next link."""
    monkeypatch.syspath_prepend(ROOT / 'scripts')
    import demo
    import guest
    open_guests = set()

    def start(_, link, *__, **___):
        open_guests.add(link)
        return Namespace(close=lambda: open_guests.remove(link))

    def up(_):
        raise guest.GuestError('no answer')
    interface = Namespace(guests=start, up=up, links={'lab': object, 'udp': object})
    assert demo.demo(interface, ['lab', 'udp'], None) == 1
    assert not open_guests


def test_terminated(tmp_path):
    """As a service does that cancels a job: no process and no file is left."""
    (tmp_path / 'slow').write_text('#!/bin/sh\necho $$ >pid.new\nmv pid.new pid\n'
                                   'exec sleep 1000\n')
    (tmp_path / 'slow').chmod(0o755)
    with subprocess.Popen([ROOT / 'scripts/ci-guests', 'true'], cwd=tmp_path,
                          env={**os.environ, 'QEMU': './slow'}) as process:
        while not (tmp_path / 'pid').exists():
            assert process.poll() is None
            time.sleep(0.05)
        process.terminate()
        assert process.wait(60) == 130
    assert not Path(f'/proc/{(tmp_path / "pid").read_text().strip()}').exists()
    assert not list(tmp_path.glob('ci-results/[!.]*'))


def test_copied(tmp_path, monkeypatch):
    """The guests get the folder without results, git, and the cache, which
    GitLab wants in it; a name may look like a pattern."""
    import monitor
    work, results = tmp_path / 'work', tmp_path / 'work/re[s]'
    monkeypatch.setattr(monitor, 'CACHE', work / '.cache/rdma-ernic')
    for file in ('.cache/other', '.cache/rdma-ernic/ccache/object', '.git/HEAD',
                 're[s]/of', 'res/mine', 'rdma-ernic/mine',
                 'sub/.cache/rdma-ernic/mine'):
        (work / file).parent.mkdir(parents=True, exist_ok=True)
        (work / file).touch()
    (tmp_path / 'link').symlink_to(work)
    script.pack(Namespace(folder=tmp_path / 'link', results=results))
    with tarfile.open(results / 'folder.tar') as tar:
        files = {member.name for member in tar if member.isfile()}
    assert files == {'./.cache/other', './res/mine', './rdma-ernic/mine',
                     './sub/.cache/rdma-ernic/mine'}


@pytest.mark.parametrize('name, options', [
    ('perftest', ()), ('fio', ('--packages', 'fio')),
    ('nvme-link-down', ('--modules', 'nvmet-rdma,nvme-rdma,loop'))])
def test_example(folder, name, options):
    status, said = run(folder, *options, f'./{name}')
    assert status == 0, said
