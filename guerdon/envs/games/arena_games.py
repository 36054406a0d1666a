"""The games of textarena, by their names there: `arena("TicTacToe-v0")`, `arena("Mastermind-v0")`.

A player is shown what the game says that is new to it: the rules once, messages, what others did, the board as it is now.
Its words go to the game as they are (in brackets, where the game adds them), and the game itself judges what is not
a move: most answer the first and take the second as lost. The library draws from Python's global dice: each game keeps its
own and gives the others back. Leaves out: games that ask a language model over the network, and those whose data is not
there; each is refused in one line.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import io
import random
import re
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from guerdon.core.errors import UserError, require_extra, unknown
from guerdon.core.part import knob, part
from guerdon.core.seeds import derive
from guerdon.envs.games.fixed_opponents import Opponent, checked_opponent
from guerdon.envs.games.matches import AGAINST, SEATS, Game

ASK_THE_NETWORK = (
    "Debate",
    "GuessWho",
    "ScenarioPlanning",
    "TwentyQuestions",
)  # a jury or a gamemaster behind a server
WANT_WORDS = (
    "Codenames",
    "DontSayIt",
    "Hangman",
    "LetterAuction",
    "SpellingBee",
    "WordChains",
    "WordLadder",
    "WordSearch",
    "Wordle",
)
NLTK_DATA = {"words": "corpora/words", "averaged_perceptron_tagger_eng": "taggers/averaged_perceptron_tagger_eng"}
PLAYERS = {
    "QuantumTicTacToe": 2,
    "SpiteAndMalice": 2,
    "PublicGoodsGame": 3,
    "MarketEntryGame": 4,
}  # that take any number
AT_RANDOM = (  # whose moves stand in what players are shown, so that one who picks among these gets to the end
    "ConnectFour",
    "GameOfPureStrategy",
    "HighSociety",
    "IndianPoker",
    "IteratedMatchingPennies",
    "IteratedPrisonersDilemma",
    "IteratedRockPaperScissors",
    "IteratedUltimatumGame",
    "KuhnPoker",
    "LiarsDice",
    "MemoryGame",
    "Othello",
    "PigDice",
    "Poker",
    "SimpleBlindAuction",
    "SimpleNegotiation",
    "SimpleTak",
    "Snake",
    "Surround",
    "TicTacToe",
    "WildTicTacToe",
)

TURN = threading.Lock()  # the global dice are one: one game moves at a time


class Dice:
    """Python's and numpy's global dice as one game left them."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        self.python, self.numpy = draw.getstate(), np.random.RandomState(seed % 2**32).get_state()

    @contextlib.contextmanager
    def rolled(self) -> Iterator[None]:
        """The game's dice are the global ones here, and its output is discarded; outside all is as before."""
        with TURN:
            before = random.getstate(), np.random.get_state()
            random.setstate(self.python)
            np.random.set_state(self.numpy)
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    yield
            finally:
                self.python, self.numpy = random.getstate(), np.random.get_state()
                random.setstate(before[0])
                np.random.set_state(before[1])


@functools.cache
def players_of(game: str) -> int:
    """The least number of players that a game can be played by."""
    family = game.partition("-v")[0]
    for count in (PLAYERS[family],) if family in PLAYERS else range(1, len(SEATS) + 1):
        with contextlib.suppress(AssertionError, ValueError, KeyError, IndexError):
            begun(game, count, 0, Dice(0))
            return count
    raise UserError(f"{game} of textarena is no game of one to six players: choose another game")


def begun(game: str, players: int, seed: int, dice: Dice) -> Any:
    """A game of the library, dealt."""
    make = _library(game)
    try:
        with dice.rolled():
            table = make(game)
            table.reset(num_players=players, seed=seed)
    except SyntaxError:
        raise UserError(f"{game} of textarena is written for Python 3.12 and later, and this is {_python()}") from None
    except (ImportError, OSError, LookupError) as error:
        if isinstance(error, KeyError | IndexError):
            raise
        reason = " ".join(str(error).split())[:160]
        raise UserError(f"{game} of textarena does not run here: {reason}") from None
    return table


def _python() -> str:
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def _library(game: str) -> Any:
    """Its `make`, once it is known that the game is there and needs nothing that is not."""
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            import textarena
            from textarena.envs.registration import ENV_REGISTRY
    except ImportError:
        raise require_extra("textarena", "games") from None
    if game not in ENV_REGISTRY:
        raise unknown(
            "game of textarena", game, [name for name in ENV_REGISTRY if not name.endswith(("-raw", "-train"))]
        )
    family = game.partition("-v")[0]
    if family in ASK_THE_NETWORK:
        raise UserError(f"{game} of textarena asks a language model over the network: choose another game")
    missing = [name for name, place in NLTK_DATA.items() if family in WANT_WORDS and not _has_data(place)]
    if missing:
        raise UserError(f"{game} of textarena needs word lists: python -m nltk.downloader {' '.join(missing)}")
    return textarena.make


def _has_data(place: str) -> bool:
    import nltk

    try:
        nltk.data.find(place)
    except LookupError:
        return False
    return True


