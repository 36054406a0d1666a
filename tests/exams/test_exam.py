"""Exams of a recipe: several, with an environment, seats, sampling and prompts that training has not; never paid for."""

from __future__ import annotations

from typing import Any

import pytest
from refusals import refusal

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.core.recipe import Claim
from guerdon.credit.group_relative import centre
from guerdon.curricula.plain import uniform
from guerdon.envs.simple import single_turn
from guerdon.exams.best_of_n import best_of
from guerdon.exams.rates import accuracy, answer_length, majority_vote
from guerdon.exams.rewards_given import seat_exams
from guerdon.exams.scorers import first_error, pair_accuracy
from guerdon.losses.policy import clipped
from guerdon.models.frozen_copy import snapshot
from guerdon.models.tables import tabular
from guerdon.prove.records import curve_of, numbers_of, score_of, value_of
from guerdon.rewards.stage.score_stages import verified
from guerdon.tasks.families.tiny import parity
from guerdon.training.build import RunRequest, build

OPTIONS = gd.Options(eval_tasks=6, eval_tries=2)


@gd.part
class seen:
    """What the tries of an exam were shown and how they were sampled, as numbers."""

    def __call__(self, sitting: gd.Sitting) -> dict[str, Any]:
        segments = [s for e in sitting.batch.episodes for s in e.segments]
        return {
            "hinted": sum("hint" in s.view for s in segments) / len(segments),
            "temperature": max(s.sampling.temperature for s in segments),
            "turns": len(segments) / len(sitting.batch.episodes),
            "asked": len(sitting.batch.episodes),
        }


@gd.part
class hinted(uniform):
    """Training's prompts have a hint."""

    def draw(self, n, play):
        return [ask.but(prompt=f"hint {ask.task.answer} {ask.shown}") for ask in super().draw(n, play)]


@gd.part
class twice:
    """The role answers two times, the second counts."""

    roles = ("policy",)

    async def play(self, ask, seats):
        await seats["policy"].act(ask.shown)
        await seats["policy"].act("again")
        return seats.episode()


def recipe(**fields):
    task = parity()
    learn = gd.Learn("policy", clipped())
    fields = {"exams": [gd.Exam(task)], "prompts": 2, "steps": 2, "sampling": gd.Sampling(temperature=0.7), **fields}
    stages = [verified(task), centre("correct"), learn]
    return gd.Recipe({"policy": tabular("01", length=1)}, hinted(task, tries=4), twice(), stages, **fields)


def test_training_has_an_environment_sampling_and_prompt_that_the_exam_has_not(tmp_path):
    exams = [
        gd.Exam(parity(), [accuracy(), seen()], env=single_turn(), sampling=gd.Sampling(temperature=0.0)),
        gd.Exam(parity(), [seen(), answer_length()], name="like_training", tasks=3, tries=5),
    ]
    run = gd.train(recipe(exams=exams), out=tmp_path / "run", options=OPTIONS)
    for found in run.evaluations:
        assert (found["hinted"], found["temperature"], found["turns"], found["asked"]) == (0.0, 0.0, 1.0, 12)
        assert found["pass@1"] == found["pass@2"]  # greedy
        mine = {name: found[f"like_training/{name}"] for name in ("hinted", "temperature", "turns", "asked", "length")}
        assert mine == {"hinted": 0.0, "temperature": 0.7, "turns": 2.0, "asked": 15, "length": 2.0}
        assert (found["like_training/tries"], found["tries"]) == (5, 2)
    trained = [s for step in (0, 1) for e in run.batch(step).episodes for s in e.segments]
    assert {s.sampling.temperature for s in trained} == {0.7} and len(trained) == 2 * 2 * 2 * 4
    assert all("hint" in s.view for s in trained if s.view != "again")


def test_exams_change_no_weight_and_cost_nothing(tmp_path):
    many = [gd.Exam(parity(), name=f"e{i}", tasks=20 * i, tries=3) for i in (1, 2)]
    runs = [
        gd.train(recipe(exams=exams, ahead=ahead), out=tmp_path / f"{ahead}{len(exams)}", options=OPTIONS)
        for ahead in (False, True)
        for exams in ([], many)
    ]
    for none, some in (runs[:2], runs[2:]):
        assert none.weights == some.weights and not none.evaluations and len(some.evaluations) == 2
        assert {k: v for k, v in none.spent.items() if k != "seconds"} == {
            k: v for k, v in some.spent.items() if k != "seconds"
        }


def test_no_tasks_is_no_exam(tmp_path):
    run = gd.train(recipe(exams=[gd.Exam(parity(), tasks=4)]), out=tmp_path / "run", options=gd.Options(eval_tasks=0))
    assert run.evaluations == []


