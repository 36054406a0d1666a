"""A tutor's next reply: what the student has done so far fixes the right action, and what it must name.

A student solves a chain of operations in lines, rightly or not. The attempts alone say which reply is due:
`confirm` for a right attempt, `hint` after the first wrong one, `subproblem` after the second, `answer` after the third.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.core.part import knob, part
from guerdon.core.seeds import derive
from guerdon.core.task import Split, Task
from guerdon.tasks.families.chained_arithmetic import apply, chain, written
from guerdon.tasks.family import HELD_OUT, NearMiss

NAME = "tutoring"
ACTIONS = ("confirm", "hint", "subproblem", "answer")
VERBS = {"+": "add", "-": "subtract", "*": "multiply by"}
ASKS = ("Just tell me the answer!", "What is the answer?", "I give up, what is it?")
SURE = ("I am sure this is right.", "Easy!", "That must be it.")
UNSURE = ("I am not sure at all.", "Is this right?", "Hm.")
# level: operations, most attempts, whether the student says something beside the attempt
LEVELS = {
    1: (2, 2, 0),
    2: (2, 3, 0),
    3: (3, 3, 0),
    4: (3, 3, 1),
    5: (4, 3, 1),
    6: (5, 4, 1),
    7: (6, 4, 1),
    8: (7, 4, 1),
}
RULES = """You tutor a student. The problem: start with {start}, then {ops}. The student writes a line for each operation.
{talk}
Reply in one line, with one of these, as the student's attempts require:
- confirm: if the last attempt is right.
- hint: if it is wrong and the first wrong attempt. Name the first wrong line, as "line 2".
- subproblem: if it is wrong and the second wrong attempt. Ask for that line's operation, as "3*4", without its result.
- answer: if it is wrong and the third or a later wrong attempt. Give the final result and no other number.
Before that, say neither the right result of the wrong line nor the final result. Begin the line with the action and a colon.
"""
REPLY = re.compile(r"[ \t]*(confirm|hint|subproblem|answer)[ \t]*:[ \t]*(\S[^\n]*)", re.IGNORECASE)

OPERATION = re.compile(r"(?<![\d*+-])-?\d+[-+*]\d+(?![\d*+-])")


@dataclass(frozen=True)
class Reply:
    """A tutor's reply: its action, whether what it says is right for that action, whether it gives results away."""

    action: str | None
    is_sound: bool
    leaks: bool
    why: str = ""


def right_action(wrongs: int, is_right: bool) -> str:
    """The action for a student with so many wrong attempts, whose last one is right or not.

    >>> [right_action(2, True), *(right_action(count, False) for count in (1, 2, 3, 4))]
    ['confirm', 'hint', 'subproblem', 'answer', 'answer']
    """
    return "confirm" if is_right else ACTIONS[min(wrongs, 3)]


