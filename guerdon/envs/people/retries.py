"""Attempt, feedback, another attempt: the answer is checked, and its author is shown what is wrong with it.

`gd.search.revise` shows a model its own answer again without feedback, a given number of times: a search method without a
checker. Here the truth speaks between attempts and ends them: an environment to be trained and examined
in. Leaves out: how sources check (`tasks`), unit tests as feedback (give a function).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from guerdon.core.batch import Batch
from guerdon.core.episode import End, Episode
from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.core.play import Play, Seats, seats_alone
from guerdon.core.task import Ask, Conversation, Split, Task
from guerdon.core.wordings import by_model
from guerdon.envs.world_turns import PlayedOut
from guerdon.tasks.family import ANSWER, Family, read_solution
from guerdon.tasks.role_wordings import ROLE_WORDINGS
from guerdon.tasks.roles import said
from guerdon.tasks.stepwise import by_steps, has_steps
from guerdon.tasks.task_loading import load

Feedback = str | Callable[[Task, str], str]

FORM = "revise\n{prompt}\n{answer}"  # as sprig learned it
IN_WORDS = (  # for models that do not know sprig's roles
    "{prompt}\n\nHere is an earlier answer to this:\n{answer}\n\nIt was checked: {feedback}\n\nAnswer again, in the form that"
    " is asked for above."
)
FIELDS = {"question": "prompt", "answer": "answer", "feedback": "feedback"}
VERIFY = ROLE_WORDINGS["verify"]
UNREADABLE = "unreadable"  # of a critic's verdicts, in `info`


class OverSource(PlayedOut):
    """Base of sources that ask another's problems, played in their own way: `source`, or its name."""

    source: Any

    @property
    def inner(self) -> Any:
        """The source whose problems these are."""
        return load(self.source) if isinstance(self.source, str) else self.source

    @property
    def level(self) -> int:
        return int(getattr(self.inner, "level", 1))

    def size(self, split: Split) -> int | None:
        size: int | None = self.inner.size(split)
        return size

    def get(self, split: Split, index: int) -> Task:
        task: Task = self.inner.get(split, index)
        return task

    def gold(self, task: Task) -> str:
        """A right answer: a worked solution, of families that have one."""
        return by_steps(self.inner).solution(task) if has_steps(self.inner) else task.answer

    def is_right(self, task: Task, answer: str) -> bool:
        verdict = self.inner.check(task, answer)
        if verdict is None:
            raise UserError(f"{self.inner.name} cannot check an answer by itself: choose a task with answers")
        return bool(verdict >= 1.0)


