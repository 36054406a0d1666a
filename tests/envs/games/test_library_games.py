"""Games of open_spiel and textarena: by hand, by the contract, by their own opponents; what cannot be played is refused."""

from __future__ import annotations

import random

import numpy as np
import pytest

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.engine.player import Player
from guerdon.envs.games.spiel_games import SpielBoard, load_spiel
from guerdon.exams.rewards_given import seat_exams

pytest.importorskip("pyspiel")
pytest.importorskip("textarena")
HOSTILE = ("", "x" * 3000, "\u202e\U0001f4a5\x00", "[GAME] you win", "]][[", "[99999999999999999999]", "{0}", "[-1]")


def played(env, asks, seats=None, most=4096, **says):
    models = {role: gd.models.scripted(say) for role, say in says.items()}
    for model in models.values():
        model.start(0, models)
    return Player(models, seats or {role: role for role in models}, env, gd.Sampling(max_tokens=most), 5, 1)(asks)


def listed(view, past, seed):
    """Any of the moves that a view lists."""
    return random.Random(seed).choice(view.splitlines()[-1].removeprefix("moves: ").split(" | "))


# --- open_spiel -----------------------------------------------------------------------------------------------------------


def test_tic_tac_toe_by_hand():
    game = gd.envs.spiel("tic_tac_toe", against="")
    first, second = iter(["x(0,0)", "X(0,1) ", "x(0,2)"]), iter(["o(1,1)", "x(2,2)", "o(2,2)"])
    (episode,) = played(
        game, [gd.Ask(game.get("train", 0))], first=lambda *_: next(first), second=lambda *_: next(second)
    )
    assert episode.info == {
        "goal": {"first": 1.0, "second": 0.0},
        "illegal": {"first": 0, "second": 1},
        "moves": 6,
    }
    assert [s.reward for s in episode.segments] == [None, None, None, None, -1.0, 1.0]
    assert episode.segments[4].view.startswith("that is no move here: x(2,2). say one of the moves")


def test_minimax_never_loses_and_a_draw_is_half():
    for i in range(4):
        game = gd.envs.spiel("tic_tac_toe", against="minimax")
        (episode,) = played(game, [gd.Ask(game.get("train", i))], policy=listed)
        assert episode.info["goal"] in (0.0, 0.5)
        world = game.open(gd.Ask(game.get("train", i)), seed=i)
        world.begin()
        while not world.step(world.gold()).over:
            pass
        assert world.outcome()["goal"] == 0.5 and world.paid == 0.0


def test_a_draw_between_seats_is_paid_0_and_counted():
    game = gd.envs.spiel("tic_tac_toe", against="")
    moves = iter(["x(1,1)", "o(0,0)", "x(0,1)", "o(2,1)", "x(1,0)", "o(1,2)", "x(0,2)", "o(2,0)", "x(2,2)"])
    (drawn,) = played(game, [gd.Ask(game.get("train", 0))], {"first": "me", "second": "me"}, me=lambda *_: next(moves))
    assert drawn.info["goal"] == {"first": 0.5, "second": 0.5}
    assert [s.reward for s in drawn.segments] == [None] * 7 + [0.0, 0.0]
    models = {"other": gd.models.scripted(listed)}
    exams = seat_exams("other", game, game)
    found = gd.evaluate(gd.models.scripted(listed), exam=exams, models=models, tasks=60)
    assert found["other@first/games"] == found["other@second/games"] == 60
    assert found["other@first/draw_rate"] > 0.0  # random play draws 1 game in 8
    rates = sum(found[f"other@first/{name}"] for name in ("win_rate", "draw_rate", "loss_rate"))
    assert rates == pytest.approx(1.0)


def test_a_cut_game_between_seats_is_not_paid():
    game = gd.envs.spiel("tic_tac_toe", against="", most=3)
    (cut,) = played(game, [gd.Ask(game.get("train", 0))], first=listed, second=listed)
    assert cut.info["cut"] == "turns" and {s.reward for s in cut.segments} == {None}


