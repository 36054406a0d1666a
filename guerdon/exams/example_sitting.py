"""A sitting for examples: tries in, one track for each.

No part of any recipe.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from guerdon.core.column import Column
from guerdon.core.episode import Episode, Segment
from guerdon.core.pack import pack
from guerdon.core.task import Ask, Split, Task
from guerdon.exams.exam import TRUTH, Exam, Sitting
from guerdon.rewards.stage.score_stages import verified


class FixedAnswer:
    """Problems that all have the same answer, in the last line."""

    name = "same"

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def size(self, split: Split) -> int | None:
        return None

    def get(self, split: Split, index: int) -> Task:
        return Task(str(index), f"problem {index}", self.answer)

    def check(self, task: Task, completion: str) -> float | None:
        return float(completion.rpartition("= ")[2] == task.answer)


def example_sitting(
    completions: Sequence[Sequence[str]],
    answer: str = "",
    paid: Sequence[Sequence[float]] = (),
    **columns: Sequence[float],
) -> Sitting:
    """One problem for each inner list, one try for each text in it; what the environment paid for each; and columns, a number
    for each try. A try is right if it is `= ` and the `answer`."""
    source = FixedAnswer(answer)
    none, episodes = np.zeros(0, np.int64), []
    for number, texts in enumerate(completions):
        for attempt, text in enumerate(texts):
            reward = paid[number][attempt] if paid else None
            letters = np.frombuffer(text.encode(), np.uint8)
            one = Segment("policy", "", none, letters, np.zeros(len(letters), np.float32), text=text, reward=reward)
            episodes.append(Episode(Ask(source.get("test", number)), (one,), number=number, attempt=attempt))
    play: Any = SimpleNamespace(step=0, steps=1, seed=0, models={}, seats={})
    batch = verified(source, gives_to=TRUTH)(pack(episodes), play)
    for name, numbers in columns.items():
        batch = batch.with_cols({name.replace("__", "."): Column.full("track", torch.tensor(numbers))})
    return Sitting(Exam(source), batch, play, max(map(len, completions)))
