"""What every language model does with text, whatever computes it: views in, tokens out, a request in tokens, a reply.

Leaves out: the weights and how they are read (`language_model.py`, `foreign_model.py`),
how sampling is batched (`engine/`), the format of a conversation (`chat.py`).
"""

from __future__ import annotations

import abc
import functools
import itertools
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer

from guerdon.core.arrays import digest
from guerdon.core.batch import Batch
from guerdon.core.column import Per
from guerdon.core.episode import End, Segment
from guerdon.core.errors import UserError
from guerdon.core.levels import gather_up
from guerdon.core.model import NEXT, Model, Reply, Request
from guerdon.core.part import label
from guerdon.core.task import Sampling
from guerdon.models import value_head
from guerdon.models.chat import Chat

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
LARGE = 50_000_000  # weights from which a model is in bfloat16 on a GPU, by default
UNFINISHED = "\ufffd"  # what a character is spelled as whose last token is still to come


class TokenRequest(NamedTuple):
    """A request in tokens. A row ends at `limit` tokens, after an end token, or when `stops_after` is true."""

    request: Request
    context: npt.NDArray[np.int64]
    prompt: tuple[int, ...]  # all that comes before what is sampled, given actions included
    limit: int
    stops_after: (
        Callable[[list[int], list[int]], int | None] | None
    )  # (said before, said now): tokens of now until a stop
    pictures: tuple[str, ...] = ()  # a digest of what each turn was shown beside tokens: equal ones share a memory

    @property
    def sampling(self) -> Sampling:
        return self.request.sampling

    @property
    def goes_on(self) -> bool:
        """Whether it is a later turn of a conversation."""
        return len(self.request.path) > 0


