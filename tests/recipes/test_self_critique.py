"""The study of contamination: halves that are alike, and a run that is trained on one of them and asked about both."""

from __future__ import annotations

import pytest
from refusals import refusal

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.core.seeds import generator
from guerdon.studies.halves import even_halves


def test_halves_have_as_many_of_every_kind():
    kinds = ["a", "b", "c", "a", "b", "a"] * 4
    first = even_halves(kinds, generator(0, "members"))
    assert sum(first) == len(kinds) // 2
    assert all(
        sum(f for f, k in zip(first, kinds, strict=True) if k == kind) * 2 == kinds.count(kind) for kind in "abc"
    )
    assert first != even_halves(kinds, generator(1, "members")) and first == even_halves(kinds, generator(0, "members"))


@pytest.mark.slow
def test_a_policy_is_trained_on_half_and_asked_about_both(tmp_path):
    how = {"prompts": 2, "tries": 2, "max_tokens": 24}
    run = gd.train(
        "self-critique",
        task="countdown:1-2@12",
        model="sprig-1.1",
        budget="200",
        seed=5000,
        out=tmp_path / "run",
        **how,
    )
    result = run.result
    assert 0 <= result["auc"] <= 1 and set(result["balanced"]) == set(result["unbalanced"])
    assert result["plain_auc"] == result["unbalanced"]["self_critique"] and 0 <= result["right_members"] <= 1


def test_a_task_without_an_end_has_no_halves(tmp_path):
    with refusal(UserError):
        gd.train("self-critique", task="countdown:2", model="sprig-1.1", out=tmp_path / "run")
