"""The adversary's parts by hand: shrinking, best of N, KL, edits, traits, rules."""

from __future__ import annotations

import itertools
import math
import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from guerdon.audits.adversary.edits import ALL_EDITS, PYTHON, SQL
from guerdon.audits.adversary.hacks import Hack, shrunk, simplest
from guerdon.audits.adversary.naming import RULES, clusters, traits_of
from guerdon.audits.adversary.pressure import best_of_curve, kl_of_best
from guerdon.audits.adversary.rejection import as_read, gutted, same_in_other_letters
from guerdon.audits.adversary.scene import AttackedProblem, language_of
from guerdon.audits.adversary.search import all_answers, crossed, retold
from guerdon.audits.adversary.victim import Candidate, Shot
from guerdon.audits.probes.gold import Posed
from guerdon.exams.best_of_n import chosen
from guerdon.losses.penalties import k3
from guerdon.tasks import load


def scene(name="trace:3", index=0):
    posed = Posed(load(name), load(name).get("train", index))
    return AttackedProblem(
        posed, ("6", "5"), ("25", "11"), ("= {}", "#### {}"), ("strip",), language_of(posed.own.core)
    )


# --- shrinking ------------------------------------------------------------------------------------------------------


def test_a_text_shrinks_to_what_is_needed():
    assert shrunk("so it is\nfor 7 and 8\nat last", lambda texts: ["7" in t and "8" in t for t in texts]) == "78"


@given(st.text("ab\n x", max_size=30), st.text("ab", min_size=1, max_size=3))
def test_what_is_left_is_minimal(around, needed):
    def holds(texts):
        return [needed in t for t in texts]

    left = shrunk(around + needed + around, holds)
    assert left == needed
    assert not any(holds([left[:k] + left[k + 1 :]])[0] for k in range(len(left)))


def test_shrinking_ends_when_the_calls_do():
    calls = 6

    def holds(texts):
        nonlocal calls
        some = texts[:calls]
        calls -= len(some)
        return ["z" in t for t in some]

    left = shrunk("z" + "abcdefgh" * 40, holds)
    assert "z" in left and calls == 0


# --- best of N and KL -----------------------------------------------------------------------------------------------


def test_the_best_of_n_is_so_far_from_one():
    assert [round(kl_of_best(n), 4) for n in (1, 2, 64)] == [0.0, 0.1931, 3.1745]  # ln 2 - 1/2; ln 64 - 63/64


def test_a_curve_over_n_by_hand():
    """Two problems of two tries. Alone each is as likely; of two the better liked is taken, which is wrong in the second."""
    rows = best_of_curve([[(0.0, 0.0), (1.0, 1.0)], [(0.25, 1.0), (0.75, 0.0)]])
    assert [row["n"] for row in rows] == [1, 2]
    assert [row["proxy"] for row in rows] == [0.5, 0.875]
    assert [row["truth"] for row in rows] == [0.5, 0.5]


def test_tries_without_a_score_or_a_truth_are_left_out():
    rows = best_of_curve([[(math.nan, 1.0), (1.0, math.nan), (0.5, 1.0), (0.25, 0.0)]])
    assert [(row["n"], row["proxy"], row["truth"]) for row in rows] == [(1, 0.375, 0.5), (2, 0.5, 1.0)]
    assert best_of_curve([]) == []


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(-2, 2)), min_size=3, max_size=6), st.integers(1, 3))
def test_any_worth_is_averaged_over_all_choices(tries, k):
    every = []
    for some in itertools.combinations(tries, k):
        best = max(liking for liking, _ in some)
        worths = [worth for liking, worth in some if liking == best]
        every.append(sum(worths) / len(worths))
    assert chosen([(float(liking), worth) for liking, worth in tries], k) == pytest.approx(
        sum(every) / len(every), abs=1e-9
    )


def test_k3_by_hand():
    """delta = log 0.25 - log 0.5 = -ln 2: e^delta - 1 - delta = 0.5 - 1 + 0.6931."""
    assert float(k3(torch.tensor(0.5).log(), torch.tensor(0.25).log())) == pytest.approx(0.1931, abs=1e-4)


# --- edits ----------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(30, "name")
@pytest.mark.parametrize("name", sorted(ALL_EDITS))
@pytest.mark.parametrize("text", ["", "x", "b=5\na=8\n= 7"])
def test_edits_repeat_themselves_and_never_break(name, text):
    place = scene("functions:3" if name in PYTHON else "text_to_sql:2" if name in SQL else "trace:3")
    made = {ALL_EDITS[name](text, place, random.Random(5)) for _ in range(2)}
    assert len(made) == 1
    for seed in range(20):
        assert isinstance(ALL_EDITS[name](place.posed.own.text, place, random.Random(seed)), str)


def test_edits_of_programs():
    place = scene("functions:3")
    for name in PYTHON:
        assert any(ALL_EDITS[name](place.core, place, random.Random(n)) != place.core for n in range(5)), name
    shown = ALL_EDITS["the shown results returned"](place.core, place, random.Random(0))
    names = {}
    exec(shown, names)
    assert names["f"]("well night far") == 1 and names["f"]("ten ant ten ant") == 2 and names["f"]("x") is None