def test_a_function_is_a_metric_and_two_may_not_say_the_same(tmp_path):
    def episodes(sitting):
        return {"episodes": len(sitting.batch.episodes)}

    table = tabular("01", length=1)
    found = gd.evaluate(table, exam=gd.Exam(parity(), [episodes], tries=3), tasks=5)
    assert found == {"task": "parity", "tries": 3, "episodes": 15}
    with refusal(UserError):
        gd.evaluate(table, exam=gd.Exam(parity(), [episodes, episodes]), tasks=5)
    with refusal(UserError):
        gd.evaluate(table)


def test_best_of_is_a_use_of_an_exam():
    table = tabular("01", length=1)
    right = gd.reward(lambda answer, completion: float(answer == completion), isolate=False)
    whole = gd.best_of(table, right, task="parity", n=4, tasks=8, seed=3)
    exam = gd.Exam(parity(), [accuracy(), best_of(right)])
    assert whole == gd.evaluate(table, exam=exam, tasks=8, tries=4, seed=3)
    plain = gd.evaluate(table, task="parity", tasks=8, tries=4, seed=3)
    assert {k: v for k, v in plain.items() if k != "length"}.items() <= whole.items()  # the very same tries
    assert whole["best_of@2"] == pytest.approx(whole["pass@2"]) and whole["best_of@4"] == whole["pass@4"]


def test_a_study_remembers_an_exam_by_its_metrics_and_models(tmp_path):
    played = []

    def counted(sitting):
        played.append(1)
        return {"count": len(played)}

    def body(run, seed):
        table = tabular("01", length=1)
        table.start(seed, {})
        exam = gd.Exam(parity(), [counted], seats={"policy": "other"})
        once, again = (run.eval(table, exam, models={"other": table}, tasks=2) for _ in range(2))
        assert once == again and once["count"] == 1
        return {
            "named": run.eval(table, gd.Exam(parity(), name="x"), tasks=2),
            "plain": run.eval(table, parity(), tasks=2),
        }

    found = gd.train(gd.Study(body), out=tmp_path / "study")
    assert found.complete and len(played) == 1


# --- what is refused before a run ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exams", "words"),
    [
        ([gd.Exam(parity()), gd.Exam(parity())], "two exams are called ''"),
        ([gd.Exam(parity(), role="judge")], "role of the exam without a seat 'judge'"),
        ([gd.Exam(parity(), seats={"policy": "rm"}, name="x")], "model in seat 'policy' of exam 'x' 'rm'"),
        (
            [gd.Exam(parity(), [pair_accuracy("policy")])],
            "pair_accuracy of the exam cannot be measured: unknown column",
        ),
        ([gd.Exam(parity(), [first_error("rm")])], "unknown column 'rm.after'"),
        ([parity()], "exams are a list of Exam"),
    ],
)
def test_an_exam_that_cannot_be_sat_is_refused(exams, words):
    with pytest.raises(UserError, match=words):
        recipe(exams=exams).check()


@gd.part
class deals:
    """Two deals without a right answer."""

    def exam_asks(self, tasks, tries, play):
        return [gd.Ask(gd.Task(str(i), f"deal {i}"), tries) for i in range(min(tasks, 2))]


def test_what_an_exam_is_made_of():
    with refusal(UserError):
        gd.Exam("parity")
    with refusal(UserError):
        gd.Exam(parity(), name="a/b")
    with refusal(UserError):
        recipe(exams=[gd.Exam(deals())]).check()
    with refusal(UserError):
        recipe(exams=[gd.Exam(deals(), [accuracy()])]).check()


# --- claims --------------------------------------------------------------------------------------------------------


def test_any_number_of_any_exam_is_a_claims_metric(tmp_path):
    exams = [gd.Exam(parity()), gd.Exam(parity(), [majority_vote()], name="vote", tries=3)]
    run = gd.train(recipe(exams=exams), out=tmp_path / "run", options=OPTIONS)
    record = {"points": [{"spent": spent, "result": result} for spent, result in run.curve]}
    curve = curve_of(record, Claim("votes", metric="mean vote/majority@3"))
    assert [point["value"] for point in curve] == [e["vote/majority@3"] for e in run.evaluations]
    with refusal(UserError, "4", "3"):
        score_of(record, Claim("votes", metric="vote/majority@4"))
    with refusal(UserError, "1"):
        value_of(run.evaluations[0], "zzz", ())


