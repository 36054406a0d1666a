"""What every reward promises, held to it before anything is trained: `print(gd.check_reward(mine, "countdown:4"))`.

A reward is asked about solutions whose worth is known: gold ones, gold ones written otherwise, near-misses, and the tricks that
policies find. Whatever is wrong and worth as much as gold is found out, and so is a right answer that is not paid.
Leaves out: what is found fault with (`faults.py`), and sampling from a model, whose completions come as texts.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args, get_type_hints

import numpy as np

from guerdon.core.episode import Episode, Segment
from guerdon.core.errors import UserError
from guerdon.core.part import knobs, walk
from guerdon.core.task import Ask, Sampling, Task, TaskSource
from guerdon.rewards.asking.samples import FIELDS, fields_of
from guerdon.rewards.asking.token_ids import ids_by
from guerdon.rewards.check.asking_twice import TIMED, Asked, ask, unsteady
from guerdon.rewards.check.attacks import tricks
from guerdon.rewards.check.check_tables import RIGHT, component_rows, kind_rows, pairs, spread
from guerdon.rewards.check.faults import broken, failures_of, faults
from guerdon.rewards.check.forms import choose_forms
from guerdon.rewards.check.gold_answers import Posed, shown_form
from guerdon.rewards.check.labelled_answers import LabelledText, hold_to_labels
from guerdon.rewards.check.model_tries import judged
from guerdon.rewards.check.reward_report import CheckedSample, Finding, RewardReport
from guerdon.rewards.check.right_answers import more_of_it, written_otherwise
from guerdon.rewards.check.wrong_answers import near_misses
from guerdon.rewards.formula.reward import Reward, as_reward

MAY_BE_CLOSE = ("near-miss", "other answer", "suffix", "prefix")
ATTACKED = 8  # problems that tricks are tried on
USUAL = Sampling()
NOTHING = np.zeros(0, np.int64)
Ids = Callable[[str], np.ndarray]
More = Callable[[Posed, Sequence[Posed]], Iterable[tuple[str, str]]]  # (kind, completion); right kinds are right


def _no_more(each: Posed, posed: Sequence[Posed]) -> Iterable[tuple[str, str]]:
    return ()


def hold_reward(
    reward: Any,
    source: TaskSource,
    *,
    problems: int = 20,
    strict: bool = False,
    completions: Mapping[int, Sequence[str]] | None = None,
    tokenizer: Any = "sprig",
    counted_by: str = "sprig",
) -> RewardReport:
    """Hold a reward to its contract on the first problems of a source. `completions` are a model's, by the number of their
    problem; `tokenizer` says how long completions are."""
    formula = as_reward(reward)
    posed = pose(source, problems)
    missing = lacking_arguments(formula, [each.task for each in posed])
    report = RewardReport(str(formula), source.name, len(posed), 0, missing, tokens=counted_by)
    if not missing:  # else it cannot be asked at all
        report = reported(hold(formula, posed, completions or {}, cache(ids_by(tokenizer))), report)
    return refused_if(strict, report)


def refused_if(strict: bool, report: RewardReport) -> RewardReport:
    """A report; with `strict` none that has a severe finding, which is raised."""
    severe = report.severe
    if strict and severe:
        more = len(severe) - 1
        raise UserError(f"{report.reward}: {severe[0]}" + (f" (and {more} more)" if more else ""))
    return report


def hold_labelled(reward: Any, labels: Sequence[LabelledText], tokenizer: Any, report: RewardReport) -> RewardReport:
    """Hold a reward to labels that people gave, beside what a report has found already."""
    formula = as_reward(reward)
    missing = lacking_arguments(formula, [each.task for each in labels])
    ids = cache(ids_by(tokenizer))
    numbers, findings = (
        ({}, missing)
        if missing
        else hold_to_labels(formula, labels, lambda task, text: fields_of_text(task, text, ids))
    )
    return report.but(samples=report.samples + len(labels), labelled=numbers, findings=[*report.findings, *findings])


def pose(source: TaskSource, problems: int) -> list[Posed]:
    if problems < 1:
        raise UserError(f"check_reward needs at least one problem, not {problems}")
    size, quick = source.size("train"), checked_plainly(source)
    return [Posed(quick, source.get("train", i)) for i in range(problems if size is None else min(size, problems))]


def checked_plainly(source: TaskSource) -> TaskSource:
    """A task that says the same about texts, some hundred times as fast where it has a checker that needs no sandbox: it is
    asked about thousands."""
    if not any(map(_can_be_plain, (each for _, each in walk(source)))):
        return source
    quick = copy.deepcopy(source)
    for _, each in walk(quick):
        if _can_be_plain(each):
            each.checker = "plain"
    return quick


def _can_be_plain(source: Any) -> bool:
    return "checker" in knobs(source) and "plain" in get_args(get_type_hints(type(source))["checker"])


@dataclass(frozen=True)
class HeldReward:
    """What a reward said about completions of known worth, and about a model's tries."""

    formula: Reward
    posed: Sequence[Posed]
    form: str  # in which answers were written, where it is not the task's own
    own: Asked
    tries: Asked