class TextModel(Model):
    """A language model. The engine samples from it token by token: it calls `token_request`, then `reply`."""

    reads: ClassVar[Mapping[str, Per]] = {"logp": "step", "entropy": "step"}
    chat: Chat
    dtype: Literal["auto", "float32", "bfloat16"]
    on: Literal["auto", "cpu", "cuda"]
    value: bool | value_head.head
    read_as: torch.dtype | None = None  # the type that weights were read as, as long as they are those of the files

    def start(self, seed: int, models: Mapping[str, Model]) -> None:
        super().start(seed, models)
        if self._dtype == torch.bfloat16:  # a CPU without such instructions computes the same more slowly, at length
            warnings.filterwarnings("ignore", message="mkldnn_matmul failed")

    @property
    def _dtype(self) -> torch.dtype:
        if self.dtype != "auto":
            return {"float32": torch.float32, "bfloat16": torch.bfloat16}[self.dtype]
        on_gpu = self.on != "cpu" and torch.cuda.is_available()
        large = self.parameters >= LARGE and (self.stored_in_half or not self.is_adapted)
        return torch.bfloat16 if on_gpu and large else torch.float32

    @property
    def stored_in_half(self) -> bool:
        """Whether its files hold bfloat16: then float32 takes twice the room below an adapter, for the same numbers."""
        return False

    @property
    def is_adapted(self) -> bool:
        """Whether it has an adapter, or will have once it is started."""
        return False

    def meant(self) -> dict[str, Any]:
        """For the hash: what "auto" is here."""
        return {"dtype": str(self._dtype).removeprefix("torch.")}

    def facts(self) -> dict[str, Any]:
        """For the config of a run: what becomes of the knobs on this machine."""
        return {**self.meant(), "device": str(self._device), "parameters": self.parameters}

    @property
    def _device(self) -> torch.device:
        if self.on == "auto":
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        if self.on == "cuda" and not torch.cuda.is_available():
            raise UserError(
                f"{label(self)}.on is cuda, but torch finds no GPU: leave it out, or install torch for CUDA"
            )
        return torch.device(self.on)

    @property
    @abc.abstractmethod
    def max_positions(self) -> int:
        """The most tokens it can look at."""

    @property
    @abc.abstractmethod
    def parameters(self) -> int:
        """How many numbers its weights are, without those of an adapter or a value head."""

    @property
    def tokenizer(self) -> Tokenizer:
        return self.chat.tokenizer

    @property
    def vocabulary(self) -> Mapping[str, int]:
        return self.tokenizer.get_vocab()

    def token_id(self, text: str) -> int:
        """The one token that a text is: a name in the vocabulary, or words that the tokenizer makes one token of."""
        known = self.tokenizer.token_to_id(text)
        ids = [known] if known is not None else self.tokenizer.encode(text, add_special_tokens=False).ids
        if len(ids) != 1:
            pieces = ", ".join(repr(self.tokenizer.id_to_token(each)) for each in ids) or "none"
            raise UserError(f"{NEXT}{text} must name one token, and {text!r} is {len(ids)} of this model: {pieces}")
        return int(ids[0])

    @property
    def special(self) -> dict[str, int]:
        """The special tokens by their text."""
        return self.chat.special

    @property
    def ends(self) -> tuple[int, ...]:
        """Tokens that end a turn; the first is the one it is trained to generate."""
        return self.chat.ends

    @property
    def text_identity(self) -> list[Any]:
        """What the hash of a run must know of its text format."""
        return [sorted(self.vocabulary.items()), self.chat.format.template, self.ends]

    @property
    def calls(self) -> str:
        """How it was trained to call tools, as far as its chat template shows."""
        return self.chat.calls

    # --- text ---------------------------------------------------------------------------------------------------

    def encode(self, view: Any, path: Sequence[Segment] = ()) -> npt.NDArray[np.int64]:
        return np.array(self.chat.encode(view, path), np.int64)

    def more(self, view: Any, path: Sequence[Segment] = ()) -> npt.NDArray[np.int64]:
        return np.array(self.chat.more(view), np.int64)

    def decode(self, actions: Sequence[int]) -> str:
        """Ids that the tokenizer does not have (a vocabulary may be padded) are passed over."""
        return self.tokenizer.decode(actions, skip_special_tokens=True)

    def teacher_force(self, view: Any, text: str, path: Sequence[Segment] = ()) -> Reply:
        actions = np.array([*self.chat.tokens(text), self.ends[0]], np.int64)
        return Reply(self.encode(view, path), actions, np.full(len(actions), np.nan, np.float32), text)

    # --- being asked ----------------------------------------------------------------------------------------------

    def token_request(self, request: Request) -> TokenRequest:
        """A request in tokens, for the sampler."""
        prompt = new = self.chat.more(request.view) if request.go_on else self.chat.encode(request.view, request.path)
        given: list[int] = request.given.tolist()
        if request.path or given:
            past = (array.tolist() for segment in request.path for array in (segment.context, segment.actions))
            prompt = (*itertools.chain(*past), *new, *given)
        room = self.max_positions - len(prompt)
        is_over = bool(given) and given[-1] in self.ends
        if room < 1 and not is_over:
            raise UserError(
                f"a prompt of {len(prompt)} tokens leaves no room in a context of {self.max_positions}: shorten it,"
                " or use a model with a longer context"
            )
        limit = 0 if is_over else min(request.sampling.max_tokens, room)
        stop = tuple(filter(None, request.sampling.stop))
        stops_after = functools.partial(self._stops_after, given, stop) if stop else None
        pictures = tuple([digest(view) for view in (*[s.view for s in request.path], request.view)])
        return TokenRequest(request, np.array(new, np.int64), prompt, limit, stops_after, pictures)

    def _stops_after(self, given: list[int], stop: tuple[str, ...], before: list[int], now: list[int]) -> int | None:
        """Only the last tokens are looked at each time: a stop string that has just ended lies in them."""
        tail = 8 + 4 * max(map(len, stop))
        tokens = [*given, *before, *now]
        known = len(tokens) - len(now)
        for count in range(1, len(now) + 1):
            first = max(0, known + count - tail)
            window = tokens[first : known + count]
            if _cut(self.decode(window)[self._spelled(window[: max(0, len(given) - first)]) :], stop) is not None:
                return count
        return None

    def _spelled(self, given: Sequence[int]) -> int:
        """How many characters of a text are given: stop strings are looked for behind them. What is sampled is spelled
        together with what was given, for a tokenizer may drop a text's first space, or need two tokens for a character."""
        return len(self.decode(given).rstrip(UNFINISHED)) if len(given) else 0

    def replies(self, answered: Sequence[tuple[TokenRequest, Ints, Floats]]) -> list[Reply]:
        """What was sampled, tokens and their log-probs, as replies."""
        whole = [_after_given(*one) if len(one[0].request.given) else one for one in answered]
        texts = self.tokenizer.decode_batch([actions.tolist() for _, actions, _ in whole], skip_special_tokens=True)
        return [self._reply(*one, text) for one, text in zip(whole, texts, strict=True)]

    def _reply(self, asked: TokenRequest, actions: Ints, logp: Floats, text: str) -> Reply:
        last = int(actions[-1]) if len(actions) else None
        return Reply(asked.context, actions, logp, *self._ending(asked, last, text))

    def spelled(
        self, asked: Sequence[TokenRequest], said: Sequence[Sequence[int]]
    ) -> tuple[tuple[str, ...], tuple[End, ...]]:
        """The text of each reply, and how it ended, where nothing was given; `said` are the generated tokens, at least one
        each."""
        texts = self.tokenizer.decode_batch(said, skip_special_tokens=True)
        ended = [self._ending(*one) for one in zip(asked, [each[-1] for each in said], texts, strict=True)]
        return tuple([text for text, _ in ended]), tuple([end for _, end in ended])

    def _ending(self, asked: TokenRequest, last: int | None, text: str) -> tuple[str, End]:
        """The text of a reply up to a stop string, and how it ended; `last` is its last token."""
        if asked.sampling.stop:
            given = self._spelled(asked.request.given.tolist())
            stopped = _cut(text[given:], asked.sampling.stop)
            if stopped is not None:
                return text[:given] + stopped, End.STOPPED
        return text, End.DONE if last in self.ends else End.CUT

    # --- reading ------------------------------------------------------------------------------------------------

    def _head_form(self) -> value_head.head | None:
        return value_head.asked(f"{label(self)}.value", self.value)

    def readings(self, models: Mapping[str, Model]) -> Mapping[str, Per]:
        return {**self.reads, **value_head.READS} if self.value else self.reads

    def _check_lengths(self, batch: Batch) -> None:
        length_G = (batch.context_length + batch.length).double()
        longest = int(gather_up(length_G[batch.path_seg], batch.path_track, batch.K).max()) if batch.K else 0
        if longest > self.max_positions:
            raise UserError(f"a track of {longest} tokens is longer than the context of {self.max_positions}")


def _after_given(asked: TokenRequest, tokens: Ints, logp: Floats) -> tuple[TokenRequest, Ints, Floats]:
    """The given actions come first; they were not sampled."""
    given = asked.request.given
    return asked, np.concatenate([given, tokens]), np.concatenate([np.full(len(given), np.nan, np.float32), logp])


def _cut(text: str, stops: Sequence[str]) -> str | None:
    """The text before the first stop string; None when there is none."""
    places = [text.find(stop) for stop in stops if stop and stop in text]
    return text[: min(places)] if places else None
