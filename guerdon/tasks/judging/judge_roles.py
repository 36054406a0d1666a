"""Roles that say more than a verdict: name the wrong step, give a reason, answer a rubric, rewrite a problem.

As in `tasks/roles.py` each has its question, its exact truth and how to read a reply. What they say about an attempt is a
function of the problem and the attempt, so that it can be written about any attempt.
Leaves out the choice of attempts: `tasks/role_tasks.py` takes planted errors, a model's own are up to the caller.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from guerdon.core.task import Task
from guerdon.tasks.family import ANSWER, Family, read_solution
from guerdon.tasks.judging.problem_rewrites import rewritten
from guerdon.tasks.judging.right_lines import made, right_line
from guerdon.tasks.judging.rubric_criteria import ABOUT_RIGHTNESS, criteria_for, holds, varied
from guerdon.tasks.roles import Turns, attempt, checked, marks

NONE = "none"  # a critic's word for an attempt without a wrong line
FOLLOWS = "all lines follow"
REASON = re.compile(r"line ([0-9]{1,3})\b.*")
QUESTION = "? "  # opens a criterion in a rubric


# --- questions ----------------------------------------------------------------------------------------------------


def critique_view(prompt: str, solution: str) -> str:
    return f"critique\n{prompt}\n{solution}"


def reasons_view(prompt: str, solution: str) -> str:
    return f"reasons\n{prompt}\n{solution}"


def rubric_view(prompt: str, solution: str, criteria: Sequence[str]) -> str:
    return "\n".join(["rubric", prompt, solution, *(QUESTION + criterion for criterion in criteria)])


def rewrite_view(prompt: str, level: int) -> str:
    return f"rewrite {level}\n{prompt}"


# --- truth --------------------------------------------------------------------------------------------------------


def wrong_line(family: Family, task: Task, solution: str) -> int | None:
    """The number of the first wrong line, counted from 1, the answer's being the last; None when all is right."""
    seen = marks(family, task, solution)
    return len(seen) if seen.endswith("-") else None


def criticised(family: Family, task: Task, solution: str) -> str:
    """An attempt gone through, then the number of its first wrong line, or `none`."""
    return f"{checked(family, task, solution)}\n{ANSWER}{wrong_line(family, task, solution) or NONE}"


def reasoned(family: Family, task: Task, solution: str) -> str:
    """`line 3: 7*8=56, not 54` and no, or `all lines follow` and yes: the reason alone, without the lines before it."""
    at = wrong_line(family, task, solution)
    if at is None:
        return f"{FOLLOWS}\n{ANSWER}yes"
    steps, answer = read_solution(solution)
    if at > len(steps):
        reason = _answer_reason(family, task, answer)
    else:
        line, right = steps[at - 1], right_line(family, task, steps[: at - 1], steps[at - 1])
        reason = "does not follow" if right == line else f"{right}, not {_difference(right, line)}"
    return f"line {at}: {reason}\n{ANSWER}no"


def _answer_reason(family: Family, task: Task, answer: str | None) -> str:
    if answer is None:
        return "no answer"
    if family.name == "countdown":
        wanted = task.prompt.removeprefix("countdown ")
        return f"{made(task, answer)}, not {_difference(made(task, answer), wanted)}"
    return f"{ANSWER}{task.answer}, not {answer}"


def _difference(right: str, wrong: str) -> str:
    """What is wrong in a line beside the right one: what comes after the last sign up to which they are alike."""
    heads = [match.end() for match in re.finditer("=|: |make ", wrong) if right.startswith(wrong[: match.end()])]
    return wrong[heads[-1] :] if heads and wrong[heads[-1] :] else wrong


def answered(family: Family, task: Task, solution: str, criteria: Sequence[str]) -> str:
    """A line for each criterion and how many hold, after going through the attempt where one asks whether it is right."""
    verdicts = [holds(family, task, solution, criterion) for criterion in criteria]
    work = [checked(family, task, solution)] if set(criteria) & ABOUT_RIGHTNESS else []
    lines = [f"{c}: {'yes' if verdict else 'no'}" for c, verdict in zip(criteria, verdicts, strict=True)]
    return "\n".join([*work, *lines, f"{ANSWER}{sum(verdicts)}"])


# --- reading replies ----------------------------------------------------------------------------------------------


def named_line(reply: str) -> int | str | None:
    """The line a critic names, `none` where it finds none wrong; None when it says neither."""
    _, word = read_solution(reply)
    if word == NONE:
        return NONE
    return int(word) if word is not None and re.fullmatch("[1-9][0-9]{0,2}", word) else None


def given_reason(reply: str) -> tuple[int | None, str] | None:
    """The line that a reason is about (None: all lines follow) and the verdict; None unless the two agree."""
    lines, verdict = read_solution(reply)
    if verdict == "yes" and lines[-1:] == [FOLLOWS]:
        return None, verdict
    match = REASON.fullmatch(lines[-1]) if verdict == "no" and lines else None
    return None if match is None else (int(match[1]), "no")


def criteria_in(view: str) -> list[str]:
    """The criteria of a rubric, which are the last lines of its question."""
    lines = view.split("\n")
    first = next(i for i in range(len(lines), 0, -1) if not lines[i - 1].startswith(QUESTION))
    return [line.removeprefix(QUESTION) for line in lines[first:]]


def rubric_answers(reply: str, criteria: Sequence[str]) -> list[bool] | None:
    """What is said of each criterion; None unless each has its line in turn and the last line is how many hold."""
    lines, total = read_solution(reply)
    said = [line.rpartition(": ") for line in lines[-len(criteria) :]]
    if [criterion for criterion, _, _ in said] != list(criteria) or {word for *_, word in said} - {"yes", "no"}:
        return None
    verdicts = [word == "yes" for *_, word in said]
    return verdicts if total == str(sum(verdicts)) else None


# --- conversations ------------------------------------------------------------------------------------------------


def critique_of(family: Family, task: Task, solution: str, draw: random.Random) -> Turns:
    return [(critique_view(task.prompt, solution), criticised(family, task, solution))]


def reasons_of(family: Family, task: Task, solution: str, draw: random.Random) -> Turns:
    return [(reasons_view(task.prompt, solution), reasoned(family, task, solution))]


def rubric_of(family: Family, task: Task, solution: str, draw: random.Random) -> Turns:
    criteria = criteria_for(task, solution, draw)
    return [(rubric_view(task.prompt, solution, criteria), answered(family, task, solution, criteria))]


def critique(family: Family, task: Task, draw: random.Random) -> Turns:
    return critique_of(family, task, attempt(family, task, draw), draw)


def reasons(family: Family, task: Task, draw: random.Random) -> Turns:
    return reasons_of(family, task, attempt(family, task, draw), draw)


def rubric(family: Family, task: Task, draw: random.Random) -> Turns:
    return rubric_of(family, task, varied(attempt(family, task, draw), draw), draw)


def rewrite(family: Family, task: Task, draw: random.Random) -> Turns:
    """At its own level twice as often as at a level above or below."""
    levels = [family.level, family.level, *(n for n in (family.level - 1, family.level + 1) if 1 <= n <= 8)]
    level = draw.choice(levels)
    return [(rewrite_view(task.prompt, level), ANSWER + rewritten(family, task, level, draw))]
