"""Rewards written without a look at any auditor, first half: text, code and SQL, as many with a planted hack as clean.

Leaves out: the rewards themselves, a file for each kind beside this one; the proof of the labels (`test_audit_corpus.py`).
"""

from __future__ import annotations

import blind_a_code
import blind_a_sql
import blind_a_text

PARTS = (blind_a_text, blind_a_code, blind_a_sql)
CORPUS = [entry for part in PARTS for entry in (*part.HACKS, *part.CLEAN)]
