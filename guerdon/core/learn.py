"""Learn: the stage that turns a batch into an update of one model.

It picks its own rows (`on`), counts the denominators once over them,
splits them into micro-batches that never change the result, clips the gradient and steps the optimiser.
The next stage receives the batch unchanged: filtering for one learner hides nothing from the others.
"""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, Literal, Protocol

import torch
from torch import Tensor

from guerdon.core.batch import COARSE, Batch, Group
from guerdon.core.errors import GpuFull, RunStopped, UserError, unknown
from guerdon.core.field_columns import FieldColumns
from guerdon.core.gradient_passes import UNORDERED, exact, held_by_others
from guerdon.core.one_turn import OneTurn
from guerdon.core.optim import adam
from guerdon.core.part import knob, label, live, part, state, walk
from guerdon.core.play import Play, played_by
from guerdon.core.schedule import settled

MANY = 5  # steps in a row without a gradient after which the user is warned
FLAT = (
    "every gradient was zero. Tries that score alike have no advantage over each other: take problems that are solved"
    " sometimes, more tries at each, or a reward that tells them apart"
)


class Loss(Protocol):
    """`needs` are columns of the batch (or `pairs`), `wants` are live readings of the model under training.

    Returns a loss and metrics that are sums over the micro-batch divided by `batch.count`: both add up over micro-batches.
    It may also have `silent(batch)`: [K] the tracks that cannot change the weights, which are then not read at all;
    `derive(metrics)`: metrics computed from an update's sums that are not sums themselves; `together`: "episode" (the
    default), "ask" or "task", what no micro-batch may split, for it compares the tries inside; `own_logp`: that it takes the
    log-probs of sampling for the policy's, and refuses tries with `Sampling.guides`; and `row_groups`: losses, each with the
    selection, or the role, that its rows are of, where they are not all of the learner's (`losses.on`, which has a `title` for
    its metrics).
    """

    @property
    def needs(self) -> tuple[str, ...]: ...

    @property
    def wants(self) -> tuple[str, ...]: ...

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]: ...


def together(loss: Any) -> Group:
    """What a loss declares must not be split; the declaration is optional."""
    kept_whole: Group = getattr(loss, "together", "episode")
    return kept_whole


def row_groups(loss: Any, on: Any = None) -> list[tuple[Any, Any]]:
    """The terms of a loss by the rows they learn from: a selection or a role, and a loss. `on` selects the rows of a loss that
    names none."""
    return [(on if own is None else own, each) for own, each in getattr(loss, "row_groups", [(None, loss)])]


def refuse_guided(parts: Any) -> None:
    """Refuse, for tries that were guided, parts that take the log-probs of sampling for those of the policy: they declare
    `own_logp`."""
    for _, member in walk(parts):
        if getattr(member, "own_logp", False):
            raise UserError(
                f"{label(member)} takes the log-probs of sampling for the policy's, and with sampling.guides they are the"
                " mixture's: leave guides out" + (", or give it old=truncated()" if hasattr(member, "old") else "")
            )


def needs_of(on: Any, loss: Any) -> tuple[str, ...]:
    """The columns that a selection and a loss need from the stages before."""
    return (*getattr(on, "needs", ()), *(n for n in loss.needs if n not in getattr(on, "gives", ())))


Share = list[tuple[Batch, Any]]  # what one update learns from: rows, and the loss over them


class NonFinite(RunStopped):
    """A loss or gradient that is not a number; carries the rows that made it."""

    def __init__(self, message: str, batch: Batch) -> None:
        super().__init__(message)
        self.batch = batch


