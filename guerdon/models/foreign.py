"""A causal language model of any architecture that `transformers` has, behind the same interface as our own.

It reads a batch track by track, each a row of its own, padded behind: whatever is causal does not notice. Where a model's
logits are its last hidden states times a matrix, log-probs are taken from those, and the logits of all tokens are never
held. Left out: text (`text.py`), files (`foreign_files.py`), sampling (`engine/foreign.py`), adapters.

Axes: S steps, K tracks, B rows, T tokens of a padded row, N steps read off them, E width of a hidden state, V vocabulary.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.core.part import check_knobs, knob, live, part
from guerdon.core.task import Sampling
from guerdon.models import foreign_files, huggingface
from guerdon.models.chat import Chat
from guerdon.models.head import LOGITS, cut_scores, token_scores
from guerdon.models.sampling import scores
from guerdon.models.text import TextModel

READ_TOKENS = 16384  # of one forward pass, padding included; a batch of more is read in several
ENDLESS = 1 << 30  # positions of a model that knows no limit
VOLATILE = ("transformers_version", "_name_or_path", "dtype", "torch_dtype")  # of a config: says nothing of the shape


@part
class foreign(TextModel):
    """A language model of any other architecture, in `source`: a local Hugging Face folder, run through `transformers`.

    Without weights in the folder it starts from fresh ones. `dtype` is the type of the weights in memory. `rows` requests
    are sampled at a time. Each draws by its own seed, but how logits are rounded may depend on the others in the batch:
    with `rows=1` a reply is the same to the last bit in any company. It runs `on` a GPU where there is one.
    """

    source: str = knob(hashed=False)
    dtype: Literal["float32", "bfloat16"] = "float32"
    rows: int = knob(default=64, ge=1)
    on: Literal["auto", "cpu", "cuda"] = knob(default="auto", hashed=False)

    reads: ClassVar[Mapping[str, Literal["step", "track"]]] = dict.fromkeys(("logp", "entropy", "hidden"), "step")
    config: Any = live()
    chat: Chat = live()
    opened: str = live()
    head_fits: bool | None = live()  # whether logits are hidden states times the head; None: not tried yet

    def __post_init__(self) -> None:
        check_knobs(self)
        self._settle()

    def _settle(self) -> None:
        """Read what the knobs name: they may have been set after the last time."""
        if self.opened == self.source:
            return
        folder = Path(self.source)
        self.opened, self.net, self.head_fits = self.source, None, None
        self.config = foreign_files.read_config(folder)
        self.chat = huggingface.read_chat(folder, self.config.get_text_config().vocab_size)
        if huggingface.has_weights(folder):
            self.net = foreign_files.read_net(folder, self.config, self._dtype)

    def start(self, seed: int, models: Mapping[str, Model]) -> None:
        self._settle()
        super().start(seed, models)
        self.weights.to(self._device)
        for weight in self.weights.parameters():  # and no buffers: angles of positions stay in float32
            weight.data = weight.data.to(self._dtype)

    def build(self, seed: int) -> nn.Module:
        return foreign_files.fresh_net(self.config, self._dtype, seed)

    @property
    def max_positions(self) -> int:
        return foreign_files.longest(self.config) or ENDLESS

    # --- identity and files -------------------------------------------------------------------------------------

    def identity(self) -> str:
        """The shape, the text format and, where they did not come from a seed, the weights: not the folder they lie in."""
        self._settle()
        shape = json.loads(self.config.to_json_string(use_diff=False))
        known = [{k: v for k, v in shape.items() if k not in VOLATILE}, *self.text_identity, super().identity()]
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:16]

    def save_pretrained(self, folder: str | Path) -> None:
        """Write a folder that `transformers` loads, and that is a `source` here."""
        foreign_files.write(Path(folder), self.weights, self.chat)

    def store(self, folder: Path) -> dict[str, str]:
        """Write it; returns the knobs that find it there."""
        self.save_pretrained(folder)
        return {"source": "."}

    # --- reading ------------------------------------------------------------------------------------------------

    def read(self, batch: Batch, want: Sequence[str]) -> dict[str, Tensor]:
        """Log-prob and entropy of every step, of the distribution it was sampled from, and `hidden`, [S, E], the last layer's
        state after it, under the weights as they are."""
        self._check_lengths(batch)
        if self.head_fits is None:
            self.head_fits = _head_fits(self.weights)
        device = self.device
        token_S, seg_S, how_G = batch.action.to(device), batch.seg.to(device), batch.sampling
        found: dict[str, list[Tensor]] = {name: [] for name in want}
        steps: list[Tensor] = []
        most = READ_TOKENS if self.head_fits else max(1, LOGITS // self.config.get_text_config().vocab_size)
        for block in _blocks(_tracks(batch, ends="hidden" in want), most):
            self.meter.read += sum(len(track.token) for track in block)
            step = torch.from_numpy(np.concatenate([track.step for track in block])).to(device)
            how = [how_G[g] for g in seg_S[step].tolist()]
            known = self._known(_padded(block, device), token_S[step], how, want)
            for name in want:
                found[name].append(known[name])
            steps.append(step)
        if not steps:
            nothing = next(self.weights.parameters()).flatten()[:0].float()
            return dict.fromkeys(want, nothing)
        order = torch.argsort(torch.cat(steps))
        return {name: torch.cat(values)[order] for name, values in found.items()}

    def _known(self, rows: Rows, token: Tensor, how: Sequence[Sampling], want: Sequence[str]) -> dict[str, Tensor]:
        """What is wanted of the steps of one block."""
        known: dict[str, Tensor] = {}
        hidden = self._hidden(rows) if self.head_fits or "hidden" in want else torch.zeros(0)
        if "hidden" in want:
            known["hidden"] = hidden[rows.row, rows.before + 1].float()
        if "logp" in want or "entropy" in want:
            known |= zip(("logp", "entropy"), self._scores(rows, hidden, token, how), strict=True)
        return known

    def _hidden(self, rows: Rows) -> Tensor:
        """[B, T, E]"""
        net: Any = self.weights
        out = net.base_model(rows.token, attention_mask=rows.mask, use_cache=False)
        hidden: Tensor | None = getattr(out, "last_hidden_state", None)
        if hidden is None:
            raise UserError(f"a {type(net).__name__} does not show its hidden states")
        return hidden

    def _scores(self, rows: Rows, hidden: Tensor, token: Tensor, how: Sequence[Sampling]) -> tuple[Tensor, Tensor]:
        """[N] log-probs and [N] entropies of one block."""
        if not self.head_fits:  # the logits are made once more for the gradient, as those of our own models are
            found: tuple[Tensor, Tensor] = checkpoint(self._from_logits, rows, token, how, use_reentrant=False)
            return found
        net: Any = self.weights
        hidden, head = _with_bias(hidden[rows.row, rows.before], net.get_output_embeddings())
        if any(h.cuts for h in how):
            return cut_scores(hidden, head, token, how)
        return token_scores(hidden, head, token, _heat(how, token.device))

    def _from_logits(self, rows: Rows, token: Tensor, how: Sequence[Sampling]) -> tuple[Tensor, Tensor]:
        logits = self.weights(rows.token, attention_mask=rows.mask, use_cache=False).logits[rows.row, rows.before]
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        if any(h.cuts for h in how):
            return scores(logits, how, token)
        logp = torch.log_softmax(logits / _heat(how, token.device)[:, None], dim=-1)
        return logp.gather(1, token[:, None])[:, 0], -(logp.exp() * logp).sum(-1)


def _heat(how: Sequence[Sampling], device: torch.device) -> Tensor:
    """[N] temperatures; a greedy choice is read as a draw at temperature 1."""
    return torch.tensor([float(h.temperature) or 1.0 for h in how], device=device)


# --- the head -----------------------------------------------------------------------------------------------------------


def _head_fits(net: Any) -> bool:
    """Whether the model's logits are its last hidden states times the head's matrix and nothing more, tried on a few
    tokens: some models scale their logits or bend them."""
    head, base = net.get_output_embeddings(), net.base_model
    if not isinstance(head, nn.Linear) or base is net:
        return False
    token = torch.arange(4, device=head.weight.device)[None]
    with torch.no_grad():
        hidden = getattr(base(token, use_cache=False), "last_hidden_state", None)
        return hidden is not None and torch.equal(net(token, use_cache=False).logits, head(hidden))


def _with_bias(hidden: Tensor, head: Any) -> tuple[Tensor, Tensor]:
    """[N, E] and [V, E]; a bias becomes one more column, met by a hidden state of 1."""
    if head.bias is None:
        return hidden, head.weight
    return torch.cat([hidden, torch.ones_like(hidden[:, :1])], 1), torch.cat([head.weight, head.bias[:, None]], 1)


# --- rows ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Track:
    """What one role saw and did from its first segment to a last one, and which steps are read off it."""

    token: np.ndarray  # [T]
    step: np.ndarray  # [N] steps of the batch ...
    before: np.ndarray  # [N] ... and the place of the token before each


@dataclass(frozen=True)
class Rows:
    """Tracks side by side."""

    token: Tensor  # [B, T]
    mask: Tensor  # [B, T] 0 is padding
    row: Tensor  # [N]
    before: Tensor  # [N]


def _tracks(batch: Batch, ends: bool = False) -> Iterator[Track]:
    """Every step once: those of a shared trunk are read off the first track that goes through it. With `ends` the last
    token of each is there too."""
    context, action = batch.context.cpu().numpy(), batch.action.cpu().numpy()
    context_end, action_end = (np.cumsum(n.cpu().numpy()) for n in (batch.context_length, batch.length))
    path: dict[int, list[int]] = {}
    for track, segment in zip(batch.path_track.tolist(), batch.path_seg.tolist(), strict=True):
        path.setdefault(track, []).append(segment)
    seen: set[int] = set()
    for segments in path.values():
        tokens: list[np.ndarray] = []
        step: list[np.ndarray] = []
        before: list[np.ndarray] = []
        size = 0
        for g in segments:
            shown = context[context_end[g - 1] if g else 0 : context_end[g]]
            first = int(action_end[g - 1]) if g else 0
            done = action[first : action_end[g]]
            size += len(shown)
            if g not in seen and len(done):
                assert size > 0, "a track begins with an action: there is nothing to read it off"
                step.append(np.arange(first, first + len(done)))
                before.append(np.arange(size - 1, size - 1 + len(done)))
            seen.add(g)
            size += len(done)
            tokens += [shown, done]
        if step:
            last = np.concatenate(before)
            yield Track(np.concatenate(tokens)[: last[-1] + 1 + ends], np.concatenate(step), last)


def _blocks(tracks: Iterator[Track], most: int) -> Iterator[list[Track]]:
    """Tracks of about one length together, at most so many tokens with their padding."""
    block: list[Track] = []
    for track in sorted(tracks, key=lambda t: len(t.token)):
        if block and (len(block) + 1) * len(track.token) > most:
            yield block
            block = []
        block.append(track)
    if block:
        yield block


def _padded(block: Sequence[Track], device: torch.device) -> Rows:
    longest = max(len(track.token) for track in block)
    token, mask = np.zeros((2, len(block), longest), np.int64)
    for row, track in enumerate(block):
        token[row, : len(track.token)] = track.token
        mask[row, : len(track.token)] = 1
    row_N = np.repeat(np.arange(len(block)), [len(track.step) for track in block])
    before_N = np.concatenate([track.before for track in block])
    return Rows(*(torch.from_numpy(x).to(device) for x in (token, mask, row_N, before_N)))
