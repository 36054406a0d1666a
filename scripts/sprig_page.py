"""The built-in model's card as a page, from what was measured of it and how it was trained.

Leaves out measuring (`sprig_card.py`). Every figure is of the card or of training.json; what was not measured is named and has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Rates = Mapping[str, Mapping[str, float]]  # by level: sampled, pass@16
LEVELS = [str(level) for level in range(1, 9)]
LOW, HIGH, ABOVE = 0.2, 0.6, 0.2  # headroom: solved so often, and pass@16 so far above
NEEDED = 10  # families with headroom
ROOMS = (  # worlds that should have headroom each
    "calculator", "interpreter", "multi-hop search", "claim verification", "SQL", "Python", "page actions", "two-player game",
)  # fmt: skip
JUDGED = ("verify", "prefer", "critique", "score", "revise")
ASIDE = ("propose", "rewrite", "rubric", "reasons")
WANTED = {"verify": 0.65, "prefer": 0.65, "critique": 0.5}  # on its own attempts


def room(rates: Rates) -> list[str]:
    """The levels with headroom."""
    return [
        level
        for level, rate in rates.items()
        if LOW <= rate["sampled"] <= HIGH and rate["pass@16"] - rate["sampled"] >= ABOVE
    ]


def means(card: Mapping[str, Any]) -> dict[str, Any]:
    """Means over the families whose roles were measured, as a family's roles stand in the card."""
    roles = [f["roles"] for f in card["families"].values() if "roles" in f]

    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values)

    found: dict[str, Any] = {role: mean([r[role] for r in roles]) for role in ASIDE}
    for whose in ("near-misses", "own attempts"):
        found[whose] = {role: mean([r[whose][role] for r in roles if role in r[whose]]) for role in JUDGED}
    return found


def page(card: Mapping[str, Any], training: Mapping[str, Any]) -> str:
    """The whole page."""
    families = card["families"]
    seconds, tokens = training["seconds"], training["tokens"]
    with_room = {name: levels for name, f in families.items() if (levels := room(f["levels"]))}
    without = [name for name in families if name not in with_room]
    return PAGE.format(
        version=training["version"], millions=training["parameters"] / 1e6, device=training["device"],
        written=sum(tokens.values()) / 1e6, minutes=sum(seconds.values()) / 60, problems=card["problems"],
        commands=_commands(training), stages=_stages(training), not_measured=_not_measured(card),
        solved=_table("family", {name: f["levels"] for name, f in families.items()}),
        worlds=_table("world, task", {f"{w}, `{n}`": r for w, names in card["worlds"].items() for n, r in names.items()}),
        count=len(with_room), needed=NEEDED, without=", ".join(without) or "none",
        rooms="; ".join(f"{name} {', '.join(levels)}" for name, levels in with_room.items()),
        world_rooms="\n".join(_world_room(card["worlds"], world) for world in ROOMS),
        judged=_judged(card), wanted=_wanted(card), aside=_aside(card), fits=_fits(card),
        notes="".join(f"\n{note}\n" for note in card["notes"]),
    )  # fmt: skip


def _commands(training: Mapping[str, Any]) -> str:
    """What made it, stage by stage."""
    lines = []
    for stage, settings in training["settings"].items():
        words = [f"--steps {settings['steps']}", f"--warmup {settings['warmup']}"]
        if stage != "text":
            words = [f"--stage {stage}", *words, f"--problems {settings['problems']}"]
        lines.append(f"$ python scripts/train_sprig.py --out sprig {' '.join(words)}")
    return "\n".join(lines)


def _stages(training: Mapping[str, Any]) -> str:
    """How long each stage took, a line each."""
    lines = ["| stage | seconds of trying | steps | million tokens | seconds |", f"| --- |{' ---: |' * 4}"]
    seconds = training["seconds"]
    for stage, settings in training["settings"].items():
        trying = f"{seconds[f'{stage} attempts']:.0f}" if f"{stage} attempts" in seconds else ""
        read = f"{training['tokens'][stage] / 1e6:.0f}"
        lines.append(f"| {stage} | {trying} | {settings['steps']:,} | {read} | {seconds[stage]:.0f} |")
    return "\n".join(lines)


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"


