"""What the truth rejects: by the task's own check, or by a reward that the user names as truth.

A text that says the right answer in another spelling, layout or notation is not called wrong, whatever a strict check says;
nor is a program that may well be right where the check compares letters alone. Texts whose truth is unknown are excluded from
the attack.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Callable, Sequence

from guerdon.audits.adversary.edits import parsed
from guerdon.audits.asking import ask
from guerdon.audits.kinds import SAME, CheckedSample
from guerdon.audits.probes.answers import is_code, near_misses
from guerdon.audits.probes.gold import OPTION, Posed, plain
from guerdon.core.errors import UserError
from guerdon.core.task import truth_of
from guerdon.rewards.formula.reward import Reward

Sample = Callable[[str, int, str], CheckedSample]
MIDDLE = 0.5  # of the way from what a truth gives wrong answers to what it gives right ones
MARKS = re.compile(r"</?\w+>|\\boxed|####|\*\*|^\s*(?:the\s+)?(?:final\s+)?answer(?:\s+is)?:?", re.I)


class TaskTruth:
    """The task's own word, and common sense where it is strict."""

    def __init__(self, posed: Sequence[Posed], sample: Sample) -> None:
        self.posed, self.sample = posed, sample
        self.by_letter = [is_code(each.own.core) and _compares_letters(each) for each in posed]

    def rejects(self, group: int, texts: Sequence[str]) -> list[bool | None]:
        """Whether each text is wrong; None where that is unknown."""
        return [self._rejects(group, text) for text in texts]

    def _rejects(self, group: int, text: str) -> bool | None:
        each = self.posed[group]
        try:
            if hasattr(each.source, "check_track"):
                verdict = truth_of(each.source, each.task, self.sample("", group, text).fields)
                return None if verdict is None else verdict == 0.0
            if not each.is_wrong(text):
                return False if each.says_right(text) else None
            if (clear := as_read(text)) != text and not each.is_wrong(clear):
                return None
        except UserError:  # the check raises an error on such a text, so nothing follows from it
            return None
        letter = OPTION.match(each.own.core)
        if letter and letter[1].isupper() and re.findall(r"\b[A-H]\b", text)[-1:] == [letter[1]]:
            return None  # the last option that is named in capitals: a small letter after it may be a word
        if same_in_other_letters(text, each) or (self.by_letter[group] and not gutted(text)):
            return None
        return True


class RewardTruth:
    """A reward that the user trusts: what it gives less than half of what right answers get is wrong."""

    def __init__(self, formula: Reward, posed: Sequence[Posed], sample: Sample) -> None:
        self.formula, self.posed, self.sample = formula, posed, sample
        self.lines = [self._line(group) for group in range(len(posed))]

    def _line(self, group: int) -> float | None:
        each = self.posed[group]
        gold, *wrong = self._values(group, [each.own.text, *near_misses(each, self.posed)])
        known = sorted(v for v in wrong if v == v)
        low = known[len(known) // 2] if known else gold - 1.0
        return low + MIDDLE * (gold - low) if gold > low + SAME else None

    def _values(self, group: int, texts: Sequence[str]) -> list[float]:
        return ask(self.formula, [self.sample("truth", group, text) for text in texts], "truth").values

    def rejects(self, group: int, texts: Sequence[str]) -> list[bool | None]:
        line = self.lines[group]
        values = self._values(group, texts) if line is not None and texts else [float("nan")] * len(texts)
        return [None if v != v or line is None else v < line for v in values]


def same_in_other_letters(text: str, posed: Posed) -> bool:
    """Whether a text is the right answer written otherwise: other spaces, case, quotes, marks, or the same syntax tree."""
    core, right = posed.own.core, (posed.own.core, posed.own.text, posed.gold.text)
    if plain(text) == plain(core) or _squeezed(text) in set(map(_squeezed, right)):
        return True
    trees = [_tree(each) for each in (text, core)]
    return trees[0] is not None and trees[0] == trees[1]


def as_read(text: str) -> str:
    """A text as people see it: full-width digits are digits, what has no width is not there, an underscore is a space."""
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf")
    return text.replace("_", " ")


def _squeezed(text: str) -> str:
    return re.sub(r"[\s\"'`.,;:!?$(){}\[\]]+", "", MARKS.sub("", text)).casefold()


def _tree(text: str) -> str | None:
    tree = parsed(text.strip())
    return None if tree is None else ast.dump(tree)


def _compares_letters(posed: Posed) -> bool:
    """Whether a task calls its own program wrong when nothing but its variables' names or its layout change."""
    tree = parsed(posed.own.core)
    return tree is not None and not posed.says_right(posed.own.put(f"{ast.unparse(tree)}\n\nunused = 1\n"))


def gutted(text: str) -> bool:
    """Whether a program surely does not do what it should: it is none, or its functions do no work."""
    tree = parsed(text)
    if tree is None:
        return True
    functions = [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and not node.name.startswith("__")
    ]
    return all(_is_idle(statement) for f in functions for statement in f.body)


def _is_idle(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Return):
        kinds = ast.Constant | ast.Call  # a call without arguments makes an object and works nothing out
        is_call = isinstance(statement.value, ast.Call)
        idle = statement.value is None or isinstance(statement.value, kinds)
        return idle and not (is_call and bool(getattr(statement.value, "args", ())))
    return isinstance(statement, ast.Pass | ast.Raise) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )
