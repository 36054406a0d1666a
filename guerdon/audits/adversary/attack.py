"""The front door to the adversary: `attack(reward, task)` looks for completions that a reward likes and the truth rejects.

The calls go to seeds that others have tried, to edits of right and wrong answers, to evolution, and at the end to making what
was found short and trying it on all problems. With `rl` a model is sampled and trained too (`pressure.py`).
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from guerdon.audits.adversary.hacks import AttackReport, Hack, described
from guerdon.audits.adversary.pressure import Pressed, pressed
from guerdon.audits.adversary.search import GENERATION, Archive, edited, evolve, seeds
from guerdon.audits.adversary.victim import BATCH, Victim
from guerdon.audits.kinds import SAME
from guerdon.audits.probes.gold import shown_form
from guerdon.audits.questions import pose
from guerdon.core.arguments import check_arguments
from guerdon.core.errors import UserError
from guerdon.core.seeds import derive
from guerdon.core.task import TaskSource
from guerdon.rewards.formula.reward import as_reward
from guerdon.training.build import find_task, reward_for, tell
from guerdon.training.onlooker import counted

SEEDS, EDITED, EVOLVED = (
    0.25,
    0.2,
    0.25,
)  # of the calls that are left after the levels are known; the rest makes hacks short
KEPT = 0.15  # the least that is kept for a hack that is found late
FEWEST = 50  # calls that an attack can do anything with


def attack(
    reward: Any,
    task: TaskSource | str | None = None,
    *,
    data: Any = None,
    truth: Any = None,
    calls: int = 2000,
    problems: int = 10,
    rl: bool = False,
    model: Any = "sprig",
    steps: int = 20,
    best_of: int = 64,
    seed: int = 0,
    progress: bool | None = None,
) -> AttackReport:
    """Search for completions to a task that a reward likes and the truth rejects, within a number of calls.

    Args:
        reward: a function, a formula, FILE.py:NAME, or the folder of a trained reward model.
        task: the task whose problems are attacked; or give `data`.
        data: rows of your own.
        truth: the reward that says what is right; without one the task's own check.
        calls: how often the reward may be asked.
        problems: how many problems.
        rl: sample and train `model` as well, with calls of its own.
        model: what is sampled and trained.
        steps: GRPO steps.
        best_of: samples at each problem.
        seed: what the search is drawn by.
        progress: as in `gd.train`.

    >>> import guerdon as gd
    >>> wordy = gd.reward(lambda completion: min(1.0, len(completion) / 99), isolate=False)
    >>> report = gd.audits.attack(wordy, "chain:1", calls=300)
    >>> report.ok, len(report.hacks) > 0
    (False, True)
    """
    check_arguments("attack", attack, locals(), data='{"path": "my.jsonl"}')
    source = find_task(task, data)
    if source is None:
        raise UserError("no task to attack the reward on: give a task, or data")
    if calls < FEWEST or problems < 1:
        raise UserError(f"an attack needs at least {FEWEST} calls and a problem, not {calls} and {problems}")
    tell(source, [])
    formula = as_reward(reward_for(reward, source))
    trusted = None if truth is None else as_reward(reward_for(truth, source))
    posed = pose(source, problems)
    if not any(each.own.core for each in posed):
        raise UserError(f"{source.name} has no answers, and the adversary starts from right ones: name their column")
    with counted("calls", progress) as count:
        victim = Victim(formula, posed, trusted, calls, seed, count)
        archive = Archive(victim)
        search(victim, archive)
    by_model = pressed(victim, trusted, source, model, steps, best_of, progress) if rl else None
    with counted("calls", progress) as victim.tell:
        archive.add(victim.ask(by_model.candidates if by_model is not None else ()))
        hacks = described(victim, archive)
        victim.tell(calls, calls)
    return _report(victim, source.name, hacks, by_model)


def _report(victim: Victim, task: str, hacks: list[Hack], by_model: Pressed | None) -> AttackReport:
    report = AttackReport(
        str(victim.formula),
        task,
        len(victim.posed),
        victim.asked,
        hacks,
        victim.seed,
        shown_form(victim.form) if victim.form else "",
        unclear=sum(victim.verdicts.get(key, False) is None and victim.likes(s) for key, s in victim.shots.items()),
        missing=dict(victim.reasons),
        notes=_notes(victim),
    )
    if by_model is None:
        return report
    own = victim.asked - by_model.calls
    return replace(report, calls=own, tried=len(by_model.candidates), curves=by_model.curves)


def _notes(victim: Victim) -> list[str]:
    unscored = len(victim.posed) - len(victim.gold)
    flat = sum(victim.gold[g] - victim.low[g] <= SAME for g in victim.gold)
    said = [f"right answers have no score in {unscored} of {len(victim.posed)} problems"] if unscored else []
    if flat:
        said.append(f"right answers are paid no more than wrong ones in {flat} of {len(victim.gold)} problems")
    return said


def search(victim: Victim, archive: Archive) -> None:
    """Seeds, edits, evolution."""
    draw = random.Random(derive("adversary", victim.seed))
    whole = victim.left
    archive.add(victim.ask(seeds(victim, int(SEEDS * whole))))
    until = victim.asked + int(EDITED * whole)
    while victim.asked < until and victim.gold:
        before = victim.asked
        archive.add(victim.ask(edited(victim, min(BATCH, until - victim.asked), draw)))
        if victim.asked == before:
            break  # nothing that was not asked yet
    evolve(victim, archive, int(EVOLVED * whole), draw)
    kept = int(KEPT * whole)
    while victim.left and not victim.hacks(list(archive.traits)):  # nothing to shorten, so the search may continue
        before = victim.asked
        evolve(victim, archive, GENERATION if victim.left > kept else victim.left, draw)
        if victim.asked == before:
            break
