"""Reward models that differ in how good they are and in what they lean to, and tries to see what each is worth. No recipe.

They grow from one model and learn pairs of right and wrong solutions by the loss of Bradley and Terry (`reward_model`), each
brought up in its own way: for longer or shorter, on few problems, with pairs that are the wrong way round, or with right ones
told in one style and wrong ones in another, which teaches the style along with the truth. A style never changes a solution's
last line, so a right one stays right.
Leaves out: reward models of other sizes, and benchmarks made of their scores (`studies/benchmarks.py`).
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from guerdon.core.budget import Budget
from guerdon.core.errors import UserError
from guerdon.core.model import Model, weights_hash
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Sampling, Task
from guerdon.exams.drawing import draw_problems
from guerdon.models.probing import probe
from guerdon.recipes.house.own_tries import taught_on_tries
from guerdon.recipes.house.reward_model import reward_model
from guerdon.tasks.family import read_solution
from guerdon.tasks.preference_files import preferences

Style = Literal["plain", "terse", "wordy"]
STYLES: tuple[Style, ...] = ("plain", "terse", "wordy")
WORDS = ("first we find", "from this we get", "and now it is", "so there is")
Said = Callable[[Sequence[tuple[str, str]]], list[float]]  # what a reward model says of (prompt, answer)s
AT_ONCE = 512  # texts that are read in one pass


def retold(solution: str, style: Style) -> str:
    """A solution in a style: as it is; its last step and its answer alone, as people skip steps; or every step in words.

    >>> retold("7+5=12\\n12*2=24\\n= 24", "terse"), retold("7+5=12\\n= 12", "wordy")
    ('12*2=24\\n= 24', 'first we find 7+5=12\\n= 12')
    """
    *steps, answer = solution.split("\n")
    if style == "terse":
        steps = steps[-1:]
    if style == "wordy":
        steps = [f"{WORDS[i % len(WORDS)]} {step}" for i, step in enumerate(steps)]
    return "\n".join([*steps, answer])


@dataclass(frozen=True)
class Upbringing:
    """How one reward model is taught: for a `share` of the pool's steps, on so many `problems` (0: all there are), a share
    `turned` of its pairs the wrong way round, and a share `leans` of them with the right one told in the style `to` and the
    wrong one in the other. In all others both are told in one style, which is as often each of the three."""

    name: str
    share: float = 1.0
    problems: int = 0
    turned: float = 0.0
    to: Style = "plain"
    leans: float = 0.0


POOL = (
    Upbringing("sound"),
    Upbringing("sound, half as long", share=0.5),
    Upbringing("sound, a quarter as long", share=0.25),
    Upbringing("few problems", problems=16),
    Upbringing("a fifth turned", turned=0.2),
    Upbringing("two fifths turned", turned=0.4),
    Upbringing("leans to terse", to="terse", leans=0.5),
    Upbringing("leans to wordy", to="wordy", leans=0.5),
    Upbringing("leans all to terse", to="terse", leans=1.0),
    Upbringing("leans all to wordy", to="wordy", leans=1.0),
    Upbringing("leans to terse, a fifth turned", turned=0.2, to="terse", leans=0.75),
    Upbringing("leans to wordy, half as long", share=0.5, to="wordy", leans=0.75),
)


@dataclass(frozen=True)
class ProblemTries:
    """A problem with what was said to it: different right and wrong solutions, the task's own among them, and a model's tries
    in the order they were made, each with whether it is right."""

    prompt: str
    right: list[str]
    wrong: list[str]
    tries: list[tuple[str, bool]]


def problems_tried(
    run: Any, task: Any, model: Model, split: Literal["train", "test"], number: int, tries: int, how: Sampling
) -> list[ProblemTries]:
    """Different problems of a split, with gold solutions, near-misses and tries of a model. The run's seed draws them."""
    if not (hasattr(task, "near_misses") and hasattr(task, "solution")):
        raise UserError(
            f"{task.name} knows no near-misses of its problems: choose a generated family (guerdon list tasks)"
        )
    first = derive(run.seed, "tried") % 2**20
    drawn = (
        draw_problems(task, number, run.seed)
        if split == "test"
        else [task.get(split, first + i) for i in range(number)]
    )
    posed = {each.key: each for each in drawn}
    player = taught_on_tries(task, {"policy": model}, "policy", [], how, len(posed), max(tries, 1), 1)

    def made() -> dict[str, list[str]]:
        episodes = run.play(player, [Ask(each, tries) for each in posed.values()]) if tries else []
        texts: dict[str, list[str]] = {key: [] for key in posed}
        for episode in episodes:
            texts[episode.task.key] += [s.text for s in episode.segments]
        return texts

    said = run.remember(["tries", split, tries, how, weights_hash(model.weights), list(posed)], made)
    return [_tried(task, each, said[key], run.seed) for key, each in posed.items()]


