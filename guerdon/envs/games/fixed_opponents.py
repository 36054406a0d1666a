"""Opponents that never change, for exams: at random, greedy for the next move's pay, and minimax, whole or some moves deep.

Each is a function of the board that says a move; all that it draws comes from the seed of the episode. They need boards
that list their moves and can be copied. Leaves out: Monte Carlo tree search (`spiel_games.py`), the perfect player of nim
(`own_games.py`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable
from typing import Any, Protocol

from guerdon.core.errors import UserError, unknown

Opponent = Callable[[Any], str]
POSITIONS = 200_000  # that a whole search may meet
VALUES: dict[
    tuple[Hashable, int], float
] = {}  # of positions, for who moves there: facts about games, not state of a player


class Searchable(Protocol):
    """A board that can be tried out."""

    def turn(self) -> int | None: ...

    def moves(self) -> list[str]:
        """All moves of the player whose turn it is."""

    def afters(self) -> dict[str, Any]:
        """The board as it would be after each move; chance falls otherwise there than it will."""

    def paid(self) -> list[float]: ...

    def key(self) -> Hashable:
        """The same for positions with equal continuations, and of no other game."""


def checked_opponent(where: str, word: str, known: tuple[str, ...]) -> None:
    """Refuse a word for an opponent that there is not: a name, or NAME:NUMBER of those that look ahead. An empty name
    means no opponent."""
    name, colon, number = word.partition(":")
    if word and name not in known:
        raise unknown(f"opponent of {where}", word, known)
    if colon and (name not in ("minimax", "mcts") or not number.isdigit() or int(number) < 1):
        raise UserError(
            f"{word!r} is no opponent of {where}: write minimax:4 for moves looked ahead, mcts:100 for games tried"
        )


def opponent(word: str, draw: random.Random) -> Opponent:
    """An opponent by its word: random, greedy, minimax, minimax:4."""
    name, _, number = word.partition(":")
    if name == "random":
        return lambda board: draw.choice(board.moves())
    if name == "greedy":
        return lambda board: best_of(board, lambda after: 0.0, draw)
    depth = int(number) if number else 0
    return lambda board: minimax_move(board, depth, draw)


def best_of(board: Searchable, worth: Callable[[Searchable], float], draw: random.Random) -> str:
    """The move after which the player is paid most, with what the position is worth to it besides; one of them, where
    several are as good."""
    player, before = board.turn(), board.paid()
    assert player is not None
    values: dict[str, float] = {}
    for move, after in board.afters().items():
        values[move] = after.paid()[player] - before[player] + worth(after)
    top = max(values.values())
    return draw.choice([move for move, value in values.items() if value == top])


def minimax_move(board: Searchable, depth: int, draw: random.Random) -> str:
    """The best move against the best answers, `depth` moves ahead; 0 for to the end."""
    player = board.turn()
    assert player is not None
    seen = [0]

    def worth(after: Searchable) -> float:
        return _worth(after, depth - 1 if depth else -1, seen, 0) * (1.0 if after.turn() == player else -1.0)

    return best_of(board, worth, draw)


def _worth(board: Searchable, depth: int, seen: list[int], deep: int) -> float:
    """What is still to come for who moves here, less what comes for the other. `depth` counts down; below 0 there is no
    bound."""
    player = board.turn()
    if player is None or depth == 0:
        return 0.0
    place = (board.key(), depth)
    if place not in VALUES:
        seen[0] += 1
        if seen[0] > POSITIONS or deep > 300:
            raise UserError("minimax cannot see the end of this game: look some moves ahead, against='minimax:4'")
        before, values = board.paid()[player], []
        for after in board.afters().values():
            still = _worth(after, depth - 1, seen, deep + 1)
            values.append(after.paid()[player] - before + (still if after.turn() == player else -still))
        VALUES[place] = max(values)
    return VALUES[place]
