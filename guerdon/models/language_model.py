"""A causal language model over text: a decoder, a tokenizer, and the format of a conversation (`chat.py`).

A second turn continues the first: its context is the first one's context and actions, then what is new in its own view.
Leaves out: what it shares with models of other libraries (`text.py`), how sampling is batched (`engine/`),
files (`huggingface.py`, `gguf.py`).

Axes: S steps, K tracks, F tokens of all tracks one after the other, T tokens of a padded row, N steps of one chunk.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from guerdon.core.batch import Batch
from guerdon.core.column import Per
from guerdon.core.errors import UserError
from guerdon.core.model import NEXT, Model, level_of
from guerdon.core.part import knob, live, part
from guerdon.core.seeds import derive
from guerdon.core.tensor_hashes import frozen_hash, sums
from guerdon.models import gguf, huggingface, lora, lora_files, value_head
from guerdon.models.chat import Chat
from guerdon.models.config import DecoderConfig
from guerdon.models.decoder import Decoder
from guerdon.models.logit_head import cut_scores, logp_at, token_logp, token_scores, top_tokens, uniform_kl
from guerdon.models.names import from_hub, hub_shapes
from guerdon.models.plain_files import check_memory
from guerdon.models.text import TextModel
from guerdon.models.token_rows import rows
from guerdon.models.value_head import head

READ_TOKENS = 16384  # of one forward pass without gradients; a batch of more is read in several


@part
class lm(TextModel):
    """A language model of a family we know, in `source`: a local Hugging Face folder or a .gguf file.

    Without weights in the folder it starts from fresh ones. `dtype` is the type of the weights in memory: "auto" is bfloat16
    for models of 50 million weights or more on a GPU, with an adapter only if they are stored so, else float32.

    `lora` is the rank of a LoRA adapter that is trained in place of the weights (0: none), scaled by `lora_alpha` / rank
    (0: twice the rank, TRL's default). `adapter` is a folder with one to start from, as peft writes it: rank, alpha and
    what is adapted are then its own.

    It runs `on` a GPU where there is one. With `recompute`, what a layer computed is computed again for its gradient
    instead of being kept: a third more work, a fraction of the memory.

    With `value` it has a head that returns a number: a critic, or a reward model. A fresh one returns 0. `value` may also be a
    `head(outputs=3, width=64)`, of several numbers or with a hidden layer.

    Args:
        source: a Hugging Face folder, or a .gguf file.
        dtype: type of the weights in memory.
        lora: rank of an adapter that is trained in place of the weights; 0 for none.
        lora_alpha: its scale, divided by the rank; 0 for twice the rank.
        adapter: folder of an adapter to start from.
        on: device.
        recompute: compute activations again in the backward pass, to save memory.
        value: add a value head.

    >>> import guerdon as gd
    >>> policy = gd.models.load("sprig", lora=8)
    >>> isinstance(policy, gd.models.lm), policy.lora, policy.decode(policy.encode("chain 5 -3 *4"))
    (True, 8, 'chain 5 -3 *4')
    """

    source: str = knob(hashed=False)
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    lora: int = knob(default=0, ge=0)
    lora_alpha: float = knob(default=0.0, ge=0.0)
    adapter: str = knob(default="", hashed=False)
    on: Literal["auto", "cpu", "cuda"] = knob(default="auto", hashed=False)
    recompute: bool = knob(default=False, hashed=False)
    value: bool | head = False

    takes_guides: ClassVar[bool] = True
    reads: ClassVar[Mapping[str, Per]] = {
        **dict.fromkeys(("logp", "entropy", "certainty", "top_token", "top_logp", "logp_at", "hidden"), "step"),
        f"{NEXT}TOKEN": "track",
    }
    config: DecoderConfig = live()
    chat: Chat = live()
    opened: str = live()
    fitted: str = live(default="")  # the adapter's folder that was read
    place: str = live(default="")  # where the source lies, wherever this process goes
    in_half: bool = live(default=False)
    as_read: list[bytes] | None = live()  # sums of the weights, as the source has them

    def __post_init__(self) -> None:
        self._settle()

    def _settle(self) -> None:
        """Read what the knobs name: they may have been set after the last time."""
        if self.opened != self.source or self.read_as not in (None, self._dtype):
            self._open()
        self._head_form()
        if isinstance(self.net, Decoder):
            self._read_adapter(self.net)
            self._give_head(self.net)

    def _open(self) -> None:
        """Read the folder or the GGUF file, weights and all where it has them."""
        source = Path(self.source)
        self.opened, self.net, self.read_as, self.place = self.source, None, None, str(source.absolute())
        self.in_half, self.as_read = False, None
        if source.suffix == ".gguf":
            self.config, self.chat, tensors = gguf.read(source)
            net = Decoder(self.config, self._dtype)
            from_hub(net, tensors)
        else:
            self.config = huggingface.read_config(source)
            self.chat = huggingface.read_chat(source, self.config.vocab)
            huggingface.refuse_adapter(source)
            if not huggingface.has_weights(source):
                check_memory(self.parameters, self.source)
                return
            stored = huggingface.Stored(source)
            huggingface.check_weights(stored, self.config)
            check_memory(self.parameters, self.source)
            self.in_half = stored.is_half
            net = Decoder(self.config, self._dtype)
            from_hub(net, stored)
        self.net, self.read_as, self.as_read = net, self._dtype, sums([*net.parameters()])

    def start(self, seed: int, models: Mapping[str, Model]) -> None:
        self._settle()
        super().start(seed, models)
        self.weights.to(self._device, self._dtype)
        self._adapt(self.decoder, seed)
        self._give_head(self.decoder)
        self.decoder.to(self._device).recompute = self.recompute
        self.read_as = None

    @property
    def max_positions(self) -> int:
        return self.config.max_positions

    @property
    def parameters(self) -> int:
        return sum(map(math.prod, hub_shapes(self.config).values()))

    @property
    def decoder(self) -> Decoder:
        net = self.weights
        assert isinstance(net, Decoder)
        return net

    def build(self, seed: int) -> Decoder:
        net = Decoder(self.config).reset(seed).to(self._dtype)
        self._adapt(net, seed)
        self._give_head(net)
        return net

    def rebuilt(self, seed: int) -> Decoder:
        self._settle()
        if self.net is None or not self.is_adapted:
            return self.build(seed)
        self._adapt(self.decoder, seed)
        self._give_head(self.decoder)
        return self.decoder

    def _give_head(self, net: Decoder) -> None:
        places = [Path(place) for place in (self.adapter, self.source) if place]
        value_head.fit(net, self._head_form(), places, lambda: net.config.hidden)

    # --- the adapter --------------------------------------------------------------------------------------------

    @property
    def stored_in_half(self) -> bool:
        return self.in_half

    @property
    def is_adapted(self) -> bool:
        return bool(self.lora or self.adapter) or (self.net is not None and self.decoder.has_adapter)

    def _read_adapter(self, net: Decoder) -> None:
        if self.adapter and not (net.has_adapter and self.fitted == self.adapter):
            lora_files.read(net, Path(self.adapter))
            self.fitted = self.adapter
        ranks, alphas = ({getattr(c, of) for _, _, c in lora.changes(net)} for of in ("rank", "alpha"))
        for name, wanted, there in (("lora", self.lora, ranks), ("lora_alpha", self.lora_alpha, alphas)):
            if wanted and there and wanted not in there:
                values = ", ".join(f"{value:g}" for value in sorted(there))
                raise UserError(
                    f"lm.{name} is {wanted:g}, but the model comes with an adapter of {values}: leave it out"
                )

    def _adapt(self, net: Decoder, seed: int) -> None:
        """Give a net the adapter that the knobs ask for, unless it has it."""
        self._read_adapter(net)
        if self.lora and not net.has_adapter:
            lora.add(net, self.lora, self.lora_alpha, derive(seed, "lora"))
        if self.lora_alpha and not net.has_adapter:
            raise UserError("lm.lora_alpha scales an adapter, and there is none: set lm.lora to its rank too")

    def frozen_weights(self) -> dict[str, nn.Parameter]:
        return lora.below(self.decoder) if self.net is not None and self.is_adapted else {}

    @property
    def is_base_as_read(self) -> bool:
        """Whether the weights below the adapter are unchanged since loading."""
        return sums([*self.frozen_weights().values()]) == self.as_read

    def save_adapter(self, folder: str | Path) -> None:
        """Write the adapter as peft does, to be loaded by it over the same model, or to be an `adapter` here."""
        if not self.decoder.has_adapter:
            raise UserError("the model has no adapter to save: make it with lora=16, or use save_pretrained")
        lora_files.write(Path(folder), self.decoder, self.place)

    # --- identity and files -------------------------------------------------------------------------------------

    def identity(self) -> str:
        """The shape, the text format and, where they did not come from a seed, the weights: not the folder they lie in."""
        self._settle()
        known: list[Any] = [str(self.config), *self.text_identity, super().identity()]
        if self.net is not None:
            known += [change.scale for _, _, change in lora.changes(self.decoder)]
        elif self.adapter:
            known.append(lora_files.digest(Path(self.adapter)))
        return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:16]

    def save_pretrained(self, folder: str | Path) -> None:
        """Write a folder that `transformers` loads, and that is a `source` here.

        An adapter is merged into the weights there, and stands beside them in `adapter/`; so does a value head, in a file.
        """
        huggingface.write(Path(folder), self.decoder, self.tokenizer, self.chat.format)
        value_head.write(Path(folder), self.decoder)
        if self.decoder.has_adapter:
            self.save_adapter(Path(folder) / "adapter")

    def store(self, folder: Path) -> dict[str, str]:
        """Write what it takes to get this very model back, and return the knobs that find it there: what `save_pretrained`
        writes, or the adapter alone. The weights below it stay where they were read; those that were not read, or were written
        to since, are written too.
        """
        if not self.decoder.has_adapter:
            self.save_pretrained(folder)
            return {"source": ".", "adapter": ""}
        self.save_adapter(folder / "adapter")
        value_head.write(folder / "adapter", self.decoder)
        if self.is_base_as_read:
            return {"source": self.place, "adapter": "adapter"}
        huggingface.write(folder / "base", lora.bare(self.decoder), self.tokenizer, self.chat.format)
        return {"source": "base", "adapter": "adapter"}

    def base_hash(self, dtype: torch.dtype | None = None) -> str:
        """Of the weights below the adapter, as they are or as they would be in another type."""
        return frozen_hash(lora.below(self.decoder), dtype)

    def facts(self) -> dict[str, Any]:
        """Of a model with an adapter also the weights below it, which neither checkpoints nor `models/` hold."""
        below = {"base": self.place, "base_hash": self.base_hash()} if self.frozen_weights() else {}
        return {**super().facts(), **below}

    # --- reading ------------------------------------------------------------------------------------------------

    @property
    def kept_bytes(self) -> int:
        return self.config.kept_numbers * self.decoder.dtype.itemsize

    def read(self, batch: Batch, want: Sequence[str]) -> dict[str, Tensor]:
        """Numbers about steps and tracks, under the weights as they are.

        `logp` and `entropy` are of the distribution each step was sampled from; `certainty`, without a gradient, is how far
        it is from uniform before anything is cut from it; `top_token` and `top_logp`, [S, T], are its likeliest tokens, and
        `logp_at` the log-probs of those that another model named (the batch's column `MODEL.top_token`). The head's output
        is `value` before each step, `after` it, and `final` after each track's last. `hidden`, [S, E], is the last layer's
        state after each step. `next:TOKEN`, [K], is the log-prob at temperature 1 of that token after each track's last.
        """
        net = self.decoder
        self._check_lengths(batch)
        pieces: dict[str, list[Tensor]] = {name: [] for name in want}
        place: dict[Per, list[Tensor]] = {"step": [], "track": []}
        weights = net.layer_weights()
        steps_read = self._reader(batch, want)
        following = {name: self.token_id(name.removeprefix(NEXT)) for name in want if name.startswith(NEXT)}
        ends = bool(following or {"final", "after", "hidden"} & set(want))
        most = batch.S + len(batch.context) if torch.is_grad_enabled() else READ_TOKENS  # all is kept for the gradient
        for row in rows(batch, most, net.device, ends):
            if len(row.step) == len(row.track) == 0:
                continue
            self.meter.read += len(row.token)
            hidden = net(row.token, row.runs, weights)
            known = steps_read(hidden[row.before], row.step) if len(row.step) else {}
            places = {n: at for n, at in (("after", row.after), ("final", row.end)) if n in want}
            known |= {n: value_head.say(net, hidden[at]) for n, at in places.items()}
            known |= {"hidden": hidden[row.after].float()} if "hidden" in want else {}
            known |= {n: token_logp(hidden[row.end], net.head_weight, token) for n, token in following.items()}
            for name, value in known.items():
                pieces[name].append(value)
            place["step"].append(row.step)
            place["track"].append(row.track)
        nothing = next((p for p in net.parameters() if p.requires_grad), net.norm).flatten()[:0].float()
        where = {level: torch.argsort(torch.cat(each)) for level, each in place.items() if each}
        readings = self.readings({})
        none = {n: value_head.say(net, None) if n in value_head.READS else nothing for n in want}
        return {n: torch.cat(values)[where[_level(n, readings)]] if values else none[n] for n, values in pieces.items()}

    def _reader(self, batch: Batch, want: Sequence[str]) -> Callable[[Tensor, Tensor], dict[str, Tensor]]:
        """What is wanted of some steps, from the hidden states before them."""
        net = self.decoder
        heat_G = torch.where(batch.temperature > 0, batch.temperature, 1.0).to(net.device)
        action, seg = batch.action.to(net.device), batch.seg.to(net.device)
        how = batch.sampling
        is_cut = any(h.cuts for h in how)
        named = _named_tokens(batch).to(net.device) if "logp_at" in want else action

        def read(hidden: Tensor, step: Tensor) -> dict[str, Tensor]:
            token, place = action[step], seg[step]
            readings: dict[str, Tensor] = {}
            if "logp" in want or "entropy" in want:
                if is_cut:
                    scores = cut_scores(hidden, net.head_weight, token, [how[g] for g in place.tolist()])
                else:
                    scores = token_scores(hidden, net.head_weight, token, heat_G[place])
                readings |= zip(("logp", "entropy"), scores, strict=True)
            if "top_token" in want or "top_logp" in want:
                best = top_tokens(hidden, net.head_weight, heat_G[place])
                readings |= zip(("top_token", "top_logp"), best, strict=True)
            if "logp_at" in want:
                readings["logp_at"] = logp_at(hidden, net.head_weight, named[step], heat_G[place])
            if "certainty" in want:
                readings["certainty"] = uniform_kl(hidden, net.head_weight, heat_G[place])
            if "value" in want:
                readings["value"] = value_head.say(net, hidden)
            return {name: value for name, value in readings.items() if name in want}

        return read


def _level(want: str, readings: Mapping[str, Per]) -> Per:
    level = level_of(want, readings)
    assert level is not None, want
    return level


def _named_tokens(batch: Batch) -> Tensor:
    """[S, T] the tokens that a teacher named; token 0 at steps it did not process, which are not trained on."""
    columns = [name for name in batch.cols if name.endswith(".top_token")]
    if len(columns) != 1:
        raise UserError(
            f"log-probs are asked for at the tokens that one teacher named, and there are {columns or 'none'}"
        )
    return torch.nan_to_num(batch[columns[0]]).long()
