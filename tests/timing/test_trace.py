#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The trace that a timing model writes, against what it has counted.

usage: test_trace.py ERNIC-TIMING PROFILE-DIR PG332-TRACE
"""
import json
import resource
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'common'))
import checks                                                   # noqa: E402
from trace_rules import check_rules, slice_at, slices_of        # noqa: E402

# The stages that every request between two cards passes, in this order.
CHAIN = ['doorbell', 'arbiter', 'wqe', 'tx-context', 'build', 'icrc', 'mac', 'receive',
         'cqe']
WINDOW = 10000000      # ps


class Trace:
    """Events by what they are; times in ps, as integers."""

    def __init__(self, path):
        events = json.loads(path.read_text(), parse_float=Decimal)
        self.events = events
        self.processes, self.threads = {}, {}
        self.slices = defaultdict(list)         # by device and stage
        self.arrows = defaultdict(list)         # by kind and number
        self.requests = defaultdict(list)       # by number
        self.counters = defaultdict(list)       # by device and name
        for e in events:
            if 'ts' in e:
                e['ps'] = self.ps(e['ts'])
            if e['ph'] == 'M':
                self.name(e)
        for e in events:
            self.sort(e)

    @staticmethod
    def ps(us):
        value = us * 1000000
        assert value == int(value), f'{us} us is no number of ps'
        return int(value)

    def name(self, e):
        if e['name'] == 'process_name':
            self.processes[e['pid']] = e['args']['name']
        elif e['name'] == 'thread_name':
            self.threads[e['pid'], e['tid']] = e['args']['name']

    def track(self, e):
        return self.processes[e['pid']], self.threads[e['pid'], e['tid']]

    def sort(self, e):
        if e['ph'] == 'X':
            e['end'] = e['ps'] + self.ps(e['dur'])
            self.slices[self.track(e)].append(e)
        elif e['ph'] in 'stf':
            self.arrows[e['cat'], e['id']].append(e)
        elif e['ph'] in 'be':
            self.requests[e['id']].append(e)
        elif e['ph'] == 'C':
            self.counters[self.processes[e['pid']], e['name']].append(e)

    def ns_sum(self, track, key):
        """ps in all of what the slices of @track say of @key in ns."""
        return sum(int(e['args'][key] * 1000) for e in self.slices[track])

    def begins(self, device):
        """When the first thing came to a device."""
        return min(e['ps'] - int(e['args']['waited'] * 1000)
                   for (name, _), found in self.slices.items()
                   if name == device for e in found)

    def stages(self, kind, number):
        """The stages that one arrow touches, in the order of time."""
        points = sorted(self.arrows[kind, number],
                        key=lambda e: (e['ps'], 'stf'.index(e['ph'])))
        return points, [self.track(e)[1] for e in points]


def counters_of(text):
    """The output of the program: the number of requests, and each stage's numbers."""
    requests, stages = 0, {}
    for line in text.splitlines():
        kind, *rest = line.split('\t')
        if kind == 'requests':
            requests += int(rest[0])
        else:
            stages[rest[0], rest[1]] = [int(n) for n in rest[2:]]
    return requests, stages


def check_stages(trace, stages):
    assert set(trace.processes.values()) == {'card', 'other'}
    named = {(trace.processes[pid], name)
             for (pid, _), name in trace.threads.items()}
    assert named == set(stages), named ^ set(stages)
    for track, (items, busy, stalled, waited, idle) in stages.items():
        found = trace.slices[track]
        assert len(found) == items, f'{track}: {len(found)} slices of {items}'
        sums = [trace.ns_sum(track, key) for key in ('work', 'held up', 'waited')]
        assert sums == [busy, stalled, waited], f'{track}: {sums}'
        end = gaps = 0
        for e in sorted(found, key=lambda e: (e['ps'], e['end'])):
            assert e['ps'] >= end, f'{track}: two at once at {e["ts"]}'
            gaps += e['ps'] - end
            end = e['end']
        assert end > 0 or not items
        # Counting began with the first thing of all, and not at 0.
        if items:
            first = trace.begins(track[0])
            assert gaps - first == idle, f'{track}: {gaps - first} of {idle}'


def check_requests(trace, requests):
    assert len(trace.requests) == requests
    for number, ends in trace.requests.items():
        begin, end = (e['ps'] for e in ends)
        points, stages = trace.stages('request', number)
        assert begin <= points[0]['ps'] and points[-1]['ps'] <= end
        # Packets overlap: the first time at each stage is what is in order.
        first = [s for i, s in enumerate(stages) if s not in stages[:i]]
        assert [s for s in first if s in CHAIN] == CHAIN, stages


def check_interrupts(trace, stages):
    found = [number for kind, number in trace.arrows if kind == 'interrupt']
    assert len(found) == stages['card', 'interrupt'][0] > 0
    causes = []
    for number in found:
        points, names = trace.stages('interrupt', number)
        causes.append(names[0])
        assert names[1:] == ['interrupt'], names
        assert points[0]['ps'] < points[1]['ps']
    # Or by a store that requests an event, when there is a completion already.
    assert set(causes) == {'cqe', 'doorbell'}
    assert causes.count('cqe') > causes.count('doorbell'), causes


def check_packets(trace, stages):
    arrived = 0
    for (kind, number) in list(trace.arrows):
        if kind != 'packet':
            continue
        points, names = trace.stages(kind, number)
        assert names == ['mac', 'receive'], names
        assert points[0]['pid'] != points[1]['pid']
        arrived += 1
    assert arrived == stages['card', 'receive'][0] + stages['other', 'receive'][0]


