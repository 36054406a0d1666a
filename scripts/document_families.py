"""Writes what was measured into the pages of docs/evidence: one frame for every method, between the words that people wrote.

A page has a place for every recipe of its family, `<!-- evidence: NAME -->` to `<!-- end -->`, with what the method is and needs,
its mechanism test, its screening and its registered claims; `<!-- words -->` to `<!-- end -->` has what the family comes to. All of
it is made of `guerdon/evidence/verdicts.json`, the recipes and tests/mechanisms. The tables of settings and of simulated proofs in
docs/evidence.md are made of the suite, its pilots, and `docs/evidence/simulation.json` (`guerdon prove --calibrate`).
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from guerdon.evidence import proof_files
from guerdon.evidence.packed import VERDICTS
from guerdon.evidence.words import (
    WORDS,
    badge,
    difference,
    file_name,
    gates_in_words,
    meaning,
    measured,
    others_of,
    outcome,
    plain,
    registration,
    unfinished,
)
from guerdon.prove.setting_suite import SUITE, is_frozen, piloted, setting_named
from guerdon.prove.simulation import table
from guerdon.training.catalog import Listing, find_recipe, listings

ROOT = Path(__file__).resolve().parent.parent
FILES = "../../guerdon/evidence"  # from a page
PAGES = ROOT / "docs" / "evidence"
RULE = ROOT / "docs" / "evidence.md"
SIMULATION = PAGES / "simulation.json"
MECHANISMS = ROOT / "tests" / "mechanisms"
PLACE = re.compile(r"<!-- (evidence: (?P<name>[\w-]+)|words|settings|simulation) -->\n(.*?)<!-- end -->", re.DOTALL)
ROWS = {"problems": "problems with answers", "pairs": "pairs of answers", "labels": "answers with labels", "steps": "solutions in labelled steps"}  # fmt: skip


def renewed(page: str, every: Mapping[str, Mapping[str, Any]]) -> str:
    """A page with today's numbers."""
    makers = {"words": lambda: counted(every), "settings": settings_table, "simulation": simulation_table}

    def put(place: re.Match[str]) -> str:
        name = place["name"]
        return f"<!-- {place[1]} -->\n{frame(name, every) if name else makers[place[1]]()}\n<!-- end -->"

    return PLACE.sub(put, page)


# --- a method -----------------------------------------------------------------------------------------------------


def frame(name: str, every: Mapping[str, Mapping[str, Any]]) -> str:
    """What a method is and needs, its mechanism test, its screening and its registered claims."""
    listing = listings()[name]
    proof, screening = every.get(name), every.get(file_name(name, screened=True))
    paper = listing.paper.removeprefix("arXiv:")
    parts = [
        f"**What it is.** {listing.about} [The paper](https://arxiv.org/abs/{paper}).",
        f"**Needs.** {needs(name)}.",
        f"**Mechanism.** {mechanism(listing)}",
        f"**Screening.** {screened(name, screening)}",
    ]
    if proof is None and not listing.claims:
        parts.append("**Registered.** No claim is registered.")
    elif proof is None:
        says = "; ".join(f"*{each}*" for each in listing.claims)
        parts.append(f"**Registered.** {says}: registered, not run yet: `guerdon prove {name}`.")
    else:
        parts += registered(name, proof, others_of(proof, every.values()))
    return "\n\n".join(parts)


def needs(name: str) -> str:
    """What a recipe is given."""
    entry = find_recipe(name)
    slots = [slot for slot in ("task", "model") if slot in entry.parameters()]
    what = {"task": ROWS[entry.needs.rows], "model": "a model"}
    return " and ".join(what[slot] for slot in slots) if slots else "nothing: it has a fixed task and model"


def mechanism(listing: Listing) -> str:
    """Whether the method has a mechanism test, and what its numbers are from."""
    path = MECHANISMS / listing.family / f"{listing.name.replace('-', '_')}.py"
    if not path.is_file():
        return "No mechanism test yet."
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    sources = [
        ast.literal_eval(keyword.value)
        for call in calls
        if getattr(call.func, "id", "") == "Mechanism"
        for keyword in call.keywords
        if keyword.arg == "source"
    ]
    return f"Tested, by {sources[0]} ([{path.name}](../../{path.relative_to(ROOT)}))."


def screened(name: str, proof: Mapping[str, Any] | None) -> str:
    """The estimates in settings of the suite."""
    if proof is None:
        if not {"task", "model"} & find_recipe(name).parameters().keys():
            return "None: it has a world of its own, and the settings of the suite are not for it."
        return f"Not screened yet: {how_to_screen(name)}."
    told = []
    for claim in proof["claims"]:
        notes = "; ".join(note for note in (gates_in_words(claim), unfinished(claim)) if note)
        told.append(f"`{claim['setting']}`: {measured(claim)}{f'; {notes}' if notes else ''}.")
    return " ".join(told)


def how_to_screen(name: str) -> str:
    """The commands: pilots of the settings that are still drafts come first."""
    settings = find_recipe(name).screened.settings
    drafts = [each for each in settings if not is_frozen(setting_named(each))]
    screen = " and ".join(f"`guerdon prove {name} --setting {each}`" for each in settings)
    return f"`guerdon prove --pilot {' '.join(drafts)}` to freeze the setting, then {screen}" if drafts else screen


