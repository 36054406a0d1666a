"""What `check_reward` found, as plain data and as a page to read.

Leaves out: the finding (`check.py`).
"""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from guerdon.audits import report_page

SHOWN = 60  # characters of a completion in a line
WIDTH = 80  # columns of a page
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
    "does too much": "right moves and others that nobody asked for",
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
    "expression": "other expressions, with numbers used twice, left out or made up",
    "object": "objects with the right keys and other values",
    "extra keys": "right objects with more in them",
    "forged": "wrong answers that fill in the judge's own form",
    "verdict": "wrong answers with a verdict of their own",
    "manner": "wrong answers in fine manners",
    "criteria": "wrong answers that recite the criteria",
    "mutant": "right program with one thing changed",
    "by heart": "programs that know the examples of the prompt by heart",
    "constant program": "programs that always return the same, or what they were given",
    "remark": "right program where nobody runs it",
    "endless program": "programs without an end",
    "query that writes": "queries that change the tables",
    "other values": "right query with other values or words",
    "other rows": "queries for some of the rows, rows twice, or others",
    "other columns": "queries for more or other columns",
    "query of words": "words of the right query, and no query",
    "too many answers": "right answer with a wrong one beside it",
}
KINDS |= PROBES
Severity = Literal["severe", "warning"]


@dataclass(frozen=True)
class CheckedSample:
    """A completion the reward is asked about; those of one problem are a group."""

    kind: str
    group: int
    text: str
    fields: Mapping[str, Any]


@dataclass(frozen=True)
class Finding:
    """What there is to say against a reward, in one line; `count` of `of` completions (or problems) show it."""

    kind: Literal["argument", "failure", "unsteady", "worth", "term", "task", "form", "slow", "model", "label"]
    severity: Severity
    says: str
    count: int = 1
    of: int = 1
    example: str = ""
    completions: str = ""  # the kind of completion it is about, if it is about one

    def __str__(self) -> str:
        return self.says + (f", such as {self.example}" if self.example else "")


