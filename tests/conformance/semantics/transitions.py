# SPDX-License-Identifier: GPL-2.0-or-later
"""Every transition between two states of a queue pair: without each required attribute,
and with each optional and each invalid one.

The table is that of IBTA volume 1, 11.2.5.2, with annex A14 for XRC.
"""
import time
from typing import NamedTuple

import pyverbs.enums as e

from rig import SECONDS, STATES, TYPES, End

ATTRIBUTES = {
    'current': e.IBV_QP_CUR_STATE, 'notify': e.IBV_QP_EN_SQD_ASYNC_NOTIFY,
    'access': e.IBV_QP_ACCESS_FLAGS, 'pkey': e.IBV_QP_PKEY_INDEX, 'port': e.IBV_QP_PORT,
    'qkey': e.IBV_QP_QKEY, 'av': e.IBV_QP_AV, 'mtu': e.IBV_QP_PATH_MTU,
    'timeout': e.IBV_QP_TIMEOUT, 'retry': e.IBV_QP_RETRY_CNT,
    'rnr_retry': e.IBV_QP_RNR_RETRY, 'rq_psn': e.IBV_QP_RQ_PSN,
    'rd': e.IBV_QP_MAX_QP_RD_ATOMIC, 'alt': e.IBV_QP_ALT_PATH,
    'rnr_timer': e.IBV_QP_MIN_RNR_TIMER, 'sq_psn': e.IBV_QP_SQ_PSN,
    'dest_rd': e.IBV_QP_MAX_DEST_RD_ATOMIC, 'mig': e.IBV_QP_PATH_MIG_STATE,
    'dest': e.IBV_QP_DEST_QPN}


class Rule(NamedTuple):
    """An edge and the services that have it; attributes by name."""

    source: str
    to: str
    kinds: str
    required: str = ''
    optional: str = ''


ALL = 'RC UC UD XRC_SEND XRC_RECV'
CONNECTED = 'RC UC XRC_SEND XRC_RECV'
RULES = (
    Rule('RESET', 'RESET', ALL),
    Rule('RESET', 'INIT', CONNECTED, 'pkey port access'),
    Rule('RESET', 'INIT', 'UD', 'pkey port qkey'),
    Rule('INIT', 'INIT', CONNECTED, '', 'pkey port access'),
    Rule('INIT', 'INIT', 'UD', '', 'pkey port qkey'),
    Rule('INIT', 'RTR', 'RC XRC_RECV', 'av mtu dest rq_psn dest_rd rnr_timer',
         'pkey access alt'),
    Rule('INIT', 'RTR', 'UC XRC_SEND', 'av mtu dest rq_psn', 'pkey access alt'),
    Rule('INIT', 'RTR', 'UD', '', 'pkey qkey'),
    Rule('RTR', 'RTS', 'RC', 'sq_psn timeout retry rnr_retry rd',
         'current access rnr_timer alt mig'),
    Rule('RTR', 'RTS', 'XRC_SEND', 'sq_psn timeout retry rnr_retry rd',
         'current access alt mig'),
    Rule('RTR', 'RTS', 'XRC_RECV', 'sq_psn timeout', 'current access rnr_timer alt mig'),
    Rule('RTR', 'RTS', 'UC', 'sq_psn', 'current access alt mig'),
    Rule('RTR', 'RTS', 'UD', 'sq_psn', 'current qkey'),
    Rule('RTS', 'RTS', 'RC XRC_RECV', '', 'current access rnr_timer alt mig'),
    Rule('RTS', 'RTS', 'UC XRC_SEND', '', 'current access alt mig'),
    Rule('RTS', 'RTS', 'UD', '', 'current qkey'),
    Rule('RTS', 'SQD', ALL, '', 'notify'),
    Rule('SQD', 'RTS', 'RC XRC_RECV', '', 'current access rnr_timer alt mig'),
    Rule('SQD', 'RTS', 'UC XRC_SEND', '', 'current access alt mig'),
    Rule('SQD', 'RTS', 'UD', '', 'current qkey'),
    Rule('SQD', 'SQD', 'RC', '', 'port av timeout retry rnr_retry rd dest_rd access pkey '
         'rnr_timer alt mig'),
    Rule('SQD', 'SQD', 'XRC_SEND', '', 'port av timeout retry rnr_retry rd access pkey '
         'alt mig'),
    Rule('SQD', 'SQD', 'XRC_RECV', '', 'port av timeout dest_rd access pkey rnr_timer '
         'alt mig'),
    Rule('SQD', 'SQD', 'UC', '', 'port av access pkey alt mig'),
    Rule('SQD', 'SQD', 'UD', '', 'pkey qkey'),
    Rule('SQE', 'RTS', 'UC', '', 'current access'),
    Rule('SQE', 'RTS', 'UD', '', 'current qkey'),
    *(Rule(source, 'RESET', ALL) for source in ('INIT', 'RTR', 'RTS', 'SQD', 'ERR')),
    *(Rule(source, 'ERR', ALL) for source in ('INIT', 'RTR', 'RTS', 'SQD', 'ERR')),
    Rule('SQE', 'RESET', 'UC UD'),
    Rule('SQE', 'ERR', 'UC UD'),
)
# Automatic path migration is an optional feature (11.2.1.2): where its attributes have
# a place, a device may do either.
EITHER = {'alt', 'mig'}
# Linux removes these from a mask before any device sees it (uverbs, modify_qp_mask).
UNSEEN = {'XRC_SEND': {'dest_rd', 'rnr_timer'},
          'XRC_RECV': {'rd', 'retry', 'rnr_retry'}}
