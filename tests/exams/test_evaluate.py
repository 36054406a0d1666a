"""Evaluation counts every try: right, wrong, or not to be checked."""

from __future__ import annotations

import pytest
from refusals import refusal
from strategies import task

from guerdon.core.errors import RunStopped
from guerdon.core.part import part
from guerdon.core.statistics import interval, pass_at_k
from guerdon.core.task import Sampling
from guerdon.exams.exam import Exam
from guerdon.models.tables import tabular
from guerdon.training.evaluate import evaluate


@part
class numbered:
    """Ten held-out tasks, answered by their own number; an answer to task 9 cannot be checked."""

    name = "numbered"

    def size(self, split):
        return 10

    def get(self, split, index):
        return task(str(index), answer=str(index))

    def check(self, problem, completion):
        return None if problem.id == "9" else float(completion == problem.answer)


@part
class recites:
    """Says the right number on even tries and a wrong one on odd tries; breaks where told to."""

    breaks: str = ""
    judged: bool = False
    roles = ("policy",)

    async def play(self, ask, seats):
        attempt = seats.place[3]
        if ask.task.id in self.breaks and attempt == 0:
            raise RuntimeError("no such file")
        right = ask.task.answer if attempt % 2 == 0 else str((int(ask.task.answer) + 1) % 10)
        seats["policy"].teacher_force("say", right)
        if self.judged:
            seats["judge"].teacher_force("judge", "1", after=0, fresh=True)
        return seats.episode()


def run(env, **options):
    model = tabular(length=1)
    model.start(0, {})
    seats = {"policy": "policy", "judge": "policy"}
    options = {"tasks": 100, "tries": 4, **options}
    return evaluate([Exam(numbered())], {"policy": model}, seats, env, Sampling(), **options)


def test_rates_by_hand():
    found = run(recites())
    assert (found["task"], found["tasks"], found["tries"]) == ("numbered", 9, 4)
    assert found["pass@1"] == 0.5
    assert found["pass@2"] == pytest.approx(pass_at_k(4, 2, 2))
    assert found["pass@4"] == 1.0
    assert (found["pass@1_low"], found["pass@1_high"]) == interval([0.5] * 9)[1:]
    assert found["missing"] == pytest.approx(0.1)
    assert found["length"] == 1.0


@pytest.mark.parametrize(("tries", "ks"), [(1, [1]), (4, [1, 2, 4]), (6, [1, 2, 4, 6])])
def test_the_largest_k_is_the_number_of_tries(tries, ks):
    names = [k for k in run(recites(), tries=tries) if k.startswith("pass@") and "_" not in k]
    assert names == [f"pass@{k}" for k in ks]


def test_tries_that_broke_before_acting_are_missing():
    found = run(recites(breaks="012"))
    assert found["missing"] == pytest.approx(0.1 + 3 / 40)
    rates = [1 / 3] * 3 + [0.5] * 6
    assert found["pass@1"] == pytest.approx(sum(rates) / 9)


def test_the_tracks_of_a_judge_are_no_tries():
    assert run(recites(judged=True))["missing"] == pytest.approx(0.1)


def test_an_evaluation_in_which_everything_broke_says_why():
    with refusal(RunStopped):
        run(recites(breaks="0123456789"), tries=1)


def test_fewer_tasks_than_asked_for_are_all_of_them():
    assert run(recites(), tasks=3)["tasks"] == 3


def test_the_same_seed_gives_the_same_result():
    assert run(recites(), seed=1) == run(recites(), seed=1)
