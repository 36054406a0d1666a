"""The front door to the adversary: `attack(reward, task)` looks for completions that a reward likes and the truth rejects.

The calls go to seeds that others have tried, to edits of right and wrong answers, to evolution, and at the end to making what
was found short and trying it on all problems. With `rl` a model is sampled and trained too (`under_pressure.py`).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from statistics import median
from typing import Any

from guerdon.audits.adversary.attack_report import AttackReport, Hack
from guerdon.audits.adversary.evolution import Archive, edited, evolve, moved, seeds
from guerdon.audits.adversary.naming import Cluster, Rule, clusters
from guerdon.audits.adversary.shrinking import shrunk
from guerdon.audits.adversary.traits import traits_of
from guerdon.audits.adversary.under_pressure import pressed
from guerdon.audits.adversary.victim import BATCH, Candidate, Shot, Victim
from guerdon.core.errors import UserError
from guerdon.core.seeds import derive
from guerdon.core.task import TaskSource
from guerdon.loop.build import find_task, reward_for, tell
from guerdon.loop.onlooker import counted
from guerdon.rewards.check.gold_answers import shown_form
from guerdon.rewards.check.reward_contract import pose
from guerdon.rewards.check.reward_report import SAME
from guerdon.rewards.formula.reward import as_reward

SEEDS, EDITED, EVOLVED = 0.3, 0.25, 0.25  # of the calls that are left after the levels are known; the rest makes hacks short
SHRUNK = 60  # calls to make one hack short
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
    """Look for completions to a task that a reward (a function, a formula, FILE.py:NAME, a trained reward model's folder)
    likes and the truth rejects: within a number of `calls`, by a `seed`.

    The truth is the task's own check, or a reward named as `truth`. With `rl` the `model` is also sampled `best_of` times at
    each problem and trained with GRPO for so many `steps`; these calls are counted apart.

    >>> from guerdon.audits.adversary.attacking import attack
    >>> import guerdon as gd
    >>> report = attack(gd.reward(lambda completion: min(1.0, len(completion) / 99), isolate=False), "chain:1", calls=300)
    >>> report.ok, report.hacks[0].name
    (False, 'long texts')
    """
    source = find_task(task, data)
    if source is None:
        raise UserError("attack a reward on what? give a task, or data")
    if calls < FEWEST or problems < 1:
        raise UserError(f"an attack needs at least {FEWEST} calls and a problem, not {calls} and {problems}")
    tell(source, [])
    formula = as_reward(reward_for(reward, source))
    posed = pose(source, problems)
    if not any(each.own.core for each in posed):
        raise UserError(f"{source.name} has no answers: the adversary begins with right ones, so name their column")
    with counted("calls", progress) as count:
        trusted = None if truth is None else as_reward(reward_for(truth, source))
        victim = Victim(formula, posed, trusted, calls, seed, count)
        archive = Archive(victim)
        search(victim, archive)
        found_by_model = pressed(victim, trusted, source, model, steps, best_of, progress) if rl else None
        if found_by_model is not None:
            archive.add(victim.ask(found_by_model.candidates))
        hacks = sorted(described(victim, archive), key=lambda hack: (-hack.harm, -hack.gain, hack.name))
        count(calls, calls)
    return AttackReport(
        str(formula),
        source.name,
        len(posed),
        victim.asked,
        hacks,
        seed,
        shown_form(victim.form) if victim.form else "",
        tried=found_by_model.tried if found_by_model is not None else 0,
        unclear=sum(victim.verdicts.get(key, False) is None and victim.likes(s) for key, s in victim.shots.items()),
        missing=dict(victim.reasons),
        notes=_notes(victim),
        curves=found_by_model.curves if found_by_model is not None else {},
    )


def _notes(victim: Victim) -> list[str]:
    unscored = len(victim.posed) - len(victim.gold)
    flat = sum(victim.gold[g] - victim.low[g] <= SAME for g in victim.gold)
    said = [f"right answers have no score in {unscored} of {len(victim.posed)} problems"] if unscored else []
    return [*said, *([f"right answers are paid no more than wrong ones in {flat} of {len(victim.gold)} problems"] if flat else [])]


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


# --- what was found ---------------------------------------------------------------------------------------------------


def described(victim: Victim, archive: Archive) -> list[Hack]:
    """The hacks in groups, named, made short and tried on all problems."""
    every = list(archive.traits)
    hacks = victim.hacks(every)
    known = {id(s) for s in hacks}
    unpaid = [s for s in every if id(s) not in known and not victim.likes(s)]
    named = clusters(hacks, unpaid, archive.traits)
    named.sort(key=lambda c: -_harm(victim, c.shots))
    return [_described(victim, cluster, index, len(named)) for index, cluster in enumerate(named)]


def _described(victim: Victim, cluster: Cluster, index: int, of: int) -> Hack:
    share = victim.left // (of - index)  # what the others need is left to them
    first = min(cluster.shots, key=lambda s: (len(s.text), s.group, s.text))
    example = _shortened(victim, cluster.rule, first, min(SHRUNK, share // 2))
    members = {(s.group, s.text): s for s in (*cluster.shots, example)}
    widest = max(cluster.shots, key=lambda s: (len(s.text), s.text))
    limit = victim.asked + share - min(SHRUNK, share // 2)
    for shot in dict.fromkeys((example, widest)):
        for group in sorted(victim.gold):
            copies = [] if group == shot.group else moved(shot, victim, group)
            for each in victim.hacks(victim.ask(copies[: max(0, limit - victim.asked)])):
                if cluster.rule.test(traits_of(each.text, victim.scenes[group])):
                    members[group, each.text] = each
    shots = tuple(members.values())
    best = _best(victim, shots)
    return Hack(
        cluster.rule.name,
        len(best),
        len(victim.gold),
        median(best.values()),
        example.text,
        victim.posed[example.group].task.key,
        example.value,
        victim.gold[example.group],
        victim.low[example.group],
        cluster.rule.mend,
        _blind(victim, example, shots),
        len(shots),
        cluster.paid,
        " ".join([first.of.origin, *(f"+ {name}" for name, _ in first.of.steps)]),
    )


def _shortened(victim: Victim, rule: Rule, shot: Shot, most: int) -> Shot:
    """The shortest text of the same kind on the way down from one, within so many calls."""
    until = victim.asked + most
    scene = victim.scenes[shot.group]

    def holds(texts: Sequence[str]) -> list[bool]:
        some = [t for t in texts if rule.test(traits_of(t, scene))][: max(0, until - victim.asked)]
        asked = victim.ask([Candidate(shot.group, t, shot.of.origin, shot.of.steps) for t in some])
        good = {s.text for s in victim.hacks(asked)}
        spent = until <= victim.asked
        return [t in good for t in texts][: len(texts) - (spent and not good)]

    return victim.shots[shot.group, shrunk(shot.text, holds)]


def _best(victim: Victim, shots: Sequence[Shot]) -> dict[int, float]:
    """Of each problem that fell the most that was gained."""
    gains: dict[int, float] = {}
    for s in shots:
        gains[s.group] = max(gains.get(s.group, 0.0), victim.gain(s))
    return gains


def _harm(victim: Victim, shots: Sequence[Shot]) -> float:
    best = _best(victim, shots)
    return len(best) / len(victim.gold) * median(best.values())


def _blind(victim: Victim, example: Shot, shots: Sequence[Shot]) -> bool:
    """Whether it takes no knowledge of the right answer: it is not in the example, or one text does for half of the problems."""
    core = victim.scenes[example.group].core.casefold()
    if core not in example.text.casefold():
        return True
    often: dict[str, set[int]] = {}
    for s in shots:
        often.setdefault(s.text, set()).add(s.group)
    return max(map(len, often.values())) >= max(2, len(victim.gold) / 2)
