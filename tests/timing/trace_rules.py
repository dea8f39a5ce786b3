# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules of Chrome's trace event format, as far as our traces use it.

After "Trace Event Format", the document of Chromium's trace viewer: what each phase
has to have, what binds to what, what has a name. Each broken rule is an assertion.
"""
from collections import defaultdict
from decimal import Decimal

NUMBER = (int, Decimal)
# The required fields of an event of each phase, besides ph and pid.
FIELDS = {
    'M': {'name': str, 'args': dict},
    'X': {'name': str, 'tid': int, 'ts': NUMBER, 'dur': NUMBER, 'args': dict},
    'C': {'name': str, 'ts': NUMBER, 'args': dict},
} | dict.fromkeys('bestf', {'name': str, 'cat': str, 'id': str, 'tid': int, 'ts': NUMBER})
METADATA = {'process_name': 'name', 'thread_name': 'name',
            'thread_sort_index': 'sort_index'}


def check_fields(events):
    for e in events:
        assert isinstance(e, dict) and e.get('ph') in FIELDS, f'no phase: {e}'
        assert isinstance(e.get('pid'), int), f'no process: {e}'
        for name, kind in FIELDS[e['ph']].items():
            assert isinstance(e.get(name), kind), f'{name} is wrong: {e}'
        for name in 'ts', 'dur':
            assert e.get(name, 0) >= 0, f'{name} is negative: {e}'
        if e['ph'] == 'C':
            assert e['args'] and all(isinstance(v, NUMBER)
                                     for v in e['args'].values()), e
        if e['ph'] == 'M':
            assert METADATA.get(e['name']) in e['args'], f'unknown: {e}'
        if e['ph'] == 'f':
            assert e.get('bp') == 'e', f'binds to the next slice: {e}'


def check_names(events):
    """Each process and each thread that is used has one name."""
    processes = [e['pid'] for e in events if e.get('name') == 'process_name']
    threads = [(e['pid'], e['tid']) for e in events
               if e.get('name') == 'thread_name']
    assert len(set(processes)) == len(processes), 'a process has two names'
    assert len(set(threads)) == len(threads), 'a thread has two names'
    for e in events:
        assert e['pid'] in processes, f'process without a name: {e}'
        if e['ph'] in 'Xstf':
            assert (e['pid'], e['tid']) in threads, f'thread without a name: {e}'


def slices_of(events):
    """By thread, in the order of time; none begins before the one before ends."""
    tracks = defaultdict(list)
    for e in events:
        if e['ph'] == 'X':
            tracks[e['pid'], e['tid']].append((e['ts'], e['ts'] + e['dur'], e))
    for track, found in tracks.items():
        found.sort(key=lambda s: s[:2])
        for (_, end, _), (start, _, e) in zip(found, found[1:]):
            assert start >= end, f'{track}: slices overlap at {e["ts"]}'
    return tracks


def slice_at(tracks, e):
    """The slice that a flow event binds to: the one that encloses it."""
    for start, end, s in tracks[e['pid'], e['tid']]:
        if start <= e['ts'] < end:
            return s
    return None


def check_flows(events, tracks):
    """One beginning, one end, in the order of time, and each on a slice."""
    flows = defaultdict(list)
    for e in events:
        if e['ph'] in 'stf':
            assert slice_at(tracks, e), f'binds to nothing: {e}'
            flows[e['cat'], e['name'], e['id']].append(e)
    for key, found in flows.items():
        phases = [e['ph'] for e in found]
        assert phases.count('s') == 1 and phases.count('f') == 1, (key, phases)
        start = next(e['ts'] for e in found if e['ph'] == 's')
        end = next(e['ts'] for e in found if e['ph'] == 'f')
        assert all(start <= e['ts'] <= end for e in found), f'{key}: not in order'


def check_async(events):
    """Every begin has one end, which is not before it."""
    found = defaultdict(list)
    for e in events:
        if e['ph'] in 'be':
            found[e['pid'], e['cat'], e['id']].append(e)
    for key, ends in found.items():
        assert [e['ph'] for e in ends] == ['b', 'e'], (key, ends)
        assert ends[0]['ts'] <= ends[1]['ts'], f'{key} ends before it begins'
        assert ends[0]['name'] == ends[1]['name'], key


def check_counters(events):
    """The values of a counter come in the order of time, with the same series."""
    last = {}
    for e in events:
        if e['ph'] == 'C':
            key = e['pid'], e['name']
            series = set(e['args'])
            then, before = last.get(key, (e['ts'], series))
            assert e['ts'] >= then, f'{key}: back to {e["ts"]}'
            assert series == before, f'{key}: other series'
            last[key] = e['ts'], series


def check_rules(events):
    check_fields(events)
    check_names(events)
    tracks = slices_of(events)
    check_flows(events, tracks)
    check_async(events)
    check_counters(events)
