"""Problems by forecast: a model predicts from the prompt the mean reward of its tries.

Both halves are here: choosing by the forecast, and the rows that teach the model to make it.
A prompt is read alone, without an answer, in both.
Leaves out: the loss (`losses.reward_modelling.outcome`) and the model's head (`lm(value=True)`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column
from guerdon.core.episode import Episode, Segment
from guerdon.core.errors import UserError, unknown
from guerdon.core.field_columns import FieldColumns, Needs
from guerdon.core.levels import gather_up
from guerdon.core.model import Model
from guerdon.core.pack import pack
from guerdon.core.part import knob, live, part, state
from guerdon.core.play import Play
from guerdon.core.task import Ask, Task
from guerdon.curricula.plain import EpochSampler
from guerdon.models.probing import probe

ROLE = "reader"  # of a prompt's row: no seat, for no role acts there


@part
class predicted:
    r"""Of `times` $\cdot n$ problems the $n$ whose forecast $V(x)$ is nearest to `target`, `tries` tries each.

    $V$ is the output of the head of `model` at the end of a prompt. PCL (Gao et al. 2025, arXiv:2510.01135) aims at problems
    that are solved half of the time, for there tries differ most. Candidates are read in one pass and no word is sampled:
    **that pass over** `times` $\cdot n$ **prompts is in no count of tokens**, only in the time a step takes. Candidates that
    are not chosen are passed over (of a finite set, until they come round again); one that occurs twice is taken a
    second time only where there is nothing else.

    Forecasts that are all the same, as a fresh head's are, choose nothing: the candidates are then taken in order. Before
    the model has learned the general level, it takes what is forecast highest (below `target`), which is the easiest.

    Logs of the candidates `forecast/mean`, `forecast/std` and, where there are several kinds of problems, the mean of each
    (`forecast/countdown:3`); of the chosen `forecast/chosen`; and once their tries have a mean of `column`,
    `forecast/error` (the mean absolute gap to it) and `forecast/correlation`. The last is over the chosen, who were chosen
    for being alike: it is far below what it would be over all candidates. With `times=1` nothing is chosen, and it is whole.

    Args:
        task: where problems come from.
        tries: tries at each problem.
        model: name of the forecaster.
        column: column that it forecasts.

    >>> import guerdon as gd
    >>> gd.curricula.predicted(task=None, times=4).target
    0.5
    """

    task: Any
    tries: int = knob(default=8, ge=1)
    model: str = "forecaster"
    times: int = knob(default=4, ge=1)  # the paper's k
    target: float = 0.5  # the paper's tau
    column: str = "correct"

    drawn: int = state(default=0)
    laps: EpochSampler | None = live()

    def draw(self, n: int, play: Play) -> list[Ask]:
        if self.laps is None or self.laps.source is not self.task:
            self.laps = EpochSampler(self.task)
        tasks = [self.laps.task(self.drawn + i, play.seed) for i in range(self.times * n)]
        self.drawn += len(tasks)
        forecast = forecasts([Ask(task) for task in tasks], self.model, play)
        chosen = nearest(tasks, forecast, play.at(self.target), n)
        self._log(tasks, forecast, chosen, play)
        return [Ask(tasks[i], self.tries, note={"forecast": forecast[i]}) for i in chosen]

    def _log(self, tasks: Sequence[Task], forecast: Sequence[float], chosen: Sequence[int], play: Play) -> None:
        kinds: dict[str, list[float]] = defaultdict(list)
        for task, value in zip(tasks, forecast, strict=True):
            kinds[task.kind].append(value)
        by_kind = {f"forecast/{kind}": float(np.mean(values)) for kind, values in sorted(kinds.items())}
        play.log(
            **{
                "forecast/mean": float(np.mean(forecast)),
                "forecast/std": float(np.std(forecast)),
                "forecast/chosen": float(np.mean([forecast[i] for i in chosen])),
            },
            **(by_kind if len(by_kind) > 1 else {}),
        )

    def observe(self, batch: Batch, play: Play) -> None:
        """Compare the forecasts with the outcomes."""
        asks, rate = ask_rates(batch, self.column)
        pairs = [
            (ask.note["forecast"], r) for ask, r in zip(asks, rate.tolist(), strict=True) if "forecast" in ask.note
        ]
        predicted_rate, seen = np.array([p for p in pairs if p[1] == p[1]]).reshape(-1, 2).T
        if not len(predicted_rate):
            return
        play.log(**{"forecast/error": float(np.abs(predicted_rate - seen).mean())})
        if predicted_rate.std() > 0 and seen.std() > 0:
            play.log(**{"forecast/correlation": float(np.corrcoef(predicted_rate, seen)[0, 1])})


@part
class prompts_alone(FieldColumns):
    """The prompts of a step as rows to learn from: one track for each ask, without an answer, and as its column `rate`
    the mean of what its tries have in `column`. A prompt none of whose tries has a value teaches nothing.

    For `Learn(model, outcome("rate"), on=prompts_alone())`: a model trained so predicts from the prompt the mean outcome
    of this step's policy. Unbiased for the prompts it is shown, and those are the chosen ones.

    Args:
        model: name of the forecaster.
        column: column of the outcome.

    >>> import guerdon as gd
    >>> gd.curricula.prompts_alone().gives
    ('rate',)
    """

    model: str = "forecaster"
    column: Needs = "correct"

    gives = ("rate",)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        asks, rate = ask_rates(batch, self.column)
        there = torch.nonzero(~torch.isnan(rate)).flatten().tolist()
        rows = prompt_rows([asks[i] for i in there], self.model, play)
        return rows.with_cols({"rate": Column.full("track", rate[there])})


def nearest(tasks: Sequence[Task], forecast: Sequence[float], target: float, n: int) -> list[int]:
    """The places of the `n` problems whose forecast is nearest to `target`, in the order they were read in. Of equals the
    first; one that was there before comes after all that were not."""
    seen: set[str] = set()
    order = []
    for i, task in enumerate(tasks):
        order.append((task.key in seen, abs(forecast[i] - target), i))
        seen.add(task.key)
    return sorted(i for _, _, i in sorted(order)[:n])


def forecasts(asks: Sequence[Ask], model: str, play: Play) -> list[float]:
    """The output of a model's head at the end of each prompt. Nothing is sampled."""
    readings = probe(_forecaster(model, play), [((), ask.shown, None) for ask in asks], ["final"])
    if None in readings:
        raise UserError(
            f"prompt {readings.index(None)} is longer than the context of {model!r}: leave out long problems"
        )
    return [float(each["final"].double()) for each in readings if each]


