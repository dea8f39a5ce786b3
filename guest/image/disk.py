# SPDX-License-Identifier: GPL-2.0-or-later
"""A disk with an installed Debian, which boots by itself.

mmdebstrap installs the packages, so their own scripts have run: there are systemd, udev,
the newest kernel of the release with its initramfs, and all files as on any machine. No
root is needed, nor a loop device: mke2fs fills the file system from a folder, in which
fakeroot keeps the owners. GRUB is written as grub-install does with a BIOS: its first
sector into that of the disk, the rest into the gap before the partition.

With --dkms our driver is installed, too, as docs/linux-guest.md says, and apt has loaded
the packages of a newer kernel, which it can install without a network.

The files of `disk-files` are what an administrator would change: the boot loader's menu,
/etc/fstab, a network that is configured elsewhere, a login of root on the serial console,
and the unit that starts `agent`.
"""
import hashlib
import os
import shutil
import struct
import tempfile
from pathlib import Path

from packages import CACHE, LIB, once, read_lists, run, say

HERE = Path(__file__).resolve().parent
FILES = HERE / 'disk-files'
RELEASES = ['trixie', 'bookworm', 'forky']
BASE = ['busybox', 'dbus', 'grub-common', 'grub-pc-bin', 'initramfs-tools', 'iproute2',
        'iputils-ping', 'kexec-tools', 'login', 'net-tools', 'systemd-sysv', 'udev',
        'zstd']
KERNEL = ['linux-image-amd64']
# What the distribution has for RDMA.
RDMA = ['ibverbs-utils', 'nfs-common', 'nfs-kernel-server', 'perftest', 'rdma-core',
        'rdmacm-utils']
# What DKMS needs; kernels of machines like these, which take a third of the time to
# install; the suites with a newer one that our driver supports.
DKMS = ['dkms', 'gcc', 'libc6-dev', 'make']
CLOUD_KERNEL = ['linux-headers-cloud-amd64', 'linux-image-cloud-amd64']
NEWER = {'bookworm': 'bookworm-backports'}
WITHOUT = [f'/usr/share/{name}/*' for name in ('doc', 'locale', 'man')]
HOOKS = [
    'mkdir -p "$1/boot/grub"',
    'chroot "$1" grub-mkimage -O i386-pc -p "(hd0,msdos1)/boot/grub" '
    '-o /boot/grub/core.img biosdisk part_msdos ext2',
    'cp -r "$1/usr/lib/grub/i386-pc" "$1/boot/grub"',
    'chroot "$1" systemctl enable systemd-networkd']
SECTOR = 512
START = 2048                    # of the partition, in sectors
CODE_BYTES = 440                # of the first sector, before the table of partitions
# With an identifier, and files that say that all is up to date, this is not the first
# boot, in which systemd asks questions and compiles what the packages have compiled.
MACHINE = hashlib.md5(b'rdma-ernic').hexdigest()
SIZE_MIB = 2048                 # of the file system; the file is sparse


