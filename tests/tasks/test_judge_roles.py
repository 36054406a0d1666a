"""Critics, reasons, rubrics and rewrites: truth worked out by hand, conversations on every family, and roles as tasks."""

from __future__ import annotations

import random

import pytest
from scheduling import little_and_much, mostly_slow

from guerdon.core.errors import UserError
from guerdon.core.task import Task
from guerdon.tasks import load
from guerdon.tasks.judging import judge_roles as closer
from guerdon.tasks.judging.problem_rewrites import is_rewrite, rewritten
from guerdon.tasks.judging.rubric_criteria import criteria_for, holds, varied
from guerdon.tasks.role_tasks import in_role
from guerdon.tasks.task_loading import family_names

pytestmark = pytest.mark.sampled(8, "name")
NAMES = family_names()
LEVELS = range(1, 9)
CHAIN = load("chain:2")
TASK = Task("hand", "chain 7 +5 *3 -4", "32", "chain", 2, {"start": 7, "ops": ["+5", "*3", "-4"]})
GOLD = "7+5=12\n12*3=36\n36-4=32\n= 32"
SLIP = "7+5=12\n12*3=35\n35-4=31\n= 31"


def posed(name: str, prompt: str):
    family = load(name)
    problem = family.read_problem(prompt)
    return family, Task(prompt, prompt, problem.answer, family.name, family.level, problem.meta)


# --- truth by hand ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("solution", "line", "reason"),
    [
        (GOLD, None, "all lines follow\n= yes"),
        (SLIP, 2, "line 2: 12*3=36, not 35\n= no"),
        ("7+5=12\n12+3=15\n= 15", 2, "line 2: 12*3=36, not 12+3=15\n= no"),  # nothing alike
        ("7+5=12\n12*3=36\n36-4=32\n= 42", 4, "line 4: = 32, not 42\n= no"),
        ("7+5=12\n12*3=36\n36-4=32", 4, "line 4: no answer\n= no"),
        ("7+5=12\n12*3=36\n36-4=32\n32+1=33\n= 33", 4, "line 4: = 32, not 32+1=33\n= no"),  # one too many
        ("= 31", 1, "line 1: = 32, not 31\n= no"),
    ],
)
def test_the_wrong_line_and_the_reason(solution, line, reason):
    assert closer.wrong_line(CHAIN, TASK, solution) == line
    assert closer.criticised(CHAIN, TASK, solution).endswith(f"\n= {line or 'none'}")
    assert closer.reasoned(CHAIN, TASK, solution) == reason
    assert closer.given_reason(reason) == (line, reason.rpartition(" ")[2])


def test_a_critique_goes_through_the_lines():
    assert closer.criticised(CHAIN, TASK, SLIP) == "7+5=12 +\n12*3=36 -\n= 2"


def test_reasons_in_other_families():
    family, task = posed("countdown:3", "countdown 6 7 5 make 6")
    assert closer.reasoned(family, task, "= 6+5-7") == "line 1: 6 7 5 make 4, not 6\n= no"
    assert closer.reasoned(family, task, "= 6+5") == "line 1: 6 5 make 11, not 6 7 5 make 6\n= no"
    family, task = posed("strings:2", "strings aeac: rev, dbl a")
    assert closer.reasoned(family, task, "rev: caae\n= caae") == "line 1: rev: caea, not caae\n= no"
    family, task = posed("bases:4", "bases 3020 from 5 to 8")
    assert closer.reasoned(family, task, "3*125=375\n2*5=11\n= 5") == "line 2: does not follow\n= no"


@pytest.mark.parametrize(
    ("criterion", "gold", "slip", "cut"),
    [
        ("every step follows", True, False, True),
        ("the answer is right", True, False, False),
        ("ends on an answer", True, True, False),
        ("says no line twice", True, True, False),
        ("the answer is even", True, False, False),
        ("the answer has 2 digits", True, True, False),
        ("the answer has 1 digit", False, False, False),
        ("has at most 3 steps", True, True, True),
        ("has at most 2 steps", False, False, True),
    ],
)
def test_criteria(criterion, gold, slip, cut):
    family, task = posed("equation:1", "equation x+4=19")
    assert holds(CHAIN, TASK, GOLD, criterion) is gold and holds(CHAIN, TASK, SLIP, criterion) is slip
    assert holds(family, task, "x=15\nx=15", criterion) is cut  # an equation may be said again, and there is no answer


def test_a_rubric_by_hand():
    criteria = ["the answer is even", "every step follows"]
    view = "rubric\nchain 7 +5 *3 -4\n7+5=12\n12*3=35\n35-4=31\n= 31\n? the answer is even\n? every step follows"
    assert closer.rubric_view(TASK.prompt, SLIP, criteria) == view and closer.criteria_in(view) == criteria
    reply = "7+5=12 +\n12*3=36 -\nthe answer is even: no\nevery step follows: no\n= 0"
    assert closer.answered(CHAIN, TASK, SLIP, criteria) == reply
    assert closer.answered(CHAIN, TASK, GOLD, criteria[:1]) == "the answer is even: yes\n= 1"  # nothing to go through