@part
class arena(Game):
    """A game of textarena, for one player, two, or up to six.

    A win is worth 1, a draw 0.5, a loss 0 as the goal; a game for one what the library pays at its end, 0 to 1, and 0 if it
    ended by a move that is none. What the library pays is what the last turn is paid. `against` is "random", which tries
    what its player was shown in brackets until the game takes it; "opponent" for another seat; "" for seats `first`,
    `second`. The policy's side is drawn with the deal. Needs `pip install 'guerdon[games]'`; some games besides need word
    lists, or a newer Python, and say so.

    Args:
        game: name of the game.
        against: the opponent.
        most: the most turns of an episode.
        seconds: time limit of an episode; 0 for none.

    >>> import guerdon as gd
    >>> gd.envs.arena("Nim-v0", against="").roles
    ('first', 'second')
    """

    game: str
    against: str = "random"
    role: str = "policy"
    most: int = knob(default=100, ge=0)
    seconds: float = knob(default=0.0, ge=0.0)

    opponents = ("random",)

    def __post_init__(self) -> None:
        checked_opponent("arena", self.against, (AGAINST, *self.opponents))
        if self.players > 1 and self.against == "random" and self.game.partition("-v")[0] not in AT_RANDOM:
            raise UserError(
                f"nobody plays {self.game} at random: against='opponent' for another seat, '' for seats all around"
            )

    @property
    def name(self) -> str:
        return f"arena/{self.game}"

    @property
    def players(self) -> int:
        return players_of(self.game)

    def draw_deal(self, draw: random.Random, side: int) -> dict[str, Any]:
        return {"game": self.game, "seed": draw.getrandbits(31)}

    def told(self, meta: dict[str, Any]) -> str:
        return self.deal(meta).shown(meta["side"])

    def opponent(self, draw: random.Random) -> Opponent:
        def at_random(board: ArenaBoard) -> str:
            words = board.suggested()
            draw.shuffle(words)
            return next((word for word in words if board.takes(word)), words[0] if words else "")

        return at_random

    def deal(self, meta: dict[str, Any]) -> ArenaBoard:
        dice = Dice(derive(meta["seed"], "arena"))
        return ArenaBoard(begun(meta["game"], self.players, meta["seed"], dice), dice, self.players)


def _read(message: tuple[Any, ...]) -> tuple[int, str, str]:
    """Who says what, and of which kind; some games of the library mix the three up."""
    who = next((each for each in message if isinstance(each, int)), -1)
    text = next((each for each in message if isinstance(each, str)), "")
    return who, text, next((str(each.name) for each in message if hasattr(each, "name")), "")


class ArenaBoard:
    """A game of the library under way, with its own dice."""

    def __init__(self, table: Any, dice: Dice, players: int) -> None:
        self.table, self.dice, self.players = table, dice, players
        self.texts: dict[int, list[str]] = {player: [] for player in range(players)}  # what each was shown
        self.over = False
        self.foul: int | None = None  # who ended it by a move that is none

    @property
    def core(self) -> Any:
        """The game itself, below what rewrites actions and observations."""
        table = self.table
        while hasattr(type(table), "observation") or "env" in vars(table):
            table = table.env
        return table

    def turn(self) -> int | None:
        return None if self.over else int(self.core.state.current_player_id)

    def shown(self, player: int) -> str:
        state = self.core.state
        messages, state.observations[player] = state.observations.get(player, []), []
        read = [_read(message) for message in messages]
        boards = [i for i, (_, _, kind) in enumerate(read) if kind == "GAME_BOARD"]
        lines = []
        for i, (who, text, _) in enumerate(read):
            if who == player or (i in boards and i != boards[-1]):
                continue  # its own words, and a board that a later one shows
            lines.append(text.strip() if who < 0 else f"Player {who}: {' '.join(text.split())}")
        text = "\n".join(lines)
        self.texts[player].append(text)
        return text

    def move(self, said: str) -> str | None:
        player, before = self.turn(), self._errors()
        with self.dice.rolled():
            done, _ = self.table.step(said)
        self.over = bool(done)
        _, info = self.core.close() if self.over else (None, {})
        if info.get(player, {}).get("invalid_move"):
            self.foul = player
        return "" if self.foul is not None or self._errors() > before else None

    def _errors(self) -> int:
        return int(getattr(self.core.state, "error_count", 0) or 0)

    def paid(self) -> list[float]:
        rewards = (self.core.state.rewards or {}) if self.over else {}
        return [float(rewards.get(player, 0.0) or 0.0) for player in range(self.players)]

    def goals(self) -> list[float]:
        if not self.over:
            return [0.0] * self.players
        if self.players == 1:
            return [0.0 if self.foul is not None else min(1.0, max(0.0, self.paid()[0]))]
        return [min(1.0, max(0.0, (value + 1.0) / 2)) for value in self.paid()]

    def forfeit(self, player: int) -> None:
        raise AssertionError("the library has rules of its own")

    def suggested(self) -> list[str]:
        """What its player was shown in brackets, the latest first, and the same with other digits."""
        player = self.turn()
        assert player is not None
        texts = [*self.texts[player], self.shown(player)][::-1]
        seen = list(dict.fromkeys(word for text in texts for word in re.findall(r"\[[^\[\]\n]{1,30}\]", text)))
        other = [re.sub(r"[0-9]", digit, word, count=1) for word in seen[:8] for digit in "0123456789"]
        return list(dict.fromkeys([*seen, *other]))[:60]

    def takes(self, said: str) -> bool:
        """Whether the game would take this as a move, tried on a copy."""
        trial = copy.copy(self)
        trial.table, trial.dice = copy.deepcopy(self.table), copy.copy(self.dice)
        return trial.move(said) is None