@pytest.mark.parametrize("name", ["kuhn_poker", "catch", "matrix_rps", "nim"])
def test_spiel_games_are_the_same_again(name):
    game = gd.envs.spiel(name, opening=1 if name == "nim" else 0)
    asks = [gd.Ask(game.get("test", i)) for i in range(6)]
    one, two = (played(game, asks, policy=listed) for _ in range(2))
    assert all(a.same(b) for a, b in zip(one, two, strict=True))
    assert not any(e.failed for e in one) and {e.info["goal"] for e in one} <= {0.0, 0.5, 1.0}
    assert len({e.segments[0].view for e in one}) > 1  # deals differ


SMALL = (  # whose every state is visited in seconds
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "leduc_poker",
    "liars_dice(dice_sides=3)",
    "matching_pennies_3p",
    "matrix_pd",
    "matrix_rps",
    "nim(pile_sizes=2;3)",
    "tiny_bridge_2p",
    "tiny_hanabi",
    "first_sealed_auction",
    "goofspiel(num_cards=3)",
)


@pytest.mark.sampled(4, "name")
@pytest.mark.parametrize("name", SMALL)
def test_players_of_small_games_are_never_shown_the_same_text(name):
    """Every state where somebody moves: one text is one player's, so that a model in all seats can tell them apart."""
    shown: dict[str, int] = {}
    states = [load_spiel(name).new_initial_state()]
    while states:
        state = states.pop()
        if state.is_terminal():
            continue
        if not state.is_chance_node():
            board = SpielBoard(state, None)
            player = board.turn()
            assert shown.setdefault(board.shown(player), player) == player
        states += [state.child(action) for action in state.legal_actions()]
    assert set(shown.values()) == set(range(load_spiel(name).num_players()))


def test_a_player_of_kuhn_poker_is_told_which_one_it_is():
    game = gd.envs.spiel("kuhn_poker", against="")
    (episode,) = played(game, [gd.Ask(game.get("train", 0))], first=lambda *_: "Pass", second=lambda *_: "Pass")
    opening, reply = (segment.view.splitlines() for segment in episode.segments)
    assert opening[1:] == ["you are player 0 of 2", "moves: Pass | Bet"]
    assert reply[1:] == ["you are player 1 of 2", "moves: Pass | Bet"]
    alone = gd.envs.spiel("catch")
    assert "you are player" not in alone.open(gd.Ask(alone.get("train", 0)), seed=0).begin()


def test_hostile_words_lose_in_spiel():
    game = gd.envs.spiel("tic_tac_toe", errors=2)
    for said in HOSTILE:
        (episode,) = played(game, [gd.Ask(game.get("train", 0))], policy=lambda *_, said=said: said)
        assert not episode.failed and episode.info["goal"] == 0.0 and episode.info["illegal"] == 3
        assert episode.segments[-1].reward == -1.0


def test_tree_search_beats_chance_and_repeats_itself():
    game = gd.envs.spiel("connect_four", against="mcts:40")
    asks = [gd.Ask(game.get("train", i)) for i in range(6)]
    one, two = (played(game, asks, policy=listed) for _ in range(2))
    assert all(a.same(b) for a, b in zip(one, two, strict=True))
    assert sum(e.info["goal"] for e in one) <= 1.0


@pytest.mark.parametrize(
    ("game", "against", "match"),
    [
        ("tictactoe", "random", "unknown game of open_spiel 'tictactoe': did you mean 'tic_tac_toe'"),
        ("kuhn_poker", "minimax", "would see what is hidden in kuhn_poker"),
        ("pig", "minimax:2", "minimax is for two players and no chance"),
        ("mfg_garnet", "random", "no game of one to six players in turns"),
        ("misere", "random", "open_spiel cannot play 'misere': Missing parameter game"),
        ("tic_tac_toe", "perfect", "unknown opponent of spiel 'perfect'"),
    ],
)
def test_what_spiel_refuses(game, against, match):
    with pytest.raises(UserError, match=match):
        gd.envs.spiel(game, against=against)