@part
class with_feedback(OverSource):
    """Attempts with feedback: the role answers, and a wrong answer comes back with a word on what is wrong, `most` attempts
    in all. The goal is that the last is right; `info` has `first_right`, the number of that attempt, 0 for none, and
    `attempts`.

    `feedback` is "verdict", which says no more than that it is wrong; "line", the first line that does not follow, marked
    as judges mark it (`16*5=81 -`), of families with a step checker; a function of the task and the answer that returns
    what to say (the first failing unit test); or the name of another seat, a critic, which is shown problem and answer as
    `verify` tasks show them. What a critic says is the feedback, `= yes` ends the attempts, and its goal is the share of
    its verdicts that were true.

    `template` is what comes back, with `{prompt}`, `{answer}` and `{feedback}` where these stand. Without one it is the
    form of revisions that sprig knows, with the feedback below it unless it is "verdict", for being asked again says that.
    Other models are asked in plain language, and so is a critic (`ask`), whose verdict is then read from prose: those that
    cannot be read do not count in its goal, and `info` has their number, `unreadable`.
    `memory=False` shows every attempt the template alone: each is a track of its own, as sprig was taught; with memory they
    are one conversation. `source` is a task source, or the name of one.

    Args:
        source: where problems come from.
        feedback: "verdict", "line", a function of task and answer, or a critic.
        most: number of attempts.
        template: prompt of a further attempt.
        memory: the role sees its earlier attempts.
        role: the role that answers.
        ask: how a critic is shown an answer, with the places {question} and {answer}.

    >>> import guerdon as gd
    >>> source = gd.envs.with_feedback("chain:1", "line", most=2)
    >>> source.told(source.get("train", 0), "4*4=16\\n16*5=81\\n= 81")
    '16*5=81 -'
    """

    source: Any
    feedback: Any = "verdict"
    most: int = knob(default=3, ge=1)
    template: str = by_model("", IN_WORDS, role="revise", places=FIELDS)
    memory: bool = True
    role: str = "policy"
    ask: str = VERIFY.knob()

    def __post_init__(self) -> None:
        if not callable(self.feedback) and not isinstance(self.feedback, str):
            raise UserError(
                f"feedback is a word or a function of task and answer, not {self.feedback!r}: feedback='line'"
            )
        if self.feedback == "line":
            by_steps(self.inner)  # which refuses what has none

    @property
    def name(self) -> str:
        return f"with_feedback/{self.inner.name}"

    @property
    def home(self) -> with_feedback:
        return self

    @property
    def critic(self) -> str:
        """The seat that gives the feedback, if one does."""
        return self.feedback if isinstance(self.feedback, str) and self.feedback not in ("verdict", "line") else ""

    @property
    def roles(self) -> tuple[str, ...]:
        return (self.role, self.critic) if self.critic else (self.role,)

    def told(self, task: Task, answer: str) -> str:
        """What is said to an answer that is wrong."""
        if callable(self.feedback):
            return str(self.feedback(task, answer))
        return first_wrong_line(by_steps(self.inner), task, answer) if self.feedback == "line" else "wrong"

    @seats_alone
    async def play(self, ask: Ask, seats: Seats) -> Episode:
        view, rights, verdicts, cut = ask.shown, list[bool](), list[str | None](), ""
        while True:
            segment = await seats[self.role].act(view, fresh=not self.memory)
            rights.append(self.is_right(ask.task, segment.text))
            if self.critic:
                reply = await seats[self.critic].act(self._asked(ask.task, segment.text), fresh=True)
                verdicts.append(self._heard(reply.text))
            if (verdicts[-1] == "yes" if self.critic else rights[-1]) or len(rights) == self.most:
                break
            if segment.end is End.CUT and self.memory:
                cut = "tokens"
                break
            view = self.again(ask, segment.text, reply.text if self.critic else None)
            room = seats[self.role].room(seats.last(self.role) if self.memory else None, view)
            if room is not None and room < 1:
                cut = "context"
                seats.cut(**{self.role: view})
                break
        return seats.episode(**self._outcome(rights, verdicts), **({"cut": cut} if cut else {}))

    async def demonstrate(self, ask: Ask, seats: Seats) -> Episode:
        """The right answer at once, and a critic who says so."""
        answer = self.gold(ask.task)
        seats[self.role].teacher_force(ask.shown, answer)
        if self.critic:
            told = f"{ANSWER}yes" if VERIFY.is_sprigs(self.ask) else VERIFY.reply("yes")
            seats[self.critic].teacher_force(self._asked(ask.task, answer), told)
        return seats.episode(**self._outcome([self.is_right(ask.task, answer)], ["yes"]))

    def _asked(self, task: Task, answer: str) -> str:
        """What a critic is shown."""
        return self.ask.format(question=task.prompt, answer=answer)

    def _heard(self, reply: str) -> str | None:
        """A critic's verdict."""
        verdict = said(reply, ("yes", "no")) if VERIFY.is_sprigs(self.ask) else VERIFY.read(reply)
        return None if verdict is None else str(verdict)

    def again(self, ask: Ask, answer: str, feedback: str | None = None) -> Any:
        """What is shown after a wrong answer; without a critic's `feedback`, with the source's own."""
        feedback = self.told(ask.task, answer) if feedback is None else feedback
        template = self.template or (FORM if self.feedback == "verdict" else FORM + "\n{feedback}")
        text = filled(template, prompt=str(ask.task.prompt), answer=answer, feedback=feedback)
        return ask.shown.saying(text) if isinstance(ask.shown, Conversation) and not self.memory else text

    def _outcome(self, rights: list[bool], verdicts: list[str | None]) -> dict[str, Any]:
        goal: Any = float(rights[-1])
        told: dict[str, Any] = {}
        if self.critic:
            counts, said = VERIFY.is_sprigs(self.ask), zip(verdicts, rights, strict=True)
            true = [verdict == ("yes" if right else "no") for verdict, right in said if verdict is not None or counts]
            goal = {self.role: goal, **({self.critic: sum(true) / len(true)} if true else {})}
            told = {} if counts else {UNREADABLE: verdicts.count(None)}
        first = rights.index(True) + 1 if any(rights) else 0
        return {"goal": goal, "first_right": first, "attempts": len(rights), **told}

    def observe(self, batch: Batch, play: Play) -> None:
        """Log how many of a critic's verdicts could not be read."""
        played = [episode.info for episode in batch.episodes if UNREADABLE in episode.info]
        lost, asked = (sum(int(info[name]) for info in played) for name in (UNREADABLE, "attempts"))
        if self.critic:
            VERIFY.log_read(self.ask, [False] * lost + [True] * (asked - lost), play)


def filled(template: str, **words: str) -> str:
    """A template, filled in all at once: braces in the inserted texts stay as they are."""
    return re.sub(r"\{(\w+)\}", lambda match: words.get(match[1], match[0]), template)


def first_wrong_line(family: Family, task: Task, answer: str) -> str:
    """The first line of a solution that does not follow, as a judge marks it; where all do, its last."""
    steps, final = read_solution(answer)
    wrong = family.first_wrong(task, steps)
    line = steps[wrong] if wrong is not None else "?" if final is None else ANSWER + final
    return f"{line} -"
