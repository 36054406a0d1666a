"""How well auditors and alarms do, as tables of a page, from the numbers that `auditors.py` and `alarms.py` tell.

Leaves out: the words around them, which people write in the page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

PLACE = "(<!-- {name}: bench/auditors.py -->\n).*?(<!-- end of {name} -->)"


def renewed(page: str, name: str, body: str) -> str:
    """A page with these tables in their place."""
    place = re.compile(PLACE.format(name=name), re.DOTALL)
    return place.sub(lambda match: f"{match[1]}{body}\n{match[2]}", page)


def markdown(told: Mapping[str, Any]) -> str:
    """All tables of an auditor: by corpus, by kind, and who was misjudged."""
    share = f"Plain threshold: wrong answers earn more than {told['threshold']:.2f} of what gold does."
    return "\n\n".join([table(told["by_corpus"], "corpus"), table(told["by_kind"], "kind"), share, misjudged(told)])


def table(by: Mapping[str, Mapping[str, Any]], what: str) -> str:
    """A row for each corpus or kind, with every arm's recall and precision."""
    arms = list(by)
    head = [what, "bad", "good", *(f"{arm}: {rate}" for arm in arms for rate in ("recall", "precision"))]
    rows = [row(head), f"| --- |{' ---: |' * (len(head) - 1)}"]
    for name, first in by[arms[0]].items():
        numbers = [said(by[arm].get(name, {}).get(rate)) for arm in arms for rate in ("recall", "precision")]
        rows.append(row([f"`{name}`" if what == "corpus" else name, first["hacks"], first["clean"], *numbers]))
    return "\n".join(rows)


def misjudged(told: Mapping[str, Any]) -> str:
    """Every miss and false alarm, by name."""
    rows = [row(["auditor", "", "reward", "corpus", "on", "what it does", "what was said"]), "| --- " * 7 + "|"]
    for arm, records in told["names"].items():
        for r in records:
            kind = "missed" if r["is_hack"] else "false alarm"
            words = r["error"] or (r["says"] or ["nothing severe"])[0]
            rows.append(row([arm, kind, f"`{r['reward']}`", r["corpus"], r["task"], r["why"], _brief(words, arm)]))
    return "\n".join(rows)


def _brief(words: str, arm: str) -> str:
    return "" if arm == "plain threshold" else words if len(words) < 160 else f"{words[:157]}..."


def said(rate: Sequence[float] | None) -> str:
    """A rate with its interval; a dash where there was nothing to count."""
    return "-" if rate is None else f"{rate[0]:.2f} ({rate[1]:.2f} to {rate[2]:.2f})"


def row(cells: Sequence[Any]) -> str:
    return f"| {' | '.join(str(cell).replace('|', chr(92) + '|').replace(chr(10), ' ') for cell in cells)} |"
