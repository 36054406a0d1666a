"""Exams whose problems a seed draws: as many of each kind, none twice, and kinds that weigh the same."""

import math

import pytest

import guerdon as gd
from guerdon.core.part import part, state
from guerdon.core.statistics import Z95, even_mean
from guerdon.exams.drawing import draw_problems, form_of
from guerdon.exams.tries import with_interval
from guerdon.training.record import LAST, LATE, START, Options


def test_kinds_come_as_often_and_no_problem_comes_twice():
    source = gd.tasks.load("countdown:3-5")
    drawn = draw_problems(source, 300, seed=7)
    assert [sum(task.level == level for task in drawn) for level in (3, 4, 5)] == [100, 100, 100]
    assert len({(task.kind, form_of(source.of(task), task)) for task in drawn}) == 300
    assert all(source.of(task).holds_out(gd.tasks.Problem(task.prompt, task.answer, task.meta)) for task in drawn)


@pytest.mark.slow
def test_a_small_kind_gives_all_that_it_has_whatever_the_seed():
    source = gd.tasks.load("countdown:1")
    every = {form_of(source, source.get("test", i)) for i in range(5_000)}
    for seed in (0, 1):
        drawn = draw_problems(source, 2000, seed)
        assert {form_of(source, task) for task in drawn} == every and len(drawn) == len(every)


def test_seeds_draw_other_problems_and_a_shorter_exam_is_the_beginning_of_a_longer_one():
    source = gd.tasks.load("countdown:6")
    one, again, other = (draw_problems(source, 50, seed) for seed in (1, 1, 2))
    assert one == again != other
    assert draw_problems(source, 20, 1) == one[:20]


def test_a_finite_source_is_drawn_from_without_repeats(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(f'{{"prompt": "{n}+1=", "answer": "{n + 1}"}}\n' for n in range(100)))
    source = gd.tasks.rows(str(file), held_out=0.5)
    assert len({task.prompt for task in draw_problems(source, 20, 3)}) == 20
    assert len(draw_problems(source, 80, 3)) == 50


def test_kinds_weigh_the_same_by_hand():
    by_kind = {"a": [1.0, 1.0, 1.0, 0.0], "b": [0.0, 1.0]}
    mean, error = even_mean(by_kind)
    assert mean == (0.75 + 0.5) / 2
    assert error == pytest.approx(math.sqrt(0.25 / 4 + 0.5 / 2) / 2)
    even = with_interval("x", by_kind, evenly=True)
    assert even == {"x": mean, "x_low": pytest.approx(mean - Z95 * error), "x_high": 1.0}
    assert with_interval("x", by_kind)["x"] == pytest.approx(4 / 6)


@pytest.mark.slow
def test_an_exam_that_is_drawn_weighs_levels_alike():
    result = gd.evaluate("tabular", task="parity:1", tasks=8, tries=1)
    assert "point" not in result
    how = {"sampling": gd.Sampling(max_tokens=24), "tries": 1}
    from guerdon.training.evaluate import examined

    exam = gd.Exam(gd.tasks.load("countdown:1-2"))
    drawn = examined(
        {"policy": gd.models.load("sprig-1.1")}, [exam], gd.envs.single_turn(), 0, tasks=160, drawn=5, **how
    )
    assert drawn["pass@1"] == pytest.approx(sum(drawn["kinds"].values()) / 2)
    assert drawn["tasks"] == 68 + 80
    assert drawn["length_low"] < drawn["length"] < drawn["length_high"]


def test_points_of_a_run_at_which_an_exam_is_due():
    options = Options(eval_every=0.25, eval_late=0.9, eval_tasks=48, eval_whole=200)
    due = [
        options.evaluation_at(1, before, share)
        for before, share in ((0, 0.2), (0.2, 0.3), (0.3, 0.7), (0.7, 0.8), (0.8, 0.95), (0.95, 1.0))
    ]
    assert due == ["", "0.25", "0.5", "0.75", LATE, LAST]
    assert [options.tasks_at(point) for point in (START, "0.25", LATE, LAST)] == [200, 48, 200, 200]
    assert Options(eval_every=2).evaluation_at(4, 0.1, 0.2) == "step 4"
    assert Options().evaluation_at(4, 0.1, 0.2) == "" and Options().evaluation_at(10, 0.9, 1.0) == LAST


@part
class counted:
    """So many problems; how often one was asked for."""

    has: int = 200
    drawn: int = state(default=0)

    def size(self, split):
        return None

    def get(self, split, index):
        self.drawn += 1
        return gd.Task(str(index % self.has), "x")


def test_a_kind_that_has_many_is_drawn_once():
    many, few = counted(), counted(21)
    assert len(draw_problems(many, 20, 0)) == 20 and many.drawn < 40
    assert len(draw_problems(few, 30, 0)) == 21 and few.drawn == 1 + 2 * 8 * 30, (
        "its kind, by chance, from the first on"
    )
