"""FSPO: a policy that is shown some preferences of a user answers that user's next prompt, learned over many users.

Paper: Singh et al. 2025, few-shot preference optimization (arXiv:2502.19312), read in its abstract. Users want different
answers, and pooled pairs contradict each other. Each pair of a file is learned after `shots` other pairs of the same user,
which stand in the prompt with which answer was preferred: a loss over pairs, DPO here (IPO: `--set dpo.link=square`),
meta-learns to read a user from them. Users that are examined are never trained on: the last `held_out` share of users, or
those of another file (`--test`); their own other pairs are what they are shown. A row is never among the pairs that it is
shown, nor is another row of its prompt. `shots=0` is pooled DPO. The file needs a column `user`, and more rows of each user
than are shown. Leaves out: the user's description, written before the answer, and the making of users; the wording of the
pairs is ours.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.part import knob, live, part
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.seeds import derive
from guerdon.core.task import Split, Task
from guerdon.recipes.house.dpo import dpo
from guerdon.recipes.house.recited import brings_answers
from guerdon.tasks.recited_rows import SAY

SHOWN = "{prompt}\nThe user preferred: {better}\nto: {worse}\n\n"


@recipe("fspo", family="preference", paper="arXiv:2502.19312", on=dpo, helps=("few-labels",))
def fspo(
    base: Recipe,
    task: Any,
    *,
    shots: int = 3,  # other pairs of the user that a prompt is shown with; ours
) -> Recipe:
    """DPO on pairs that are shown after others of their user; users that are examined are not trained on."""
    if not brings_answers(task):
        raise UserError(
            "fspo learns the users of a file of pairs: --data FILE with columns prompt, chosen, rejected, user"
        )
    base.curriculum.task = after_others(task, shots)  # which the exam asks too
    base.curriculum.task.rows()  # what is wrong with them is said before anything runs
    return base


@part
class after_others:
    """The rows of `task` after `shots` other pairs of their user, and split by users: no user is in both splits."""

    task: Any
    shots: int = knob(default=3, ge=0)

    own: Mapping[Split, list[tuple[Task, list[Task]]]] | None = live()  # each row, and those it may be shown after

    @property
    def name(self) -> str:
        return str(self.task.name)

    def size(self, split: Split) -> int:
        return len(self.rows()[split])

    def get(self, split: Split, index: int) -> Task:
        row, others = self.rows()[split][index]
        drawn = random.Random(derive("shown", row.key)).sample(others, self.shots)
        texts = [SHOWN.format(prompt=each.prompt, better=each.meta[SAY][0], worse=each.meta[SAY][1]) for each in drawn]
        asked = "".join([*texts, row.prompt])
        return replace(row, prompt=asked, view=row.view.saying(asked) if row.view else None)

    def check(self, task: Task, completion: str) -> float | None:
        worth: float | None = self.task.check(task, completion)
        return worth

    def together(self) -> list[range]:
        return [range(n, n + 1) for n in range(self.size("train"))]

    def rows(self) -> Mapping[Split, list[tuple[Task, list[Task]]]]:
        if self.own is None:
            train, test = self._users("train"), self._users("test")
            if self.task.test is None:  # the file's own split is by prompts
                train, test = parted(self._users("train", "test"), self.task.held_out)
            if both := train.keys() & test.keys():
                raise UserError(f"{self.task.title}: user {min(both)!r} is also in the test: take one of them out")
            self.own = {"train": self._with_others(train), "test": self._with_others(test)}
        return self.own

    def _users(self, *splits: Split) -> dict[str, list[Task]]:
        """The rows of each user."""
        rows: dict[str, dict[str, Task]] = defaultdict(dict)
        for split in splits:
            for row in (self.task.get(split, n) for n in range(self.task.size(split))):
                if "user" not in row.meta:
                    raise UserError(
                        f"{self.task.title}: row {row.id} names no user (a column `user`, or --column user=NAME)"
                    )
                rows[row.meta["user"]][row.key] = row
        return {user: [*mine.values()] for user, mine in rows.items()}

    def _with_others(self, users: Mapping[str, list[Task]]) -> list[tuple[Task, list[Task]]]:
        every = []
        for user, mine in users.items():
            for row in mine:
                others = [each for each in mine if (each.prompt, each.view) != (row.prompt, row.view)]
                if len(others) < self.shots:
                    raise UserError(
                        f"{self.task.title}: user {user!r} has {len(others)} pairs of other prompts where {self.shots} are"
                        " shown: give users more rows, leave this one out, or show fewer (--set shots=...)"
                    )
                every.append((row, others))
        return every


def parted(users: Mapping[str, list[Task]], held_out: float) -> tuple[dict[str, list[Task]], dict[str, list[Task]]]:
    """The users to train on, and the last share of them, at least one, which is held out."""
    names = list(users)
    if len(names) < 2:
        raise UserError("fspo needs two users or more, one to train on and one held out")
    cut = len(names) - min(len(names) - 1, max(math.ceil(len(names) * held_out), 1))
    return {name: users[name] for name in names[:cut]}, {name: users[name] for name in names[cut:]}
