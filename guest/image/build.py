#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compose kernel and initramfs of the test guest from Debian's packages.

usage: build.py [--kernel 6.1|6.12|testing|6.1-debug] [--release bookworm|trixie|forky]
                [--driver FILE] [--provider FOLDER]
                [--packages NAME,NAME] [--add FILE:PATH] [--headers]
       build.py --stock 6.1|6.1-cloud|6.12|6.12-cloud|testing|testing-cloud
                [--packages NAME,NAME]
       build.py --disk trixie|bookworm|forky [--dkms] [--packages NAME,NAME]

No root: packages of Debian are fetched by an apt configuration of our own
(derived from the machine's, as scripts/qemu-tree does), unpacked with dpkg-deb,
and written to a cpio archive from here. The last line of output is a folder with
`kernel` and `initrd`; all is kept in ${XDG_CACHE_HOME:-~/.cache}/rdma-ernic/image,
which may be removed.

--release    of Debian, whose programs and libraries the guest has (default: Debian
             12, bookworm), whichever kernel it has

--kernel     6.1 and 6.12 are the newest kernels of Debian 12 and its backports, testing
             is that of Debian testing. 6.1-debug is built here from Debian's source, to
             find mistakes of drivers (debug_kernel.py); 9 minutes of a processor's time,
             once
--driver     the kernel module ernic.ko (default: guest/linux/build makes it);
             none: without
--provider   a folder with libernic-rdmav*.so and ernic.driver, for libibverbs
             (default: guest/rdma-core/build makes it for the release); none: without
--packages   further packages of Debian, with all that they depend on
--add        any other file, to a path in the guest
--headers    print the folder to build modules of this kernel against, no image
--stock      an image of Debian's packages alone, with the newest kernel of Debian 12
             (6.1), 13 (6.12) or testing, in the flavour amd64 or cloud-amd64, and the
             programs of that release; stock.py describes it
--disk       a disk with an installed Debian, the file `disk` of the folder; disk.py
             describes it
--dkms       our driver on it by DKMS, and a newer kernel for apt (bookworm)
"""
import argparse
import gzip
import hashlib
import lzma
import os
import re
import shutil
import subprocess
from pathlib import Path

import debug_kernel
import disk
import stock
from initramfs import cpio, in_image, kernel_file, needed_modules, put_kernel
from packages import apt, chosen, fetched, once, read_lists, run, say, unpack
from packages import CACHE, LIB, RELEASES, STABLE

HERE = Path(__file__).resolve().parent
GUEST = HERE.parent
SCRIPTS = [HERE / name for name in ('build.py', 'initramfs.py', 'packages.py')]
# Name of a kernel: the suite that has it.
KERNELS = {'6.1': STABLE, '6.12': STABLE + '-backports', 'testing': 'forky'}
DEBUG_KERNEL = '6.1-debug'

# The libraries of the programs that headers come with (linux-kbuild).
TOOL_LIBRARIES = ['libc6', 'libelf1t64', 'libzstd1', 'zlib1g']

# Includes all that they depend on.
PROGRAMS = ['bash', 'busybox-static', 'dash', 'ethtool', 'ibverbs-providers',
            'ibverbs-utils', 'iproute2', 'iputils-ping', 'kmod', 'pciutils',
            'perftest', 'python3-minimal', 'python3-pyverbs', 'qperf', 'rdmacm-utils']
# Files of this folder, and where they are in the guest.
OURS = {'init': 'init', 'agent': 'agent', 'drivers': 'drivers',
        'udhcpc': 'etc/udhcpc/default.script'}
# As they are: rdma-core has the tests of pyverbs among its documents.
SINGLE = ['rdma-core']
MODULES = ['virtio_pci', 'virtio_console', 'virtio_net', 'virtio_rng', 'rdma_rxe',
           'rdma_ucm', 'ib_uverbs', 'ib_umad', 'ib_ipoib', 'crc32_generic', '8021q',
           'vrf', 'dummy', 'veth', 'macvlan', 'bridge', 'e1000e', 'nvme_rdma',
           'nvmet_rdma', 'loop', 'rds_rdma', 'rpcrdma', 'nfsd', 'nfsv4', 'ib_iser',
           'ib_isert', 'target_core_file', 'sd_mod', 'crc32c_generic']
# Weight without use in the guest.
DOCUMENTS = [f'usr/share/{name}' for name in (
    'bash-completion', 'debconf', 'doc', 'dpkg', 'i18n', 'info', 'lintian', 'locale',
    'man', 'misc', 'perl', 'perl5', 'zoneinfo')]
UNUSED = [*DOCUMENTS,
          *(f'usr/lib/python3.*/{name}' for name in (
              'config-*', 'ensurepip', 'idlelib', 'lib2to3', 'pydoc_data', 'test',
              'tkinter', 'turtle*', 'lib-dynload/_codecs_*', 'lib-dynload/_test*')),
          *(f'{LIB}/{name}' for name in (
              'gconv', 'perl', 'perl-base', 'security', 'libdb-5*',
              'libgcrypt.*', 'libmvec.*', 'libperl.*', 'libsemanage.*', 'libsepol.*',
              'libsqlite3.*', 'libsystemd.*')),
          'usr/lib/python3/dist-packages/tests', 'usr/lib/systemd', f'{LIB}/systemd',
          'usr/lib/udev', 'usr/bin/dpkg*', 'usr/bin/perl*', 'usr/bin/system*',
          'usr/bin/udevadm', 'usr/sbin/user*', 'usr/sbin/group*', 'usr/sbin/new*']


# ---- kept from run to run -------------------------------------------------------

def release_of(suite):
    return suite.removesuffix('-backports')


def kernel_packages(suite):
    """The names of the newest kernel of a suite: image, headers, kbuild."""
    release = release_of(suite)
    read_lists(release)
    text = apt(release, 'apt-cache', 'show', 'linux-image-amd64', 'linux-headers-amd64')
    found = {}
    for part in text.split('\n\n'):
        field = dict(re.findall(r'^(Package|Version|Depends): (.*)$', part, re.M))
        name = re.findall(r'linux-(?:image|headers)-\d[^\s,]*', field.get('Depends', ''))
        backport = '~bpo' in field.get('Version', '')
        if name and backport == suite.endswith('-backports'):
            found[field['Package']] = name[0]
    headers = found['linux-headers-amd64']
    text = apt(release, 'apt-cache', 'depends', headers)
    more = re.findall(r'Depends: (linux-(?:headers|kbuild)-\S+)', text)
    return [*stock.with_modules(release, found['linux-image-amd64']), headers, *more]


def make_programs(root, release):
    with fetched(release, PROGRAMS) as debs:
        unpack(debs, root)
    with fetched(release, SINGLE, alone=True) as debs:
        unpack(debs, root)
    tests = root / 'usr/share/rdma-core-tests/tests'
    tests.mkdir(parents=True)
    for file in (root / 'usr/share/doc/rdma-core/tests').iterdir():
        text = file.read_bytes()
        if file.suffix == '.gz':
            text = gzip.decompress(text)
        (tests / file.name.removesuffix('.gz')).write_bytes(text)
    for path in [path for pattern in UNUSED for path in root.glob(pattern)]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    busybox = root / 'usr/bin/busybox'
    if not busybox.exists():
        raise SystemExit('guest/image: busybox-static has no /bin/busybox')
    # Where nothing better is, busybox.
    there = {file.name for folder in ('usr/bin', 'usr/sbin')
             for file in (root / folder).iterdir()}
    for name in set(run([busybox, '--list']).split()) - there:
        (root / 'usr/bin' / name).symlink_to('busybox')
    python = next((root / 'usr/bin').glob('python3.[0-9]*'))
    # The archive has no times that could be compared with those of the sources.
    in_image(root, python, '-m', 'compileall', '-q', '-s', root,
             '--invalidation-mode', 'unchecked-hash',
             root / 'usr/lib' / python.name, root / 'usr/lib/python3', tests)


def make_more(root, release, names):
    """Further packages; what is in the image anyway is not doubled by the archive."""
    with fetched(release, names) as debs:
        unpack(debs, root)
    for path in [path for pattern in DOCUMENTS for path in root.glob(pattern)]:
        shutil.rmtree(path)


def make_kernel(folder, release, packages, programs):
    with fetched(release, packages, alone=True) as debs:
        unpack(debs, folder)
    version = next((folder / 'usr/lib/modules').iterdir()).name
    in_image(programs, programs / 'usr/bin/kmod', '-b', folder, version,
             name='depmod')


def make_debug_kernel(folder):
    say(f'building {debug_kernel.SOURCE} takes its time')
    with fetched(STABLE, [debug_kernel.SOURCE, *debug_kernel.TOOLS], alone=True) as debs:
        debug_kernel.make(folder, debs, run)


def wrap_tools(folder):
    """Let the programs of the headers run on an older release, with the loader and the
    libraries of their own."""
    loader = folder / 'usr/lib64/ld-linux-x86-64.so.2'
    for file in (folder / 'usr/lib').glob('linux-kbuild-*/**/*'):
        if (file.is_symlink() or not file.is_file() or not os.access(file, os.X_OK)
                or file.read_bytes()[:4] != b'\x7fELF'):
            continue
        program = file.rename(f'{file}.elf')
        # Some of them start others, whose names are their own with an ending.
        file.write_text(f'#!/bin/sh\nexec {loader} --library-path {folder / LIB} '
                        f'--argv0 "$0" {program} "$@"\n')
        file.chmod(0o755)


def make_headers(folder, release, packages):
    libraries = [] if release == STABLE else TOOL_LIBRARIES
    with fetched(release, [*packages, *libraries], alone=True) as debs:
        unpack(debs, folder)
    if libraries:
        wrap_tools(folder)
    tree = next((folder / 'usr/src').glob('linux-headers-*-amd64'))
    # Makefiles name /usr/src and /usr/lib, where a package would be.
    for path in [*tree.rglob('Makefile'), tree / '.kernelvariables']:
        if path.exists() and not path.is_symlink():
            text = path.read_text()
            path.write_text(re.sub(r'(?<![\w)])/usr/(src|lib)/linux-',
                                   rf'{folder}/usr/\1/linux-', text))
    for link in tree.iterdir():
        target = str(os.readlink(link)) if link.is_symlink() else ''
        if target.startswith('/usr/') or target.startswith('../../lib/'):
            link.unlink()
            link.symlink_to(folder / 'usr/lib' / target.split('/lib/', 1)[1])


# ---- modules --------------------------------------------------------------------

def put_modules(kernel, programs, root, driver):
    source = next((kernel / 'usr/lib/modules').iterdir())
    target = root / 'usr/lib/modules' / source.name
    target.mkdir(parents=True)
    for name in needed_modules(source, MODULES):
        data = (source / name).read_bytes()
        file = target / name.removesuffix('.xz')
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(lzma.decompress(data) if name.endswith('.xz') else data)
    if driver:
        (target / 'extra').mkdir()
        run(['strip', '--strip-debug', '-o', target / 'extra/ernic.ko', driver])
    for name in ('modules.builtin', 'modules.builtin.modinfo', 'modules.order'):
        shutil.copy(source / name, target)
    in_image(programs, programs / 'usr/bin/kmod', '-b', root, source.name,
             name='depmod')


def put_provider(folder, programs, root):
    library = root / LIB / 'libibverbs'
    library.mkdir(parents=True)
    (root / 'etc/libibverbs.d').mkdir(parents=True)
    libraries = sorted(Path(folder).glob('libernic*.so*'))
    if not libraries:
        raise SystemExit(f'guest/image: no libernic*.so in {folder}')
    for file in libraries:
        number = file.name.removeprefix('libernic-')
        if not (programs / LIB / 'libibverbs' / f'librxe-{number}').exists():
            raise SystemExit(f'guest/image: libibverbs of {programs} does not load '
                             f'{file}: its interface to providers has another number')
        shutil.copy(file, library)
    shutil.copy(Path(folder) / 'ernic.driver', root / 'etc/libibverbs.d')


def fingerprint(options, image):
    """Names an image by all that goes into it."""
    digest = hashlib.sha256(f'{image} {options.release} {options.packages}'.encode())
    files = [*SCRIPTS, *(HERE / name for name in OURS)]
    if options.driver:
        files.append(Path(options.driver))
    if options.provider:
        files += sorted(Path(options.provider).glob('*ernic*'))
    for pair in options.add:
        file, path = pair.split(':')
        digest.update(path.encode())
        files.append(Path(file))
    for file in files:
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:12]


def make_image(folder, options, kernel, programs, more):
    say('composing the image')
    root = folder / 'root'
    unpack([], root)
    put_modules(kernel, programs, root, options.driver)
    if options.provider:
        put_provider(options.provider, programs, root)
    pairs = [(HERE / name, path) for name, path in OURS.items()]
    for file, path in [*pairs, *(pair.split(':') for pair in options.add)]:
        target = root / path.lstrip('/')
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    put_kernel(kernel_file(kernel), folder / 'kernel')
    with open(folder / 'initrd', 'wb') as out:
        out.writelines(cpio([root, programs, *more]))
    shutil.rmtree(root)


def kernel_names(version):
    """The packages of a kernel, of image and headers."""
    names = chosen(f'kernel-{version}', lambda: kernel_packages(KERNELS[version]))
    headers = [name for name in names if re.match('linux-(headers|kbuild)-', name)]
    return [name for name in names if name not in headers], headers


def last_line(script, *arguments, **environment):
    """The file that a script of this repository builds; its messages go to stderr."""
    done = subprocess.run([script, *arguments], stdout=subprocess.PIPE, text=True,
                          check=False, env=dict(os.environ, **environment))
    if done.returncode or not done.stdout.strip():
        raise SystemExit(f'guest/image: {script.relative_to(GUEST.parent)} failed')
    return done.stdout.strip().splitlines()[-1]


def debian_headers(release, packages):
    folder = once(CACHE / packages[0],
                  lambda folder: make_headers(folder, release, packages))
    return next((folder / 'usr/src').glob('linux-headers-*-amd64'))


def our_parts(options):
    """Sets driver and provider, where the caller did not, to what is built here, and
    adds the program for the ERNIC interface."""
    provider = GUEST / 'rdma-core/build'
    say('building the driver and the provider, unless they are up to date')
    if options.driver is None:
        options.driver = last_line(GUEST / 'linux/build', '--kernel', options.kernel)
    if options.provider is None and provider.exists():
        options.provider = last_line(provider, ERNIC_RELEASE=options.release)
    options.add.append(last_line(GUEST / 'ernic-user/build') + ':usr/bin/ernic-user')
    for name in ('driver', 'provider'):
        if getattr(options, name) == 'none':
            setattr(options, name, None)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('--kernel', choices=[*KERNELS, DEBUG_KERNEL], default='6.1')
    parser.add_argument('--release', choices=RELEASES, default=STABLE)
    parser.add_argument('--driver')
    parser.add_argument('--provider')
    parser.add_argument('--packages', default='')
    parser.add_argument('--add', action='append', default=[])
    parser.add_argument('--headers', action='store_true')
    parser.add_argument('--stock', choices=stock.KERNELS)
    parser.add_argument('--disk', choices=disk.RELEASES)
    parser.add_argument('--dkms', action='store_true')
    options = parser.parse_args()
    if not (options.headers or options.stock or options.disk):
        our_parts(options)
    if options.stock:
        print(stock.image(options.stock, options.packages))
        return
    if options.disk:
        provider = options.dkms and Path(last_line(GUEST / 'rdma-core/build',
                                                   ERNIC_RELEASE=options.disk))
        print(disk.image(options.disk, options.packages, provider or None))
        return
    if options.kernel == DEBUG_KERNEL:
        image = debug_kernel.name()
        kernel = once(CACHE / image, make_debug_kernel)
    else:
        images, headers = kernel_names(options.kernel)
        release = release_of(KERNELS[options.kernel])
        image, kernel = images[0], None
    if options.headers:
        print(kernel / 'build' if kernel else debian_headers(release, headers))
        return
    recipe = hashlib.sha256(b''.join(file.read_bytes() for file in SCRIPTS))
    recipe = recipe.hexdigest()
    programs = once(CACHE / f'programs-{options.release}-{recipe[:12]}',
                    lambda folder: make_programs(folder, options.release))
    kernel = kernel or once(CACHE / image, lambda folder:
                            make_kernel(folder, release, images, programs))
    more = []
    if options.packages:
        recipe = hashlib.sha256(f'{recipe} {options.packages}'.encode()).hexdigest()
        more = [once(CACHE / f'more-{options.release}-{recipe[:12]}',
                     lambda folder: make_more(folder, options.release,
                                              options.packages.split(',')))]
    print(once(CACHE / f'image-{fingerprint(options, image)}', lambda folder:
               make_image(folder, options, kernel, programs, more)))


if __name__ == '__main__':
    try:
        main()
    except OSError as e:
        raise SystemExit(
            f'guest/image: {e.strerror or e}: {e.filename or CACHE}') from None
