"""Labels for the lines of tries by playing on from them: what share of new tries that begin so ends well.

Leaves out: labels that a step checker finds out (`step_truth.py`) or a file gives (`labels_in_rows.py`).
"""

from __future__ import annotations

from typing import Any

import torch

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.extra_play import check_scores, play_scored
from guerdon.core.field_columns import FieldColumns, Gives
from guerdon.core.levels import starts
from guerdon.core.part import knob, label, part
from guerdon.core.play import Play, players
from guerdon.core.task import Ask
from guerdon.rewards.model.model_reading import SampleTokens


@part
class rollout_labels(FieldColumns):
    r"""A step column: on the last token of each line the mean score of `tries` new tries that go on from there, and on
    that of the last line the score of the track itself (Math-Shepherd's soft labels, Wang et al. 2023, arXiv:2312.08935).

    `score` is the stage that scored the tracks; it scores the new tries too, which are played in the recipe's environment
    by whoever holds the seat, and count in the budget: `tries` for each line but the last of each track. What a label
    estimates is the chance to end well after a line, and not whether it is right: a wrong line that is mended later is
    worth as much as a right one. Unbiased for that chance, of the policy that plays on. Assumes tracks of one turn that
    do not branch. A place none of whose tries has a score has no label; nor has a track without one. Logs `NAME/places`.

    >>> import guerdon as gd
    >>> stage = gd.rewards.rollout_labels(gd.rewards.verified(gd.tasks.load("chain:2")), tries=2)
    >>> stage.needs, stage.gives
    (('correct',), ('labels',))
    """

    score: Any
    tries: int = knob(default=4, ge=1)
    gives_to: Gives = "labels"

    def __post_init__(self) -> None:
        check_scores([self.score], label(self))

    @property
    def needs(self) -> tuple[str, ...]:
        return (str(self.score.gives[0]),)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        own, value = batch.cols[self.needs[0]], torch.full((batch.S,), float("nan"))
        places, asks = [], []
        tokens, names = SampleTokens(play, batch, torch.arange(batch.K), own=True), players(batch, play)
        begin = starts(batch.length).tolist()
        for k, steps in enumerate(tokens.steps()):
            if not len(steps) or bool(own.missing[k]):
                continue
            leaf = int(batch.leaf[k])
            if int(batch.seg[steps[0]]) != leaf:
                raise UserError("rollout_labels plays on from the lines of one turn, and a track here has several")
            *lines, last = [int(piece[-1]) for piece in tokens.cut(steps, "line", names[k])]
            value[last] = own.value[k]
            episode = batch.episodes[int(batch.episode[leaf])]
            for end in lines:
                places.append(end)
                prefix = episode.prefix(int(batch.place[leaf]), end + 1 - begin[leaf])
                asks.append(_again(episode.ask, episode.segments[0].sampling, self.tries).but(prefix=prefix))
        played = play_scored(asks, [self.score], play)
        for number, mean in _means(played, self.needs[0]).items():
            value[places[number]] = mean
        play.log(**{f"{self.gives_to}/places": float(len(places))})
        reason = torch.where(value.isnan(), int(Reason.NOT_APPLICABLE), int(Reason.VALUE)).to(torch.int8)
        return batch.with_cols({self.gives_to: Column("step", value, reason)})


def _again(ask: Ask, sampling: Any, tries: int) -> Ask:
    return ask.but(n=tries, sampling=ask.sampling or sampling)


def _means(played: Batch, name: str) -> dict[int, float]:
    """The mean score of the tries at each ask that has any."""
    if not played.K:
        return {}
    by_ask: dict[int, list[float]] = {}
    column, ask = played.cols[name], played.ask[played.leaf].tolist()
    for k, (number, missing) in enumerate(zip(ask, column.missing.tolist(), strict=True)):
        if not missing:
            by_ask.setdefault(number, []).append(float(column.value[k]))
    return {number: sum(scores) / len(scores) for number, scores in by_ask.items()}
