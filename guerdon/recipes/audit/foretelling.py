"""How well benchmarks of reward models foretell what choosing by them is worth: one table of a pool. No recipe.

Of every reward model there is how often it puts the right one of an item first, with several numbers of wrong ones and in
matched or confounded styles, and how often the try that it likes best is right. Items and tries are of different problems.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.core.seeds import derive
from guerdon.core.task import Sampling
from guerdon.exams.best_of_n import chosen
from guerdon.exams.tries import powers
from guerdon.recipes.audit.scorer_pool import POOL, ProblemTries, Said, brought_up, problems_tried, retold, said_of
from guerdon.studies.benchmarks import Item, first_places, mean_reciprocal_rank, spearman

Benchmark = Mapping[str, Sequence[tuple[str, str, list[str]]]]  # by style: prompt, right one, wrong ones
Row = dict[str, float]
TRAINED_TRIES = 4  # at each problem to learn from


@dataclass(frozen=True)
class PoolSetting:
    """What decides a pool's numbers: how many reward models, how they are taught, and what is chosen among."""

    pool: int
    steps: int
    prompts: int
    lr: float
    lessons: int  # problems to learn from
    problems: int  # held-out ones, to be asked about and as many again to choose among tries at
    tries: int
    how: Sampling


def items_of(problems: Sequence[ProblemTries], most: int, seed: int) -> Benchmark:
    """Items with a right solution and `most` wrong ones: all as they are (`matched`); or the right one terse and the wrong ones
    in words (`confounded`). Problems with fewer wrong ones are left out."""
    draw = random.Random(derive(seed, "items"))
    matched = [
        (each.prompt, draw.choice(each.right), draw.sample(each.wrong, most))
        for each in problems
        if len(each.wrong) >= most
    ]
    if not matched:
        raise UserError(
            f"no problem has {most} different wrong solutions: give more tries or problems, or fewer wrong ones"
        )
    confounded = [(p, retold(r, "terse"), [retold(w, "wordy") for w in wrong]) for p, r, wrong in matched]
    return {"matched": matched, "confounded": confounded}


def benchmarked(say: Said, items: Benchmark, against: Sequence[int]) -> Row:
    """`STYLE_N`: how often the right one is first among N wrong ones; `STYLE_N_rank`: its mean reciprocal rank."""
    row: Row = {}
    for style, each in items.items():
        texts = [(prompt, text) for prompt, right, wrong in each for text in (right, *wrong)]
        said = iter(say(texts))
        scored: list[Item] = [(next(said), [next(said) for _ in wrong]) for _, _, wrong in each]
        for n in against:
            row |= {f"{style}_{n}": first_places(scored, n), f"{style}_{n}_rank": mean_reciprocal_rank(scored, n)}
    return row


def choosing(say: Said, problems: Sequence[ProblemTries], tries: int) -> Row:
    """`best_of@n`: how often the try that it likes best of n is right; `gain`, what the most tries have over one; and `drop`,
    what is lost between the best number of them and the most."""
    said = iter(say([(each.prompt, text) for each in problems for text, _ in each.tries]))
    liked = [[(next(said), is_right) for _, is_right in each.tries] for each in problems]
    best = {n: fmean(chosen(each, n) for each in liked) for n in powers(tries)}
    named = {f"best_of@{n}": rate for n, rate in best.items()}
    return {**named, "gain": best[tries] - best[1], "drop": max(best.values()) - best[tries]}


def measured_pool(run: Any, task: Any, model: Model, setting: PoolSetting, against: Sequence[int]) -> dict[str, Row]:
    """Every reward model of the pool by its name: what benchmarks say of it, and what choosing by it is worth."""
    lessons = problems_tried(run, task, model, "train", setting.lessons, TRAINED_TRIES, setting.how)
    exam = problems_tried(run, task, model, "test", 2 * setting.problems, setting.tries, setting.how)
    asked, tried = exam[::2], exam[1::2]
    items = items_of(asked, max(against), run.seed)
    table: dict[str, Row] = {}
    for up in POOL[: setting.pool]:
        scorer = brought_up(run, up, lessons, model, steps=setting.steps, prompts=setting.prompts, lr=setting.lr)
        say = partial(said_of, scorer)
        table[up.name] = {**benchmarked(say, items, against), **choosing(say, tried, setting.tries)}
    return table


def foretold(table: Mapping[str, Row], what: str) -> Row:
    """The rank correlation, over the pool, of every benchmark with something else in the table."""
    benchmarks = [name for name in next(iter(table.values())) if name.startswith(("matched_", "confounded_"))]
    truth = [row[what] for row in table.values()]
    return {name: spearman([row[name] for row in table.values()], truth) for name in benchmarks}
