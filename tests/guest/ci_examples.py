# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/ci-guests as its users call it: the examples of ci/, and what goes wrong. TAP.

usage: ci_examples.py [--long]
"""
import os
import re
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
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


def test_environment(folder):
    """Three guests have the folder, variables and each other. The second one fails, and
    the third is ended; the results of an earlier run go."""
    work = folder / 'work'
    (work / 'data').mkdir(parents=True)
    (work / 'script').write_text(CHECK)
    (work / 'data/random').write_bytes(os.urandom(1 << 20))
    (work / 'results').mkdir()
    (work / 'results/of-mine').touch()
    (folder / 'results/guest1').mkdir(parents=True)
    for file in 'guest1/old', '.ci-guests':
        (folder / 'results' / file).touch()
    status, said = run(folder / 'results', '--guests', '3', '--folder', work, '--capture',
                       'test -e results/of-mine', '&& sh script')
    assert status == 7, said
    wanted = subprocess.run(['sha256sum', work / 'data/random'], text=True, check=True,
                            stdout=subprocess.PIPE).stdout.split()[0]
    for n in 1, 2, 3:
        got = folder / f'results/guest{n}'
        assert (got / 'sum').read_text().split()[0] == wanted
        status = re.search(rf'guest{n}: status (\d+)$', said, re.M)[1]
        assert status == ('0', '7', '137')[n - 1], said
        # Not a command: the prompt of the shell may come in the middle of its echo.
        console = (got / 'console.txt').read_text()
        assert 'Starting systemd-udevd' in console, console
        assert (got / 'capture.pcapng').stat().st_size > 1000
    left = [path for pattern in ('**/disk', '*.tar', '**/old')
            for path in (folder / 'results').glob(pattern)]
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
    folder.mkdir(exist_ok=True)
    (folder / 'file').touch()
    for options, says in ((['--guests', '9', 'x'], '1 to 8'),
                          (['--folder', '/nowhere', 'x'], '/nowhere is no folder'),
                          (['x'], 'has other files'), ([], 'required: command')):
        status, said = run(folder, *options)
        assert status == 2 and says in said.splitlines()[-1], said
    assert [file.name for file in folder.iterdir()] == ['file']
    status, said = run(folder.parent / 'other', '--packages', 'no-such-package', 'x')
    assert status == 1 and 'Traceback' not in said, said


def example(name, *options):
    def test(folder):
        status, said = run(folder, *options, f'./{name}')
        assert status == 0, said
    test.__name__ = f'test_{name}'
    return test


SHORT = [test_refused, test_environment]
LONG = [test_timeout, example('perftest'), example('fio', '--packages', 'fio'),
        example('nvme-link-down', '--modules', 'nvmet-rdma,nvme-rdma,loop')]


def main():
    tests = SHORT + (LONG if '--long' in sys.argv else [])
    print(f'1..{len(tests)}', flush=True)
    failed = 0
    for number, test in enumerate(tests, 1):
        with tempfile.TemporaryDirectory(prefix='ernic-ci.') as folder:
            try:
                test(Path(folder) / 'results')
                why = ''
            except (AssertionError, OSError) as e:
                where = traceback.extract_tb(e.__traceback__)[-1]
                why = f'{type(e).__name__} in line {where.lineno}: {where.line}\n{e}'
        failed += bool(why)
        print(*(f'# {line}' for line in why.splitlines()), sep='\n', end='\n' * bool(why))
        print(f'{"not ok" if why else "ok"} {number} - {test.__name__[5:]}', flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
