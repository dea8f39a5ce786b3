# SPDX-License-Identifier: GPL-2.0-or-later
"""The answers of a peer that is no device to a request, and the expected completion.

Read at both ends: by the host, which is the peer (raw_peer.py), and in the guest. A
request carries the row and the queue pair in place of its remote address and key.
Numbers are those of IBTA volume 1, 9.2.1 and 9.7.5.2.
"""
from typing import NamedTuple

ACK, ATOMIC_ACK, READ_ONLY = 0x11, 0x12, 0x10
GOOD = 0x1f                     # a syndrome: acknowledged
LENGTH = 16                     # of each request


class Answer(NamedTuple):
    """psn: relative to that of the request. data: bytes after the headers."""

    name: str
    request: str
    status: str
    opcode: int = ACK
    syndrome: int = GOOD
    data: bytes = b''
    psn: int = 0
    qpn: int = 0                # added to that of the queue pair
    broken: bool = False        # ICRC


DATA = bytes(range(LENGTH))
ANSWERS = (
    Answer('acknowledge', 'WRITE', 'SUCCESS'),
    Answer('response', 'READ', 'SUCCESS', READ_ONLY, data=DATA),
    Answer('invalid-request', 'WRITE', 'REM_INV_REQ_ERR', syndrome=0x61),
    Answer('access', 'WRITE', 'REM_ACCESS_ERR', syndrome=0x62),
    Answer('operation', 'WRITE', 'REM_OP_ERR', syndrome=0x63),
    Answer('not-ready', 'WRITE', 'RNR_RETRY_EXC_ERR', syndrome=0x21),
    Answer('sequence', 'WRITE', 'RETRY_EXC_ERR', syndrome=0x60),
    Answer('response-to-write', 'WRITE', 'BAD_RESP_ERR', READ_ONLY, data=DATA),
    Answer('atomic-to-write', 'WRITE', 'BAD_RESP_ERR', ATOMIC_ACK, data=bytes(8)),
    Answer('atomic-to-read', 'READ', 'BAD_RESP_ERR', ATOMIC_ACK, data=bytes(8)),
    Answer('short-response', 'READ', 'BAD_RESP_ERR', READ_ONLY, data=DATA[:8]),
    Answer('long-response', 'READ', 'BAD_RESP_ERR', READ_ONLY, data=DATA + DATA),
    Answer('bad-icrc', 'WRITE', 'RETRY_EXC_ERR', broken=True),
    Answer('of-the-future', 'WRITE', 'RETRY_EXC_ERR', psn=1000),
    Answer('of-the-past', 'WRITE', 'RETRY_EXC_ERR', psn=-1),
    Answer('another-queue-pair', 'WRITE', 'RETRY_EXC_ERR', qpn=0x800000),
)
