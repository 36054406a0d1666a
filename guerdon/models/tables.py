"""A policy in a table: one row of logits for every (what was shown, what was done so far).

It cannot generalise at all, so whatever it learns it was taught: the model to prove a method's mechanics on.
Situations are hashed to rows; two may meet in one row, about once in `rows` pairs.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from guerdon.core.arrays import digest, dumps
from guerdon.core.batch import Batch
from guerdon.core.episode import End, Segment
from guerdon.core.errors import UserError
from guerdon.core.model import Model, Reply, Request
from guerdon.core.part import knob, part
from guerdon.models.sampling import choose, distribution, guided, scores

FNV_START, FNV_PRIME, MASK = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1


class Table(nn.Module):
    def __init__(self, rows: int, width: int, spread: float, seed: int) -> None:
        super().__init__()
        start = torch.randn(rows, width, generator=torch.Generator().manual_seed(seed)) * spread
        self.logits = nn.Parameter(start)


@part
class tabular(Model):
    """A policy in a table: a row of logits for each situation, so that nothing it learns carries over to another.

    `vocab` holds the actions, one character each. A turn is `length` actions long, given ones and those of a continued turn
    included; 0: until the end action is chosen.

    `spread` is the standard deviation of the first logits: 0 starts every situation uniform.

    Args:
        vocab: the actions, one character each.
        length: actions of a turn; 0 ends it with the end action.
        rows: rows of the table.
        spread: standard deviation of the first logits.

    >>> import guerdon as gd
    >>> gd.models.tabular("abc", length=2)
    tabular(vocab='abc', length=2)
    """

    vocab: str = "0123456789"
    length: int = knob(default=0, ge=0)
    rows: int = knob(default=16384, ge=1)
    spread: float = knob(default=0.0, ge=0.0)

    takes_guides: ClassVar[bool] = True
    reads: ClassVar[dict[str, Literal["step", "track"]]] = {"logp": "step", "entropy": "step"}

    @property
    def end_action(self) -> int:
        """One past the vocabulary when turns end by choice; no such action when they have a fixed length."""
        return len(self.vocab)

    @property
    def vocabulary(self) -> dict[str, int]:
        return {name: action for action, name in enumerate(self.vocab)}

    @property
    def drawn_from(self) -> tuple[str, bool]:
        return self.vocab, self.length == 0

    def build(self, seed: int) -> nn.Module:
        return Table(self.rows, len(self.vocab) + (self.length == 0), float(self.spread), seed)

    def encode(self, view: Any, path: Sequence[Segment] = ()) -> npt.NDArray[np.int64]:
        text = dumps(view) if digest(view) else str(view)  # numpy shortens the text of a large array
        return np.frombuffer(text.encode(), np.uint8).astype(np.int64)

    def decode(self, actions: Iterable[int]) -> str:
        return "".join(self.vocab[a] for a in actions if a != self.end_action)

    def logits_of(self, rows: Sequence[int]) -> Tensor:
        """[B, V] of situations by their hashes."""
        logits = self.weights.logits
        assert isinstance(logits, Tensor)
        return logits[torch.tensor([_place(row, self.rows) for row in rows])]

    def act(self, requests: Sequence[Request], guides: Sequence[tuple[tabular, float]] = ()) -> list[Reply]:
        rows = [_mix(_path(r), self.encode(r.view), given=r.given) for r in requests]
        limit = [self._limit(r) for r in requests]
        draw = [random.Random(r.seed) for r in requests]
        actions: list[list[int]] = [r.given.tolist() for r in requests]
        logp: list[list[float]] = [[float("nan")] * len(r.given) for r in requests]
        alive = [i for i in range(len(requests)) if self._goes_on(requests[i], actions[i], limit[i])]
        while alive:
            here = [rows[i] for i in alive]
            table = self.logits_of(here)
            if guides:
                table = guided(table, [(other.logits_of(here), weight) for other, weight in guides])
            logp_all = distribution(table, [requests[i].sampling for i in alive])
            chosen = choose(logp_all, [draw[i].random() for i in alive])
            for i, a, lp in zip(
                alive, chosen.tolist(), logp_all.gather(1, chosen[:, None])[:, 0].tolist(), strict=True
            ):
                actions[i].append(a)
                logp[i].append(lp)
                rows[i] = _add(rows[i], a)
            alive = [i for i in alive if self._goes_on(requests[i], actions[i], limit[i])]
        return [
            self._reply(r.view, a, lp, self._before(r), self._stop(r, a))
            for r, a, lp in zip(requests, actions, logp, strict=True)
        ]

    def _limit(self, request: Request) -> int:
        most = len(request.given) + request.sampling.max_tokens
        return min(most, self.length - self._before(request)) if self.length else most

    def _before(self, request: Request) -> int:
        """How many actions of this turn were taken in earlier segments of it."""
        before = 0
        for segment in reversed(request.path if request.go_on else ()):
            before += len(segment.actions)
            if not segment.goes_on:
                break
        return before

    def _goes_on(self, request: Request, actions: list[int], limit: int) -> bool:
        is_over = actions[-1:] == [self.end_action] or self._stop(request, actions) is not None
        return len(actions) < limit and not is_over

    def _stop(self, request: Request, actions: list[int]) -> int | None:
        """Where in the text a stop string begins that was sampled."""
        if not request.sampling.stop:
            return None
        text, given = self.decode(actions), len(self.decode(request.given))
        places = [text.find(stop, given) for stop in request.sampling.stop if stop]
        return min((at for at in places if at >= 0), default=None)

    def _reply(
        self, view: Any, actions: list[int], logp: list[float], before: int = 0, stop: int | None = None
    ) -> Reply:
        done = before + len(actions) == self.length if self.length else actions[-1:] == [self.end_action]
        return Reply(
            self.encode(view),
            np.array(actions, np.int64),
            np.array(logp, np.float32),
            self.decode(actions)[:stop],
            End.STOPPED if stop is not None else End.DONE if done else End.CUT,
        )

    def teacher_force(self, view: Any, text: str, path: Sequence[Segment] = ()) -> Reply:
        unknown = sorted(set(text) - set(self.vocab))
        if unknown:
            raise UserError(f"tabular cannot say {unknown[0]!r}: its vocab is {self.vocab!r}")
        actions = [self.vocab.index(c) for c in text] + ([] if self.length else [self.end_action])
        return self._reply(view, actions, [float("nan")] * len(actions))

    def read(self, batch: Batch, want: Sequence[str]) -> dict[str, Tensor]:
        logits = self.weights.logits
        assert isinstance(logits, Tensor)
        self.meter.read += batch.S + len(batch.context)
        how = batch.sampling
        table = logits[self._rows(batch)]
        logp, entropy = scores(table, [how[g] for g in batch.seg.tolist()], batch.action)
        return {name: {"logp": logp, "entropy": entropy}[name] for name in want}

    def _rows(self, batch: Batch) -> Tensor:
        """[S] the row of every step: a segment starts where its same-role parent ended."""
        parent, role = batch.parent.tolist(), batch.role.tolist()
        length, context_length = batch.length.tolist(), batch.context_length.tolist()
        action, context = batch.action.tolist(), batch.context.tolist()
        ended: list[int] = []
        rows: list[int] = []
        s = c = 0
        for g in range(batch.G):
            remembers = parent[g] >= 0 and role[parent[g]] == role[g]
            row = _mix(ended[parent[g]] if remembers else FNV_START, context[c : c + context_length[g]])
            for a in action[s : s + length[g]]:
                rows.append(_place(row, self.rows))
                row = _add(row, a)
            ended.append(row)
            s, c = s + length[g], c + context_length[g]
        return torch.tensor(rows, dtype=torch.long)


def _add(row: int, number: int) -> int:
    return ((row ^ (number + 1)) * FNV_PRIME) & MASK


def _place(row: int, rows: int) -> int:
    """The row of the table. Every bit must count: the low bits of the running hash alone do not distinguish the
    mark that closes a context from action 0 (the mixing is MurmurHash3's last step)."""
    row = ((row ^ (row >> 33)) * 0xFF51AFD7ED558CCD) & MASK
    row = ((row ^ (row >> 33)) * 0xC4CEB9FE1A85EC53) & MASK
    return (row ^ (row >> 33)) % rows


def _mix(row: int, context: Sequence[int] | npt.NDArray[np.int64], given: Iterable[int] = ()) -> int:
    """The hash after being shown `context` (closed by a mark, so that shown and done differ) and doing `given`.
    Where nothing was shown there is nothing to close: such a continued turn is one that never stopped."""
    for number in context:
        row = _add(row, int(number))
    row = _add(row, 1 << 20) if len(context) else row
    for number in given:
        row = _add(row, int(number))
    return row


def _path(request: Request) -> int:
    row = FNV_START
    for segment in request.path:
        row = _mix(row, segment.context, segment.actions)
    return row
