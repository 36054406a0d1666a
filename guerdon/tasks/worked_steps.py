"""Worked solutions as problems of their own: gaps to fill, and steps to put in order.

Any family with steps will do: its step checker says which fillings and which orders are right, and graded scores say how
near an answer is. Of other problems with worked solutions, such as rows of a file, what stands there is right.
Leaves out: solving the problem, which is the family's own task.
"""

from __future__ import annotations

import abc
import itertools
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.core.seeds import derive
from guerdon.core.task import Split, Task
from guerdon.tasks.changed_source import ChangedSource
from guerdon.tasks.family import ANSWER, Family, NearMiss
from guerdon.tasks.row_tasks import SOLUTION
from guerdon.tasks.stepwise import by_steps, has_steps
from guerdon.tasks.task_loading import load
from guerdon.text.answers import MARKS

GAP = "__"
TOKEN = re.compile(r"[0-9]+|[A-Za-z]+")
NUMBER = re.compile(r"[0-9]+")
FILLING = re.compile(r"-?(?:0|[1-9][0-9]{0,23})|[A-Za-z]{1,24}")
CLOZE = '{prompt}\nThis solution has {count}. Fill {them}, in order, in a last line "= ...".\n{lines}\n'
SHUFFLED = (
    '{prompt}\nThe steps of this solution are out of order. Give their letters in order in a last line "= ...".\n'
    "{lines}\n"
)
TRIES = 400  # problems that are drawn until one has steps enough


class Stepwise(Protocol):
    """Who knows the steps of a solution, and which of others' is the first wrong one."""

    def steps(self, task: Task) -> list[str]: ...

    def first_wrong(self, task: Task, steps: Sequence[str]) -> int | None: ...


class WrittenSteps:
    """The lines of worked solutions as steps: those are right that stand as they are written, and where.

    >>> import guerdon as gd
    >>> rows = gd.tasks.rows([{"question": "1+2+3?", "solution": "1+2=3\\n3+3=6\\n#### 6", "answer": "6"}] * 2)
    >>> WrittenSteps(rows).steps(rows.get("train", 0)), WrittenSteps(rows).first_wrong(rows.get("train", 0), ["1+2=3", "= 6"])
    (['1+2=3', '3+3=6'], 1)
    """

    def __init__(self, source: Any) -> None:
        self.source = source

    def steps(self, task: Task) -> list[str]:
        """Without a last line that gives the answer."""
        worked = self.source.solution(task) if hasattr(self.source, SOLUTION) else str(task.meta[SOLUTION])
        lines = [line.strip() for line in worked.splitlines() if line.strip()]
        return lines[:-1] if lines and lines[-1].startswith((ANSWER, *MARKS)) else lines

    def first_wrong(self, task: Task, steps: Sequence[str]) -> int | None:
        right = self.steps(task)[: len(steps)]
        return next((at for at, (one, other) in enumerate(itertools.zip_longest(steps, right)) if one != other), None)


class WorkedSteps(ChangedSource, abc.ABC):
    """Base of sources whose problems are worked solutions of another's."""

    source: Any
    label: str

    def __post_init__(self) -> None:
        if isinstance(self.source, str):
            self.source = load(self.source)
        if not (
            has_steps(self.source) or hasattr(self.source, SOLUTION) or SOLUTION in self.source.get("train", 0).meta
        ):
            raise UserError(
                f"{self.source.name} has no worked solutions for {self.label}: choose a generated family (guerdon list tasks), "
                "or rows with a column of them (--solution COL)"
            )

    @property
    def name(self) -> str:
        return f"{self.label}:{self.source.name}"

    def of(self, task: Task) -> Stepwise:
        """The family a problem came from; of problems of no family, their written solutions."""
        if not has_steps(self.source):
            return WrittenSteps(self.source)
        family: Any = by_steps(self.source)
        own: Family = family.of(task) if hasattr(family, "of") else family
        return own

    def solved(self, task: Task) -> Task:
        """The problem of the family that a problem of ours is about."""
        base = task.meta["base"]
        return Task(base["id"], base["prompt"], base["answer"], base["family"], task.level, base["meta"])

    def drawn(self, split: Split, index: int) -> tuple[Task, list[str], random.Random]:
        """Problem number `index` of the source, or one drawn in its place where that has too few steps."""
        size = self.source.size(split) or 1 << 40
        for again in range(TRIES):
            task = self.source.get(split, index if not again else derive("steps", index, again) % size)
            steps = self.of(task).steps(task)
            if self.suits(steps):
                return task, steps, random.Random(derive(self.label, task.prompt, index))
        raise UserError(
            f"{self.source.name} has too few steps for {self.label}: choose a higher level, or solutions of more lines"
        )

    def check_track(self, task: Task, track: Mapping[str, Any]) -> float | None:
        """By `check`, whatever the source does with tries at its own problems."""
        return self.check(task, track["completion"])

    @abc.abstractmethod
    def suits(self, steps: Sequence[str]) -> bool:
        """Whether a problem can be made of these steps."""

    def solution(self, task: Task) -> str:
        return ANSWER + task.answer

    def kinds(self) -> dict[str, Any]:
        return {f"{self.label}:{kind}": each for kind, each in super().kinds().items()}

    def made(self, task: Task, prompt: str, answer: str, **meta: Any) -> Task:
        base = {"id": task.id, "prompt": task.prompt, "answer": task.answer, "family": task.family, "meta": task.meta}
        return Task(
            f"{derive(prompt) % (1 << 40):010x}",
            prompt,
            answer,
            f"{self.label}:{task.family}",
            task.level,
            {"base": base, **meta},
            task.view.saying(prompt) if task.view is not None else None,
        )