def check_counters(trace):
    names = {name for _, name in trace.counters}
    assert {'requests of QP 2', 'doorbells to arrive', 'packets to leave',
            'packets to be served', 'completions to appear'} <= names, names
    for (device, name), values in trace.counters.items():
        if name.startswith('use of '):
            continue
        assert all(e['args']['value'] >= 0 for e in values)
        # All is done in the end, except for doorbells that confirm it.
        if name != 'doorbells to arrive':
            assert values[-1]['args']['value'] == 0, (device, name)
    assert max(e['args']['value']
               for e in trace.counters['card', 'requests of QP 2']) == 8


def check_usage(trace, stages):
    """Each window's parts are the window, and all of them what was counted."""
    for (device, stage), (items, busy, stalled, *_) in stages.items():
        values = trace.counters[device, f'use of {stage}, ns in 10 us']
        assert bool(values) == bool(items), stage
        for e in values:
            assert e['ps'] % WINDOW == 0
            assert sum(e['args'].values()) * 1000 == WINDOW, e
        for part, ps in ('busy', busy), ('stalled', stalled):
            assert sum(e['args'][part] for e in values) * 1000 == ps, stage


def check_interface(program, path):
    """PG332: from the SQPI that was stored to CQE and interrupt, by slices."""
    done = subprocess.run([program, path], text=True, capture_output=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done
    trace = Trace(path)
    check_rules(trace.events)
    tracks = slices_of(trace.events)
    requests = int(done.stdout.split()[1])
    assert len(trace.requests) == requests
    reported = set()
    for kind, number in trace.arrows:
        if kind == 'interrupt':
            start = min(trace.arrows[kind, number], key=lambda e: e['ps'])
            reported.add(id(slice_at(tracks, start)))
    for index, (number, ends) in enumerate(sorted(trace.requests.items())):
        points, stages = trace.stages('request', number)
        first, last = (slice_at(tracks, e) for e in (points[0], points[-1]))
        assert first['name'] == 'doorbell' and first['args']['queue'] == 2, first
        assert stages[0] == 'doorbell' and stages[-1] == 'cqe', stages
        assert ends[0]['args']['request'] == index
        # Requests were posted one after the other: the n-th store of SQPI.
        stores = [s for _, _, s in tracks[first['pid'], first['tid']]
                  if s['name'] == 'doorbell' and s['args']['queue'] == 2]
        assert stores[index] is first, f'request {index}: {first}'
        assert id(last) in reported, f'request {index}: no interrupt reports it'
    assert any(s['name'] == 'store' for found in tracks.values()
               for *_, s in found)


def check_bites(events):
    """Each rule is broken once, and has to be missed."""
    def first(phase):
        return next(i for i, e in enumerate(events) if e['ph'] == phase)
    breaks = {
        'phase': ('X', {'ph': 'Q'}), 'time': ('X', {'ts': '7'}),
        'duration': ('X', {'dur': -1}), 'process': ('C', {'pid': 99}),
        'thread': ('X', {'tid': 99}), 'overlap': ('X', {'dur': 10 ** 9}),
        'flow off its slice': ('s', {'ts': 10 ** 9}), 'no start': ('s', {'ph': 't'}),
        'next slice': ('f', {'bp': 's'}), 'end first': ('b', {'ts': 10 ** 9}),
        'counter': ('C', {'ts': 10 ** 9}), 'series': ('C', {'args': {'x': 'y'}}),
        'two names': ('M', {'pid': 2}),
    }
    for what, (phase, change) in breaks.items():
        at = first(phase)
        broken = events[:at] + [{**events[at], **change}] + events[at + 1:]
        try:
            check_rules(broken)
        except AssertionError:
            continue
        raise AssertionError(f'nobody misses {what}')


def run(program, profiles, path, size=resource.RLIM_INFINITY):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    return subprocess.run([program, profiles, '--trace', path], text=True,
                          capture_output=True, preexec_fn=limit,
                          restore_signals=False, timeout=60, check=False)


def check_no_room(program, profiles, path, whole):
    """The part that was written before the disk was full is a whole trace."""
    full = run(program, profiles, path, 300000)
    assert full.returncode == 0 and 'the trace ends here' in full.stderr, full
    assert full.stderr.count('\n') == 1, full.stderr
    some = Trace(path).events
    assert 0 < len(some) < len(whole.events)
    assert some == whole.events[:len(some)]
    assert 200000 < path.stat().st_size <= 300000


def check_no_file(program, profiles, folder):
    for path in folder, folder / 'none' / 'trace.json', Path('/dev/null'):
        refused = run(program, profiles, path)
        assert refused.returncode == 1, refused
        assert str(path) in refused.stderr, refused.stderr


def main():
    program, profiles, interface = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / 'trace.json'
        done = run(program, profiles, path)
        assert done.returncode == 0 and not done.stderr, done
        trace = Trace(path)
        requests, stages = counters_of(done.stdout)
        return checks.run([
            ('each stage has a track, and it says what the counters say',
             lambda: check_stages(trace, stages)),
            ('each request goes from doorbell to completion',
             lambda: check_requests(trace, requests)),
            ('interrupts follow completions',
             lambda: check_interrupts(trace, stages)),
            ('each packet departs and arrives',
             lambda: check_packets(trace, stages)),
            ('queues fill and drain', lambda: check_counters(trace)),
            ('windows add up to the counters',
             lambda: check_usage(trace, stages)),
            ("the rules of Chrome's format", lambda: check_rules(trace.events)),
            ('each rule bites', lambda: check_bites(trace.events)),
            ('PG332: doorbell, request, completion, interrupt',
             lambda: check_interface(interface, path)),
            ('a full disk ends a trace that stays whole',
             lambda: check_no_room(program, profiles, path, trace)),
            ('what cannot be written is refused',
             lambda: check_no_file(program, profiles, folder))])


if __name__ == '__main__':
    sys.exit(main())
