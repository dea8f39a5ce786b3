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
    (['clock.host'], 'clock of the stages on the host\'s side, see above'),
    (of(STAGES + ['mac'], 'latency'),
     'from the beginning of a stage\'s work to its first byte of output, busy or not'),
    (of(STAGES, 'packet'), 'work on each thing that passes the stage, however long'),
    (of(['dma-read', 'build', 'icrc', 'receive', 'dma-write'], 'width'),
     'bytes on which the stage works in a cycle; a part of a cycle counts as one'),
    (['build.close'], 'more work on the last packet of a request'),
    (['receive.close'], 'more work where the end of a message is reported to software,'
                        ' and on the last packet of a response with data'),
    (['wire.rate'], 'rate of the wire, on which `mac` works'),
    (['wire.extra'], 'bytes of a frame on the wire beside it: preamble, FCS, gap'),
    (['wire.shortest'], 'bytes, without FCS, for which any shorter frame counts'),
    (['wire.flight'], 'from `mac` to the peer; an `ernic-wire` has its own instead'),
    (['wqe.fetch'], 'more latency where a request has to be fetched'),
    (['wqe.batch'], 'requests that one fetch brings, if so many are posted'),
    (['wqe.outstanding'], 'fetches that may be under way at once, of all queue pairs'),
    (['context.entries'], 'queue pairs in the cache, which both directions share; 0: none'
                          ' misses'),
    (['context.miss'], 'more latency of a context that is not there'),
    (['key.entries'], 'remote keys in the cache; 0: none misses'),
    (['key.miss'], 'more latency of a key that is not there'),
    (['key.update'], 'more latency of a key that is made, bound or taken away'),
    (['ack.coalesce'], 'requests that have to be owed an ACK before it is sent'),
    (['ack.delay'], 'but it waits no longer than this'),
    (['outstanding.requests'], 'requests of a queue pair, sent and not complete'),
    (['retry.buffer'], 'packets of WRITEs kept until they are acknowledged, of all queue'
                       ' pairs; 0: none is'),
    (['read-response.overlap'], 'responses to READs that may be under way at once'),
    (['dma-read.request'], 'bytes of one read of memory, at most'),
    (['dma-read.outstanding'], 'such reads that may be under way at once'),
    (['build.buffer'], 'packets that may be built and not have left'),
    (['receive.buffer'], 'packets that may have come and not be served'),
    (['pcie.speed'], 'speed of a lane; 0: no link, and the keys below count nothing'),
    (['pcie.lanes'], 'lanes'),
    (['pcie.payload'], 'payload of a TLP, at most'),
    (['pcie.completion'], 'from a read request to the first byte of its completion'),
    (['pcie.posted'], 'a write\'s way'),
    (['pcie.headers'], 'credits for posted TLPs'),
    (['pcie.data'], 'credits for their payload, of 16 bytes each'),
    (['pcie.credit-return'], 'from a TLP until its credits are back'),
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
