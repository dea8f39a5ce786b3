# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel that detects mistakes of drivers: locks, leaks, use after free.

Debian has none, so it is built here, from Debian's source, with debug.config and
nothing more: everything that the guest needs is built in. Its folder looks like that of
an unpacked package of Debian, with the tree to build modules against in `build`.
"""
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

CONFIG = Path(__file__).resolve().parent / 'debug.config'
SOURCE = 'linux-source-6.1'
TOOLS = ['bison', 'flex', 'm4']         # of those that it takes, few have these
# Never compiled with that configuration, or not needed to configure.
UNUSED = ['*.rst', '*.yaml', '*.svg', '*.dts', '*.dtsi',
          *(f'{SOURCE}/{name}/*.[chS]' for name in (
              'arch/alpha', 'arch/arm', 'arch/arm64', 'arch/ia64', 'arch/m68k',
              'arch/mips', 'arch/parisc', 'arch/powerpc', 'arch/riscv', 'arch/s390',
              'arch/sh', 'arch/sparc', 'drivers/gpu', 'drivers/media',
              'drivers/staging', 'drivers/scsi', 'drivers/net/ethernet',
              'drivers/net/wireless', 'sound', 'tools/testing'))]
# The files that stay after the build: those to build modules with.
NEEDED = ['Makefile', 'arch', 'include', 'scripts', 'tools', 'Kbuild', 'Kconfig']


def name():
    """The name of the kernel that this configuration gives."""
    recipe = CONFIG.read_bytes() + Path(__file__).read_bytes()
    return f'linux-debug-{hashlib.sha256(recipe).hexdigest()[:12]}'


def unpack(packages, tools, folder):
    for package in packages:
        if not package.name.startswith(SOURCE):
            subprocess.run(['dpkg-deb', '-x', package, tools], check=True)
            continue
        subprocess.run(['dpkg-deb', '-x', package, folder / 'package'], check=True)
        archive = next((folder / 'package/usr/src').glob(f'{SOURCE}.tar.*'))
        subprocess.run(['tar', '-xf', archive, '-C', folder,
                        *(f'--exclude={pattern}' for pattern in UNUSED)], check=True)
        shutil.rmtree(folder / 'package')


def prune(folder):
    """Remove all but the files to build modules with."""
    for path in (folder / SOURCE).iterdir():
        if path.is_dir() and path.name not in NEEDED:
            shutil.rmtree(path)
    for path in (folder / 'build').rglob('*.[oa]'):
        if 'scripts' not in path.parts and 'tools' not in path.parts:
            path.unlink()
    (folder / 'build/vmlinux').unlink()


def make(folder, packages, run):
    """run(command, **options) as guest/image/build.py has it."""
    tools, build = folder / 'tools', folder / 'build'
    unpack(packages, tools, folder)
    environment = {**os.environ, 'BISON_PKGDATADIR': str(tools / 'usr/share/bison'),
                   'M4': str(tools / 'usr/bin/m4'), 'KCONFIG_ALLCONFIG': str(CONFIG),
                   'PATH': f'{os.environ["PATH"]}:{tools}/usr/bin'}

    def kernel_make(*words):
        run(['make', '-C', folder / SOURCE, f'O={build}', 'LOCALVERSION=',
             f'-j{os.environ.get("JOBS") or os.cpu_count()}', *words], env=environment)

    kernel_make('allnoconfig')
    kernel_make('vmlinux', 'modules')
    kernel_make(f'INSTALL_MOD_PATH={folder}/usr', 'modules_install')
    version = next((folder / 'usr/lib/modules').iterdir()).name
    for file in ('modules.dep', 'modules.softdep'):     # all is built in
        (folder / 'usr/lib/modules' / version / file).touch()
    (folder / 'boot').mkdir()
    run(['strip', '-o', folder / 'boot' / f'vmlinuz-{version}', build / 'vmlinux'])
    prune(folder)
