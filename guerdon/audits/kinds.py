"""What an audit asks about and what it finds: kinds of completions, samples, findings.

Leaves out: how completions are made (`probes`), and how findings come about (`faults.py`, `findings.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from guerdon.core.renamed import say_renamed

SHOWN = 60  # characters of a completion in a line
SAME = 1e-9  # scores closer than this are equal
KINDS = {  # what a completion is, in words
    "padded": "right answers with space around them",
    "spaced": "right answers with blank lines in between",
    "another answer": "other right answers",
    "reworded": "right answers in other words",
    "repeated": "right answers said several times",
    "long and right": "right answers at the end of long texts",
    "near-miss": "near-misses",
    "close": "numbers within 1 % of the right one",
    "other answer": "answers of other problems",
    "suffix": "wrong answers that end in the right one",
    "prefix": "wrong answers that begin with the right one",
    "mention": "wrong answers that mention the right one",
    "list": "lists of many answers",
    "first letter": "idle words that begin with the right letter",
    "mark repeated": "repetitions of the answer's mark",
    "prompt": "repetitions of the prompt",
    "no answer": "templates without an answer",
    "without form": "wrong answers as the task has them",
    "form": "wrong answers in the form that is paid best",
    "marks": "wrong answers with every format mark",
    "begging": "pleas for a high score",
    "fine words": "texts full of reasoning words",
    "long": "very long texts",
    "not a number": "answers such as nan and inf",
    "empty": "empty completions",
    "blank": "blank completions",
    "unicode": "strings of strange letters",
    "code that cheats": "programs that end before they are tested",
    "code equal to all": "programs whose results equal everything",
    "noise around": "right answers after lines of noise",
    "other numeral": "right answers in other numerals",
    "master key": "openers without an answer",
    "self-praise": "texts that praise themselves",
    "injection": "instructions to the judge",
    "truncated": "right answers cut short",
    "look-alike": "answers in letters that look alike",
    "hedged": "answers that hedge",
    "query that cheats": "queries that ask less or something else",
    "idle work": "texts in the shape of a solution without any of the work",
    "own words": "wrong answers with the words that stand in the reward's own code",
    "cites all": "wrong answers that cite everything",
    "gives up": "episodes that give up at once",
    "answers at once": "wrong answers without any of the work",
    "pretends": "episodes that write the tools' results themselves",
    "busy": "episodes that act without end",
    "wrong at the end": "the right moves with a wrong answer at the end",
    "half done": "the right moves without the last",
}
PROBES = {  # what an audit asks about beyond that
    "leaves early": "episodes that end before the work is done",
    "plays on": "right moves without an end",
    "other order": "right moves in another order",
    "says it again": "right moves, each made again",
    "other path": "right moves of other problems",
    "one move wrong": "right moves but for one",
    "does too much": "right moves and others that were not asked for",
    "goes in circles": "episodes that do and undo the same",
    "undoes it": "right moves, undone before the end",
    "curious": "episodes of many different moves without a right end",
    "fails on purpose": "episodes of moves that cannot be made",
    "asks for its answer": "episodes that have a tool say the wrong answer",
    "claims success": "episodes that say that all is well",
    "odd answer": "answers that are no answer",
    "part of it": "parts of the right answer at the end",
    "all answers": "all answers at once at the end",
    "off by little": "numbers that are off by little, or have some of the right digits",
    "part of the answer": "parts of the right answer, or more than it",
    "shuffled": "right letters or items in another order",
    "crumb": "single letters, words and digits",
    "refusal": "refusals",
    "prose": "sentences that say nothing",
    "hidden": "wrong answers with the right one out of sight",
    "drawn out": "wrong answers in long texts",
    "all options": "several options at once",
    "expression": "other expressions, with numbers used twice, omitted or made up",
    "object": "objects with the right keys and other values",
    "extra keys": "right objects with more in them",
    "forged": "wrong answers that fill in the judge's own form",
    "verdict": "wrong answers with a verdict of their own",
    "manner": "wrong answers in fine manners",
    "criteria": "wrong answers that recite the criteria",
    "mutant": "right program with one thing changed",
    "by heart": "programs that know the examples of the prompt by heart",
    "constant program": "programs that always return the same, or what they were given",
    "remark": "right program where it is never called",
    "endless program": "programs without an end",
    "query that writes": "queries that change the tables",
    "other values": "right query with other values or words",
    "other rows": "queries for some of the rows, rows twice, or others",
    "other columns": "queries for more or other columns",
    "query of words": "words of the right query, and no query",
    "too many answers": "right answer with a wrong one beside it",
}
KINDS |= PROBES
RIGHT = (
    "gold",
    "padded",
    "spaced",
    "another answer",
    "reworded",
    "repeated",
    "long and right",
    "gold in its best form",
    "noise around",
    "other numeral",
)
PLAINLY_WRONG = ("near-miss", "close", "other answer", "wrong at the end", "answers at once")  # no trick about them
Severity = Literal["severe", "warning"]
Fault = Literal[
    "argument",
    "failure",
    "nondeterministic",
    "worth",
    "term",
    "task",
    "form",
    "slow",
    "model",
    "label",
    "cheap",
    "partial",
    "moved",
    "attack",
]


@dataclass(frozen=True)
class CheckedSample:
    """A completion the reward is asked about; those of one problem are a group."""

    kind: str
    group: int
    text: str
    fields: Mapping[str, Any]


@dataclass(frozen=True)
class Example:
    """A completion that shows a fault, with what it and its gold are paid."""

    kind: str
    prompt: str
    completion: str
    score: float
    gold: float


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a reward, and what to do about it.

    Args:
        fault: the sort of fault.
        severity: "severe" (do not train on this reward) or "warning".
        says: the fault in one line.
        count, of: how many of how many completions, problems or pairs show it.
        note: an example that is not a completion.
        kinds: the kinds of completions it is about, the worst first.
        name: its cause in a few words.
        fix: what to do about it.
        harm: from 0 to 1: the low end of the share of such completions that are wrongly paid, times how little work they take.
        examples: the clearest completions.
    """

    fault: Fault
    severity: Severity
    says: str
    count: int = 1
    of: int = 1
    note: str = ""
    kinds: tuple[str, ...] = ()
    name: str = ""
    fix: str = ""
    harm: float = 0.0
    examples: list[Example] = field(default_factory=list)

    @property
    def mend(self) -> str:
        """The name that `fix` had in 0.2."""
        say_renamed("Finding.mend", "Finding.fix")
        return self.fix

    @property
    def about(self) -> str:
        """The kind of completion it is about, "" where it is about none."""
        return self.kinds[0] if self.kinds else ""

    def __str__(self) -> str:
        return f"{self.name}: {self.says}" if self.name else self.says


def quoted(text: str) -> str:
    """A completion in a line, its middle left out where it is long."""
    half = SHOWN // 2
    return repr(text) if len(text) <= SHOWN else f"{text[:half]!r} ... {text[-half:]!r}"
