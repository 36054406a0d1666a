"""What the adversary knows about one problem when it edits a completion: answers, marks, the words of the reward's own code.

Leaves out: the edits (`edits.py`, `edits.py`) and what is right (`audits/probes/gold.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from guerdon.audits.probes.answers import is_code, options, wrong_cores
from guerdon.audits.probes.forms import marks_in, texts_in
from guerdon.audits.probes.gold import BECAUSE, FORMS, HERE, Posed
from guerdon.rewards.formula.reward import Reward

Language = Literal["text", "python", "sql"]
QUERY = re.compile(r"\s*(?:select|with)\b", re.IGNORECASE)
EXAMPLE = re.compile(r"^\s*(?:assert\s+)?(\w+)\((.*)\)\s*==\s*(.+?)\s*$", re.MULTILINE)  # in a prompt: f(1) == 2
WORDS = 40  # of the reward's own code
LONGEST_WORD = 40
USUAL_FORMS = FORMS[:6]


@dataclass(frozen=True)
class AttackedProblem:
    """A problem as the adversary sees it."""

    posed: Posed
    wrongs: tuple[str, ...]  # answers that are wrong here
    others: tuple[str, ...]  # answers of other problems
    marks: tuple[str, ...]  # forms that answers are written in, those that the reward's own code names first
    words: tuple[str, ...]  # texts in the reward's own code
    language: Language

    @property
    def core(self) -> str:
        return self.posed.own.core.strip()

    @property
    def wrong(self) -> str:
        """A wrong answer that neither holds the right one nor is in it."""
        apart = [w for w in self.wrongs if self.core not in w and w not in self.core and not self.posed.is_close(w)]
        return next(iter([*apart[::-1], *self.wrongs[::-1]]), "none of these")

    @property
    def examples(self) -> list[tuple[str, str, str]]:
        """Calls that the prompt shows with their results: (name, arguments, result)."""
        return EXAMPLE.findall(self.posed.task.prompt) if self.language == "python" else []


def scenes(formula: Reward, posed: Sequence[Posed]) -> list[AttackedProblem]:
    marks = tuple(dict.fromkeys([*marks_in(formula), *USUAL_FORMS]))
    words = tuple(w for w in texts_in(formula) if 1 < len(w) <= LONGEST_WORD and w.strip())[:WORDS]
    every = list(dict.fromkeys(each.own.core for each in posed))
    return [
        AttackedProblem(
            each,
            tuple(dict.fromkeys([*wrong_cores(each, posed), *[c for c in options(each) if c != each.own.core]])),
            tuple(core for core in every if core != each.own.core),
            marks,
            words,
            language_of(each.own.core),
        )
        for each in posed
    ]


def language_of(core: str) -> Language:
    return "sql" if QUERY.match(core) else "python" if is_code(core) else "text"


def pieces(form: str) -> list[str]:
    """What stands in a form around the answer and the reasons.

    >>> pieces("<think>{why}</think><answer>{}</answer>")
    ['<think>', '</think><answer>', '</answer>']
    """
    return [p.strip() for p in re.split(f"{re.escape(HERE)}|{re.escape(BECAUSE)}", form) if p.strip()]
