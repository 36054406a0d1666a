"""Roles besides solving: their truth worked out by hand, their conversations on every family, and roles as tasks."""

from __future__ import annotations

import random

import pytest
from scheduling import little_and_much

from guerdon.core.errors import UserError
from guerdon.core.task import Task
from guerdon.tasks import load
from guerdon.tasks import roles as parts
from guerdon.tasks.role_tasks import ROLES, in_role
from guerdon.tasks.task_loading import family_names

pytestmark = pytest.mark.sampled(16, "name")
NAMES = family_names()
LEVELS = range(1, 9)
CHECKED = (
    "verify",
    "score",
    "prefer",
    "revise",
    "propose",
)  # on every family; tools are for those with one call a step
WITH_TOOLS = ("chain",)  # families whose every step is one call
CHAIN = load("chain:2")
TASK = Task("hand", "chain 7 +5 *3 -4", "32", "chain", 2, {"start": 7, "ops": ["+5", "*3", "-4"]})
GOLD = "7+5=12\n12*3=36\n36-4=32\n= 32"
FIRST = "7+5=13\n13*3=39\n39-4=35\n= 35"  # wrong from the first step
SECOND = "7+5=12\n12*3=35\n35-4=31\n= 31"
THIRD = "7+5=12\n12*3=36\n36-4=33\n= 33"
ANSWER = "7+5=12\n12*3=36\n36-4=32\n= 42"  # only the answer is wrong
SHORT = "7+5=12\n12*3=36\n= 36"  # stops early
LONG = "7+5=12\n12*3=36\n36-4=32\n32+0=32\n= 32"  # a step too many
BARE = "= 32"


# --- truth by hand ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("solution", "marks", "grade"),
    [
        (GOLD, "++++", 5),
        (BARE, "+", 5),
        (FIRST, "-", 1),
        (SECOND, "+-", 2),
        (THIRD, "++-", 3),
        (SHORT, "++-", 3),
        (ANSWER, "+++-", 4),
        (LONG, "+++-", 4),
        ("7+5=12\n12*3=36\n36-4=32", "+++-", 4),  # says no answer
        ("7+5=12\n\n  12*3=36 \n36-4=32\n= 32\n", "++++", 5),  # blanks do not count
        ("= 31", "-", 1),
        ("", "-", 1),
        ("nonsense", "-", 1),
    ],
)
def test_marks_verdicts_and_grades(solution, marks, grade):
    assert parts.marks(CHAIN, TASK, solution) == marks
    seen = parts.checked(CHAIN, TASK, solution)
    assert "".join(line[-1] for line in seen.split("\n") if line[-1] in "+-") == marks
    assert parts.verdict(CHAIN, TASK, solution) == f"{seen}\n= {'yes' if grade == 5 else 'no'}"
    assert parts.grade(CHAIN, TASK, solution) == grade
    assert parts.graded(CHAIN, TASK, solution) == f"{seen}\n= {grade}"


def test_a_judge_goes_through_the_lines():
    assert parts.checked(CHAIN, TASK, GOLD) == "7+5=12 +\n12*3=36 +\n36-4=32 +\n= 32 +"
    assert parts.checked(CHAIN, TASK, SECOND) == "7+5=12 +\n12*3=36 -"
    assert parts.checked(CHAIN, TASK, ANSWER).endswith("36-4=32 +\n= 32 -")
    assert parts.checked(CHAIN, TASK, SHORT).endswith("12*3=36 +\n36-4=32\n= 32 -")  # the rest is worked out
    assert parts.checked(CHAIN, TASK, "7+5=12") == "7+5=12 +\n? -"  # no answer at all


@pytest.mark.parametrize(
    ("first", "second", "reply"),
    [
        (GOLD, SECOND, "a"),
        (SECOND, GOLD, "b"),
        (SECOND, THIRD, "b"),
        (ANSWER, FIRST, "a"),
        (ANSWER, BARE, "b"),  # right, however short, before wrong, however long
        (SHORT, THIRD, "a"),  # as good as each other: the first
    ],
)
def test_the_better_of_two(first, second, reply):
    written = parts.preferred(CHAIN, TASK, first, second)
    assert written.startswith(parts.checked(CHAIN, TASK, first)) and written.endswith(f"\n= {reply}")


@pytest.mark.parametrize(
    ("reply", "word"),
    [
        ("+-\n= no", "no"),
        ("= yes", "yes"),
        ("= no\n= yes", "yes"),  # the last line counts
        ("  = yes  \n", "yes"),
        ("= yes\nor so", None),
        ("= maybe", None),
        ("= Yes", None),
        ("=yes", None),
        ("yes", None),
        ("= ", None),
        ("= yes no", None),
        ("", None),
    ],
)
def test_what_a_judge_said(reply, word):
    assert parts.said(reply, ("yes", "no")) == word


@pytest.mark.parametrize(
    ("reply", "call", "result"),
    [
        ("call 12*7", (12, "*", 7), "84"),
        ("call -3+5", (-3, "+", 5), "2"),
        (" call 1-2\n", (1, "-", 2), "-1"),
        ("call -4*3", (-4, "*", 3), "-12"),
        ("call 0-0", (0, "-", 0), "0"),
    ],
)
def test_tool_calls(reply, call, result):
    assert parts.tool_call(reply) == call
    assert parts.tool_result(call) == result


NO_CALLS = "call|call |call 12|12*7|Call 12*7|call 12*-7|call --5+3|call -+3|call +3|call 1+2+3|call 1/2|call 1 + 2"


