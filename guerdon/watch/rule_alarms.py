"""What a rule is, what it finds, and which rollouts of a step show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.shown_text import cut
from guerdon.watch.batch_signs import proxy_column, within
from guerdon.watch.past_steps import TRUTH, Past

Severity = Literal["bad", "warn", "note"]
SEVERITIES: tuple[Severity, ...] = ("bad", "warn", "note")  # the worst first
CLEAREST = 3  # rollouts of an alarm
SHOWN = 600  # characters of the question, and of the answer


@dataclass(frozen=True)
class RuleAlarm:
    """That a rule holds now: what it is `about` (a column, a part, a metric), how bad, what happened and what to do."""

    severity: Severity
    message: str
    fix: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    about: str = ""


@dataclass(frozen=True)
class Scene:
    """The rollouts of the step that has just been done: `batch` holds what was played in it."""

    batch: Batch

    @cached_property
    def proxy(self) -> str:
        return proxy_column(self.batch)

    def column(self, name: str) -> Tensor:
        """[K] a column of tracks; NaN throughout where there is none."""
        column = self.batch.cols.get(name)
        if column is None or column.level != "track" or column.value.dim() != 1:
            return torch.full((self.batch.K,), float("nan"), dtype=torch.double)
        return column.value.double()

    def within(self, name: str) -> Tensor:
        """[K] the same less the mean of the group."""
        return self.column(name) if name not in self.batch.cols else within(self.batch, name)

    @cached_property
    def length(self) -> Tensor:
        """[K] actions."""
        return self.batch.up(torch.ones(self.batch.S, dtype=torch.double), "track")

    @cached_property
    def logp(self) -> Tensor:
        """[K] the mean log-prob of its actions when they were sampled."""
        sampled = ~torch.isnan(self.batch.logp)
        total = self.batch.up(torch.where(sampled, self.batch.logp, 0.0).double(), "track")
        count = self.batch.up(sampled.double(), "track")
        return torch.where(count > 0, total / count.clamp(min=1), float("nan"))

    def rollouts(self, clear: Tensor) -> list[dict[str, Any]]:
        """The clearest tracks by a number for each, NaN for one that shows nothing; no two with the same text, where there
        are others."""
        order = torch.argsort(torch.nan_to_num(clear, nan=-torch.inf), descending=True, stable=True).tolist()
        there = [k for k in order if not bool(torch.isnan(clear[k]))]
        told = {k: self.rollout(k) for k in there[: 8 * CLEAREST]}
        first: dict[str, int] = {}
        for k, each in told.items():
            first.setdefault(each["said"], k)
        chosen = [*first.values(), *(k for k in told if k not in first.values())]
        return [told[k] for k in chosen[:CLEAREST]]

    def rollout(self, track: int) -> dict[str, Any]:
        """A track as an event holds it: its key in storage, question, answer, and numbers."""
        batch = self.batch
        leaf = int(batch.leaf[track])
        episode = batch.episodes[int(batch.episode[leaf])]
        segments = [int(batch.place[g]) for g in batch.path_seg[batch.path_track == track].tolist()]
        said = [episode.segments[i].text for i in segments if episode.segments[i].text]
        asked = episode.task.prompt if episode.ask.prompt is None else episode.ask.prompt
        numbers = {name: float(self.column(name)[track]) for name in (self.proxy, TRUTH) if name}
        return {
            "step": episode.step,
            "episode": episode.key,
            "segment": int(batch.place[leaf]),
            "prompt": cut(str(asked), SHOWN),
            "said": cut(said[-1], SHOWN) if said else "",
            "numbers": {
                **{name: value for name, value in numbers.items() if value == value},
                "length": float(self.length[track]),
            },
        }


class Rule(Protocol):
    """One thing to watch for. A rule is a part: its knobs are its thresholds."""

    def __call__(self, past: Past) -> list[RuleAlarm]:
        """What it finds in the steps so far; nothing, most of the time."""

    def clearest(self, scene: Scene, finding: RuleAlarm) -> Tensor:
        """[K] how clearly each track of the step shows it, NaN for not at all."""
