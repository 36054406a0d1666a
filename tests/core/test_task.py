"""Asks and samplings."""

from __future__ import annotations

import pytest
from refusals import refusal
from strategies import task

from guerdon.core.errors import UserError
from guerdon.core.task import Ask, Sampling


def test_samplings_are_equal_by_value_and_can_be_keys():
    assert Sampling(top_k=3) == Sampling(top_k=3)
    assert Sampling(top_k=3) != Sampling(top_k=4)
    assert Sampling(stop=["\n"]) == Sampling(stop=("\n",))
    assert len({Sampling(stop=["\n"]), Sampling(stop=("\n",)), Sampling()}) == 2
    assert Sampling() != "sampling"


@pytest.mark.parametrize(
    "wrong", [{"temperature": -1.0}, {"top_p": 0.0}, {"top_p": 1.1}, {"max_tokens": 0}, {"min_p": 2.0}]
)
def test_impossible_samplings_are_refused(wrong):
    with pytest.raises(UserError, match=f"Sampling.{next(iter(wrong))} must be"):
        Sampling(**wrong)
    with pytest.raises(UserError):
        Sampling().but(**wrong)


def test_an_ask_shows_its_own_prompt_or_the_tasks():
    t = task("a")
    assert Ask(t).shown == "prompt of a"
    assert Ask(t, prompt="").shown == ""
    assert Ask(t).but(prompt="hint").shown == "hint"
    with refusal(UserError):
        Ask(t, 0)


def test_a_task_is_known_by_family_and_id():
    assert task("a", family="sums").key == "sums/a"
