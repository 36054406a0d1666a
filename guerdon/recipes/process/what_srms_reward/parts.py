"""Steps of two parts, a thought in words and an equation, and what a step reward model is shown of them.

Leaves out: whose steps they are and what they are worth (`recipe.py`).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from statistics import fmean
from typing import Any, Literal

import torch

from guerdon.core.batch import Batch, Pairs
from guerdon.core.pack import pack
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.core.step_reductions import Reduction
from guerdon.core.task import Ask
from guerdon.envs.contrasting import side_by_side
from guerdon.envs.simple import single_turn
from guerdon.exams.exam import TRUTH, Exam, Sitting
from guerdon.exams.rates import accuracy, tokens_spent
from guerdon.search.beams import beam
from guerdon.search.line_tree import LineTree, TreeLine
from guerdon.select.pairs import step_pairs

Sees = Literal["full", "equations", "thoughts", "step"]
Spoilt = Literal["", "thoughts", "equations"]
ALONE = "step"  # what stands in the place of a problem that is not shown
THOUGHTS = (
    "open the brackets",
    "add up the numbers",
    "bring x to one side",
    "bring the number over",
    "divide by what stands before x",
    "so the answer is",
    "work it out",
)


def thought(line: str, before: str) -> str:
    """What a line sets out to do, in words: a plan, which says nothing about whether the line is right."""
    if line.startswith("="):
        return "so the answer is"
    left, _, right = line.partition("=")
    terms = len(re.findall(r"\d+x|\d+|x", left))
    if "x" not in line or not right:
        return "work it out"
    if left == "x":
        return "divide by what stands before x"
    if terms > 2:
        return "open the brackets"
    if "x" in before.partition("=")[2] and "x" not in right:
        return "bring x to one side"
    return "add up the numbers" if terms == 2 else "bring the number over"


def told(text: str, sees: Sees, spoil: Spoilt = "") -> str:
    """The lines of an unfinished answer as a scorer is shown them. `spoil` puts other thoughts in the place of all, or other
    digits into the equations before the last."""
    lines = [line for line in text.split("\n") if line.strip()]
    words = [thought(line, before) for line, before in zip(lines, ["", *lines], strict=False)]
    if spoil == "thoughts":
        words = [THOUGHTS[(THOUGHTS.index(w) + 1 + i) % len(THOUGHTS)] for i, w in enumerate(words)]
    if spoil == "equations":
        lines = [re.sub(r"\d", lambda d: str((int(d.group()) + 3) % 10), line) for line in lines[:-1]] + lines[-1:]
    if sees == "step":
        return lines[-1] if lines else ""
    if sees == "thoughts":
        return "\n".join(words)
    return "\n".join(lines if sees == "equations" else [f"{w}\n{line}" for w, line in zip(words, lines, strict=True)])


def shown(ask: Ask, sees: Sees) -> Any:
    """The problem, unless a step is judged alone."""
    return ALONE if sees == "step" else ask.shown


@part
class retold_pairs:
    """The step preferences of trees (`step_pairs`), each told to a scorer in its own way: two recited texts a pair, for
    `Learn(on=...)`. A step is a line: siblings that went on to the end are worth what one try came to, and make no pair. Pairs
    that say the same are left out, whatever the scorer sees of them, so that every way of telling has the same pairs."""

    sees: Sees = "full"
    column: str = TRUTH
    least: float = knob(default=0.5, gt=0.0)
    spoil: Spoilt = ""

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.column,)

    gives = ("pairs",)
    shelf = "select"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        pairs = preferred(batch, play, self.column, self.least)
        asks = [
            Ask(
                ask.task,
                prompt=str(shown(ask, self.sees)),
                note={"say": [told(t, self.sees, self.spoil) for t in both]},
            )
            for ask, both in pairs
        ]
        said = pack(play(asks, side_by_side())) if asks else pack([])
        ends = torch.arange(said.K).reshape(-1, 2)
        return dataclasses.replace(said, pairs=Pairs.of(ends[:, 0], ends[:, 1])).recount()


def preferred(batch: Batch, play: Play, column: str, least: float) -> list[tuple[Ask, tuple[str, str]]]:
    """Of each step preference of the trees the ask, and the better and the worse text up to the step."""
    made = step_pairs(column, least=least, which="extremes")(batch, play)
    assert made.pairs is not None
    ends = zip(made.pairs.better.tolist(), made.pairs.worse.tolist(), strict=True)
    asks = [made.episodes[e].ask for e in made.episode[made.leaf].tolist()]
    both = [(asks[a], (_text(made, a), _text(made, b))) for a, b in ends]
    return [(ask, (better, worse)) for ask, (better, worse) in both if better and worse and better != worse]


def _text(batch: Batch, track: int) -> str:
    """What a track says up to its last segment, which is a line; empty where it is more."""
    path = batch.path_seg[batch.path_track == track].tolist()
    said = [batch.episodes[int(batch.episode[g])].segments[int(batch.place[g])].text for g in path]
    return "" if "\n" in said[-1].strip() else "".join(said).rstrip("\n")


@part
class told_to:
    r"""$\sigma(w \cdot h + b)$ after a way that is told as `sees` says: a scorer for searches that reads `model`."""

    model: str = "srm"
    sees: Sees = "full"
    reduce_steps: Reduction = knob(default="last", was="along")

    async def steps(self, tree: LineTree, lines: Sequence[TreeLine]) -> list[float]:
        return await self.texts(tree, [line.text for line in lines])

    async def texts(self, tree: LineTree, texts: Sequence[str]) -> list[float]:
        name = f"{self.model}.final"
        read = await tree.seat.read_texts(name, shown(tree.ask, self.sees), [told(t, self.sees) for t in texts])
        return [float(torch.sigmoid(r[name].double())) for r in read]


@part
class step_choice:
    """How often the scorer `model` gives the better of two steps the higher number, a tie counting half: `choice`, as it was
    taught; `choice_other_words` with other thoughts in the place of all; `choice_other_numbers` with other digits in the
    equations before the step; and `pairs_examined`."""

    model: str = "srm"
    sees: Sees = "full"
    least: float = knob(default=0.5, gt=0.0)

    needs = (TRUTH,)

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        numbers: dict[str, Any] = {"pairs_examined": 0}
        spoils: dict[str, Spoilt] = {"": "", "_other_words": "thoughts", "_other_numbers": "equations"}
        for name, spoil in spoils.items():
            batch = retold_pairs(self.sees, TRUTH, self.least, spoil)(sitting.batch, sitting.play)
            if not batch.K:
                continue
            score = sitting.play.models[self.model].read(batch, ["final"])["final"].double().cpu().reshape(-1, 2)
            hits = [0.5 if a == b else float(a > b) for a, b in score.tolist()]
            numbers |= {f"choice{name}": fmean(hits), "pairs_examined": len(hits)}
        return numbers


def choosing_exams(task: Any, tree: Any, model: str, sees: Sees, least: float, ways: int, tasks: int) -> list[Exam]:
    """Held-out pairs of steps, as they are and spoilt; the greedy search that the model guides, and plain tries beside it."""
    guided = beam(width=1, branch=ways, scorer=told_to(model, sees), keep="chosen")
    return [
        Exam(task, [step_choice(model, sees, least)], env=tree, name="steps", tasks=tasks, tries=1),
        Exam(task, [accuracy(), tokens_spent()], env=guided, name="greedy", tasks=tasks, tries=1),
        Exam(task, [accuracy()], env=single_turn(), name="plain", tasks=tasks),
    ]
