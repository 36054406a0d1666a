"""Puts what was measured into the pages of docs/evidence, between the words that people wrote there.

A page has a place for every recipe of its family, `<!-- evidence: NAME -->` to `<!-- end -->`; what stands between is written
anew from `guerdon/evidence/NAME.json`. So is the count of verdicts, `<!-- verdicts -->` to `<!-- end -->`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from guerdon.store import evidence

ROOT = Path(__file__).resolve().parent.parent
FILES = "../../guerdon/evidence"  # from a page
PAGES = ROOT / "docs" / "evidence"
PLACE = re.compile(r"<!-- (evidence: (?P<name>[\w-]+)|verdicts) -->\n(.*?)<!-- end -->", re.DOTALL)
FORMS = ("holds", "reversed", "no difference", "inconclusive")


def renewed(page: str, every: Mapping[str, Mapping[str, Any]]) -> str:
    """A page with today's numbers."""

    def put(found: re.Match[str]) -> str:
        name = found["name"]
        body = told(every[name]) if name else counted(every)
        return f"<!-- {found[1]} -->\n{body}\n<!-- end -->"

    return PLACE.sub(put, page)


def told(found: Mapping[str, Any]) -> str:
    """A recipe's claims with verdicts and figures, and the command that gives them."""
    name, stale = found["recipe"], evidence.stale(found)
    parts = [f"*Stale*: {stale}."] if stale else []
    for i, claim in enumerate(found["claims"]):
        said, gap = claim["claim"], claim["against"]["baseline"]
        digits = 4 if said["effect"] < 1 else 1
        mean, low, high = (f"{gap[key]:+.{digits}f}" for key in ("mean", "low", "high"))
        scores = ", ".join(f"{role} {_mean(arm['runs']):.{digits}f}" for role, arm in claim["arms"].items())
        parts += [
            f"*{said['says']}*",
            f"**{claim['verdict'].capitalize()}**: better by {mean} (95 %: {low} to {high}) over {len(gap['differences'])} seeds,"
            f" where {said['effect']:g} counts. {said['metric'].capitalize()}: {scores}.",
            f"![{name}: curves and paired differences]({FILES}/{name}{f'-{i + 1}' if i else ''}.svg)",
        ]
    paper = found["paper"].removeprefix("arXiv:")
    links = f"[arms, costs and every seed]({FILES}/{name}.json) · [the paper](https://arxiv.org/abs/{paper})"
    return "\n\n".join([*parts, f"`{found['command']}` · {links}"])


def _mean(runs: Sequence[Mapping[str, Any]]) -> float:
    return float(sum(run["score"] for run in runs) / len(runs))


def counted(every: Mapping[str, Mapping[str, Any]]) -> str:
    """How many claims came out which way."""
    claims = [(name, claim["verdict"]) for name, found in every.items() for claim in found["claims"]]
    many = Counter(verdict for _, verdict in claims)
    rows = ["| verdict | claims | of |", "| --- | ---: | --- |"]
    for form in FORMS:
        names = ", ".join(dict.fromkeys(f"[{name}](#{name})" for name, verdict in claims if verdict == form))
        rows.append(f"| **{form}** | {many[form]} | {names} |")
    return "\n".join([*rows, f"\n{len(every)} recipes, {len(claims)} claims."])


def pages() -> dict[Path, str]:
    """Every page as it should be."""
    every = evidence.read_all(evidence.SHIPPED)
    renewed_pages = {}
    for path in sorted(PAGES.glob("*.md")):
        family = {name: proof for name, proof in every.items() if proof["family"] == path.stem}
        renewed_pages[path] = renewed(path.read_text(), family)
    return renewed_pages


def main() -> None:
    for path, text in pages().items():
        path.write_text(text)
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