def _tried(task: Any, problem: Task, texts: Sequence[str], seed: int) -> ProblemTries:
    draw = random.Random(derive(seed, "tried", problem.key))
    checked = [(text, task.check(problem, text) == 1.0) for text in texts]
    misses = [miss.text for miss in task.near_misses(problem, draw)]
    right = dict.fromkeys([task.solution(problem), *(text for text, is_right in checked if is_right)])
    wrong = dict.fromkeys([*misses, *(text for text, is_right in checked if not is_right and _answers(text))])
    return ProblemTries(problem.prompt, list(right), list(wrong), checked)


def _answers(text: str) -> bool:
    """Whether a wrong try gives an answer: one that gives none is no solution, and told in no style."""
    return read_solution(text)[1] is not None


# --- bringing up --------------------------------------------------------------------------------------------------


def pairs_of(up: Upbringing, tried: Sequence[ProblemTries], number: int, seed: int) -> list[dict[str, str]]:
    """So many rows of preferences as an upbringing has them: problems in turn, a right and a wrong solution of each by lot."""
    draw = random.Random(derive(seed, "pairs", up.name))
    some = [each for each in tried if each.right and each.wrong][: up.problems or None]
    if not some:
        raise UserError(
            "there is no problem with a right and a wrong solution to learn from: give more problems or tries"
        )
    rows = []
    for i in range(number):
        problem = some[i % len(some)]
        right, wrong = draw.choice(problem.right), draw.choice(problem.wrong)
        if draw.random() < up.leans:
            other: Style = "wordy" if up.to == "terse" else "terse"
            right, wrong = retold(right, up.to), retold(wrong, other)
        else:
            style = draw.choice(STYLES)
            right, wrong = retold(right, style), retold(wrong, style)
        if draw.random() < up.turned:
            right, wrong = wrong, right
        rows.append({"prompt": problem.prompt, "chosen": right, "rejected": wrong})
    return [row for row in rows if row["chosen"] != row["rejected"]]


def gold_pairs(tried: Sequence[ProblemTries], seed: int) -> list[dict[str, str]]:
    """One row of preferences a problem: its first right solution, the task's own, and a wrong one by lot."""
    draw = random.Random(derive(seed, "gold pairs"))
    some = [each for each in tried if each.right and each.wrong]
    return [{"prompt": each.prompt, "chosen": each.right[0], "rejected": draw.choice(each.wrong)} for each in some]


def brought_up(
    run: Any, up: Upbringing, tried: Sequence[ProblemTries], model: Model, *, steps: int, prompts: int, lr: float
) -> Model:
    """The reward model that an upbringing makes of a model: so many steps, times its share, of `prompts` pairs each."""
    own = max(1, round(steps * up.share))
    rows = pairs_of(up, tried, own * prompts, run.seed)
    return taught_pairs(run, rows, model, own, prompts, lr)


def taught_pairs(run: Any, rows: Sequence[dict[str, str]], model: Model, steps: int, prompts: int, lr: float) -> Model:
    """A reward model of rows of preferences. It is a run of its own length, whatever the study may spend."""
    teach: Any = reward_model(preferences(list(rows), held_out=0.0), model, prompts=prompts, lr=lr, steps=steps)
    scorer: Model = run.train(teach.but(exams=[]), budget=Budget(steps, "steps")).model("rm")
    return scorer


# --- what they say ------------------------------------------------------------------------------------------------


def said_of(scorer: Model, texts: Sequence[tuple[str, str]]) -> list[float]:
    """What a reward model's head says after each (prompt, answer). The lowest there is for what it cannot look at whole."""
    reader = copy.copy(scorer)
    reader.start(0, {})
    scores: list[float] = []
    for at in range(0, len(texts), AT_ONCE):
        read = probe(reader, [((), prompt, text) for prompt, text in texts[at : at + AT_ONCE]], ["final"])
        scores += [float("-inf") if each is None else float(each["final"]) for each in read]
    return scores
