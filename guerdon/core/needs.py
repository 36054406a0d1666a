"""What a recipe needs of its data, its model and the machine, and how each is supplied.

A recipe declares it (`@recipe(..., needs=Needs(answers=True))`). What a source of problems and a model *have* is a set of the
same names, and both are compared before anything loads (`training/unmet_needs.py`).
It needs no torch: lists read it from the text of recipes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

Rows = Literal["problems", "pairs", "labels", "steps"]  # what rows of a file are to a recipe
ROWS: dict[str, Rows] = {"preferences": "pairs", "labels": "labels", "step_labels": "steps"}  # by the need for them
FAMILY = "--task chain:3, another generated family, or your own (docs/your_own_task.md)"


@dataclass(frozen=True)
class Need:
    """A thing that may be needed: `of` what, in a word for tables, in full, and how it is supplied."""

    of: Literal["data", "model", "machine"]
    word: str
    what: str
    how: str = ""

    @property
    def in_columns(self) -> bool:
        """Whether columns of a user's rows supply it."""
        return " COL" in self.how or " column" in self.how


NEEDED = {  # by the field of `Needs`
    "answers": Need("data", "answers", "answers to check", "--data FILE --answer COL, or --task countdown:2"),
    "solutions": Need("data", "solutions", "worked solutions", "--data FILE --solution COL, or --task chain:3"),
    "errors": Need("data", "known errors", "wrong solutions with a known error", FAMILY),
    "step_checker": Need("data", "step checker", "a checker of single steps", FAMILY),
    "tests": Need(
        "data",
        "tests",
        "tests one by one",
        '--data FILE with a column "test_list" --check python, or --task functions:3',
    ),
    "searched": Need("data", "searches", "solutions that try several ways", "--task countdown:4"),
    "databases": Need("data", "databases", "databases to query", "--task text_to_sql:2"),
    "families": Need("data", "families", "problems of certain families"),
    "preferences": Need(
        "data",
        "pairs",
        "pairs of a better and a worse answer",
        "--data FILE with columns prompt, chosen, rejected, or --task chain:3",
    ),
    "labels": Need(
        "data",
        "labels",
        "answers labelled good or bad",
        "--data FILE with columns prompt, completion, label, or --task chain:3",
    ),
    "step_labels": Need(
        "data",
        "step labels",
        "solutions in labelled steps",
        "--data FILE with columns prompt, completions, labels, or --task chain:3",
    ),
    "kinds": Need("data", "kinds", "problems of several kinds", "--data FILE --kind COL, or --task chain:1-4"),
    "domains": Need(
        "data", "domains", "problems of several domains", "--data FILE --kind COL (text), or --task countdown:2+clock:2"
    ),
    "finite": Need("data", "finite", "a finite set of problems", "--data FILE, or --task chain:3@128"),
    "endless": Need("data", "generator", "a generator of problems", FAMILY),
    "one_turn": Need(
        "data", "one turn", "problems of one turn", "--data FILE, or a --task without tools or another environment"
    ),
    "text": Need("model", "", "a model of text", "--model sprig, or the folder of a language model"),
    "decoder": Need(
        "model",
        "own decoder",
        "a model in guerdon's own decoder",
        "--model sprig, or a folder of Llama, Qwen and the like (docs/models.md)",
    ),
    "tools": Need("model", "tools", "a model that calls any tools", "--model with a folder of a chat model"),
    "second": Need("model", "2nd model", "a second model"),
    "sandbox": Need("machine", "sandbox", "a sandbox for programs", "use Linux (guerdon doctor)"),
}