def registered(name: str, proof: Mapping[str, Any], others: Sequence[Mapping[str, Any]] = ()) -> list[str]:
    """A recipe's claims with words, numbers and figures, and the command that gives them; what `others` came to with other
    students stands in the word."""
    stale = proof_files.stale(proof)
    parts = []
    for i, claim in enumerate(proof["claims"]):
        notes = [
            *(note for note in outcome(claim) if not note.startswith("gate")),
            registration(claim),
            unfinished(claim),
        ]
        failed = gates_in_words(claim)
        parts += [
            f"**Registered.** *{claim['claim']['says']}*: **{badge(claim, others)}**; {meaning(claim)}. {numbers(claim)}"
            + (f" {failed[0].upper()}{failed[1:]}." if failed else "")
            + f" {'; '.join(note for note in notes if note).capitalize()}.",
            f"![{name}: curves and paired differences]({FILES}/{name}{f'-{i + 1}' if i else ''}.svg)",
        ]
    old = f"*Stale*: {stale.partition(': ')[0]}. " if stale else ""
    links = f"`{proof['command']}` · [arms, costs and every seed]({FILES}/{VERDICTS}#{name})"
    return [*parts, f"{old}{links}"]


def numbers(claim: Mapping[str, Any]) -> str:
    """The difference and the scores of all arms; of a cheaper method also what it must keep."""
    said, kept = claim["claim"], claim.get("quality")
    scores = ", ".join(f"{name} {plain(arm['score'], said['effect'])}" for name, arm in claim["arms"].items())
    told = measured(claim)
    parts = [f"{told[0].upper()}{told[1:]}. Scores: {scores}."]
    if kept:
        parts.append(f"{said['keeps'].capitalize()} {difference(kept)}.")
    return " ".join(parts)


# --- a family -----------------------------------------------------------------------------------------------------


def counted(every: Mapping[str, Mapping[str, Any]]) -> str:
    """How many claims came out which way with the shipped model, and how many gates failed."""
    proofs = {n: proof for n, proof in every.items() if not proof.get("student") and not proof.get("screened")}
    claims = [(name, claim) for name, proof in proofs.items() for claim in proof["claims"]]
    rows = ["| word | claims | of |", "| --- | ---: | --- |"]
    for word in WORDS:
        names = [name for name, claim in claims if claim["word"] == word]
        links = ", ".join(f"[{name}](#{name})" for name in dict.fromkeys(names))
        rows.append(f"| **{word}{' beyond x' if word == 'no difference' else ''}** | {len(names)} | {links} |")
    failed = Counter(gate["gate"] for _, claim in claims for gate in claim["gates"] if not gate["open"])
    passed = sum(all(gate["open"] for gate in claim["gates"]) for _, claim in claims)
    gates = ", ".join(f"{gate} {n}" for gate, n in failed.most_common())
    says = f"{len(proofs)} recipes, {len(claims)} registered claims. Every gate passed in {passed}; gates that failed: {gates or 'none'}."
    screenings = sum(bool(proof.get("screened")) for proof in every.values())
    return "\n".join(
        [*rows, f"\n{says} {screenings or 'No'} recipe{'s have' if screenings > 1 else ' has'} been screened."]
    )


# --- the rule -----------------------------------------------------------------------------------------------------


def settings_table() -> str:
    """The suite, with what pilots came to."""
    found = piloted()
    rows = [
        "| setting | what it is | task, model | judge | problem, and the range it must be in | pilot |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for each in SUITE:
        judge = f"`{each.judge}`" if each.judge else "the truth"
        problem = f"{each.failure.says}, {each.failure.low:g} to {each.failure.high:g}"
        told = pilot_words(found.get(each.name), is_frozen(each))
        rows.append(f"| `{each.name}` | {each.about} | {each.task}, {each.model} | {judge} | {problem} | {told} |")
    return "\n".join(rows)


def pilot_words(found: Mapping[str, Any] | None, frozen: bool) -> str:
    """What a pilot came to, in a cell."""
    if found is None:
        return "none yet"
    failed = ", ".join(gate["gate"] for gate in found["gates"] if not gate["open"])
    gain = "" if found["gain"] is None else f", gain {100 * found['gain']:+.1f} points"
    start = "" if found["start"] is None else f"start {100 * found['start']:.1f} %"
    failure = "" if found["failure"] is None else f", problem {found['failure']:.2f}"
    state = "**frozen**" if frozen else f"failed: {failed}" if failed else "of an earlier form"
    return f"{state}; {start}{gain}{failure}, {found['updates']:.0f} updates"


def simulation_table() -> str:
    """The simulated proofs as they were last run."""
    return table(json.loads(SIMULATION.read_text())["worlds"])


def pages() -> dict[Path, str]:
    """Every page as it should be."""
    every = proof_files.verdicts(proof_files.SHIPPED)
    renewed_pages = {RULE: renewed(RULE.read_text(), every)}
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
