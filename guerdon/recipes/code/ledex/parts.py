"""LeDex's own parts: wrong programs to debug, what an explanation and a program are worth, and credit for each on its own
tokens.

Leaves out: how wrong programs are shown and replies read (`tasks/field/reflections.py`).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any, ClassVar

import torch

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.episode import End, Episode
from guerdon.core.field_columns import FieldColumns, Gives, Needs
from guerdon.core.part import knob, live, part, state
from guerdon.core.play import Play, Seats, seats_alone
from guerdon.core.score import Score
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Task
from guerdon.credit.track_steps import at_steps, with_step_column
from guerdon.curricula.plain import EpochSampler
from guerdon.envs.simple import single_turn
from guerdon.exams.exam import Sitting
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.text.overlap import code_bleu, f1, rouge_tokens
from guerdon.tasks.code.failing_calls import first_failure
from guerdon.tasks.field.reflections import explained_lines, read_debugged

KNOWN = "explained"  # the note of an ask about a planted error: what is wrong, in true words


@part
class own_failures:
    """Programs of the policy that fail, each to be debugged in `tries` tries: problems of `source` are answered by whoever sits
    as `role`, and those whose program is wrong are shown again with it and a call that it fails, to be explained first with
    `explain`. Where too few fail, planted errors of further problems make up the number.

    Each problem is tried once, twice as many as are still wanted at a time, up to `MOST` times. All that is tried counts in the
    budget. Notes `failures/share`, of the tried programs those that failed, and `failures/planted`, of the asks.
    """

    source: Any
    tries: int = knob(default=8, ge=1)
    explain: bool = True
    role: str = "policy"

    drawn: int = state(default=0)
    laps: EpochSampler | None = live()

    MOST: ClassVar[int] = 3

    def draw(self, n: int, play: Play) -> list[Ask]:
        asks, tried = list[Ask](), 0
        for _ in range(self.MOST):
            wanted = 2 * (n - len(asks))
            tried += wanted
            for episode in play([Ask(self._next(play)) for _ in range(wanted)], single_turn(self.role)):
                said = episode.segments[-1] if episode.segments else None
                if said is not None and said.end is End.DONE and self.source.check(episode.task, said.text) == 0.0:
                    asks.append(self._ask(episode.task, said.text))
            if len(asks) >= n:
                break
        play.log(**{"failures/share": len(asks) / tried, "failures/planted": max(0, n - len(asks)) / n})
        return [*asks[:n], *(self._planted(play) for _ in range(n - len(asks)))]

    def _next(self, play: Play) -> Task:
        if self.laps is None or self.laps.source is not self.source:
            self.laps = EpochSampler(self.source)
        self.drawn += 1
        return self.laps.task(self.drawn - 1, play.seed)

    def _ask(self, task: Task, program: str, **note: str) -> Ask:
        return Ask(task, self.tries, prompt=shown_again(self.source, task, program, self.explain), note=note)

    def _planted(self, play: Play) -> Ask:
        task = self._next(play)
        program, why = self.source.wrong_program(task, random.Random(derive(play.seed, f"planted {task.key}")))
        return self._ask(task, program, **({KNOWN: why} if why else {}))


def shown_again(source: Any, task: Task, program: str, explain: bool) -> str:
    """A wrong program as it is shown, to be explained and put right or to be put right alone."""
    return str(source.shown_again(task, program, first_failure(source.source, task, program), explain))


@part
class refinement(Leaf):
    r"""$5\,(C + U) - 5$ of the program in a reply, from -5 to 5: $U$ is the share of tests that it passes, $C$ its CodeBLEU to
    the nearest of the right programs that `source` knows.

    >>> from guerdon.tasks import debugged, load
    >>> source = debugged(load("functions:1"))
    >>> problem = source.get("train", 0)
    >>> refinement(source)(problem.answer, problem).value
    5.0
    """

    source: Any

    def __call__(self, completion: str, task: Task) -> Score:
        program = self.source.program_in(completion)
        passed = fmean(self.source.passed(task, program))
        alike = max(code_bleu(program, right) for right in self.source.right_programs(task))
        return Score(5 * (alike + passed) - 5, parts={"tests": passed, "alike": alike})


def words_shared(one: str, other: str) -> float:
    """How alike two explanations are: F1 over their words.

    >>> words_shared("line 2 adds one", "line 3 adds one")
    0.75
    """
    ours, theirs = Counter(rouge_tokens(one)), Counter(rouge_tokens(other))
    return f1((ours & theirs).total(), ours.total(), theirs.total())


def contrast(said: str, good: Sequence[str], bad: Sequence[str]) -> float | None:
    """5 times how much more an explanation is like those that led to right programs than like those that led to wrong ones,
    from -5 to 5; None where there are not both; -5 for none at all.

    >>> contrast("line 2 adds one", ["line 2 adds two"], ["line 3 adds one", "it is fine"]), contrast("", ["a"], ["b"])
    (1.875, -5.0)
    """
    if not good or not bad:
        return None
    if not said:
        return -5.0
    near, far = (fmean(words_shared(said, other) for other in others) for others in (good, bad))
    return 5 * (near - far)


@part
class explanation(FieldColumns):
    """A track column: what the explanation of a reply is worth, by those of the other tries at the same wrong program: more,
    the more it is like the ones whose program was right, and less, the more like the others (`contrast`). Where an error was
    planted, its true explanation is one of the right ones. Not applicable where there are not both.

    >>> explanation().needs, explanation().gives
    (('correct',), ('explanation',))
    """

    right: Needs = "correct"
    gives_to: Gives = "explanation"

    shelf = "scores"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        group, correct = batch.group("ask")[0].tolist(), batch[self.right].tolist()
        said = [read_debugged(text)[0] for text in replies(batch)]
        known = [e.ask.note.get(KNOWN) for e in (batch.episodes[i] for i in batch.episode[batch.leaf].tolist())]
        value = torch.full((batch.K,), float("nan"))
        for k in range(batch.K):
            others = [j for j in range(batch.K) if j != k and group[j] == group[k] and said[j]]
            good = [said[j] for j in others if correct[j] >= 0.5] + ([known[k]] if known[k] else [])
            worth = contrast(said[k], good, [said[j] for j in others if correct[j] < 0.5])
            if worth is not None and correct[k] == correct[k]:
                value[k] = worth
        reason = torch.where(value.isnan(), int(Reason.NOT_APPLICABLE), int(Reason.VALUE)).to(torch.int8)
        return batch.with_cols({self.gives_to: Column("track", value, reason)})


def replies(batch: Batch) -> list[str]:
    """[K] what was said last in each track."""
    ends = zip(batch.episode[batch.leaf].tolist(), batch.place[batch.leaf].tolist(), strict=True)
    return [batch.episodes[e].segments[i].text for e, i in ends]


@part
class by_spans(FieldColumns):
    r"""Each step the advantage of what it is part of: $A_t = A^{first}$ in an explanation, the lines above the program, and
    $A^{rest}$ after it. A reply that explains nothing has `rest` everywhere.

    *Assumes* that an explanation is worth what its own score says. It also decides which program follows, which its steps are
    not paid for here: biased where `first` is no measure of that. LeDex pays so (Jiang et al. 2024, arXiv:2405.18649).

    >>> by_spans().needs
    ('explanation_advantage', 'refinement_advantage', 'line_ends')
    """

    first: Needs = "explanation_advantage"
    rest: Needs = "refinement_advantage"
    lines: Needs = "line_ends"
    gives_to: Gives = "advantage"

    shelf = "credit"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        first, rest, number = (batch.cols[name] for name in (self.first, self.rest, self.lines))
        explains = torch.zeros(batch.S, dtype=torch.bool)
        for text, steps in zip(replies(batch), batch.steps_by_track(), strict=True):
            lines = explained_lines(text)
            ends = torch.nonzero(number.value[steps] == lines).flatten().tolist() if lines else []
            explains[steps[: ends[0] + 1 if ends else 0]] = True
        value = torch.where(explains, at_steps(batch, first), at_steps(batch, rest))
        return with_step_column(batch, self.gives_to, value, first, rest)


@part
class in_phase:
    """A selection: all tracks while the share of a run that is done is `first` or more and under `last`, and else none.

    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> [in_phase(first, 1.0)(example_tries([[1.0, 0.0]]), ExamplePlay()).K for first in (0.0, 0.5)]
    [2, 0]
    """

    first: float = knob(default=0.0, ge=0.0, le=1.0)
    last: float = knob(default=1.0, ge=0.0, le=1.0)

    needs = ()

    def __call__(self, batch: Batch, play: Play) -> Batch:
        now = play.step / max(play.steps, 1)
        return batch.take(torch.full((batch.K,), self.first <= now < self.last))


@part
class debug_rounds:
    """A program, and where it fails up to `rounds` times the same again, shown with a call that it fails: for exams. `draft`
    says all of it, and `role` recites the program that stands in the end. `info` has `first_right`, the number of the first
    program that was right, from 1, or 0; and `tokens`, all that were sampled.

    >>> debug_rounds(None, rounds=2).roles
    ('draft', 'policy')
    """

    source: Any
    rounds: int = knob(default=2, ge=0)
    explain: bool = True
    role: str = "policy"
    draft: str = "draft"

    @property
    def roles(self) -> tuple[str, ...]:
        return (self.draft, self.role)

    @seats_alone
    async def play(self, ask: Ask, seats: Seats) -> Episode:
        view, program, right, tokens, said = ask.shown, "", False, 0, 0
        while not right and said <= self.rounds:
            room = seats[self.draft].room(None, view)
            if room is not None and room < 1:
                break
            reply = await seats[self.draft].act(view, fresh=True)
            program, said, tokens = self.source.program_in(reply.text), said + 1, tokens + len(reply.actions)
            right = self.source.check(ask.task, program) == 1.0
            if not right:
                view = shown_again(self.source, ask.task, program, self.explain)
        seats[self.role].teacher_force(ask.shown, program, fresh=True)
        return seats.episode(first_right=said if right else 0, attempts=said, tokens=tokens)


@part
class right_by_round:
    """`right_after_0`, `right_after_1` and so on: the share of tries of `debug_rounds` whose program is right after so many
    rounds of debugging, up to `rounds`.

    >>> right_by_round(rounds=1).rounds
    1
    """

    rounds: int = knob(default=2, ge=0)

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        first = [e.info["first_right"] for e in sitting.batch.episodes if not e.failed]
        return {
            f"right_after_{n}": fmean(float(0 < at <= n + 1) for at in first) if first else 0.0
            for n in range(self.rounds + 1)
        }
