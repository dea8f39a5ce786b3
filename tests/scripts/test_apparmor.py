# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules for AppArmor, in the profile that libvirt of a Debian release gives a domain:
they compile, and permit what the domains of docs/user-guide.md need. No kernel loads
them."""
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / 'tests/guest'), str(ROOT / 'guest/image')]
import domains                  # noqa: E402
import packages                 # noqa: E402

# The program's libraries, and the package that has libvirt's profile.
LIBRARIES = ('apparmor', 'libc6')
PROFILES = {'bookworm': 'libvirt-daemon-system', 'trixie': 'libvirt-daemon-driver-qemu'}
PLACE = re.compile(r'debian/libvirt-qemu\.apparmor\s.*debian/qemu-ernic/etc/(\S+)', re.S)
RULE = re.compile(r'^\s*(/\S+) ([rwkmixal]+),', re.M)
GLOBS = {'**': '.*', '*': '[^/]*', '{': '(', ',': '|', '}': ')', '?': '[^/]'}


def fetch(release):
    """A root with the packages of a release; later runs need no network."""
    def make(folder):
        with packages.fetched(release, [*LIBRARIES, PROFILES[release]], True) as debs:
            packages.unpack(debs, folder)
    return packages.once(packages.CACHE / f'apparmor-{release}', make)


def installed():
    """The place of the rules below /etc, by the package's recipe."""
    command = ['make', '-n', '-f', 'debian/rules', 'override_dh_auto_install']
    said = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    return PLACE.search(said)[1]


@pytest.fixture(params=PROFILES)
def parser(request, tmp_path):
    """A function that runs apparmor_parser on a domain's profile: (status, output)."""
    root = fetch(request.param)
    etc = tmp_path / 'etc'
    subprocess.run(['cp', '-r', root / 'etc', etc], check=True)
    rules = etc / installed()
    rules.parent.mkdir(exist_ok=True)
    rules.write_text((ROOT / 'debian/libvirt-qemu.apparmor').read_text())
    if request.param == 'bookworm':
        local = etc / 'apparmor.d/local/abstractions/libvirt-qemu'
        local.parent.mkdir(parents=True, exist_ok=True)
        local.write_text(next(block for block in domains.blocks()
                              if 'include if exists' in block))
    profile = etc / 'apparmor.d/libvirt/libvirt-00000000-0000-4000-8000-000000000001'
    profile.write_text((profile.parent / 'TEMPLATE.qemu').read_text().replace(
        'LIBVIRT_TEMPLATE', profile.name))

    def run(*options):
        done = subprocess.run(
            [root / 'lib64/ld-linux-x86-64.so.2', '--library-path',
             f'{root}/{packages.LIB}', root / 'sbin/apparmor_parser', '--base',
             etc / 'apparmor.d', *options, '-Q', '-K', profile], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode, done.stdout
    run.rules = rules
    return run


def grants(text):
    """A function: the permissions for a path, by the rules of a profile."""
    rules = [(re.compile(re.sub(r'\*\*|[*{},?]', lambda m: GLOBS[m[0]],
                                re.sub(r'[.+()|^$]', r'\\\g<0>', path))), words)
             for path, words in RULE.findall(text)]
    return lambda path: {letter for rule, words in rules if rule.fullmatch(path)
                         for letter in words}


def test_profile(parser):
    """It compiles, and an error in the rules is found."""
    status, said = parser()
    assert status == 0, said
    parser.rules.write_text('/run/lab/ rwkz,\n')
    assert parser()[0] != 0


def test_paths(parser):
    """Each path of the documented domain, and nothing beside it."""
    status, profile = parser('-p')
    assert status == 0, profile
    granted = grants(profile)
    xml = domains.in_a_lab()
    assert granted(xml.find('devices/emulator').text) >= set('rmix')
    lab = re.search(r'\blab=([^,]*)', ''.join(
        arg.get('value') for arg in xml.iter(f'{{{domains.QEMU}}}arg')))[1]
    for folder in lab, f'{lab}-a':
        assert granted(f'{folder}/') >= set('rwk')
        assert granted(f'{folder}/1') >= set('rw')
    assert granted('/run/vfio-user/one.sock') >= set('rw')
    ours = grants((ROOT / 'debian/libvirt-qemu.apparmor').read_text())
    for path in ('/run/', '/run/labor/', '/run/lab/a/b', '/run/lab-a/b/c',
                 '/run/vfio-user', '/run/vfio-user/a/b', '/usr/bin/qemu-system-x86_64'):
        assert not ours(path), path
    assert 'w' not in ours('/usr/bin/qemu-system-x86_64-ernic')


def test_sockets(parser):
    """Members of a lab, which are domains or not, may connect to each other."""
    profile = parser('-p')[1]
    peers = re.findall(r'unix \(([^)]*)\) type=seqpacket peer=\(label=([^)]*)\)', profile)
    assert {peer for _, peer in peers} == {'libvirt-*', 'unconfined'}
    for words, _ in peers:
        assert set(words.split(', ')) == {'connect', 'send', 'receive'}
