"""Tracks read, or learned from, as if they had first been shown something else.

`read_as` reads: a stage that gives what a model finds likely under another prompt. `shown_as` learns: a selection whose tries
are put under another prompt. Both keep what was done, and change what was shown before the first action.
Leaves out: hints, which `hints.unhinted` takes out again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.field_columns import FieldColumns, Gives
from guerdon.core.model import Model
from guerdon.core.pack import pack, unpack
from guerdon.core.part import part
from guerdon.core.placeholders import check_template
from guerdon.core.play import Play, played_by, players


@part
class read_as(FieldColumns):
    """Column `gives_to`: the log-prob that a model gives each step, had its track first been shown `show`.

    `show` is a template with `{prompt}`, put around a text or the last message of a conversation, or a function of the `Ask`
    that returns a view, or None: that ask's tracks are not read, and the column is *not applicable* to them. The model reads
    those that it, or the model it copies, acted; all, if neither has a seat. Without a gradient: a comparison of what was done
    under two prompts, where `MODEL.logp` has it under the one that was shown.

    Args:
        show: what it is shown: a template, or a function of the ask.
        model: what reads.
        gives_to: column of the log-probs.
        role: role whose tracks are read.

    >>> import guerdon as gd
    >>> gd.select.read_as("A wrong answer to {prompt}", model="policy", gives_to="wrong.logp").gives
    ('wrong.logp',)
    """

    show: Any
    model: str = "reference"
    gives_to: Gives = "shown.logp"
    role: str = "policy"

    def __post_init__(self) -> None:
        check_show("read_as.show", self.show)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        model = play.models[self.model]
        other, changed_E = under(batch, self.show, lambda role: model, self.role)
        rows = changed_E[batch.episode][batch.leaf] & batch.tracks_of([self.role])
        rows &= played_by(batch, {self.model, getattr(model, "of", self.model)}, play)
        through = torch.zeros(batch.G, dtype=torch.bool)
        through[batch.path_seg[rows[batch.path_track]]] = True
        value = torch.full((batch.S,), float("nan"))
        with torch.no_grad():
            value[through[batch.seg]] = model.read(other.take(rows), ["logp"])["logp"].float().to(value.device)
        reason = torch.where(through[batch.seg], int(Reason.VALUE), int(Reason.NOT_APPLICABLE)).to(torch.int8)
        return batch.with_cols({self.gives_to: Column("step", value, reason)})


@part
class shown_as(FieldColumns):
    r"""The tracks of a role as if they had first been shown `show`: what is learned is to act so when shown that.

    For `Learn(on=shown_as(...))`, or one term of several, `on(shown_as(...), sft())`. `show` is a template with `{prompt}`,
    put around a text or the last message of a conversation, or a function of the `Ask` that returns a view, or None: that
    ask's tracks are left out. Columns that a model read under the first view are dropped and read again.

    The ratio of a policy loss is $\pi(o_t \mid shown)\,/\,\pi_{old}(o_t \mid q)$ with the log-probs it was sampled with; with
    `corrected=False` they are those under the new view, as if it had been sampled so, and the ratio is 1 at the first
    update. *Biased* by what clipping drops, and by a ratio of the single step where the product of all would be due.

    Args:
        show: what they are shown: a template, or a function of the ask.
        corrected: keep the log-probs they were sampled with.
        role: role whose tracks are shown it.

    >>> import guerdon as gd
    >>> gd.losses.clipped() + gd.losses.on(gd.select.shown_as("{prompt}"), gd.losses.sft())
    total(terms=[clipped(), on(rows=shown_as(show='{prompt}'), loss=sft())])
    """

    show: Any
    corrected: bool = True
    role: str = "policy"

    def __post_init__(self) -> None:
        check_show("shown_as.show", self.show)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        def seated(role: str) -> Model:
            return play.models[play.seats[role]]

        other, changed_E = under(batch, self.show, seated, self.role)
        mine = changed_E[batch.episode][batch.leaf] & batch.tracks_of([self.role])
        return as_learned(other, batch, changed_E, play, self.corrected).take(mine)


def check_show(where: str, show: Any) -> None:
    """Refuse what is neither a template nor a function."""
    if isinstance(show, str):
        check_template(where, show, "prompt")
    elif not callable(show):
        raise UserError(f"{where} is a template with {{prompt}}, or a function of the ask, not {show!r}")


def under(batch: Batch, show: Any, model_of: Callable[[str], Model], role: str | None = None) -> tuple[Batch, Tensor]:
    """The batch with other views before the first actions of a role (None: of all), as the model of each role reads them, and
    [E] which episodes have one."""
    changed, episodes = [], []
    for episode in unpack(batch):
        segments = list(episode.segments)
        for i, segment in enumerate(segments):
            if segment.parent < 0 and role in (None, segment.role):
                view = reworded(show, segment.view) if isinstance(show, str) else show(episode.ask)
                if view is not None:
                    segments[i] = segment.but(view=view, context=model_of(segment.role).encode(view))
        changed.append(any(a is not b for a, b in zip(segments, episode.segments, strict=True)))
        episodes.append(episode.but(segments=tuple(segments)))
    return pack(episodes), torch.tensor(changed, dtype=torch.bool)


def read_under(batch: Batch, show: Any, model: Model) -> Tensor:
    """[S] the log-probs that a model gives a batch's steps, had `show` been shown first; without a gradient. An empty template
    takes the text, or the last message, away."""
    shown, _ = under(batch, show, lambda role: model)
    with torch.no_grad():
        return model.read(shown, ["logp"])["logp"].double().to(batch.seg.device)


def reworded(template: str, view: Any) -> Any:
    """The template around a text, or around the last message of a conversation.

    >>> reworded("wrong: {prompt}", [{"role": "user", "content": "2+2"}])
    [{'role': 'user', 'content': 'wrong: 2+2'}]
    """
    if isinstance(view, str):
        return template.format(prompt=view)
    if hasattr(view, "saying"):
        view = list(view)
    if isinstance(view, list) and view and isinstance(view[-1], Mapping) and isinstance(view[-1].get("content"), str):
        return [*view[:-1], {**view[-1], "content": template.format(prompt=view[-1]["content"])}]
    raise UserError(f"a template words texts and messages, and not {type(view).__name__}: use text prompts")


def as_learned(changed: Batch, batch: Batch, changed_E: Tensor, play: Play, corrected: bool = True) -> Batch:
    """A batch of other views with the columns and weights of the batch it was made from, but for what models read under
    the first; not `corrected`, with the log-probs that the models that acted give the actions now."""
    moved = changed_E[batch.episode][batch.seg]
    read = [name for name in batch.cols if name.partition(".")[0] in play.models]
    changed = dataclasses.replace(
        changed, weight=torch.where(moved, changed.weight, batch.weight), pairs=batch.pairs, cols=batch.cols
    )
    changed = changed.without(*read).recount()
    return changed if corrected else _as_if_drawn(changed, changed_E, play)


def _as_if_drawn(batch: Batch, changed_E: Tensor, play: Play) -> Batch:
    """The changed tries with the log-probs that the models that made them give them now."""
    logp = batch.logp.clone()
    names = players(batch, play)
    for name in sorted({name for name in names if name}):
        rows = changed_E[batch.episode][batch.leaf] & torch.tensor([each == name for each in names])
        if not bool(rows.any()):
            continue
        mine = torch.zeros(batch.G, dtype=torch.bool)
        mine[batch.path_seg[rows[batch.path_track]]] = True
        with torch.no_grad():
            read_logp = play.models[name].read(batch.take(rows), ("logp",))["logp"]
        logp[mine[batch.seg]] = read_logp.to(logp)
    return dataclasses.replace(batch, logp=logp)
