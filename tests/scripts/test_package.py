# SPDX-License-Identifier: GPL-2.0-or-later
"""debian/ and scripts/package, without a build: one version everywhere, a source package
without complaints, and what is said where no package can be built."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / 'scripts/package'


def output(*command, **options):
    return subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True,
                          check=True, **options).stdout


def write_programs(folder, programs):
    """programs: what the shell runs, by name."""
    folder.mkdir()
    for name, text in programs.items():
        (folder / name).write_text('#!/bin/sh\n' + text + '\n')
        (folder / name).chmod(0o755)


def test_versions_agree(tmp_path):
    version = re.search(r"^ *version: '(.*)',", (ROOT / 'meson.build').read_text(),
                        re.M)[1]
    assert output('dpkg-parsechangelog', '-l', ROOT / 'debian/changelog', '-S',
                  'Version').strip() == version
    output('make', '-s', '-C', ROOT / 'guest/linux/ernic', 'dkms',
           f'DESTDIR={tmp_path}')
    conf = tmp_path / f'usr/src/ernic-{version}/dkms.conf'
    assert f'PACKAGE_VERSION="{version}"' in conf.read_text()


def test_lintian(tmp_path):
    """A source package has debian/ and what it speaks of."""
    for folder in ('debian', 'guest', 'include'):
        shutil.copytree(ROOT / folder, tmp_path / 'tree' / folder)
    output('dpkg-source', '--build', 'tree', cwd=tmp_path)
    said = subprocess.run(['lintian', '--fail-on', 'error,warning',
                           *tmp_path.glob('*.dsc')], stdout=subprocess.PIPE, text=True,
                          check=False)
    assert said.returncode == 0, said.stdout


def test_demonstration(tmp_path):
    """The package has every file that the demonstration loads."""
    rules = (ROOT / 'debian/rules').read_text().replace('\\\n', ' ')
    names = re.search(r'addsuffix \.py, (disk .*?)\)\)', rules)[1].split()
    for name in ('scripts/demo.py', *(f'tests/guest/{name}.py' for name in names)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    said = output('/usr/bin/python3', '-B', tmp_path / 'scripts/demo.py', '--help')
    assert said.startswith('usage: qemu-ernic-demo ')


# The libibverbs that libernic is built for, one that is installed, and whether they fit.
LIBRARIES = [('44.0', '44.0-2', True), ('44.0', '44.0-2+deb12u1', True),
             ('44.0', '56.1-1', False), ('44.0', '65.0-1', False),
             ('56.1', '56.1-1+deb13u1', True), ('56.1', '44.0-2', False)]


@pytest.mark.parametrize('built, installed, fits', LIBRARIES)
def test_library(built, installed, fits, tmp_path):
    """libernic is not installed where libibverbs would not load it."""
    shutil.copytree(ROOT / 'debian', tmp_path / 'debian')
    write_programs(tmp_path / 'scripts', {'qemu-tree': f'echo {ROOT}'})
    write_programs(tmp_path / 'bin', {'dpkg-query': f'echo {built}'})
    output('make', '-f', 'debian/rules', 'override_dh_gencontrol', cwd=tmp_path,
           env={**os.environ, 'PATH': f'{tmp_path}/bin:{os.environ["PATH"]}'})
    control = (tmp_path / 'debian/libernic/DEBIAN/control').read_text()
    bounds = re.findall(r'libibverbs1 \((\S+) (\S+)\)', control)
    assert fits == all(
        subprocess.run(['dpkg', '--compare-versions', installed, *bound],
                       check=False).returncode == 0 for bound in bounds), control


# Programs in the place of real ones, variables, and the answer to them.
WRONG = {
    'release': ({}, {'OS_RELEASE': 'old'}, 'packages are for Debian 12 and 13, not for'
                ' Debian GNU/Linux 11'),
    'no release': ({}, {'OS_RELEASE': '/nowhere'}, 'cannot read /nowhere'),
    'architecture': ({'dpkg': 'echo arm64'}, {}, 'packages are for amd64 alone'),
    'source': ({}, {'QEMU_SRC': '/usr/src/qemu-7.2'}, 'unset QEMU_SRC'),
    'packages': ({'dpkg-checkbuilddeps': 'echo error: Unmet build dependencies: cmake'
                                         ' >&2; exit 1'}, {},
                 r'packages are missing \(cmake\); as root: apt-get build-dep'),
    'folder': ({}, {'XDG_CACHE_HOME': '/dev/null'}, 'cannot write to /dev/null'),
    'space': ({'df': 'echo Avail; echo 10'}, {}, 'has 10 MiB of'),
}


@pytest.mark.parametrize('name', WRONG)
def test_wrong(name, tmp_path):
    """One line that says what to do, and no package."""
    programs, variables, answer = WRONG[name]
    (tmp_path / 'old').write_text('ID=debian\nVERSION_ID="11"\n'
                                  'PRETTY_NAME="Debian GNU/Linux 11"\n')
    write_programs(tmp_path / 'bin', {'dpkg-checkbuilddeps': 'exit 0', **programs})
    done = subprocess.run(
        [SCRIPT, tmp_path / 'out'], text=True, capture_output=True, check=False,
        cwd=tmp_path, env={**os.environ, 'XDG_CACHE_HOME': str(tmp_path / 'cache'),
                           'PATH': f'{tmp_path}/bin:{os.environ["PATH"]}', **variables})
    assert done.returncode == 1
    assert done.stderr.count('\n') == 1 and re.search(answer, done.stderr), done.stderr
    assert not list(tmp_path.glob('out/*'))