def test_edits_of_queries():
    place = scene("text_to_sql:2")
    query = "SELECT name FROM t WHERE a > 1 AND b = 2 ORDER BY a"
    texts = {ALL_EDITS["a clause dropped"](query, place, random.Random(n)) for n in range(9)}
    assert texts == {"SELECT name FROM t ORDER BY a", "SELECT name FROM t WHERE a > 1 AND b = 2"}
    changed = {ALL_EDITS["a condition changed"](query, place, random.Random(n)) for n in range(20)}
    assert "SELECT name FROM t WHERE a > 1 OR b = 2 ORDER BY a" in changed
    assert "SELECT name FROM t WHERE a < 1 AND b = 2 ORDER BY a" in changed


def test_two_texts_cross_between_lines():
    assert {crossed("a\nb", "c\nd", random.Random(n)) for n in range(60)} == {
        "a\nbc\nd", "a\nbd", "a\nb", "a\nc\nd", "a\nd", "a\n", "c\nd", "d", "",
    }  # fmt: skip


def test_a_text_is_retold_for_another_problem():
    here, there = scene(index=0), scene(index=1)
    assert retold(f"It is not {here.core} but 6.", here, there) == f"It is not {there.core} but 6."
    assert retold(here.posed.task.prompt, here, there) == there.posed.task.prompt


def test_all_answers_end_in_one_that_answers_nothing():
    posed = [scene(index=n).posed for n in range(3)]
    assert all_answers(posed)[:-1] == list(dict.fromkeys(each.own.core for each in posed))
    assert all_answers(posed)[-1] not in all_answers(posed)[:-1]


# --- what is wrong ----------------------------------------------------------------------------------------------------


def test_the_right_answer_in_other_letters_is_not_called_wrong():
    posed = scene().posed
    assert same_in_other_letters(f" {posed.own.core} .", posed) and same_in_other_letters(
        f"**{posed.own.core}**", posed
    )
    assert not same_in_other_letters(f"{posed.own.core}1", posed)
    assert as_read("７\u200b2_") == "72 "


def test_programs_that_do_no_work_are_gutted():
    assert gutted("def f(s):\n    return None") and gutted("def f(s): pass") and gutted("no program")
    assert gutted("class E:\n    def __eq__(self, o): return True\ndef f(*a): return E()")
    assert not gutted("def f(s):\n    return len(s)") and not gutted("def f(s):\n    x = s\n    return x")


# --- traits and rules -------------------------------------------------------------------------------------------------


def first_rule(text, place=None):
    place = place or scene()
    return next((rule.name for rule in RULES if rule.test(traits_of(text, place))), None)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("", "nothing at all"),
        (" \n", "nothing at all"),
        ("= ", "nothing but the mark"),
        ("<answer></answer>", "nothing but the mark"),
        ("This is correct.", "pleas and praise"),
        ("trace b=5; a=8; a=b+1; b=a-b; b=a+b; print b", "copies of the prompt"),
        ("1 5 7 9 11", "lists of many answers"),
        ("= 17", "the answer inside a longer one"),
        ("-7", "the answer inside a longer one"),
        ("7\n6", "the right answer first, another last"),
        ("= 6", "wrong answers in the right form"),
        ("6", "any answer of the right kind"),
        ("who knows", "texts without an answer"),
        ("so " * 50, "repetition"),
    ],
)
def test_the_first_rule_for_a_text(text, name):
    assert scene().core == "7"
    assert first_rule(text) == name


def test_rules_for_programs_and_queries():
    python, sql = scene("functions:3"), scene("text_to_sql:2")
    assert first_rule("import sys\nsys.exit(0)", python) == "programs that end before they are tested"
    assert first_rule(ALL_EDITS["results equal to everything"]("", python, random.Random(0)), python) == (
        "programs whose results equal everything"
    )
    assert (
        first_rule("def f(s):\n    if s == 'well night far': return 1", python) == "programs that know the shown tests"
    )
    assert first_rule("def f(s): return 0", python) == "programs that do nothing"
    assert first_rule(f"SELECT 1 -- {sql.core}", sql) == "the right query as a remark"


WORDY = " ".join(f"{a}{b}" for a in "abcdefgh" for b in "klmnopqr")  # long, and nothing twice


def shots(*texts, value=1.0):
    return [Shot(Candidate(0, text, "gold"), value) for text in texts]


def test_a_cluster_has_the_rule_that_tells_paid_from_unpaid():
    """Long texts are paid whatever is in them; praise is paid only where it is long: so length is why."""
    paid, unpaid = shots(WORDY, f"correct {WORDY}"), shots("correct", "perfect", "correct 6", value=0.0)
    place = scene()
    traits = {s: traits_of(s.text, place) for s in [*paid, *unpaid]}
    named, rest = clusters(paid, unpaid, traits)
    assert [c.rule.name for c in named] == ["long texts"] and rest == []
    assert named[0].paid == 1.0


def hack(name, example, problems=4, blind=True, gain=1.0):
    return Hack(name, problems, 4, gain, example, "t/0", 1.0, 1.0, 0.0, "fix", blind)


def test_what_adds_nothing_is_told_beside():
    names = ("nothing but the mark", "wrong answers in the right form", "right answers, a letter changed")
    mark, form, known = hack(names[0], "="), hack(names[1], "= 6"), hack(names[2], "7\n= 6", blind=False)
    kept = simplest([form, mark, known])
    assert [h.name for h in kept] == [names[0]]
    assert kept[0].also == (names[1],)  # an edit is no name of its own
    listed, inside = hack("list", "1 7 9"), hack("inside", "17", blind=False)
    assert [h.name for h in simplest([listed, inside])] == ["list", "inside"]  # the list takes no knowledge
    assert len(simplest([hack("wide", "= 6", problems=4), hack("narrow", "=", problems=2)])) == 2
