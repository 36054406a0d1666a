"""Worked solutions as problems: gaps to fill and steps to put in order, of every family with steps."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from refusals import refusal
from scheduling import little_and_much, mostly_slow

import guerdon as gd
from guerdon.core.task import kinds_of
from guerdon.tasks import load
from guerdon.tasks.family import Family
from guerdon.tasks.mixtures import mixture
from guerdon.tasks.source_facts import facts_of
from guerdon.tasks.task_loading import family_names, knows
from guerdon.tasks.worked_steps import pairs_in_order

LEVEL = 4  # from here on every family has several steps
FEW = ("chain", "equation", "trace")


@pytest.mark.parametrize("kind", ["cloze", "shuffled"])
@pytest.mark.parametrize("name", mostly_slow(family_names(), *FEW))
@little_and_much("problems", 6, 40)
def test_contract(kind, name, problems):
    for level in (LEVEL, 8):
        source = load(f"{kind}:{name}:{level}")
        assert gd.check_task(source, problems=problems)["problems"] == 2 * problems
        for index in range(problems):
            task = source.get("train", index)
            assert source.check(task, source.solution(task)) == 1.0 and task.kind == f"{kind}:{name}:{level}"
            misses = source.near_misses(task, random.Random(index))
            assert len({miss.kind for miss in misses}) >= 2
            assert all(source.check(task, miss.text) == 0.0 for miss in misses)


def only(source: gd.TaskSource, prompt: str, level: int) -> gd.Task:
    """The problem made of one of the family's."""
    family = next(iter(kinds_of(source.source).values()))
    problem = family.read_problem(prompt)
    held = gd.Task(prompt, prompt, problem.answer, family.name, level, problem.meta)

    class One(type(family)):  # type: ignore[misc]
        def get(self, split, index):
            return held

    source.source = One(level=level)
    return source.get("train", 3)


def test_gaps_by_hand():
    source = gd.tasks.cloze("chain:1", gaps=2)
    task = only(source, "chain 7 +5 *3", 1)
    task.meta.update(steps=["7+5=12", "12*3=36"], gaps=[[0, 4, 6], [1, 5, 7]])
    task = gd.Task(task.id, task.prompt, "12 36", task.family, task.level, task.meta)
    reward = gd.rewards.gaps_filled(source)
    assert source.filled(task, "= 12 36") == [True, True] and reward(task, "= 12 36") == 1.0
    assert source.filled(task, "it is\n= 12 35") == [True, False] and reward(task, "= 12 35") == 0.5
    assert source.filled(task, "= 12") == [False, False] and reward(task, "") == 0.0
    assert source.check(task, "12 36") == 1.0 and source.check(task, "= 12 35") == 0.0
    assert source.check(task, "= 12 36 36") == source.check(task, "= 012 36") == 0.0


def test_another_filling_that_keeps_every_step_true_is_right():
    source = gd.tasks.cloze("sorting:1")
    alternatives = 0
    for name in ("equation:4", "trace:3", "addition:4"):
        source = gd.tasks.cloze(name, gaps=1)
        for index in range(60):
            task = source.get("train", index)
            for other in ("0", "1", "2", "5", "x"):
                if other != task.answer and source.check(task, f"= {other}") == 1.0:
                    base = source.solved(task)
                    (at, start, end) = task.meta["gaps"][0]
                    steps = list(task.meta["steps"])
                    steps[at] = steps[at][:start] + other + steps[at][end:]
                    assert source.of(base).first_wrong(base, steps) is None
                    alternatives += 1
    assert alternatives < 20, "nearly always there is one right filling"


def test_an_order_by_hand():
    source = gd.tasks.shuffled("chain:2")
    task = only(source, "chain 7 +5 *3 -4", 2)
    right = {step: letter for letter, step in zip("abc", task.meta["shown"], strict=True)}
    letters = [right[step] for step in ("7+5=12", "12*3=36", "36-4=32")]
    reward = gd.rewards.order_kept(source)
    assert task.answer == " ".join(letters) and reward(task, f"= {task.answer}") == 1.0
    swapped = " ".join([letters[1], letters[0], letters[2]])
    assert source.check(task, swapped) == 0.0 and reward(task, swapped) == pytest.approx(2 / 3)
    assert reward(task, " ".join(reversed(letters))) == 0.0 == reward(task, "a b") == reward(task, "a a b")
    shown = pairs_in_order(task.meta["shown"], task.meta["steps"])
    assert reward(task, "a b c") == pytest.approx(shown) and shown < 1, "as shown is paid its true agreement"


def test_orders_that_the_step_checker_allows_are_right_where_it_minds_order():
    clock, seen = gd.tasks.shuffled("clock:6"), Counter()
    for index in range(40):
        task = clock.get("train", index)
        letters = task.answer.split()
        for at in range(len(letters) - 1):
            other = [*letters[:at], letters[at + 1], letters[at], *letters[at + 2 :]]
            base = clock.solved(task)
            steps = clock.arranged(task, " ".join(other))
            allowed = clock.of(base).first_wrong(base, steps) is None
            assert clock.check(task, " ".join(other)) == float(allowed)
            seen[allowed] += 1
    assert seen[True] and seen[False]
    equation = gd.tasks.shuffled("equation:6")
    task = equation.get("train", 2)
    assert equation.check(task, " ".join(reversed(task.answer.split()))) == 0.0, (
        "every line of an equation is true anywhere"
    )