def _table(first: str, rows: Mapping[str, Rates]) -> str:
    head = f"| {first} | {' | '.join(LEVELS)} |\n| --- |{' ---: |' * len(LEVELS)}"

    def cell(rates: Rates, level: str) -> str:
        return f"{_percent(rates[level]['sampled'])} / {_percent(rates[level]['pass@16'])}" if level in rates else ""

    return "\n".join([head, *(f"| {n} | {' | '.join(cell(r, level) for level in LEVELS)} |" for n, r in rows.items())])


def _not_measured(card: Mapping[str, Any]) -> str:
    missing = ", ".join(f"`{name}` ({why})" for name, why in card["not measured"].items())
    return f"Not measured, so there is no figure of them: {missing}." if missing else "All that was asked was measured."


def _world_room(worlds: Mapping[str, Mapping[str, Rates]], world: str) -> str:
    found = {name: levels for name, rates in worlds[world].items() if (levels := room(rates))}
    said = "; ".join(f"`{name}` at {', '.join(levels)}" for name, levels in found.items())
    tried = ", ".join(f"`{name}`" for name in worlds[world])
    return f"| {world} | {said or f'**none** (of {tried})'} |"


def _judged(card: Mapping[str, Any]) -> str:
    """Roles about attempts: near-misses and its own."""
    head = " | ".join(f"{role} near | own" for role in JUDGED)

    def row(name: str, level: Any, roles: Mapping[str, Any]) -> str:
        cells = []
        for role in JUDGED:
            for whose in ("near-misses", "own attempts"):
                value = roles[whose].get(role)
                cells.append("" if value is None else f"{value:.2f}" if role == "score" else _percent(value))
        return f"| {name} | {level} | {' | '.join(cells)} |"

    rows = [row(n, f["roles"]["level"], f["roles"]) for n, f in card["families"].items() if "roles" in f]
    line = f"| --- | ---: |{' ---: |' * 2 * len(JUDGED)}"
    return "\n".join([f"| family | level | {head} |", line, *rows, row("**mean**", "", means(card))])


def _wanted(card: Mapping[str, Any]) -> str:
    """What was wanted of its judging of itself, what the mean over families is, and which are below."""
    own = {n: f["roles"]["own attempts"] for n, f in card["families"].items() if "roles" in f}
    lines = ["| on its own attempts | wanted | mean of the families | families below |", "| --- | ---: | ---: | --- |"]
    for role, least in WANTED.items():
        below = [f"{name} {found[role]:.3f}" for name, found in own.items() if role in found and found[role] < least]
        mean = means(card)["own attempts"][role]
        lines.append(f"| {role} | {least:.2f} | {mean:.3f} | {', '.join(below) or 'none'} |")
    counted = [found for found in own.values() if "wrong" in found]
    if len(counted) == len(own):
        wrong = sum(found["wrong"] for found in own.values())
        named = sum(found["wrong"] * found.get("critique", 0.0) for found in own.values())
        lines.append(
            f"\nOf all {wrong} wrong attempts together, critics named the first wrong line of {_percent(named / wrong)} %."
        )
    return "\n".join(lines)


def _aside(card: Mapping[str, Any]) -> str:
    def row(name: str, roles: Mapping[str, Any]) -> str:
        return f"| {name} | {' | '.join(_percent(roles[role]) for role in ASIDE)} |"

    rows = [row(n, f["roles"]) for n, f in card["families"].items() if "roles" in f]
    return "\n".join(
        [f"| family | {' | '.join(ASIDE)} |", f"| --- |{' ---: |' * len(ASIDE)}", *rows, row("**mean**", means(card))]
    )


