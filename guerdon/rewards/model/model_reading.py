"""Samples in the tokens of a model: what every reward that asks a model for numbers shares.

A model that reads text as the one that played does (the player, a copy of it, a critic grown from it) reads the very steps
that were taken. Any other, such as a reward model with a tokenizer of its own, is given the conversation in its own tokens;
so is a model that is in no run.

Leaves out: the numbers themselves (`core/model.py` and `models/`), and what rewards make of them.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Reason
from guerdon.core.episode import Episode, Segment
from guerdon.core.errors import UserError, unknown
from guerdon.core.levels import starts
from guerdon.core.model import Model
from guerdon.core.pack import pack
from guerdon.core.task import Ask, Task
from guerdon.models.probing import fits, readable, reads_alike, retold
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.asking.samples import Samples, paths, turns_of
from guerdon.rewards.formula.scores import Outcome

Steps = Literal["token", "line", "turn"]
PART = "\ufffd"  # what a token spells that ends within a character
LONGEST = 4  # tokens that spell one character at most: its bytes


class Models(Protocol):
    """Who has models by name: a run, or a reward that brings its own."""

    @property
    def models(self) -> Mapping[str, Model]: ...


class ModelLeaf(Leaf):
    """A leaf that asks a model of the run about the samples."""

    alone: ClassVar[bool] = False

    def play_of(self, samples: Samples) -> Models:
        if samples.play is None:
            raise UserError(
                f"{self.name} reads a model of the run, so it works in training alone: there is no run here"
            )
        return samples.play


@dataclass(frozen=True)
class SampleTokens:
    """Samples in a model's own tokens: a batch, and of each sample the track there (-1: too long for the model)."""

    play: Models
    batch: Batch
    track: Tensor  # [N]
    own: bool  # whether its steps are exactly those taken; which of them were supplied is then known

    def read(self, name: str, want: Sequence[str]) -> dict[str, Tensor]:
        """A model's readings of the batch; those that an earlier stage asked for are not computed again."""
        model = model_of(self.play, name)
        readable(model, want, name)
        there = {r: self.batch[f"{name}.{r}"] for r in want if f"{name}.{r}" in self.batch.cols}
        missing = [r for r in want if r not in there or bool(torch.isnan(there[r]).any())]
        with torch.no_grad():
            readings = model.read(self.batch, missing) if missing else {}
        return there | {reading: value.to(self.batch.seg.device) for reading, value in readings.items()}

    def steps(self) -> list[Tensor]:
        """Of each sample the steps of its track, root to leaf, without given ones."""
        batch = self.batch
        own = self._steps
        given = _is_given(batch) if self.own else torch.zeros(batch.S, dtype=torch.bool)
        none = torch.zeros(0, dtype=torch.long)
        return [own[k][~given[own[k]]] if k >= 0 else none for k in self.track.tolist()]

    def cut(self, steps: Tensor, by: Steps, name: str) -> list[Tensor]:
        """A sample's steps in pieces: each alone, by the lines of the text as the model of this name spells it, or by turns."""
        if by == "token" or len(steps) == 0:
            return [steps[i : i + 1] for i in range(len(steps))]
        turns = torch.unique_consecutive(self.batch.seg[steps], return_counts=True)[1].tolist()
        pieces = list(torch.split(steps, turns))
        if by == "turn":
            return pieces
        decode = _decoder(self.play, name)
        return [line for piece in pieces for line in _lines(piece, self.batch.action[piece].tolist(), decode)]

    def spelled(self, track: int, name: str) -> SpelledTurn:
        """The last turn of a track as the model of this name spells it."""
        turn = turns_of(self._paths[track][1])[-1]
        steps = self._steps[track]
        at, decode = len(steps) - sum(len(s.actions) for s in turn), _decoder(self.play, name)
        text, places = "", list[Place]()
        for n, s in enumerate(turn):
            text += str(s.view) if n else ""  # what was inserted where the turn continued
            for i, piece in enumerate(_pieces(s.actions.tolist(), decode)):
                if not self.own or i >= s.given:
                    places.append(Place(int(steps[at + i]), len(text), len(text) + len(piece)))
                text += piece
            at += len(s.actions)
        return SpelledTurn(text, places)

    @functools.cached_property
    def _steps(self) -> tuple[Tensor, ...]:
        return self.batch.steps_by_track()

    @functools.cached_property
    def _paths(self) -> list[tuple[Episode, list[Segment]]]:
        return paths(self.batch)


class Place(NamedTuple):
    """A token and the characters that it spells."""

    step: int
    start: int
    end: int


class SpelledTurn(NamedTuple):
    """A turn's text, and where in it each of its tokens stands that was not given."""

    text: str
    places: list[Place]

    def within(self, start: int, end: int) -> list[int]:
        """The steps of the tokens that spell one of the characters from `start` to `end`."""
        return [place.step for place in self.places if place.start < end and place.end > start]


