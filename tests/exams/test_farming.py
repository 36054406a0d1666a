"""What repeated and empty steps gain: by hand with plain functions, and with a model that reads them."""

from __future__ import annotations

import pytest
import torch
from refusals import refusal
from small import small_lm
from told_tries import told_sitting

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.exams.example_sitting import example_sitting
from guerdon.exams.farming import farmed
from guerdon.models.language_model import lm

ONES = gd.reward(lambda completion: [1.0] * len(completion.splitlines()), isolate=False)
SITTING = example_sitting([["1+1=2\n2+2=4\n= 4", "2*2=4\n= 4"], ["= 4", "3+1=4\n= 4"]], answer="4")


@pytest.mark.parametrize("times", [1, 4])
def test_a_reward_for_every_line_is_farmed_line_by_line(times):
    numbers = farmed(ONES, times=times)(SITTING)
    assert numbers["farm_repeat"] == numbers["farm_empty"] == times
    assert numbers["farm_twice"] == pytest.approx((2 + 1 + 1) / 3)  # the try of a single line is left out
    assert numbers["farm_gain"] == max(times, 4 / 3) and numbers["farm_most"] == max(times, 2)
    assert numbers["farm_step"] == 1.0 and numbers["farm_score"] == 0.0 and numbers["farm_tries"] == 3
    assert farmed(ONES, times=4)(SITTING)["farm_tokens"] == pytest.approx(4 * 6)  # letters of a line, and its end


def test_what_is_bounded_gains_nothing():
    for bounded in (
        gd.delta(ONES),
        gd.shortfall(ONES, 1.0),
        gd.overall(ONES, "min"),
        gd.delta(gd.shortfall(ONES, 2.0)),
    ):
        numbers = farmed(bounded)(SITTING)
        assert [numbers[f"farm_{way}"] for way in ("repeat", "twice", "empty", "gain")] == [0.0] * 4
    assert farmed(gd.shortfall(ONES, 2.0))(SITTING)["farm_repeat"] == -3.0  # and where lines cost, more cost more


def test_the_best_way_may_be_any():
    hates_filler = gd.reward(
        lambda completion: [-1.0 if x == "so" else 0.5 for x in completion.splitlines()], isolate=False
    )
    numbers = farmed(hates_filler)(SITTING)
    assert numbers["farm_gain"] == numbers["farm_repeat"] == 1.5 and numbers["farm_empty"] == -3.0
    likes = gd.reward(lambda completion: [float(x == "hm") for x in completion.splitlines()], isolate=False)
    assert farmed(likes, filler="hm", name="mine")(SITTING)["mine_empty"] == 3.0
    with refusal(UserError):
        farmed(likes, filler="\n")


def test_tries_without_a_value_are_left_out():
    picky = gd.reward(lambda completion: None if completion.startswith("2*2=4\nso") else [1.0], isolate=False)
    assert farmed(picky)(SITTING)["farm_tries"] == 2  # one has no value in one of the ways
    assert farmed(gd.reward(lambda completion: 1 / 0, isolate=False))(SITTING) == {"farm_tries": 0}


def test_models_read_what_is_told_again(tmp_path):
    family = gd.tasks.load("equation:2")
    problem = family.get("train", 0)
    small_lm(tmp_path)
    scorer = lm(source=str(tmp_path), value=True)
    scorer.start(0, {})
    with torch.no_grad():
        scorer.net.value_head.weight.normal_(generator=torch.Generator().manual_seed(1))
    gd.models.save(scorer, tmp_path / "scorer")
    text, cut = "9x=36\nx=4\n= 4", "9x=36\nx"
    sitting = told_sitting(family, [(problem, (text, cut))], cut=(cut,), policy=scorer)
    numbers = farmed(gd.process_model("policy", aggregate="steps"), times=2)(sitting)
    again = ["9x=36\nx=4\n= 4", "9x=36\nx=4\nx=4\nx=4\n= 4", "9x=36\n9x=36\nx=4\nx=4\n= 4", "9x=36\nx=4\nso\nso\n= 4"]
    folder = gd.process_model(str(tmp_path / "scorer"), aggregate="steps")
    plain, *others = gd.score_samples(folder, [{"prompt": problem.prompt, "completion": t} for t in again]).whole
    gains = [other - plain for other in others]
    assert [numbers[f"farm_{way}"] for way in ("repeat", "twice", "empty")] == pytest.approx(gains, abs=1e-5)
    assert numbers["farm_gain"] == pytest.approx(max(gains), abs=1e-5) and numbers["farm_tries"] == 1
