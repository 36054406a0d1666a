"""The front door to an audit of a reward: names become a reward and problems, it is asked, and what it said becomes a report.

Leaves out: what is asked (`rewards/check`, `more_probes.py`, `played_probes.py`), and what is found (`audit_findings.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

from guerdon.audits.adversary.attacking import attack
from guerdon.audits.reward.audit_findings import (
    AuditFinding,
    cheaply_paid,
    hacks_of,
    moved_by,
    out_of_order,
    put_together,
    ranked,
)
from guerdon.audits.reward.audit_report import AuditReport
from guerdon.audits.reward.error_rates import error_rates, told_apart, whole_rates
from guerdon.audits.reward.explanations import explained
from guerdon.audits.reward.more_probes import more_probes, words_of
from guerdon.audits.reward.nearly_paid import nearly_paid, shown_by_enough
from guerdon.audits.reward.played_probes import played, world_of
from guerdon.audits.reward.sensitivities import partial_credit, sensitivities
from guerdon.audits.reward.the_reward import the_reward
from guerdon.core.arguments import check_arguments
from guerdon.core.errors import UserError
from guerdon.core.task import Sampling, TaskSource
from guerdon.loop.build import find_task, tell
from guerdon.loop.checking import tries_of
from guerdon.rewards.asking.token_ids import ids_by
from guerdon.rewards.check.asking_twice import Asked, ask, unsteady
from guerdon.rewards.check.check_tables import component_rows, kind_rows
from guerdon.rewards.check.faults import broken, failures_of, luck_of, played_faults
from guerdon.rewards.check.reward_contract import (
    HeldReward,
    call_seconds,
    fields_of_text,
    hold,
    lacking_arguments,
    pose,
    reported,
)
from guerdon.rewards.check.reward_report import PROBES, CheckedSample, RewardReport
from guerdon.rewards.formula.reward import Reward

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
