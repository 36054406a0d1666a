"""Games in text: whose turn it is, what it sees and may do, and what came of it; played by seats, or by one against a fixed
opponent.

A game is a part that deals a `Board` for a problem. This file has what all games share: who plays which side, illegal
moves (answered, counted, and lost by after some in a row), pay, goals and limits. Leaves out: rules of games
(`own_games.py`, `spiel_games.py`, `arena_games.py`), opponents (`fixed_opponents.py`).
"""

from __future__ import annotations

import abc
import random
import sys
from collections.abc import Sequence
from typing import Any, Protocol

from guerdon.core.episode import End, Episode
from guerdon.core.errors import UserError
from guerdon.core.play import Seats, seats_alone
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Split, Task
from guerdon.envs.games.fixed_opponents import Opponent, opponent
from guerdon.envs.world_turns import InTurns, Observed, PlayedOut
from guerdon.tasks.family import HELD_OUT

SEATS = ("first", "second", "third", "fourth", "fifth", "sixth")
AGAINST = "opponent"  # the seat of who plays against the policy, where a seat does


class Board(Protocol):
    """One game under way. Players go by number, from 0."""

    players: int

    def turn(self) -> int | None:
        """Who moves now; None when the game is over."""

    def shown(self, player: int) -> str:
        """What a player is shown who moves now, or who looks at how it ended: all that is new to it."""

    def move(self, said: str) -> str | None:
        """Make the move that the player whose turn it is says. What is wrong with it, if it is none; nothing has changed
        then."""

    def paid(self) -> list[float]:
        """What each player has been paid so far, as the game counts."""

    def goals(self) -> list[float]:
        """How well each player did, 0 to 1: won 1, drawn 0.5, lost 0. Before the end there is no winner."""

    def forfeit(self, player: int) -> None:
        """End it: the player lost, by moves that are none."""


class Game(InTurns, PlayedOut):
    """Base of games: a source of deals, and where they are played. With `against=""` every player has a seat (`first`,
    `second`; of a game for one the `role`). With `against="opponent"` the role plays one side and a seat `opponent` the
    others; with any other word a fixed opponent does. Which side is the role's is drawn with the deal, so that it is the
    same in all tries at it.

    >>> import guerdon as gd
    >>> gd.envs.nim(against="").roles, gd.envs.nim(against="opponent").roles, gd.envs.nim(against="perfect").roles
    (('first', 'second'), ('policy', 'opponent'), ('policy',))
    """

    against: str
    opponents: tuple[str, ...] = ()

    @property
    @abc.abstractmethod
    def players(self) -> int:
        """How many play."""

    @abc.abstractmethod
    def deal(self, meta: dict[str, Any]) -> Board:
        """The board a problem begins with."""

    @abc.abstractmethod
    def draw_deal(self, draw: random.Random, side: int) -> dict[str, Any]:
        """A problem's data, as JSON, for a role that plays this side."""

    @abc.abstractmethod
    def told(self, meta: dict[str, Any]) -> str:
        """The problem as a person would read it."""

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def home(self) -> Any:
        return self

    @property
    def allowance(self) -> int:
        """How many moves in a row may be none before the game is lost by them: the knob `errors`, of games that have it."""
        return int(getattr(self, "errors", sys.maxsize))

    @property
    def is_seated(self) -> bool:
        """Whether several seats play, and not the role alone."""
        return self.players > 1 and self.against in ("", AGAINST)

    @property
    def roles(self) -> tuple[str, ...]:
        if self.players == 1 or not self.is_seated:
            return (self.role,)
        return (self.role, AGAINST) if self.against == AGAINST else SEATS[: self.players]

    def size(self, split: Split) -> int | None:
        return None

    def get(self, split: Split, index: int) -> Task:
        level = int(getattr(self, "level", 1))
        draw = random.Random(derive(self.name, level, split, index))
        side = draw.randrange(self.players) if self.against else 0
        while True:
            meta = {**self.draw_deal(draw, side), "side": side}
            if (derive(self.name, self.canonical(meta)) % HELD_OUT == 0) == (split == "test"):
                return Task(f"{split}-{index}", self.told(meta), "", self.name, level, meta)

    def canonical(self, meta: dict[str, Any]) -> str:
        """The same text for deals that are one and the same: what is held out."""
        return str(meta["seed"])

    # --- one role against who is fixed ------------------------------------------------------------------------------

    def open(self, ask: Ask, seed: int) -> OneSide:
        meta = ask.task.meta
        draw = random.Random(derive(seed, "opponent"))
        other = None if self.players == 1 else self.opponent(draw)
        return OneSide(self, self.deal(meta), meta["side"], other)

    def opponent(self, draw: random.Random) -> Opponent:
        """Who plays the other sides."""
        return opponent(self.against, draw)

    def best(self, board: Any) -> str:
        """The move of the oracle policy."""
        raise UserError(f"nobody knows the best move in {self.name}")

    # --- seats all around ---------------------------------------------------------------------------------------------

    @property
    def play(self) -> Any:
        return self._between if self.is_seated else self._at_once

    async def demonstrate(self, ask: Ask, seats: Seats) -> Episode:
        if self.is_seated:
            raise UserError(
                f"who should win {self.name} among seats? show it against a fixed opponent, against='random'"
            )
        return await super().demonstrate(ask, seats)

    @seats_alone
    async def _between(self, ask: Ask, seats: Seats) -> Episode:
        board, side = self.deal(ask.task.meta), ask.task.meta["side"]
        who = [self._seat_of(player, side) for player in range(board.players)]
        rows, wrong, cut = [0] * board.players, [0] * board.players, ""
        paid, turns, answer = [0.0] * board.players, 0, ""
        while (player := board.turn()) is not None:
            view = f"{answer}\n{board.shown(player)}" if answer else board.shown(player)
            if self.most and turns >= self.most:
                cut = "turns"
            elif (room := seats[who[player]].room(seats.last(who[player]), view)) is not None and room < 1:
                cut = "context"
            if cut:
                seats.cut(**{who[player]: view})
                break
            segment = await seats[who[player]].act(view)
            turns += 1
            if segment.end is End.CUT:
                cut = "tokens"
                break
            problem = board.move(segment.text)
            answer = problem or ""
            rows[player] = 0 if problem is None else rows[player] + 1
            wrong[player] += problem is not None
            if rows[player] > self.allowance:
                board.forfeit(player)
            paid = _pay(seats, who, paid, board.paid(), over=board.turn() is None)
        goals = board.goals() if not cut else [0.0] * board.players
        info = {"goal": dict(zip(who, goals, strict=True)), "illegal": dict(zip(who, wrong, strict=True))}
        return seats.episode(**info, moves=turns, **({"cut": cut} if cut else {}))

    def _seat_of(self, player: int, side: int) -> str:
        if self.against != AGAINST:
            return SEATS[player]
        return self.role if player == side else AGAINST