@part
class Learn(FieldColumns):
    """Train `model` with `loss` on the tracks it acted in the seats it holds (on every track, if it holds none).

    `on` is a selection run first, for this learner only. Each of `epochs` passes takes `updates` optimiser steps over
    random shares of the rows: of whole tracks, or, with `mix="step"`, of the single steps of all tracks, as PPO does it in
    control; a share's denominators are its own. `micro` is the most steps (tokens, and those of the prompts before them)
    that one forward pass takes (0: the model's estimate for its device). Where memory does not hold so many
    it is halved, which changes last bits alone; where others hold that memory the run stops, so that no result depends on
    its company. `clip` bounds the gradient's norm (0: off; 1.0 is TRL's and verl's default).

    Args:
        model: name of the model to train.
        loss: the objective, a sum of losses.
        on: selection of the tracks to train on; all without one.
        opt: optimiser.
        epochs: passes over the batch.
        updates: optimiser steps in each pass.
        micro: the most tokens in one forward pass; 0 lets the model choose by its device.
        clip: bound of the gradient norm; 0 turns it off.
        mix: what is shuffled between updates: whole tracks, or single steps.

    >>> import guerdon as gd
    >>> gd.Learn("policy", gd.losses.clipped() + gd.losses.kl(0.04), opt=gd.adam(lr=1e-5)).needs
    ('advantage', 'reference.logp')
    """

    model: str
    loss: Any
    on: Any = None
    opt: Any = knob(factory=adam)
    epochs: int = knob(default=1, ge=1)
    updates: int = knob(default=1, ge=1)
    micro: int = knob(default=0, ge=0)
    clip: float = knob(default=1.0, ge=0.0)
    mix: Literal["track", "step"] = knob(default="track", absent="track")

    idle: int = state(default=0)  # how many steps in a row taught nothing
    optimiser: torch.optim.Optimizer | None = live()
    fits: int | None = state()  # the largest micro-batch that memory holds, once it was found to be less than `micro`
    ordered: bool = state(default=True)  # whether all it does can be done in a fixed order

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(need for on, loss in row_groups(self.loss, self.on) for need in needs_of(on, loss))

    def start(self, play: Play) -> None:
        """Make the optimiser; the loop does this once, before a checkpoint is read."""
        if together(self.loss) not in COARSE:
            raise unknown(f"value of together of {label(self.loss)}", together(self.loss), COARSE)
        if self.mix == "step" and (together(self.loss) != "episode" or "pairs" in self.loss.needs):
            raise UserError(f"mix='step' splits tracks, and {label(self.loss)} compares whole ones: leave mix out")
        if self.mix == "step" and len(row_groups(self.loss)) > 1:
            raise UserError(
                "mix='step' mixes the steps of all terms, and terms with on(...) have rows of their own: leave mix out"
            )
        self.optimiser = self.opt.build([p for p in play.models[self.model].weights.parameters() if p.requires_grad])

    def rows(self, batch: Batch, play: Play, on: Any = None, loss: Any = None) -> Batch:
        """What this learner learns from: the tracks its model acted that did not fail and have every value the loss needs.

        A step without one of them, its own or its segment's, is muted; a track is left out if nothing of its own has one.
        `on` and `loss` are those of one term, the first by default; where `on` is a role, they are its tracks, no matter which
        model acted them.
        """
        on, loss = row_groups(self.loss, self.on)[0] if loss is None else (on, loss)
        if isinstance(on, str):
            chosen, keep = batch, ~batch.failed_K & batch.tracks_of([on])
        else:
            chosen = on(batch, play) if on is not None else batch
            keep = ~chosen.failed_K & played_by(chosen, [self.model], play)
        muted = chosen.muted
        for name in loss.needs:
            if name == "pairs":
                keep &= chosen.paired_K
                continue
            column = chosen.cols[name]
            missing = column.missing
            if column.level == "track":
                keep &= ~missing
            elif bool(missing.any()):
                missing = missing if column.level == "step" else missing[chosen.seg]
                keep &= ~_speechless(chosen, missing)
                muted = muted | missing
        weight = torch.where(muted, 0.0, chosen.weight)
        return dataclasses.replace(chosen, weight=weight, muted=muted).take(keep)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        assert self.optimiser is not None, "Learn.start was not called"
        groups = row_groups(self.loss, self.on)
        learned = [(rows, loss) for on, loss in groups if (rows := self.rows(batch, play, on, loss)).K]
        if not learned:
            play.log(**{f"{self.model}/skipped": 1.0})
            self._note(_why_none(self, batch), play)
            return batch
        for rows, loss in learned:
            if not isinstance(rows.episodes, OneTurn) and any(how.weighted_guides for how in rows.sampling):
                refuse_guided(loss)
        lr = play.at(self.opt.lr)
        for group in self.optimiser.param_groups:
            group["lr"] = lr
        totals: dict[str, float] = defaultdict(float)
        done = 0
        for epoch in range(self.epochs):
            for share in self._shares(learned, play, epoch):
                try:
                    metrics = self.update(share, play)
                except NonFinite as error:  # a share of steps cannot be stored as a batch: the rows it is from can
                    raise NonFinite(str(error), learned[0][0] if self.mix == "step" else error.batch) from error
                for name, value in metrics.items():
                    totals[name] += value
                done += 1
        self._note("" if totals["grad_norm"] else FLAT, play)
        play.log(**{f"{self.model}/{k}": v / done for k, v in totals.items()}, **{f"{self.model}/lr": lr})
        return self.left_of(batch)

    def left_of(self, batch: Batch) -> Batch:
        """The batch for the next stage, after learning: without what the model computed with its old weights."""
        return batch.without(*(n for n in batch.cols if n.startswith(f"{self.model}.")))

    def _shares(self, learned: Share, play: Play, epoch: int) -> list[Share]:
        """What each update learns from: a share of the rows of every term."""
        shares: list[Share] = []
        for number, (rows, loss) in enumerate(learned):
            dice = play.generator("learn", self.model, epoch, *([number] if number else []))
            if self.mix == "step":
                model = play.models[self.model]
                rows = dataclasses.replace(rows, cols={n: c for n, c in rows.cols.items() if n in loss.needs})
                parts = rows.share_steps(self.updates, dice, model.apart, model.row)
            else:
                parts = rows.shares(self.updates, dice, together(loss))
            shares += [[] for _ in parts[len(shares) :]]
            for share, mine in zip(shares, parts, strict=False):
                share.append((mine, loss))
        return shares

    def _note(self, why: str, play: Play) -> None:
        """Count the steps in a row without a gradient, and warn once when they are many."""
        self.idle = self.idle + 1 if why else 0
        if self.idle == MANY:
            play.warn(f"{self.model!r} has learned nothing for {MANY} steps: {why}")

    def update(self, share: Share, play: Play) -> dict[str, float]:
        """One optimiser step on the whole of a share, however many micro-batches it takes."""
        assert self.optimiser is not None
        model = play.models[self.model]
        metrics = self._backward_that_fits(share, play)
        if hasattr(self.loss, "derive"):
            metrics = self.loss.derive(metrics)
        weights = [p for group in self.optimiser.param_groups for p in group["params"]]
        if metrics["silent"] == 1.0:  # the gradient is zero, which is not the same as none: momentum still moves
            for p in weights:
                p.grad = torch.zeros_like(p)
        weights = [p for p in weights if p.grad is not None]
        norm = torch.nn.utils.clip_grad_norm_(weights, play.at(self.clip) or float("inf"))
        metrics["grad_norm"] = float(norm)
        if not torch.isfinite(norm):
            raise NonFinite(f"the gradient of {self.model!r} is {float(norm)}", share[0][0])
        self.optimiser.step()
        model.version += 1
        model.meter.updates += 1
        return metrics

    def _backward_that_fits(self, share: Share, play: Play) -> dict[str, float]:
        """The gradient, in micro-batches as large as asked for or as memory allows."""
        assert self.optimiser is not None
        while True:
            self.optimiser.zero_grad(set_to_none=True)
            try:
                with exact() if self.ordered else nullcontext():
                    return self.backward(share, play)
            except torch.OutOfMemoryError as error:
                larger = self.at_once(play)
                self.fits = self._smaller(share, larger, play, error)
            except RuntimeError as error:
                if UNORDERED not in str(error):
                    raise
                self.ordered = False
                play.warn(f"learning {self.model!r} is not the same to the last bit every time: {error}")
                continue
            play.warn(
                f"a micro-batch of {larger} does not fit in memory: continuing with {self.fits}, which changes only the"
                f" last bits (start there: --set learn.micro={self.fits})"
            )

    def at_once(self, play: Play) -> int:
        """The most steps of a forward pass: what memory was found to hold, or else what was asked for."""
        return self.fits or self.micro or play.models[self.model].steps_at_once

    def _smaller(self, share: Share, size: int, play: Play, error: torch.OutOfMemoryError) -> int:
        """Half of what did not fit."""
        if others := held_by_others(play.models[self.model].device):
            raise GpuFull(
                f"a micro-batch of {size} does not fit beside the {others / 2**30:.0f} GiB that other processes use on this"
                f" GPU: wait for them, or choose a size that does (--set learn.micro={max(size // 2, 1)})"
            ) from error
        if size == 1 or all(
            len(rows.split(size, together(loss))) == len(rows.split(1, together(loss))) for rows, loss in share
        ):
            longest = max(
                int(rows.up((rows.length + rows.context_length).double(), "track", of="segment").max())
                for rows, _ in share
            )
            raise GpuFull(
                f"out of memory learning {self.model!r} from a single track of {longest} tokens: have activations computed"
                " again (--set lm.recompute=true), train an adapter (--set lm.lora=16), or shorten the tracks"
            ) from error
        return size // 2

    def backward(self, share: Share, play: Play) -> dict[str, float]:
        """Add up the gradient of each loss over the micro-batches of its rows."""
        totals: dict[str, float] = defaultdict(float)
        silent, tracks = 0.0, sum(rows.K for rows, _ in share)
        for rows, loss in share:
            metrics = self._backward_of(rows, loss, play)
            silent += metrics.pop("silent") * (rows.K / tracks)
            if hasattr(loss, "title"):  # a term with rows of its own
                totals[f"{loss.title}/loss"] += metrics.get("loss", 0.0)
            for name, value in metrics.items():
                totals[name] += value
        return {**totals, "silent": silent}

    def _backward_of(self, rows: Batch, loss: Any, play: Play) -> dict[str, float]:
        model = play.models[self.model]
        totals: dict[str, float] = defaultdict(float)
        objective = settled(loss, play.step, play.steps)
        heard, totals["silent"] = speaking(rows, objective)
        if heard.K == 0:
            return totals
        weight = float(heard.weight.double().sum()) / max(
            rows.count.steps, 1e-9
        )  # metrics are of the tracks that were read
        results: list[tuple[Batch, tuple[str, ...], Tensor]] = []
        for micro in heard.split(self.at_once(play), together(loss)):
            value, metrics = _two(objective, objective(micro.to(model.device), model.read(micro, objective.wants)))
            results.append((micro, tuple(metrics), torch.stack([_plain(x) for x in (value, *metrics.values())])))
            value.backward()
        for micro, names, numbers in results:  # looked at last: a GPU is not waited for between micro-batches
            total, *noted = numbers.tolist()
            if not math.isfinite(total):
                raise NonFinite(f"the loss of {self.model!r} is {total}", micro)
            totals["loss"] += total
            for name, number in zip(names, noted, strict=True):
                totals[name] += number / weight if totals["silent"] else number
        return totals


