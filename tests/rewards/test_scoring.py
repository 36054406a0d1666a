"""The one scorer: a part has one name and a sample one score, whoever asks; random follows the seed; what is odd fails."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
import torch
from refusals import refusal

import guerdon as gd
from guerdon.bridges.openrlhf import openrlhf_answer
from guerdon.bridges.serve.schema import score_response
from guerdon.bridges.trl import for_trl
from guerdon.bridges.verl import for_verl
from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.pack import pack
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.formula.reward import Around
from guerdon.rewards.formula.scores import Outcome, Scores, numbers
from guerdon.rewards.memory.novelty import rnd
from guerdon.rewards.stage.score_stages import score
from guerdon.training.loop import start

sys.path.append(str(Path(__file__).parent.parent / "resume"))
sys.path.append(str(Path(__file__).parent.parent))
from everything import everything
from killing import killed_at


@gd.reward(isolate=False)
def right(completion, answer):
    return float(completion == answer)


@gd.reward(isolate=False)
def brief(completion):
    return -float(len(completion))


@gd.reward(isolate=False)
def picky(completion):
    raise ValueError("no good")


NESTED = gd.blend(a=right, b=gd.blend(a=brief, c=right.weight(2.0)))
SAMPLE = {"prompt": "2+2=", "completion": "4", "answer": "4"}
WANT = {"a": 1.0, "b": 1.0, "b.a": -1.0, "c": 1.0}  # b = -1 + 2 * 1


def staged(formula, seed=0, step=0, **how):
    """A step of samples, scored by the stage."""
    recipe, play = start(everything.build({}, {"steps": 3}), seed=seed, total=3)
    play.begin(step)
    return score(formula, **how)(pack(play(recipe.curriculum.draw(9, play))), play)


# --- names ----------------------------------------------------------------------------------------------------------


def test_an_inner_part_whose_name_is_taken_has_its_way_everywhere_alike():
    found = gd.score_samples(NESTED, [SAMPLE])
    assert {name: values[0] for name, values in found.parts.items()} == WANT and found.whole == [2.0]
    verl = for_verl(NESTED)("sums", "4", "4")
    assert {name: verl[f"reward.{name}"] for name in WANT} == WANT
    request = {"query": ["2+2=4"], "prompts": ["2+2="], "labels": ["4"]}
    assert openrlhf_answer(NESTED, request)["extra_logs"] == {name: [value] for name, value in WANT.items()}
    served = score_response(found)["results"][0]["components"]
    assert {name: each["value"] for name, each in served.items()} == WANT
    trl = for_trl(NESTED)
    trl(["2+2="], ["4"], answer=["4"])
    assert {name: trl.before[f"reward.{name}"] for name in WANT} == WANT
    assert [line.strip().split(":")[0] for line in NESTED.explain(**SAMPLE).splitlines()] == ["blend", *WANT]
    report = gd.check_reward(NESTED, "countdown:2", problems=2)
    assert {row["name"] for row in report.components} == set(WANT)
    batch = staged(NESTED)
    fields = [(e.segments[-1].text, e.task.answer) for e in (batch.episodes[i] for i in batch.episode[batch.leaf])]
    assert {n.removeprefix("reward.") for n in batch.cols if n.startswith("reward.")} == set(WANT)
    assert batch["reward.a"].tolist() == [float(text == answer) for text, answer in fields]
    assert batch["reward.b.a"].tolist() == [-float(len(text)) for text, _ in fields]


def test_a_replay_has_the_same_names(tmp_path):
    recipe = everything.build({}, {"steps": 1})
    recipe.stages[1] = score(NESTED)
    run = gd.train(recipe, out=tmp_path / "run", options=gd.Options(eval_tasks=0, rollouts_every=1))
    rows = {row["name"]: row for row in gd.replay(run, reward=NESTED).components}
    assert set(rows) == set(WANT) and all(row["mean"] == row["old_mean"] for row in rows.values())


def test_one_part_in_two_places_by_one_name_is_one():
    formula = gd.blend(right=right, gated=gd.gate(right, brief))
    assert set(gd.score_samples(formula, [SAMPLE]).parts) == {"right", "gated", "brief"}
    with refusal(UserError):
        gd.blend(**{"b.a": right})


# --- blame ----------------------------------------------------------------------------------------------------------


def test_the_part_that_broke_a_score_is_blamed_alike_in_a_run_and_outside():
    closed = gd.gate(gd.reward(lambda completion: 1 / 0, isolate=False), brief, least=9.0)  # broken, and not counted
    formula = gd.blend(closed=closed, deep=gd.blend(picky=picky))
    (outside,) = gd.score_samples(formula, [SAMPLE]).details
    inside = staged(formula).cols["reward"].detail[0]
    for detail in (outside, inside):
        assert detail["by"] == "picky" and detail["error"].strip().endswith("ValueError: no good")


# --- what is random -------------------------------------------------------------------------------------------------


@gd.part
class jittered(Around):
    """A formula that draws."""

    reward: object

    def combine(self, parts, where):
        (inner,) = parts.values()
        noise = torch.rand(len(inner), generator=where.generator("jittered"), dtype=torch.float64)
        return numbers(inner.value + noise, inner.reason)


def drawn(completion):
    return random.random()


@pytest.mark.parametrize("made", [lambda: jittered(brief), lambda: gd.reward(drawn), rnd])
def test_what_is_random_follows_the_seed(made):
    samples = [{"completion": text} for text in ("4", "so 5", "it is 6")]
    one, same, other = (gd.score_samples(made(), samples, seed=seed).whole for seed in (1, 1, 2))
    assert one == same and not set(one) & set(other)
    # in a run, on samples that are the same for both seeds
    recipe, play = start(everything.build({}, {"steps": 3}), seed=0, total=3)
    batch = pack(play(recipe.curriculum.draw(9, play)))
    found = []
    for play.seed in (1, 1, 2):
        found.append(score(made())(batch, play)["reward"])
    assert torch.equal(found[0], found[1]) and not bool((found[0] == found[2]).any())


def test_what_is_random_changes_with_the_step():
    first, second = (gd.score_samples(jittered(brief), [SAMPLE], step=step, steps=9).whole for step in (0, 1))
    assert first != second


@pytest.mark.slow
def test_a_run_with_random_rewards_resumes_to_the_same_weights(tmp_path):
    def made():
        recipe = everything.build({}, {"steps": 6})
        recipe.stages[1] = score(gd.blend(noise=jittered(right), drawn=gd.reward(drawn), new=rnd()))
        return recipe

    options = gd.Options(save_every=2, eval_tasks=0)
    whole = gd.train(made(), seed=2, out=tmp_path / "whole", options=options)
    with killed_at(5):
        gd.train(made(), seed=2, out=tmp_path / "broken", options=options)
    assert gd.train(made(), resume=tmp_path / "broken").weights == whole.weights
    assert gd.train(made(), seed=3, out=tmp_path / "other", options=options).weights != whole.weights


# --- what is odd ----------------------------------------------------------------------------------------------------


@gd.part
class divided(Around):
    """A formula that may divide by 0, and says nothing about it."""

    reward: object
    by: float = 0.0

    def combine(self, parts, where):
        (inner,) = parts.values()
        return Scores(inner.value / self.by, inner.reason, detail={0: {"why": "divided"}})


def test_a_formula_that_comes_to_no_number_failed():
    for formula, value in (
        (divided(right), "inf"),
        (divided(right, by=1e-300), "1e+300"),
        (divided(divided(right)), "inf"),
    ):
        found = gd.score_samples(formula, [SAMPLE])
        assert found.whole == [None] and found.reasons == [Reason.FAILED]
        assert found.details[0]["error"] == f"ValueError: divided came to {value}"
        column = staged(formula).cols["reward"]
        assert bool(column.broken.any()) and not bool(column.value.isinf().any())


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (10**400, "more than float32 holds"),
        (b"4", "not a number"),
        (float("nan"), "nan"),
        ({"score": 1}, "not a number"),
    ],
)
def test_odd_returns_fail_in_one_line(made, why):
    found = gd.score_samples(gd.reward(lambda completion: made, isolate=False), [SAMPLE])
    assert found.reasons == [Reason.FAILED]
    assert why in found.details[0]["error"] and len(found.details[0]["error"]) < 200


class scorer(Leaf):
    """A leaf whose own `score` gives whatever it was made with."""

    alone = False

    def __init__(self, gives):
        self.gives = gives

    async def score(self, samples):
        return self.gives


@pytest.mark.parametrize("gives", [[], [1.0], [Outcome(Reason.VALUE, 1.0)] * 2])
def test_a_leaf_of_ones_own_that_gives_no_outcomes_is_refused(gives):
    with refusal(UserError, "1"):
        gd.score_samples(scorer(gives), [SAMPLE])


def test_a_reason_with_a_number_beside_it_has_no_number():
    found = gd.score_samples(scorer([Outcome(Reason.NOT_APPLICABLE, 3.0), Outcome(Reason.VALUE)]), [SAMPLE, SAMPLE])
    assert found.whole == [None, None] and found.reasons == [Reason.NOT_APPLICABLE, Reason.FAILED]


def test_a_formula_that_makes_something_else_is_refused():
    class halved(divided):
        def combine(self, parts, where):
            return 0.5

    with refusal(UserError, "0.5", "1"):
        gd.score_samples(halved(right), [SAMPLE])
