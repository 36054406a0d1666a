"""A user of rules: knows what he wants, says it when he is asked about it, in his own way, and is patient for so long.

A question is understood by the words that fields are asked about by, whatever else it says; a commitment by its first word
(`book: day=friday`). Everything is exact: the facts he has given so far, and what he wants now, are known at any time.
Leaves out: who asks (`asked_users.py`), a user that a model plays (there too).
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

from guerdon.core.seeds import derive
from guerdon.envs.people.errands import ERRANDS
from guerdon.envs.world_turns import Observed

MANNERS = ("plain", "terse", "chatty", "two", "fickle")
NOT_UNDERSTOOD = "i do not understand."
AT_ONCE = 2  # of several things that one question asks, he answers so many

PAIR = re.compile(r"([a-z]+)\s*[=:]\s*([a-z0-9]+)")


class UserAtHand:
    """One talk with a user who wants `meta["facts"]` and minds nothing else on the form. The state of one episode."""

    def __init__(self, meta: Mapping[str, Any], seed: int) -> None:
        self.errand = ERRANDS[meta["errand"]]
        self.wants: dict[str, str] = dict(meta["facts"])
        self.manner: str = meta["manner"]
        self.change: dict[str, str] = dict(meta.get("change") or {})
        self.patience: int = meta["patience"]
        self.draw = random.Random(derive(seed, "user"))
        self.told: dict[str, str] = {}
        self.asked: set[str] = set()  # what he does not mind, and said so
        self.questions = self.needless = self.not_understood = 0
        self.committed: dict[str, str] | None = None

    # --- a world ------------------------------------------------------------------------------------------------------

    def begin(self) -> str:
        fields = ", ".join(blank.name for blank in self.errand.form)
        first = self.errand.form[0].name
        form = f"ask about {fields}, then say {self.errand.verb}: {first}=..., with all that i want."
        return f"{self.errand.wish} {form}"

    def step(self, said: str) -> Observed:
        said = said.lower()
        answer = self._commitment(said)
        if answer is not None:
            return answer
        self.patience -= 1
        reply = self._answer(self.meant(said))
        if self.patience <= 0:
            return Observed(f"{reply} i have no more time.", over=True)
        return Observed(reply)

    def gold(self) -> str:
        missing = [name for name in self.wants if self.told.get(name) != self.wants[name]]
        if missing:
            return f"what is the {missing[0]}?"
        return f"{self.errand.verb}: " + ", ".join(f"{name}={value}" for name, value in self.wants.items())

    def outcome(self) -> dict[str, Any]:
        right = [name for name, value in self.wants.items() if (self.committed or {}).get(name) == value]
        return {
            "goal": float(self.committed is not None and len(right) == len(self.wants)),
            "committed": self.committed,
            "right": len(right),
            "wanted": len(self.wants),
            "known": sum(self.told.get(name) == value for name, value in self.wants.items()),
            "questions": self.questions,
            "needless": self.needless,
            "not_understood": self.not_understood,
            "patience": self.patience,
        }

    # --- what is understood, and what is said to it -------------------------------------------------------------------

    def meant(self, said: str) -> list[str]:
        """The fields that a question asks about, in its order."""
        fields = [self.errand.named(word) for word in re.findall(r"[a-z]+", said)]
        return list(dict.fromkeys(name for name in fields if name is not None))

    def is_commitment(self, said: str) -> bool:
        return self._committing(said.lower()) is not None

    def _committing(self, said: str) -> str | None:
        """What stands behind the word that commits, in the last line that begins with it."""
        lines = re.findall(rf"^\s*{self.errand.verb}\s*:(.*)$", said, re.MULTILINE)
        return lines[-1] if lines else None

    def _commitment(self, said: str) -> Observed | None:
        """The end of it, if this is a commitment that can be read; one that cannot is answered. None: it is none."""
        line = self._committing(said)
        if line is None:
            return None
        pairs = [(self.errand.named(key), value) for key, value in PAIR.findall(line)]
        names = [name for name, _ in pairs if name is not None]
        if not pairs or len(names) < len(pairs) or len(set(names)) < len(names):
            self.patience -= 1
            self.not_understood += 1
            example = f"{self.errand.verb}: {self.errand.form[0].name}={self.errand.form[0].values[0]}"
            return Observed(f"{NOT_UNDERSTOOD} say each field once, such as {example}.", over=self.patience <= 0)
        self.committed = {str(name): value for name, value in pairs}
        return Observed("thank you." if self.outcome()["goal"] else "that is not what i wanted.", over=True)

    def _answer(self, fields: list[str]) -> str:
        if not fields:
            self.not_understood += 1
            return NOT_UNDERSTOOD
        self.questions += 1
        news = [name for name in fields if name in self.wants and self.told.get(name) != self.wants[name]]
        news += [name for name in fields if name not in self.wants and name not in self.asked]
        self.needless += not any(name in self.wants for name in news)
        answered = (news or fields)[: 1 if self.manner in ("terse", "two") else AT_ONCE]
        if self.manner == "two":
            answered += [name for name in self.wants if name not in (*self.told, *answered)][:1]
        words = [self._tell(name) for name in answered]
        return " ".join([*words, *self._change_of_mind()])

    def _tell(self, name: str) -> str:
        if name not in self.wants:
            self.asked.add(name)
            return "any." if self.manner == "terse" else f"i do not mind the {name}."
        value = self.told[name] = self.wants[name]
        if self.manner == "terse":
            return f"{value}."
        if self.manner == "chatty":
            other = self.draw.choice([each for each in self.errand.blank(name).values if each != value])
            return f"well, last time the {name} was {other}, and that was nice. now the {name} is {value}, please."
        return f"the {name} is {value}."

    def _change_of_mind(self) -> list[str]:
        """Given after all other facts: a player who commits then knew it."""
        if not self.change or len(self.told) < len(self.wants):
            return []
        changes, self.change = self.change, {}
        self.wants.update(changes)
        self.told.update(changes)
        return [f"wait, i changed my mind: the {name} is {value} now." for name, value in changes.items()]
