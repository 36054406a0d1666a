"""Two games in plain Python: nim, for two, with a perfect opponent; and a hunt for a number, for one. Small texts, exact
truth."""

from __future__ import annotations

import random
import re
from collections.abc import Hashable, Sequence
from functools import reduce
from operator import xor
from typing import Any

from guerdon.core.part import knob, part
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Split, Task
from guerdon.envs.games.fixed_opponents import Opponent, checked_opponent, opponent
from guerdon.envs.games.matches import AGAINST, Game
from guerdon.envs.world_turns import InTurns, Observed, PlayedOut
from guerdon.tasks.family import HELD_OUT

# level: how many heaps, and the largest
HEAPS = {1: (2, 7), 2: (2, 12), 3: (3, 7), 4: (3, 9), 5: (3, 15), 6: (4, 7), 7: (4, 12), 8: (5, 12)}
MOVE = re.compile(r"take ([0-9]{1,3}) from ([0-9]{1,3})")
RULES = "take some from one heap, who takes the last wins. say: take 2 from 1"


@part
class nim(Game):
    """Nim: take some from one heap; who takes the last one wins.

    `level` sets the heaps, two of at most seven up to five of twelve. A perfect player wins every deal against any
    opponent: the role moves first where it can win so, and second where that wins.

    `against` is "random", "greedy", "minimax:4", or "perfect", which never misses a win; "opponent" for another seat; ""
    for the two seats `first` and `second`, with any deal. After more than `errors` moves in a row that are none the game is
    lost. `rules=False` leaves out the line that says them, for models that know. Winning pays 1, losing -1.

    Args:
        against: the opponent.
        errors: illegal moves in a row after which the game is lost.
        rules: state the rules in the prompt.
        most: the most turns of an episode; 0 for no limit.
        seconds: time limit of an episode; 0 for none.

    >>> import guerdon as gd
    >>> game = gd.envs.nim(level=3, against="perfect")
    >>> world = game.open(gd.Ask(game.get("train", 0)), seed=0)
    >>> print(world.begin())
    take some from one heap, who takes the last wins. say: take 2 from 1
    they take 7 from 1
    nim 0 4 3
    >>> world.gold(), world.step("take 1 from 2").view
    ('take 1 from 2', 'they take 3 from 3\\nnim 0 3 0')
    """

    level: int = knob(default=1, ge=1, le=8)
    against: str = "random"
    errors: int = knob(default=2, ge=0)
    rules: bool = True
    role: str = "policy"
    most: int = knob(default=0, ge=0)
    seconds: float = knob(default=0.0, ge=0.0)

    opponents = ("random", "greedy", "minimax", "perfect")

    def __post_init__(self) -> None:
        checked_opponent("nim", self.against, (AGAINST, *self.opponents))

    @property
    def players(self) -> int:
        return 2

    def draw_deal(self, draw: random.Random, side: int) -> dict[str, Any]:
        count, largest = HEAPS[self.level]
        while True:
            heaps = [draw.randint(1, largest) for _ in range(count)]
            if self.against in ("", AGAINST) or (reduce(xor, heaps) == 0) == (side == 1):
                return {"heaps": heaps}

    def canonical(self, meta: dict[str, Any]) -> str:
        return " ".join(map(str, sorted(meta["heaps"])))

    def told(self, meta: dict[str, Any]) -> str:
        who = "" if self.against == "" else "\nyou move first" if meta["side"] == 0 else "\nyou move second"
        return f"{RULES}\nnim {' '.join(map(str, meta['heaps']))}{who}"

    def deal(self, meta: dict[str, Any]) -> NimBoard:
        return NimBoard(meta["heaps"], 0, RULES if self.rules else "")

    def opponent(self, draw: random.Random) -> Opponent:
        return (lambda board: board.perfect(draw)) if self.against == "perfect" else opponent(self.against, draw)

    def best(self, board: NimBoard) -> str:
        return board.perfect(random.Random(0))


