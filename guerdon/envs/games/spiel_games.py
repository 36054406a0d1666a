"""The games of open_spiel, by their names there: `spiel("tic_tac_toe")`, `spiel("kuhn_poker")`,
`spiel("hex(board_size=5)")`.

Views are the library's own text of what a player may know, which player that is (from 0, as the library counts) where there
are several, and the moves that are allowed; a move is said as the library spells it. Games in which players move at once are
played one after the other, unseen.
Leaves out: games whose players or chance the library cannot say in text, and those of more than six; each is refused.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Hashable
from typing import Any

from guerdon.core.errors import UserError, require_extra, unknown
from guerdon.core.part import knob, part
from guerdon.core.seeds import derive
from guerdon.envs.games.fixed_opponents import Opponent, checked_opponent, minimax_move, opponent
from guerdon.envs.games.matches import AGAINST, SEATS, Game

LISTED = 60  # moves a view lists at most
LOOKING = (
    "greedy",
    "minimax",
    "mcts",
)  # opponents that try moves out, which in a game of hidden cards would be to see them
TRIES = 1000  # games that the best player tries where minimax cannot see the end


@functools.cache
def load_spiel(game: str) -> Any:
    """A game of the library; immutable, so that all episodes share it."""
    try:
        import pyspiel
    except ImportError:
        raise require_extra("open_spiel", "games") from None
    name = game.partition("(")[0]
    if name not in pyspiel.registered_names():
        raise unknown("game of open_spiel", name, pyspiel.registered_names())
    try:
        rules = pyspiel.load_game(game)
        if rules.get_type().dynamics.name == "SIMULTANEOUS":
            rules = pyspiel.convert_to_turn_based(rules)
        rules.new_initial_state().legal_actions()
    except (pyspiel.SpielError, IndexError) as error:
        raise UserError(f"open_spiel cannot play {game!r}: {str(error).strip().splitlines()[0][:200]}") from None
    kind = rules.get_type()
    if not kind.provides_observation_string and not kind.provides_information_state_string:
        raise UserError(f"{game} of open_spiel tells players nothing in text: choose another game")
    if kind.dynamics.name != "SEQUENTIAL" or rules.num_players() > len(SEATS):
        raise UserError(f"{game} of open_spiel is no game of one to six players in turns: choose another game")
    return rules


@part
class spiel(Game):
    """A game of open_spiel, for one player, two, or up to six.

    A win is worth 1, a draw 0.5, a loss 0 as the goal; in games that are not one against the other it is where the return
    stands between the least and the most the game can pay. What the library pays is what a turn is paid. `against` is
    "random"; "greedy", which takes what pays at once; "minimax", to the end in small games, or "minimax:4"; "mcts:100", the
    library's tree search with that many games tried; "opponent" for another seat; "" for seats `first`, `second`. Those
    that try moves out need a game without hidden cards. After more than `errors` moves in a row that are none the game is
    lost. `opening` random moves start the game, for a game without chance has only one deal. Needs `pip
    install 'guerdon[games]'`.

    Args:
        game: name of the game.
        against: the opponent.
        opening: random moves at the start of a game.
        errors: illegal moves in a row after which the game is lost.
        most: the most turns of an episode; 0 for no limit.
        seconds: time limit of an episode; 0 for none.

    >>> import guerdon as gd
    >>> game = gd.envs.spiel("tic_tac_toe", against="minimax")
    >>> world = game.open(gd.Ask(game.get("train", 3)), seed=0)
    >>> world.begin().splitlines()[:3]
    ['...', '...', 'x..']
    >>> world.step("o(1,1)").view.splitlines()[:4]
    ['...', '.o.', 'xx.', 'you are player 1 of 2']
    """

    game: str
    against: str = "random"
    opening: int = knob(default=0, ge=0)
    errors: int = knob(default=2, ge=0)
    role: str = "policy"
    most: int = knob(default=0, ge=0)
    seconds: float = knob(default=0.0, ge=0.0)

    opponents = ("random", *LOOKING)

    def __post_init__(self) -> None:
        checked_opponent("spiel", self.against, (AGAINST, *self.opponents))
        load_spiel(self.game)  # which refuses what cannot be played
        if self.against.partition(":")[0] in LOOKING and not self._is_open:
            raise UserError(f"{self.against} would see what is hidden in {self.game}: against='random', or a seat")
        if self.against.startswith("minimax") and not (self._is_certain and self.players == 2):
            raise UserError(f"minimax is for two players and no chance, which {self.game} is not: against='mcts:100'")

    @property
    def rules(self) -> Any:
        return load_spiel(self.game)

    @property
    def _is_open(self) -> bool:
        """Whether all players see everything."""
        return str(self.rules.get_type().information.name) == "PERFECT_INFORMATION"

    @property
    def _is_certain(self) -> bool:
        """Whether nothing is left to chance."""
        return str(self.rules.get_type().chance_mode.name) == "DETERMINISTIC"

    @property
    def name(self) -> str:
        return f"spiel/{self.game}"

    @property
    def players(self) -> int:
        return int(self.rules.num_players())

    def draw_deal(self, draw: random.Random, side: int) -> dict[str, Any]:
        return {"game": self.game, "seed": draw.getrandbits(48), "opening": self.opening}

    def told(self, meta: dict[str, Any]) -> str:
        where = f" as player {meta['side']} of {self.players}" if self.against and self.players > 1 else ""
        return f"Play {self.rules.get_type().long_name}{where}."

    def deal(self, meta: dict[str, Any]) -> SpielBoard:
        draw = random.Random(derive(meta["seed"], "chance"))
        board = SpielBoard(load_spiel(meta["game"]).new_initial_state(), draw)
        for _ in range(meta["opening"]):
            ways = [way for way in board.afters().values() if way.turn() is not None]
            board = draw.choice(ways) if ways else board
        return SpielBoard(board.state, draw)

    def opponent(self, draw: random.Random) -> Opponent:
        name, _, number = self.against.partition(":")
        if name != "mcts":
            return opponent(self.against, draw)
        return lambda board: tree_search(board, int(number or 100), draw)

    def best(self, board: SpielBoard) -> str:
        if not self._is_open:
            return super().best(board)
        draw = random.Random(0)
        if self._is_certain and self.players == 2:
            try:
                return minimax_move(board, 0, draw)
            except UserError:  # too large
                pass
        return tree_search(board, TRIES, draw)


def tree_search(board: SpielBoard, tries: int, draw: random.Random) -> str:
    """The move that the library's Monte Carlo tree search settles on."""
    import pyspiel

    rollouts = pyspiel.RandomRolloutEvaluator(1, draw.getrandbits(31))
    bot = pyspiel.MCTSBot(board.state.get_game(), rollouts, 2.0, tries, 64, True, draw.getrandbits(31), False)
    return board.spell(bot.step(board.state.clone()))


