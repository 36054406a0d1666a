"""The index over evidence, as Markdown: every verdict by family, what was registered when, what came out again, and how far
verdicts may be trusted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from guerdon.store.evidence_words import badge, difference, others_of, outcome, signed, unfinished

RULES = (
    "What came of the claims of published methods: each against its baseline at an equal budget, over paired seeds, by a rule"
    " that was fixed before anything was run. A verdict is reported as it came out.",
    "By the interval of the mean difference, seed by seed: **better** where all of it lies above the smallest effect that"
    " counts, which the claim states beforehand; **worse** where it lies below minus the effect; **equal** where it lies within"
    " the effect on both sides of 0; anything else is **not known**. There are looks at 8, 16 and 32 seeds, which share an"
    " error of 5 %, and a word must also survive control of false discoveries (5 %) among the claims that were registered with"
    " it. What cannot be tried at all (a start that solves nothing or everything, nothing to learn, solutions that do not fit,"
    " an exam in another form) is **not testable here**. After *better* the method is held against itself without its idea;"
    " after *better* and *worse* fresh seeds must come out where the first ones say.",
    "*Stale* is what came of other code than today's.",
)


def index(
    every: Mapping[str, Mapping[str, Any]],
    calibration: Mapping[str, Any] | None,
    stale: Collection[str] = (),
    batches: Sequence[Mapping[str, Any]] = (),
) -> str:
    """All recipes with evidence. Those that are `stale` are marked; `batches` are what was registered."""
    parts = ["# Evidence", *RULES]
    for family in sorted({proof["family"] for proof in every.values()}):
        members = {name: proof for name, proof in sorted(every.items()) if proof["family"] == family}
        parts += [f"## {family}", _verdicts(members, stale)]
    if batches:
        parts += ["## What was registered", _batches(every, batches)]
    if any(claim["replication"] for _, claim in _claims(every)):
        parts += ["## Fresh seeds", _replications(every)]
    if calibration is not None:
        parts += ["## Is the machine honest?", *_calibration(calibration)]
    return "\n\n".join(parts) + "\n"


def _claims(every: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, proof in sorted(every.items()):
        for claim in proof["claims"]:
            yield name, claim


def _verdicts(members: Mapping[str, Mapping[str, Any]], stale: Collection[str]) -> str:
    rows = ["| recipe | claim | better by | seeds | verdict | |", "| --- | --- | ---: | ---: | --- | --- |"]
    for name, claim in _claims(members):
        others = [] if members[name].get("student") else others_of(members[name], members.values())
        gap = claim["against"]["baseline"]
        mark = ", *stale*" if name in stale else ""
        notes = [*outcome(claim), *(() if claim["registered"] else ("not registered",)), unfinished(claim)]
        rows.append(
            f"| [{name}]({name}.md) | {claim['claim']['says']} | {difference(gap)} | {len(gap['differences'])} |"
            f" **{badge(claim, others)}**{mark} | {'; '.join(note for note in notes if note)} |"
        )
    return "\n".join(rows)


def _batches(every: Mapping[str, Mapping[str, Any]], batches: Sequence[Mapping[str, Any]]) -> str:
    rows = ["| batch | registered | claims | recipes | with evidence |", "| ---: | --- | ---: | ---: | ---: |"]
    for batch in batches:
        claims = sum(map(len, batch["claims"].values()))
        told = sum((claim["registered"] or {}).get("batch") == batch["batch"] for _, claim in _claims(every))
        rows.append(f"| {batch['batch']} | {batch['date']} | {claims} | {len(batch['claims'])} | {told} |")
    return "\n".join(rows)


def _replications(every: Mapping[str, Mapping[str, Any]]) -> str:
    rows = [
        "| recipe | claim | first | fresh | should be between | inside |",
        "| --- | --- | ---: | ---: | ---: | --- |",
    ]
    for name, claim in _claims(every):
        fresh, effect = claim["replication"], claim["claim"]["effect"]
        if fresh:
            first, mean, low, high = (
                signed(value, effect)
                for value in (claim["against"]["baseline"]["mean"], fresh["mean"], fresh["low"], fresh["high"])
            )
            inside = "yes" if fresh["inside"] else "**no**"
            rows.append(f"| {name} | {claim['claim']['says']} | {first} | {mean} | {low} and {high} | {inside} |")
    return "\n".join(rows)


# --- calibration --------------------------------------------------------------------------------------------------


def _calibration(result: Mapping[str, Any]) -> list[str]:
    quick = " **A quick look: not evidence.**" if result["quick"] else ""
    return [
        f"`{result['command']}` holds arms against themselves: same start, same problems, same exams, other noise. Proofs by"
        " the whole rule are drawn from these pairs; whatever they say but *equal* and *not known* is wrong."
        f" **At most {100 * result['wrong']:.1f} % were.** The same pairs, moved by an effect, say how often one that is there"
        f" is seen, and with how many seeds on average.{quick}",
        _against_itself(result["settings"]),
        "What a planted collapse does: the baseline loses 25 points in one of ten runs, and the means are equal. So often is a"
        " difference seen, by the rule of the first edition at 8 seeds, by this one at its first look, and with all its looks:",
        _collapses(result["collapses"]),
    ]


def _against_itself(settings: Sequence[Mapping[str, Any]]) -> str:
    times = [power["times"] for power in settings[0]["power"]]
    head = ["arm", "setting", "pairs", "spread", "effect", "wrong", "equal", "not known", "seeds"]
    head += [word for t in times for word in (f"seen at {t:g} times", "seeds")]
    rows = [f"| {' | '.join(head)} |", f"| --- | --- |{' ---: |' * (len(head) - 2)}"]
    for each in settings:
        claimed, errors = each["claim"], each["errors"]
        where = f"{claimed['task']}, {claimed['budget']:,.0f} {claimed['unit']}"
        cells = [f"`{each['arm']}`", where, str(len(each["differences"])), f"{_spread(each['differences']):.4f}"]
        cells += [f"{claimed['effect']:g}", *(_percent(errors[word]) for word in ("wrong", "equal", "not known"))]
        cells += [f"{errors['seeds']:.0f}"]
        cells += [cell for p in each["power"] for cell in (_percent(p["better"]), f"{p['seeds']:.0f}")]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _collapses(table: Sequence[Mapping[str, float]]) -> str:
    rules = ("first edition", "at 8", "all looks")
    rows = [f"| spread | effect | {' | '.join(rules)} |", f"|{' ---: |' * (2 + len(rules))}"]
    for each in table:
        shares = (_percent(each[rule]) for rule in rules)
        rows.append(f"| {each['sd']:g} | {each['effect']:g} | {' | '.join(shares)} |")
    return "\n".join(rows)


def _spread(values: Sequence[float]) -> float:
    """The standard deviation of a sample."""
    mean = fmean(values)
    return float((sum((v - mean) ** 2 for v in values) / max(1, len(values) - 1)) ** 0.5)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
