"""Questions and claims about made-up worlds, to be answered by searching them: `hops` and `claims`.

Both take their puzzles from `fact_puzzles.py`; each problem has a world of its own, which it brings along in its meta.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from guerdon.core.part import knob, part
from guerdon.core.seeds import derive
from guerdon.core.task import Split, Task
from guerdon.envs.corpora.cited_answers import judged, read_cited
from guerdon.envs.corpora.fact_puzzles import RULES, SETTINGS, Puzzle, make_puzzle
from guerdon.envs.corpora.search_turns import read_move, searched
from guerdon.envs.world_turns import PlayedOut
from guerdon.tasks.family import NearMiss

UNKNOWN = "not known"
UNKNOWN_SHARE = 1 / 6  # of the questions, at levels that have such
TURNS = 8  # of an episode at home: the longest chain takes four searches
SUPPORTED, REFUTED, TOO_LITTLE = "supported", "refuted", "not enough information"
LABELS = {  # what else is understood by each
    SUPPORTED: ("supports", "true"),
    REFUTED: ("refutes", "false"),
    TOO_LITTLE: ("not enough info", "nei", UNKNOWN),
}


class FactSource(PlayedOut):
    """What questions and claims share: a stream without end, by split and index, played by searching."""

    level: int

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def home(self) -> searched:
        return searched(most=TURNS)

    def size(self, split: Split) -> int | None:
        return None

    def get(self, split: Split, index: int) -> Task:
        draw = random.Random(derive(self.name, self.level, split, index))
        return self.make(f"{self.level}-{split}-{index}", split, draw)

    def make(self, name: str, split: Split, draw: random.Random) -> Task:
        raise NotImplementedError

    def check(self, task: Task, completion: str) -> float | None:
        """By the answer alone, where it is unknown what its author was shown."""
        move = read_move(completion)
        given = move.text if move is not None and move.kind == "answer" else ""
        return float(judged(task, read_cited(given))["goal"])

    def check_track(self, task: Task, track: Mapping[str, Any]) -> float | None:
        """As the episode went; in an environment without a goal, by the answer."""
        goal = super().check_track(task, track)
        return goal if goal is not None else self.check(task, track["completion"])

    def solution(self, task: Task) -> str:
        """The last turn of one who has looked."""
        return f"= {task.answer}{_citations(task)}"

    def near_misses(self, task: Task, draw: random.Random) -> list[NearMiss]:
        """Answers that look right and are not, the kinds of error that a search leads to."""
        cited = _citations(task)
        misses = [NearMiss(f"= {wrong}{cited}", kind, 0) for kind, wrong in task.meta["misses"].items()]
        if cited:
            misses.append(NearMiss(f"= {task.answer}", "nothing cited", 0))
            misses.append(NearMiss(f"= {task.answer}{cited.rpartition(' ')[0]}", "one document too few", 0))
        return misses


def _citations(task: Task) -> str:
    return "".join(f" [{one}]" for one in task.meta["relevant"]) if task.meta.get("cite") else ""


def _meta(puzzle: Puzzle) -> dict[str, Any]:
    return {
        "documents": [list(document) for document in puzzle.documents],
        "relevant": list(puzzle.relevant),
        "gold": list(puzzle.queries),
        "misses": dict(puzzle.misses),
        "shape": puzzle.shape,
    }


@part
class hops(FactSource):
    """Questions about a made-up world that take 1 to 4 documents: "what is the birthplace of the founder of norvex?" Played in
    `searched()`, over the 6 to 80 documents that each problem brings along.

    Level 1 has one hop, 2 two, 4 three, 7 four. From 3 on (but at 4) some compare: "whichever of norvex and drelco was founded
    first". At 4 and from 6 on things have two names; from 5 on documents disagree, and the prompt says whether the newer one or
    a register is right; at 4, 6 and 8 one in six has no answer: "not known" is right of who was shown where it would stand.

    >>> import guerdon as gd
    >>> source = gd.envs.hops(level=2)
    >>> task = source.get("train", 0)
    >>> task.prompt, task.answer, len(task.meta["documents"])
    ('who is the monarch of the country of zalkeford?', 'griran brevura', 10)
    >>> task.meta["gold"], gd.check_env(source, episodes=4)["goals"]
    (['zalkeford land', 'haldazara monarch'], 4)
    """

    level: int = knob(default=1, ge=1, le=len(SETTINGS))

    def make(self, name: str, split: Split, draw: random.Random) -> Task:
        setting = SETTINGS[self.level - 1]
        puzzle = make_puzzle(self.level, split, draw, setting.unknown and draw.random() < UNKNOWN_SHARE)
        lines = [f"{'who' if puzzle.kind == 'person' else 'what'} is {puzzle.asked}?"]
        lines += [RULES[puzzle.rule]] if puzzle.rule else []
        lines += [f"if no document says it, the answer is: {UNKNOWN}."] if setting.unknown else []
        meta = _meta(puzzle)
        if puzzle.answer is None:
            answer, meta["must_see"] = UNKNOWN, list(puzzle.relevant)
        else:
            answer, meta["aliases"] = puzzle.answer.name, [puzzle.answer.alias] if puzzle.answer.alias else []
            if setting.unknown:
                meta["misses"]["given up"] = UNKNOWN
        return Task(name, "\n".join(lines), answer, self.name, self.level, meta)


@part
class claims(FactSource):
    """Claims about a made-up world to be judged from its documents, in the three labels of FEVER (Thorne et al., NAACL 2018):
    supported, refuted, not enough information; 2 : 2 : 1. Played in `searched()`; levels as those of `hops`.

    An answer names the label and cites all the documents of the chain, `= refuted [d3] [d7]`, and at most one besides; those
    that were not shown count for nothing. For "not enough information" nothing has to be cited, but the documents in which
    it would stand must have been shown. So a label alone is never enough; FEVER's own score takes up to five citations.

    >>> import guerdon as gd
    >>> task = gd.envs.claims(level=1).get("train", 1)
    >>> print(task.prompt)
    claim: the teacher of dinpos bunzek is manlan vunbek.
    supported, refuted or not enough information? nobody has two employers, nothing two founders.
    >>> task.answer, task.meta["relevant"]
    ('refuted', ['d3'])
    """

    level: int = knob(default=1, ge=1, le=len(SETTINGS))

    def make(self, name: str, split: Split, draw: random.Random) -> Task:
        label = draw.choices(tuple(LABELS), (2, 2, 1))[0]
        puzzle = make_puzzle(self.level, split, draw, unknown=label == TOO_LITTLE)
        wrong = [one for kind, one in puzzle.misses.items() if kind != "on the way"]
        stated = puzzle.named if label == SUPPORTED else draw.choice(wrong)
        lines = [f"claim: {puzzle.asked} is {stated}."]
        lines += [f"{SUPPORTED}, {REFUTED} or {TOO_LITTLE}? nobody has two employers, nothing two founders."]
        lines += [RULES[puzzle.rule]] if puzzle.rule else []
        meta = _meta(puzzle) | {"aliases": list(LABELS[label]), "cite": label != TOO_LITTLE}
        meta["misses"] = {f"said {other}": other for other in LABELS if other != label}
        if label == TOO_LITTLE:
            meta["must_see"] = list(puzzle.relevant)
        return Task(name, "\n".join(lines), label, self.name, self.level, meta)