def _pay(seats: Seats, who: Sequence[str], before: Sequence[float], now: list[float], over: bool) -> list[float]:
    """Pay what has come since; who never acted has no turn to be paid for. A finished game pays every player, a draw 0 where
    wins and losses are 1 and -1: no pay at all would mean that the game was not scored."""
    for role, old, new in zip(who, before, now, strict=True):
        if (new != old or over) and seats.last(role) >= 0:
            seats.reward(**{role: new - old})
    return now


class OneSide:
    """A board as one player meets it: the others move by themselves. The state of one episode."""

    def __init__(self, game: Game, board: Board, side: int, other: Opponent | None) -> None:
        self.game, self.board, self.side, self.other = game, board, side, other
        self.row = self.illegal = 0
        self.paid = 0.0

    def begin(self) -> str:
        self._others()
        return self.board.shown(self.side)

    def step(self, said: str) -> Observed:
        answer = self.board.move(said)
        if answer is None:
            self.row = 0
            self._others()
        else:
            self.row += 1
            self.illegal += 1
            if self.row > self.game.allowance:
                self.board.forfeit(self.side)
        pay, self.paid = self.board.paid()[self.side] - self.paid, self.board.paid()[self.side]
        shown = self.board.shown(self.side)
        over = self.board.turn() is None
        view = f"{answer}\n{shown}" if answer else shown
        return Observed(view, pay if pay or over else None, over)

    def _others(self) -> None:
        while (player := self.board.turn()) is not None and player != self.side:
            assert self.other is not None
            self.board.move(self.other(self.board))  # one that the library does not take is the library's to judge

    def gold(self) -> str:
        return self.game.best(self.board)

    def outcome(self) -> dict[str, Any]:
        over = self.board.turn() is None
        return {
            "goal": self.board.goals()[self.side] if over else 0.0,
            "side": SEATS[self.side],
            "illegal": self.illegal,
        }
