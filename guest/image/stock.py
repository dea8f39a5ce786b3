# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest of Debian's packages alone: no file of this repository is inside.

The kernel is the newest one of a release, in one of two flavours; programs and
libraries are those of the same release. There is no init: the command line of the
kernel has to say rdinit=/bin/sh, and all else is typed on the serial console (see
tests/guest/stock.py). Files are as they are in their packages, also modules, which
stay compressed. Only depmod's indexes are made here, as a package does after its
installation.

A second file, `files`, lists each file of the packages used, whether it is in the image
or not: "PACKAGE TYPE PATH VALUE". The type is f, l or d; the value is the MD5 sum of a
file, the target of a link, and - for a folder. The folder `packages` has a file for each
package, with its version.
"""
import hashlib
import re
import shutil
import tarfile
from pathlib import Path

from initramfs import cpio, in_image, kernel_file, needed_modules, put_kernel
from packages import apt, chosen, fetched, once, read_lists, say, unpack
from packages import CACHE, LIB, VERSIONS

HERE = Path(__file__).resolve().parent
SCRIPTS = [HERE / name for name in ('initramfs.py', 'packages.py', 'stock.py')]
# Name: release, and the package that depends on the newest kernel of a flavour.
KERNELS = {f'{name}{suffix}': (release, f'linux-image-{flavour}amd64')
           for name, release in (('6.1', 'bookworm'), ('6.12', 'trixie'),
                                 ('testing', 'forky'))
           for suffix, flavour in (('', ''), ('-cloud', 'cloud-'))}
# With all that they depend on. busybox, kmod and udev are what Debian's own initramfs
# has.
PROGRAMS = ['base-passwd', 'busybox', 'dash', 'ethtool', 'iproute2', 'kmod', 'pciutils',
            'udev']
# With all that they need; a flavour that has not all of them goes without. The guest
# loads them by modalias, or by name.
MODULES = ['8021q', 'act_gact', 'act_vlan', 'bonding', 'bridge', 'cls_flower',
           'crc32c_generic', 'e1000e', 'ib_iser', 'ib_isert', 'ib_srp', 'ib_srpt',
           'ib_umad', 'ib_uverbs', 'loop', 'macvlan', 'mlx5_core', 'mlx5_ib', 'nfsd',
           'nfsv4', 'nvme_rdma', 'nvmet_rdma', 'rdma_rxe', 'rdma_ucm', 'rds_rdma',
           'rpcrdma', 'sch_ingress', 'sd_mod', 'smc', 'smc_diag', 'target_core_file',
           'virtio_blk', 'virtio_net', 'virtio_pci', 'virtio_rng', 'vrf',
           'xfrm_interface']
# Weight without use in the guest.
UNUSED = ['boot', 'etc/init.d', LIB + '/gconv', LIB + '/perl*', 'usr/lib/systemd/system',
          'usr/lib/udev/hwdb.d', 'usr/share/*', 'usr/share/doc/*', 'usr/bin/perl*',
          'usr/sbin/user*', 'usr/sbin/group*', 'var']
# rdma-core has the tests of pyverbs among its documents.
KEPT = ['usr/share/base-passwd', 'usr/share/doc', 'usr/share/doc/rdma-core',
        'usr/share/misc', 'usr/share/udhcpc', VERSIONS]


def newest(release, name):
    """The packages of the kernel that package name depends on, e.g.
    linux-image-6.1.0-50-amd64."""
    read_lists(release)
    text = apt(release, 'apt-cache', 'depends', name)
    return with_modules(release, re.search(r'Depends: (linux-image-\d\S+)', text)[1])


def with_modules(release, image):
    """That package, and those that it needs: newer ones have the kernel and the modules
    apart."""
    text = apt(release, 'apt-cache', 'depends', image)
    return [image, *re.findall(r'Depends: (linux-(?:base|binary|modules)-\S+)', text)]


def contents(file):
    """Yield type, path and value of each member of an archive, as in `files`."""
    with tarfile.open(file, 'r:') as archive:
        for member in archive:
            path = member.name.removeprefix('./').rstrip('/')
            # Debian's folders in / are links.
            path = re.sub(r'^(bin|sbin|lib|lib64)(?=/)', r'usr/\1', path)
            if member.issym():
                yield 'l', path, member.linkname
            elif member.islnk():
                target = member.linkname.removeprefix('./')
                yield 'h', path, re.sub(r'^(bin|sbin|lib|lib64)(?=/)', r'usr/\1', target)
            elif member.isfile():
                data = archive.extractfile(member).read()
                yield 'f', path, hashlib.md5(data).hexdigest()
            elif path:
                yield 'd', path, '-'


def put_packages(debs, root):
    """Unpack them; the file `files` is beside the root."""
    with open(root.parent / 'files', 'w', encoding='utf-8') as out:
        unpack(debs, root, lambda deb, archive: list_files(deb, archive, out))


def depmod(programs, root, version):
    in_image(programs, programs / 'usr/bin/kmod', '-b', root, version, name='depmod')


def list_files(deb, archive, out):
    package, sums = deb.name.split('_')[0], {}
    for kind, path, value in contents(archive):
        if kind == 'h':                     # a second name of an earlier file
            kind, value = 'f', sums[value]
        sums[path] = value
        out.write(f'{package} {kind} {path} {value}\n')


def has(folder, deb):
    """Whether a folder of make_programs() has this version of the package."""
    name, version, _ = deb.name.split('_')
    file = folder / 'root' / VERSIONS / name
    return file.exists() and file.read_text().strip() == version.replace('%3a', ':')


def make_programs(folder, release, names, base=None):
    """base: a folder of this function, whose packages are left out."""
    root = folder / 'root'
    with fetched(release, names) as debs:
        put_packages([deb for deb in debs if not (base and has(base, deb))], root)
    kept = {path for pattern in KEPT for path in root.glob(pattern)}
    for path in {path for pattern in UNUSED for path in root.glob(pattern)} - kept:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def make_kernel(folder, release, names, programs):
    root = folder / 'root'
    with fetched(release, names, alone=True) as debs:
        put_packages(debs, root)
    version = next((root / 'usr/lib/modules').iterdir()).name
    depmod(programs / 'root', root, version)


def put_modules(kernel, programs, root):
    """The modules; depmod of that release writes indexes of them."""
    version = next((kernel / 'usr/lib/modules').iterdir()).name
    tree = f'usr/lib/modules/{version}'
    for name in [*needed_modules(kernel / tree, MODULES), 'modules.builtin',
                 'modules.builtin.modinfo', 'modules.order']:
        file = root / tree / name
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(kernel / tree / name, file)
    depmod(programs, root, version)


def make_image(folder, kernel, programs):
    """programs: folders of make_programs(), of which the first has the base."""
    say('composing the image')
    root = folder / 'root'
    unpack([], root)
    put_modules(kernel / 'root', programs[0] / 'root', root)
    put_kernel(kernel_file(kernel / 'root'), folder / 'kernel')
    # A newer version of a file of the base is in a later folder.
    roots = [one / 'root' for one in reversed(programs)]
    with open(folder / 'initrd', 'wb') as out:
        out.writelines(cpio([root, *roots], without=[VERSIONS]))
    with open(folder / 'files', 'wb') as out:
        for one in (kernel, *programs):
            out.write((one / 'files').read_bytes())
    for one in programs:
        shutil.copytree(one / 'root' / VERSIONS, folder / 'packages', dirs_exist_ok=True)
    shutil.rmtree(root)


def image(name, packages):
    """The folder with `kernel`, `initrd`, `files` and `packages`.

    name: one of KERNELS. packages: further ones, separated by commas.
    """
    release, meta = KERNELS[name]
    kernel_names = chosen(f'kernel-stock-{name}', lambda: newest(release, meta))
    names = [name for name in packages.split(',') if name]
    recipe = b''.join(file.read_bytes() for file in SCRIPTS)

    def key(*words):
        text = ' '.join(words)
        return hashlib.sha256(recipe + text.encode()).hexdigest()[:12]

    # Packages that all images of the release have are unpacked once.
    programs = [once(CACHE / f'stock-base-{release}-{key(*PROGRAMS)}',
                     lambda folder: make_programs(folder, release, PROGRAMS))]
    base = programs[0]
    if names:
        programs.append(once(CACHE / f'stock-programs-{release}-{key(*names)}', lambda
                             folder: make_programs(folder, release, names, base)))
    kernel = once(CACHE / f'stock-{kernel_names[0]}',
                  lambda folder: make_kernel(folder, release, kernel_names, base))
    return once(CACHE / f'stock-image-{name}-{key(*kernel_names, *names)}',
                lambda folder: make_image(folder, kernel, programs))
