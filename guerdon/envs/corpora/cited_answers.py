"""An answer and what it rests on: `keldor [d3] [d7]`, read and judged.

What is right stands in the task: its `answer`, and in its `meta` perhaps `aliases` (other right answers), `relevant` (the ids
of the documents that the answer follows from), `cite` (true: these must be cited) and `must_see` (ids that must have been
shown to the player: an answer that nothing is known requires a search).
Texts are compared as in SQuAD: in any case, without punctuation and articles.
Leaves out: whether a document says what it is cited for, other than by its id.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, NamedTuple

from guerdon.core.task import Task

SPARE = 1  # documents that may be cited besides those that must be
LONGEST = 2000  # characters of an answer that are read
CITED = re.compile(r"\[([^\[\]]*)\]")
ARTICLES = re.compile(r"\b(a|an|the)\b")
NO_WORD = re.compile(r"[^\w\s]|_")


class CitedAnswer(NamedTuple):
    answer: str
    cited: tuple[str, ...]


def read_cited(text: str) -> CitedAnswer:
    """An answer without its citations, and the ids of those, each once.

    >>> read_cited("Keldor [d3, d7] [d3]")
    CitedAnswer(answer='Keldor', cited=('d3', 'd7'))
    """
    text = text[:LONGEST]
    ids = [" ".join(one.split()) for inside in CITED.findall(text) for one in inside.split(",")]
    return CitedAnswer(" ".join(CITED.sub(" ", text).split()), tuple(dict.fromkeys(one for one in ids if one)))


def same_words(text: str) -> str:
    """A text as answers are compared.

    >>> same_words("The  Grey Fox!")
    'grey fox'
    """
    return " ".join(ARTICLES.sub(" ", NO_WORD.sub(" ", text.casefold())).split())


def is_right(task: Task, answer: str) -> bool:
    said = same_words(answer)
    return bool(said) and said in {same_words(str(one)) for one in (task.answer, *task.meta.get("aliases", ()))}


def judged(task: Task, given: CitedAnswer, shown: Collection[str] | None = None) -> dict[str, Any]:
    """What an answer is worth: `goal`, 1 or 0, and `right`, whether the words alone are. `shown` are the ids that the player
    saw: one that it did not see supports nothing. None: who played is not known."""
    meta = task.meta
    relevant, must_see = {*map(str, meta.get("relevant", ()))}, {*map(str, meta.get("must_see", ()))}
    right, cited = is_right(task, given.answer), {*given.cited}
    holds = cited if shown is None else cited & {*shown}
    rests = not meta.get("cite") or (relevant <= holds and len(cited) <= len(relevant) + SPARE)
    looked = shown is None or must_see <= {*shown}
    told: dict[str, Any] = {"goal": float(right and rests and looked), "right": right}
    if relevant and (cited or meta.get("cite")):
        told["cited_recall"] = len(relevant & holds) / len(relevant)
        told["cited_precision"] = len(relevant & holds) / len(cited) if cited else 0.0
    return told
