# SPDX-License-Identifier: GPL-2.0-or-later
"""Fetch packages of a Debian release and unpack them, without root.

An apt configuration of our own is used, derived from the machine's. Everything is kept
in CACHE.
"""
import contextlib
import errno
import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CACHE = Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache')
CACHE = CACHE / 'rdma-ernic' / 'image'
KEYRING = Path('/usr/share/keyrings/debian-archive-keyring.gpg')
LIB = 'usr/lib/x86_64-linux-gnu'
VERSIONS = 'usr/share/packages'         # a file for each package

# The suites of a release come together.
STABLE = 'bookworm'
RELEASES = {STABLE: [STABLE, STABLE + '-backports'], 'trixie': ['trixie'],
            'forky': ['forky']}
KEPT = 24                       # folders of a kind; a run of all tests uses eight images
# What programs say about a full disk; the second one is apt's.
NO_SPACE = "No space left on device|You don't have enough free space"
UNKNOWN = r'Unable to locate package (\S+)'
LISTS_SECONDS = 24 * 3600       # what the archive has changes, and what is gone is gone


def say(text):
    print('guest/image:', text, file=sys.stderr)


def run(command, **options):
    """Returns what the command prints. An OSError says that it had no space."""
    options.setdefault('stdout', subprocess.PIPE)
    env = {**options.pop('env', os.environ), 'LC_ALL': 'C.UTF-8'}
    done = subprocess.run(list(map(str, command)), stderr=subprocess.PIPE, text=True,
                          check=False, env=env, **options)
    if done.returncode:
        said = (done.stdout or '')[-2000:] + done.stderr[-2000:]
        if re.search(NO_SPACE, said):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(CACHE))
        raise SystemExit(f'guest/image: {command[0]} {command[1]} failed:\n{said}')
    return done.stdout


def apt(release, *command, **options):
    """apt with the sources of a release alone, and nothing installed."""
    place = CACHE / f'apt-{release}'
    settings = {
        'Dir::Etc::sourcelist': place / 'debian.sources',
        'Dir::Etc::sourceparts': '/dev/null', 'Dir::Etc::preferencesparts': '/dev/null',
        'Dir::State': place, 'Dir::State::lists': place / 'lists',
        'Dir::State::status': place / 'status', 'Dir::Cache': place / 'cache',
        # Containers of Debian have none, and read all lists for each command.
        'Dir::Cache::pkgcache': 'pkgcache.bin',
        'APT::Sandbox::User': '', 'APT::Install-Recommends': 'false',
        'APT::Architecture': 'amd64', 'Debug::NoLocking': 'true'}
    words = [word for key, value in settings.items() for word in ('-o', f'{key}={value}')]
    try:
        return run([command[0], '-q', *words, *command[1:]], **options)
    except SystemExit as e:
        if unknown := re.findall(UNKNOWN, str(e)):
            raise SystemExit(f'guest/image: Debian {release} has no package '
                             + ', '.join(unknown)) from None
        raise SystemExit(f'{e}\nguest/image: no answer from Debian\'s archive; is there '
                         'a network?') from None


@contextlib.contextmanager
def locked(path):
    """One process at a time is in there. The file of the lock is beside the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(f'{path}.lock', 'w', encoding='ascii') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def chosen(name, choose):
    """The words of a file of the cache. Later runs need no network."""
    file = CACHE / name
    with locked(file):
        if not file.exists():
            new = Path(f'{file}.new')
            new.write_text(' '.join(choose()))
            new.rename(file)
        return file.read_text().split()


def read_lists(release):
    """Unless they were read not long ago."""
    place = CACHE / f'apt-{release}'
    with locked(place):
        update(release, place)


def update(release, place):
    sources = place / 'debian.sources'
    if sources.exists() and time.time() - sources.stat().st_mtime < LISTS_SECONDS:
        return
    origin = run(['apt-get', 'indextargets', '--format', '$(REPO_URI) $(LABEL)',
                  'Created-By: Packages', 'Origin: Debian'])
    uris = sorted(line.split()[0] for line in origin.splitlines()
                  if line.endswith(' Debian'))
    if not uris:
        raise SystemExit('guest/image: apt knows no Debian archive; run apt-get update')
    for folder in ('lists/partial', 'cache/archives/partial'):
        (place / folder).mkdir(parents=True, exist_ok=True)
    (place / 'status').touch()
    text = (f'Types: deb\nURIs: {uris[0]}\nSuites: {" ".join(RELEASES[release])}\n'
            'Components: main\n')
    if KEYRING.exists():
        text += f'Signed-By: {KEYRING}\n'
    say(f'reading what {uris[0]} has of {release}')
    try:
        sources.write_text(text)
        apt(release, 'apt-get', '-o', 'APT::Update::Error-Mode=any', 'update')
    except (OSError, SystemExit):
        sources.unlink(missing_ok=True)         # the next run tries again
        raise


def unpack(debs, root, each=None):
    """each: called with a package and its archive of files, without compression."""
    # Debian's folders in / are links; packages of this release still fill both.
    for name in ('bin', 'sbin', 'lib', 'lib64'):
        (root / 'usr' / name).mkdir(parents=True, exist_ok=True)
        if not (root / name).is_symlink():
            (root / name).symlink_to('usr/' + name)
    for deb in debs:
        archive = deb.with_suffix('.tar')
        with open(archive, 'wb') as out:
            run(['dpkg-deb', '--fsys-tarfile', deb], stdout=out)
        # As dpkg-deb -x does, but through those links.
        run(['tar', '-x', '--keep-directory-symlink', '--no-same-owner', '-C', root,
             '-f', archive])
        if each:
            each(deb, archive)
        archive.unlink()
        # A file of the package's name has its version, in the place of dpkg's database.
        name, version, _ = deb.name.split('_')
        (root / VERSIONS).mkdir(parents=True, exist_ok=True)
        (root / VERSIONS / name).write_text(version.replace('%3a', ':') + '\n')


@contextlib.contextmanager
def fetched(release, names, alone=False):
    """The files of these packages, and of all that they depend on unless alone."""
    say('fetching ' + ' '.join(names))
    read_lists(release)
    with tempfile.TemporaryDirectory(prefix='deb.', dir=CACHE) as folder:
        (Path(folder) / 'partial').mkdir()
        words = ['download'] if alone else ['install', '-y', '--download-only']
        apt(release, 'apt-get', '-o', f'Dir::Cache::archives={folder}', *words, *names,
            cwd=folder)
        yield sorted(Path(folder).glob('*.deb'))


def once(folder, make):
    """The folder, made by make(folder) unless an earlier run completed it. Processes that
    want others do not wait for it."""
    done = folder / '.complete'
    with locked(folder):
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            try:
                make(folder)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
        done.touch()
    with locked(folder.parent / 'old'):
        remove_old(folder)
    return folder


def remove_old(folder):
    """Of the folders with the same name up to the last hyphen, those stay that were used
    last: each change of the driver makes another image."""
    kind = folder.name.rpartition('-')[0]
    marks = folder.parent.glob(f'{kind}-*/.complete')
    for mark in sorted(marks, key=lambda mark: mark.stat().st_mtime)[:-KEPT]:
        shutil.rmtree(mark.parent, ignore_errors=True)
        Path(f'{mark.parent}.lock').unlink(missing_ok=True)
