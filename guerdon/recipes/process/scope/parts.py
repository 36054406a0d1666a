"""SCOPE's own parts: failed tries that are put right from their first wrong line on, and the loss of what they did not say.

Leaves out: who finds the wrong line (`true_lines`, or a process reward model, through `score`).
Axes: S steps, K tracks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column
from guerdon.core.episode import Episode, Segment
from guerdon.core.extra_play import check_scores
from guerdon.core.field_columns import ColumnField, FieldColumns, Gives, Needs
from guerdon.core.pack import cat, pack
from guerdon.core.part import knob, label, part
from guerdon.core.play import Play
from guerdon.core.task import Task
from guerdon.credit.track_steps import with_step_column
from guerdon.losses.reduce import Mean, average, numbers, reduce
from guerdon.losses.terms import Term
from guerdon.rewards.stage.step_labels import line_ends
from guerdon.tasks.family import Family, write_solution
from guerdon.tasks.stepwise import by_steps

NOTE = "salvaged"  # of an ask: how many lines of the try were its own


@part
class salvage(FieldColumns):
    """Every try with a `column` of 0 or less once more, the same up to its first wrong line and right from there on; it joins
    the tries at its problem.

    The first wrong line is the first that scored below `least` in `judged`, a score that comes in
    lines. What follows is the family's own worked solution from there (`teacher=""`), or what the model `teacher` says when it
    goes on from there. With `keep=False` nothing is kept: the whole is the solution, or the teacher's. What is still wrong
    is dropped. Steps of the policy keep the log-probs they were sampled with; the others have 0, as if said for certain, and
    stand in column `gives_to` as 1. New words count in the budget, kept ones have been counted.

    Tries of several turns, and those in which no line is wrong, are left alone. Logs `salvage/failed` (the share of tries
    that failed), `salvage/joined` (the share of those that were put right), `salvage/kept` (lines kept, on average) and
    `salvage/alone` (the mean of `column` without them).

    SCOPE (Ren et al. 2026, arXiv:2602.24110). *Biased* on purpose: nobody sampled what is learned.

    >>> import guerdon as gd
    >>> task = gd.tasks.load("equation:2")
    >>> stage = salvage(task, [gd.rewards.verified(task)])
    >>> stage.needs, stage.gives
    (('correct', 'judged'), ('correct', 'off'))
    """

    task: Any
    scores: Annotated[list[Any], ColumnField("gives")]
    teacher: str = ""
    keep: bool = True
    column: Needs = "correct"
    judged: Needs = "judged"
    least: float = 0.5
    gives_to: Gives = "off"

    shelf = "select"

    def __post_init__(self) -> None:
        check_scores(self.scores, label(self))
        if not self.teacher:
            by_steps(self.task)  # refuses what knows no worked solutions in lines

    def __call__(self, batch: Batch, play: Play) -> Batch:
        tried, failed = batch[self.column], torch.nonzero(batch[self.column] <= 0).flatten().tolist()
        ends = line_ends()(batch, play)["line_ends"]
        kept = {k: places for k in failed if (places := self._kept(batch, k, ends)) is not None}
        episodes = self._taught(batch, kept, play) if self.teacher else self._recited(batch, kept, play)
        more = pack(episodes)
        for stage in self.scores:
            more = stage(more, play)
        more = more.take(more[self.column] > 0) if more.K else more
        off = _said_for_certain(more)
        lines = [float(more.episodes[e].ask.note[NOTE]) for e in more.episode[more.leaf].tolist()]
        logged = {"failed": len(failed) / max(batch.K, 1), "alone": float(tried.nanmean())}
        if failed:
            logged["joined"] = more.K / len(failed)
        if lines:
            logged["kept"] = sum(lines) / len(lines)
        play.log(**{f"salvage/{name}": value for name, value in logged.items()})
        batch = batch.with_cols({self.gives_to: Column.full("step", torch.zeros(batch.S))})
        return cat([batch, more.with_cols({self.gives_to: Column.full("step", off)})]) if more.K else batch

    def _kept(self, batch: Batch, track: int, at_ends: Tensor) -> list[int] | None:
        """The ends of a failed try's lines before the first wrong one, as numbers of steps in it; None where none is wrong."""
        episode = batch.episodes[int(batch.episode[batch.leaf[track]])]
        if len(episode.segments) != 1 or episode.segments[0].given:
            return None
        ends = torch.nonzero(~torch.isnan(at_ends[batch.steps_by_track()[track]])).flatten().tolist()
        scores = (batch.cols[self.judged].detail.get(track) or {}).get("steps", [])
        wrong = next((i for i, said in enumerate(scores) if said < self.least), None)
        if wrong is None or len(scores) != len(ends):
            return None
        return ends[: wrong if self.keep else 0]

    def _recited(self, batch: Batch, kept: Mapping[int, Sequence[int]], play: Play) -> list[Episode]:
        episodes = []
        for k, ends in kept.items():
            old = batch.episodes[int(batch.episode[batch.leaf[k]])]
            (said,) = old.segments
            own = [line.strip() for line in said.text.split("\n") if line.strip()][: len(ends)]
            text = way_on(by_steps(self.task), old.task, own)
            if text is None:
                continue
            model = play.models[old.ask.seated(play.seats)[said.role]]
            reply = model.teacher_force(said.view, text)
            same = _common(said.actions[: ends[-1] + 1 if ends else 0], reply.actions)
            model.meter.tokens += len(reply.actions) - same
            new = Segment(said.role, said.view, reply.context, reply.actions, reply.logp, text, sampling=said.sampling)
            episodes.append(_joined(old, new, same, len(ends)))
        return episodes

    def _taught(self, batch: Batch, kept: Mapping[int, Sequence[int]], play: Play) -> list[Episode]:
        olds = [batch.episodes[int(batch.episode[batch.leaf[k]])] for k in kept]
        places = [ends[-1] + 1 if ends else 0 for ends in kept.values()]
        asks = [
            old.ask.but(
                n=1, prefix=old.prefix(0, place), seats={**(old.ask.seats or {}), old.segments[0].role: self.teacher}
            )
            for old, place in zip(olds, places, strict=True)
        ]
        played = play(asks) if asks else []
        return [
            _joined(old, new.segments[0], place, len(ends))
            for old, new, place, ends in zip(olds, played, places, kept.values(), strict=True)
            if new.segments and not new.failed
        ]


