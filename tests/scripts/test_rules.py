# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/ernic-interface.md prints the rules of the QDMA as rules.c has them."""
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RULE = r'\{ "(qdma-[a-z-]+)",((?:\s*"[^"]*")+)'


def test_qdma_rules():
    source = (ROOT / 'hw/rdma-ernic/bars/qdma/rules.c').read_text()
    page = (ROOT / 'docs/ernic-interface.md').read_text()
    rules = [(name, ''.join(re.findall(r'"([^"]*)"', text)))
             for name, text in re.findall(RULE, source)]
    assert len(rules) == source.count('{ "qdma-') > 0
    assert re.findall(r'^\| `(qdma-[a-z-]+)` \| (.*?) \|', page, re.M) == rules
