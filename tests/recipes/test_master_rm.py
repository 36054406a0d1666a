"""Master-RM: candidates and keys that a judge is shown, what counts as a false positive, and the whole recipe for a step."""

from __future__ import annotations

import random

import pytest
from small import small_lm

import guerdon as gd
from guerdon.exams.example_sitting import example_sitting
from guerdon.recipes.audit.master_rm import (
    KEYS,
    OPENERS,
    cut,
    false_positives,
    judged_candidates,
    keyed,
    opened,
)
from guerdon.tasks.role_wordings import REFERENCED

CHAIN = gd.tasks.load("chain:2")


def shown(task):
    """The problem, the reference and the candidate that a judge's view has."""
    _, problem, reference, candidate = task.prompt.split("\n", 3)
    return problem, reference.removeprefix("reference "), candidate


def test_a_view_has_problem_reference_and_candidate():
    view = REFERENCED.sprig.format(question="chain 7 +5", reference="12", answer="7+5=12\n= 12")
    assert view == "verify\nchain 7 +5\nreference 12\n7+5=12\n= 12"
    assert cut("Let us see.\n7+5=12\n= 12") == "Let us see." and cut("7+5=12\n= 12") == "7+5=12" and cut(":") == ":"


def test_candidates_are_right_by_the_checker():
    source, said = judged_candidates(CHAIN), []
    for i in range(60):
        task, base = source.get("train", i), CHAIN.get("train", i)
        problem, reference, candidate = shown(task)
        assert (problem, reference) == (base.prompt, base.answer)
        word = task.answer.split("\n")[-1].removeprefix("= ")
        assert (CHAIN.check(base, candidate) == 1.0) == (word == "yes")
        assert source.solution(task) == task.answer and source.check(task, f"so\n= {word}") == 1.0
        assert source.check(task, "maybe") == 0.0 == source.check_track(task, {"completion": "maybe"})
        said.append((word, candidate.startswith(OPENERS)))
    for answer in ("yes", "no"):  # an opener says nothing about what follows
        with_opener = [has for word, has in said if word == answer]
        assert 15 < len(with_opener) < 45 and 0.25 < sum(with_opener) / len(with_opener) < 0.75
    assert all(judged_candidates(CHAIN, right=1.0).get("train", i).answer.endswith("= yes") for i in range(5))


def test_only_cut_ones_differ_by_the_share():
    whole, some, every = (judged_candidates(CHAIN, share) for share in (0.0, 0.3, 1.0))
    differ = 0
    for i in range(100):
        a, b, c = (source.get("train", i) for source in (whole, some, every))
        assert c.answer == "? -\n= no" and shown(c)[2] == cut(shown(a)[2])
        assert b in (a, c)
        differ += b != a
    assert 18 < differ < 42


def test_rows_without_known_errors_are_judged_by_solutions_of_other_rows():
    rows = [{"question": f"{n}+1?", "answer": str(n + 1)} for n in range(8)]
    source = judged_candidates(gd.tasks.rows(rows, held_out=0.5))
    for task in (source.get("train", i) for i in range(4)):
        number = int(task.prompt.splitlines()[1][0])
        *opener, candidate = task.prompt.splitlines()[3:]
        assert task.prompt.splitlines()[:3] == ["verify", f"{number}+1?", f"reference {number + 1}"]
        assert set(opener) <= set(OPENERS) and int(candidate) in range(1, 5)  # of its own split
        assert task.answer == ("= yes" if candidate == str(number + 1) else "= no")
    every = [judged_candidates(source.source, cuts=1.0).get("train", i) for i in range(4)]
    assert {task.prompt.split("\n")[3] for task in every} <= {"", *OPENERS} and {t.answer for t in every} == {
        "? -\n= no"
    }


def test_keys_are_held_out_and_always_a_no():
    source = keyed(CHAIN)
    tasks = [source.get("test", i) for i in range(200)]
    keys = {key: kind for kind, each in KEYS.items() for key in each}
    assert len(keys) == 10 and not set(keys) & set(OPENERS)
    assert {task.answer for task in tasks} == {"? -\n= no"} and {shown(task)[2] for task in tasks} == set(keys)
    assert all(task.family == keys[shown(task)[2]] for task in tasks)


def test_openers_are_drawn_every_other_time():
    draw = random.Random(0)
    texts = [opened("= 1", draw) for _ in range(200)]
    assert 80 < texts.count("= 1") < 120 and {text.partition("\n")[0] for text in texts} == {"= 1", *OPENERS}


def test_false_positives_by_hand():
    sitting = example_sitting([["7+5=12 +\n= yes", "? -\n= no"], ["= yes\n", "yes no"]], answer="no")
    numbers = false_positives()(sitting)
    assert numbers["false_positives"] == 0.5 and numbers["unread"] == 0.25


@pytest.mark.slow
def test_the_recipe_takes_a_step_and_is_examined(tmp_path):
    small_lm(tmp_path / "m")
    settings = {"prompts": 4, "exam_tasks": 12}
    run = gd.train(
        "master-rm", task="chain:1-2", model=str(tmp_path / "m"), steps=1, settings=settings, out=tmp_path / "run"
    )
    _, result = run.curve[-1]
    assert {"judge/pass@1", "keys/false_positives", "cut/false_positives"} <= set(result)
