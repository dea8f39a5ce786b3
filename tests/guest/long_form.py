# SPDX-License-Identifier: GPL-2.0-or-later
"""The tests that only the long form runs: the short form does the same elsewhere."""
from fnmatch import fnmatchcase

# Whether it runs; a test that repeats something then does so more often.
chosen = False
# Suite, tests, and where the short form has the same.
ROWS = (
    ('driver-6.12', 'vectors large_regions resize device_memory abi filter ptp raw '
     'counters qp_counters', 'driver-6.1'),
    ('kernel-netdev-6.12', 'rds nvme nvme_again nfs nvme_dead', 'kernel-udp-6.1'),
    ('mlx5-6.12-cloud', 'tcp jumbo vlan priority dhcp counters bind', 'mlx5-6.1'),
    ('mlx5-testing-cloud', 'jumbo vlan priority dhcp counters bind', 'mlx5-6.1'),
    *((f'mlx5-{kernel}', '*', 'mlx5-6.1') for kernel in ('6.1-cloud', '6.12', 'testing')),
    ('mlx5-pair', '*', 'mlx5-6.1'),
    ('mlx5-nvme-*', '*', 'mlx5-verbs-6.12-cloud'),
    ('mlx5-verbs-6.1', '*', 'mlx5-verbs-6.12-cloud'),
    ('mlx5-verbs-testing-cloud', '*', 'mlx5-verbs-6.12-cloud'),
    ('net-6.12', 'big_ping tcp', 'net-6.1'),
    ('shm-6.12', '*', 'netdev-6.12'),
    ('shm-6.1', 'uc_events ud_events srq_events send_events read_events uc_write '
     'uc_send_lat ud_send_lat many_qps_read both_ways_send all_sizes ucmatose udaddy '
     'compare_swap mtu_256 mtu_512 mtu_1024 mtu_2048 stranger processes tcp_beside',
     'netdev-6.1'),
    # The short form boots these kernels with the device.
    ('stock-6.1', '*', 'stock-6.1-cloud'),
    ('stock-6.12-cloud', '*', 'stock-6.12'),
    ('stock-testing-cloud', '*', 'stock-testing'),
    ('udp-6.12', '*', 'netdev-6.12'),
    ('udp-6.1', 'ud_events srq_events send_events read_events uc_write uc_send_lat '
     'ud_send_lat many_qps_read both_ways_send all_sizes compare_swap mtu_256 mtu_512 '
     'mtu_1024 mtu_2048', 'netdev-6.1'),
)
PATTERNS = tuple(f'{suite}/{test}' for suite, tests, _ in ROWS for test in tests.split())


def is_long(name):
    return any(fnmatchcase(name, pattern) for pattern in PATTERNS)


def check(names):
    """Each pattern chooses a test, and the short form has a test of that name."""
    for suite, tests, other in ROWS:
        for test in tests.split():
            found = [name for name in names if fnmatchcase(name, f'{suite}/{test}')]
            assert found, f'long_form.py: no test {suite}/{test}'
            for name in found:
                same = f'{other}/{name.partition("/")[2]}'
                assert same in names and not is_long(same), f'long_form.py: no {same}'
