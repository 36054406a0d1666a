"""Labels for the steps of solutions, to train and evaluate process reward models on: from a checker, a file, or rollouts.

A task's step checker labels lines; a file of rows has labels of its own; where only answers are checked, rollouts from each
line estimate them (Monte Carlo labels).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from guerdon.core.batch import ENDS, Batch
from guerdon.core.column import Column, Reason
from guerdon.core.episode import End
from guerdon.core.errors import UserError
from guerdon.core.extra_play import check_scores, means, play_scored
from guerdon.core.field_columns import FieldColumns, Gives
from guerdon.core.levels import starts
from guerdon.core.part import knob, label, part
from guerdon.core.play import Play, players
from guerdon.core.task import Ask
from guerdon.rewards.asking.samples import Roles, Samples, check_roles, each_role
from guerdon.rewards.model.model_reading import SampleTokens
from guerdon.tasks.family import Family
from guerdon.tasks.roles import marks


@part
class line_labels(FieldColumns):
    """A step column: 1 on the last token of every line that follows, 0 on that of the first that does not. No other step
    has a label, and no line after an error: what follows from a wrong line is neither right nor wrong (Lightman et al.
    2023, arXiv:2305.20050, label up to the first error too).

    The answer is a line like any other. A solution that ends without one errs in its last line; of one that was cut short
    the lines that are there are labelled. Truth is the family's, so labels are exact; tracks of other roles have none.

    Args:
        task: the source with the step checker.
        gives_to: column of the labels.
        role: whose tracks are labelled.

    >>> import guerdon as gd
    >>> gd.rewards.line_labels(gd.tasks.chain(level=2)).gives
    ('labels',)
    """

    task: Any
    gives_to: Gives = "labels"
    role: Roles = "policy"

    def __post_init__(self) -> None:
        check_roles(self)
        if not isinstance(self.task, Family):
            name = getattr(self.task, "name", repr(self.task))
            raise UserError(f"{name} has no step checker: choose a generated family (guerdon list tasks)")

    def __call__(self, batch: Batch, play: Play) -> Batch:
        value = torch.full((batch.S,), float("nan"))
        for solution in checked_solutions(batch, self.task, play, self.role):
            for end, right in zip(solution.ends, solution.labels, strict=False):
                value[end] = right
        reason = torch.where(torch.isnan(value), int(Reason.NOT_APPLICABLE), int(Reason.VALUE)).to(torch.int8)
        return batch.with_cols({self.gives_to: Column("step", value, reason)})


@dataclass(frozen=True)
class CheckedSolution:
    """A track as its step checker sees it."""

    track: int
    ends: list[int]  # the step that each line ends on
    labels: list[float]  # of the lines up to the first wrong one, or all
    whole: bool  # False where it was cut short before an error: whether it would have been right is not known

    @property
    def wrong(self) -> int | None:
        """The number of the first wrong line, None where there is none."""
        return self.labels.index(0.0) if 0.0 in self.labels else None


def checked_solutions(batch: Batch, task: Family, play: Play, role: Roles = "policy") -> list[CheckedSolution]:
    """Every track of a role, or several, that did not fail and has a line. Turns are taken together, one below the other."""
    samples = Samples.of_batch(batch, play, role)
    assert samples.track is not None
    tokens, names = SampleTokens(play, batch, samples.track, own=True), players(batch, play)
    cut = (batch.end == ENDS.index(End.CUT))[batch.leaf].tolist()
    solutions = []
    for k, fields, steps in zip(samples.track.tolist(), samples.fields, tokens.steps(), strict=True):
        text = "\n".join(fields["turns"])
        if len(steps) and text.strip():
            ends = [int(piece[-1]) for piece in tokens.cut(steps, "line", names[k] or fields["role"])]
            solutions.append(_checked(k, ends, marks(task, fields["task"], text), cut[k]))
    return solutions


def _checked(track: int, ends: list[int], line_marks: str, cut: bool) -> CheckedSolution:
    """`line_marks` has a mark for the answer even where none came: that one is the last line's, or none's if it was cut."""
    labels = [float(mark == "+") for mark in line_marks]
    missing = len(labels) > len(ends)
    labels = labels[: len(ends)]
    if missing and not cut:
        labels[-1] = 0.0
    return CheckedSolution(track, ends, labels, whole=not (missing and cut))


@part
class given_labels(FieldColumns):
    """A step column: the label of every step of a solution (`meta["steps"]`, `meta["labels"]`) on the step's last token, up to
    the first wrong one. One whose label is neither has none, and so have all other tokens.

    Steps are distinguished by the lines that they take. A track with another text than its task's solution has no labels.

    Args:
        gives_to: column of the labels.
        role: whose tracks are labelled.

    >>> import guerdon as gd
    >>> gd.rewards.given_labels().gives
    ('labels',)
    """

    gives_to: Gives = "labels"
    role: Roles = "policy"

    def __post_init__(self) -> None:
        check_roles(self)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        value = torch.full((batch.S,), float("nan"))
        for solution in labelled_solutions(batch, play, self.role):
            for end, right in zip(solution.ends, solution.labels, strict=False):
                value[end] = right
        reason = torch.where(torch.isnan(value), int(Reason.NOT_APPLICABLE), int(Reason.VALUE)).to(torch.int8)
        return batch.with_cols({self.gives_to: Column("step", value, reason)})


def labelled_solutions(batch: Batch, play: Play, role: Roles = "policy") -> list[CheckedSolution]:
    """Every track that recites a solution with labels: NaN where the label is neither right nor wrong."""
    samples = Samples.of_batch(batch, play, role)
    assert samples.track is not None
    tokens, names = SampleTokens(play, batch, samples.track, own=True), players(batch, play)
    solutions = []
    for k, fields, steps in zip(samples.track.tolist(), samples.fields, tokens.steps(), strict=True):
        meta = fields["task"].meta
        if "labels" not in meta or fields["completion"] not in meta["say"]:
            continue
        pieces = tokens.cut(steps, "line", names[k] or fields["role"])
        lines = list(itertools.accumulate(_lines(step) for step in meta["steps"]))
        if lines[-1] != len(pieces):
            play.warn(f"a solution of {lines[-1]} lines is {len(pieces)} to the model's tokens, and has no labels")
            continue
        ends = [int(pieces[line - 1][-1]) for line in lines]
        labels = [math.nan if label is None else float(label) for label in meta["labels"]]
        solutions.append(CheckedSolution(k, ends, labels, whole=True))
    return solutions


def _lines(step: Any) -> int:
    return sum(bool(line.strip()) for line in step.split("\n"))


@part
class line_ends(FieldColumns):
    """A step column: on the last token of every line its number, from 1; no other step has one.

    A line ends where text follows it, so blank lines and the end of an answer belong to the line before. Lines are those of the
    text as the model that acted spells it; a model without text has none, and the run reports that. In a tree a
    step has the number that the last of its tracks gives it; they agree, for they spell the same beginning.

    Args:
        role: whose tracks are numbered.
        gives_to: column of the numbers.

    >>> import guerdon as gd
    >>> gd.rewards.line_ends().gives
    ('line_ends',)
    """

    role: Roles = "policy"
    gives_to: Gives = "line_ends"

    def __post_init__(self) -> None:
        check_roles(self)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        value = torch.full((batch.S,), float("nan"))
        samples = Samples.of_batch(batch, play, self.role)
        assert samples.track is not None
        tokens, names = SampleTokens(play, batch, samples.track, own=True), players(batch, play)
        for k, fields, steps in zip(samples.track.tolist(), samples.fields, tokens.steps(), strict=True):
            for number, line in enumerate(tokens.cut(steps, "line", names[k] or fields["role"]) if len(steps) else ()):
                value[line[-1]] = number + 1
        reason = torch.where(torch.isnan(value), int(Reason.NOT_APPLICABLE), int(Reason.VALUE)).to(torch.int8)
        return batch.with_cols({self.gives_to: Column("step", value, reason)})


@part(was="lines_played_on")
class monte_carlo_labels(FieldColumns):
    r"""A step column: on the last token of each line, whether the answer is found from there, estimated by `tries` rollouts.

    $y_j = \max_i c_i$ over the rollouts $i$ from line $j$: 1 where any of them is right (hard estimation), or with
    `soft` their mean $\bar c$. The last line has the solution's own score. Math-Shepherd (Wang et al. 2023,
    arXiv:2312.08935), which takes 8 tries and hard labels. `score` is the stage that scored the solutions; it scores the
    rollouts too. Every try counts in the budget: `tries` for each line but the last.

    *Assumes* scores of 0 and 1, an environment that does the same again for the same actions, and solutions that do not branch.
    *Biased* for the truth of a line: a policy that repairs errors makes wrong lines right, one that never finds the answer
    makes right lines wrong; and hard labels grow with `tries`. Soft ones are unbiased for the chance to get there.

    A solution without a score gets no rollouts; a line none of whose rollouts has one has no label. `NAME/rollouts` is logged.

    Args:
        score: the stage that scored the solutions.
        tries: rollouts from each line.
        soft: label with their mean score.
        gives_to: column of the labels.
        role: whose tracks are labelled.

    >>> import guerdon as gd
    >>> stage = gd.rewards.monte_carlo_labels(gd.rewards.verified(gd.tasks.chain(level=2)), tries=4)
    >>> stage.needs, stage.gives
    (('correct',), ('labels',))
    """

    score: Any
    tries: int = knob(default=8, ge=1)
    soft: bool = False
    gives_to: Gives = "labels"
    role: Roles = "policy"

    def __post_init__(self) -> None:
        check_roles(self)
        check_scores([self.score], label(self))

    @property
    def needs(self) -> tuple[str, ...]:
        return (str(self.score.gives[0]),)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        if bool((batch.shared > 1).any()):
            raise UserError("monte_carlo_labels branches solutions itself: play them in an environment that does not")
        column = batch.cols[self.needs[0]]
        value = torch.full((batch.S,), float("nan"), dtype=torch.float32)
        reason = torch.full((batch.S,), int(Reason.NOT_APPLICABLE), dtype=torch.int8)
        ends, asks = [], []
        for track, lines in self._lines(batch, play):
            if bool(column.missing[track]):
                continue
            value[lines[-1]], reason[lines[-1]] = column.value[track], int(Reason.VALUE)
            ends += lines[:-1]
            asks += [self._ask(batch, step) for step in lines[:-1]]
        if asks:
            reached, why = self._played(asks, play)
            value[ends] = reached if self.soft else torch.where(reached.isnan(), reached, (reached > 0).float())
            reason[ends] = why
        play.log(**{f"{self.gives_to}/rollouts": float(self.tries * len(asks))})
        return batch.with_cols({self.gives_to: Column("step", value, reason)})

    def _lines(self, batch: Batch, play: Play) -> list[tuple[int, list[int]]]:
        """Of each track of the role that has a line, the steps that its lines end on."""
        ends = ~line_ends(self.role)(batch, play).cols["line_ends"].missing
        each = [(k, steps[ends[steps]].tolist()) for k, steps in enumerate(batch.steps_by_track())]
        return [(k, lines) for k, lines in each if lines]

    def _ask(self, batch: Batch, step: int) -> Ask:
        """Rollouts from a step."""
        segment = int(batch.seg[step])
        episode, place = batch.episodes[int(batch.episode[segment])], int(batch.place[segment])
        at = step - int(starts(batch.length)[segment]) + 1
        how = episode.ask.sampling or episode.segments[0].sampling
        return episode.ask.but(n=self.tries, prefix=episode.prefix(place, at), sampling=how)

    def _played(self, asks: list[Ask], play: Play) -> tuple[Tensor, Tensor]:
        """Of each ask the mean score of its tries, and the reason where there is none."""
        played = play_scored(asks, [self.score], play)
        rows = torch.nonzero(played.tracks_of(each_role(self.role))).flatten()
        value, worst = means(played.cols[self.needs[0]], rows, played.ask[played.leaf][rows], len(asks), Reason.FAILED)
        return value.float(), worst.masked_fill(~torch.isnan(value), 0.0).to(torch.int8)