def test_numbers_of_an_evaluation_by_name():
    result = {
        "task": "x",
        "pass@1": 0.5,
        "kinds": {"a:1": 1.0, "a:2": 0.0},
        "easy/pass@1": 1,
        "easy/kinds": {"a:2": 0.25},
    }
    assert numbers_of(result) == {
        "pass@1": 0.5, "kinds/a:1": 1.0, "kinds/a:2": 0.0, "easy/pass@1": 1.0, "easy/kinds/a:2": 0.25
    }  # fmt: skip
    assert value_of(result, "kinds/a:1", ()) == 1.0
    assert value_of(result, "pass@1", (2,)) == 0.0 and value_of(result, "easy/pass@1", (2,)) == 0.25
    with refusal(UserError, "1"):
        value_of(result, "easy/length", (2,))


# --- games ---------------------------------------------------------------------------------------------------------


@gd.part
class higher:
    """Both say a digit; the higher one wins, equal ones are a draw."""

    roles = ("white", "black")

    async def play(self, ask, seats):
        white, black = [int((await seats[role].act(f"{role} {ask.shown}")).text) for role in self.roles]
        seats.reward(white=float((white > black) - (white < black)), black=float((black > white) - (black < white)))
        return seats.episode()


@gd.part
class says(tabular):
    """Always the same digit."""

    digit: str = "0"

    def act(self, requests):
        return [self.teacher_force(r.view, self.digit) for r in requests]


@pytest.mark.parametrize(
    ("mine", "theirs", "rates"), [("1", "0", (1, 0, 0)), ("0", "0", (0, 1, 0)), ("0", "1", (0, 0, 1))]
)
def test_a_game_is_examined_from_every_seat(mine, theirs, rates):
    mine, theirs = (says("01", length=1, digit=digit) for digit in (mine, theirs))
    exams = seat_exams("foe", deals(), higher(), tries=3)
    assert [(e.name, e.role, e.seats) for e in exams] == [
        ("foe@white", "white", {"white": "policy", "black": "foe"}),
        ("foe@black", "black", {"white": "foe", "black": "policy"}),
    ]
    found = gd.evaluate(mine, exam=exams, models={"foe": theirs})
    for seat in ("white", "black"):
        assert tuple(found[f"foe@{seat}/{name}_rate"] for name in ("win", "draw", "loss")) == rates
        assert found[f"foe@{seat}/games"] == 6 and found[f"foe@{seat}/return"] == rates[0] - rates[2]
        assert found[f"foe@{seat}/task"] == "deals"


def test_a_recipe_of_a_single_role_may_be_examined_by_a_game(tmp_path):
    """Trained to answer, examined against the model it began as."""
    made = recipe()
    models = {**made.models, "start": snapshot("policy")}
    made = made.but(models=models, exams=[gd.Exam(parity()), *seat_exams("start", deals(), higher())])
    made.check()
    run = gd.train(made, out=tmp_path / "run", options=OPTIONS)
    found = run.evaluations[0]
    assert found["start@white/win_rate"] == pytest.approx(found["start@black/loss_rate"])  # the same games
    assert "pass@1" in found


# --- recipes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sft", "dpo", "kto"])
def test_who_learns_from_recitals_is_examined_on_its_own_answers(name):
    made = build(RunRequest(name, "countdown:2", "sprig")).recipe
    assert isinstance(made.exams[0].env, single_turn) and type(made.env) is not single_turn


def test_an_exam_is_part_of_the_hash_and_its_knobs_are_set_by_name():
    made = build(RunRequest("reward_model", "chain", "sprig", settings={"exam.tasks": "5"}, text=True)).recipe
    assert made.exams[0].tasks == 5
    other = build(RunRequest("reward_model", "chain", "sprig", settings={"exam_tasks": "5"}, text=True)).recipe
    assert other.hash == made.hash != build(RunRequest("reward_model", "chain", "sprig")).recipe.hash


def test_a_problem_is_made_once_however_often_the_exam_is_sat(tmp_path):
    made = []

    @gd.part
    class counted(parity):
        def get(self, split, index):
            made.extend([index] if split == "test" else [])
            return super().get(split, index)

    exam = gd.Exam(counted(), tasks=5)
    first = exam.asks(5, 2, None)
    assert exam.asks(3, 1, None) == [ask.but(n=1) for ask in first[:3]]
    assert made == [0, 1, 2, 3, 4]
    exam.source = parity()
    assert [ask.task for ask in exam.asks(2, 1, None)] == [parity().get("test", i) for i in range(2)]


def test_an_exam_goes_without_truth_where_no_metric_asks_what_is_right():
    size = gd.reward(lambda completion: float(len(completion)), isolate=False)
    judged = [gd.exams.answer_length(), gd.exams.mean_reward(size)]
    exams = [gd.Exam(gd.tasks.load("chain:1"), metrics) for metrics in ([], judged, [*judged, gd.exams.accuracy()])]
    assert [exam.goes_without_truth for exam in exams] == [False, True, False]
