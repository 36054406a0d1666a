"""ReST-RL: which starts are promising, what lines of a tree are worth by hand, the best of several; and that it runs."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import torch
from scheduling import mostly_slow
from small import small_lm

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.episode import End, Episode, Segment
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.core.task import Ask, Sampling
from guerdon.credit.tree import tree_values
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.recipes.code.rest_rl import LINES, beginnings, promising_starts
from guerdon.rewards import score, tests_passed
from guerdon.search.whole_answers import best_whole
from guerdon.tasks import load

FUNCTIONS = load("functions:2", checker="plain")
WRONG = "def f(*a):\n return 'no'"
SCORED = score(tests_passed(FUNCTIONS))


def player(answer):
    """A `play` whose policy says what `answer(task, number, seed)` gives for the training problem it is shown."""
    known = {task.prompt: (task, n) for n, task in enumerate(FUNCTIONS.get("train", n) for n in range(60))}
    model = gd.models.scripted(lambda view, past, seed: answer(*known[view], seed))
    model.start(0, {})
    return Player({"policy": model}, {"policy": "policy"}, single_turn(), Sampling(max_tokens=600), 0, 1)


def solved(task):
    return FUNCTIONS.solution(task)


# --- starts -------------------------------------------------------------------------------------------------------


def test_beginnings_are_drawn_by_powers_of_the_decay():
    dice = torch.Generator().manual_seed(0)
    drawn = [count for _ in range(2000) for count in beginnings("a\nb\nc", 1.0, 0.5, dice)]
    assert len(drawn) == 4000, "all of two beginnings, for the whole text is none"
    assert drawn.count(1) / 4000 == pytest.approx(2 / 3, abs=0.03) and set(drawn) == {1, 2}


def test_half_of_the_beginnings_rounded_up():
    assert len(beginnings("a\nb\nc\nd", 0.5, 0.95, torch.Generator())) == 2  # of three
    assert beginnings("a", 0.5, 0.95, torch.Generator()) == []


def test_problems_whose_tries_agree_are_dropped_and_the_best_try_is_begun_again():
    """Every third problem is always solved, every third never, every third now and then."""
    seen: dict[int, int] = {}

    def answer(task, n, seed):
        seen[n] = seen.get(n, 0) + 1
        return solved(task) if n % 3 == 0 or (n % 3 == 1 and seen[n] % 2) else WRONG

    play = player(answer)
    curriculum = promising_starts(FUNCTIONS, SCORED, tries=4, sample=3)
    asks = curriculum.draw(3, play)
    tasks = {FUNCTIONS.get("train", n).key: FUNCTIONS.get("train", n) for n in range(60) if n % 3 == 1}
    assert len(asks) == 3 and all(ask.task.key in tasks and ask.n == 4 for ask in asks)
    assert play.metrics["starts/kept"] == pytest.approx(1 / 3)
    every = asks + [curriculum._ask(start, play) for start in curriculum.waiting]
    inside = [ask for ask in every if ask.note[LINES]]
    assert inside and len(inside) < len(every)
    for ask in inside:
        (said,) = ask.prefix.segments
        assert solved(tasks[ask.task.key]).startswith(said.text) and said.text.count("\n") == ask.note[LINES]
        assert ask.prefix.step == len(said.text), "a byte is a token of a script"


def test_starts_that_wait_are_kept_as_plain_values():
    seen: dict[int, int] = {}

    def answer(task, n, seed):
        seen[n] = seen.get(n, 0) + 1
        return solved(task) if seen[n] % 2 else WRONG

    play, (one, other) = player(answer), (promising_starts(FUNCTIONS, SCORED, sample=2) for _ in range(2))
    one.draw(2, play)
    assert one.waiting
    other.drawn, other.waiting = json.loads(json.dumps([one.drawn, one.waiting]))
    assert other.draw(1, play) == one.draw(1, play)


def test_a_good_try_below_the_least_is_not_begun_again():
    seen: dict[int, int] = {}

    def answer(task, n, seed):
        seen[n] = seen.get(n, 0) + 1
        return solved(task) if seen[n] % 2 else WRONG

    asks = promising_starts(FUNCTIONS, SCORED, sample=2, least=1.5).draw(4, player(answer))
    assert all(ask.prefix is None for ask in asks)


def test_where_no_tries_differ_problems_come_as_they_are():
    play = player(lambda task, n, seed: WRONG)
    curriculum = promising_starts(FUNCTIONS, SCORED, sample=2)
    assert [ask.prefix for ask in curriculum.draw(2, play)] == [None, None]
    assert curriculum.drawn == 4 * 2 + 2 and play.metrics["starts/kept"] == 0


def test_what_goes_on_from_a_start_is_one_answer_whose_beginning_is_given(tmp_path):
    model = small_lm(tmp_path, max_positions=1024)
    model.start(0, {})
    play = Player({"policy": model}, {"policy": "policy"}, single_turn(), Sampling(max_tokens=40), 0, 1)
    task = FUNCTIONS.get("train", 1)
    begins = solved(task).splitlines(keepends=True)[0]
    ask = promising_starts(FUNCTIONS, SCORED, tries=2)._ask({"task": dataclasses.asdict(task), "said": begins}, play)
    for episode in play([ask]):
        (said,) = episode.segments
        assert said.text.startswith(begins) and said.given == ask.prefix.step > 0
        assert len(said.actions) > said.given and episode.task == task


# --- values -------------------------------------------------------------------------------------------------------


def segment(parent, steps, end=End.DONE):
    none = np.zeros(0, np.int64)
    actions, logp = np.zeros(steps, np.int64), np.zeros(steps, np.float32)
    return Segment("policy", "", none, actions, logp, parent=parent, goes_on=parent >= 0, end=end)


def test_a_line_is_worth_the_mean_of_all_ways_through_it():
    """A trunk of two steps; from it a line that ends, one that goes on two ways, and one that was given up."""
    tree = (segment(-1, 2), segment(0, 1), segment(0, 2), segment(2, 1), segment(2, 1), segment(0, 1, End.CUT))
    batch = pack([Episode(Ask(FUNCTIONS.get("train", 0)), tree)])
    batch = batch.with_cols({"reward": Column.full("track", torch.tensor([0.0, 1.0, 0.5, 0.0]))})
    labels = tree_values()(batch, ExamplePlay())["labels"].tolist()
    nan = pytest.approx(float("nan"), nan_ok=True)
    assert labels == [nan, pytest.approx(0.5), 0.0, nan, pytest.approx(0.75), 1.0, 0.5, nan]


class Longest:
    """A scorer that likes long answers."""

    reduce_steps = "last"

    async def steps(self, tree, lines):
        return [float(len(line.text)) for line in lines]


def test_the_answer_that_is_liked_best_is_chosen_and_all_are_paid_for():
    said = iter(["a", "abc", "ab"])
    model = gd.models.scripted(lambda view, past, seed: next(said))
    model.start(0, {})
    env = best_whole(3, Longest(), keep="chosen")
    play = Player({"policy": model}, {"policy": "policy"}, env, Sampling(), 0, 1)
    (episode,) = play([Ask(FUNCTIONS.get("train", 0))])
    assert [s.text for s in episode.segments] == ["abc"] and episode.info["tokens"] == 6


# --- the recipe ---------------------------------------------------------------------------------------------------


@pytest.mark.sampled(1, "knobs")
@pytest.mark.parametrize(
    "knobs",
    mostly_slow(
        [{"sample": 2}, {"starts": False}, {"stage": "decoding"}, {"stage": "decoding", "by": "outcome"}],
        {"sample": 2},
        {"stage": "decoding"},
    ),
    ids=str,
)
def test_it_runs(knobs, tmp_path):
    model = small_lm(tmp_path / "model", max_positions=1024)
    sizes = {"prompts": 2, "steps": 2, "max_tokens": 8, **({} if "stage" in knobs else {"tries": 2})}
    options = gd.Options(eval_tasks=1, eval_tries=1)
    run = gd.train("rest-rl", task=FUNCTIONS, model=model, out=tmp_path / "run", options=options, **sizes, **knobs)
    assert run.complete and "pass@1" in run.evaluations[-1]
