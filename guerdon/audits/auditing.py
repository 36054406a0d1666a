"""The audit of a reward, behind `gd.audit`: names become a reward and problems, it is asked, and its answers become a report.

Leaves out: what it is asked about (`probes`), and what is found (`faults.py`, `findings.py`).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from guerdon.audits.adversary.attack import attack
from guerdon.audits.asking import Asked, ask, component_rows, kind_rows, unsteady
from guerdon.audits.check import (
    HeldReward,
    call_seconds,
    hold,
    lacking_arguments,
    pose,
    reported,
    tries_of,
)
from guerdon.audits.faults import broken, failures_of, luck_of, nearly_paid, played_faults, shown_by_enough
from guerdon.audits.findings import (
    AuditFinding,
    cheaply_paid,
    explained,
    hacks_of,
    moved_by,
    out_of_order,
    put_together,
    ranked,
)
from guerdon.audits.kinds import PROBES, CheckedSample, RewardReport
from guerdon.audits.probes.texts import more_probes, words_of
from guerdon.audits.probes.worlds import played, world_of
from guerdon.audits.rates import error_rates, partial_credit, sensitivities, told_apart, whole_rates
from guerdon.audits.report import AuditReport
from guerdon.bridges.remote_reward import remote
from guerdon.bridges.trl import from_trl
from guerdon.core.arguments import check_arguments
from guerdon.core.errors import UserError
from guerdon.core.task import Sampling, Task, TaskSource, truth_of
from guerdon.core.user_file import find_in_file
from guerdon.loop.build import find_task, tell
from guerdon.rewards.asking.by_name import find_reward
from guerdon.rewards.asking.function import reward
from guerdon.rewards.asking.samples import FIELDS, fields_of_text
from guerdon.rewards.asking.token_ids import ids_by
from guerdon.rewards.formula.reward import Reward, as_reward

CALLS = 2000  # of an adversary, where only its training is asked for


def audit(
    reward: Any,
    task: TaskSource | str | None = None,
    *,
    data: Any = None,
    model: Any = None,
    tries: int = 4,
    completions: Mapping[int, Sequence[str]] | None = None,
    problems: int = 20,
    adversary: int = 0,
    rl: bool = False,
    sampling: Sampling | None = None,
    seed: int = 0,
    strict: bool = False,
    progress: bool | None = None,
) -> AuditReport:
    """Know what a reward rewards, before you train on it: findings ranked by harm, each with examples and the mend.

    `reward` is a function or a formula, one in TRL's form, FILE.py:NAME, the folder of a trained reward model, an address
    (`http://...`) or `"verified"`, the task's own check. It is asked about answers to `problems` of a task, or of rows in
    `data`, whose truth is known: right ones written in many ways, near-misses, and what policies and judges are fooled by. In
    a world of several turns whole episodes are played, by one who knows everything and by those who cheat. With a `model` its
    own `tries` are judged too, as in `gd.check_reward`. An `adversary` with so many calls looks for more that it likes and the
    truth rejects; with `rl` the built-in model is trained against it as well. With `strict` a severe finding is raised.

    >>> import guerdon as gd
    >>> report = gd.audit(lambda completion, answer: float(answer in completion), "chain:2", problems=8)
    >>> report.ok, report.findings[0].name
    (False, 'substring match')
    """
    check_arguments("gd.audit", audit, locals())
    source = find_task(task, data)
    if source is None:
        raise UserError("audit a reward on what? give a task or data")
    tell(source, [])
    formula = the_reward(reward, source)
    if world_of(source) is not None:
        if adversary or rl:
            raise UserError(f"the adversary writes one answer, and {source.name} is played in turns: leave it out")
        report = _in_a_world(formula, source, problems, seed)
    else:
        texts, tokenizer, by = tries_of(source, model, completions, problems, tries, sampling, seed, progress)
        report = _of_texts(formula, source, problems, texts, tokenizer, by)
    report = report.but(task=task) if isinstance(task, str) else report
    if adversary or rl:
        hunted = attack(formula, source, calls=adversary or CALLS, rl=rl, seed=seed, progress=progress)
        report = report.but(attack=hunted.to_dict(), findings=ranked([*report.findings, *hacks_of(hunted)]))
    if strict and not report.ok:
        more = len(report.severe) - 1
        raise UserError(f"{report.reward}: {report.severe[0]}" + (f" (and {more} more)" if more else ""))
    return report


def _of_texts(
    formula: Reward,
    source: TaskSource,
    problems: int,
    completions: Mapping[int, Sequence[str]],
    tokenizer: Any,
    counted_by: str,
) -> AuditReport:
    posed = pose(source, problems)
    ids = cache(ids_by(tokenizer))
    missing = lacking_arguments(formula, [each.task for each in posed])
    empty = AuditReport(str(formula), source.name, len(posed), 0, [], tokens=counted_by)
    if missing:  # it cannot be asked at all
        return empty.but(findings=put_together(missing, None, {}, None))
    held = hold(formula, posed, completions, ids, partial(more_probes, words_of(formula)))
    checked = reported(held, RewardReport(str(formula), source.name, len(posed), 0, [], tokens=counted_by))
    numbers, findings = _beyond(held, ids)
    rates = error_rates(held.own)
    said = shown_by_enough(checked.findings, held.own, [*PROBES])
    said += nearly_paid(held.own, said, luck_of(posed))
    found_by_kind = put_together(said, held.own, rates, explained(posed, held.own))
    return empty.but(
        samples=checked.samples,
        findings=ranked([*found_by_kind, *findings]),
        form=checked.form,
        components=checked.components,
        tried=checked.tried,
        failures=checked.failures,
        **_counted(held.own, rates),
        **numbers,
    )


def _beyond(held: HeldReward, ids: Any) -> tuple[dict[str, Any], list[AuditFinding]]:
    """What is measured beyond the check: sensitivities, and whether partial credit is in order."""

    def make(kind: str, group: int, text: str) -> CheckedSample:
        return CheckedSample(kind, group, text, fields_of_text(held.posed[group].task, text, ids))

    moved = sensitivities(held.formula, held.posed, held.own, make)
    credit, pairs = partial_credit(held.formula, held.posed, held.own, make)
    return {"sensitivity": moved, "partial": credit}, [
        *cheaply_paid(held.own),
        *out_of_order(credit, pairs),
        *moved_by(moved),
    ]


def _in_a_world(formula: Reward, source: TaskSource, problems: int, seed: int) -> AuditReport:
    samples, golds = played(source, problems, seed, words_of(formula).spoken)
    empty = AuditReport(str(formula), source.name, golds, len(samples), [])
    if not samples:
        raise UserError(
            f"{source.name}: no problem has an episode that is known to be right, so nothing can be audited"
        )
    missing = lacking_arguments(formula, [s.fields["task"] for s in samples if s.kind == "gold"])
    if missing:
        return empty.but(findings=put_together(missing, None, {}, None))
    asked = ask(formula, samples, "first")
    failures = failures_of(formula, asked)
    rates = error_rates(asked)
    checked = shown_by_enough(played_faults(asked), asked, [*PROBES])
    checked = [*broken(failures, asked), *unsteady(formula, asked), *checked, *nearly_paid(asked, checked)]
    return empty.but(
        findings=put_together(checked, asked, rates, None),
        components=component_rows(asked),
        failures=failures,
        **_counted(asked, rates),
    )


def _counted(asked: Asked, rates: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    nothing = dict.fromkeys(("rate", "low", "high"), float("nan"))
    names = ("rate", "low", "high", "errors")
    said = {kind: {name: rate[name] for name in names} for kind, rate in rates.items()}
    return {
        "kinds": [{**row, **nothing, **said.get(row["kind"], {"errors": 0})} for row in kind_rows(asked)],
        "rates": {name: vars(rate) for name, rate in whole_rates(asked).items()},
        "auc": told_apart(asked),
        "seconds": call_seconds(asked),
    }


VERIFIED = "verified"  # the task's own check, as the recipes that need no other reward have it
ANSWERS = (  # what columns of right answers are called in other libraries' data
    *("solution", "solutions", "ground_truth", "ground_truths", "gold", "gold_answer", "golden_answers", "target"),
    *("targets", "reference", "references", "label", "labels", "expected", "answers"),
)


def the_reward(spec: Any, source: TaskSource) -> Reward:
    """A reward, an address of one, FILE.py:NAME, a name on the shelf, a folder, `verified`, or a function, TRL's form too."""
    if spec == VERIFIED:
        return own_check(source)
    if isinstance(spec, str) and spec.startswith(("http://", "https://")):
        return as_reward(remote(spec))
    value = find_in_file(spec, "reward") if isinstance(spec, str) and ".py" in spec else spec
    if isinstance(value, str):
        return find_reward(value)
    if not isinstance(value, Reward) and _takes_lists(value):
        return as_reward(from_trl(value, _takes_chats(value), **_answers(value, source.get("train", 0))))
    return as_reward(value)


def own_check(source: TaskSource) -> Reward:
    """The truth of a task as a reward."""

    def verified(
        task: Any, completion: Any, role: Any, turns: Any, episode: Any, path: Any, made: Any, actions: Any
    ) -> float | None:
        track = {"completion": completion, "role": role, "turns": turns, "episode": episode}
        return truth_of(source, task, {**track, "path": path, "made": made, "actions": actions})

    return as_reward(reward(verified, isolate=False))


def _takes_lists(value: Any) -> bool:
    """Whether a function is written as TRL asks for them: lists of completions in."""
    return callable(value) and "completions" in inspect.signature(value).parameters


def _takes_chats(function: Any) -> bool:
    """Whether it reads completions as conversations, by its own text."""
    try:
        return bool(re.search(r"""\[["']content["']\]""", inspect.getsource(function)))
    except (OSError, TypeError):  # made at a prompt, or no function
        return False


def _answers(function: Callable[..., Any], task: Task) -> dict[str, str]:
    """Columns of right answers that a function asks for by another name than the task has for them."""
    wanted = inspect.signature(function).parameters
    return {name: "answer" for name in wanted if name in ANSWERS and name not in task.meta and name not in FIELDS}
