# SPDX-License-Identifier: GPL-2.0-or-later
"""The meaning of each key of a timing profile, as a table of docs/timing.md."""
import re

# A profile that has every key; its units are shown.
WHOLE = 'generic-100g.profile'
STAGES = ('doorbell mmio command arbiter wqe tx-context rx-context key ack'
          ' read-response dma-read build icrc receive dma-write cqe interrupt').split()


def of(stages, key):
    return [f'{stage}.{key}' for stage in stages]


MEANINGS = [
    (['clock.core'], 'clock in which most stages count cycles'),
    (['clock.host'], 'clock of the stages on the host\'s side, see "Profiles"'),
    (of(STAGES + ['mac'], 'latency'),
     'time from the start of the work to the first byte of output, which does not'
     ' occupy the stage'),
    (of(STAGES, 'packet'), 'work for each item, whatever its length'),
    (of(['dma-read', 'build', 'icrc', 'receive', 'dma-write'], 'width'),
     'bytes processed per cycle; a part of a cycle counts as one'),
    (['build.close'], 'additional work for the last packet of a request'),
    (['receive.close'], 'additional work for the end of a message that is reported to'
                        ' software, and for the last packet of a response with data'),
    (['wire.rate'], 'rate of the wire, on which `mac` works'),
    (['wire.extra'], 'bytes added to each frame on the wire: preamble, FCS, gap'),
    (['wire.shortest'], 'least bytes of a frame, without FCS; a shorter one counts as'
                        ' this'),
    (['wire.flight'], 'time from `mac` to the peer; `flight` of an `ernic-wire` replaces'
                      ' it'),
    (['wqe.fetch'], 'additional latency if a request has to be fetched'),
    (['wqe.batch'], 'greatest number of requests that one fetch brings'),
    (['wqe.outstanding'], 'greatest number of outstanding fetches, of all queue pairs'),
    (['context.entries'], 'queue pairs in the cache, which both directions share; 0: no'
                          ' misses'),
    (['context.miss'], 'additional latency of a context that is not in the cache'),
    (['key.entries'], 'remote keys in the cache; 0: no misses'),
    (['key.miss'], 'additional latency of a key that is not in the cache'),
    (['key.update'], 'additional latency of a key that is created, bound or invalidated'),
    (['ack.coalesce'], 'requests that have to wait for an ACK before it is sent'),
    (['ack.delay'], 'greatest delay of such an ACK'),
    (['outstanding.requests'], 'greatest number of requests of a queue pair, sent and not'
                               ' complete'),
    (['retry.buffer'], 'greatest number of packets of WRITEs, of all queue pairs, kept'
                       ' until they are acknowledged; 0: none are kept'),
    (['read-response.overlap'], 'greatest number of responses to READs in progress'),
    (['dma-read.request'], 'greatest size of one read of memory'),
    (['dma-read.outstanding'], 'greatest number of outstanding reads of memory'),
    (['build.buffer'], 'greatest number of packets built and not yet sent'),
    (['receive.buffer'], 'greatest number of packets received and not yet processed'),
    (['pcie.speed'], 'speed of a lane; 0: no link, and the keys below have no effect'),
    (['pcie.lanes'], 'number of lanes'),
    (['pcie.payload'], 'greatest payload of a TLP'),
    (['pcie.completion'], 'time from a read request to the first byte of its completion'),
    (['pcie.posted'], 'time from a posted write to its arrival'),
    (['pcie.headers'], 'credits for posted TLPs'),
    (['pcie.data'], 'credits for their payload, one for 16 bytes'),
    (['pcie.credit-return'], 'time from a TLP until its credits return'),
]


def units(text):
    """The unit of each key of a profile."""
    found = re.findall(r'^(\S+) += \d+ (\S+)', text, re.M)
    return {key: {'cycle': 'cycles'}.get(unit, unit) for key, unit in found}


def rows(text):
    """Keys, their unit, what they mean; every key of the profile @text once."""
    unit = units(text)
    named = [key for keys, _ in MEANINGS for key in keys]
    if sorted(named) != sorted(unit):
        raise SystemExit('timing_keys.py: other keys than those of a profile: '
                         f'{sorted(set(named) ^ set(unit))}')
    for keys, meaning in MEANINGS:
        yield [' '.join(f'`{key}`' for key in keys),
               ' '.join(dict.fromkeys(unit[key] for key in keys)), meaning]
