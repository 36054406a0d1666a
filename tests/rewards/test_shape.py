"""Rewards for form: tags, lengths and repetition, on numbers done by hand and on any text at all."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal
from strategies import episode, segment

from guerdon.core.errors import UserError
from guerdon.core.pack import pack
from guerdon.core.schedule import linear
from guerdon.core.task import Sampling
from guerdon.engine.player import Player
from guerdon.rewards.asking.function import reward
from guerdon.rewards.formula.reward import as_reward
from guerdon.rewards.stage.score_stages import score
from guerdon.rewards.text.length_budgets import used, within_budget
from guerdon.rewards.text.shape import cosine_length, has_format, length, overlong, repetition

GOOD = "<think>why</think>\n<answer>4</answer>"


def words(count):
    return " ".join(["w"] * count)


# --- form ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("completion", "value", "share"),
    [
        (GOOD, 1.0, 1.0),
        (f"\n {GOOD} \n", 1.0, 1.0),
        ("<think></think><answer></answer>", 1.0, 1.0),
        (f"Well. {GOOD}", 0.0, 4 / 5),
        (f"{GOOD} Done.", 0.0, 4 / 5),
        ("<think>why</think> so <answer>4</answer>", 0.0, 4 / 5),
        ("<answer>4</answer><think>why</think>", 0.0, 4 / 5),
        ("<think><answer>4</answer></think>", 0.0, 4 / 5),
        ("</think>why<think><answer>4</answer>", 0.0, 4 / 5),
        (f"{GOOD}<answer>5</answer>", 0.0, 2 / 5),  # the tags of the answer are there twice
        ("<think>why<answer>4</answer>", 0.0, 3 / 5),
        ("<THINK>why</THINK><answer>4</answer>", 0.0, 2 / 5),
        ("4", 0.0, 0.0),
        ("", 0.0, 0.0),
    ],
)
def test_tags(completion, value, share):
    assert has_format()(completion) == value
    assert has_format(partial=True)(completion) == pytest.approx(share)


def test_form_by_knob():
    assert has_format(opened=True)(GOOD.removeprefix("<think>")) == 1.0 and has_format(opened=True)(GOOD) == 0.0
    plan = has_format("<plan>...</plan> <do-it>..</do-it> <check>..</check>")
    assert plan("<plan>a</plan><do-it>b</do-it><check>c</check>") == 1.0 and plan(GOOD) == 0.0
    assert has_format(pattern=r"\d+\n.*")("12\nyes\nno") == 1.0 and has_format(pattern=r"\d+")("12 ") == 0.0


# --- length -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "value"), [(0, 1.0), (10, 1.0), (11, 0.75), (13, 0.25), (14, 0.0), (99, 0.0)])
def test_a_budget_falls_over_its_margin(count, value):
    assert length(10, 4, "words")(words(count)) == pytest.approx(value)


def test_a_budget_without_a_margin_is_a_step():
    assert [length(10, unit="words")(words(n)) for n in (10, 11)] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("count", "value"), [(0, 0.0), (16, 0.0), (17, -0.25), (18, -0.5), (20, -1.0), (21, -1.0), (99, -1.0)]
)
def test_overlong_is_the_formula_of_dapo(count, value):
    assert overlong(20, 4, "words")(words(count)) == pytest.approx(value)


def test_overlong_without_a_margin_is_a_step():
    assert [overlong(10, 0, "words")(words(n)) for n in (10, 11)] == [0.0, -1.0]
    assert (overlong().limit, overlong().margin) == (16_384 + 4_096, 4_096)  # the paper's


@pytest.mark.parametrize(
    ("count", "right", "wrong"),
    [
        (0, 2.0, -10.0),
        (3, 1 + (1 + math.sqrt(0.5)) / 2, -5 * (1 + math.sqrt(0.5))),
        (6, 1.5, -5.0),
        (11, 1 + (1 + math.cos(math.pi * 11 / 12)) / 2, -5 * (1 + math.cos(math.pi * 11 / 12))),
        (12, 1.0, 0.0),
        (99, 1.0, 0.0),
    ],
)
def test_the_cosine_runs_from_short_to_long(count, right, wrong):
    part = cosine_length(12, 2.0, 1.0, -10.0, 0.0, unit="words")
    assert part(words(count), correct=True) == pytest.approx(right)
    assert part(words(count), correct=0.0) == pytest.approx(wrong)


def test_the_cosine_at_its_limit_and_without_a_verdict():
    part = cosine_length(4, over=-10.0, unit="words")
    assert part(words(3), correct=1) > 0.5 and part(words(4), correct=1) == -10.0 == part(words(9), correct=False)
    assert part(words(3), correct=None) is None
    assert part(words(2), correct=0.9) == part(words(2), correct=False)  # nearly right is wrong


def test_what_is_correct_must_be_known():
    part = cosine_length(4, unit="words")
    part.check_arguments(["correct"])
    with refusal(UserError, "cosine_length"):
        part.check_arguments([])
    assert part.ask({"meta": {"correct": True}, "completion": "a b"}).value == 0.75


def test_lengths_have_units():
    assert length(3)("ab c", [5, 6, 7]) == 1.0 and length(2)("ab c", [5, 6, 7]) == 0.0
    assert length(4, unit="characters")("ab c") == 1.0 and length(3, unit="characters")("ab c") == 0.0
    assert length(2, unit="words")("ab c") == 1.0 and length(1, unit="words")("ab c") == 0.0
    assert length(0)("", []) == 1.0
    for counted in (length(3), cosine_length(9), overlong(9, 3), used(), within_budget(9)):
        more = {"correct": True} if isinstance(counted, cosine_length) else {}
        with refusal(UserError):
            counted("ab c", **more)
    assert cosine_length(9)("ab c", correct=None) is None  # what it is asked about comes first


def test_actions_are_those_of_the_track_that_is_scored():
    """Another role said the same in fewer words, and later."""
    both = episode(segment([1, 2, 3], text="yes"), segment([1], role="judge", parent=0, text="yes"))
    play = Player({}, {}, None, Sampling(), 0, 1)
    scored = score(length(1, margin=4))(pack([both]), play)
    assert scored["reward"][scored.tracks_of(["policy"])].tolist() == [0.5]


# --- repetition ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "completion", "value"),
    [
        (repetition(), "a b c a b c", -1 / 4),  # abc bca cab abc
        (repetition(), "a A a a", -1 / 2),  # aaa aaa
        (repetition(), "a b c", 0.0),
        (repetition(), "a a", 0.0),
        (repetition(), "", 0.0),
        (repetition(1, -0.5), "a a b b", -0.25),
        (repetition(2, unit="characters"), "ababa", -1 / 2),  # ab ba ab ba
        (repetition(2, 0.0), "a a a a", 0.0),
    ],
)
def test_repetition(part, completion, value):
    assert part(completion) == pytest.approx(value)


# --- all of them --------------------------------------------------------------------------------------------------

EVERY = [
    has_format(),
    has_format(partial=True, opened=True),
    has_format(pattern="a.b"),
    length(5, 5, "words"),
    cosine_length(7, unit="characters"),
    overlong(9, 5, "words"),
    repetition(),
    repetition(2, unit="characters"),
]
PIECES = st.lists(st.sampled_from(["<think>", "</think>", "<answer>", "</answer>", " ", "a", "\n"])).map("".join)


@pytest.mark.parametrize("part", EVERY, ids=repr)
@given(st.one_of(st.text(max_size=60), PIECES), st.booleans())
def test_any_text_has_a_score(part, completion, correct):
    verdict = {"correct": correct} if isinstance(part, cosine_length) else {}
    found = part(completion, **verdict)
    assert -1.0 <= found <= 1.0 and part(completion, **verdict) == found


@given(st.text(max_size=60))
def test_the_form_is_all_of_its_parts(text):
    assert has_format()(text) == float(has_format(partial=True)(text) == 1.0)
    assert has_format()(f"<think>{text.replace('<', '')}</think><answer>4</answer>") == 1.0


@pytest.mark.parametrize("part", EVERY, ids=repr)
def test_each_is_a_reward_as_it_stands(part):
    sample = {"meta": {"correct": 1}, "completion": GOOD}
    assert as_reward(part) is part and part.ask(sample) == reward(part, isolate=False).ask(sample)
    assert part.weight(0.1).name == type(part).__name__


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: length(), "length needs limit"),
        (lambda: length(-1), "length.limit must be at least 0"),
        (lambda: length(5, unit="tokens"), "length.unit must be one of 'actions', 'words', 'characters'"),
        (lambda: overlong(5, 6), "overlong.margin lies within its limit: at most 5, not 6"),
        (lambda: cosine_length(0), "cosine_length.limit must be at least 1"),
        (lambda: cosine_length(5, over=math.nan), "cosine_length.over must be a finite number"),
        (lambda: cosine_length(5, right_long=linear(0.0, 1.0)), "cosine_length.right_long takes no schedule"),
        (lambda: repetition(0), "repetition.n must be at least 1"),
        (lambda: repetition(3, 0.5), "repetition.worst must be at most 0"),
        (lambda: has_format("think"), "has_format.template is tags in a row"),
        (lambda: has_format("<a>..</b>"), "has_format.template is tags in a row"),
        (lambda: has_format("<a>..</a><a>..</a>"), "has a tag twice"),
        (lambda: has_format(pattern="("), "is not a regular expression"),
        (lambda: has_format(pattern="a", partial=True), "leave them out with a pattern"),
    ],
)
def test_bad_knobs_are_refused(make, message):
    with pytest.raises(UserError, match=message) as refused:
        make()
    assert "\n" not in str(refused.value)