@dataclass(frozen=True)
class Needs:
    """What a recipe needs. A field that is left out is that of the recipe it is made `on`; without one it is not needed.

    A text in place of `True` names what may be given instead: a knob (`step_checker="scorer"`), one of several
    (`"scorer|reward"`), or all of several (`"prm+teacher"`). The reward counts as one.

    Args:
        answers: problems with answers to check.
        solutions: worked solutions, one a problem.
        errors: wrong solutions with a known error, which generated families make.
        step_checker: a check of any single line of a solution.
        tests: programs with tests that are counted one by one.
        searched: solutions that try several ways before the right one.
        databases: questions on databases, answered by queries.
        families: the families whose problems it can use, in a text; what may be given instead follows after a |.
        preferences: a better and a worse answer to a prompt.
        labels: answers that are labelled good or bad.
        step_labels: solutions whose steps are labelled right or wrong.
        kinds: problems of several kinds.
        domains: kinds of several families.
        finite: a set of problems that ends.
        endless: a generator of problems.
        one_turn: problems that are answered in one turn, for methods with an environment of their own.
        text: a model that reads and writes any text.
        decoder: a model that runs in guerdon's own decoder, not through `transformers`.
        tools: a model that calls several tools, or one with several arguments.
        second: a second model, by the knob that names it.
        sandbox: a machine on which programs can run in the sandbox.
        world: the fixed world of the method, in words: it takes no problems of your own.
        learns_from: what it learns from in place of a reward, in words: it takes none.

    >>> import guerdon as gd
    >>> both = gd.Needs(kinds=True).over(gd.Needs(answers="reward"))
    >>> both.names, both.rows, str(both), both.missing("data", {"kinds"}), both.missing("data", {"kinds"}, {"reward"})
    (('answers', 'kinds'), 'problems', 'answers, kinds', ('answers',), ())
    """

    answers: bool | str | None = None
    solutions: bool | str | None = None
    errors: bool | str | None = None
    step_checker: bool | str | None = None
    tests: bool | str | None = None
    searched: bool | str | None = None
    databases: bool | str | None = None
    families: str | None = None
    preferences: bool | str | None = None
    labels: bool | str | None = None
    step_labels: bool | str | None = None
    kinds: bool | str | None = None
    domains: bool | str | None = None
    finite: bool | str | None = None
    endless: bool | str | None = None
    one_turn: bool | str | None = None
    text: bool | str | None = None
    decoder: bool | str | None = None
    tools: bool | str | None = None
    second: str | None = None
    sandbox: bool | str | None = None
    world: str | None = None
    learns_from: str | None = None

    def over(self, base: Needs) -> Needs:
        """These, and those of `base` where these say nothing."""
        own = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return dataclasses.replace(base, **{name: value for name, value in own.items() if value is not None})

    @property
    def names(self) -> tuple[str, ...]:
        """What is needed, by the names of the fields. A fixed world is not among them."""
        return tuple(name for name in NEEDED if getattr(self, name))

    @property
    def rows(self) -> Rows:
        """What the rows of a user's file are to it."""
        return next((rows for name, rows in ROWS.items() if getattr(self, name)), "problems")

    def instead(self, name: str) -> list[list[str]]:
        """What may be given in place of a need: each of the lists would do."""
        value = getattr(self, name)
        ways = value.split("|") if isinstance(value, str) else []
        return [way.split("+") for way in ways[name == "families" :]]

    @property
    def of_families(self) -> list[str]:
        """The families whose problems it can use."""
        return (self.families or "").partition("|")[0].split()

    def untaken(self, slot: str) -> str:
        """Why a recipe takes no task, model or reward of yours."""
        if self.world:
            return (
                f"has a fixed world ({self.world}): leave {'--task and --data' if slot == 'task' else f'--{slot}'} out"
            )
        if slot == "reward" and self.learns_from:
            return f"learns from {self.learns_from}: leave --reward out"
        return f"has its own {slot}: leave --{slot} out"

    def missing(self, of: str, has: Collection[str], given: Collection[str] = ()) -> tuple[str, ...]:
        """What is needed of the data, the model or the machine, and is neither among what that `has` (of its families one is
        enough) nor replaced by what was `given`: knobs, and the reward."""
        there = {*has, *(["families"] if set(self.of_families) & {*has} else [])}
        return tuple(
            name
            for name in self.names
            if NEEDED[name].of == of
            and name not in there
            and not any(all(each in given for each in way) for way in self.instead(name))
        )

    def how(self, name: str, typed: Callable[[str], str] = str) -> str:
        """How something that is missing is supplied; families as they are `typed`."""
        known = NEEDED[name].how
        if name == "families":
            first, *more = self.of_families
            known = f"--task {first}:3" + (f" (or {', '.join(map(typed, more))})" if more else "")
        ways = [" ".join(_given(each) for each in way) for way in self.instead(name)]
        return ", or ".join([*filter(None, [known]), *ways])

    @property
    def in_full(self) -> str:
        """All of it in words."""
        world = [f"nothing of yours: its world is fixed ({self.world})"] if self.world else []
        words = [NEEDED[n].what + (f" (or {_or(self.instead(n))})" if self.instead(n) else "") for n in self.names]
        return "; ".join([*world, *words]) or "nothing but problems"

    def __str__(self) -> str:
        """In words for a table: what nearly every recipe needs, a model of text, has none."""
        return ", ".join(["fixed world"] * bool(self.world) + [word for n in self.names if (word := NEEDED[n].word)])


def _given(name: str) -> str:
    return "--reward R" if name == "reward" else f"--set {name}=..."


def _or(ways: list[list[str]]) -> str:
    return " or ".join(" and ".join(_given(each) for each in way) for way in ways)