def _plain(x: Tensor) -> Tensor:
    """A number of a loss, in float64 and without its graph; counts are both already, and there are many."""
    return x if x.dtype is torch.float64 and not x.requires_grad else x.detach().double()


def _two(objective: Any, returned: Any) -> tuple[Any, dict[str, Tensor]]:
    """A loss and its metrics, as losses return them."""
    loss, metrics = returned if isinstance(returned, tuple) and len(returned) == 2 else (None, None)
    if isinstance(metrics, dict) and all(isinstance(each, Tensor) for each in (loss, *metrics.values())):
        return returned  # type: ignore[no-any-return]
    raise UserError(
        f"loss {label(objective)} must return a loss and its metrics, both tensors: `return loss, {{}}`, or"
        ' `return loss, {"name": tensor.detach()}`'
    )


def speaking(rows: Batch, objective: Any) -> tuple[Batch, float]:
    """The tracks that the loss can learn from, their count still that of all, and the share of those it cannot."""
    if not hasattr(objective, "silent"):
        return rows, 0.0
    silent = objective.silent(rows)
    if not bool(silent.any()):
        return rows, 0.0
    return dataclasses.replace(rows.take(~silent), count=rows.count), float(silent.double().mean())


def _speechless(batch: Batch, missing: Tensor) -> Tensor:
    """[K] tracks none of whose own steps ([S] mask) has a value: they do not count, not even for the trunk.

    A trunk's value is of those of its tracks that have one, so a track's value is that of the segments it does not share;
    of all its steps, if those have none. Steps that were muted before do not count for it.
    """

    def some(steps: Tensor) -> Tensor:
        return batch.up(steps.double(), "track") > 0

    own = (batch.shared == 1)[batch.seg]
    alone = some(own)
    spoken = torch.where(alone, some(own & ~missing), some(~missing))
    asked = torch.where(alone, some(own & ~batch.muted), some(~batch.muted))
    return asked & ~spoken


def _why_none(learn: Learn, batch: Batch) -> str:
    """Why there were no rows, and what to do."""
    for name in learn.loss.needs:
        column = batch.cols.get(name)
        if column is not None and len(column.value) and bool(column.missing.all()):
            broken = "its scores fail" if bool(column.broken.any()) else "it does not apply to any try"
            return f"{name!r} has no value at all, {broken}. See what gives it: a reward that returns None has no value"
    if "pairs" in learn.loss.needs:
        return "there are no pairs. Two tries at a problem make one only where their scores differ"
    needed = " and ".join(map(repr, learn.loss.needs)) or "a step"
    return f"no track was left that has {needed}. See the model's seats, the tries that failed, and what filters them"
