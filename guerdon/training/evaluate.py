"""Sitting exams: held-out problems are played by a player of their own, so that nothing is billed, and measured."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.core.pack import pack
from guerdon.core.part import label
from guerdon.core.play import Env
from guerdon.core.seeds import derive
from guerdon.core.task import Sampling
from guerdon.engine.player import Player
from guerdon.exams.exam import TRUTH, Exam, Sitting
from guerdon.exams.rates import accuracy, answer_length
from guerdon.exams.tries import packed, tried_problems
from guerdon.rewards.stage.early_asking import listeners
from guerdon.rewards.stage.score_stages import verified
from guerdon.training.readings import fill_needs
from guerdon.training.text_rewards import refuse_without_text, silent_roles


@dataclass(frozen=True)
class SatExams:
    """What exams found: numbers by name, `NAME/metric` for an exam that has a name; and of each exam by its name the outcome
    of every problem, where it can be checked."""

    numbers: dict[str, Any] = field(default_factory=dict)
    problems: dict[str, Any] = field(default_factory=dict)


def sit_all(
    exams: Sequence[Exam],
    models: Mapping[str, Model],
    seats: Mapping[str, str],
    env: Env,
    sampling: Sampling,
    *,
    tasks: int = 64,
    tries: int = 4,
    seed: int = 0,
    drawn: int | None = None,
) -> SatExams:
    """Run every exam. What an exam does not say itself (its seats, environment, sampling, how many problems and tries) is
    as given here. The same seed gives the same tries for equal weights. A seed in `drawn` draws the problems, as many of every
    kind; all kinds weigh the same then."""
    results = SatExams()
    for exam in exams:
        how = (exam.seats or seats, exam.env or env, exam.sampling or sampling)
        play = Player(models, *how, derive(seed, "evaluate"), 1)
        measured, problems = sit(exam, play, exam.tasks or tasks, exam.tries or tries, drawn)
        results.numbers.update({f"{exam.name}/{name}" if exam.name else name: v for name, v in measured.items()})
        results.problems.update({exam.name: problems} if problems else {})
    return results


def evaluate(*args: Any, **how: Any) -> dict[str, Any]:
    """The numbers alone of what `sit_all` finds."""
    return sit_all(*args, **how).numbers


def sit(
    exam: Exam, play: Player, tasks: int, tries: int, drawn: int | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Play an exam and measure it: numbers by name, and what came of every problem."""
    checks = [verified(exam.truth, TRUTH, exam.role)] if exam.truth is not None else []
    play.ended = listeners(checks, play.seed)
    batch = pack(play.played(exam.asks(tasks, tries, play, drawn)))
    play.ended = ()  # what metrics have played is not checked
    for check in checks:
        batch = check(batch, play)
        if bool(batch.cols[TRUTH].missing.all()) and (silent := silent_roles(batch, exam.role)):
            batch.cols[TRUTH].detail[0] = {"error": f"{silent[0]!r} makes no text, and the task checks text"}
    refuse_without_text(exam.metrics, batch, exam.role)
    numbers: dict[str, Any] = {"task": _name(exam), "tries": tries}
    given_by = dict.fromkeys(numbers, "every exam")
    for metric in exam.metrics or (accuracy(), answer_length()):
        batch = fill_needs(batch, getattr(metric, "needs", ()), play)
        with torch.no_grad():
            measured = metric(Sitting(exam, batch, play, tries, evenly=drawn is not None))
        mine = getattr(metric, "__name__", label(metric))
        for name in measured:
            if name in given_by:
                raise UserError(f"{mine} and {given_by[name]} both give {name!r}: move one to another exam")
        numbers, given_by = {**numbers, **measured}, {**given_by, **dict.fromkeys(measured, mine)}
    problems = tried_problems(Sitting(exam, batch, play, tries)) if exam.truth is not None else {}
    return numbers, packed(problems, evenly=drawn is not None) if problems else {}


def _name(exam: Exam) -> str:
    """What is asked about, in a word."""
    return next((str(s.name) for s in (exam.source, exam.truth) if hasattr(s, "name")), label(exam.source))


def examined(models: Mapping[str, Model], exams: Sequence[Exam], env: Env, seed: int, **how: Any) -> dict[str, Any]:
    """What exams find about models that are in no run: each is started, and `policy` plays in the seat of that name, and
    in the environment's seats that no model is named after, unless an exam seats others."""
    seats = {"policy": "policy", **{role: role if role in models else "policy" for role in env.roles}}
    for i, exam in enumerate(exams):
        exam.check(models, seats, env, exams[:i])
    started = {name: copy.copy(model) for name, model in models.items()}
    for model in sorted(started.values(), key=lambda model: hasattr(model, "of")):
        model.start(seed, started)
    return evaluate(exams, started, seats, env, how.pop("sampling"), seed=seed, **how)
