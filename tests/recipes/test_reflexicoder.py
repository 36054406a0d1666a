"""ReflexiCoder: what a chain of programs is worth by hand, what becomes of programs along it, and that the recipe runs."""

from __future__ import annotations

import doctest
import math
import random
import re
from pathlib import Path

import pytest
from small import small_lm

import guerdon as gd
from guerdon.recipes.code.reflexicoder import (
    cycle_gate,
    efficiency,
    gains,
    quality,
    reflection_moves,
    self_corrected,
)
from guerdon.tasks.code.failing_calls import first_failure
from guerdon.tasks.field.reflections import debug, fix, read_debugged, read_reflections, write_reflections


class Judged:
    """Programs that say themselves how many of four tests they pass: `def 3`."""

    def passed(self, task, program):
        count = int(program.split()[1])
        return [n < count for n in range(4)]


PROBLEM = gd.Task("1", "write f", "def 4")


def worth(*programs, **knobs):
    reply = write_reflections(programs, ["it is wrong"] * (len(programs) - 1))
    return self_corrected(Judged(), **knobs)(reply, PROBLEM)


# --- the formulas, on the numbers of the released code ------------------------------------------------------------


def test_gains_are_squashed_and_standing_still_costs_unless_there_is_nothing_to_gain():
    m = gains([0.0, 1.0, 1.0, 0.0, 0.0], scale=0.1, kept=0.05, stuck=1.0)
    assert m == pytest.approx([math.tanh(10), 0.05, -math.tanh(10), -1.0])


def test_later_gains_weigh_more():
    early, late = quality([0, 1, 1], [1.0, 0.0], 0.5, 0.2), quality([0, 0, 1], [0.0, 1.0], 0.5, 0.2)
    first = 1 / (1 + math.exp(0.2))  # of two weights, exp(0.2) and exp(0.4)
    assert early == pytest.approx(1 + 0.5 * first) and late == pytest.approx(1 + 0.5 * (1 - first))


def test_efficiency_is_the_score_a_reflection_and_the_gain_a_further_one():
    assert efficiency([1, 1]) == 1.0  # 1/1 + 0/1
    assert efficiency([0, 1, 1]) == pytest.approx(1.5, abs=1e-5)  # 1/2 + 1/1
    assert efficiency([0, 0, 1, 1]) == pytest.approx(1 / 3 + 1 / 2, abs=1e-5)
    assert efficiency([1, 0, 0]) == pytest.approx(-1.0, abs=1e-5)  # 0/2 - 1/1


def test_the_gate_is_open_for_five_reflections_and_falls_from_the_sixth():
    assert [cycle_gate(n) for n in range(6)] == [0, 1, 1, 1, 1, 1]
    assert cycle_gate(6) == pytest.approx(math.exp(-0.15) / 1.9 * 1.1)  # sin(3 pi / 2) = -1
    assert cycle_gate(8) == pytest.approx(math.exp(-0.25) / 3.5 * 0.9)  # sin(5 pi / 2) = 1


# --- a reply ------------------------------------------------------------------------------------------------------


def test_a_program_that_is_right_and_stands():
    score = worth("def 4")
    assert score.parts == pytest.approx({"form": 1.0, "quality": 1.025, "efficiency": 1.0})
    assert score.value == pytest.approx(1 + 0.5 * 1.025 + 1)


def test_a_program_that_is_corrected_once_is_paid_more_as_published():
    """One reflection, of scores 0 and 1: quality 1 + 0.5 * tanh(10), efficiency 1 / 1 + 1 / 1."""
    score = worth("def 0", "def 4")
    assert score.parts == pytest.approx({"form": 1.0, "quality": 1.5, "efficiency": 2.0}, abs=1e-5)
    assert score.value == pytest.approx(3.75, abs=1e-5) and score.why == "0 -> 1"
    assert score.value > worth("def 4").value > worth("def 4", "def 0").value


def test_ok_is_no_further_reflection_where_there_is_one():
    """What the released parser counts: the reflections between answers, of which its form has one at least."""
    first = 1 / (1 + math.exp(0.2))  # of two weights, exp(0.2) and exp(0.4)
    late = 1 + 0.5 * (-first + (1 - first) * math.tanh(10))
    assert worth("def 0", "def 0", "def 4").value == pytest.approx(1 + 0.5 * late + (1 / 2 + 1 / 1), abs=1e-5)
    assert worth("def 4", "def 0").value == pytest.approx(1 + 0.5 * -0.5 - 1.0, abs=1e-5)
    assert worth("def 4", "def 4").value == pytest.approx(worth("def 4").value)  # one look, nothing found, said or not
    five, six = worth(*["def 0"] * 5, "def 4").parts, worth(*["def 0"] * 6, "def 4").parts
    assert five["efficiency"] == pytest.approx(1 / 5 + 1 / 4, abs=1e-5)  # the gate is open for five
    assert six["efficiency"] == pytest.approx(cycle_gate(6) * (1 / 6 + 1 / 5), abs=1e-5)


def test_a_wrong_program_that_stands_costs():
    assert worth("def 0").parts == pytest.approx({"form": 1.0, "quality": -0.5, "efficiency": 0.0})


