"""The same prompts and the same reward for both arms, and the form in which each arm takes them."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence

from bench.configs import COUNTDOWN, SEED, Config
from guerdon import tasks
from guerdon.core.task import Split, Task
from guerdon.models.tokenizer import ASSISTANT, SPECIALS, USER

DIGITS = "0123456789"
TURN_TOKENS = 2  # of a prompt: those that say whose turn it is


def texts(config: Config, count: int) -> list[str]:
    """The first `count` prompts."""
    if config.prompt_tokens == 0:
        countdown = tasks.load(COUNTDOWN)
        return [countdown.get("train", i).prompt for i in range(count)]
    draw = random.Random(SEED)
    words = config.prompt_tokens - TURN_TOKENS
    return [" ".join(f"w{draw.randrange(10_000)}" for _ in range(words)) for _ in range(count)]


def rendered(text: str) -> str:
    """A prompt in the chat format that Guerdon gives it."""
    return f"{USER}{text}{ASSISTANT}"


def digit_share(completion: str) -> float:
    """The reward: the share of digits among the characters. Cheap, and hardly ever the same twice in a group."""
    return sum(map(completion.count, DIGITS)) / max(1, len(completion))


def digest(prompts: Sequence[Sequence[int]]) -> str:
    """A fingerprint of tokenized prompts, whatever order they come in and however often each is repeated."""
    known = sorted({tuple(int(token) for token in prompt) for prompt in prompts})
    return hashlib.sha256(str(known).encode()).hexdigest()[:16]


class Listed:
    """The prompts as a source of tasks, in their order. Never ends, so that no curriculum shuffles it."""

    name = "listed"

    def __init__(self, prompts: Sequence[str]) -> None:
        self.prompts = prompts

    def size(self, split: Split) -> int | None:
        return None

    def get(self, split: Split, index: int) -> Task:
        return Task(str(index), self.prompts[index % len(self.prompts)])

    def check(self, task: Task, completion: str) -> float | None:
        return None  # there is no right answer; the reward is `digit_share`


def vocabulary(size: int) -> dict[str, int]:
    """The words of the made-up language: the marks of a conversation, then w0, w1, ..."""
    names = [*SPECIALS, *(f"w{i}" for i in range(size - len(SPECIALS)))]
    return {name: number for number, name in enumerate(names)}