def test_minimax_says_when_a_game_is_too_large(monkeypatch):
    monkeypatch.setattr("guerdon.envs.games.fixed_opponents.POSITIONS", 200)
    game = gd.envs.spiel("connect_four", against="minimax")
    with pytest.raises(UserError, match="against='minimax:4'"):
        played(game, [gd.Ask(game.get("train", 0))], policy=listed)


@pytest.mark.slow
def test_most_games_of_open_spiel_can_be_played():
    import pyspiel

    over = 0
    for name in pyspiel.registered_names():
        try:
            game = gd.envs.spiel(name, against="")
        except UserError:
            continue
        board, draw = game.deal(game.get("train", 0).meta), random.Random(0)
        while board.turn() is not None:
            board.shown(board.turn())
            assert board.move(draw.choice(board.moves())) is None
        assert all(0.0 <= goal <= 1.0 for goal in board.goals()), name
        over += 1
    assert over >= 105


# --- textarena ------------------------------------------------------------------------------------------------------------


def test_tic_tac_toe_of_textarena_by_hand():
    game = gd.envs.arena("TicTacToe-v0", against="")
    first, second = iter(["[0]", "[1]", "2"]), iter(["[4]", "[0]", "[5]"])
    (episode,) = played(
        game, [gd.Ask(game.get("train", 0))], first=lambda *_: next(first), second=lambda *_: next(second)
    )
    assert episode.info["goal"] == {"first": 1.0, "second": 0.0}
    assert episode.info["illegal"] == {"first": 0, "second": 1}
    assert [s.reward for s in episode.segments] == [None, None, None, None, -1.0, 1.0]
    views = [s.view for s in episode.segments]
    assert "You are Player 1" in views[1] and "Player 0: [0]" in views[1] and views[1].count("Current Board") == 1
    assert "attempted an invalid move" in views[4] and "Player 1:" not in views[4]  # nobody hears himself


def test_textarena_leaves_the_global_dice_alone_and_repeats_itself():
    random.seed(3)
    np.random.seed(3)
    expected = random.Random(3).random(), np.random.RandomState(3).rand()
    games = [gd.envs.arena("GuessTheNumber-v0"), gd.envs.arena("TicTacToe-v0"), gd.envs.arena("KuhnPoker-v0")]
    for game in games:
        asks = [gd.Ask(game.get("train", i)) for i in range(3)]
        one = played(game, asks, policy=lambda view, past, seed: f"[{(seed + len(past)) % 9}]")
        random.random()
        two = played(game, asks[::-1], policy=lambda view, past, seed: f"[{(seed + len(past)) % 9}]")
        assert not any(e.failed for e in (*one, *two))
        assert [e.segments[0].view for e in one] == [e.segments[0].view for e in two][::-1]
    random.seed(3)
    assert (random.random(), np.random.rand()) == expected
    once, again = (played(games[1], [gd.Ask(games[1].get("test", 1), n=3)], policy=lambda *_: "[4]") for _ in range(2))
    assert all(a.same(b) for a, b in zip(once, again, strict=True))


def test_hostile_words_lose_in_textarena():
    for name in ("GuessTheNumber-v0", "TicTacToe-v0"):
        game = gd.envs.arena(name)
        for said in HOSTILE:
            (episode,) = played(game, [gd.Ask(game.get("train", 0))], policy=lambda *_, said=said: said)
            assert not episode.failed and episode.info["goal"] == 0.0 and episode.info["illegal"] == 2, (name, said)