def test_mixtures_keep_their_kinds_and_splits():
    for kind in ("cloze", "shuffled"):
        source = load(f"{kind}:chain:2-4")
        kinds = kinds_of(source)
        assert sorted(kinds) == [f"{kind}:chain:{level}" for level in (2, 3, 4)]
        seen = set()
        for index in range(20):
            task = source.get("train", index)
            seen.add(task.kind)
            assert (
                source.check(task, source.solution(task)) == 1.0 == kinds[task.kind].check(task, source.solution(task))
            )
        assert seen == set(kinds)
        held = load("chain:2")
        assert isinstance(held, Family)
        for index in range(30):
            for split in ("train", "test"):
                task = load(f"{kind}:chain:2").get(split, index)
                problem = held.read_problem(task.meta["base"]["prompt"])
                assert held.holds_out(problem) == (split == "test")
        reward = gd.rewards.gaps_filled(source) if kind == "cloze" else gd.rewards.order_kept(source)
        held_out = source.get("test", 0)
        assert reward(held_out, source.solution(held_out)) == 1.0


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("cloze:chain:2+shuffled:trace:3+notes:1", ["cloze:chain:2", "shuffled:trace:3", "notes:1"]),
        ("cloze:chain:1-2+notes:1", ["cloze:chain:1", "cloze:chain:2", "notes:1"]),
        (
            "notes:1-2+shuffled:chain:2-3+cloze:chain:3",
            ["notes:1", "notes:2", "shuffled:chain:2", "shuffled:chain:3", "cloze:chain:3"],
        ),
    ],
)
def test_beside_other_problems_each_of_their_kinds_is_a_kind(name: str, kinds: list[str]):
    source = load(name)
    assert knows(name) and list(kinds_of(source)) == kinds
    for split in ("train", "test"):
        problems = [source.get(split, index) for index in range(2 * len(kinds))]
        assert [task.kind for task in problems] == 2 * kinds
        assert [source.check(task, source.solution(task)) for task in problems] == [1.0] * len(problems)
    assert {"kinds", "domains", "solutions"} <= facts_of(source)


def test_a_mixture_of_sources_with_several_kinds_has_all_of_them():
    both = mixture("both", [load("cloze:chain:1-2"), load("chain:1")])
    assert list(kinds_of(both)) == ["cloze:chain:1", "cloze:chain:2", "chain:1"]
    assert [both.get("train", index).kind for index in range(4)] == [*kinds_of(both), "cloze:chain:1"]


def test_a_role_of_worked_steps_is_refused_in_a_line():
    with refusal(gd.UserError, "1-2"):
        load("verify/cloze:chain:1-2")


def test_what_has_no_steps_is_refused():
    with refusal(gd.UserError, "--solution"):
        load("cloze:parity")
    with pytest.raises(gd.UserError, match="too few steps"):
        load("shuffled:equation:1").get("train", 0)


@pytest.mark.parametrize("name", ["countdown:4", "clock:6"])
def test_a_try_in_a_run_is_judged_as_a_worked_solution(name):
    """Not by the family's own check, which knows nothing of gaps and letters."""
    for source in (gd.tasks.cloze(name), gd.tasks.shuffled(name)):
        for index in range(10):
            task = source.get("train", index)
            for text in (
                source.solution(task),
                "= b a",
                *(miss.text for miss in source.near_misses(task, random.Random(0))),
            ):
                (told,) = gd.score_samples(gd.rewards.checker(source), [{"task": task, "completion": text}]).whole
                assert told == source.check(task, text), text


def test_rows_with_worked_solutions():
    lines = ["The bags hold 3*4=12 apples.", "She eats 2 of them.", "12-2=10 are left."]
    given = [
        {"question": f"How many, {name}?", "solution": "\n".join([*lines, "#### 10"]), "answer": "10"} for name in "ab"
    ]
    rows = gd.tasks.rows(given, system="Be brief.")
    gaps, order = gd.tasks.cloze(rows), gd.tasks.shuffled(rows)
    for source in (gaps, order):
        task = source.get("train", 0)
        assert source.check(task, source.solution(task)) == 1.0 and task.meta["steps"] == lines
        assert task.view[0]["content"] == "Be brief." and task.view.asked == task.prompt
        assert list(kinds_of(source)) == [task.kind] and source.size("train") == 1
        assert all(source.check(task, miss.text) == 0.0 for miss in source.near_misses(task, random.Random(0)))
    assert all(part.isdigit() for part in gaps.get("train", 0).answer.split())
    assert len(gd.tasks.cloze(rows, gaps=9).get("train", 0).answer.split()) == 7
    assert order.check(order.get("train", 0), "= a b c") == 0.0


def test_words_are_gaps_where_there_is_no_number():
    rows = gd.tasks.rows([{"question": f"{n}?", "solution": "so it is\nor not", "answer": "yes"} for n in range(3)])
    assert set(gd.tasks.cloze(rows).get("train", 0).answer.split()) <= {"so", "it", "is", "or", "not"}


def test_solutions_of_one_line_are_refused():
    rows = gd.tasks.rows([{"question": f"{n}?", "solution": "only one", "answer": "yes"} for n in range(3)])
    with refusal(gd.UserError):
        gd.tasks.shuffled(rows).get("train", 0)