def sample_tokens(samples: Samples, play: Models, name: str) -> SampleTokens:
    """The samples as the model of this name reads them."""
    model = model_of(play, name)
    batch, track = samples.batch, samples.track
    if batch is None or track is None:
        return _in_own_tokens(play, model, [(Ask(Task("", "")), conversation(each)) for each in samples.fields])
    every = paths(batch)
    chosen = [every[k] for k in track.tolist()]
    if chosen and not reads_alike(model, chosen[0][1][0]):
        return _in_own_tokens(play, model, [(episode.ask, path) for episode, path in chosen])
    mask = torch.zeros(batch.K, dtype=torch.bool)
    mask[track] = True
    return SampleTokens(play, batch.take(mask), (torch.cumsum(mask, 0) - 1)[track], own=True)


def outcome_of_each(tokens: SampleTokens, name: str, judge: Callable[[int, Tensor], Outcome]) -> list[Outcome]:
    """What `judge` makes of each sample, by its track and steps. One without a step does not apply; one too long has failed."""
    outcomes = []
    for track, steps in zip(tokens.track.tolist(), tokens.steps(), strict=True):
        if track < 0:
            outcomes.append(too_long(name))
        else:
            outcomes.append(judge(track, steps) if len(steps) else Outcome(Reason.NOT_APPLICABLE))
    return outcomes


def model_of(play: Models, name: str) -> Model:
    if name not in play.models:
        raise unknown("model of the run", name, play.models)
    return play.models[name]


def _decoder(play: Models, name: str) -> Callable[[Sequence[int]], str]:
    """How a model spells its tokens; a copy of another spells as that one does."""
    model: Any = model_of(play, name)
    while not hasattr(model, "decode"):
        if not hasattr(model, "shell"):
            raise UserError(f"the model {name!r} has no text, so no lines: choose steps of a turn or a token")
        model = model.shell()
    decode: Callable[[Sequence[int]], str] = model.decode
    return decode


def too_long(name: str) -> Outcome:
    return Outcome(Reason.FAILED, detail={"error": f"ValueError: longer than the context of the model {name!r}"})


def conversation(fields: Mapping[str, Any]) -> list[Segment]:
    """The turns of a sample that no run played: all before its last turn is the view of that turn."""
    for name in ("prompt", "completion"):
        if name not in fields:
            raise UserError(f"a reward model reads a prompt and a completion, and a sample here has no {name!r}")
    messages = fields["meta"].get("messages")
    is_talk = isinstance(messages, list) and bool(messages) and messages[-1].get("role") == "assistant"
    view = messages[:-1] if is_talk else fields["prompt"]
    nothing: np.ndarray = np.zeros(0, np.int64)
    return [Segment("policy", view, nothing, nothing, np.zeros(0, np.float32), str(fields["completion"]))]


def _in_own_tokens(play: Models, model: Model, told: Sequence[tuple[Ask, Sequence[Segment]]]) -> SampleTokens:
    episodes: list[Episode] = []
    track: list[int] = []
    for ask, path in told:
        segments = retold(model, path)
        track.append(len(episodes) if fits(model, segments) else -1)
        if track[-1] >= 0:
            episodes.append(Episode(ask, tuple(segments), number=len(episodes)))
    return SampleTokens(play, pack(episodes), torch.tensor(track, dtype=torch.long), own=False)


def _pieces(tokens: Sequence[int], decode: Callable[[Sequence[int]], str]) -> list[str]:
    """What each token adds to a text. Tokens are spelled after the one before, for some tokenizers leave out the space that a
    text begins with; a character that several spell is the last one's."""
    pieces, before, known, begun = list[str](), list[int](), 0, list[int]()
    for token in tokens:
        begun.append(token)
        piece = decode([*before, *begun])[known:]
        if piece.endswith(PART) and len(begun) < LONGEST:
            pieces.append("")
        else:
            pieces.append(piece)
            before, known, begun = begun, len(decode(begun)), []
    return pieces


def _is_given(batch: Batch) -> Tensor:
    """[S] whether the action was supplied, not sampled."""
    places = zip(batch.episode.tolist(), batch.place.tolist(), strict=True)
    given_G = torch.tensor([batch.episodes[e].segments[i].given for e, i in places], dtype=torch.long)
    return torch.arange(batch.S) - starts(batch.length)[batch.seg] < given_G[batch.seg]


def _lines(steps: Tensor, tokens: Sequence[int], decode: Callable[[Sequence[int]], str]) -> list[Tensor]:
    """Cut where a line has ended and text follows: blank lines and the end of the turn belong to the line before."""
    cuts, has_text, ended = [0], False, 0  # whether the line has text; the token after its end, once it has ended
    for i, token in enumerate(tokens):
        piece = decode([token])
        _, broke, rest = piece.rpartition("\n")
        if has_text and piece.strip() and (ended or (broke and rest.strip())):
            cuts.append(ended or i)
            has_text, ended = False, 0
        has_text = has_text or bool(piece.strip())
        if has_text and broke and not rest.strip():
            ended = i + 1
    return [steps[a:b] for a, b in itertools.pairwise([*cuts, len(tokens)])]