@pytest.mark.parametrize(
    ("reply", "answers"),
    [
        ("one: yes\ntwo: no\n= 1", [True, False]),
        ("7+5=12 +\none: no\ntwo: no\n= 0", [False, False]),
        ("one: yes\ntwo: no\n= 2", None),  # miscounted
        ("two: no\none: yes\n= 1", None),  # not in turn
        ("one: yes\n= 1", None),
        ("one: yes\ntwo: maybe\n= 1", None),
        ("one: yes\ntwo: no", None),
        ("= 1", None),
        ("", None),
    ],
)
def test_what_was_said_of_a_rubric(reply, answers):
    assert closer.rubric_answers(reply, ["one", "two"]) == answers


@pytest.mark.parametrize(
    ("reply", "line"),
    [("+\n= 3", 3), ("= none", "none"), ("= 0", None), ("= 03", None), ("= x", None), ("3", None), ("= ²", None)],
)
def test_what_a_critic_named(reply, line):
    assert closer.named_line(reply) == line


@pytest.mark.parametrize(
    "reply", ["= no", "= yes", "line 2: so\n= yes", "all lines follow\n= no", "line x: so\n= no", ""]
)
def test_what_is_no_reason(reply):
    assert closer.given_reason(reply) is None


@pytest.mark.parametrize(
    ("level", "text", "verdict"),
    [
        (2, "chain 7 +5 *3 -4", False),  # the same
        (2, "chain 5 +7 *3 -4", True),  # what is added first may change places
        (2, "chain 7 +5 *3 -9", True),  # a number changed
        (2, "chain 7 +6 *3 -9", True),  # two
        (2, "chain 8 +6 *3 -9", False),  # three
        (2, "chain 7 +5 *3", False),  # of another level
        (1, "chain 7 +5 *3", True),
        (2, "chain 7 +5 *9 -4", False),  # no chain that is set
        (2, "", False),
    ],
)
def test_what_is_a_rewrite(level, text, verdict):
    assert is_rewrite(CHAIN, TASK, level, text) is verdict


# --- on every family ----------------------------------------------------------------------------------------------


@pytest.mark.sampled(1, "name")
@pytest.mark.parametrize("name", mostly_slow(NAMES, "countdown", "chain", "grid"))
@little_and_much("problems", 3, 20)
def test_rewrites_of_every_family(name, problems):
    """Of the level asked for, close at its own level, and of a training problem never one that is held out."""
    for level in LEVELS:
        family = load(name, level=level)
        for index in range(problems):
            for split in ("train", "test"):
                task = family.get(split, index)
                for other in {max(1, level - 1), level, min(8, level + 1)}:
                    there = load(name, level=other)
                    problem = there.read_problem(rewritten(family, task, other, random.Random(index)))
                    assert problem is not None and not (split == "train" and there.holds_out(problem))
                    assert other != level or is_rewrite(family, task, level, problem.prompt)


def wrong_replies(role: str, task: Task) -> list[str]:
    if role == "critique":
        return [f"= {word}" for word in ("none", *range(1, 40)) if word != closer.named_line(task.answer)]
    if role == "reasons":
        words = ["all lines follow\n= yes", *(f"line {n}: so\n= no" for n in range(1, 40))]
        return [word for word in words if closer.given_reason(word) != closer.given_reason(task.answer)]
    if role == "rubric":
        count = int(task.answer.rpartition(" ")[2])
        return [f"= {count}", task.answer.rpartition("\n")[0], f"{task.answer.rpartition(chr(10))[0]}\n= {count + 1}"]
    return [f"= {task.meta['problem']}", f"{task.answer} 1", task.prompt, f"= x{task.answer}"]


@pytest.mark.sampled(3, "name")
@pytest.mark.parametrize("role", ("critique", "reasons", "rubric", "rewrite"))
@pytest.mark.parametrize("name", mostly_slow(NAMES, "countdown", "chain", "trace", "lists"))
@little_and_much("problems", 2, 10)
def test_the_true_reply_is_right_and_others_are_not(name, role, problems):
    for level in LEVELS:
        source = load(f"{role}/{name}:{level}")
        assert type(source) is in_role and (source.name, source.level) == (f"{role}/{name}", level)
        for index in range(problems):
            task = source.get("test", index)
            assert task == source.get("test", index) and task.level == level and task.prompt.startswith(role)
            assert source.check(task, task.answer) == 1.0
            for reply in ("", " ", "= ", "= ?", "= yes no", "nonsense", "²", *wrong_replies(role, task)):
                assert source.check(task, reply) == 0.0, (task.prompt, reply)


@pytest.mark.sampled(3, "name")
@pytest.mark.parametrize("name", NAMES)
def test_rubrics_ask_what_is_sometimes_so(name):
    """Every criterion holds of some attempts and not of others, and two to four of them are asked."""
    said: dict[str, set[bool]] = {}
    for index in range(200):
        family = load(name, level=index % 8 + 1)
        task, draw = family.get("train", index), random.Random(index)
        tried = varied(closer.attempt(family, task, draw), draw)
        criteria = criteria_for(task, tried, draw)
        assert 2 <= len(criteria) <= 4 and len(set(criteria)) == len(criteria)
        for criterion in criteria:
            said.setdefault("".join(c for c in criterion if not c.isdigit()).rstrip("s"), set()).add(
                holds(family, task, tried, criterion)
            )
    assert {word for word, seen in said.items() if len(seen) < 2} == set(), said


def test_settings_that_are_refused():
    with pytest.raises(UserError):
        in_role("critic", CHAIN)
    with pytest.raises(UserError):
        in_role("critique", load("parity"))
    with pytest.raises(UserError, match="critique"):
        load("critic/chain:2")
