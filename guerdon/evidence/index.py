"""The index over evidence, as Markdown: every claim and every screening by family, and what was registered when."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from guerdon.evidence.words import badge, difference, others_of, outcome, seeds_of, unfinished

RULES = (
    "Results of published methods: each against its baseline at an equal budget, over paired seeds, by a rule that was fixed"
    " before anything was run. Differences are the method's score less the baseline's, positive where the method is ahead,"
    " with 95 % intervals.",
    "A *screening* is an estimate over 8 seeds, with no verdict. A *registered* claim has 8 seeds and 8 fresh ones: **ahead**"
    " and **behind** where each sample alone shows it (one-sided t-test at 5 %) and the interval of all pairs excludes 0;"
    " **no difference beyond x** where that interval lies within x on both sides of 0; else **inconclusive**. Gates that failed"
    " say what limits an experiment.",
    "*Stale* evidence was made by code that has changed since.",
)


def index(
    every: Mapping[str, Mapping[str, Any]], stale: Collection[str] = (), batches: Sequence[Mapping[str, Any]] = ()
) -> str:
    """All recipes with evidence. Those that are `stale` are marked; `batches` are what was registered."""
    parts = ["# Evidence", *RULES]
    for family in sorted({proof["family"] for proof in every.values()}):
        members = {name: proof for name, proof in sorted(every.items()) if proof["family"] == family}
        parts += [f"## {family}", _claims_of(members, stale)]
    if batches:
        parts += ["## What was registered", _batches(every, batches)]
    return "\n\n".join(parts) + "\n"


def _claims(every: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, proof in sorted(every.items()):
        for claim in proof["claims"]:
            yield name, claim


def _claims_of(members: Mapping[str, Mapping[str, Any]], stale: Collection[str]) -> str:
    rows = ["| recipe | claim | difference | seeds | | |", "| --- | --- | ---: | ---: | --- | --- |"]
    for name, claim in _claims(members):
        first, fresh = seeds_of(claim)
        others = [] if members[name].get("student") else others_of(members[name], members.values())
        mark = ", *stale*" if name in stale else ""
        unregistered = claim["tier"] == "registered" and not claim["registered"]
        notes = [*outcome(claim), *(("not registered",) if unregistered else ()), unfinished(claim)]
        rows.append(
            f"| [{name}]({name}.md) | {claim['claim']['says']} | {difference(claim['against']['baseline'])} |"
            f" {first}{f' + {fresh}' if fresh else ''} | **{badge(claim, others)}**{mark} |"
            f" {'; '.join(note for note in notes if note)} |"
        )
    return "\n".join(rows)


def _batches(every: Mapping[str, Mapping[str, Any]], batches: Sequence[Mapping[str, Any]]) -> str:
    rows = ["| batch | registered | claims | recipes | with evidence |", "| ---: | --- | ---: | ---: | ---: |"]
    for batch in batches:
        claims = sum(map(len, batch["claims"].values()))
        told = sum((claim["registered"] or {}).get("batch") == batch["batch"] for _, claim in _claims(every))
        rows.append(f"| {batch['batch']} | {batch['date']} | {claims} | {len(batch['claims'])} | {told} |")
    return "\n".join(rows)