@part
class cloze(WorkedSteps):
    """The worked solutions of `source` with gaps: numbers and words of its steps that have to be filled in.

    The reply ends in `= 14 7`, a filling for each gap. A filling is right if, with the other gaps filled as they were, no
    step is wrong: where several are, each is right. The check wants all of them, in one solution; `gaps_filled` is the share.

    Of problems of no family the numbers of their solutions are gaps, words only where there are none.

    Args:
        source: where problems come from: a family with steps or its name, or any problems with worked solutions.
        gaps: number of gaps; fewer where a solution has fewer tokens.

    >>> import guerdon as gd
    >>> source = gd.tasks.load("cloze:chain:2")
    >>> problem = source.get("train", 0)
    >>> problem.prompt.splitlines()[2:], source.solution(problem)
    (['5*2=10', '10-3=7', '__-2=__'], '= 7 5')
    """

    source: Any
    gaps: int = knob(default=2, ge=1)

    label = "cloze"

    def get(self, split: Split, index: int) -> Task:
        task, steps, draw = self.drawn(split, index)
        numbers = not has_steps(self.source) and any(
            map(NUMBER.search, steps)
        )  # of prose the numbers alone, if it has any
        tokens = NUMBER if numbers else TOKEN
        places = [(at, m.start(), m.end()) for at, step in enumerate(steps) for m in tokens.finditer(step)]
        chosen = sorted(draw.sample(places, min(self.gaps, len(places))))
        wanted = [steps[at][start:end] for at, start, end in chosen]
        lines = with_gaps(steps, chosen, [GAP] * len(chosen))
        count, them = ("a gap", "it") if len(chosen) == 1 else (f"{len(chosen)} gaps", "them")
        prompt = CLOZE.format(prompt=task.prompt, count=count, them=them, lines="\n".join(lines))
        return self.made(task, prompt, " ".join(wanted), steps=steps, gaps=[list(each) for each in chosen])

    def suits(self, steps: Sequence[str]) -> bool:
        return any(TOKEN.search(step) for step in steps)

    def filled(self, task: Task, completion: str) -> list[bool]:
        """Which gaps a reply fills rightly, each with the others as they were."""
        given, wanted = last_words(completion), task.answer.split()
        if len(given) != len(wanted):
            return [False] * len(wanted)
        return [
            given[i] == wanted[i] or self._holds(task, [*wanted[:i], given[i], *wanted[i + 1 :]])
            for i in range(len(wanted))
        ]

    def check(self, task: Task, completion: str) -> float | None:
        given = last_words(completion)
        return float(given == task.answer.split() or (all(self.filled(task, completion)) and self._holds(task, given)))

    def _holds(self, task: Task, fillings: Sequence[str]) -> bool:
        """Whether no step of the solution with these fillings is wrong."""
        if not all(FILLING.fullmatch(each) for each in fillings):
            return False
        base = self.solved(task)
        steps = with_gaps(task.meta["steps"], task.meta["gaps"], fillings)
        return self.of(base).first_wrong(base, steps) is None

    def near_misses(self, task: Task, draw: random.Random) -> list[NearMiss]:
        """Fillings with one wrong, in another order, or too few."""
        wanted = task.answer.split()
        at = draw.randrange(len(wanted))
        other = str(int(wanted[at]) + 1) if wanted[at].isdigit() else wanted[at] + "x"
        made = {
            "filling changed": [*wanted[:at], other, *wanted[at + 1 :]],
            "exchanged": wanted[::-1],
            "one too few": wanted[:-1],
            "one too many": [*wanted, wanted[-1]],
        }
        texts = {kind: ANSWER + " ".join(each) for kind, each in made.items()}
        return [NearMiss(text, kind, 0) for kind, text in texts.items() if self.check(task, text) == 0.0]


