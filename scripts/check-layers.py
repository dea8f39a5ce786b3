#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check that includes of the engine only point downwards.

usage: check-layers.py [ROOT]

Every file of the engine belongs to a layer below, or the check fails. A file may
include headers of its own layer and of lower ones; the roles of layer 3 meet only
in what they share, and the QEMU front sees only the engine's face.
"""
import re
import sys
from pathlib import Path

CORE = 'hw/rdma-ernic/core'
FRONT = 'hw/rdma-ernic'
CONTRACT = 'include/hw/rdma-ernic'

# Stems: a stem stands for its .c and its .h.
LAYERS = {
    0: 'ernic_abi ernic_abi_cmd ernic_abi_eth ernic_abi_queue ernic_abi_raw'
       ' ernic_counters ernic_regs ib_spec',
    1: 'env types limits psn drop opcode icrc net wire fault timer stats'
       ' ib_tables server lru line profile timing_trace regs regfile cable flow_key'
       ' switch switch_port switch_state walk pcie',
    2: 'res dev mr odp dma eq cq wqe rq buf format timing timing_count'
       ' strict',
    3: 'qp_table qp_cmd qp req resp fetch comp ack sched cc mcast tx pg332'
       ' pg332_check pg332_count pg332_fatal pg332_qp1 pg332_queue'
       ' pg332_retry pg332_rules pg332_side pg332_status pg332_strict retry overlap'
       ' flow raw rss rate counter',
    4: 'cmd rx engine state state_owned state_table state_timing'
       ' state_strict check'
       ' check_objects check_qp check_timing doorbell',
}
LAYER = {stem: level for level, stems in LAYERS.items() for stem in stems.split()}

# No role may include another's header: they share qp.h.
ROLES = {'req', 'resp', 'comp'}

# Layer 5: what the front may see of the engine.
FACE = {'ernic_abi', 'ernic_regs', 'engine', 'env', 'types'}
# The netdev link carries frames; the timing model's properties are profiles.
MORE = {'ernic_netdev': {'net', 'drop', 'ib_spec'},
        'ernic_timing': {'profile', 'timing_trace'},
        'ernic_wire': {'cable', 'switch', 'walk'}, 'ernic_stats': {'timing_count'}}
# The links and the files that are written, also layer 5, run without QEMU and know
# no verbs: addresses, trains, hooks and the C library alone.
LINKS = {'link_map', 'link_udp', 'pcapng', 'timing_file', 'timing_usage'}
LINK_FACE = {'types', 'timing_trace'}

# Allowed everywhere in the engine, whatever the layer.
PURE = {'qemu/osdep.h', 'qemu/bswap.h', 'trace.h', 'glib.h'}
# Only in core/trace.h itself.
GENERATED = 'trace/trace-hw_rdma_ernic_core.h'
# Only where a library computes the ICRC.
LIBRARIES = {'icrc.c': {'isa-l/crc.h', 'isa-l.h', 'libdeflate.h', 'zlib.h'}}
# Only in the guest contract, which kernel and user space read too.
CONTRACT_HEADERS = {'linux/types.h', 'linux/build_bug.h', 'stdint.h', 'stddef.h',
                    'assert.h', 'standard-headers/linux/types.h'}

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def includes(path, brackets='"<'):
    text = path.read_text(encoding='utf-8')
    for number, line in enumerate(text.splitlines(), 1):
        m = INCLUDE.match(line)
        if m and m[1] in brackets:
            yield number, m[2]


def target_of(root, header):
    """The stem of one of our own headers, or None for a foreign one."""
    path = Path(header)
    if header.startswith('hw/rdma-ernic/') or header.startswith('core/'):
        return path.stem
    if len(path.parts) == 1 and (path.stem in LAYER
                                 or (root / CORE / header).exists()):
        return path.stem
    return None


def check_core_include(root, path, header):
    """Why this include is wrong, or None."""
    stem, target = path.stem, target_of(root, header)
    if path.name == 'trace.h':
        return None if header == GENERATED else f'trace.h includes {header}'
    if header in PURE:
        return None
    if target is None:
        if header in LIBRARIES.get(path.name, ()):
            return None
        if LAYER[stem] == 0 and header in CONTRACT_HEADERS:
            return None
        return f'{header} is neither ours nor a pure header'
    if target not in LAYER:
        return f'{header} is in no layer'
    if LAYER[target] > LAYER[stem]:
        return f'layer {LAYER[stem]} includes {header} of layer {LAYER[target]}'
    if stem in ROLES and target in ROLES - {stem}:
        return f'{stem} includes {header}: the roles share only qp.h'
    if stem == 'ernic_abi' and not target.startswith('ernic_abi_'):
        return f'the guest contract includes {header}'
    return None


def check_front_include(root, path, header):
    """Why this include of layer 5 is wrong, or None."""
    target = target_of(root, header)
    if path.stem not in LINKS:
        face = FACE | MORE.get(path.stem, set())
        if target in LAYER and target not in face:
            return f'the front includes {header} of layer {LAYER[target]}'
        return None
    system = header in {name for _, name in includes(path, '<')}
    if system or header in {'qemu/osdep.h', 'qemu/bswap.h'} \
            or Path(header).stem in LINKS or target in LINK_FACE:
        return None
    return f'the link includes {header}'


def check_first(path):
    """core .c files start with qemu/osdep.h, headers never include it."""
    names = [header for _, header in includes(path)]
    if path.suffix == '.c' and names[:1] != ['qemu/osdep.h']:
        return 'first include is not qemu/osdep.h'
    if path.suffix == '.h' and 'qemu/osdep.h' in names:
        return 'a header includes qemu/osdep.h'
    return None


def check(root):
    """All findings as (path, line, message), and how many files were read."""
    found, count = [], 0
    core = sorted(p for d in (CORE, CONTRACT) if (root / d).is_dir()
                  for p in (root / d).rglob('*.[ch]'))
    for path in core:
        count += 1
        if path.stem not in LAYER and path.name != 'trace.h':
            found.append((path, 1, 'in no layer: list it in check-layers.py'))
            continue
        first = check_first(path)
        if first:
            found.append((path, 1, first))
        for number, header in includes(path):
            why = check_core_include(root, path, header)
            if why:
                found.append((path, number, why))
    for path in sorted((root / FRONT).glob('*.[ch]')):
        count += 1
        for number, header in includes(path):
            why = check_front_include(root, path, header)
            if why:
                found.append((path, number, why))
    return found, count


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else '.')
    found, count = check(root)
    for path, number, why in found:
        print(f'{path.relative_to(root)}:{number}: {why}')
    if count == 0:
        print(f'{root}: no file of the engine found')
    print(f'check-layers: {count} files, {len(found)} findings')
    return 1 if found or not count else 0


if __name__ == '__main__':
    sys.exit(main())
