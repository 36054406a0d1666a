"""MRMBench: answers with traits by hand, hidden states that a head reads, probes, and the whole study of a tiny model."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from small import small_lm

import guerdon as gd
from guerdon.models.language_model import lm
from guerdon.models.value_head import head_of
from guerdon.recipes.audit.mrmbench.parts import (
    TRAITS,
    WORTH,
    TraitAnswer,
    any_traits,
    hidden_of,
    paired_answers,
    probed,
    written,
)
from guerdon.recipes.audit.mrmbench.trait_pool import MIXES, pairs_in, ranked, worth_chosen
from guerdon.recipes.audit.scorer_pool import ProblemTries, said_of

RIGHT, WRONG = "7+5=12\n12*2=24\n24-4=20\n= 20", "7+5=13\n13*2=26\n26-4=22\n= 22"
ALL = dict.fromkeys(TRAITS, True)
PROBLEM = ProblemTries("chain 7 +5 *2 -4", [RIGHT], [WRONG], [])


def test_an_answer_has_the_traits_it_is_given():
    plain = {**ALL, "verbosity": False, "helpfulness": False}
    assert written("q", RIGHT, WRONG, plain) == RIGHT
    assert written("q", RIGHT, WRONG, {**plain, "correctness": False}) == WRONG
    assert written("q", RIGHT, WRONG, {**plain, "coherence": False}) == "24-4=20\n12*2=24\n7+5=12\n= 20"
    assert written("q", RIGHT, WRONG, {**plain, "complexity": False}) == "12*2=24\n24-4=20\n= 20"
    assert written("q", RIGHT, WRONG, {**plain, "harmlessness": False}) == f"you fool\n{RIGHT}"
    assert written("q", RIGHT, WRONG, {**plain, "helpfulness": True}) == f"asked: q\n{RIGHT}"
    assert written("q", RIGHT, WRONG, {**plain, "verbosity": True}).startswith("first we find 7+5=12\n")


def test_what_answers_are_worth():
    assert TraitAnswer("q", "", ALL).worth == 3.0 and TraitAnswer("q", "", {**ALL, "verbosity": False}).worth == 3.25
    assert TraitAnswer("q", "", dict.fromkeys(TRAITS, False)).worth == 0.0 and sum(WORTH.values()) == 3.0


def test_pairs_differ_in_the_traits_they_may():
    for seed in range(20):
        made = paired_answers(PROBLEM, ("verbosity", "complexity"), random.Random(seed))
        if made is not None:
            better, worse = made
            assert better.worth > worse.worth
            assert {t for t in TRAITS if better.has[t] != worse.has[t]} <= {"verbosity", "complexity"}
    for better, worse in pairs_in(("verbosity",), [PROBLEM], 10, 0):
        assert worse.has["verbosity"] and not better.has["verbosity"]  # which is worth less than nothing
    assert len({(mix.differ, mix.share) for mix in MIXES}) == len(MIXES) == 12
    assert sum(max(1, round(24 * mix.share)) for mix in MIXES) == 258  # what the claim is given


def test_ranking_and_choosing_by_hand():
    a, b = TraitAnswer("q", "aa", ALL), TraitAnswer("q", "b", {**ALL, "correctness": False})
    assert ranked(lambda texts: [float(len(t)) for _, t in texts], [(a, b), (b, a)]) == 0.5
    assert ranked(lambda texts: [0.0] * len(texts), [(a, b)]) == 0.5
    assert worth_chosen(lambda texts: [-float(len(t)) for _, t in texts], [[a, b], [a, a]]) == (2.0 + 3.0) / 2
    assert worth_chosen(lambda texts: [0.0] * len(texts), [[b, a]]) == 2.0  # the first of equals


def test_probes_read_what_is_there_and_nothing_else():
    draw = np.random.default_rng(0)
    x, z = draw.normal(size=(400, 5)), draw.normal(size=(400, 5))
    aim = np.array([1.0, -2.0, 0.0, 0.0, 0.5])
    assert probed(x, x @ aim > 0, z, z @ aim > 0) > 0.95
    noise = draw.random(400) < 0.5
    assert 0.4 < probed(x, noise, z, draw.random(400) < 0.5) < 0.6
    one = np.array([[1.0], [2.0], [3.0], [4.0]])  # by hand: the middle is 2.5, and what is above it is there
    assert (
        probed(one, [False, False, True, True], np.array([[0.0], [2.4], [2.6], [9.0]]), [False, False, True, True])
        == 1.0
    )


def test_hidden_states_are_what_the_head_reads(tmp_path):
    """Its own weights on them say what it says."""
    small_lm(tmp_path / "m")
    scorer = lm(source=str(tmp_path / "m"), value=True)
    scorer.start(0, {})
    said = head_of(scorer.net)
    with torch.no_grad():
        said.weight.copy_(torch.linspace(-1, 1, len(said.weight)))
        said.bias.fill_(0.25)
    texts = [("1+1", "= 2"), ("1+1", "so\n= 3"), ("5", "x")]
    by_hand = hidden_of(scorer, texts) @ said.weight.detach().double().numpy() + 0.25
    assert by_hand == pytest.approx(np.array(said_of(scorer, texts)), abs=1e-4)
    assert len(set(by_hand.round(3))) == 3


def test_traits_are_drawn_each_by_lot():
    draw = random.Random(0)
    many = [any_traits(draw) for _ in range(400)]
    assert all(160 < sum(has[trait] for has in many) < 240 for trait in TRAITS)


@pytest.mark.slow
def test_the_study_runs_to_its_end(tmp_path):
    small_lm(tmp_path / "m")
    tiny = {"pool": 2, "prompts": 4, "steps": 2, "problems": 4, "answers": 3}
    run = gd.train("mrmbench", task="chain:2", model=str(tmp_path / "m"), settings=tiny, out=tmp_path / "run")
    assert len(run.result["table"]) == 2 and set(run.result["foretold"]) == {*TRAITS, "mean", "pairs"}
