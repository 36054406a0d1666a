"""Errands for a user who must be asked: what he wants is in the dialogue, not in the problem.

Leaves out: what he understands and says (`simulated_user.py`), what can be wanted (`errands.py`).
"""

from __future__ import annotations

import random
import re
from typing import Any

from guerdon.core.episode import End, Episode
from guerdon.core.part import knob, part
from guerdon.core.play import Seat, Seats, seats_alone
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Split, Task
from guerdon.envs.people.errands import ERRANDS
from guerdon.envs.people.simulated_user import UserAtHand
from guerdon.envs.world_turns import InTurns, Observed, PlayedOut, played_in_turns
from guerdon.tasks.family import HELD_OUT

LEVELS: dict[int, tuple[int, tuple[str, ...]]] = {  # level: how many fields are wanted, and manners to draw from
    1: (2, ("plain",)),
    2: (2, ("terse", "two")),
    3: (3, ("plain", "terse", "two")),
    4: (3, ("chatty",)),
    5: (4, ("terse", "chatty", "two")),
    6: (4, ("fickle",)),
    7: (5, ("terse", "chatty", "two", "fickle")),
    8: (6, ("terse", "chatty", "two", "fickle")),
}


@part
class asking(InTurns, PlayedOut):
    """A user wants something and gives each fact only when asked for it: a table, a form, a pizza, a film, a repair. The
    role asks, then commits (`book: day=friday, people=4`); the goal is that all he wants stands there as he wants it.

    `level` sets how much he wants (2 to 6 of the six fields of a form; the others he does not mind) and his manner:
    `plain`; `terse`, a word a question; `two`, another fact with the one asked for; `chatty`, with what he had last time;
    `fickle`, changes his mind when he has given every fact. His patience is two turns a fact and two more. In `info`:
    `questions`, `needless` ones (about facts he had given or does not care about), `not_understood`, how many facts were
    `known` when it ended and how many were committed `right`. With `user="user"` a seat of that name plays him and is given
    what he wants; rewards are the same. Both a source of problems and the environment they are played in.

    Args:
        level: how much the user wants, and his manner.
        errand: kind of errand; "" for all.
        user: seat that plays the user; "" for rules.
        most: the most turns of an episode; 0 for no limit.
        seconds: time limit of an episode; 0 for none.

    >>> import guerdon as gd
    >>> source = gd.envs.asking(level=1)
    >>> source.get("train", 0).prompt.partition(" ask about")[0]
    'i must move to a new flat and need the form for it.'
    >>> def clerk(view, past, seed):
    ...     return ["which street?", "and the city?", "send: street=oak, city=oslo"][min(len(past), 2)]
    >>> gd.evaluate(gd.models.scripted(clerk), task=source, env=source, tasks=8)["pass@1"]
    0.0
    """

    level: int = knob(default=1, ge=1, le=8)
    errand: str = knob(default="", choices=("", *ERRANDS))
    user: str = ""
    role: str = "policy"
    most: int = knob(default=0, ge=0)
    seconds: float = knob(default=0.0, ge=0.0)

    @property
    def name(self) -> str:
        return "asking"

    @property
    def home(self) -> asking:
        return self

    @property
    def roles(self) -> tuple[str, ...]:
        return (self.role, self.user) if self.user else (self.role,)

    def size(self, split: Split) -> int | None:
        return None

    def get(self, split: Split, index: int) -> Task:
        draw = random.Random(derive(self.name, self.errand, self.level, split, index))
        while True:
            meta = self._drawn(draw)
            told = "/".join(f"{name}={value}" for name, value in meta["facts"].items())
            if (derive("asking", meta["errand"], told) % HELD_OUT == 0) == (
                split == "test"
            ):  # the wish decides the split
                prompt = UserAtHand(meta, 0).begin()
                return Task(f"{split}-{index}", prompt, "", self.name, self.level, meta)

    def _drawn(self, draw: random.Random) -> dict[str, Any]:
        count, manners = LEVELS[self.level]
        errand = ERRANDS[self.errand or draw.choice(sorted(ERRANDS))]
        chosen = set(draw.sample(range(len(errand.form)), count))
        wanted = [blank for i, blank in enumerate(errand.form) if i in chosen]
        facts = {blank.name: draw.choice(blank.values) for blank in wanted}
        manner = draw.choice(manners)
        meta = {"errand": errand.name, "facts": facts, "manner": manner, "patience": 2 * count + 2}
        if manner == "fickle":
            changed = draw.choice(wanted)
            meta["change"] = {changed.name: draw.choice([v for v in changed.values if v != facts[changed.name]])}
        return meta

    def open(self, ask: Ask, seed: int) -> UserAtHand:
        return UserAtHand(ask.task.meta, seed)

    @property
    def play(self) -> Any:
        return self._with_a_seat if self.user else self._at_once

    @seats_alone
    async def _with_a_seat(self, ask: Ask, seats: Seats) -> Episode:
        world = SeatedUser(self.open(ask, seats.seed), seats, self.user, self.role)
        return await played_in_turns(world, seats, self.role, self.most, self.seconds)

    async def demonstrate(self, ask: Ask, seats: Seats) -> Episode:
        if not self.user:
            return await super().demonstrate(ask, seats)
        world = SeatedUser(self.open(ask, seats.seed), seats, self.user, self.role, gold=True)
        return await played_in_turns(world, seats, self.role, self.most, self.seconds, gold=True)


class SeatedUser:
    """A user played by a seat: its first prompt states what it wants, then it gets each question, and its text is the answer.
    Commitments are checked by rules against that first prompt; rules also decide which facts were given."""

    def __init__(self, rules: UserAtHand, seats: Seats, user: str, role: str, gold: bool = False) -> None:
        self.rules, self.seats, self.user, self.role, self.is_gold = rules, seats, user, role, gold
        rules.wants.update(rules.change)  # it is given what it wants in the end
        rules.change = {}

    def begin(self) -> str:
        return self.rules.begin()

    async def step(self, said: str) -> Observed:
        rules = self.rules
        if rules.is_commitment(said):
            return rules.step(said)
        seat: Seat = self.seats[self.user]
        shown = said if self.seats.last(self.user) >= 0 else f"{self._brief()}\n{said}"
        room = seat.room(self.seats.last(self.user), shown)
        if room is not None and room < 1:
            return Observed("i have no more time.", over=True)
        segment = seat.teacher_force(shown, self._right_answer(said)) if self.is_gold else await seat.act(shown)
        rules.patience -= 1
        rules.questions += 1
        self._note(segment.text)
        over = rules.patience <= 0 or segment.end is End.CUT
        return Observed(f"{segment.text} i have no more time." if over else segment.text, over=over)

    def gold(self) -> str:
        return self.rules.gold()

    def outcome(self) -> dict[str, Any]:
        outcome = self.rules.outcome()
        return {**outcome, "goal": {self.role: outcome["goal"], self.user: outcome["goal"]}}

    def _brief(self) -> str:
        wants = ", ".join(f"the {name} is {value}" for name, value in self.rules.wants.items())
        return f"you said: {self.rules.errand.wish} you want: {wants}. answer what you are asked, in a few words."

    def _right_answer(self, said: str) -> str:
        fields = [name for name in self.rules.meant(said.lower()) if name in self.rules.wants]
        return " ".join(f"the {name} is {self.rules.wants[name]}." for name in fields) or "i do not mind."

    def _note(self, said: str) -> None:
        words = set(re.findall(r"[a-z0-9]+", said.lower()))
        self.rules.told.update({name: value for name, value in self.rules.wants.items() if value in words})