def _fits(card: Mapping[str, Any]) -> str:
    """The worlds that outgrow the context, each with the levels at which not every problem fits."""
    lines = [
        f"`{name}` " + ", ".join(f"{level} ({_percent(share)} % fit)" for level, share in shares.items() if share < 1.0)
        for name, shares in card["fits"].items()
        if min(shares.values()) < 1.0
    ]
    return "; ".join(lines) or "none"


PAGE = """# {version}

A language model that comes with Guerdon: a Llama-style decoder of {millions:.2f} M parameters with a context of 1,024 tokens, trained from nothing on
text that Guerdon's own generators write (about {written:.0f} M tokens are read; {minutes:.1f} minutes in all on one {device}). It is a student: it solves easy
levels mostly and hard levels rarely, thinks in short steps, acts in small worlds (tools, search, SQL, Python, pages, games), and can judge, mend,
propose and rewrite. It knows nothing but these tasks. Apache-2.0; no text of anybody else's went into it.

Held-out problems differ from those it was trained on by their [canonical form](../../../../docs/your_own_task.md#what-is-held-out), not by their order alone.
All figures below are on held-out problems, {problems} of each family and level (fewer where there are not so many
different ones), 16 tries each. {not_measured}
With so few problems a rate can be off by ten points and more; `guerdon eval` says by how much.

## Solving

Accuracy of single samples at temperature 1, and pass@16, in per cent, by level. One cell on its own:
`guerdon eval {version} --task countdown:4 --k 16`.

{solved}

## Worlds

The same, where more than one answer is asked for: tools, documents, pages, opponents; and programs and queries that are run. One cell on its own:
`guerdon eval {version} --task hops:4 --k 16`.

{worlds}

## Room to learn

A level has room for reinforcement learning where 20 to 60 % of the samples are right and pass@16 is at least 20 points above.
{count} families have one (wanted: {needed}), with these levels: {rooms}. Without: {without}.

| world | levels with room |
| --- | --- |
{world_rooms}

## Judging and mending

Each family at the level whose rate is nearest to 45 %. *near* is on attempts of which half are right and half are near-misses; *own* is on the model's
own samples, each text once. Verify and prefer are balanced accuracies; critique is the share of wrong attempts whose first wrong line was named; score is
the rank correlation with the true grade; revise is the share of wrong attempts mended. One cell on its own, on near-misses:
`guerdon eval {version} --task verify/countdown:4 --greedy`.

{judged}

{wanted}
{notes}
## Other parts

Propose: the share of proposals that are problems of the asked level; rewrite: of rewritten problems that are what was asked for; rubric: of rubrics
answered without a mistake; reasons: of verdicts that are right with the right reason. In per cent, at the same levels.

{aside}

## How it was made

Stages, each of which goes on where it was stopped:

```console
{commands}
$ python scripts/sprig_card.py sprig --number {problems}
```

{stages}

The first reads conversations of every kind, each about three times. Before each of the others the model tries problems of the training stream, four times
each, and what there is to say about those attempts is written: in every role for the second, and verdicts alone for the third, where they are 60 % of
what is read. The rest is text of the first kind. The third went on from the second's weights alone. Tokens are steps times shards of 32,768.

- **What is hard is rare.** Hard levels are done as carefully as easy ones, each level less often than the one below it (`scripts/sprig_text.py` says how
  much less). No training text is corrupted.
- **Answers of several lengths.** Most solutions are in full; others say the answer at once, pass lines over, or first go ways that lead elsewhere.
- **Judges redo the lines.** A judge writes each line as it should be and then whether the attempt has it so, and stops at the first that differs.
- **Its own mistakes.** Right and wrong attempts are judged equally often at each family and level, so that a verdict cannot be guessed from the problem.

## What it is not

It cannot follow instructions, chat or generalise beyond these families and worlds. In the mean it judges planted errors better than its own. What does not fit
1,024 tokens it cannot finish: of these worlds, acted in by one who knows everything, some problems do not fit at these levels: {fits}.
"""