def _forecaster(model: str, play: Play) -> Model:
    if model not in play.models:
        raise unknown("model that forecasts", model, play.models)
    if "final" not in play.models[model].readings(play.models):
        raise UserError(f"{model!r} has no value at the end of a prompt: give it a value head (lm(value=True))")
    return play.models[model]


def prompt_rows(asks: Sequence[Ask], model: str, play: Play) -> Batch:
    """A track for each ask: its prompt as the model reads it, and no action."""
    reader = _forecaster(model, play)
    none, no_logp = np.zeros(0, np.int64), np.zeros(0, np.float32)
    return pack(
        Episode(ask, (Segment(ROLE, ask.shown, reader.encode(ask.shown), none, no_logp),), play.step, number)
        for number, ask in enumerate(asks)
    )


def ask_rates(batch: Batch, column: str) -> tuple[list[Ask], Tensor]:
    """The asks of a batch, and the mean of each one's tries in a track column: NaN where none has a value."""
    asks: dict[int, Ask] = {}
    for number, episode in zip(batch.ask_E.tolist(), batch.episodes, strict=True):
        asks.setdefault(number, episode.ask)
    value = batch.track_column(column, "a prompt's rate")
    group = batch.ask[batch.leaf]
    return [asks[i] for i in sorted(asks)], gather_up(value.value, group, len(asks), "mean")
