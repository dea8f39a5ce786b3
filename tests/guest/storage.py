# SPDX-License-Identifier: GPL-2.0-or-later
"""Disks and files of one guest in another: the set-up of the two kernels."""
from typing import NamedTuple

import links


class Way(NamedTuple):
    """target: of guest 0, which has them; initiator: of guest 1, which has them then at
    path; end: of guest 1."""

    target: str
    initiator: str
    path: str
    end: str


# fio's way to write to a disk.
DEEP = '--ioengine=libaio --direct=1 --iodepth=16'


def fio(path, mib, options):
    """Random blocks of all these sizes are written and then read and verified."""
    return (f'fio --name=verify --filename={path} --size={mib}m --rw=randwrite '
            '--bsrange=4k-256k --verify=crc32c --verify_fatal=1 --do_verify=1 '
            f'--randrepeat=1 {options}')


CONFIG = '/sys/kernel/config'
IQN = 'iqn.2026-01.ernic:disk'

# The disk /dev/shm/nvme, offered by the kernel's NVMe target.
NVME_TARGET = f'''
    modprobe nvmet-rdma && modprobe loop &&
    losetup /dev/loop0 /dev/shm/nvme &&
    cd {CONFIG}/nvmet && mkdir -p subsystems/disk/namespaces/1 ports/1 &&
    echo 1 >subsystems/disk/attr_allow_any_host &&
    printf /dev/loop0 >subsystems/disk/namespaces/1/device_path &&
    echo 1 >subsystems/disk/namespaces/1/enable &&
    echo rdma >ports/1/addr_trtype && echo ipv4 >ports/1/addr_adrfam &&
    echo {links.ipv4(0)} >ports/1/addr_traddr && echo 4420 >ports/1/addr_trsvcid &&
    ln -s {CONFIG}/nvmet/subsystems/disk ports/1/subsystems/disk'''
NVME_INITIATOR = f'''
    modprobe nvme-rdma &&
    echo "transport=rdma,nqn=disk,trsvcid=4420,traddr={links.ipv4(0)}" \\
        >/dev/nvme-fabrics &&
    timeout 60 sh -c "until [ -b /dev/nvme0n1 ]; do sleep 0.1; done"'''
NVME = Way(NVME_TARGET, NVME_INITIATOR, '/dev/nvme0n1',
           'echo 1 >/sys/class/nvme/nvme0/delete_controller')

# /dev/shm/iser by LIO: a portal by TCP, which has to exist first, and one by iSER.
ISER_TARGET = f'''
    modprobe target_core_mod && modprobe iscsi_target_mod && modprobe ib_isert &&
    modprobe target_core_file &&
    disk={CONFIG}/target/core/fileio_0/disk && mkdir -p $disk &&
    echo "fd_dev_name=/dev/shm/iser,fd_dev_size=$(stat -c %s /dev/shm/iser)" \\
        >$disk/control && echo 1 >$disk/enable &&
    group={CONFIG}/target/iscsi/{IQN}/tpgt_1 && mkdir -p $group/lun/lun_0 &&
    ln -s $disk $group/lun/lun_0/disk && mkdir -p $group/np/{links.ipv4(0)}:3260 &&
    echo 1 >$group/np/{links.ipv4(0)}:3260/iser &&
    echo 0 >$group/attrib/authentication && echo 1 >$group/attrib/generate_node_acls &&
    echo 1 >$group/attrib/cache_dynamic_acls &&
    echo 0 >$group/attrib/demo_mode_write_protect && echo 1 >$group/enable'''
ADMIN = f'iscsiadm -m node -T {IQN} -p {links.ipv4(0)}:3260'
ISER_INITIATOR = f'''
    modprobe sd_mod && modprobe ib_iser && mkdir -p /run/lock /etc/iscsi /var/lib/iscsi &&
    echo InitiatorName=iqn.2026-01.ernic:guest >/etc/iscsi/initiatorname.iscsi &&
    [ -f /etc/iscsi/iscsid.conf ] || : >/etc/iscsi/iscsid.conf
    iscsid && {ADMIN} -I iser -o new && {ADMIN} -I iser --login &&
    timeout 60 sh -c "until [ -b /dev/sda ]; do sleep 0.1; done" &&
    iscsiadm -m session | grep "^iser:"'''