def driver_source():
    """A folder with what "make dkms" installs, named by its content."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix='dkms.', dir=CACHE) as place:
        run(['make', '-s', '-C', HERE.parent / 'linux/ernic', 'dkms',
             f'DESTDIR={place}'])
        digest = hashlib.sha256()
        for file in sorted(Path(place).rglob('*')):
            if file.is_file():
                digest.update(str(file.relative_to(place)).encode() + file.read_bytes())
        return once(CACHE / f'dkms-source-{digest.hexdigest()[:12]}',
                    lambda folder: shutil.copytree(place, folder, dirs_exist_ok=True))


def driver_hooks(release, source, provider):
    """source: of driver_source(). provider: a folder with libernic."""
    if release not in NEWER:
        raise SystemExit(f'guest/image: --dkms needs one of {", ".join(NEWER)}')
    name = next((source / 'usr/src').iterdir()).name.replace('-', '/', 1)
    return [f'copy-in {source}/usr /',
            f'copy-in {provider}/libernic-rdmav34.so /{LIB}/libibverbs',
            f'copy-in {provider}/ernic.driver /etc/libibverbs.d',
            f'chroot "$1" dkms install {name} -k "$(ls "$1/lib/modules")"',
            'chroot "$1" apt-get clean',
            f'chroot "$1" apt-get install -q -y --download-only -t {NEWER[release]} '
            + ' '.join(CLOUD_KERNEL)]


def installation(release, names, hooks):
    """The command that writes a tar archive of an installed system, without its name."""
    return ['mmdebstrap', '--quiet', '--variant=minbase',
            '--aptopt=APT::Install-Recommends "false"', '--dpkgopt=force-unsafe-io',
            *(f'--dpkgopt=path-exclude={path}' for path in WITHOUT),
            f'--include={",".join(names)}',
            *(f'--customize-hook={hook}' for hook in [*HOOKS, *hooks]),
            *['--skip=cleanup/apt'] * bool(hooks), release]


def install(folder, release, command):
    read_lists(release)
    say(f'installing {release}; this takes some minutes')
    run([*command, folder / 'root.tar', CACHE / f'apt-{release}/debian.sources'])


def partition_table():
    """One partition, of Linux, from which the machine starts."""
    entry = struct.pack('<B3sB3sII', 0x80, b'\xfe\xff\xff', 0x83, b'\xfe\xff\xff', START,
                        SIZE_MIB << 20 >> 9)
    return entry.ljust(64, b'\0') + b'\x55\xaa'


def put_loader(disk, root):
    """GRUB's two images hold the numbers of each other's sectors, 0 and 1, by default."""
    first = (root / 'usr/lib/grub/i386-pc/boot.img').read_bytes()
    rest = (root / 'boot/grub/core.img').read_bytes()
    if len(rest) > (START - 1) * SECTOR:
        raise SystemExit('guest/image: GRUB does not fit before the partition')
    with open(disk, 'r+b') as out:
        out.write(first[:CODE_BYTES])
        out.seek(SECTOR - 66)
        out.write(partition_table())
        out.write(rest)


def make_disk(folder, archive):
    say('composing the disk')
    root, disk = folder / 'root', folder / 'disk'
    root.mkdir()
    run(['fakeroot', 'sh', '-ec', f'''
        tar -x -C "$1" -f "$2"
        cp -r "$3/." "$1"
        cp "$4" "$1/usr/local/sbin/agent"
        echo {MACHINE} >"$1/etc/machine-id"
        touch "$1/etc/.updated" "$1/var/.updated"
        mke2fs -q -t ext4 -L root -E offset={START * SECTOR} -d "$1" "$5" {SIZE_MIB}M''',
         'sh', root, archive, FILES, HERE / 'agent', disk],
        env=dict(os.environ, PATH=f'{os.environ["PATH"]}:/usr/sbin:/sbin'))
    os.truncate(disk, (START * SECTOR) + (SIZE_MIB << 20))
    put_loader(disk, root)
    run(['chmod', '-R', 'u+rwX', root])
    shutil.rmtree(root)


def image(release, packages, provider=None):
    """The folder with the file `disk`, of a release. packages: as in stock.py. provider:
    the folder of libernic; our driver is installed, too."""
    names = {*BASE, *RDMA, *filter(None, packages.split(','))}
    hooks = []
    if provider:
        names.update(DKMS, CLOUD_KERNEL)
        hooks = driver_hooks(release, driver_source(), provider)
    else:
        names.update(KERNEL)
    command = installation(release, sorted(names), hooks)
    digest = hashlib.sha256(repr(command).encode())
    for file in sorted(provider.glob('*ernic*')) if provider else []:
        digest.update(file.read_bytes())
    system = once(CACHE / f'disk-root-{release}-{digest.hexdigest()[:12]}',
                  lambda folder: install(folder, release, command))
    for file in sorted([Path(__file__), HERE / 'agent', *FILES.rglob('*')]):
        if file.is_file():
            digest.update(str(file.relative_to(HERE)).encode() + file.read_bytes())
    return once(CACHE / f'disk-{release}-{digest.hexdigest()[:12]}',
                lambda folder: make_disk(folder, system / 'root.tar'))