# 10.3.1: the text lets software go to Error from any state, the figure not from Reset.
OPEN = {('RESET', 'ERR')}
# The send queue error state is there for unreliable services alone (10.3.1.6).
UNREACHABLE = {('SQE', kind) for kind in ('RC', 'XRC_SEND', 'XRC_RECV')}
WAY = ('RESET', 'INIT', 'RTR', 'RTS')


def find(kind, source, to):
    """The rule, or None where there is no such edge."""
    found = [rule for rule in RULES
             if (rule.source, rule.to) == (source, to) and kind in rule.kinds.split()]
    assert len(found) <= 1, (kind, source, to)
    return found[0] if found else None


def mask(words):
    bits = 0
    for name in words:
        bits |= ATTRIBUTES[name]
    return bits


def go(end, to):
    """Bring a queue pair to a state by the shortest path of the table."""
    assert end.state() == 'RESET' or end.modify(0, 'RESET'), 'does not go to RESET'
    for source, state in zip(WAY, WAY[1:]):
        if source == to or to == 'ERR' and source == 'INIT':
            break
        rule = find(end.kind, source, state)
        assert end.modify(mask(rule.required.split()), state), f'does not go to {state}'
    if to == 'SQE':
        spoil(end)
    elif to in ('SQD', 'ERR'):
        assert end.modify(0, to), f'does not go to {to}'
    if to == 'SQD':
        wait_drained(end)
    assert end.state() == to, f'is in {end.state()}, not in {to}'


def wait_drained(end):
    limit = time.monotonic() + SECONDS
    while end.qp.query(e.IBV_QP_STATE)[0].sq_draining:
        assert time.monotonic() < limit, 'does not drain'


def spoil(end):
    """A request without memory sends an unreliable queue pair to SQE."""
    if end.kind == 'UD' and not hasattr(end, 'ah'):
        end.ah = end.rig.ah()
    end.post(sges=[end.rig.sge(lkey=0xffffffff)], ah=getattr(end, 'ah', None),
             to=end.number)
    assert end.status() not in ('SUCCESS', None)


class Tries:
    """One edge of one service: the attempts and their faults."""

    def __init__(self, end, source, to):
        self.end, self.source, self.to = end, source, to
        self.ready = False
        self.wrong = []

    def attempt(self, what, accepted, bits, state=True, **values):
        """A modification that has to be accepted or refused, and the state after it."""
        if not self.ready:
            go(self.end, self.source)
        did = self.end.modify(bits, self.to if state else None, **values)
        now = self.end.state()
        if did != accepted:
            self.wrong.append(f'{what}: {"accepted" if did else "refused"}')
        elif now != (self.to if did else self.source):
            self.wrong.append(f'{what}: in {now} afterwards')
        self.ready = now == self.source
        if now == 'SQD':
            wait_drained(self.end)


def legal(tries, rule):
    required, optional = set(rule.required.split()), set(rule.optional.split())
    bits = mask(required)
    for name in sorted(required):
        tries.attempt(f'without {name}', False, bits & ~ATTRIBUTES[name])
    right = {'cur_qp_state': STATES[rule.source]}
    foreign = set(ATTRIBUTES) - required - optional - UNSEEN.get(tries.end.kind, set())
    for name in sorted(foreign):
        tries.attempt(f'with {name}, foreign', False, bits | ATTRIBUTES[name], **right)
    if 'current' in optional:
        other = 'INIT' if rule.source != 'INIT' else 'RTR'
        tries.attempt('with a wrong current state', False, bits | ATTRIBUTES['current'],
                      cur_qp_state=STATES[other])
    for name in sorted(optional - EITHER):
        tries.attempt(f'with {name}, optional', True, bits | ATTRIBUTES[name], **right)
    if optional - EITHER and rule.source == rule.to:
        tries.attempt('all that is optional, and no state', True,
                      mask(optional - EITHER), state=False, **right)
    tries.attempt('as it should be', True, bits)


def illegal(tries, kind):
    """No edge: neither alone, nor with the attributes that the state requires."""
    tries.attempt('no edge', False, 0)
    for rule in RULES:
        if rule.to == tries.to and rule.required and kind in rule.kinds.split():
            tries.attempt('no edge, with attributes', False, mask(rule.required.split()))


def edge(rig, kind, source, to):
    tries = Tries(End(rig, kind), source, to)
    rule = find(kind, source, to)
    if rule:
        legal(tries, rule)
    else:
        illegal(tries, kind)
    assert not tries.wrong, '; '.join(tries.wrong)


def cases():
    for kind in TYPES:
        for source in STATES:
            for to in STATES:
                if (source, kind) not in UNREACHABLE and (source, to) not in OPEN:
                    yield f'{kind}/{source}-{to}', edge, (kind, source, to)
