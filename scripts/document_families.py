"""Puts what was measured into the pages of docs/evidence, between the words that people wrote there.

A page has a place for every recipe of its family, `<!-- evidence: NAME -->` to `<!-- end -->`; what stands between is written
anew from `guerdon/evidence/verdicts.json`. So is the count of verdicts, `<!-- verdicts -->` to `<!-- end -->`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from guerdon.store import evidence
from guerdon.store.evidence_words import (
    badge,
    better_by,
    meaning,
    others_of,
    outcome,
    plain,
    registration,
    signed,
    unfinished,
)

ROOT = Path(__file__).resolve().parent.parent
FILES = "../../guerdon/evidence"  # from a page
PAGES = ROOT / "docs" / "evidence"
PLACE = re.compile(r"<!-- (evidence: (?P<name>[\w-]+)|verdicts) -->\n(.*?)<!-- end -->", re.DOTALL)
VERDICTS = ("better", "equal", "worse", "not known", "not testable here")


def renewed(page: str, every: Mapping[str, Mapping[str, Any]]) -> str:
    """A page with today's numbers."""

    def put(place: re.Match[str]) -> str:
        name = place["name"]
        body = (
            (told(every[name], others_of(every[name], every.values())) if name in every else missing(name))
            if name
            else counted(every)
        )
        return f"<!-- {place[1]} -->\n{body}\n<!-- end -->"

    return PLACE.sub(put, page)


def missing(name: str) -> str:
    """What stands where there is no evidence of this edition."""
    return f"Not proved yet by the rules of today: `guerdon prove {name}`."


def told(proof: Mapping[str, Any], others: Sequence[Mapping[str, Any]] = ()) -> str:
    """A recipe's claims with verdicts and figures, and the command that gives them; what `others` came to with other students
    stands in the verdict."""
    name, stale = proof["recipe"], evidence.stale(proof)
    parts = [f"*Stale*: {stale.partition(': ')[0]}."] if stale else []  # which, `guerdon show` says: here it is no news
    for i, claim in enumerate(proof["claims"]):
        says = claim["claim"]["says"]
        notes = [*outcome(claim), registration(claim), unfinished(claim)]
        words = "; ".join(f"**{note}**" if note.startswith("not ") else note for note in notes if note)
        parts += [
            f"*{says}*",
            f"**{badge(claim, others).capitalize()}**: {meaning(claim)}. {words[0].upper()}{words[1:]}.",
            numbers(claim),
            f"![{name}: curves and paired differences]({FILES}/{name}{f'-{i + 1}' if i else ''}.svg)",
        ]
    paper = proof["paper"].removeprefix("arXiv:")
    links = (
        f"[arms, costs and every seed]({FILES}/{evidence.VERDICTS}#{name}) · [the paper](https://arxiv.org/abs/{paper})"
    )
    return "\n\n".join([*parts, f"`{proof['command']}` · {links}"])


def numbers(claim: Mapping[str, Any]) -> str:
    """The difference and the scores of all arms; of a cheaper method also what it must keep."""
    said, gap, kept = claim["claim"], claim["against"]["baseline"], claim.get("quality")
    scores = ", ".join(f"{name} {plain(arm['score'], said['effect'])}" for name, arm in claim["arms"].items())
    told = [
        f"{better_by(gap).capitalize()} over {len(gap['differences'])} seeds, where {said['effect']:g} counts.",
        f"{said['metric'].capitalize()}: {scores}.",
    ]
    if kept:
        told.append(f"{said['keeps'].capitalize()}: {better_by(kept)}, *{kept['alone']}*.")
    if fresh := claim["replication"]:
        told.append(f"Fresh seeds: {signed(fresh['mean'], said['effect'])}.")
    return " ".join(told)


def counted(every: Mapping[str, Mapping[str, Any]]) -> str:
    """How many claims came out which way, and how many stand, with the shipped model."""
    every = {name: proof for name, proof in every.items() if not proof.get("student")}
    claims = [(name, claim) for name, proof in every.items() for claim in proof["claims"]]
    many = Counter(claim["verdict"] for _, claim in claims)
    rows = ["| verdict | claims | of |", "| --- | ---: | --- |"]
    for word in VERDICTS:
        names = ", ".join(dict.fromkeys(f"[{name}](#{name})" for name, claim in claims if claim["verdict"] == word))
        rows.append(f"| **{word}** | {many[word]} | {names} |")
    stand = Counter(claim["stands"] for _, claim in claims)
    standing = ", ".join(f"{stand[word]} {word}" for word in ("supported", "refuted", "open"))
    recipes, said = (f"{n} {word}{'s' * (n != 1)}" for n, word in ((len(every), "recipe"), (len(claims), "claim")))
    return "\n".join([*rows, f"\n{recipes}, {said}: {standing}."])


def pages() -> dict[Path, str]:
    """Every page as it should be."""
    every = evidence.verdicts(evidence.SHIPPED)
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