ISER = Way(ISER_TARGET, ISER_INITIATOR, '/dev/sda', f'{ADMIN} --logout')


def guid(n, universal=2):
    """EUI-64 of guest n's device: of its port, which has the bit, or of its node."""
    mac = bytes.fromhex(links.mac(n).replace(':', ''))
    return (bytes([mac[0] ^ universal]) + mac[1:3] + b'\xff\xfe' + mac[3:]).hex()


# /dev/shm/srp by LIO and rdma_cm. Target and initiator have the names of their ports.
SRP_PORT = 5555
SRP_NAME = f'0xfe80{0:012}{guid(0)}'
SRP_TPG = f'{CONFIG}/target/srpt/{SRP_NAME}/{SRP_NAME}'
SRP_TARGET = f'''
    modprobe target_core_mod && modprobe target_core_file && modprobe ib_srpt &&
    disk={CONFIG}/target/core/fileio_0/disk && mkdir -p $disk &&
    echo "fd_dev_name=/dev/shm/srp,fd_dev_size=$(stat -c %s /dev/shm/srp)" \\
        >$disk/control && echo 1 >$disk/enable &&
    mkdir -p {SRP_TPG}/lun/lun_0 && ln -s $disk {SRP_TPG}/lun/lun_0/disk &&
    acl={SRP_TPG}/acls/0x{0:016}{guid(1)} && mkdir -p $acl/lun_0 &&
    ln -s {SRP_TPG}/lun/lun_0 $acl/lun_0/lun && echo 1 >{SRP_TPG}/enable &&
    echo {SRP_PORT} >{CONFIG}/target/srpt/discovery_auth/rdma_cm_port'''
SRP_LOGIN = (f'id_ext={guid(0, 0)},ioc_guid={guid(0, 0)},'
             f'dest={links.ipv4(0)}:{SRP_PORT}')
SRP_INITIATOR = f'''
    modprobe sd_mod && modprobe ib_srp &&
    echo "{SRP_LOGIN}" >/sys/class/infiniband_srp/srp-{links.DEVICE}-1/add_target &&
    timeout 60 sh -c "until [ -b /dev/sda ]; do sleep 0.1; done"'''
SRP = Way(SRP_TARGET, SRP_INITIATOR, '/dev/sda',
          'for one in /sys/class/srp_remote_ports/*; do echo 1 >$one/delete; done && '
          'timeout 60 sh -c "while [ -b /dev/sda ]; do sleep 0.1; done"')

# The file system /export, set up without mountd.
NFS_TARGET = f'''
    modprobe nfsd && modprobe rpcrdma && mkdir -p /export &&
    mount -t tmpfs none /export && mount -t nfsd none /proc/fs/nfsd && cd /proc/net/rpc &&
    echo 'nfsd {links.ipv4(1)} 2147483647 *' >auth.unix.ip/channel &&
    echo '* /export 2147483647 9234 65534 65534 0' >nfsd.export/channel &&
    echo '* 1 \\\\x00000000 2147483647 /export' >nfsd.fh/channel &&
    cd /proc/fs/nfsd && echo '-2 -3 +4 +4.1' >versions &&
    echo 10 >nfsv4leasetime && echo 10 >nfsv4gracetime &&
    echo 'rdma 20049' >portlist && echo 2 >threads'''
NFS_CLIENT = f'''
    modprobe nfsv4 && modprobe rpcrdma && mkdir -p /mnt &&
    python3 /tmp/mount_nfs.py {links.ipv4(0)} {links.ipv4(1)} &&
    mount | grep proto=rdma'''
NFS = Way(NFS_TARGET, NFS_CLIENT, '/mnt/file', 'umount /mnt')