@part
class tutoring:
    """The next reply of a tutor to a student who solves a problem in lines: an action and what it names.

    The right action follows from the attempts alone: `confirm`, `hint`, `subproblem` or `answer`. A hint must name the first
    wrong line, a subproblem its operation, an answer the result; before that the results must not be said. Higher levels
    have longer problems, up to four attempts, and students who ask for the answer or are sure of a wrong one, which changes
    nothing. `read` reads a reply: its action, whether it is sound, whether it leaks.

    Args:
        level: difficulty.

    >>> import guerdon as gd
    >>> family = gd.tasks.tutoring(level=2)
    >>> problem = family.get("train", 1)
    >>> problem.answer, family.check(problem, problem.answer), family.explain(problem, "confirm: well done")
    ('subproblem: what is 3*3?', 1.0, 'confirm, where subproblem is right after 2 wrong attempts')
    """

    level: int = knob(default=1, ge=1, le=8)

    @property
    def name(self) -> str:
        return NAME

    def size(self, split: Split) -> int | None:
        return None

    def get(self, split: Split, index: int) -> Task:
        """Problem number `index`. What the student has to solve decides its split."""
        draw = random.Random(derive(NAME, self.level, split, index))
        operations, most, talks = LEVELS[self.level]
        while True:
            problem = chain(level=operations - 1).make(draw)
            if (derive(NAME, problem.prompt) % HELD_OUT == 0) == (split == "test"):
                break
        meta = state_of(problem.meta["start"], problem.meta["ops"], self._attempts(problem.meta, draw, most))
        said = [_remark(attempt == meta["right"], draw) if talks else "" for attempt in meta["attempts"]]
        prompt = RULES.format(start=meta["start"], ops=in_words(meta["ops"]), talk=_talk(meta, said))
        answer = reply_for(meta, meta["action"])
        return Task(f"{derive(prompt) % (1 << 40):010x}", prompt, answer, NAME, self.level, meta)

    def _attempts(self, problem: dict[str, Any], draw: random.Random, most: int) -> list[list[str]]:
        """What the student has done so far: the actions are due equally often, where there are attempts enough."""
        start, ops = problem["start"], problem["ops"]
        action = draw.choice([each for each in ACTIONS if each == "confirm" or ACTIONS.index(each) <= most])
        wrongs = draw.randint(0, most - 1) if action == "confirm" else ACTIONS.index(action)
        wrongs += action == "answer" and most > 3 and draw.random() < 0.5
        return [slipped(start, ops, draw) for _ in range(wrongs)] + [written(start, ops)] * (action == "confirm")

    def read(self, task: Task, completion: str) -> Reply:
        return read_reply(task.meta, completion)

    def check(self, task: Task, completion: str) -> float | None:
        reply = self.read(task, completion)
        return float(reply.action == task.meta["action"] and reply.is_sound and not reply.leaks)

    def explain(self, task: Task, completion: str) -> str:
        """Why a reply is wrong; nothing for a right one."""
        return self.read(task, completion).why

    def solution(self, task: Task) -> str:
        return task.answer

    def near_misses(self, task: Task, draw: random.Random) -> list[NearMiss]:
        """The other actions, each with what it names, and the right one with a fault."""
        meta, action = task.meta, task.meta["action"]
        texts = {f"{each} for {action}": reply_for(meta, each) for each in ACTIONS if each != action}
        if action == "hint":
            other = draw.choice([n for n in range(1, len(meta["ops"]) + 1) if n != meta["wrong_line"]])
            texts["wrong line named"] = f"hint: look at line {other} again."
        if action in ("hint", "subproblem"):
            texts["result given away"] = f"{task.answer} It is {meta['result']}."
        if action == "answer":
            texts["wrong result"] = reply_for({**meta, "result": str(int(meta["result"]) + 1)}, "answer")
        texts["two actions"] = (
            f"{task.answer}\n{reply_for(meta, draw.choice([each for each in ACTIONS if each != action]))}"
        )
        return [NearMiss(text, kind, 0) for kind, text in texts.items() if self.check(task, text) == 0.0]


def state_of(start: int, ops: Sequence[str], attempts: Sequence[Sequence[str]]) -> dict[str, Any]:
    """A student's state as JSON: what follows from the problem and the attempts, the right action among it."""
    right = written(start, ops)
    wrongs = sum(attempt != right for attempt in attempts)
    meta = {"start": start, "ops": list(ops), "right": right, "result": right[-1].split("=")[1]}
    meta |= {"attempts": [list(each) for each in attempts], "wrong_attempts": wrongs}
    meta["action"] = right_action(wrongs, attempts[-1] == right)
    if attempts[-1] == right:
        return meta
    at = next(i for i, line in enumerate(attempts[-1]) if line != right[i])
    expression, _, result = right[at].partition("=")
    return {**meta, "wrong_line": at + 1, "expression": expression, "line_result": result}


def in_words(ops: Sequence[str]) -> str:
    return ", then ".join(f"{VERBS[op[0]]} {op[1:]}" for op in ops)


def tutoring_pairs(source: Any, count: int, split: Split = "train") -> list[dict[str, str]]:
    """Rows of a right reply and one that differs in its action alone: `prompt`, `chosen`, `rejected`, `action`.

    Args:
        source: `tutoring`.
        count: number of rows.
        split: problems of training or held out.

    >>> import guerdon as gd
    >>> row = gd.tasks.tutoring_pairs(gd.tasks.tutoring(level=2), 1)[0]
    >>> row["chosen"].split(":")[0] == row["action"] != row["rejected"].split(":")[0]
    True
    """
    rows = []
    for index in range(count):
        task = source.get(split, index)
        action = task.meta["action"]
        other = random.Random(derive("pair", task.id, index)).choice([each for each in ACTIONS if each != action])
        texts = {"prompt": task.prompt, "chosen": task.answer, "rejected": reply_for(task.meta, other)}
        rows.append({**texts, "action": action})
    return rows


