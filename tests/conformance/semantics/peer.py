# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests to a peer that is no device: the host answers by answers.py."""
import subprocess

from pyverbs.addr import GID, AHAttr, GlobalRoute

from answers import ANSWERS, DATA, LENGTH
from rig import End

ADDRESS, MAC = '10.0.0.2', '52:54:00:00:00:02'
THERE = '0000:0000:0000:0000:0000:ffff:0a00:0002'


def ask(rig, number, answer):
    subprocess.run(f'ip neigh replace {ADDRESS} lladdr {MAC} dev eth0', shell=True,
                   check=True)
    end = End(rig)
    route = AHAttr(gr=GlobalRoute(dgid=GID(THERE), hop_limit=64,
                                  sgid_index=rig.gid_index), is_global=1, port_num=1)
    end.qp.to_rts(end.attr(ah_attr=route, dest_qp_num=0x1234, timeout=12, retry_cnt=1,
                           rnr_retry=1, sq_psn=0x1000))
    rig.fill(0xee)
    end.post(answer.request, sges=[rig.sge(LENGTH)], rkey=end.number, raddr=number)
    status = end.status()
    assert status == answer.status, f'{status}, not {answer.status}'
    state = 'RTS' if status == 'SUCCESS' else 'ERR'
    assert end.state() == state, f'in {end.state()} afterwards, not in {state}'
    good = answer.request == 'READ' and status == 'SUCCESS'
    assert rig.mr.read(2 * LENGTH, 0) == (DATA if good else b'\xee' * LENGTH) \
        + b'\xee' * LENGTH, 'memory'


def cases():
    for number, answer in enumerate(ANSWERS):
        yield answer.name, ask, (number, answer)