def hold(
    formula: Reward, posed: Sequence[Posed], completions: Mapping[int, Sequence[str]], ids: Ids, more: More = _no_more
) -> HeldReward:
    """Ask a reward about problems. `more` makes further completions, of the kinds that a report knows."""

    def sample(kind: str, group: int, text: str) -> CheckedSample:
        return CheckedSample(kind, group, text, fields_of_text(posed[group].task, text, ids))

    form = choose_forms(formula, posed, sample)
    made = list(_samples(posed, sample, more))
    tried = [sample("tried", group, text) for group, texts in completions.items() for text in texts]
    asked = ask(formula, [*made, *tried], "first")
    return HeldReward(
        formula, posed, form, asked.pick(range(len(made))), asked.pick(range(len(made), len(made) + len(tried)))
    )


def reported(held: HeldReward, report: RewardReport) -> RewardReport:
    """A report with all that is found in what a reward said."""
    own = held.own
    failures = failures_of(held.formula, own)
    verdict, found_by_model = judged(held.posed, held.tries, own)
    return report.but(
        samples=len(own.samples) + len(held.tries.samples),
        findings=[
            *broken(failures, own),
            *unsteady(held.formula, own),
            *faults(held.formula, held.posed, own, held.form),
            *found_by_model,
        ],
        form=shown_form(held.form) if held.form else "",
        failures=failures,
        kinds=kind_rows(own),
        components=component_rows(own),
        pairs=pairs(own),
        spread=spread(own),
        tried=verdict,
        seconds=call_seconds(own),
    )


def call_seconds(asked: Asked) -> dict[str, Any]:
    """Of a call: the usual, the worst, and on which kind that was."""
    slowest = int(asked.seconds.argmax())
    kind = asked.samples[slowest].kind
    return {
        "median": float(np.median(asked.seconds)),
        "worst": float(asked.seconds[slowest]),
        "on": kind if kind in TIMED else "others",
    }


# --- what it is asked about -----------------------------------------------------------------------------------------


def _samples(
    posed: Sequence[Posed], sample: Callable[[str, int, str], CheckedSample], more: More
) -> Iterator[CheckedSample]:
    for group, each in enumerate(posed):
        seen = set()
        for kind, text in _completions(each, posed, group, more):
            if (kind, text) not in seen:
                seen.add((kind, text))
                yield sample(kind, group, text)


def _completions(each: Posed, posed: Sequence[Posed], group: int, more: More) -> Iterator[tuple[str, str]]:
    yield "gold", each.gold.text
    wrong = [("near-miss", text) for text in near_misses(each, posed)]
    if group < ATTACKED:
        yield from written_otherwise(each)
        yield from more_of_it(each)
        wrong += tricks(each, posed, every_form=group < 2)
        further = list(more(each, posed))
        yield from ((kind, text) for kind, text in further if kind in RIGHT)
        wrong += [(kind, text) for kind, text in further if kind not in RIGHT]
    for kind, text in wrong:
        if each.is_wrong(text):
            yield ("close" if kind in MAY_BE_CLOSE and each.is_close(text) else kind), text
    if group < ATTACKED and each.best and each.best != each.gold.form:
        yield "gold in its best form", each.in_best_form(each.own.core)


def fields_of_text(task: Task, text: str, ids: Ids) -> dict[str, Any]:
    """What a reward may ask for about a text that nobody sampled, as one try at a task."""
    actions = ids(text)
    segment = Segment("policy", task.prompt, NOTHING, actions, np.zeros(len(actions), np.float32), text, sampling=USUAL)
    return fields_of(Episode(Ask(task), (segment,)), [segment])


def lacking_arguments(formula: Reward, posed: Sequence[Task]) -> list[Finding]:
    """Fields a leaf asks for and some problem does not have."""
    findings = []
    for leaf in formula.leaves:
        for name in leaf.wants.names:
            lack = sum(name not in FIELDS and name not in task.meta for task in posed)
            if lack and name not in leaf.wants.optional:
                has = ", ".join([*FIELDS, *sorted({n for task in posed for n in task.meta} - set(FIELDS))])
                message = (
                    f"{leaf.name} asks for {name!r}, which {lack} of {len(posed)} problems do not have; there is {has}"
                )
                findings.append(Finding("argument", "severe", message, lack, len(posed)))
    return findings