def way_on(family: Family, task: Task, lines: Sequence[str]) -> str | None:
    """A whole right solution that begins with these lines: the worked solution goes on after the last of them that it has, or
    after as many as there are, or wherever it follows. None where it follows nowhere.

    >>> import guerdon as gd
    >>> family = gd.tasks.equation(level=2)
    >>> way_on(family, family.get("train", 0), ["9x+12=48", "9x=36"])  # which is 9x+12=48
    '9x+12=48\\n9x=36\\nx=4\\n= 4'
    """
    gold = family.steps(task)
    last = gold.index(lines[-1]) + 1 if lines and lines[-1] in gold else len(lines)
    for start in dict.fromkeys([min(last, len(gold)), *range(min(last, len(gold)), len(gold) + 1), *range(last)]):
        steps = [*lines, *gold[start:]]
        text = write_solution(steps, task.answer)
        if family.first_wrong(task, steps) is None and family.check(task, text) == 1.0:
            return text
    return None


def _common(kept: Any, recited: Any) -> int:
    """How many of the kept actions are recited too, from the first on."""
    most = min(len(kept), len(recited))
    differs = np.nonzero(np.asarray(kept[:most]) != np.asarray(recited[:most]))[0]
    return int(differs[0]) if len(differs) else most


def _joined(old: Episode, new: Segment, own: int, lines: int) -> Episode:
    """A try as if the policy had said all of `new`: its first `own` actions with the log-probs of the old one, the rest for
    certain."""
    logp = np.concatenate([old.segments[0].logp[:own], np.zeros(len(new.actions) - own, np.float32)])
    ask = old.ask.but(note={**old.ask.note, NOTE: lines})
    segment = new.but(given=0, logp=logp, parent=-1)
    return Episode(ask, (segment,), old.step, old.number, old.ask.n + old.attempt, {**old.info, "own": own}, old.seed)


def _said_for_certain(batch: Batch) -> Tensor:
    """[S] 1 at the steps that were not the policy's own."""
    off = torch.zeros(batch.S)
    for k, steps in enumerate(batch.steps_by_track()):
        off[steps[batch.episodes[int(batch.episode[batch.leaf[k]])].info["own"] :]] = 1.0
    return off


@part
class parted(FieldColumns):
    r"""$A = A_{on} + A_{off}$: an advantage in two, that of steps which the policy sampled, and that of steps which it did not
    (1 in `at`), each 0 where the other is.

    *Assumes* that `at` says so of every step. Unbiased where the advantage is: nothing is changed, only parted, so that the two
    can be learned from by losses of their own (`clipped` and `shaped`). No paper: SCOPE writes its two losses apart.

    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = example_tries([[1.0, 0.0]], advantage=[2.0, -1.0], off=[1.0, 0.0])
    >>> batch = parted()(batch, ExamplePlay())
    >>> batch["on_advantage"].tolist(), batch["off_advantage"].tolist()
    ([0.0, -1.0], [2.0, 0.0])
    """

    advantage: Needs = "advantage"
    at: Needs = "off"
    on_to: Gives = "on_advantage"
    off_to: Gives = "off_advantage"

    shelf = "credit"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column, off = batch.cols[self.advantage], batch[self.at] > 0
        batch = with_step_column(batch, self.on_to, torch.where(off, 0.0, column.value), column)
        return with_step_column(batch, self.off_to, torch.where(off, column.value, 0.0), column)


@part
class shaped(Term):
    r"""$-A\,f(\pi)$ with $f(x) = x / (x + \gamma)$: the pull on a step that somebody else said for certain.

    LUFFY's policy shaping (Yan et al. 2025, arXiv:2504.14945; `gamma=0.1` is theirs): the ratio to one who is certain is the
    policy's own probability, which pulls least at what the policy finds least likely; $f'(x) = \gamma/(x+\gamma)^2$ gives
    that back. No clip. *Assumes* that whoever said the step was certain of it. *Biased*: neither importance weight nor
    imitation. Notes `off_probability`, the mean of $\pi$ there, times the share of such steps.

    >>> import torch
    >>> from guerdon.core.example import example_tries
    >>> batch = example_tries([[1.0, 0.0]], off_advantage=[1.0, 0.0])
    >>> round(float(shaped()(batch, {"logp": torch.tensor([0.1, 0.5]).log()})[0]), 4)  # -(0.1 / 0.2) / 2
    -0.25
    """

    gamma: float = knob(default=0.1, ge=0.0)
    mean: Mean = "track"
    constant: float = knob(default=1.0, gt=0.0)
    advantage: str = "off_advantage"

    wants = ("logp",)

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.advantage,)

    def silent(self, batch: Batch) -> Tensor:
        """[K] tracks without such a step."""
        return batch.up((numbers(batch, self.advantage) * batch.weight != 0).double(), "track") == 0

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        advantage, chance = numbers(batch, self.advantage), live["logp"].exp()
        noted = {"off_probability": average(torch.where(advantage != 0, chance.detach(), 0.0), batch)}
        return reduce(-advantage * chance / (chance + self.gamma), batch, self.mean, self.constant), noted
