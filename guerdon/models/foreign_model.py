"""A causal language model of any architecture that `transformers` has, behind the same interface as our own.

It reads a batch track by track, each a row of its own, padded behind: whatever is causal does not notice.
Where a model's logits are its last hidden states times a matrix, log-probs are taken from those,
and the logits of all tokens are never held.
Leaves out: text (`text.py`), files (`foreign_files.py`), sampling (`engine/foreign_sampler.py`), adapters.

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
from guerdon.core.column import Per
from guerdon.core.errors import UserError
from guerdon.core.model import NEXT, Model, level_of
from guerdon.core.part import knob, live, part
from guerdon.core.task import Sampling
from guerdon.models import foreign_files, huggingface, value_head
from guerdon.models.chat import Chat
from guerdon.models.logit_head import LOGITS, cut_scores, token_logp, token_scores
from guerdon.models.plain_files import check_memory
from guerdon.models.sampling import scores
from guerdon.models.text import TextModel
from guerdon.models.value_head import head

READ_TOKENS = 16384  # of one forward pass, padding included; a batch of more is read in several
LOOKED_AT = 64  # tokens by which a pass is seen
ENDLESS = 1 << 30  # positions of a model that knows no limit
VOLATILE = ("transformers_version", "_name_or_path", "dtype", "torch_dtype")  # of a config: irrelevant to the shape


@part
class foreign(TextModel):
    """A language model of any other architecture, in `source`: a local Hugging Face folder, run through `transformers`.

    Without weights in the folder it starts from fresh ones. `dtype` is the type of the weights in memory: "auto" is bfloat16
    for models of 50 million weights or more on a GPU, else float32. `rows` requests are sampled at a time. Each draws by its
    own seed, but how logits are rounded may depend on the others in the batch: with `rows=1` a reply is the same to the last
    bit in any company. It runs `on` a GPU where there is one. `value` gives it a head, as it does an `lm`.
    """

    source: str = knob(hashed=False)
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    rows: int = knob(default=64, ge=1)
    on: Literal["auto", "cpu", "cuda"] = knob(default="auto", hashed=False)
    value: bool | head = knob(default=False, absent=False)

    reads: ClassVar[Mapping[str, Per]] = {"logp": "step", "entropy": "step", "hidden": "step", f"{NEXT}TOKEN": "track"}
    config: Any = live()
    chat: Chat = live()
    opened: str = live()
    parameters: int = live(default=0)
    kept: int | None = live()  # of a token in a pass with gradients, in bytes; None: not looked at yet
    head_fits: bool | None = live()  # whether logits are hidden states times the head; None: not tried yet

    def __post_init__(self) -> None:
        self._settle()

    def _settle(self) -> None:
        """Read what the knobs name: they may have been set after the last time."""
        if self.opened != self.source or self.read_as not in (None, self._dtype):
            self._open()
        self._head_form()
        if self.net is not None:
            self._give_head(self.net)

    def _open(self) -> None:
        """Read the folder, weights and all where it has them."""
        folder = Path(self.source)
        self.opened, self.net, self.head_fits, self.read_as = self.source, None, None, None
        self.config = foreign_files.read_config(folder)
        self.parameters = foreign_files.count(self.config)
        self.chat = huggingface.read_chat(folder, foreign_files.vocabulary(self.config, folder))
        check_memory(self.parameters, self.source)
        if huggingface.has_weights(folder):
            self.net = foreign_files.read_net(folder, self.config, self._dtype, self.parameters)
            self.read_as = self._dtype

    def start(self, seed: int, models: Mapping[str, Model]) -> None:
        self._settle()
        super().start(seed, models)
        self.weights.to(self._device)
        own = value_head.head_of(self.weights)
        kept = set(own.parameters()) if own else set()  # in float32, as buffers are: the angles of positions
        for weight in set(self.weights.parameters()) - kept:
            weight.data = weight.data.to(self._dtype)
        self.read_as = self.kept = None

    def build(self, seed: int) -> nn.Module:
        net = foreign_files.fresh_net(self.config, self._dtype, seed)
        self._give_head(net)
        return net

    def _give_head(self, net: nn.Module) -> None:
        value_head.fit(net, self._head_form(), [Path(self.source)], lambda: _width(net))

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
        value_head.write(Path(folder), self.weights)

    def store(self, folder: Path) -> dict[str, str]:
        """Write it; returns the knobs that find it there."""
        self.save_pretrained(folder)
        return {"source": "."}

    # --- reading ------------------------------------------------------------------------------------------------

    @property
    def kept_bytes(self) -> int:
        """As it was seen to be: what is between the layers of an architecture only it knows."""
        if self.kept is None:
            self.kept = _seen_to_keep(self.weights, min(LOOKED_AT, self.max_positions))
        return self.kept

    def read(self, batch: Batch, want: Sequence[str]) -> dict[str, Tensor]:
        """Log-prob and entropy of every step, of the distribution it was sampled from, and `hidden`, [S, E], the last layer's
        state after it, under the weights as they are. The head's output is `value` before each step, `after` it, and `final`
        after each track's last token. `next:TOKEN`, [K], is the log-prob at temperature 1 of that token after each
        track's last."""
        self._check_lengths(batch)
        if self.head_fits is None:
            self.head_fits = _head_fits(self.weights)
        device = self.device
        token_S, seg_S, how_G = batch.action.to(device), batch.seg.to(device), batch.sampling
        pieces: dict[str, list[Tensor]] = {name: [] for name in want}
        place: dict[Per, list[Tensor]] = {"step": [], "track": []}
        most = READ_TOKENS if self.head_fits else max(1, LOGITS // self.config.get_text_config().vocab_size)
        following = {name: self.token_id(name.removeprefix(NEXT)) for name in want if name.startswith(NEXT)}
        every = "final" in want or bool(following)
        for block in _blocks(_tracks(batch, bool({"hidden", "after"} & set(want)), every), most):
            self.meter.read += sum(len(track.token) for track in block)
            rows = _padded(block, device)
            how = [how_G[g] for g in seg_S[rows.step].tolist()]
            for name, value in self._known(rows, token_S[rows.step], how, want, following).items():
                pieces[name].append(value)
            place["step"].append(rows.step)
            place["track"].append(rows.track)
        if not place["step"]:
            nothing = next(self.weights.parameters()).flatten()[:0].float()
            return {n: value_head.say(self.weights, None) if n in value_head.READS else nothing for n in want}
        order = {level: torch.argsort(torch.cat(each)) for level, each in place.items()}
        levels = {name: level_of(name, self.readings({})) or "step" for name in want}
        return {name: torch.cat(values)[order[levels[name]]] for name, values in pieces.items()}

    def _known(
        self, rows: Rows, token: Tensor, how: Sequence[Sampling], want: Sequence[str], following: Mapping[str, int]
    ) -> dict[str, Tensor]:
        """What is wanted of the steps and tracks of one block."""
        known: dict[str, Tensor] = {}
        shown = self.head_fits or not {"logp", "entropy", *following}.issuperset(want)
        hidden = _hidden(self.weights, rows.token, rows.mask) if shown else torch.zeros(0)
        if "hidden" in want:
            known["hidden"] = hidden[rows.row, rows.before + 1].float()
        if "logp" in want or "entropy" in want:
            known |= zip(("logp", "entropy"), self._scores(rows, hidden, token, how), strict=True)
        known |= {name: self._follows(rows, hidden, each) for name, each in following.items()}
        at = {"value": (rows.row, rows.before), "after": (rows.row, rows.before + 1), "final": (rows.every, rows.end)}
        known |= {name: value_head.say(self.weights, hidden[where]) for name, where in at.items() if name in want}
        return {name: value for name, value in known.items() if name in want}

    def _scores(self, rows: Rows, hidden: Tensor, token: Tensor, how: Sequence[Sampling]) -> tuple[Tensor, Tensor]:
        """[N] log-probs and [N] entropies of one block."""
        if not self.head_fits:  # the logits are recomputed for the gradient, as those of our own models are
            logp_and_entropy: tuple[Tensor, Tensor] = checkpoint(
                self._from_logits, rows, token, how, use_reentrant=False
            )
            return logp_and_entropy
        net: Any = self.weights
        hidden, matrix = _with_bias(hidden[rows.row, rows.before], net.get_output_embeddings())
        if any(h.cuts for h in how):
            return cut_scores(hidden, matrix, token, how)
        return token_scores(hidden, matrix, token, _heat(how, token.device))

    def _follows(self, rows: Rows, hidden: Tensor, token: int) -> Tensor:
        """[B] the log-prob of one token after each track's last."""
        net: Any = self.weights
        if not self.head_fits:
            logits = checkpoint(self._logits, rows, rows.every, rows.end, use_reentrant=False)
            logp: Tensor = torch.log_softmax(logits, dim=-1)[:, token]
            return logp
        return token_logp(*_with_bias(hidden[rows.every, rows.end], net.get_output_embeddings()), token)

    def _logits(self, rows: Rows, row: Tensor, place: Tensor) -> Tensor:
        logits: Tensor = self.weights(rows.token, attention_mask=rows.mask, use_cache=False).logits[row, place]
        return logits.to(torch.promote_types(logits.dtype, torch.float32))

    def _from_logits(self, rows: Rows, token: Tensor, how: Sequence[Sampling]) -> tuple[Tensor, Tensor]:
        logits = self._logits(rows, rows.row, rows.before)
        if any(h.cuts for h in how):
            return scores(logits, how, token)
        logp = torch.log_softmax(logits / _heat(how, token.device)[:, None], dim=-1)
        return logp.gather(1, token[:, None])[:, 0], -(logp.exp() * logp).sum(-1)


def _heat(how: Sequence[Sampling], device: torch.device) -> Tensor:
    """[N] temperatures; a greedy choice is read as a draw at temperature 1."""
    return torch.tensor([float(h.temperature) or 1.0 for h in how], device=device)


# --- hidden states ------------------------------------------------------------------------------------------------------


def _hidden(net: Any, token: Tensor, mask: Tensor | None = None) -> Tensor:
    """[B, T, E] of the last layer, from [B, T]."""
    out = net.base_model(token, attention_mask=mask, use_cache=False)
    hidden: Tensor | None = getattr(out, "last_hidden_state", None)
    if hidden is None:
        raise UserError(f"a {type(net).__name__} does not show its hidden states")
    return hidden


def _seen_to_keep(net: nn.Module, tokens: int) -> int:
    """Bytes for each token of a short row that a pass keeps for its gradients, besides what the model has anyway."""
    device = next(net.parameters()).device
    own = {each.untyped_storage().data_ptr() for each in (*net.parameters(), *net.buffers())}
    kept = dict[int, int]()

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor  # which keeps it, so that no other comes to lie in its place

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        _hidden(net, torch.ones(1, tokens, dtype=torch.long, device=device))
    return sum(size for place, size in kept.items() if place not in own) // tokens


def _width(net: nn.Module) -> int:
    """How wide they are; what a config calls it is a matter of taste."""
    with torch.no_grad():
        return _hidden(net, torch.ones(1, 1, dtype=torch.long, device=next(net.parameters()).device)).shape[-1]


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
    track: int  # of the batch


@dataclass(frozen=True)
class Rows:
    """Tracks side by side."""

    token: Tensor  # [B, T]
    mask: Tensor  # [B, T] 0 is padding
    step: Tensor  # [N] steps of the batch ...
    row: Tensor  # [N] ... the row each is read off ...
    before: Tensor  # [N] ... and the place of the token before it there
    track: Tensor  # [B] tracks of the batch ...
    every: Tensor  # [B] ... their rows ...
    end: Tensor  # [B] ... and the place of the last token of each


def _tracks(batch: Batch, ends: bool = False, whole: bool = False) -> Iterator[Track]:
    """Every step once: those of a shared trunk are read off the first track that goes through it. With `ends` the token of
    its last step is there too; `whole` are all tracks with all of their tokens, those without a step too."""
    context, action = batch.context.cpu().numpy(), batch.action.cpu().numpy()
    context_end, action_end = (np.cumsum(n.cpu().numpy()) for n in (batch.context_length, batch.length))
    path: dict[int, list[int]] = {}
    for track, segment in zip(batch.path_track.tolist(), batch.path_seg.tolist(), strict=True):
        path.setdefault(track, []).append(segment)
    seen: set[int] = set()
    for track, segments in path.items():
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
                assert size > 0, "a track begins with an action: there is no context to compute it from"
                step.append(np.arange(first, first + len(done)))
                before.append(np.arange(size - 1, size - 1 + len(done)))
            seen.add(g)
            size += len(done)
            tokens += [shown, done]
        if step or whole:
            assert size > 0, "a track has a prompt and no action: it has no end to read"
            step_N, before_N = (np.concatenate([np.zeros(0, np.int64), *each]) for each in (step, before))
            last = size if whole else int(before_N[-1]) + 1 + ends
            yield Track(np.concatenate(tokens)[:last], step_N, before_N, track)


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
    step_N, before_N = (np.concatenate([getattr(track, name) for track in block]) for name in ("step", "before"))
    track_B, end_B = np.array([(track.track, len(track.token) - 1) for track in block], np.int64).T.copy()
    arrays = (token, mask, step_N, row_N, before_N, track_B, np.arange(len(block)), end_B)
    return Rows(*(torch.from_numpy(x).to(device) for x in arrays))
