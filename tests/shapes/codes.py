"""A toy for the shape tests: every letter has a secret code to be said digit by digit."""

from __future__ import annotations

import random

import guerdon as gd
from guerdon.core.seeds import derive


@gd.part
class codes:
    """`letters` prompts, each with a code of `length` digits of `base`."""

    letters: int = gd.knob(default=6, ge=1, le=26)
    length: int = gd.knob(default=3, ge=1)
    base: int = gd.knob(default=4, ge=2, le=10)
    name = "codes"

    def size(self, split):
        return self.letters

    def get(self, split, index):
        draw = random.Random(derive("codes", self.length, self.base, index))
        answer = "".join(str(draw.randrange(self.base)) for _ in range(self.length))
        return gd.Task(str(index), f"code of {chr(97 + index)}", answer, family="codes")

    def check(self, task, completion):
        return float(completion == task.answer)