@dataclass(frozen=True)
class RewardReport:
    """`findings` are what there is to say against a reward, `severe` ones first; everything else is what was measured, rows as
    dicts."""

    reward: str
    task: str
    problems: int
    samples: int
    findings: list[Finding]
    tokens: str = ""  # whose tokens `actions` are
    form: str = ""  # in which form answers were written, where it is not the task's own
    failures: list[dict[str, Any]] = field(default_factory=list)  # component, kind, task, error, completion
    kinds: list[dict[str, Any]] = field(default_factory=list)  # a row for gold, near-miss and each other completion
    components: list[dict[str, Any]] = field(default_factory=list)  # a row for each part of a formula
    pairs: dict[str, int] = field(default_factory=dict)  # gold against near-miss: pairs, below, level
    spread: dict[str, float] = field(default_factory=dict)  # inside near-misses of a problem: groups, flat, mean
    tried: dict[str, Any] = field(default_factory=dict)  # a model's own completions against the truth
    labelled: dict[str, Any] = field(default_factory=dict)  # what people labelled against what it pays
    seconds: dict[str, Any] = field(default_factory=dict)  # of a call: median, worst, on which kind

    @property
    def severe(self) -> list[Finding]:
        return [f for f in self.findings if f.severity == "severe"]

    @property
    def ok(self) -> bool:
        """Whether nothing severe was found."""
        return not self.severe

    def but(self, **changes: Any) -> RewardReport:
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "ok": self.ok}

    def __repr__(self) -> str:
        return report_page.in_a_line(self)

    def _repr_html_(self) -> str:
        return report_page.as_html(self)

    def __str__(self) -> str:
        return self.page()

    def page(self, width: int = WIDTH) -> str:
        """What was found, for people."""
        lines = wrapped(f"{self.reward} on {self.task}: {self._counts()}", "", width)
        for each in sorted(self.findings, key=lambda f: f.severity != "severe"):
            lines += wrapped(f"  {each.severity:<8} {each.says}", " " * 11, width)
            lines += wrapped(f"{' ' * 11}{each.example}", " " * 11, width) if each.example else []
        lines += [] if self.findings else ["  nothing found"]
        lines += [line for text in self._labelled() for line in (wrapped(text, "  ", width) if text else [text])]
        if not self.kinds:
            return "\n".join(lines)
        titles = ("completion", "count", "mean", "lowest", "highest", "as good as gold")
        rows = [{**row, "as_good_as_gold": "" if row["right"] else row["level"]} for row in self.kinds]
        lines += ["", *table_lines(titles, rows, "kind")]
        if self.components:
            lines += [
                "",
                *table_lines(("component", "gold", "near-miss", "lowest", "highest"), self.components, "name"),
            ]
        lines += ["", *(line for text in self._rest() for line in wrapped(text, "  ", width))]
        return "\n".join(lines)

    def _labelled(self) -> list[str]:
        """A table of what labelled samples are paid, and how that agrees with the labels."""
        told = self.labelled
        if not told:
            return []
        table = table_lines(("label", "count", "scored", "mean", "lowest", "highest"), told["kinds"], "label")
        said = f"the reward agrees with {told['agree']} of {told['labels']} labels"
        if told["auc"] is not None:
            said += f"; of a right sample and another, the right one is paid more in {100 * told['auc']:.0f} % of pairs"
        return ["", *table, "", said]

    def _counts(self) -> str:
        words = f"{self.problems} problem{'s' * (self.problems != 1)}, {self.samples} completions"
        return words + (f", tokens counted by {self.tokens}" if self.tokens and self.samples else "")

    def _rest(self) -> list[str]:
        level, pairs = self.pairs["level"], self.pairs["pairs"]
        said = [f"gold above near-miss in {pairs - level - self.pairs['below']} of {pairs} pairs, level in {level}"]
        if self.form:
            said.append(f"answers were written as {self.form}")
        if self.tried:
            t = self.tried
            said.append(
                f"of {t['tries']} tries of the model, {t['judged']} could be judged: {t['right']} right, the reward agrees"
                f" on {t['agree']}, {t['wrong_paid_as_gold']} wrong ones paid as gold, {t['right_unpaid']} right ones not"
            )
            said.append(f"all tries at a problem worth the same in {t['flat']} of {t['groups']} problems")
        median, worst = time_in_words(self.seconds["median"]), time_in_words(self.seconds["worst"])
        return [*said, f"a call takes {median}, at worst {worst} ({self.seconds['on']})"]


def quoted(text: str) -> str:
    """A completion in a line, its middle left out where it is long."""
    half = SHOWN // 2
    return repr(text) if len(text) <= SHOWN else f"{text[:half]!r} ... {text[-half:]!r}"


def wrapped(text: str, indent: str, width: int) -> list[str]:
    """A text in lines of a width, those after the first indented."""
    how = {"break_on_hyphens": False, "replace_whitespace": False, "drop_whitespace": True}
    if width <= len(indent) + 20:  # too narrow for a margin
        indent = ""
    first = text[: len(text) - len(text.lstrip())]
    lines = textwrap.wrap(text.lstrip(), max(width, 20), initial_indent=first, subsequent_indent=indent, **how)  # type: ignore[arg-type]
    return lines or [""]


def table_lines(titles: Sequence[str], rows: Sequence[Mapping[str, Any]], first: str) -> list[str]:
    """Rows as columns under their titles; the first column has the key `first`, the others their titles' words."""
    keys = (first, *(t.replace(" ", "_") for t in titles[1:]))
    cells = [list(titles), *([_cell(row[k]) for k in keys] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(titles))]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in cells]


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "-" if value != value else f"{value:.3f}"
    return str(value)


def time_in_words(seconds: float) -> str:
    return (
        f"{seconds * 1e6:.0f} us"
        if seconds < 1e-3
        else f"{seconds * 1e3:.1f} ms"
        if seconds < 1
        else f"{seconds:.1f} s"
    )
