"""CLPO by hand: rewriting by rule, which problems are rewritten, the KL that gives way, and the recipe."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import torch
from refusals import refusal
from tolerances import rounding
from watching import Watched

from guerdon.core.column import Column
from guerdon.core.episode import Episode, Segment
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.core.pack import pack
from guerdon.core.part import part
from guerdon.core.task import Ask
from guerdon.losses.penalties import kl
from guerdon.models.tables import tabular
from guerdon.recipes.curriculum.clpo.parts import eased_kl, restructured
from guerdon.recipes.curriculum.clpo.rewriting import by_rule, rewritten
from guerdon.rewards.stage.score_stages import verified
from guerdon.tasks import load
from guerdon.tasks.family import Problem
from guerdon.training.build import RunRequest, build
from guerdon.training.catalog import find_recipe

# --- by rule -----------------------------------------------------------------------------------------------------


def one(family, prompt, how):
    """A problem that a family reads, rewritten."""
    source = load(family)
    made = source.read_problem(prompt)
    task = source.get("train", 0).__class__(prompt, prompt, made.answer, source.name, source.level, made.meta)
    new = rewritten(Ask(task, 3), how, random.Random(0))
    return source, task, new


def test_the_first_step_of_a_countdown_is_done():
    source, task, new = one("countdown:4", "countdown 3 7 18 make 33", "simplify")
    assert (task.answer, new.shown, new.task.answer) == ("(18-7)*3", "countdown 3 11 make 33", "11*3")
    assert source.check(new.task, "= 11*3") == 1.0 and source.check(new.task, "= (18-7)*3") == 0.0
    assert (new.n, new.note, new.task.kind) == (3, {"rewritten": "simplify"}, "countdown:4")


def test_a_program_begins_after_its_first_action():
    _, task, new = one("trace:3", "trace a=3; b=4; b=a+2; a+=b; b-=1; print b", "simplify")
    assert (new.shown, new.task.answer) == ("trace a=3; b=5; a+=b; b-=1; print b", task.answer)


def test_a_chain_begins_after_its_first_operation():
    _, task, new = one("chain:2", "chain 6 +5 *3 -4", "simplify")
    assert (new.shown, new.task.answer) == ("chain 11 *3 -4", task.answer) == ("chain 11 *3 -4", "29")


@pytest.mark.sampled(5, "how")
@pytest.mark.parametrize(
    "name", ["countdown:2", "countdown:6", "countdown:7", "trace:3", "trace:5", "trace:8", "chain:3"]
)
@pytest.mark.parametrize("how", ["simplify", "vary"])
def test_a_rewriting_is_another_problem_with_the_same_end(name, how):
    source, there = load(name), 0
    for index in range(60):
        task = source.get("train", index)
        new = rewritten(Ask(task), how, random.Random(index))
        if new is None:
            continue
        there += 1
        assert new.shown == new.task.prompt != task.prompt
        assert not source.holds_out(Problem(new.shown, new.task.answer, new.task.meta))
        assert source.check(new.task, source.solution(new.task)) == 1.0
        steps = len(source.steps(task)) - len(source.steps(new.task))
        if how == "simplify":
            assert steps == 1
        else:
            assert steps == 0
        if source.name == "countdown":
            assert new.task.meta["target"] == task.meta["target"]
            assert how == "simplify" or source.check(new.task, source.solution(task)) == 1.0
        else:
            assert new.task.answer == task.answer
    assert there > 20 or (name, how) == ("chain:3", "vary")


def test_what_cannot_be_rewritten_is_none():
    assert one("chain:3", "chain 7 +5 *3 -4 +1", "vary")[2] is None  # no rule
    assert one("countdown:1", "countdown 3 7 make 10", "simplify")[2] is None  # one step is the whole solution
    assert one("chain:1", "chain 1 -5 +9", "simplify")[2] is None  # a chain does not start below 1
    assert one("trace:2", "trace a=1; b=2; a-=b; print a", "simplify")[2] is None
    assert one("countdown:1", "countdown 5 5 make 10", "vary")[2] is None  # there is no other order
    assert one("chain:2", "chain 7 +5 *3 -4", "simplify")[2] is None  # `chain 12 *3 -4` is held out


def test_rewritings_follow_from_the_place_in_the_run():
    source = load("countdown:6")
    asks, play = [Ask(source.get("train", i)) for i in range(8)], ExamplePlay()
    first = by_rule(source)(asks, "vary", play)
    assert by_rule(source)(asks[::-1], "vary", play) == first[::-1]
    play.step = 1
    assert by_rule(source)(asks, "vary", play) != first


def test_a_task_without_rules_is_refused():
    with refusal(UserError):
        by_rule(load("parity"))
    assert by_rule(load("parity+countdown:3"))


# --- which problems ----------------------------------------------------------------------------------------------


class Scripted(ExamplePlay):
    """A play in which so many tries at each ask are right, in the order in which it is asked."""

    def __init__(self, *right):
        super().__init__()
        self.right = list(right)

    def __call__(self, asks, env=None, seats=None):
        episodes = []
        for ask in asks:
            good, number = self.right.pop(0), len(self.right)
            for attempt in range(ask.n):
                text = f"= {ask.task.answer}" if attempt < good else "= no"
                segment = Segment("policy", ask.shown, np.zeros(1, np.int64), [0], [0.0], text)
                episodes.append(Episode(ask, (segment,), 0, number, attempt))
        return episodes


def restructure(right, after, **knobs):
    source = load("countdown:3-4")
    play = Scripted(*right, *after)
    scores = [verified(source)]
    asks = [Ask(source.get("train", 2 + i), 4) for i in range(len(right))]  # simpler, the first two would be held out
    batch = scores[0](pack(play(asks)), play)
    return asks, play, restructured(by_rule(source), scores, **knobs)(batch, play)


def test_hard_ones_are_simplified_and_medium_ones_varied():
    asks, play, batch = restructure([0, 1, 2, 3, 4], [4, 2, 1, 0])
    added = list(dict.fromkeys(e.ask.shown for e in batch.episodes[20:]))
    assert [e.ask.note for e in batch.episodes[20::4]] == [
        {"rewritten": "simplify"},
        {"rewritten": "simplify"},
        {"rewritten": "vary"},
        {"rewritten": "vary"},
    ]
    assert len(added) == 4 and batch.size("ask") == 9
    for old, new in ((2, 2), (3, 3)):
        assert sorted(asks[old].shown.split()) == sorted(added[new].split())
    assert batch["rate"].view(9, 4)[:, 0].tolist() == [0.0, 0.25, 0.5, 0.75, 1.0, 1.0, 0.5, 0.25, 0.0]
    assert play.metrics == {
        "rewritten/hard": 0.4,
        "rewritten/medium": 0.4,
        "rewritten/asked": 4,
        "rewritten/rate": 0.4375,
        "rewritten/useful": pytest.approx(5 / 9),
        **{k: v for k, v in play.metrics.items() if not k.startswith("rewritten")},
    }


def test_bounds_below_nothing_rewrite_nothing():
    _, play, batch = restructure([0, 2, 4], [], hard=-1.0, medium=-1.0)
    assert batch.size("ask") == 3 and play.metrics["rewritten/asked"] == 0
    assert batch["rate"].tolist() == [0.0] * 4 + [0.5] * 4 + [1.0] * 4


def test_a_model_may_rewrite_in_place_of_rules():
    asked = []

    @part
    class echo:
        def __call__(self, asks, how, play):
            asked.append((how, len(asks)))
            return [None if i else ask.but(prompt="again") for i, ask in enumerate(asks)]

    source = load("countdown:3")
    play = Scripted(0, 0, 4, 3)
    scores = [verified(source)]
    batch = scores[0](pack(play([Ask(source.get("train", i), 4) for i in range(3)])), play)
    found = restructured(echo(), scores)(batch, play)
    assert asked == [("simplify", 2)]  # none is medium
    assert [e.ask.shown for e in found.episodes[12:]] == ["again"] * 4


def test_an_ask_without_a_score_is_left_alone():
    batch = example_tries([[None, None], [0.0, None]])
    silent = restructured(lambda asks, how, play: [None] * len(asks), [], column="reward")
    found = silent(batch, play := ExamplePlay())
    assert [math.isnan(v) for v in found["rate"].tolist()] == [True, True, False, False]
    assert (play.metrics["rewritten/hard"], play.metrics["rewritten/asked"]) == (0.5, 0)
    assert silent(example_tries([]), ExamplePlay()).K == 0


def test_what_cannot_be_is_refused():
    with refusal(UserError, "0.5", "0.2"):
        restructured(None, [], hard=0.5, medium=0.2)
    with refusal(UserError):
        restructured(None, [], column="process")(example_tries([[1.0]], steps=2, process=[1.0, 2.0]), ExamplePlay())


# --- the KL that gives way ---------------------------------------------------------------------------------------


def test_the_kl_is_held_in_proportion_to_the_rate():
    """Two tracks of two steps, rates 1/2 and none; k3 of a gap of 0.5 is e^0.5 - 1.5."""
    batch = example_tries([[1.0], [0.0]], steps=2, reference__logp=[-1.0] * 4)
    batch = batch.with_cols(
        {"rate": Column("track", torch.tensor([0.5, math.nan]), torch.tensor([0, 1]).to(torch.int8))}
    )
    live = {"logp": torch.full((4,), -1.5, requires_grad=True)}
    loss, metrics = eased_kl(0.2)(batch, live)
    each = math.exp(0.5) - 1.5
    assert float(loss.detach()) == pytest.approx(0.2 * each * 0.5 / 2, abs=rounding(4, 3.2))  # 1.65 less 1.5
    assert float(metrics["kl_reference"]) == pytest.approx(each, abs=rounding(4, 3.2))
    loss.backward()
    assert live["logp"].grad[2:].tolist() == [0.0, 0.0]


def test_where_everything_is_solved_it_is_the_plain_kl():
    batch = example_tries([[1.0], [0.0]], steps=2, reference__logp=[-1.0, -0.5, -2.0, -0.1], rate=[1.0, 1.0])
    live = {"logp": torch.tensor([-0.3, -1.0, -1.0, -1.0])}
    for knobs in (
        {},
        {"kind": "k2", "mean": "step"},
        {"kind": "k1", "mean": "constant", "constant": 3.0, "corrected": True},
    ):
        assert torch.equal(eased_kl(0.3, **knobs)(batch, live)[0], kl(0.3, **knobs)(batch, live)[0])


# --- the recipe --------------------------------------------------------------------------------------------------


def test_what_it_is_made_of():
    made = find_recipe("clpo").build({"task": load("countdown:3-4"), "model": tabular()}, {})
    scores, again, credit, learner = made.stages
    assert again.scores == [scores]
    assert repr(credit) == "centre(reward='correct', by='ask')"
    assert repr(learner.loss) == "total(terms=[clipped(), eased_kl(weight=0.01)])"
    assert list(made.models) == ["policy", "reference"]
    made.check()
    bare = find_recipe("clpo").build({"task": load("countdown:3-4"), "model": tabular()}, {"eased": 0.0})
    assert repr(bare.stages[3].loss) == "clipped()" and list(bare.models) == ["policy"]


def test_rewritten_problems_are_learned_from_and_counted():
    table = tabular("0123456789+-*= ", length=4, rows=64)
    wish = RunRequest("clpo", load("countdown:3"), table, settings={"prompts": 3, "tries": 2, "lr": 0.3, "eased": 0.5})
    seen = Watched(build(wish).recipe, 2)
    for batch, row in zip(seen.batches, seen.rows, strict=True):
        assert row["rewritten/hard"] == 1.0  # a table solves nothing
        assert len(batch.episodes) == 2 * (3 + row["rewritten/asked"]) == row["episodes"]
        assert row["rewritten/asked"] >= 2