@part
class shuffled(WorkedSteps):
    """The worked solutions of `source` with their steps out of order, a letter each: the reply ends in `= b c a`.

    Right is the order of the solution, or another in which the family's step checker finds no wrong step, where that
    checker minds order at all: of an equation or a grid every line is true in any order, so only the written one is right.
    `order_kept` is the share of pairs of steps that are in order.

    Args:
        source: where problems come from: a family with steps or its name, or any problems with worked solutions.
        most: the most steps; a longer solution is shown from its start.

    >>> import guerdon as gd
    >>> source = gd.tasks.load("shuffled:chain:2")
    >>> problem = source.get("train", 0)
    >>> problem.prompt.splitlines()[2:], source.solution(problem)
    (['a: 7-2=5', 'b: 5*2=10', 'c: 10-3=7'], '= b c a')
    """

    source: Any
    most: int = knob(default=8, ge=2, le=26)

    label = "shuffled"

    def get(self, split: Split, index: int) -> Task:
        task, steps, draw = self.drawn(split, index)
        steps = steps[: self.most]
        order = list(range(len(steps)))
        while [steps[i] for i in order] == steps:
            draw.shuffle(order)
        letters = [chr(ord("a") + i) for i in range(len(steps))]
        lines = [f"{letter}: {steps[i]}" for letter, i in zip(letters, order, strict=True)]
        answer = " ".join(letters[order.index(i)] for i in range(len(steps)))
        prompt = SHUFFLED.format(prompt=task.prompt, lines="\n".join(lines))
        return self.made(task, prompt, answer, steps=steps, shown=[steps[i] for i in order])

    def suits(self, steps: Sequence[str]) -> bool:
        return len(set(steps[: self.most])) > 1

    def arranged(self, task: Task, completion: str) -> list[str] | None:
        """The steps in the order a reply gives; None unless it names every letter once."""
        shown, given = task.meta["shown"], last_words(completion)
        letters = [chr(ord("a") + i) for i in range(len(shown))]
        return [shown[letters.index(each)] for each in given] if sorted(given) == letters else None

    def check(self, task: Task, completion: str) -> float | None:
        given, right = self.arranged(task, completion), task.meta["steps"]
        if given is None or given == right:
            return float(given is not None)
        base = self.solved(task)
        wrong = self.of(base).first_wrong
        return float(wrong(base, given) is None and wrong(base, right[::-1]) is not None)

    def in_order(self, task: Task, completion: str) -> float:
        """The share of pairs of steps in the order of the solution; 1 for any right order, 0 where letters are missing."""
        given = self.arranged(task, completion)
        if given is None or self.check(task, completion) == 1.0:
            return float(given is not None)
        return pairs_in_order(given, task.meta["steps"])

    def near_misses(self, task: Task, draw: random.Random) -> list[NearMiss]:
        """Orders with two steps exchanged, none changed, or one missing."""
        right = task.answer.split()
        at = draw.randrange(len(right) - 1)
        made = {
            "neighbours exchanged": [*right[:at], right[at + 1], right[at], *right[at + 2 :]],
            "as shown": sorted(right),
            "backwards": right[::-1],
            "one missing": right[:-1],
            "one twice": [*right[:-1], right[0]],
        }
        texts = {kind: ANSWER + " ".join(each) for kind, each in made.items()}
        return [NearMiss(text, kind, 0) for kind, text in texts.items() if self.check(task, text) == 0.0]


def last_words(completion: str) -> list[str]:
    """The words of the last line, after its "= " if it has one.

    >>> last_words("so it is\\n= b a"), last_words("b a")
    (['b', 'a'], ['b', 'a'])
    """
    return completion.strip().rpartition("\n")[2].strip().removeprefix(ANSWER).split()


def with_gaps(steps: Sequence[str], gaps: Sequence[Sequence[int]], fillings: Sequence[str]) -> list[str]:
    """Steps with other texts at the places of the gaps."""
    lines = list(steps)
    for (at, start, end), text in reversed(list(zip(gaps, fillings, strict=True))):
        lines[at] = lines[at][:start] + text + lines[at][end:]
    return lines


def pairs_in_order(given: Sequence[str], right: Sequence[str]) -> float:
    """The share of pairs that stand in the same order in both; equal texts take the places they fit best.

    >>> pairs_in_order("abc", "abc"), pairs_in_order("cba", "abc"), round(pairs_in_order("acb", "abc"), 3)
    (1.0, 0.0, 0.667)
    """
    places: dict[str, list[int]] = {}
    for place, step in enumerate(right):
        places.setdefault(step, []).append(place)
    ranks = [places[step].pop(0) for step in given]
    pairs = list(itertools.combinations(ranks, 2))
    return sum(a < b for a, b in pairs) / len(pairs) if pairs else 1.0
