"""LeDex: wrong programs shown again, what explanations and programs are worth by hand, rounds of debugging; that it runs."""

from __future__ import annotations

import random
from statistics import fmean

import pytest
import torch
from scheduling import mostly_slow
from small import small_lm

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.core.task import Ask, Sampling
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.exams.exam import Exam
from guerdon.exams.rates import accuracy
from guerdon.recipes.code.ledex.parts import (
    KNOWN,
    by_spans,
    contrast,
    debug_rounds,
    explanation,
    own_failures,
    refinement,
    right_by_round,
)
from guerdon.rewards.stage.step_labels import line_ends
from guerdon.rewards.text.overlap import code_bleu
from guerdon.tasks import debugged, load
from guerdon.tasks.code.failing_calls import first_failure

FUNCTIONS = load("functions:2", checker="plain")
SOURCE = debugged(FUNCTIONS)


ROW = {"text": "Double x.", "code": "def f(x): return 2 * x", "test_list": ["assert f(2) == 4", "assert f(3) == 6"]}


def test_rows_with_tests_are_debugged_without_known_errors():
    rows = gd.tasks.rows([ROW, {**ROW, "text": "Twice x."}], "text", "code", solution_in="code", check_by="python")
    source, task = debugged(rows), rows.get("train", 0)
    assert first_failure(rows, task, "def f(x): return 4") == "assert f(3) == 6 fails"
    assert first_failure(rows, task, ROW["code"]) == ""
    ask = own_failures(source)._planted(ExamplePlay())
    assert ask.shown.splitlines()[1:] == [task.prompt, "pass", "assert f(2) == 4 fails"] and KNOWN not in ask.note
    right, half = (refinement(source)(program, task) for program in (ROW["code"], "def f(x): return 4"))
    assert right.value == 5.0 and half.parts["tests"] == 0.5  # 5 (1 + 1) - 5


def miss_of(task):
    return FUNCTIONS.near_misses(task, random.Random(0))[0]


def player(say):
    model = gd.models.scripted(say)
    model.start(0, {})
    return Player({"policy": model}, {"policy": "policy"}, single_turn(), Sampling(max_tokens=600), 0, 1)


def told(*replies, known=""):
    """A batch of tries at one ask with these replies, and its `play`."""
    left = list(replies)
    play = player(lambda view, past, seed: left.pop(0))
    return pack(play([Ask(FUNCTIONS.get("train", 0), len(replies), note={KNOWN: known} if known else {})])), play


def by_prompt(answer):
    """A script that is shown training problems of the family, and says what `answer(task, number)` gives."""
    known = {task.prompt: (task, n) for n, task in enumerate(FUNCTIONS.get("train", n) for n in range(40))}
    return lambda view, past, seed: answer(*known[view])


# --- wrong programs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("explain", [True, False])
def test_programs_that_fail_are_shown_again_with_a_call_that_they_fail(explain):
    play = player(by_prompt(lambda task, n: FUNCTIONS.solution(task) if n % 2 else miss_of(task).text))
    first, second = own_failures(SOURCE, tries=3, explain=explain).draw(2, play)
    task = FUNCTIONS.get("train", 0)
    program = miss_of(task).text
    lines = first.shown.split("\n")
    assert first.task == task and second.task == FUNCTIONS.get("train", 2) and first.n == 3
    assert lines[0] == ("debug" if explain else "fix")
    assert first.shown.split("\n", 1)[1] == f"{task.prompt}\n{program}\n{first_failure(FUNCTIONS, task, program)}"
    assert play.metrics["failures/share"] == 0.5 and play.metrics["failures/planted"] == 0


def test_planted_errors_with_their_true_explanation_make_up_the_number():
    play = player(by_prompt(lambda task, n: FUNCTIONS.solution(task)))
    curriculum = own_failures(SOURCE)
    (ask,) = curriculum.draw(1, play)
    assert curriculum.drawn == 3 * 2 + 1, "three times two problems were tried, and one more has a planted error"
    misses = [miss for seed in range(20) for miss in FUNCTIONS.near_misses(ask.task, random.Random(seed))]
    assert any(f"\n{miss.text}\n" in ask.shown and miss.says == ask.note[KNOWN] for miss in misses)
    assert play.metrics["failures/planted"] == 1


def test_the_failing_call_says_what_it_gives_and_should():
    task = FUNCTIONS.get("train", 0)
    arguments, wanted = task.meta["tests"][0]
    assert (
        first_failure(FUNCTIONS, task, "def f(*a):\n return 'no'")
        == f"f({repr(arguments)[1:-1]}) gives 'no', not {wanted!r}"
    )
    assert first_failure(FUNCTIONS, task, "def f(*a):\n return 1 // 0").endswith(f" ends in an error, not {wanted!r}")
    assert first_failure(FUNCTIONS, task, FUNCTIONS.solution(task)) == ""


# --- rewards ------------------------------------------------------------------------------------------------------


