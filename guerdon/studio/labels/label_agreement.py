"""How well a reward agrees with the people who labelled what it paid for."""

from __future__ import annotations

from typing import Any

import numpy as np

from guerdon.core.statistics import auc
from guerdon.runs.labels import VERDICTS, LabelBook


def agreement(book: LabelBook) -> dict[str, Any]:
    """Means by verdict; how often a right sample is paid more than one that is not (`auc`, a tie is half); on how many the
    task's own check agrees; and in how many pairs the better one is paid more."""
    judged = [row for row in book.labels if row["kind"] in VERDICTS]
    paid = {kind: [row["reward"] for row in judged if row["kind"] == kind and "reward" in row] for kind in VERDICTS}
    checked = [(row["kind"] == "right") == (row["correct"] > 0.5) for row in judged if "correct" in row]
    better = [row for row in book.labels if row["kind"] == "better"]
    gaps = [row["reward"] - row["other"]["reward"] for row in better if "reward" in row and "reward" in row["other"]]
    area = auc(paid["right"], [*paid["wrong"], *paid["hack"]])
    return {
        "rows": [
            {
                "kind": kind,
                "count": sum(row["kind"] == kind for row in judged),
                "paid": len(each),
                "mean": float(np.mean(each)) if each else None,
                "lowest": min(each, default=None),
                "highest": max(each, default=None),
            }
            for kind, each in paid.items()
        ],
        "auc": area if area == area else None,
        "checked": {"agree": sum(checked), "of": len(checked)},
        "pairs": {"agree": sum(gap > 0 for gap in gaps), "level": sum(gap == 0 for gap in gaps), "of": len(gaps)},
    }
