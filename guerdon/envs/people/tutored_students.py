"""A student who is tutored over several turns: each attempt follows from the help so far.

What a reply must be, and how it is read, is the same as in one turn (`tasks/messages/tutoring_tasks.py`).
"""

from __future__ import annotations

import random
from typing import Any

from guerdon.core.part import knob, part
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Split, Task
from guerdon.envs.world_turns import InTurns, Observed, PlayedOut
from guerdon.tasks.families.chained_arithmetic import chain, written
from guerdon.tasks.family import HELD_OUT
from guerdon.tasks.messages.tutoring_tasks import (
    LEVELS,
    RULES,
    in_words,
    read_reply,
    reply_for,
    slipped,
    state_of,
    written_attempt,
)

SPARE = 2  # replies that may be wrong before the student leaves


@part
class tutored(InTurns, PlayedOut):
    """A student solves a problem in lines; the role tutors, a reply a turn, by the rules of `tutoring`.

    The student needs a hint, a subproblem or the answer, which the role cannot see: a right reply leads to the next attempt,
    which is right once the help is enough. A wrong reply is answered "I do not understand.", and after three of them the
    student leaves. The goal is that the student was confirmed or given the answer in the end, times the share of right
    replies. In `info`: `replies`, those `right`, those that `leaked` a result, and the `needs`.

    Args:
        level: operations of the problem, as in `tutoring`.
        most: the most turns of an episode; 0 for no limit.
        seconds: time limit of an episode; 0 for none.

    >>> import guerdon as gd
    >>> source = gd.envs.tutored(level=1)
    >>> world = source.open(gd.Ask(source.get("train", 0)), seed=0)
    >>> world.gold(), world.step("answer: 7").view
    ('hint: look at line 2 again.', 'I do not understand.')
    """

    level: int = knob(default=1, ge=1, le=8)
    role: str = "policy"
    most: int = knob(default=0, ge=0)
    seconds: float = knob(default=0.0, ge=0.0)

    @property
    def name(self) -> str:
        return "tutored"

    @property
    def home(self) -> tutored:
        return self

    def size(self, split: Split) -> int | None:
        return None

    def get(self, split: Split, index: int) -> Task:
        """Problem number `index`. What the student has to solve decides its split, as in `tutoring`."""
        draw = random.Random(derive(self.name, self.level, split, index))
        while True:
            problem = chain(level=LEVELS[self.level][0] - 1).make(draw)
            if (derive("tutoring", problem.prompt) % HELD_OUT == 0) == (split == "test"):
                break
        meta = {**problem.meta, "needs": draw.randint(0, 3), "seed": draw.getrandbits(30)}
        return Task(f"{split}-{index}", Student(meta).begin(), "", self.name, self.level, meta)

    def open(self, ask: Ask, seed: int) -> Student:
        return Student(ask.task.meta)


class Student:
    """A student who needs so many right replies before an attempt is right: none, a hint, also a subproblem, or the answer."""

    def __init__(self, meta: dict[str, Any]) -> None:
        self.start, self.ops, self.needs = meta["start"], meta["ops"], meta["needs"]
        self.draw = random.Random(meta["seed"])
        self.attempts = [self._attempt(0)]
        self.replies = self.right = self.leaked = 0
        self.is_helped = False

    def _attempt(self, helped: int) -> list[str]:
        return written(self.start, self.ops) if helped >= self.needs else slipped(self.start, self.ops, self.draw)

    @property
    def state(self) -> dict[str, Any]:
        return state_of(self.start, self.ops, self.attempts)

    def begin(self) -> str:
        talk = written_attempt(self.attempts[0], 1)
        return RULES.format(start=self.start, ops=in_words(self.ops), talk=talk)

    def step(self, said: str) -> Observed:
        state = self.state
        reply = read_reply(state, said)
        is_right = reply.action == state["action"] and reply.is_sound and not reply.leaks
        self.replies += 1
        self.right += is_right
        self.leaked += reply.leaks
        if not is_right:
            is_over = self.replies - self.right > SPARE
            return Observed("I do not understand." if not is_over else "I will ask somebody else.", over=is_over)
        if state["action"] in ("confirm", "answer"):
            self.is_helped = True
            return Observed("Thank you!", over=True)
        self.attempts.append(self._attempt(len(self.attempts)))
        return Observed(written_attempt(self.attempts[-1], len(self.attempts)))

    def gold(self) -> str:
        state = self.state
        return reply_for(state, state["action"])

    def outcome(self) -> dict[str, Any]:
        goal = self.is_helped * self.right / self.replies if self.replies else 0.0
        told = {"replies": self.replies, "right": self.right, "leaked": self.leaked, "needs": self.needs}
        return {"goal": goal, **told}
