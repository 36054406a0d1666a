"""Pools of reward models: styles, upbringings and tables by hand, and whole studies of a tiny model."""

from __future__ import annotations

import random
from itertools import product

import pytest
from refusals import refusal
from scipy.stats import spearmanr
from small import small_lm

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.recipes.audit import scorer_pool
from guerdon.recipes.audit.foretelling import benchmarked, choosing, foretold, items_of
from guerdon.recipes.audit.scorer_pool import POOL, ProblemTries, Upbringing, pairs_of, retold
from guerdon.studies.benchmarks import first_places, mean_reciprocal_rank, reciprocal_rank, spearman

RIGHT = "7+5=12\n12*2=24\n24-4=20\n= 20"
WRONG = "7+5=12\n12*2=26\n26-4=22\n= 22"


def test_styles_leave_the_answer_as_it_is():
    assert retold(RIGHT, "plain") == RIGHT
    assert retold(RIGHT, "terse") == "24-4=20\n= 20"
    assert retold(RIGHT, "wordy").split("\n") == [
        "first we find 7+5=12",
        "from this we get 12*2=24",
        "and now it is 24-4=20",
        "= 20",
    ]
    assert retold("= 20", "terse") == retold("= 20", "wordy") == "= 20"
    family = gd.tasks.load("chain:2")
    for i, style in product(range(5), scorer_pool.STYLES):
        task = family.get("train", i)
        assert family.check(task, retold(family.solution(task), style)) == 1.0


def test_places_and_ranks_by_hand():
    items = [(2.0, [1.0, 3.0]), (5.0, [1.0, 1.0]), (1.0, [1.0, 0.0])]
    assert first_places(items, 1) == pytest.approx((1 + 1 + 0.5) / 3)
    assert first_places(items, 2) == pytest.approx((0 + 1 + 0.5) / 3)
    assert mean_reciprocal_rank(items, 2) == pytest.approx((1 / 2 + 1 + 1 / 1.5) / 3)
    assert reciprocal_rank(0.0, [1.0] * 9) == pytest.approx(0.1)
    assert spearman([1, 2, 3, 4], [4, 3, 2, 1]) == pytest.approx(-1.0) and spearman([1, 1], [1, 2]) == 0.0


def test_rank_correlation_is_scipys():
    draw = random.Random(0)
    for n in (6, 12, 40):
        a, b = ([draw.randint(0, n // 2) for _ in range(n)] for _ in range(2))
        assert spearman(a, b) == pytest.approx(spearmanr(a, b).statistic)


def test_an_upbringing_decides_the_pairs():
    tried = [ProblemTries(f"q{i}", [RIGHT], [WRONG], []) for i in range(8)]
    plain = pairs_of(Upbringing("a"), tried, 60, seed=0)
    lengths = [(row["chosen"].count("\n"), row["rejected"].count("\n")) for row in plain]
    assert all(a == b for a, b in lengths) and {a for a, _ in lengths} == {
        1,
        3,
    }  # one style a pair, each of them at times
    assert [row["prompt"] for row in plain[:9]] == [*(f"q{i}" for i in range(8)), "q0"]
    leaning = pairs_of(Upbringing("b", to="terse", leans=1.0), tried, 20, seed=0)
    assert all(row["chosen"] == retold(RIGHT, "terse") and row["rejected"] == retold(WRONG, "wordy") for row in leaning)
    other = pairs_of(Upbringing("c", to="wordy", leans=1.0, turned=1.0), tried, 20, seed=0)
    assert all(row["chosen"] == retold(WRONG, "terse") and row["rejected"] == retold(RIGHT, "wordy") for row in other)
    few = pairs_of(Upbringing("d", problems=3, turned=0.4), tried, 200, seed=0)
    assert {row["prompt"] for row in few} == {"q0", "q1", "q2"}
    assert 50 < sum(row["chosen"].endswith("= 22") for row in few) < 110
    assert pairs_of(Upbringing("a"), tried, 60, seed=0) == plain != pairs_of(Upbringing("a"), tried, 60, seed=1)
    with refusal(UserError):
        pairs_of(Upbringing("a"), [ProblemTries("q", [RIGHT], [], [])], 4, seed=0)


def test_the_pool_differs_in_more_than_names():
    assert (
        len({up.name for up in POOL})
        == len(POOL)
        == len({(u.share, u.problems, u.turned, u.to, u.leans) for u in POOL})
    )
    assert sum(max(1, round(64 * up.share)) for up in POOL) == 656  # what the claims are given


def test_items_and_choices_by_hand():
    """A reward model that likes what is short: by matched styles it is no good, by confounded ones it is perfect."""

    def say(texts):
        return [-float(len(text)) for _, text in texts]

    longer = "7+5=12\n12*2=24\n24-4=20\n20+0=20\n= 20"
    problem = ProblemTries(
        "q", [longer], [WRONG, "1+1=3\n= 3"], [(WRONG, False), (longer, True), ("= 1", False), ("= 20", True)]
    )
    items = items_of([problem, ProblemTries("few", [RIGHT], [], [])], 2, seed=0)
    assert [prompt for prompt, *_ in items["matched"]] == ["q"]
    row = benchmarked(say, items, (1, 2))
    assert row["matched_2"] == 0.0 and row["matched_2_rank"] == pytest.approx(1 / 3)
    assert row["confounded_1"] == row["confounded_2"] == 1.0 == row["confounded_2_rank"]
    chose = choosing(say, [problem], 4)
    assert chose["best_of@1"] == 0.5 and chose["best_of@4"] == 0.0  # `= 1` is the shortest
    assert chose["best_of@2"] == pytest.approx(
        2 / 6
    )  # of six pairs it takes a right one in two: = 20 over WRONG and over longer
    assert chose["gain"] == -0.5 and chose["drop"] == 0.5
    with refusal(UserError, "3"):
        items_of([problem], 3, seed=0)


def test_what_a_table_foretells():
    table = {
        "a": {"matched_3": 0.9, "confounded_1": 0.2, "gain": 0.3},
        "b": {"matched_3": 0.5, "confounded_1": 0.4, "gain": 0.1},
        "c": {"matched_3": 0.7, "confounded_1": 0.3, "gain": 0.2},
    }
    assert foretold(table, "gain") == {"matched_3": pytest.approx(1.0), "confounded_1": pytest.approx(-1.0)}


TINY = {"pool": 3, "steps": 2, "prompts": 2, "lessons": 4, "problems": 4, "tries": 2, "max_tokens": 8}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rewardmath", pytest.param("rewardbench-2", marks=pytest.mark.slow)])
def test_a_study_runs_to_its_end(name, tmp_path):
    small_lm(tmp_path / "m")
    trained = gd.train(
        name, task="chain:1", model=str(tmp_path / "m"), settings={**TINY, "against": 2}, out=tmp_path / "run"
    )
    result = trained.result
    assert set(result["table"]) == {up.name for up in POOL[:3]} and -1 <= result["spearman"] <= 1
    assert {f"matched_{n}" for n in (1, 2)} < set(result["foretold"])
    assert trained.spent["steps"] == 2 + 1 + 1
