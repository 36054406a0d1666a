"""Reward models that each learned of other traits, and a table of what they know, rank and choose. No recipe."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any

from guerdon.core.model import Model
from guerdon.core.seeds import derive
from guerdon.core.task import Sampling
from guerdon.recipes.audit.mrmbench.parts import (
    TRAITS,
    TraitAnswer,
    answer_to,
    any_traits,
    paired_answers,
    probe_scores,
)
from guerdon.recipes.audit.scorer_pool import ProblemTries, Said, problems_tried, said_of, taught_pairs


@dataclass(frozen=True)
class Mix:
    """The traits that a reward model's pairs differ in, and the share of the pool's steps that it learns for."""

    differ: tuple[str, ...]
    share: float = 1.0


MIXES = (
    Mix(TRAITS),
    Mix(TRAITS, 0.5),
    Mix(("correctness",)),
    Mix(("harmlessness",)),
    Mix(("verbosity",)),
    Mix(("correctness", "harmlessness")),
    Mix(("helpfulness", "coherence")),
    Mix(("complexity", "verbosity")),
    Mix(("correctness", "helpfulness", "coherence")),
    Mix(("harmlessness", "complexity", "verbosity")),
    Mix(("correctness", "harmlessness", "helpfulness", "coherence")),
    Mix(("harmlessness",), 0.25),
)


@dataclass(frozen=True)
class TraitSetting:
    """What decides the numbers of such a pool."""

    pool: int
    steps: int
    prompts: int
    lr: float
    problems: int
    answers: int


def rows_of(mix: Mix, tried: Sequence[ProblemTries], number: int, seed: int) -> list[dict[str, str]]:
    """So many rows of preferences whose two answers differ in a mix's traits."""
    return [
        {"prompt": better.prompt, "chosen": better.text, "rejected": worse.text}
        for better, worse in pairs_in(mix.differ, tried, number, seed)
    ]


def pairs_in(
    differ: Sequence[str], tried: Sequence[ProblemTries], number: int, seed: int
) -> list[tuple[TraitAnswer, TraitAnswer]]:
    draw = random.Random(derive(seed, "traits", *differ))
    pairs: list[tuple[TraitAnswer, TraitAnswer]] = []
    while len(pairs) < number:
        made = paired_answers(draw.choice(tried), differ, draw)
        pairs += [made] if made is not None else []
    return pairs


def ranked(say: Said, pairs: Sequence[tuple[TraitAnswer, TraitAnswer]]) -> float:
    """How often the one that is worth more scores higher; a tie counts half."""
    said = say([(each.prompt, each.text) for pair in pairs for each in pair])
    return fmean(0.5 if a == b else float(a > b) for a, b in zip(said[::2], said[1::2], strict=True))


def worth_chosen(say: Said, groups: Sequence[Sequence[TraitAnswer]]) -> float:
    """The mean worth of what scores highest in each group; the first of equals."""
    said = iter(say([(each.prompt, each.text) for group in groups for each in group]))
    return fmean(max(((next(said), -i, each.worth) for i, each in enumerate(group)))[2] for group in groups)


def trait_table(run: Any, task: Any, model: Model, setting: TraitSetting) -> dict[str, dict[str, float]]:
    """Every reward model by its mix: the accuracy of each probe and their `mean`; `pairs`, the accuracy on pairs that differ in
    anything; and `chosen`, the worth of the best of several answers by it."""
    lessons, exam = (
        [t for t in problems_tried(run, task, model, split, setting.problems, 0, Sampling()) if t.wrong]
        for split in ("train", "test")
    )
    draw = random.Random(derive(run.seed, "answers"))
    groups = [[answer_to(each, any_traits(draw), draw) for _ in range(setting.answers)] for each in exam]
    probes = [answer_to(draw.choice(lessons), any_traits(draw), draw) for _ in range(8 * setting.problems)]
    told = [answer_to(draw.choice(exam), any_traits(draw), draw) for _ in range(4 * setting.problems)]
    pairs = pairs_in(TRAITS, exam, 4 * setting.problems, derive(run.seed, "exam"))
    table = {}
    for mix in MIXES[: setting.pool]:
        steps = max(1, round(setting.steps * mix.share))
        rows = rows_of(mix, lessons, steps * setting.prompts, run.seed)
        scorer = taught_pairs(run, rows, model, steps, setting.prompts, setting.lr)
        say = partial(said_of, scorer)
        own = {"pairs": ranked(say, pairs), "chosen": worth_chosen(say, groups)}
        table[f"{'+'.join(mix.differ)} x{mix.share:g}"] = {**probe_scores(scorer, probes, told), **own}
    return table
