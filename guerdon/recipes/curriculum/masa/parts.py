"""Forecasts by the policy of its own success rate, paid by how true they were and used to skip problems: the parts of MASA.

`asked_first` is a curriculum: it asks for forecasts and leaves out problems that they call settled.
`with_forecasts` is a stage: it puts the forecasts beside the tries and pays them.
Both go through `play`, so the tokens of forecasts count in the run's budget.
Leaves out: forecasts by a value head (`curricula/forecast_problems.py`), of lengths, and of the notions that a solution uses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch

from guerdon.core.batch import Batch
from guerdon.core.column import Column
from guerdon.core.episode import Episode
from guerdon.core.errors import UserError
from guerdon.core.field_columns import FieldColumns, Gives, Needs
from guerdon.core.pack import cat, pack
from guerdon.core.part import knob, live, part
from guerdon.core.placeholders import check_template
from guerdon.core.play import Play
from guerdon.core.task import Ask, Sampling
from guerdon.core.wordings import by_model
from guerdon.select.hints import begun
from guerdon.tasks.role_wordings import ROLE_WORDINGS, TOP

ROLE = "meta"  # who forecasts
BASE = 0.01  # of the reward, in the paper and its code
FORECAST = ROLE_WORDINGS["forecast"]


@part
class asked_first:
    r"""What `curriculum` draws, after `tries` forecasts of each problem's success rate by the role `meta`: a whole number of
    8, in answer to `template`. From `after` of the run on, problems are left out whose forecasts agree (deviation below
    `spread`) that all tries will be right or that none will: their mean rounds to 8 or to 0 of 8.

    Predictive gating of MASA (Kim et al. 2025, arXiv:2510.03259). The paper's is before the costly tries, unlike filters that
    look at what came of them. If all would be left out, the one with the least settled forecast is tried.

    The reply begins with `start` (given, never learned), so that one token is enough and even a model that knows no
    instructions says a number there, if not yet a meaningful one. `env` plays one turn of role `meta`; the recipe seats it.
    What was said waits here for `with_forecasts` of the same step: not for runs that play `ahead`.
    A model that does not know sprig's roles is asked in plain language, and begins with "Forecast: ".

    *Biased* on purpose, by forecasts that may be wrong: what is left out is not seen to change. Logs `forecast/gated`, the
    share left out, and `forecast/readable`.
    """

    curriculum: Any
    env: Any
    tries: int = knob(default=8, ge=1)  # the paper's M
    after: float = knob(default=0.25, ge=0.0)  # the paper's 80 of 314 steps
    spread: float = knob(default=0.1, gt=0.0)  # one of the two that the paper tries
    template: str = FORECAST.knob(joined=False, question="prompt")
    start: str = by_model("= ", "Forecast: ")
    sampling: Sampling = knob(factory=lambda: Sampling(max_tokens=1))

    waiting: list[list[Episode]] = live()  # what was said at each draw whose tries are still under way

    def __post_init__(self) -> None:
        check_template("asked_first.template", self.template, "prompt")
        self.waiting = []

    def draw(self, n: int, play: Play) -> list[Ask]:
        asks: list[Ask] = self.curriculum.draw(n, play)
        replies = play([self.question(ask, play) for ask in asks], self.env)
        self.waiting.append(replies)
        forecasts: list[list[float]] = [[] for _ in asks]
        said = [read_forecast(episode, self.start) for episode in replies]
        FORECAST.log_read(self.template, (forecast is not None for forecast in said), play)
        for place, forecast in enumerate(said):
            if forecast is not None:
                forecasts[place // self.tries].append(forecast)
        is_on = play.step >= self.after * play.steps
        settled = [is_on and self.is_settled(each, play) for each in forecasts]
        if asks and all(settled):
            settled[int(np.argmin([abs(np.mean(each) - 0.5) for each in forecasts]))] = False
        play.log(**{"forecast/gated": sum(settled) / max(len(asks), 1)})
        play.log(**{"forecast/readable": sum(map(len, forecasts)) / max(len(replies), 1)})
        return [ask for ask, gone in zip(asks, settled, strict=True) if not gone]

    def question(self, ask: Ask, play: Play) -> Ask:
        """What is asked about a problem."""
        asked = ask.but(n=self.tries, prompt=self.template.format(prompt=ask.shown), sampling=self.sampling)
        if not self.start:
            return asked
        return asked.but(prefix=begun(asked, self.start, play, ROLE))

    def is_settled(self, forecasts: Sequence[float], play: Play) -> bool:
        if not forecasts or np.std(forecasts) >= play.at(self.spread):
            return False
        return round(float(np.mean(forecasts)) * TOP) in (0, TOP)


@part
class with_forecasts(FieldColumns):
    r"""Joins the forecasts of `curriculum` (an `asked_first`, the recipe's own) to the tries. Column `gives_to` is `column` of
    a try and, of a forecast $\hat p$, $0.01^{|p - \hat p|}$ with $p$ the mean of `column` over the problem's tries: 1 for what
    came true, a tenth for being off by a half.

    The difficulty reward of MASA (Kim et al. 2025, arXiv:2510.03259). A forecast that cannot be read is paid 0, with
    `unread="left_out"` (of models that do not know sprig's roles) nothing, as one of a problem that was left out, or whose
    tries have no value; it is not learned from. Forecasts and tries are of two roles, so that no group mixes them.

    Logs `forecast/error` (the mean of $|p - \hat p|$ of what could be read) and `forecast/correlation`, over problems.
    """

    curriculum: Any
    column: Needs = "correct"
    gives_to: Gives = "aligned"
    unread: Literal["zero", "left_out"] = by_model("zero", "left_out", absent="zero")

    shelf = "select"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        if not self.curriculum.waiting:
            raise UserError(
                "with_forecasts found no forecasts: its curriculum must be the recipe's, without ahead=true"
            )
        forecasts = pack(self.curriculum.waiting.pop(0))
        whole = cat([batch, forecasts])
        tries = whole.cols[self.column]
        rate = whole.up(tries.value.double(), "task", of="track", by="mean")[whole.task[whole.leaf]]
        episodes = [forecasts.episodes[e] for e in forecasts.episode[forecasts.leaf].tolist()]
        predicted = [read_forecast(episode, self.curriculum.start) for episode in episodes]
        pairs = list(zip(rate[batch.K :].tolist(), predicted, strict=True))
        self._log([(p, f) for p, f in pairs if p == p and f is not None], play)
        value, reason = tries.value.clone(), tries.reason.clone()
        unread = 0.0 if self.unread == "zero" else math.nan
        paid = [unread if p == p and f is None else BASE ** abs(p - (f or 0.0)) for p, f in pairs]
        value[batch.K :] = torch.tensor(paid)
        reason[batch.K :] = value[batch.K :].isnan().to(torch.int8)  # not applicable
        return whole.with_cols({self.gives_to: Column("track", value, reason)})

    def _log(self, pairs: Sequence[tuple[float, float]], play: Play) -> None:
        if not pairs:
            return
        seen, predicted = np.array(pairs).T
        play.log(**{"forecast/error": float(np.abs(seen - predicted).mean())})
        if seen.std() > 0 and predicted.std() > 0:
            play.log(**{"forecast/correlation": float(np.corrcoef(seen, predicted)[0, 1])})


def read_forecast(episode: Episode, start: str = "") -> float | None:
    """The share that a forecast says, of 8: the number after its start, or that it states. None where there is none."""
    if episode.failed or not episode.segments:
        return None
    text = episode.segments[0].text
    said = FORECAST.read(text[len(start) :] if text.startswith(start) else text)
    return None if said is None else int(said) / TOP
