"""The audit of a reward, behind `gd.audit`, and its quick form, behind `gd.check_reward`.

Names become a reward, problems and a model's tries; the reward is asked, and its answers become a report. Both forms give the
same report; the quick one asks about the usual kinds of completions alone and measures nothing beyond them.
Leaves out: what it is asked about (`questions.py`, `probes`), and what is found (`faults.py`, `findings.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from guerdon.audits.adversary.attack import attack
from guerdon.audits.asking import TIMED, Asked, TextFields, ask, component_rows, kind_rows, nondeterministic
from guerdon.audits.faults import (
    broken,
    failures_of,
    faults,
    judged,
    luck_of,
    nearly_paid,
    played_faults,
    shown_by_enough,
)
from guerdon.audits.findings import cheaply_paid, explained, hacks_of, moved_by, out_of_order, put_together, ranked
from guerdon.audits.kinds import PROBES, CheckedSample, Finding
from guerdon.audits.labelled import LabelledText, hold_to_labels, read_labelled
from guerdon.audits.probes.gold import shown_form
from guerdon.audits.probes.texts import more_probes, words_of
from guerdon.audits.probes.worlds import played, world_of
from guerdon.audits.questions import TOKENIZER, RewardAnswers, ask_about, lacking_arguments, no_more, pose, tries_of
from guerdon.audits.rates import auc_of, error_rates, partial_credit, sensitivities, whole_rates
from guerdon.audits.report import AuditReport
from guerdon.bridges.remote_reward import remote
from guerdon.core.arguments import check_arguments
from guerdon.core.errors import UserError
from guerdon.core.task import Sampling, TaskSource, truth_of
from guerdon.rewards.asking.by_name import find_reward
from guerdon.rewards.asking.function import reward as reward_of
from guerdon.rewards.asking.token_ids import ids_by
from guerdon.rewards.formula.reward import Reward, as_reward
from guerdon.tasks.row_sets import name_of
from guerdon.training.build import find_task, tell

CALLS = 2000  # of an adversary, where only its training is asked for
VERIFIED = "verified"  # the task's own check, as the recipes that need no other reward have it
ANSWERS = (  # what columns of right answers are called in other libraries' data
    *("solution", "solutions", "ground_truth", "ground_truths", "gold", "gold_answer", "golden_answers", "target"),
    *("targets", "reference", "references", "label", "labels", "expected", "answers"),
)


def audit(
    reward: Any,
    task: TaskSource | str | None = None,
    *,
    data: Any = None,
    labels: Any = None,
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
    """Find out what a reward pays for, before you train on it: findings ranked by harm, each with examples and a fix.

    It is tested on answers with known labels: right ones written in many ways, near-misses, and known exploits of checkers
    and judges. In a world of several turns whole episodes are played, by an oracle policy and by scripts that cheat.
    `gd.check_reward` is its quick form.

    Args:
        reward: a function or a formula, one in TRL's form, FILE.py:NAME, the folder of a trained reward model, an address
            (`http://...`) or `"verified"`, the task's own check.
        task: the task whose problems are asked about; or give `data`, `labels`.
        data: rows of your own.
        labels: labels that people gave, a file such as RUN/labels/truth.jsonl; they need no task.
        model: a model whose own tries are judged too.
        tries: its tries at a problem.
        completions: tries from elsewhere, by the number of their problem.
        problems: how many problems.
        adversary: calls of a search for more completions that the reward likes and the truth rejects.
        rl: train the built-in model against the reward as well.
        sampling: how the model's tries are sampled.
        seed: what all chance comes from.
        strict: raise the first severe finding.
        progress: as in `gd.train`.

    Example:
        >>> import guerdon as gd
        >>> report = gd.audit(lambda completion, answer: float(answer in completion), "chain:2", problems=8)
        >>> report.ok, report.findings[0].name
        (False, 'substring match')
    """
    check_arguments("gd.audit", audit, locals())
    asked = _Sources.of("audit", reward, task, data, labels)
    if asked.source is not None:
        tell(asked.source, [])
    if adversary or rl:
        asked.check_attackable()
    report = asked.report(False, problems, model, completions, tries, sampling, seed, progress)
    if adversary or rl:
        hunted = attack(asked.formula, asked.source, calls=adversary or CALLS, rl=rl, seed=seed, progress=progress)
        report = report.but(attack=hunted.to_dict(), findings=ranked([*report.findings, *hacks_of(hunted)]))
    return _refused_if(strict, report)


def check_reward(
    reward: Any,
    task: TaskSource | str | None = None,
    *,
    data: Any = None,
    labels: Any = None,
    model: Any = None,
    tries: int = 4,
    completions: Mapping[int, Sequence[str]] | None = None,
    problems: int = 20,
    strict: bool = False,
    sampling: Sampling | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> AuditReport:
    """Test a reward on answers with known labels, in seconds: the quick form of `gd.audit`, with the same report.

    It is asked about gold solutions, the same written otherwise, near-misses, and the tricks that policies find: nothing, lists
    of answers, the right answer in a wrong one, formats without an answer. Severe is what is wrong and paid like a right
    answer, a right answer that is not paid, and a reward that raises or is not deterministic.

    Args:
        reward: as `gd.audit` takes it.
        task: the task whose problems are asked about; or give `data`, `labels`.
        data: rows of your own.
        labels: labels that people gave, a file such as RUN/labels/truth.jsonl. Paid though wrong or a hack, or right and not
            paid, is severe; they need no task.
        model: a model whose own tries are judged too; tokens are its, else the built-in model's.
        tries: its tries at a problem.
        completions: tries from elsewhere, by the number of their problem.
        problems: how many problems.
        strict: raise the first severe finding.
        sampling: how the model's tries are sampled.
        seed: what all chance comes from.
        progress: as in `gd.train`.

    Example:
        >>> import guerdon as gd
        >>> report = gd.check_reward(lambda completion, answer: float(answer in completion), "trace:2", problems=4)
        >>> report.ok, report.severe[0].name
        (False, 'substring match')
    """
    check_arguments("gd.check_reward", check_reward, locals())
    asked = _Sources.of("check", reward, task, data, labels)
    if asked.source is not None:
        tell(asked.source, [])
    return _refused_if(strict, asked.report(True, problems, model, completions, tries, sampling, seed, progress))


def _refused_if(strict: bool, report: AuditReport) -> AuditReport:
    """A report; with `strict` none that has a severe finding, which is raised."""
    if strict and report.severe:
        more = len(report.severe) - 1
        raise UserError(f"{report.reward}: {report.severe[0]}" + (f" (and {more} more)" if more else ""))
    return report


@dataclass(frozen=True)
class _Sources:
    """A reward, and where completions with known truth come from: problems, labels, or both."""

    formula: Reward
    source: TaskSource | None
    labels: Sequence[LabelledText]
    name: str  # of the task, or of the labels

    @classmethod
    def of(cls, verb: str, reward: Any, task: TaskSource | str | None, data: Any, labels: Any) -> _Sources:
        source = find_task(task, data)
        if source is None and labels is None:
            raise UserError(f"{verb} needs a task: give a task, data, or labels")
        given = read_labelled(labels) if labels is not None else []
        name = f"labels in {name_of(labels)}" if source is None else task if isinstance(task, str) else source.name
        return cls(the_reward(reward, source), source, given, name)

    def check_attackable(self) -> None:
        if self.source is None:
            raise UserError("the adversary needs problems: give a task or data")
        if world_of(self.source) is not None:
            raise UserError(
                f"the adversary needs a single-turn task, and {self.source.name} has several turns: leave it out"
            )

    def report(
        self,
        quick: bool,
        problems: int,
        model: Any,
        completions: Mapping[int, Sequence[str]] | None,
        tries: int,
        sampling: Sampling | None,
        seed: int,
        progress: bool | None,
    ) -> AuditReport:
        tokenizer: Any = TOKENIZER
        if self.source is None:
            prompts = len({each.task.prompt for each in self.labels})
            report = AuditReport(str(self.formula), self.name, prompts, 0, [], tokens=TOKENIZER)
        elif world_of(self.source) is not None:
            report = _in_a_world(self.formula, self.source, problems, seed)
        else:
            texts, tokenizer, by = tries_of(self.source, model, completions, problems, tries, sampling, seed, progress)
            report = _of_texts(self.formula, self.source, problems, texts, tokenizer, by, quick)
        report = report.but(task=self.name)
        return _with_labels(self.formula, self.labels, tokenizer, report) if self.labels else report


def _of_texts(
    formula: Reward,
    source: TaskSource,
    problems: int,
    completions: Mapping[int, Sequence[str]],
    tokenizer: Any,
    counted_by: str,
    quick: bool,
) -> AuditReport:
    posed = pose(source, problems)
    ids = cache(ids_by(tokenizer))
    missing = lacking_arguments(formula, [each.task for each in posed])
    empty = AuditReport(str(formula), source.name, len(posed), 0, [], tokens=counted_by)
    if missing:  # it cannot be asked at all
        return empty.but(findings=put_together(missing, None, {}, None))
    tested = ask_about(formula, posed, completions, ids, no_more if quick else partial(more_probes, words_of(formula)))
    own, failures = tested.own, failures_of(formula, tested.own)
    tried, found_by_model = judged(posed, tested.tries, own)
    usual = [*broken(failures, own), *nondeterministic(formula, own), *faults(formula, posed, own, tested.form)]
    told = [*usual, *found_by_model]
    numbers: dict[str, Any] = {}
    beyond: list[Finding] = []
    if not quick:
        told = shown_by_enough(told, own, [*PROBES])
        told += nearly_paid(own, told, luck_of(posed))
        numbers, beyond = _beyond(tested, ids)
    rates = error_rates(own)
    return empty.but(
        samples=len(own.samples) + len(tested.tries.samples),
        findings=ranked([*put_together(told, own, rates, explained(posed, own)), *beyond]),
        form=shown_form(tested.form) if tested.form else "",
        components=component_rows(own),
        tried=tried,
        failures=failures,
        **_counted(own, rates),
        **numbers,
    )


def _beyond(tested: RewardAnswers, ids: Any) -> tuple[dict[str, Any], list[Finding]]:
    """What is measured beyond the quick form: sensitivities, and whether partial credit is in order."""

    def make(kind: str, group: int, text: str) -> CheckedSample:
        return CheckedSample(kind, group, text, TextFields(tested.posed[group].task, text, ids))

    moved = sensitivities(tested.formula, tested.posed, tested.own, make)
    credit, pairs = partial_credit(tested.formula, tested.posed, tested.own, make)
    return {"sensitivity": moved, "partial": credit}, [
        *cheaply_paid(tested.own),
        *out_of_order(credit, pairs),
        *moved_by(moved),
    ]


def _in_a_world(formula: Reward, source: TaskSource, problems: int, seed: int) -> AuditReport:
    samples, golds = played(source, problems, seed, words_of(formula).spoken)
    empty = AuditReport(str(formula), source.name, golds, len(samples), [])
    if not samples:
        raise UserError(
            f"{source.name}: no problem has an episode that is known to be right, so no reward can be audited on it"
        )
    missing = lacking_arguments(formula, [s.fields["task"] for s in samples if s.kind == "gold"])
    if missing:
        return empty.but(findings=put_together(missing, None, {}, None))
    asked = ask(formula, samples, "first")
    failures = failures_of(formula, asked)
    rates = error_rates(asked)
    checked = shown_by_enough(played_faults(asked), asked, [*PROBES])
    checked = [*broken(failures, asked), *nondeterministic(formula, asked), *checked, *nearly_paid(asked, checked)]
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
        "auc": auc_of(asked),
        "seconds": call_seconds(asked),
    }


def call_seconds(asked: Asked) -> dict[str, Any]:
    """Of a call: the usual, the worst, and on which kind that was."""
    slowest = int(asked.seconds.argmax())
    kind = asked.samples[slowest].kind
    return {
        "median": float(np.median(asked.seconds)),
        "worst": float(asked.seconds[slowest]),
        "on": kind if kind in TIMED else "others",
    }


def _with_labels(formula: Reward, labels: Sequence[LabelledText], tokenizer: Any, report: AuditReport) -> AuditReport:
    """A report with what labels say about the reward."""
    missing = lacking_arguments(formula, [each.task for each in labels])
    ids = cache(ids_by(tokenizer))
    numbers, told = (
        ({}, missing)
        if missing
        else hold_to_labels(formula, labels, lambda task, text, turns: TextFields(task, text, ids, turns))
    )
    findings = ranked([*report.findings, *put_together(told, None, {}, None)])
    return report.but(samples=report.samples + len(labels), labelled=numbers, findings=findings)


# --- what is taken for a reward ---------------------------------------------------------------------------------------


def the_reward(spec: Any, source: TaskSource | None) -> Reward:
    """A reward, an address of one, FILE.py:NAME, a name on the shelf, a folder, `verified`, or a function, TRL's form too."""
    if isinstance(spec, str) and spec == VERIFIED:
        if source is None:
            raise UserError("verified is a task's own check: give a task or data")
        return own_check(source)
    if isinstance(spec, str) and spec.startswith(("http://", "https://")):
        return as_reward(remote(spec))
    return find_reward(spec) if isinstance(spec, str) else as_reward(spec)


def own_check(source: TaskSource) -> Reward:
    """The truth of a task as a reward."""

    def verified(
        task: Any, completion: Any, role: Any, turns: Any, episode: Any, path: Any, made: Any, actions: Any
    ) -> float | None:
        track = {"completion": completion, "role": role, "turns": turns, "episode": episode}
        return truth_of(source, task, {**track, "path": path, "made": made, "actions": actions})

    return as_reward(reward_of(verified, isolate=False))
