"""Simulated proofs: how often the rule gives a wrong verdict, finds an effect that is there, and closes each gate.

A world has a start, what the baseline gains, the method's true effect over the baseline and over its ablation, how far paired
differences and the scores of a run spread, and how learning rates act. Scores are normal. Each proof is decided by the
functions that decide real ones: the grid of rates, the gates, the number of seeds, and the word.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from guerdon.prove import tuning
from guerdon.prove.claim_gates import (
    Gate,
    above_chance,
    differing,
    enough_gain,
    enough_updates,
    failed,
    problem,
    rates_inside,
)
from guerdon.prove.estimate import Estimate, estimate
from guerdon.prove.verdict import EACH, is_confirmed, seeds_of_each, word_of

POINT = 0.01
EFFECT = 2 * POINT  # the default minimum effect
PROOFS = 2000
FALSE, FOUND, FIRES = 0.01, 0.75, 0.95  # what the rule is to keep to
NOTHING, UNCONFIRMED = "no ahead", "not confirmed by ablation"  # what a world expects, besides a word and a gate


@dataclass(frozen=True)
class SimulatedWorld:
    """What is true. `effect` is the method over the baseline, `idea` the method over its ablation (None: the same), `spread`
    the standard deviation of paired differences, `swing` that of the scores of one arm. `rate` is the best learning rate, in
    powers of the grid's step from the default; a rate one step off loses `steep`. `failure` is the failure mode in the
    baseline, which is to be 0.5 or more. `copies`: the method computes what the baseline computes."""

    name: str
    expects: str
    effect: float = 0.0
    spread: float = 1.2 * POINT
    idea: float | None = None
    start: float = 0.40
    gain: float = 0.16
    chance: float = 0.0
    swing: float = 1.5 * POINT
    rate: float = 0.0
    steep: float = 4 * POINT
    updates: float = 240.0
    failure: float = 0.7
    copies: bool = False


WORLDS = (
    SimulatedWorld("an arm against itself", NOTHING),
    SimulatedWorld("+1.5 points at spread 1.2", "ahead", effect=1.5 * POINT),
    SimulatedWorld("+2.0 points at spread 1.6", "ahead", effect=2.0 * POINT, spread=1.6 * POINT),
    SimulatedWorld("-1.5 points at spread 1.2", "behind", effect=-1.5 * POINT),
    SimulatedWorld("a mutant: ahead by 1.5, its ablation too", UNCONFIRMED, effect=1.5 * POINT, idea=0.0),
    SimulatedWorld("a mutant: computes what the baseline does", "gate differ", copies=True),
    SimulatedWorld("a baseline below chance", "gate chance", start=0.30, gain=0.18, chance=0.5),
    SimulatedWorld("a best rate at the edge: a ninth of the default", "ahead", effect=1.5 * POINT, rate=-2.0),
    SimulatedWorld("a best rate beyond seven rates", "gate rate", rate=7.0),
    SimulatedWorld("a rate does not matter", "ahead", effect=1.5 * POINT, steep=0.0),
    SimulatedWorld("a problem that does not occur", "gate problem", failure=0.3),
    SimulatedWorld("66 updates", "gate updates", updates=66.0),
    SimulatedWorld("GRPO gains 8 points", "gate gain", gain=8 * POINT),
)


def proof(world: SimulatedWorld, draw: np.random.Generator) -> tuple[str, str, list[str]]:
    """One proof: its word, whether its ablation confirms it, and the gates that failed. A failed gate leaves no word."""
    tried = {arm: _tuned(world, draw) for arm in ("method", "baseline")}
    first = _pairs(world, EACH, draw)
    scores = (world.start + world.gain + draw.normal(0.0, world.swing, EACH)).tolist()
    gates = _gates(world, scores, first.differences, tried, draw)
    if failed(gates):
        return "", "", [gate["gate"] for gate in failed(gates)]
    each = seeds_of_each(first.sd, fmean(scores) - world.start)
    more = [*first.differences, *_draws(world.effect, world, 2 * each - EACH, draw)]
    difference = estimate(more, EFFECT, first=each)
    word = word_of(difference)
    idea = world.effect if world.idea is None else world.idea
    ablation = estimate(_draws(idea, world, 2 * each, draw), EFFECT, first=each)
    return word, "confirmed" if word == "ahead" and is_confirmed(ablation, 1.0) else "", []


def _draws(mean: float, world: SimulatedWorld, pairs: int, draw: np.random.Generator) -> list[float]:
    return list(map(float, draw.normal(mean, world.spread, pairs)))


def _pairs(world: SimulatedWorld, pairs: int, draw: np.random.Generator) -> Estimate:
    return estimate([0.0] * pairs if world.copies else _draws(world.effect, world, pairs, draw), EFFECT)


def _tuned(world: SimulatedWorld, draw: np.random.Generator) -> dict[float, float]:
    """The mean score of each rate of the grid, extended as it is for an arm."""
    scores = dict[float, float]()
    wanted = tuning.grid(tuning.THREE)
    while wanted:
        for factor in wanted:
            off = math.log(factor, tuning.STEP) - world.rate
            noise = draw.normal(0.0, world.swing, len(tuning.TUNING_SEEDS))
            scores[factor] = -world.steep * abs(off) + float(noise.mean())
        more = tuning.wider(scores)
        wanted = [] if more is None else [more]
    return scores


def _gates(
    world: SimulatedWorld,
    scores: Sequence[float],
    differences: Sequence[float],
    tried: Mapping[str, Mapping[float, float]],
    draw: np.random.Generator,
) -> list[Gate]:
    """The gates by the scores of the baseline, which is GRPO on the true reward here."""
    theirs = {seed: ("baseline", score) for seed, score in enumerate(scores)}
    ours = {seed: ("method", score + more) for seed, (score, more) in enumerate(zip(scores, differences, strict=True))}
    rates = rates_inside(tried)
    assert rates is not None
    return [
        problem("the failure mode", list(map(float, draw.normal(world.failure, 0.05, EACH))), 0.5, 1.0),
        above_chance(scores, world.chance),
        enough_updates({"method": world.updates, "baseline": world.updates}),
        enough_gain([score - world.start for score in scores]),
        rates,
        differing({"method": ours, "baseline": theirs}),
    ]


def simulate(proofs: int = PROOFS, worlds: Sequence[SimulatedWorld] = WORLDS, seed: int = 0) -> list[dict[str, Any]]:
    """For each world the share of every word, of ablations that confirm, and of proofs that each gate ends.

    >>> (row,) = simulate(20, [SimulatedWorld("nothing", NOTHING)])
    >>> row["world"], row["words"].get("ahead", 0.0)
    ('nothing', 0.0)
    """
    return [_row(world, proofs, np.random.default_rng([seed, i])) for i, world in enumerate(worlds)]


def _row(world: SimulatedWorld, proofs: int, draw: np.random.Generator) -> dict[str, Any]:
    words, gates, confirmed, ended = Counter[str](), Counter[str](), 0, 0
    for _ in range(proofs):
        word, ablation, closed = proof(world, draw)
        words[word] += bool(word)
        gates.update(closed)
        confirmed += bool(ablation)
        ended += bool(closed)
    return {
        "world": world.name,
        "expects": world.expects,
        "words": {word: n / proofs for word, n in sorted(words.items()) if word},
        "confirmed": confirmed / proofs,
        "gates": {gate: n / proofs for gate, n in sorted(gates.items())},
        "ended": ended / proofs,
        "proofs": proofs,
    }


def recorded(pairs: Sequence[Mapping[str, Any]], proofs: int = PROOFS, seed: int = 0) -> list[dict[str, Any]]:
    """The same of arms that were run against themselves: proofs are drawn with replacement from their paired differences."""
    rows = []
    for i, each in enumerate(pairs):
        draw = np.random.default_rng([seed, len(WORLDS) + i])
        drawn = draw.choice(each["differences"], size=(proofs, 2 * EACH)).tolist()
        words = Counter(word_of(estimate(some, each["claim"]["effect"], first=EACH)) for some in drawn)
        shares = {str(word): n / proofs for word, n in sorted(words.items())}
        name = f"`{each['arm']}` against itself on {each['claim']['task']}, {len(each['differences'])} recorded pairs"
        row = {"world": name, "expects": NOTHING, "words": shares, "confirmed": 0.0, "gates": {}, "ended": 0.0}
        rows.append({**row, "proofs": proofs})
    return rows


def unmet(rows: Sequence[Mapping[str, Any]]) -> str:
    """The worlds in which the rule does not keep to its limits; empty where it does: without an effect 1 % at most are *ahead*,
    an effect is found in 75 % of proofs, a mutant is confirmed by its ablation in 1 % at most, and every gate ends 95 %."""
    return "; ".join(row["world"] for row in rows if not _does(row))


def _does(row: Mapping[str, Any]) -> bool:
    expects, words = row["expects"], row["words"]
    if expects == NOTHING:
        return bool(words.get("ahead", 0.0) <= FALSE)
    if expects == UNCONFIRMED:
        return bool(row["confirmed"] <= FALSE)
    if expects.startswith("gate "):
        return bool(row["gates"].get(expects.removeprefix("gate "), 0.0) >= FIRES)
    return bool(words.get(expects, 0.0) >= FOUND)


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The simulation as a Markdown table."""
    columns = ("ahead", "behind", "no difference", "inconclusive")
    head = ["world", *columns, "confirmed by ablation", "ended by a gate", "which"]
    lines = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 2)} --- |"]
    for row in rows:
        cells = [row["world"], *(_percent(row["words"].get(word, 0.0)) for word in columns), _percent(row["confirmed"])]
        which = ", ".join(f"{gate} {_percent(share)}" for gate, share in row["gates"].items() if share >= SHOWN)
        lines.append(f"| {' | '.join([*cells, _percent(row['ended']), which])} |")
    return "\n".join(lines)


SHOWN = 0.0005  # a smaller share is not reported


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