@pytest.mark.parametrize(
    "reply", ["", *NO_CALLS.split("|"), "call 1+2\ncall 3+4", "call ٣+٤", "call ²+1", "call 9" + "9" * 5000]
)
def test_what_is_no_tool_call(reply):
    assert parts.tool_call(reply) is None


def test_views():
    assert parts.verify_view("p", "s") == "verify\np\ns" and parts.score_view("p", "s") == "score\np\ns"
    assert parts.revise_view("p", "s") == "revise\np\ns" and parts.tool_view("p") == "tool\np"
    assert parts.prefer_view("p", "one", "two") == "prefer\np\na\none\nb\ntwo"
    assert parts.propose_view("chain", 3) == "propose chain 3"


# --- conversations ------------------------------------------------------------------------------------------------


def test_conversations_by_hand():
    draw = random.Random(0)
    assert parts.solve(CHAIN, TASK, draw) == [("chain 7 +5 *3 -4", GOLD)]
    assert parts.propose(CHAIN, TASK, draw) == [("propose chain 2", "7+5=12\n12*3=36\n36-4=32\n= chain 7 +5 *3 -4")]
    assert parts.tool(CHAIN, TASK, draw) == [
        ("tool\nchain 7 +5 *3 -4", "call 7+5"),
        ("12", "call 12*3"),
        ("36", "call 36-4"),
        ("32", "= 32"),
    ]


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", NAMES)
@little_and_much("problems", 2, 10)
def test_every_role_on_every_family(name, role, problems):
    for level in LEVELS:
        family = load(name, level=level)
        for index in range(problems):
            task = family.get("train", index)
            turns = ROLES[role].talk(family, task, random.Random(index))
            assert turns == ROLES[role].talk(family, task, random.Random(index))
            assert all(shown and reply for shown, reply in turns)
            if role in ("solve", "revise"):
                assert family.check(task, turns[-1][1]) == 1.0
            if role == "tool" and name in WITH_TOOLS:
                assert len(turns) == len(family.steps(task)) + 1 and family.check(task, turns[-1][1]) == 1.0
                assert all(parts.tool_call(call) for _, call in turns[:-1])


# --- roles as tasks -----------------------------------------------------------------------------------------------


def wrong_replies(source: in_role, task: Task) -> list[str]:
    """Replies a role could give that are not right: every other word, the solution that was to be revised, no problem."""
    if words := ROLES[source.role].words:
        truth = parts.said(task.answer, words)
        return [f"+\n= {word}" for word in words if word != truth]
    if source.role == "revise":
        return [task.prompt.removeprefix(f"revise\n{task.meta['problem']}\n")]
    problem = parts.proposal(task.answer)
    assert problem is not None
    return [f"{task.answer} 1", task.prompt, problem, f"= {problem.rpartition(' ')[0]}", f"= x{problem}"]


@pytest.mark.sampled(6, "name")
@pytest.mark.parametrize("role", CHECKED)
@pytest.mark.parametrize("name", NAMES)
@little_and_much("problems", 2, 10)
def test_the_true_reply_is_right_and_others_are_not(name, role, problems):
    for level in LEVELS:
        source = load(f"{role}/{name}:{level}")
        assert isinstance(source, in_role) and (source.name, source.level) == (f"{role}/{name}", level)
        for index in range(problems):
            task = source.get("test", index)
            assert task == source.get("test", index) and task.level == level and task.prompt.startswith(role)
            assert source.check(task, task.answer) == 1.0
            for reply in ("", " ", "= ", "= ?", "= yes no", "nonsense", "²", *wrong_replies(source, task)):
                assert source.check(task, reply) == 0.0, (task.prompt, reply)


@pytest.mark.parametrize("level", LEVELS)
def test_a_tool_user_opens_with_a_call(level):
    source = load(f"tool/chain:{level}")
    for index in range(20):
        task = source.get("train", index)
        assert task.prompt == f"tool\n{task.meta['problem']}" and source.check(task, task.answer) == 1.0
        assert source.check(task, f"= {task.meta['truth']}") == source.check(task, "call me") == 0.0


@pytest.mark.sampled(6, "name")
@pytest.mark.parametrize("name", NAMES)
@little_and_much("problems", 6, 40)
def test_a_proposal_may_be_any_problem_of_the_level(name, problems):
    for level in LEVELS:
        source = load(f"propose/{name}:{level}")
        task, family = source.get("train", 0), load(name, level=level)
        assert task.prompt == f"propose {name} {level}"
        for index in range(problems):
            assert source.check(task, f"= {family.get('test', index).prompt}\n") == 1.0


@pytest.mark.parametrize("name", NAMES)
@little_and_much("problems", 20, 50)
@pytest.mark.slow
def test_judges_face_right_and_wrong_alike(name, problems):
    right: dict[str, list[bool]] = {"verify": [], "score": [], "prefer": []}
    for role, best in (("verify", "= yes"), ("score", "= 5"), ("prefer", "= a")):
        for level in LEVELS:
            source = load(f"{role}/{name}:{level}")
            right[role] += [source.get("train", index).answer.endswith(best) for index in range(problems)]
    shares = {role: sum(answers) / len(answers) for role, answers in right.items()}
    assert all(0.4 < share < 0.6 for share in shares.values()), shares


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", NAMES)
@little_and_much("problems", 4, 20)
@pytest.mark.slow
def test_train_and_test_never_meet(name, role, problems):
    for level in LEVELS:
        source = load(f"{role}/{name}:{level}")
        seen = [{source.get(split, i).meta["problem"] for i in range(problems)} for split in ("train", "test")]
        assert not seen[0] & seen[1]


def test_settings_that_are_refused():
    with pytest.raises(UserError):
        in_role("referee", CHAIN)
    with pytest.raises(UserError):
        in_role("verify", load("parity"))
