"""A causal language model over text: a decoder, a tokenizer, and the format of a conversation.

A view becomes `<|user|>` text `<|assistant|>`; a turn ends with `<|end|>`. A second turn continues the first: its context
is the first one's context and actions, then its own view. Text never makes a special token, so a prompt cannot forge one.
Left out: how sampling is batched (`generate.py`), files (`huggingface.py`).

Axes: S steps, K tracks, F tokens of all tracks one after the other, T tokens of a padded row, N steps of one chunk.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from guerdon.core.batch import Batch
from guerdon.core.episode import End
from guerdon.core.errors import UserError
from guerdon.core.levels import expand, gather_up, starts
from guerdon.core.model import Model, Reply, Request
from guerdon.core.part import check_knobs, knob, live, part
from guerdon.models import huggingface
from guerdon.models.decoder import Decoder, DecoderConfig
from guerdon.models.generate import Row, alike, generate
from guerdon.models.tokenizer import ASSISTANT, END, SPECIALS, USER

READ_TOKENS = 16384  # of one forward pass; a batch of more is read in several
LOGITS = 1 << 23  # the most [N, V] numbers held at a time; beyond, logits are computed again for the gradient


@part
class lm(Model):
    """A Llama-style language model in the local folder `source`: config.json, tokenizer.json and model.safetensors.

    Without weights in the folder it starts from fresh ones. `dtype` is the type of the weights in memory.
    """

    source: str = knob(hashed=False)
    dtype: Literal["float32", "bfloat16"] = "float32"

    reads: ClassVar[Mapping[str, Literal["step", "track"]]] = {"logp": "step", "entropy": "step"}
    config: DecoderConfig = live()
    tokenizer: Tokenizer = live()
    special: dict[str, int] = live()
    opened: str = live()

    def __post_init__(self) -> None:
        check_knobs(self)
        self._open()

    def _open(self) -> None:
        """Read the folder, weights and all where it has them."""
        folder = Path(self.source)
        self.opened = self.source
        self.config = huggingface.read_config(folder)
        self.tokenizer = huggingface.read_tokenizer(folder, self.config)
        vocab = self.tokenizer.get_vocab()
        self.special = {name: vocab[name] for name in SPECIALS}
        self.net = None
        if huggingface.has_weights(folder):
            net = Decoder(self.config).to(self._dtype)
            huggingface.load_weights(net, folder)
            self.net = net

    def start(self, seed: int, models: Mapping[str, Model]) -> None:
        """Knobs may have been set after the folder was read."""
        if self.opened != self.source:
            self._open()
        super().start(seed, models)
        self.weights.to(self._dtype)

    @property
    def _dtype(self) -> torch.dtype:
        return {"float32": torch.float32, "bfloat16": torch.bfloat16}[self.dtype]

    @property
    def end_token(self) -> int:
        return self.special[END]

    @property
    def decoder(self) -> Decoder:
        net = self.weights
        assert isinstance(net, Decoder)
        return net

    def build(self, seed: int) -> Decoder:
        return Decoder(self.config).reset(seed).to(self._dtype)

    def identity(self) -> str:
        """The shape, the tokenizer and, where they did not come from a seed, the weights: not the folder they lie in."""
        known = [str(self.config), sorted(self.tokenizer.get_vocab().items()), super().identity()]
        return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:16]

    def save_pretrained(self, folder: str | Path) -> None:
        """Write a folder that `transformers` loads, and that is a `source` here."""
        huggingface.write(Path(folder), self.decoder, self.tokenizer)

    # --- text ---------------------------------------------------------------------------------------------------

    def encode(self, view: Any) -> npt.NDArray[np.int64]:
        text = view if isinstance(view, str) else json.dumps(view)
        return np.array([self.special[USER], *self._tokens(text), self.special[ASSISTANT]], np.int64)

    def _tokens(self, text: str) -> list[int]:
        self.tokenizer.encode_special_tokens = True  # as plain characters; a copy of a tokenizer forgets it was told
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, actions: Sequence[int]) -> str:
        return self.tokenizer.decode(actions, skip_special_tokens=True)

    def recite(self, view: Any, text: str) -> Reply:
        actions = np.array([*self._tokens(text), self.end_token], np.int64)
        return Reply(self.encode(view), actions, np.full(len(actions), np.nan, np.float32), text)

    # --- acting -------------------------------------------------------------------------------------------------

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        encode = functools.cache(self.encode)  # the tries at a prompt show the same text
        contexts = [encode(r.view) if isinstance(r.view, str) else self.encode(r.view) for r in requests]
        rows = [self._row(r, context) for r, context in zip(requests, contexts, strict=True)]
        generate(self.decoder, rows)
        return [self._reply(*made) for made in zip(requests, contexts, rows, strict=True)]

    def _row(self, request: Request, context: npt.NDArray[np.int64]) -> Row:
        given = request.given.tolist()
        past = [array.tolist() for segment in request.path for array in (segment.context, segment.actions)]
        prompt = [token for tokens in (*past, context.tolist(), given) for token in tokens]
        room = self.config.max_positions - len(prompt)
        if room < 1:
            raise UserError(
                f"a prompt of {len(prompt)} tokens leaves no room in a context of {self.config.max_positions}: shorten it"
            )
        limit = min(request.sampling.max_tokens - len(given), room)
        stop = tuple(request.sampling.stop)
        if given and (given[-1] == self.end_token or _cut(self.decode(given), stop) is not None):
            limit = 0
        is_over = functools.partial(self._is_over, given, stop, 8 + 4 * max(map(len, stop), default=0))
        return Row(prompt, request.sampling, request.seed, limit, is_over if stop else self._has_ended)

    def _has_ended(self, tokens: list[int]) -> bool:
        return tokens[-1] == self.end_token

    def _is_over(self, given: list[int], stop: tuple[str, ...], tail: int, tokens: list[int]) -> bool:
        """Only the last `tail` tokens are looked at: a stop string that has just ended lies in them."""
        recent = tokens[-tail:] if len(tokens) >= tail else (given + tokens)[-tail:]
        return tokens[-1] == self.end_token or _cut(self.decode(recent), stop) is not None

    def _reply(self, request: Request, context: npt.NDArray[np.int64], row: Row) -> Reply:
        actions = [*request.given.tolist(), *row.tokens]
        text = self.decode(actions)
        stopped = _cut(text, request.sampling.stop)
        done = stopped is not None or actions[-1:] == [self.end_token]
        return Reply(
            context,
            np.array(actions, np.int64),
            np.array([np.nan] * len(request.given) + row.logp, np.float32),
            text if stopped is None else stopped,
            End.DONE if done else End.CUT,
        )

    # --- reading ------------------------------------------------------------------------------------------------

    def read(self, batch: Batch, want: Sequence[str]) -> dict[str, Tensor]:
        """Each track is one sequence; a step shared by several tracks is read once, from the first of them."""
        net = self.decoder
        if batch.S == 0:
            return {name: net.model.norm.weight[:0].float().to(batch.seg.device) for name in want}
        heat_G = torch.where(batch.temperature > 0, batch.temperature, 1.0)
        token_F, step_F, length_K = sequences(batch)
        start_K = starts(length_K)
        weights = net.layer_weights()
        found: dict[str, list[Tensor]] = {name: [] for name in want}
        steps: list[Tensor] = []
        lengths = length_K.tolist()
        if max(lengths, default=0) > self.config.max_positions:
            raise UserError(
                f"a track of {max(lengths)} tokens is longer than the context of {self.config.max_positions}"
            )
        for chunk in alike(lengths, READ_TOKENS):
            width = lengths[chunk[0]]
            rows = torch.tensor(chunk, device=start_K.device)
            column = torch.arange(width, device=start_K.device)
            inside = column < length_K[rows][:, None]  # [rows, T]
            place = torch.where(inside, start_K[rows][:, None] + column, 0)
            step = torch.where(inside, step_F[place], -1)[:, 1:]
            row, before = torch.nonzero(step >= 0, as_tuple=True)  # a step is read off the token before it
            if len(row) == 0:
                continue
            token = token_F[place]
            hidden = net(token[:, :-1].to(net.device), weights=weights)
            here = step[row, before]
            read = (token[row, before + 1], heat_G[batch.seg[here]])
            for name, value in self._score(hidden[row.to(net.device), before.to(net.device)], *read, want).items():
                found[name].append(value)
            steps.append(here)
        order = torch.argsort(torch.cat(steps)).to(net.device)
        assert len(order) == batch.S, "a track begins with an action: there is nothing to read it off"
        return {name: torch.cat(values)[order].to(batch.seg.device) for name, values in found.items()}

    def _score(self, hidden: Tensor, token: Tensor, heat: Tensor, want: Sequence[str]) -> dict[str, Tensor]:
        """Readings of N steps from their hidden states [N, E], so many at a time that [N, V] stays small."""
        net = self.decoder
        size = max(1, LOGITS // self.config.vocab)
        token, heat = token.to(net.device), heat.to(net.device)
        parts = []
        for at in range(0, len(hidden), size):
            chunk = (net, hidden[at : at + size], token[at : at + size], heat[at : at + size], "entropy" in want)
            again = torch.is_grad_enabled() and len(hidden) > size
            parts.append(checkpoint(score, *chunk, use_reentrant=False) if again else score(*chunk))
        found = {"logp": [logp for logp, _ in parts], "entropy": [entropy for _, entropy in parts]}
        return {name: torch.cat(found[name]) for name in want}


def score(net: Decoder, hidden: Tensor, token: Tensor, heat: Tensor, with_entropy: bool) -> tuple[Tensor, Tensor]:
    """[N] log-prob of the tokens, and entropy (empty if not wanted), at the temperature they were sampled at."""
    logits = net.logits(hidden)
    wide = logits if logits.dtype == torch.float64 else logits.float()
    logp_all = torch.log_softmax(wide / heat[:, None].to(wide.dtype), dim=-1)  # [N, V]
    entropy = -(logp_all.exp() * logp_all).sum(-1) if with_entropy else logp_all[:0, 0]
    return logp_all.gather(1, token[:, None])[:, 0], entropy


def sequences(batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    """The tracks as token sequences: [F] tokens, [F] which step each is (-1: shown, or read off another track), [K] lengths."""
    length_G = batch.context_length + batch.length
    start_G = starts(length_G)
    context_at = _places(batch.context_seg, start_G)
    step_at = _places(batch.seg, start_G + batch.context_length)
    token = torch.zeros(len(batch.context) + batch.S, dtype=torch.long, device=batch.seg.device)
    step = torch.full_like(token, -1)
    token[context_at], token[step_at] = batch.context, batch.action
    step[step_at] = torch.arange(batch.S, device=token.device)
    order = expand(batch.path_seg, start_G, length_G)
    token_F, step_F = token[order], step[order]
    length_K = gather_up(length_G[batch.path_seg].double(), batch.path_track, batch.K).long()
    if len(batch.path_seg) > batch.G:  # tracks share segments
        place = torch.arange(len(step_F), device=token.device)
        acted = step_F >= 0
        first = torch.full((batch.S,), len(step_F), dtype=torch.long, device=token.device)
        first = first.scatter_reduce(0, step_F[acted], place[acted], "amin")
        step_F = torch.where(acted & (first[step_F.clamp(min=0)] == place), step_F, -1)
    return token_F, step_F, length_K


def _places(group: Tensor, start: Tensor) -> Tensor:
    """Where the members of sorted groups stand, the members of group g one after the other from start[g]."""
    first = starts(torch.bincount(group, minlength=len(start)))
    return start[group] + torch.arange(len(group), device=group.device) - first[group]


def _cut(text: str, stops: Sequence[str]) -> str | None:
    """The text before the first stop string; None when there is none."""
    found = [text.find(stop) for stop in stops if stop and stop in text]
    return text[: min(found)] if found else None
