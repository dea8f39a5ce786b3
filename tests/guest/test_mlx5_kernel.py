# SPDX-License-Identifier: GPL-2.0-or-later
"""Software of Debian's kernel on the mlx5 interface: SMC-R, SRP and RDS between two stock
guests. And what an administrator may change while RDMA moves data."""
import links
import mlx5
import programs
import storage
import stock
from suite import Suite, named

KERNEL = '6.12'
MIB = 1 << 20
PACKAGES = [*stock.PACKAGES, 'fio', 'python3']
MODULES = f'{mlx5.MODULES} smc rds_rdma'
PORT = 5000
SMC = 'python3 /tmp/inside/smc.py'
ENDLESS = f'{SMC} send {links.ipv4(1)} {PORT} 4 {1 << 40}'
QUEUE_PAIRS = 'rdma resource show qp'
# Commands for an interface {0} with the address {1}.
CHANGES = [
    'ethtool -L {0} combined 1', 'ethtool -G {0} rx 512 tx 512',
    'ethtool -K {0} rx off tso off gro off', 'ethtool -K {0} rx on tso on gro on',
    'ip link set {0} mtu 1500', 'ip link set {0} mtu 9000', 'ip link set {0} promisc on',
    'ip link set {0} promisc off', 'ip link set {0} down && ip link set {0} up',
    'ip addr replace {1}/24 dev {0}', 'ethtool -t {0}',
]
# The warnings that some step provokes: part of the line, and the reason.
PROVOKED = {
    'smc:': 'SMC-R names each device and link',
    'RDS/': 'RDS connects again while the driver is gone, and when both ends connect',
    'Create QP type 2 failed': 'ib_srpt asks for a longer queue first',
    'ib_srpt': 'the target goes away',
    'srpt_recv_done': 'likewise',
    'scsi host0: ': 'likewise',
    'I/O error, dev sda': 'likewise',
    'rejecting I/O to offline device': 'likewise',
    'db_root: cannot open': 'the target has no folder for its state',
    'Unable to load target_core': 'the image has the module for files only',
    'MODE SENSE: unimplemented page': 'the initiator asks for each page',
}


def machines():
    guests = mlx5.start(KERNEL, mlx5.Lab(), links.MTU, (PACKAGES,) * 2, modules=MODULES)
    for one in guests:
        one.put_programs()
    return guests


def moving(guests, one, command):
    """Start a command that moves data to the second guest; its job."""
    job = one.start(command, 330)
    mlx5.goes_on(guests[1], 200)
    return job


# ---- SMC-R ---------------------------------------------------------------------------

def sent(one):
    """The bytes of packets that the device has sent."""
    return links.statistics(one)['tx_bytes']


def send(guests, connections, length, seconds=200):
    guests[0].check(f'{SMC} send {links.ipv4(1)} {PORT} {connections} {length}', seconds)


def test_smc(guests):
    """Without an EID sockets are those of TCP; with one they move their bytes by RDMA."""
    guests[1].start(f'{SMC} serve {PORT}', 1000)
    guests[1].wait_until('[ -e /tmp/smc.listens ]')
    send(guests, 1, MIB)
    assert 'smc' not in guests[0].check(QUEUE_PAIRS)
    for one in guests:
        one.check(f'{SMC} eid ERNIC')
    for connections, mib in ((1, 16), (8, 1)):
        before = sent(guests[0])
        send(guests, connections, mib * MIB)
        assert sent(guests[0]) > before + connections * mib * MIB
    assert 'smc' in guests[0].check(QUEUE_PAIRS)


def test_smc_killed(guests):
    """A process is killed while it sends; others go on."""
    job = moving(guests, guests[0], ENDLESS)
    job.kill()
    job.wait()
    send(guests, 4, MIB)


def test_smc_cable(guests):
    """Connections end when the cable is pulled; later ones use RDMA again. The other end
    finds out by its retries, and ends the connections of that link until then."""
    job = moving(guests, guests[0], ENDLESS)
    guests.link.plug(guests[0], False)
    assert 'failed' in job.wait().output
    guests[1].wait_until(f'! {QUEUE_PAIRS} | grep -q smc', 100)
    guests.link.plug(guests[0], True)
    guests[0].wait_until('rdma link | grep -q ACTIVE')
    guests[0].check(f'ping -c 1 -W 30 {links.ipv4(1)}')
    before = sent(guests[0])
    send(guests, 4, MIB)
    assert sent(guests[0]) > before + 4 * MIB


# ---- SRP -----------------------------------------------------------------------------

def test_srp(guests):
    """fio writes random blocks to a disk of the other guest, and verifies them."""
    target, initiator = guests
    target.check(f'modprobe configfs && mount -t configfs none {storage.CONFIG} && '
                 'truncate -s 64M /dev/shm/srp')
    target.check(storage.SRP.target)
    initiator.check(storage.SRP.initiator)
    initiator.check(storage.fio(storage.SRP.path, 48, storage.DEEP), 400)
    sums = [one.check(f'md5sum <{path}', 200) for one, path in
            ((target, '/dev/shm/srp'), (initiator, storage.SRP.path))]
    assert sums[0] == sums[1]


def test_srp_away(guests):
    """The target goes away while the disk is read, and comes back."""
    target, initiator = guests
    read = f'dd if={storage.SRP.path} of=/dev/null bs=64k iflag=direct'
    job = moving(guests, initiator, f'while {read}; do :; done')
    target.check(f'echo 0 >{storage.SRP_TPG}/enable')
    job.wait()                  # the initiator gives up by itself, after 15 s
    target.check(f'echo 1 >{storage.SRP_TPG}/enable')
    initiator.wait_until('grep -q running /sys/class/srp_remote_ports/*/state', 60)
    initiator.check(read)
    initiator.check(storage.SRP.end)
    assert initiator.run(f'ls {storage.SRP.path}').status != 0


# ---- changes -------------------------------------------------------------------------

def end(jobs):
    for job in jobs:
        job.kill()
        job.wait()


def test_changes(guests):
    """The network device is changed at both ends; the RDMA device goes on."""
    jobs = mlx5.write(guests, 300)
    for words in CHANGES:
        for n, one in enumerate(guests):
            one.check(words.format(links.INTERFACE, links.ipv4(n)))
            mlx5.goes_on(guests[1], 200)
    assert not any(job.done() for job in jobs)
    end(jobs)
    links.up(guests, links.MTU)


def test_reload(guests):
    """The driver starts the function anew under a program that writes."""
    jobs = mlx5.write(guests, 300)
    one = guests[0]
    one.check(f'devlink dev reload pci/{links.function(one)}')
    end(jobs)
    one.check('udevadm settle')
    mlx5.prepare([one], '')
    links.up(guests, links.MTU)
    end(mlx5.write(guests, 300))


def suites():
    yield Suite(f'mlx5-kernel-{KERNEL}', machines,
                [test_smc, test_smc_killed, test_smc_cable, test_srp, test_srp_away,
                 named('rds', programs.check_rds), test_changes, test_reload,
                 named('complaints', mlx5.test_no_complaints, *PROVOKED)], '*',
                'mlx5-verbs-6.12-cloud and kernel-udp-6.1 use the same verbs')