class NimBoard:
    """Heaps, and whose turn it is."""

    players = 2

    def __init__(self, heaps: Sequence[int], player: int, rules: str = "") -> None:
        self.heaps, self.player = list(heaps), player
        self.last = ""  # what was done last, for who moves now
        self.new = {0: rules, 1: rules}
        self.loser: int | None = None

    def turn(self) -> int | None:
        return self.player if any(self.heaps) and self.loser is None else None

    def shown(self, player: int) -> str:
        rules, self.new[player] = self.new[player], ""
        return "\n".join(line for line in (rules, self.last, f"nim {' '.join(map(str, self.heaps))}") if line)

    def moves(self) -> list[str]:
        return [f"take {n} from {i}" for i, heap in enumerate(self.heaps, 1) for n in range(1, heap + 1)]

    def move(self, said: str) -> str | None:
        match = MOVE.fullmatch(" ".join(said.lower().split()))
        if match is None:
            return "that is no move. say: take 2 from 1"
        number, heap = int(match[1]), int(match[2])
        if not 1 <= heap <= len(self.heaps) or not 1 <= number <= self.heaps[heap - 1]:
            return f"that is not there to take: {said.strip()[:40]}"
        self.heaps[heap - 1] -= number
        self.last = f"they take {number} from {heap}"
        self.player = 1 - self.player
        return None

    def afters(self) -> dict[str, NimBoard]:
        boards = {move: NimBoard(self.heaps, self.player) for move in self.moves()}
        for move, board in boards.items():
            board.move(move)
        return boards

    def key(self) -> Hashable:
        return ("nim", tuple(sorted(self.heaps)))

    def forfeit(self, player: int) -> None:
        self.loser = player

    def goals(self) -> list[float]:
        if self.turn() is not None:
            return [0.0, 0.0]
        lost = self.player if self.loser is None else self.loser  # who would have to move from nothing
        return [float(player != lost) for player in range(2)]

    def paid(self) -> list[float]:
        return [0.0, 0.0] if self.turn() is not None else [2 * goal - 1 for goal in self.goals()]

    def perfect(self, draw: random.Random) -> str:
        """A move to nim-sum 0, the largest heap first; where there is none, any."""
        total = reduce(xor, self.heaps)
        for i in sorted(range(len(self.heaps)), key=lambda i: -self.heaps[i]):
            if self.heaps[i] ^ total < self.heaps[i]:
                return f"take {self.heaps[i] - (self.heaps[i] ^ total)} from {i + 1}"
        return draw.choice(self.moves())


@part
class hunt(InTurns, PlayedOut):
    """A hunt for a number: each guess is answered with `up` or `down`.

    There are 2**(level + 1) - 1 numbers and level + 1 guesses, as many as halving needs in the worst case. What is
    not a number gets an answer and costs a guess. In `info`: `guesses`, those `wasted` on what could not be it, and
    `not_understood`.

    Args:
        level: size of the range.
        most: the most turns of an episode; 0 for no limit.
        seconds: time limit of an episode; 0 for none.

    >>> import guerdon as gd
    >>> game = gd.envs.hunt(level=2)
    >>> world = game.open(gd.Ask(game.get("train", 0)), seed=0)
    >>> world.begin(), world.gold(), world.step(world.gold()).view
    ('hunt 49 to 55 guesses 3', '52', 'down')
    """

    level: int = knob(default=1, ge=1, le=8)
    role: str = "policy"
    most: int = knob(default=0, ge=0)
    seconds: float = knob(default=0.0, ge=0.0)

    @property
    def name(self) -> str:
        return "hunt"

    @property
    def home(self) -> hunt:
        return self

    def size(self, split: Split) -> int | None:
        return None

    def get(self, split: Split, index: int) -> Task:
        draw = random.Random(derive(self.name, self.level, split, index))
        while True:
            low = draw.randrange(100)
            high = low + 2 ** (self.level + 1) - 2
            meta = {"low": low, "high": high, "secret": draw.randint(low, high), "guesses": self.level + 1}
            if (derive("hunt", low, meta["secret"]) % HELD_OUT == 0) == (split == "test"):
                return Task(f"{split}-{index}", HuntBoard(meta).begin(), "", self.name, self.level, meta)

    def open(self, ask: Ask, seed: int) -> HuntBoard:
        return HuntBoard(ask.task.meta)


class HuntBoard:
    """What is known of the number, and what is left of the guesses."""

    def __init__(self, meta: dict[str, Any]) -> None:
        self.meta, self.low, self.high, self.left = meta, meta["low"], meta["high"], meta["guesses"]
        self.guesses = self.wasted = self.not_understood = 0
        self.is_caught = False

    def begin(self) -> str:
        return f"hunt {self.meta['low']} to {self.meta['high']} guesses {self.meta['guesses']}"

    def step(self, said: str) -> Observed:
        word = said.strip()
        self.left -= 1
        if not re.fullmatch(r"[0-9]{1,6}", word, re.ASCII):
            self.not_understood += 1
            return self._answered(f"say a number from {self.meta['low']} to {self.meta['high']}")
        guess, secret = int(word), self.meta["secret"]
        self.guesses += 1
        self.wasted += not self.low <= guess <= self.high
        if guess == secret:
            self.is_caught = True
            return Observed("caught", pay=1.0, over=True)
        if guess < secret:
            self.low = max(self.low, guess + 1)
        else:
            self.high = min(self.high, guess - 1)
        return self._answered("up" if guess < secret else "down")

    def _answered(self, view: str) -> Observed:
        return Observed(view) if self.left else Observed(f"{view}. no guesses left", pay=0.0, over=True)

    def gold(self) -> str:
        return str((self.low + self.high) // 2)

    def outcome(self) -> dict[str, Any]:
        return {
            "goal": float(self.is_caught),
            "guesses": self.guesses,
            "wasted": self.wasted,
            "not_understood": self.not_understood,
        }
