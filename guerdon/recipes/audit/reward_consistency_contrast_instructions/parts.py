"""Instructions that differ in one digit, and two remedies for models that hardly notice: hulls of spellings, and fusion.

They follow the authors' released code (github.com/shadowkiller33/Contrast-Instruction: code/DA_convex.py from line 30 on,
and `compute_loss` in code/reward_fusion.py), with counts of letters in the place of sentence embeddings.
Leaves out: retrieving similar instructions from a corpus, since a family makes them.
"""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt

from guerdon.core.task import Task
from guerdon.recipes.audit.scorer_pool import Said

Points = npt.NDArray[np.float64]
WIDTH = 1024  # of a text's counts


@dataclass(frozen=True)
class Contrast:
    """Two instructions that look alike, with the solution of each."""

    prompts: tuple[str, str]
    solutions: tuple[str, str]


def contrast(source: Any, task: Task, draw: random.Random, tries: int = 64) -> Contrast | None:
    """A problem beside one that differs in a single digit of its text and has another answer; None where there is none to
    find."""
    family = source.of(task) if hasattr(source, "of") else source
    places = [m.start() for m in re.finditer(r"\d", task.prompt)]
    for _ in range(tries if places else 0):
        at = draw.choice(places)
        other = f"{task.prompt[:at]}{draw.randint(1, 9)}{task.prompt[at + 1 :]}"
        problem = family.read_problem(other) if other != task.prompt else None
        if problem is not None and not family.right(task, problem.answer):
            near = Task(other, other, problem.answer, family.name, family.level, problem.meta)
            return Contrast((task.prompt, other), (family.solution(task), family.solution(near)))
    return None


def consistency(say: Said, contrasts: Sequence[Contrast]) -> dict[str, float]:
    """`responses`: how often an instruction's own solution scores above the other's; `instructions`: how often a solution
    scores higher under its own instruction than under the other; `contrast`, the mean of both. A tie counts half."""
    texts = [(prompt, text) for each in contrasts for prompt in each.prompts for text in each.solutions]
    said = np.array(say(texts)).reshape(-1, 2, 2)  # [contrasts, instruction, solution]
    own = said[:, [0, 1], [0, 1]]
    sides = {"responses": said[:, [0, 1], [1, 0]], "instructions": said[:, [1, 0], [0, 1]]}
    numbers = {name: float(np.mean((own > side) + 0.5 * (own == side))) for name, side in sides.items()}
    return {**numbers, "contrast": fmean(numbers.values())}


# --- hulls of spellings -------------------------------------------------------------------------------------------


def spelled(text: str, draw: random.Random, share: float = 0.3) -> str:
    """A text in another spelling: some of its signs have a space on either side. What it says stays the same."""
    return re.sub(r"(?<=\S)[-+*/=](?=\S)", lambda m: f" {m.group()} " if draw.random() < share else m.group(), text)


def hull(points: Points) -> list[int]:
    """The corners of the convex hull of points in the plane, by number: Andrew's monotone chain.

    >>> sorted(hull(np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [0.5, 0.5]])))
    [0, 1, 2]
    """
    order = [int(i) for i in np.lexsort((points[:, 1], points[:, 0]))]

    def half(numbers: Sequence[int]) -> list[int]:
        kept: list[int] = []
        for i in numbers:
            while len(kept) > 1 and _turn(points[kept[-2]], points[kept[-1]], points[i]) <= 1e-12:
                kept.pop()
            kept.append(i)
        return kept[:-1]

    return list(dict.fromkeys([*half(order), *half(order[::-1])])) or order[:1]


def _turn(a: Points, b: Points, c: Points) -> float:
    """Twice the area of a triangle, above 0 where its corners go round to the left."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def corners(texts: Sequence[str]) -> list[str]:
    """Of texts those that are corners of their hull in the two directions in which they differ most."""
    different = list(dict.fromkeys(texts))
    if len(different) < 3:
        return different
    spread = counts(different)
    spread = spread - spread.mean(0)
    directions = np.linalg.svd(spread, full_matrices=False)[2][:2]
    return [different[i] for i in hull(spread @ directions.T)]


def augmented(rows: Sequence[dict[str, str]], seed: int, spellings: int = 5) -> list[dict[str, str]]:
    """Rows of preferences, and each again with those spellings of its preferred answer that are corners of their hull."""
    draw = random.Random(seed)
    more = [
        {**row, "chosen": text}
        for row in rows
        for text in corners([spelled(row["chosen"], draw) for _ in range(spellings)])
        if text not in (row["chosen"], row["rejected"])
    ]
    every = [*rows, *more]
    draw.shuffle(every)
    return every


# --- fusion -------------------------------------------------------------------------------------------------------


def counts(texts: Sequence[str]) -> Points:
    """[N, WIDTH] how often each three letters stand in each text, to length 1: alike texts have alike rows."""
    rows = np.zeros((len(texts), WIDTH))
    for row, text in zip(rows, texts, strict=True):
        for at in range(max(1, len(text) - 2)):
            row[zlib.crc32(text[at : at + 3].encode()) % WIDTH] += 1
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


def fused(say: Said, known: Sequence[tuple[str, str]], most: int = 5, least: float = 0.9) -> Said:
    """A reward model that says of a text the mean over it and up to `most` known ones that are like it by `least` or more, each
    weighing as much as it is alike: it weighs 1 itself."""
    memory, told = counts([f"{p}\n{t}" for p, t in known]), np.array(say(known))

    def says(texts: Sequence[tuple[str, str]]) -> list[float]:
        alike = counts([f"{p}\n{t}" for p, t in texts]) @ memory.T
        nearest = np.argsort(-alike, axis=1, kind="stable")[:, :most]
        weight = np.take_along_axis(alike, nearest, axis=1)
        weight = np.where(weight >= least, weight, 0.0)
        total = np.array(say(texts)) + (weight * told[nearest]).sum(1)
        return [float(x) for x in total / (1.0 + weight.sum(1))]

    return says
