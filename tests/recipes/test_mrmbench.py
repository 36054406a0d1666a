"""MRMBench: answers with traits by hand, hidden states that a head reads, probes, and the whole study of a tiny model."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from refusals import refusal
from small import small_lm

import guerdon as gd
from guerdon.core.errors import UserError
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
from guerdon.recipes.audit.mrmbench.trait_distances import centres_of, distances, leaned_on, nearest, trusted_ranking
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


# --- inference-time probing ---------------------------------------------------------------------------------------

CORNERS = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 4.0], [2.0, 4.0]])
LABELS = [{"a": a, "b": b} for b in (False, True) for a in (False, True)]


def test_a_trait_has_a_centre_for_each_label_by_hand():
    centres = centres_of(CORNERS, LABELS)
    assert centres["a"].tolist() == [[0.0, 2.0], [2.0, 2.0]] and centres["b"].tolist() == [[1.0, 0.0], [1.0, 4.0]]
    with refusal(UserError):
        centres_of(CORNERS[:2], LABELS[:2])


def test_an_answer_leans_on_the_trait_it_is_nearest_to_by_hand():
    """(3, 2) is 1 from a's centres and the root of 8 from b's; (1, 5) is 1 from b's; (31, 44) is near neither."""
    by_trait = distances(np.array([[3.0, 2.0], [1.0, 5.0], [31.0, 44.0]]), centres_of(CORNERS, LABELS))
    assert by_trait["a"].tolist() == pytest.approx([1.0, 10**0.5, (29**2 + 42**2) ** 0.5])
    assert by_trait["b"].tolist() == pytest.approx([8**0.5, 1.0, 50.0])  # 30, 40, 50
    traits, far = nearest(by_trait)
    assert traits == ["a", "b", "b"] and far.tolist() == pytest.approx([1.0, 1.0, 50.0])
    assert (far <= 2.0).tolist() == [True, True, False]  # what would be learned from


def test_a_reward_model_says_what_it_leans_on_and_ranks_what_it_knows(tmp_path):
    """Hidden states of a small model: an answer that is a centre is at no distance; pairs are cut by their farther answer."""
    small_lm(tmp_path / "m")
    scorer = lm(source=str(tmp_path / "m"), value=True)
    scorer.start(0, {})
    with torch.no_grad():
        head_of(scorer.net).weight.copy_(torch.linspace(-1, 1, len(head_of(scorer.net).weight)))
    yes, no = TraitAnswer("1+1", "= 2", {"correctness": True}), TraitAnswer("1+1", "so\n= 3", {"correctness": False})
    odd = TraitAnswer("5", "x x x", {"correctness": False})
    traits, far = leaned_on(scorer, [yes, no], [yes, odd, no])
    assert traits == ["correctness"] * 3 and far[0] == far[2] == 0.0 < far[1]
    first, second = (said_of(scorer, [(each.prompt, each.text) for each in pair]) for pair in ((yes, no), (odd, no)))
    told = trusted_ranking(scorer, [yes, no], [(odd, no), (yes, no)])
    assert told == {"near": float(first[0] > first[1]), "far": float(second[0] > second[1])}
    assert set(trusted_ranking(scorer, [yes, no], [(yes, no)], share=1.0)) == {"near"}


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
