"""Conversations as tokens, written by processes of their own: what the training of the built-in model reads.

Conversations stand one after the other without padding; each sees itself alone. Writers are read in turn, so equal seeds and
numbers of writers give equal text. A shard is read `uses` times, each time beside others: a GPU reads faster than fifteen
writers write.
"""

from __future__ import annotations

import itertools
import multiprocessing as mp
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from sprig_text import Conversation, conversations
from tokenizers import Tokenizer
from torch import Tensor

from guerdon.models.attention import Runs
from guerdon.models.tokenizer import ASSISTANT, END, USER

SHARD = 1 << 15  # tokens that a writer hands over at a time
KEPT = 512  # shards that wait to be read again


@dataclass(frozen=True)
class Shard:
    """Conversations one after the other: tokens, which of them the model should say, and how long each conversation is."""

    tokens: np.ndarray  # [F]
    says: np.ndarray  # [F]
    lengths: np.ndarray  # [conversations]

    @classmethod
    def of(cls, encoded: Sequence[tuple[list[int], list[bool]]]) -> Shard:
        tokens, says = ([x for each in encoded for x in each[part]] for part in (0, 1))
        return cls(np.array(tokens, np.int16), np.array(says, bool), np.array([len(t) for t, _ in encoded], np.int32))


@dataclass(frozen=True)
class TokenBatch:
    tokens: Tensor  # [F]
    says: Tensor  # [F]
    runs: Runs

    @classmethod
    def of(cls, shards: Sequence[Shard], device: torch.device) -> TokenBatch:
        tokens = torch.from_numpy(np.concatenate([s.tokens for s in shards]).astype(np.int64))
        says = torch.from_numpy(np.concatenate([s.says for s in shards]))
        lengths = np.concatenate([s.lengths for s in shards]).tolist()
        return cls(tokens.to(device), says.to(device), Runs.apart(lengths, device))


class Encoder:
    """Conversations to tokens."""

    def __init__(self, tokenizer: Tokenizer, longest: int, shard: int = SHARD) -> None:
        self.tokenizer, self.longest, self.shard = tokenizer, longest, shard
        self.user, self.assistant, self.end = (tokenizer.token_to_id(name) for name in (USER, ASSISTANT, END))

    def __call__(self, written: Sequence[Conversation]) -> Iterator[tuple[list[int], list[bool]]]:
        """Each conversation as tokens, and which of them the model should say; those that are too long are left out."""
        texts = [text for turns in written for turn in turns for text in (turn.shown, turn.given, turn.said)]
        ids = iter([e.ids for e in self.tokenizer.encode_batch(texts, add_special_tokens=False)])
        for turns in written:
            tokens: list[int] = []
            says: list[bool] = []
            for turn in turns:
                shown, given, said = next(ids), next(ids), next(ids)
                tokens += [self.user, *shown, self.assistant, *given, *said, self.end]
                learned = len(said) + 1 if turn.said else 0
                says += [False] * (len(shown) + len(given) + len(said) + 3 - learned) + [True] * learned
            if len(tokens) <= self.longest:
                yield tokens, says

    def length(self, turns: Conversation) -> int:
        return sum(len(t) for t, _ in self([turns])) or self.longest

    def shards(self, written: Iterable[Conversation]) -> Iterator[Shard]:
        stream = iter(written)
        waiting: list[tuple[list[int], list[bool]]] = []
        count = 0
        while some := list(itertools.islice(stream, 64)):
            for each in self(some):
                waiting.append(each)
                count += len(each[0])
                if count >= self.shard:
                    yield Shard.of(waiting)
                    waiting, count = [], 0
        if waiting:
            yield Shard.of(waiting)


Stream = Callable[[int, Callable[[Conversation], int]], Iterator[Conversation]]


def write_shards(queue: mp.Queue, seed: int, tokenizer: str, longest: int, shard: int, stream: Stream) -> None:
    encoder = Encoder(Tokenizer.from_str(tokenizer), longest, shard)
    for shard in encoder.shards(stream(seed, encoder.length)):
        queue.put(shard)


def written_shards(seed: int, writers: int, encoder: Encoder, stream: Stream = conversations) -> Iterator[Shard]:
    """Fresh text of a stream without end, the writers read in turn."""
    context = mp.get_context("spawn")
    queues = [context.Queue(maxsize=8) for _ in range(writers)]
    for number, queue in enumerate(queues):
        call = (queue, seed * 1000 + number + 1, encoder.tokenizer.to_str(), encoder.longest, encoder.shard, stream)
        context.Process(target=write_shards, args=call, daemon=True).start()
    for queue in itertools.cycle(queues):
        yield queue.get()


def read_again(shards: Iterator[Shard], each: int, uses: int, draw: random.Random) -> Iterator[list[Shard]]:
    """`each` shards at a time, of which one in `uses` is fresh and the others were read before, the least often read first."""
    kept: list[Shard] = []
    while True:
        fresh = list(itertools.islice(shards, max(1, each // uses) if kept else each))
        if not fresh:
            return
        old = draw.sample(kept, min(len(kept), each - len(fresh)))
        yield fresh + old
        kept = [*kept, *fresh][-KEPT:]


def mixed(first: Iterator[list[Shard]], second: Sequence[Shard], share: float) -> Iterator[list[Shard]]:
    """Of every batch of the first a `share` given way to the second, which is gone through again and again, if there is any."""
    others = itertools.cycle(second)
    for batch in first:
        count = round(share * len(batch)) if second else 0
        yield batch[: len(batch) - count] + list(itertools.islice(others, count))


Writing = Callable[[int], Iterator[Conversation]]