def test_a_program_is_worth_its_tests_and_its_likeness_to_the_nearest_right_one():
    task = FUNCTIONS.get("train", 0)
    wrong = miss_of(task).text
    near = max(code_bleu(wrong, right) for right in FUNCTIONS.solutions(task))
    passed = fmean(FUNCTIONS.passed(task, wrong))
    assert 0 < near < 1 and passed < 1
    score = refinement(SOURCE)(f"? line 1 is wrong\n{wrong}", task)
    assert score.value == pytest.approx(5 * near + 5 * passed - 5)
    assert all(refinement(SOURCE)(right, task).value == pytest.approx(5.0) for right in FUNCTIONS.solutions(task))
    assert refinement(SOURCE)("", task).value == -5.0


def test_an_explanation_is_held_against_those_of_both_kinds():
    assert contrast("a b", ["a b"], ["c d"]) == 5.0
    assert contrast("c d", ["a b"], ["c d"]) == -5.0
    assert contrast("a c", ["a b"], ["c d", "x y"]) == pytest.approx(5 * (0.5 - 0.25))
    assert contrast("a b", [], ["c d"]) is None and contrast("a b", ["a b"], []) is None


def test_explanations_of_a_group_by_hand():
    right, wrong = FUNCTIONS.solution(FUNCTIONS.get("train", 0)), "def f(*a):\n return 'no'"
    batch, play = told(f"? a b\n{right}", f"? a c\n{right}", f"? c d\n{wrong}", f"? x y\n{wrong}")
    batch = explanation()(gd.rewards.verified(SOURCE)(batch, play), play)
    first, second, third, fourth = batch["explanation"].tolist()
    assert first == pytest.approx(5 * (0.5 - 0.0)), "like the other right one by a, like neither wrong one"
    assert second == pytest.approx(5 * (0.5 - 0.25)) and third == pytest.approx(5 * (0.25 - 0.0))
    assert fourth == pytest.approx(0.0)


def test_a_group_without_both_kinds_says_nothing_unless_the_error_was_planted():
    wrong = "def f(*a):\n return 'no'"
    for known, expected in (("", [True, True]), ("a b", [False, False])):
        batch, play = told(f"? a b\n{wrong}", f"? c d\n{wrong}", known=known)
        batch = explanation()(gd.rewards.verified(SOURCE)(batch, play), play)
        assert batch["explanation"].isnan().tolist() == expected
    assert batch["explanation"].tolist() == pytest.approx([5.0, -0.0]), "the true explanation, and one like neither"


def test_each_span_has_its_own_advantage():
    batch, play = told("? ab\ncd", "cd\nef")
    batch = line_ends()(batch, play).with_cols(
        {
            "explanation_advantage": Column.full("track", torch.tensor([1.0, 2.0])),
            "refinement_advantage": Column.full("track", torch.tensor([-1.0, -2.0])),
        }
    )
    # "? ab" and its line break are five bytes; a reply without an explanation is a program from its first
    assert by_spans()(batch, play)["advantage"].tolist() == [1.0] * 5 + [-1.0] * 2 + [-2.0] * 5


# --- the exam -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rounds", "after"), [(2, [0.0, 0.5, 1.0]), (1, [0.0, 0.5]), (0, [0.0])])
def test_a_program_is_debugged_until_it_is_right_or_rounds_are_over(rounds, after):
    """Every first program is wrong; one that is shown with `no` is corrected at once by every second problem, else later."""
    known = {task.prompt: (task, n) for n, task in enumerate(FUNCTIONS.get("test", n) for n in range(4))}

    def say(view, past, seed):
        task, n = next(each for prompt, each in known.items() if prompt in view)
        if not view.startswith("debug"):
            return "def f(*a):\n return 'no'"
        later = "return 'no'" in view and n % 2
        return "? it is wrong\n" + ("def f(*a):\n return 'again'" if later else FUNCTIONS.solution(task))

    seats = {"draft": "policy", "policy": "policy"}
    metrics, env = [accuracy(), right_by_round(rounds)], debug_rounds(SOURCE, rounds)
    exam = Exam(FUNCTIONS, metrics, env, seats, Sampling(max_tokens=400))
    numbers = gd.evaluate(gd.models.scripted(say), exam=exam, tasks=4, tries=1)
    assert [numbers[f"right_after_{n}"] for n in range(rounds + 1)] == after
    assert numbers["pass@1"] == after[-1]


# --- the recipe ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("knobs", mostly_slow([{}, {"explain": False, "reinforce": 0.0}, {"split": False}], {}))
def test_it_runs(knobs, tmp_path):
    model = small_lm(tmp_path / "model", max_positions=1024)
    sizes = {"prompts": 2, "tries": 2, "steps": 2, "max_tokens": 8}
    options = gd.Options(eval_tasks=1, eval_tries=1)
    run = gd.train("ledex", task=FUNCTIONS, model=model, out=tmp_path / "run", options=options, **sizes, **knobs)
    assert run.complete and "right_after_2" in run.evaluations[-1]
