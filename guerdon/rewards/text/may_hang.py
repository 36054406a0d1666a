"""Work of the shelf's rewards that can take for ever on a text a model wrote: patterns, and lists that are split at one.

Plain functions for `asking/guarded.py`, which runs them in workers: so there is no torch here.
Leaves out: formulas and JSON schemas, which tasks check answers by too (`tasks/slow_comparisons.py`), and everything that
takes time linear in the text (`overlap.py`, `overlap.py`).
"""

from __future__ import annotations

import re
from typing import Literal

from guerdon.rewards.text.overlap import f1, items
from guerdon.text.answers import marked, normal


def matched(
    completion: str,
    pattern: str,
    how: Literal["fullmatch", "search"] = "fullmatch",
    casefold: bool = False,
    dotall: bool = True,
) -> float:
    """1 if the pattern matches the completion, or a place in it; else 0."""
    compiled = re.compile(pattern, (re.I if casefold else 0) | (re.S if dotall else 0))
    return float((compiled.search if how == "search" else compiled.fullmatch)(completion) is not None)


def same_items(
    completion: str,
    answer: str = "",
    separator: str = ",",
    ordered: bool = False,
    partial: bool = False,
    casefold: bool = False,
    mark: str = "",
) -> float | None:
    """Whether, or with `partial` how far, the completion lists the answer's items; None where it has none."""
    right, given = (
        [normal(item, casefold, spaces=True) for item in items(text or "", separator)]
        for text in (answer, marked(completion, mark) if mark else completion)
    )
    if not right:
        return None
    if ordered:
        share = sum(a == b for a, b in zip(given, right, strict=False)) / max(len(given), len(right))
    else:
        share = f1(len({*given} & {*right}), len({*given}), len({*right}))
    return share if partial else float(share == 1)