def slipped(start: int, ops: Sequence[str], draw: random.Random) -> list[str]:
    """The lines of a student who errs in one operation: one off, or another operation done. The end is always wrong too, for
    no operation makes two numbers one."""
    right, at = written(start, ops), draw.randrange(len(ops))
    before, _, result = right[at].partition("=")
    value = int(right[at - 1].split("=")[1]) if at else start
    other = apply(value, ("+" if ops[at][0] != "+" else "-") + ops[at][1:])
    wrong = draw.choice([int(result) + 1, int(result) - 1, other])
    wrong = int(result) + 1 if wrong == int(result) else wrong
    return [*right[:at], f"{before}={wrong}", *written(wrong, ops[at + 1 :])]


def reply_for(meta: dict[str, Any], action: str) -> str:
    """A reply with this action, with what it names where the student erred (in line 1, where no line is wrong)."""
    line, expression = meta.get("wrong_line", 1), meta.get("expression", meta["right"][0].partition("=")[0])
    said = {
        "confirm": "that is right, well done.",
        "hint": f"look at line {line} again.",
        "subproblem": f"what is {expression}?",
        "answer": f"the result is {meta['result']}.",
    }
    return f"{action}: {said[action]}"


def read_reply(meta: dict[str, Any], text: str) -> Reply:
    """A reply to a student: one line, an action and what it says."""
    match = REPLY.fullmatch(text.strip())
    if match is None:
        return Reply(None, False, leaks=False, why=f"no line that begins with {', '.join(ACTIONS)} and a colon")
    action, said = match[1].lower(), match[2]
    if action != meta["action"]:
        why = f"{action}, where {meta['action']} is right after {meta['wrong_attempts']} wrong attempts"
        return Reply(action, is_sound=True, leaks=gives_away(meta, action, said), why=why)
    fault = ""
    if action == "hint" and re.findall(r"\bline (\d+)", said, re.IGNORECASE) != [str(meta["wrong_line"])]:
        fault = f"the first wrong line is line {meta['wrong_line']}"
    elif action == "subproblem" and OPERATION.findall(squeezed(said)) != [meta["expression"]]:
        fault = f"it does not ask for {meta['expression']} alone"
    elif action == "answer" and numbers_in(said) != [meta["result"]]:
        fault = f"the result is {meta['result']}, and nothing else may be named"
    leaks = gives_away(meta, action, said)
    return Reply(action, not fault, leaks, fault or ("it gives a result away" if leaks else ""))


def gives_away(meta: dict[str, Any], action: str, said: str) -> bool:
    """Whether a reply says a result the student has yet to find: the final one, or that of the wrong line."""
    if meta["action"] == "confirm" or (action == "answer" and meta["action"] == "answer"):
        return False
    rest = re.sub(r"\bline \d+", ";", said, flags=re.IGNORECASE)
    rest = OPERATION.sub(";", squeezed(rest))
    return bool({meta["result"], meta["line_result"]} & set(numbers_in(rest)))


def numbers_in(text: str) -> list[str]:
    return re.findall(r"(?<![\d.])-?\d+(?:\.\d+)?", text)


def squeezed(text: str) -> str:
    """A text without the spaces around signs, and with one sign for "times"."""
    return re.sub(r" *([-+*]) *(?=\d)", r"\1", re.sub(r"(?<=\d) *[x×] *(?=\d)", "*", text))


def _remark(is_right: bool, draw: random.Random) -> str:
    """What a student may say beside an attempt: being sure or not says nothing of the attempt."""
    return draw.choice(draw.choice((SURE, UNSURE) if is_right else (SURE, UNSURE, ASKS)))


def written_attempt(attempt: Sequence[str], number: int, remark: str = "") -> str:
    """An attempt as the tutor sees it."""
    lines = [f"line {n}: {line}" for n, line in enumerate(attempt, 1)]
    return "\n".join([f"Student, attempt {number}: {remark}".rstrip(), *lines])


def _talk(meta: dict[str, Any], said: Sequence[str]) -> str:
    """The attempts so far, with the tutor's replies between them."""
    lines: list[str] = []
    for number, (attempt, remark) in enumerate(zip(meta["attempts"], said, strict=True), start=1):
        if number > 1:
            lines.append(f"Tutor: {('Look again.', 'Try a part of it.', 'Once more.')[min(number - 2, 2)]}")
        lines.append(written_attempt(attempt, number, remark))
    return "\n".join(lines)