def test_tests_that_are_passed_count_only_with_partial():
    assert worth("def 2").parts["quality"] == pytest.approx(-0.5)
    assert worth("def 2", partial=True).parts["quality"] == pytest.approx(0.5 - 0.5)
    assert worth("def 2", "def 3", partial=True).parts["efficiency"] == pytest.approx(0.75 / 1 + 0.25, abs=1e-5)


def test_weights_are_of_form_quality_and_efficiency():
    assert worth("def 4", weights=(0.0, 0.0, 3.0)).value == pytest.approx(3.0)


@pytest.mark.parametrize("reply", ["", "ok", "def 4", "def 4\n? it is wrong\nok", "no\nok", "def 4\n?\ndef 4\nok"])
def test_a_reply_that_does_not_keep_the_form_is_worth_nothing(reply):
    assert self_corrected(Judged())(reply, PROBLEM).value == 0.0


def test_a_reply_is_read_as_it_was_written():
    said = ["line 2 is wrong", "line 1 is wrong"]
    read = read_reflections(write_reflections(["def a", "def b", "def c"], said))
    assert (list(read.programs), list(read.said), read.stands) == (["def a", "def b", "def c"], said, True)
    cut = read_reflections("def a\n? line 2 is wrong\ndef f(x):\n ret")
    assert cut.final == "def f(x):\n ret" and not cut.is_whole


# --- the exam and the recipe --------------------------------------------------------------------------------------


def test_moves_along_reflections_are_counted():
    """Of four problems the first is right at once, the second is mended, the third broken, the fourth stays wrong."""
    source = gd.tasks.load("reflecting:functions:2")
    source.source.checker = "plain"
    tasks = [source.get("test", n) for n in range(4)]
    wrong = "def f(*a):\n return 'no'"

    def say(view, past, seed):
        n = [task.prompt for task in tasks].index(view)
        right = tasks[n].answer
        programs = [[right], [wrong, right], [right, wrong], [wrong, wrong]][n]
        return write_reflections(programs, ["line 1 is wrong"] * (len(programs) - 1))

    exam = gd.Exam(source, [gd.exams.accuracy(), reflection_moves(source)], sampling=gd.Sampling(max_tokens=600))
    numbers = gd.evaluate(gd.models.scripted(say), exam=exam, tasks=4, tries=1)
    assert numbers["pass@1"] == 0.5 and numbers["first"] == 0.5 and numbers["kept_form"] == 1.0
    assert numbers["mended"] == numbers["broken"] == 0.25 and numbers["reflections"] == 0.75


@pytest.mark.sampled(1, "pay")
@pytest.mark.parametrize("pay", ["all", "final"])
def test_it_runs(pay, tmp_path):
    sizes = {"prompts": 2, "tries": 2, "steps": 2, "max_tokens": 8}
    options = gd.Options(eval_tasks=1, eval_tries=1)
    model, task = small_lm(tmp_path / "model", max_positions=1024), gd.tasks.load("functions:2", checker="plain")
    run = gd.train("reflexicoder", task=task, model=model, out=tmp_path / "run", options=options, pay=pay, **sizes)
    assert run.complete and {"pass@1", "first"} <= set(run.evaluations[-1])


def test_planted_errors_are_explained_and_put_right():
    """What is learned from: on many problems the last program is right, those before it are wrong, and the form is kept."""
    source = gd.tasks.load("functions:3-5", checker="plain")
    asked = gd.tasks.reflecting(source)
    counts = []
    for n in range(60):
        problem = asked.get("train", n)
        read = read_reflections(asked.solution(problem))
        rights = [asked.check(problem, program) for program in read.programs]
        assert read.is_whole and rights == [0.0] * len(read.said) + [1.0]
        counts.append(len(read.said))
    assert 0.3 < sum(count > 0 for count in counts) / 60 < 0.7 and set(counts) == {0, 1, 2}


@pytest.mark.slow
def test_wrong_programs_are_shown_with_a_call_that_they_fail():
    source = gd.tasks.load("functions:4", checker="plain")
    for n in range(60):
        problem, draw = source.get("train", n), random.Random(n)
        for write in (debug, fix):
            ((view, reply),) = write(source, problem, draw)
            said, program = read_debugged(reply)
            assert bool(said) == (write is debug) and source.check(problem, program) == 1.0
            shown = view.removeprefix(f"{write.__name__}\n{problem.prompt}\n")
            wrong, _, failure = shown.rpartition("\n")
            assert source.check(problem, wrong) == 0.0 and first_failure(source, problem, wrong) == failure


def test_what_the_page_shows_is_what_comes_of_it():
    page = (Path(__file__).parents[2] / "docs" / "field_tasks.md").read_text()
    section = page.partition("## Programs that are put right\n")[2].partition("\n## ")[0]
    said = "\n".join(re.findall(r"```python\n(.*?)```", section, re.DOTALL))
    test = doctest.DocTestParser().get_doctest(said, {"gd": gd}, "field_tasks.md", None, 0)
    result = doctest.DocTestRunner().run(test)
    assert result.failed == 0 and result.attempted == 3