class SpielBoard:
    """A state of the library's, past its chance: it falls as the deal's own dice say."""

    def __init__(self, state: Any, draw: random.Random | None, title: str = "") -> None:
        self.state, self.draw, self.title = state, draw, title or str(state.get_game())
        self.players: int = state.num_players()
        self.loser: int | None = None
        self._fall()

    def _fall(self) -> None:
        while self.state.is_chance_node():
            outcomes, chances = zip(*self.state.chance_outcomes(), strict=True)
            self.draw = self.draw or random.Random(derive("tried out", str(self.state)))
            self.state.apply_action(self.draw.choices(outcomes, chances)[0])

    def turn(self) -> int | None:
        return None if self.loser is not None or self.state.is_terminal() else int(self.state.current_player())

    def shown(self, player: int) -> str:
        kind = self.state.get_game().get_type()
        tell = (
            self.state.observation_string if kind.provides_observation_string else self.state.information_state_string
        )
        seen = str(tell(player)).rstrip()
        if self.players > 1:  # in some games both players would else be shown the same text
            seen = f"{seen}\nyou are player {player} of {self.players}"
        if self.turn() != player:
            return seen
        moves = self.moves()
        more = f" and {len(moves) - LISTED} more" if len(moves) > LISTED else ""
        return f"{seen}\nmoves: {' | '.join(moves[:LISTED])}{more}"

    def spell(self, action: int) -> str:
        return " ".join(str(self.state.action_to_string(self.state.current_player(), action)).split())

    def _actions(self) -> dict[str, int]:
        return {self.spell(action): action for action in self.state.legal_actions()}

    def moves(self) -> list[str]:
        return list(self._actions())

    def move(self, said: str) -> str | None:
        words = " ".join(said.split())
        legal = {spelled.casefold(): action for spelled, action in self._actions().items()}
        if words.casefold() not in legal:
            return f"that is no move here: {words[:40]}. say one of the moves, as it is written"
        self.state.apply_action(legal[words.casefold()])
        self._fall()
        return None

    def afters(self) -> dict[str, SpielBoard]:
        return {spelled: SpielBoard(self.state.child(a), None, self.title) for spelled, a in self._actions().items()}

    def key(self) -> Hashable:
        return (self.title, str(self.state), self.state.current_player())

    def forfeit(self, player: int) -> None:
        self.loser = player

    def paid(self) -> list[float]:
        if self.loser is None:
            return [float(value) for value in self.state.returns()]
        least = float(self.state.get_game().min_utility())
        others = -least / (self.players - 1) if self._is_contest() else 0.0
        return [least if player == self.loser else others for player in range(self.players)]

    def goals(self) -> list[float]:
        if self.turn() is not None:
            return [0.0] * self.players
        if self.loser is not None:
            return [float(player != self.loser) for player in range(self.players)]
        paid = self.paid()
        if not self._is_contest():
            game = self.state.get_game()
            least, most = game.min_utility(), game.max_utility()
            return [min(1.0, max(0.0, (value - least) / (most - least))) for value in paid]
        top = max(paid)
        winners = [value == top for value in paid]
        return [(1.0 if sum(winners) == 1 else 0.5) if won else 0.0 for won in winners]

    def _is_contest(self) -> bool:
        """Whether what one wins another loses."""
        return self.players > 1 and self.state.get_game().get_type().utility.name in ("ZERO_SUM", "CONSTANT_SUM")
