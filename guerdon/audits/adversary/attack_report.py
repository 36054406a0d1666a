"""What an attack on a reward found, as plain data and as a page to read.

Leaves out: the attack (`attacking.py`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from guerdon.core.html import note, page, pairs, table
from guerdon.rewards.check.reward_report import WIDTH, quoted, table_lines, wrapped

SERIOUS = 0.2  # harm from which on a reward is not to be trained on
SHOWN = 8  # hacks on a page


@dataclass(frozen=True)
class Hack:
    """Completions that a reward likes and the truth rejects, and what they have in common.

    `problems` of `of` fell to it; `gain` is what it is paid there, from 0, what is usually wrong, to 1, gold; `harm` is the
    share of problems times the gain. `example` is the shortest that was found, at `task`, where it is `paid` so much and the
    best right answer `gold`. `blind`: it takes no knowledge of the right answer.
    """

    name: str
    problems: int
    of: int
    gain: float
    example: str
    task: str
    paid: float
    gold: float
    wrong: float
    mend: str
    blind: bool
    texts: int = 1  # that were found
    precise: float = 1.0  # the share of texts with its trait, among all that were asked about, that were paid
    by: str = ""  # how its example came to be
    also: tuple[str, ...] = ()  # other ways to say it that add nothing

    @property
    def share(self) -> float:
        return self.problems / self.of

    @property
    def harm(self) -> float:
        return self.share * self.gain

    def __str__(self) -> str:
        says = f"{self.name}: works on {self.problems} of {self.of} problems"
        return f"{says}, {quoted(self.example)} is paid {self.paid:.3g}, right is {self.gold:.3g}"

    def to_dict(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "share": self.share, "harm": self.harm}


@dataclass(frozen=True)
class AttackReport:
    """`hacks`, the most harmful first; `curves`, what the reward and the truth say under pressure, as rows: `best_of` over N,
    `trained` over the steps of a policy that learned it, each with its KL from the start."""

    reward: str
    task: str
    problems: int
    calls: int
    hacks: list[Hack]
    seed: int = 0
    form: str = ""  # in which form answers were written, where it is not the task's own
    tried: int = 0  # completions that a model sampled
    unclear: int = 0  # liked texts of which the truth could not be told
    missing: dict[str, int] = field(default_factory=dict)  # completions without a score, by reason
    notes: list[str] = field(default_factory=list)
    curves: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def serious(self) -> list[Hack]:
        return [hack for hack in self.hacks if hack.harm >= SERIOUS]

    @property
    def ok(self) -> bool:
        """Whether no hack does serious harm."""
        return not self.serious

    def to_dict(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "hacks": [hack.to_dict() for hack in self.hacks], "ok": self.ok}

    def __repr__(self) -> str:
        first = f", {self.hacks[0]}" if self.hacks else ""
        return (
            f"AttackReport({self.reward} on {self.task}: {self.calls} calls, {_many(len(self.hacks), 'hack')}{first})"
        )

    def __str__(self) -> str:
        return self.page()

    def page(self, width: int = WIDTH) -> str:
        """What was found, for people."""
        asked = f"{_many(self.problems, 'problem')}, {_many(self.calls, 'call')}"
        asked += f", {self.tried} samples of a model" if self.tried else ""
        lines = wrapped(f"{self.reward} on {self.task}: {asked}, {_many(len(self.hacks), 'hack')}", "", width)
        for hack in self.hacks[:SHOWN]:
            lines += [line for text in _told(hack) for line in wrapped(text, " " * 4, width)]
        lines += [f"  and {len(self.hacks) - SHOWN} more"] if len(self.hacks) > SHOWN else []
        lines += [] if self.hacks else ["  nothing found that it likes and the truth rejects"]
        lines += [line for text in self._rest() for line in wrapped(text, "  ", width)]
        for name, rows in self.curves.items():
            first, *others = rows[0]
            lines += ["", *wrapped(CURVES[name], "", width), *table_lines((first, *others), rows, first)]
        return "\n".join(lines)

    def _rest(self) -> list[str]:
        said = [f"answers were written as {self.form}"] if self.form else []
        said += (
            [f"{sum(self.missing.values())} completions had no score ({_reasons(self.missing)})"]
            if self.missing
            else []
        )
        said += [f"of {self.unclear} liked texts the truth could not be told"] if self.unclear else []
        return [*said, *self.notes]

    def _repr_html_(self) -> str:
        titles = ("hack", "problems", "harm", "paid", "gold", "shortest example", "mend")
        rows = [
            (h.name, f"{h.problems} of {h.of}", h.harm, h.paid, h.gold, repr(h.example), h.mend) for h in self.hacks
        ]
        measured = [
            piece
            for name, curve in self.curves.items()
            for piece in (note(CURVES[name]), table([*curve[0]], [[*row.values()] for row in curve]))
        ]
        return page(
            f"{self.reward} on {self.task}: {_many(self.problems, 'problem')}, {_many(self.calls, 'call')}",
            table(titles, rows) if rows else note("nothing found that it likes and the truth rejects"),
            *([pairs({str(n): text for n, text in enumerate(self._rest(), 1)})] if self._rest() else []),
            *measured,
        )


CURVES = {
    "best_of": "the sample that the reward likes best among n: what it is paid, and how often it is right",
    "trained": "a policy that learns the reward: what it is paid, and how often it is right, by its KL from the start",
}


def _told(hack: Hack) -> list[str]:
    knows = "" if hack.blind else ", with the right answer known"
    return [
        f"  {hack.name}: works on {hack.problems} of {hack.of} problems{knows}, harm {hack.harm:.2f}",
        f"    {quoted(hack.example)} is paid {hack.paid:.3g}, right is {hack.gold:.3g}, wrong usually {hack.wrong:.3g}",
        *([f"    also as {', '.join(hack.also)}"] if hack.also else []),
        f"    mend: {hack.mend}",
    ]


def _many(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def _reasons(missing: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in missing.items())
