"""Conversational query rewriting: what a question means in a dialogue, said so that a search finds it without the dialogue.

`dialogue_search` plays the questions of a dialogue one by one; `rewriting` makes dialogues about made-up worlds, in which one
passage holds the answer (`made_up_dialogues.py`).
Leaves out: answering. What the assistant says to each question is given.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from guerdon.core.part import knob, part
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Split, Task
from guerdon.envs.corpora.collection import OpenedCorpus, corpus, small_library
from guerdon.envs.corpora.made_up_dialogues import DIALOGUE_LEVELS, DialogueMaker
from guerdon.envs.corpora.made_up_facts import MadeUpWorld
from guerdon.envs.corpora.search_turns import READ, library_of, read_move
from guerdon.envs.corpora.word_index import words_of
from guerdon.envs.world_turns import InTurns, Observed, PlayedOut
from guerdon.tasks.family import NearMiss

MOST_WORDS = 16  # of a query: a copy of the whole dialogue is none
HOW = f"write a search query for the last question that can be understood without the rest, at most {MOST_WORDS} words."


def read_query(said: str) -> str:
    """The query of a turn: a search move, or else its last line; "" where there is none.

    >>> read_query("search: norvex founder"), read_query("so:" + chr(10) + "founder of norvex"), read_query("= norvex")
    ('norvex founder', 'founder of norvex', '')
    """
    move = read_move(said)
    if move is not None:
        return move.text if move.kind == "search" else ""
    thought, closed, after = said[-READ:].partition("</think>")
    lines = [line for line in (after if closed else thought).splitlines() if line.strip()]
    line = lines[-1].strip() if lines else ""
    return line.partition(":")[2].strip() if line.lower().startswith("search:") else line


def overlap(text: str, gold: str) -> float:
    """F1 over the words of two texts.

    >>> round(overlap("founder norvex", "the founder of norvex"), 2)
    0.67
    """
    said, wanted = Counter(words_of(text)), Counter(words_of(gold))
    both = sum((said & wanted).values())
    return 2 * both / (sum(said.values()) + sum(wanted.values())) if both else 0.0


class DialogueWorld:
    """One dialogue: its first exchange is given, a query is asked for every later question."""

    def __init__(self, task: Task, library: OpenedCorpus, k: int) -> None:
        self.turns, self.library, self.k = task.meta["turns"], library, k
        self.first, self.at, self.unread = task.prompt, 1, 0
        self.queries: list[str] = []
        self.ranks: list[int] = []  # of the passage that answers, 0 where it was not among the k best
        self.overlaps: list[float] = []

    def begin(self) -> str:
        return f"{self.first}\n{HOW}"

    def step(self, said: str) -> Observed:
        query = " ".join(read_query(said).split()[:MOST_WORDS])
        if not words_of(query):
            self.unread += 1
            return Observed(f"no query in that. {HOW}")
        turn = self.turns[self.at]
        ranked = [hit.document.id for hit in self.library.search(query, self.k)]
        rank = next((place for place, one in enumerate(ranked, start=1) if one in turn["relevant"]), 0)
        self.queries.append(query)
        self.ranks.append(rank)
        self.overlaps.append(overlap(query, turn["query"]) if turn.get("query") else 0.0)
        self.at += 1
        view = (
            "" if self.at == len(self.turns) else f"assistant: {turn['assistant']}\nuser: {self.turns[self.at]['user']}"
        )
        return Observed(view, pay=1 / rank if rank else 0.0, over=self.at == len(self.turns))

    def gold(self) -> str:
        return str(self.turns[min(self.at, len(self.turns) - 1)]["query"])

    def outcome(self) -> dict[str, Any]:
        asked = len(self.turns) - 1
        return {
            "goal": sum(1 / rank for rank in self.ranks if rank) / asked,
            "recall": sum(rank > 0 for rank in self.ranks) / asked,
            "overlap": sum(self.overlaps) / asked,
            "queries": self.queries,
            "ranks": self.ranks,
            "unread": self.unread,
        }


@part
class dialogue_search(InTurns):
    """Write a standalone query for every question of a dialogue but the first. A turn is paid the reciprocal rank of the
    passage that answers, 0 where it is not among the `k` best. `info` holds `goal`, their mean over all questions; `recall`,
    how many passages were among the best; `overlap`, the mean F1 of the words with the gold queries; and `ranks` and `queries`,
    turn by turn. A query has at most 16 words, the rest is dropped.

    A task has the dialogue in its meta: `turns`, each with `user`, `assistant`, the ids of `relevant` passages and perhaps the
    gold `query`; and `documents`, unless there is a `corpus`.

    Args:
        corpus: documents; those of the task when None.
        most: the most turns of an episode.
        k: documents among which the passage must be.
        seconds: time limit of an episode; 0 for none.

    >>> import guerdon as gd
    >>> source = gd.envs.rewriting(level=1)
    >>> copying = gd.models.scripted(lambda view, past, seed: view.splitlines()[-2])
    >>> gd.evaluate(copying, task=source, env=gd.envs.dialogue_search(), tasks=8)["pass@1"] < 0.7
    True
    """

    corpus: Any = None
    most: int = knob(default=16, ge=0)
    k: int = knob(default=3, ge=1)
    role: str = "policy"
    seconds: float = knob(default=0.0, ge=0.0)

    def __post_init__(self) -> None:
        if self.corpus is not None and not isinstance(self.corpus, corpus):
            self.corpus = corpus(self.corpus)

    def open(self, ask: Ask, seed: int) -> DialogueWorld:
        library = library_of(ask.task) if self.corpus is None else self.corpus.open()
        return DialogueWorld(ask.task, library, self.k)


@part
class rewriting(PlayedOut):
    """Dialogues about a made-up world whose later questions cannot be searched for as they stand: "who is the founder of
    norvex?" "mira tolvan" "and their birthplace?" Played in `dialogue_search()`, which pays for the rank of the one passage
    that answers, of 16 to 96.

    Level 1 has one question about the thing just named; 2 asks two, about answers too; from 3 on relations are left out
    ("what about drelco?"), from 4 on things are meant that were spoken of some turns ago; level 8 has six questions.

    >>> import guerdon as gd
    >>> task = gd.envs.rewriting(level=2).get("train", 0)
    >>> print(task.prompt)
    user: who is the writer of zirune?
    assistant: lovukel korfos
    user: and their mentor?
    >>> task.meta["turns"][1]["query"]
    'mentor of lovukel korfos'
    """

    level: int = knob(default=1, ge=1, le=len(DIALOGUE_LEVELS))

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def home(self) -> dialogue_search:
        return dialogue_search()

    def size(self, split: Split) -> int | None:
        return None

    def get(self, split: Split, index: int) -> Task:
        """Problem number `index`: the first that is drawn whose gold queries each find their passage first."""
        draw = random.Random(derive(self.name, self.level, split, index))
        while True:
            documents, turns = DialogueMaker(MadeUpWorld(draw, split), DIALOGUE_LEVELS[self.level - 1]).make()
            library = small_library(tuple(documents))
            firsts = [library.search(turn["query"], 1)[0].document.id for turn in turns]
            if all([first] == turn["relevant"] for first, turn in zip(firsts, turns, strict=True)):
                break
        said = [f"user: {turns[0]['user']}", f"assistant: {turns[0]['assistant']}", f"user: {turns[1]['user']}"]
        meta = {"documents": [list(document) for document in documents], "turns": turns}
        return Task(f"{self.level}-{split}-{index}", "\n".join(said), turns[1]["query"], self.name, self.level, meta)

    def near_misses(self, task: Task, draw: random.Random) -> list[NearMiss]:
        """Queries for the first question that do not find its passage first: as it was asked, and about the wrong thing."""
        before, turn = task.meta["turns"][:2]
        noun, _, meant = turn["query"].partition(" of ")
        wrong = before["assistant"] if meant != before["assistant"] else before["query"].partition(" of ")[2]
        misses = [
            NearMiss(turn["user"], "as it was asked", 0),
            NearMiss(f"{noun} of {wrong}", "about the wrong thing", 0),
        ]
        library = library_of(task)
        first = [[hit.document.id for hit in library.search(miss.text, 1)] for miss in misses]
        return [miss for miss, best in zip(misses, first, strict=True) if best != turn["relevant"]]
