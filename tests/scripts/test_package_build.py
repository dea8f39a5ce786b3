# SPDX-License-Identifier: GPL-2.0-or-later
"""The packages that scripts/package builds: the same twice, without complaints of
lintian, and usable in a new root of Debian."""
import filecmp
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMES = ['ernic-dkms', 'libernic', 'qemu-ernic']
# In the root: install all three, ask QEMU for the device, look for the module that DKMS
# has built. The distribution's own QEMU has no file of the same name. Nothing is left of
# packages that are purged.
APT = 'chroot "$1" apt-get -qq -y --no-install-recommends install'
HOOKS = [f'{APT} linux-headers-amd64 $(cd "$1" && ls new/*.deb | sed s,^,/,)',
         'chroot "$1" qemu-system-x86_64-ernic -device ernic,help',
         'modinfo -F alias "$1"/lib/modules/*/updates/dkms/ernic.ko*',
         f'{APT} qemu-system-x86',
         'chroot "$1" dpkg --purge ' + ' '.join(NAMES),
         '! ls -d "$1"/usr/share/qemu-ernic "$1"/usr/src/ernic-* 2>/dev/null']


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True,
                          check=False, stderr=subprocess.STDOUT, **options)
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


def build(folder, **variables):
    """Its packages, in the order of NAMES."""
    run(ROOT / 'scripts/package', folder, env={**os.environ, **variables})
    debs = sorted(folder.glob('*.deb'))
    assert [deb.name.split('_')[0] for deb in debs] == NAMES
    return debs


@pytest.fixture(scope='module', name='debs')
def packages(tmp_path_factory):
    return build(tmp_path_factory.mktemp('packages'))


def test_reproducible(debs, tmp_path):
    """With another cache, so all is fetched and compiled again, in another folder."""
    again = build(tmp_path / 'out', XDG_CACHE_HOME=str(tmp_path / 'cache'))
    for one, two in zip(debs, again):
        assert filecmp.cmp(one, two, shallow=False), one.name


def test_lintian(debs):
    run('lintian', '--fail-on', 'error,warning', *debs)


def test_installed(debs):
    release = run('sh', '-c', '. /etc/os-release; echo $VERSION_CODENAME').strip()
    said = run('mmdebstrap', '--variant=apt', '--customize-hook=mkdir "$1/new"',
               *(f'--customize-hook=copy-in {deb} /new' for deb in debs),
               *(f'--customize-hook={hook}' for hook in HOOKS), release, '/dev/null')
    assert 'roce-udp=' in said and 'pci:v00001AF4d000010F4' in said, said[-4000:]
