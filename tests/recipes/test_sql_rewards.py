"""Reasoning-SQL: what queries are paid by hand, what it is without its partial rewards, and that it trains."""

from __future__ import annotations

import math

import pytest
from small import small_lm

import guerdon as gd
from guerdon.core.part import fingerprint
from guerdon.training.catalog import find_recipe

TASK = gd.tasks.text_to_sql(level=1, checker="plain")
QUICK = {"prompts": "2", "tries": "4", "max_tokens": "12", "lr": "1e-2"}
MADE = "CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 2), (3, 4);"
PROBLEM = gd.Task(
    "1", "", "SELECT a FROM t WHERE b > 3", "text_to_sql", 1,
    {"databases": [MADE], "query": "SELECT a FROM t WHERE b > 3", "ordered": False},
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("policy")
    small_lm(place)
    return place


def built(name, folder, **settings):
    recipe = find_recipe(name).build(
        {"task": TASK, "model": gd.models.load(str(folder))}, {**QUICK, **settings}, text=True
    )
    recipe.check()
    return recipe


def paid(recipe, *said):
    samples = [{"task": PROBLEM, "completion": text, "meta": PROBLEM.meta} for text in said]
    return gd.score_samples(recipe.stages.scores[-1].reward, samples).whole


@pytest.mark.parametrize(
    ("said", "by_hand"),
    [
        # execution 3, judge 2 where that is 0, runs, names, pairs of tokens, form
        ("SELECT a FROM t WHERE b > 3", 3 + 0 + 1 + 1 + 1 + 1),
        # as right in other words: five pairs of nine, for b >= and >= 4 stand for b > and > 3
        ("SELECT a FROM t WHERE b >= 4", 3 + 0 + 1 + 1 + 5 / 9 + 1),
        # clauses 1, 1 and 0; all names; six pairs of eight
        ("SELECT a FROM t WHERE b > 1", 0 + 2 * 2 / 3 + 1 + 1 + 6 / 8 + 1),
        # clauses 1, 1 and 0; two of three names; three of seven pairs; words around it
        ("so:\n```sql\nSELECT a FROM t\n```", 0 + 2 * 2 / 3 + 1 + 2 / 3 + 3 / 7 + 0),
        # clauses 0, 1 and 1; it names c too and does not run
        ("SELECT c FROM t WHERE b > 3", 0 + 2 * 2 / 3 + 0 + 2 / 4 + 5 / 9 + 1),
        ("the rows of t", 0.0),
    ],
)
def test_what_a_query_is_paid_by_hand(folder, said, by_hand):
    assert paid(built("reasoning-sql", folder), said) == pytest.approx([by_hand])


def test_a_wrong_query_is_never_paid_as_much_as_the_right_one(folder):
    recipe = built("reasoning-sql", folder)
    for index in range(6):
        problem = TASK.get("train", index)
        said = [problem.answer, *(query for _, query in problem.meta["wrong"])]
        samples = [{"task": problem, "completion": text, "meta": problem.meta} for text in said]
        scores = gd.score_samples(recipe.stages.scores[-1].reward, samples).whole
        right = [TASK.check(problem, text) for text in said]
        assert scores[0] == 7.0 > max(score for score, is_right in zip(scores, right, strict=True) if not is_right)


def test_every_weight_is_a_knob(folder):
    said = ("SELECT a FROM t WHERE b > 3", "SELECT a FROM t WHERE b > 1")
    alone = {"execution": "0", "judge": "0", "syntax": "0", "schema": "0", "ngrams": "0", "formed": "0"}
    by_hand = {"execution": [1, 0], "judge": [0, 2 / 3], "syntax": [1, 1], "schema": [1, 1], "ngrams": [1, 0.75]}
    for knob, scores in {**by_hand, "formed": [1, 1]}.items():
        assert paid(built("reasoning-sql", folder, **{**alone, knob: "1"}), *said) == pytest.approx(scores), knob


def test_tags_are_paid_where_they_are_asked_for(folder):
    recipe = built("reasoning-sql", folder, form="tags", execution="0", judge="0", syntax="0", schema="0", ngrams="0")
    tagged = "<reasoning>a of those above 3</reasoning><answer>SELECT a FROM t WHERE b > 3</answer>"
    assert paid(recipe, tagged, "SELECT a FROM t WHERE b > 3") == [1.0, 0.0]
    assert TASK.check(PROBLEM, tagged) == 1.0


def test_only_the_reward_differs_from_grpo(folder):
    mine, plain = built("reasoning-sql", folder), built("grpo", folder)
    assert [type(stage).__name__ for stage in mine.stages] == ["verified", "score", "centre", "Learn"]
    assert fingerprint(mine.stages.learners) == fingerprint(plain.stages.learners)
    assert (mine.stages.credit[0].std, mine.stages.credit[0].reward) == (plain.stages.credit[0].std, "reward")


@pytest.mark.slow
def test_it_trains(folder, tmp_path):
    recipe = built("reasoning-sql", folder)
    run = gd.train(recipe, steps=2, out=tmp_path / "run", options=gd.Options(eval_tasks=2), progress=False)
    parts = ("right", "judged", "runs", "names", "ngrams", "formed")
    assert {f"reward.{name}" for name in parts} <= set(run.batch(1).cols)
    assert run.complete and math.isfinite(run.evaluations[-1]["pass@1"])