def test_a_search_wins_a_game_for_one():
    game = gd.envs.arena("GuessTheNumber-v0")

    def halving(view, past, seed):
        low, high = 1, 20
        for (_, said), answer in zip(past, [*(shown for shown, _ in past[1:]), view], strict=False):
            guess = int(said.strip("[]"))
            low, high = (guess + 1, high) if "higher" in answer else (low, guess - 1)
        return f"[{(low + high) // 2}]"

    episodes = played(game, [gd.Ask(game.get("test", i)) for i in range(6)], policy=halving)
    assert [e.info["goal"] for e in episodes] == [1.0] * 6 and len({e.segments[0].view for e in episodes}) == 1


@pytest.mark.parametrize(
    ("game", "match"),
    [
        ("TicTac-v0", "unknown game of textarena 'TicTac-v0': did you mean 'TicTacToe-v0'"),
        ("Debate-v0", "asks a language model over the network"),
        ("Tak-v0", "nobody plays Tak-v0 at random: against='opponent'"),
        ("BabyAiText-v0", "does not run here"),
    ],
)
def test_what_arena_refuses(game, match):
    with pytest.raises(UserError, match=match):
        gd.envs.arena(game)


def test_games_of_words_say_which_lists_they_need(monkeypatch, tmp_path):
    import nltk

    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    with pytest.raises(UserError, match=r"nltk\.downloader words averaged_perceptron_tagger_eng"):
        gd.envs.arena("Wordle-v0")


PLAYED = {  # of textarena 0.7.4, on Python 3.11, without word lists
    1: "2048-v0 Bandit-v0 Blackjack-v0 Countdown-v0 Crosswords-v0 Cryptarithm-v0 FifteenPuzzle-v0 FrozenLake-v0"
    " GuessTheNumber-v0 LightsOut-v0 LogicPuzzle-v0 Mastermind-v0 Minesweeper-v0 PegJump-v0 RushHour-v0"
    " Secretary-v0 Set-v0 Slitherlink-v0 Sokoban-v0 Sudoku-v0 ThreeCardMonte-v0 TowerOfHanoi-v0",
    2: "Alquerque-v0 Battleship-v0 Breakthrough-v0 Briscola-v0 Chopsticks-v0 ColonelBlotto-v0 ConnectFour-v0"
    " Crusade-v0 GameOfPureStrategy-v0 GermanWhist-v0 Golf-v0 HighSociety-v0 IndianPoker-v0"
    " IteratedMatchingPennies-v0 IteratedPrisonersDilemma-v0 IteratedRockPaperScissors-v0"
    " IteratedTwoThirdsAverage-v0 IteratedUltimatumGame-v0 KuhnPoker-v0 LiarsDice-v0 LinesOfAction-v0"
    " MemoryGame-v0 Nim-v0 Othello-v0 PigDice-v0 Poker-v0 QuantumTicTacToe-v0 SimpleBlindAuction-v0"
    " SimpleNegotiation-v0 SimpleTak-v0 Snake-v0 SpiteAndMalice-v0 Stratego-v0 Surround-v0 Tak-v0 TicTacToe-v0"
    " TruthAndDeception-v0 TwoDollar-v0 UltimateTicTacToe-v0 WildTicTacToe-v0",
}


@pytest.mark.slow
@pytest.mark.parametrize("players", PLAYED)
def test_the_games_of_textarena_that_run_here(players):
    """Each is dealt, takes hostile words for thirty moves without breaking, and deals the same again."""
    for name in PLAYED[players].split():
        game = gd.envs.arena(name, against="")
        assert game.players == players, name
        task, draw = game.get("train", 0), random.Random(0)
        board, other = game.deal(task.meta), game.deal(task.meta)
        assert board.shown(board.turn()) == other.shown(other.turn()), name
        for _ in range(30):
            if board.turn() is not None:
                board.shown(board.turn())
                board.move(draw.choice(HOSTILE))
        assert all(0.0 <= goal <= 1.0 for goal in board.goals()), name
