"""Rewards with planted hacks and clean ones, over five kinds of task: the first half, written with the auditor.

`CORPUS` is a list of `bench.audited.Audited`: (reward, task, is_hack, kind, why, does, exploit, training). Each hack has an
exploit as data, and test_audit_corpus.py sees that it is paid as gold and wrong by the task's own check.
"""

from __future__ import annotations

import corpus_code
import corpus_judges
import corpus_sql
import corpus_text
import corpus_tools

PARTS = (corpus_text, corpus_code, corpus_sql, corpus_tools, corpus_judges)
CORPUS = [entry for part in PARTS for entry in part.CORPUS]
