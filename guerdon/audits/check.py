"""The quick form of an audit, behind `gd.check_reward` and `guerdon check`.

Leaves out: everything that `auditing.py` measures beyond it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args, get_type_hints

import numpy as np

from guerdon.audits.asking import RIGHT, TIMED, Asked, ask, component_rows, kind_rows, pairs, spread, unsteady
from guerdon.audits.faults import broken, failures_of, faults, judged
from guerdon.audits.kinds import CheckedSample, Finding, RewardReport
from guerdon.audits.labelled import LabelledText, hold_to_labels, read_labelled
from guerdon.audits.probes.answers import more_of_it, near_misses, tricks, written_otherwise
from guerdon.audits.probes.forms import choose_forms
from guerdon.audits.probes.gold import Posed, shown_form
from guerdon.core.arguments import check_arguments
from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.core.part import knobs, label, walk
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Sampling, Task, TaskSource
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.loop.build import find_model, find_task, fit, tell
from guerdon.loop.onlooker import CountedEnv, counted
from guerdon.models.standin import behind
from guerdon.models.text import TextModel
from guerdon.rewards.asking.by_name import find_reward
from guerdon.rewards.asking.samples import FIELDS, fields_of_text
from guerdon.rewards.asking.token_ids import ids_by
from guerdon.rewards.formula.reward import Reward, as_reward
from guerdon.tasks.files import name_of

MAY_BE_CLOSE = ("near-miss", "other answer", "suffix", "prefix")
ATTACKED = 8  # problems that tricks are tried on
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


TOKENIZER = "sprig"  # counts tokens where no model is given that has some
TRIED = 8  # problems that a model tries


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
) -> RewardReport:
    """Hold a reward (a function, a formula, FILE.py:NAME) against answers to a task whose truth is known.

    Asked about are gold solutions, the same written otherwise, near-misses, and the tricks that policies find: nothing, lists
    of answers, the right answer in a wrong one, formats without an answer. What is wrong and worth as much as gold, a right
    answer that is not paid, and a reward that breaks or wavers are `severe` findings; with `strict` the first is raised.

    With a `model` its own `tries` are judged beside them; `completions` are tries from elsewhere, by the number of their
    problem. `labels` are those that people gave, a file such as RUN/labels/truth.jsonl: paid though wrong or a hack, or right
    and not paid, is severe; they need no task. Tokens are the model's, else the built-in model's. `progress` as in `gd.train`.

    >>> import guerdon as gd
    >>> report = gd.check_reward(lambda completion, answer: float(answer in completion), "chain:1", problems=4)
    >>> report.ok, report.severe[0].says
    (False, '4 of 12 near-misses score as much as the right answer')
    """
    check_arguments("gd.check_reward", check_reward, locals())
    source = find_task(task, data)
    if source is None and labels is None:
        raise UserError("check a reward on what? give a task, data, or labels")
    given = read_labelled(labels) if labels is not None else []
    formula = find_reward(reward) if isinstance(reward, str) else reward
    if source is None:
        return refused_if(strict, _by_labels(formula, given, name_of(labels)))
    tell(source, [])
    texts, tokenizer, by = tries_of(source, model, completions, problems, tries, sampling, seed, progress)
    report = hold_reward(
        formula, source, problems=problems, strict=strict, completions=texts, tokenizer=tokenizer, counted_by=by
    )
    return refused_if(strict, hold_labelled(formula, given, tokenizer, report)) if given else report


def tries_of(
    source: TaskSource,
    model: Any,
    completions: Mapping[int, Sequence[str]] | None,
    problems: int,
    tries: int,
    sampling: Sampling | None,
    seed: int,
    progress: bool | None,
) -> tuple[Mapping[int, Sequence[str]], Any, str]:
    """What a model says to problems, unless `completions` are there already; who counts tokens, and that one's name."""
    if model is None:
        return completions or {}, TOKENIZER, TOKENIZER
    speaker = find_model(model)
    assert isinstance(speaker, Model)
    fit(source, [speaker])
    speaks = isinstance(behind(speaker), TextModel)
    tokenizer, by = (speaker, model if isinstance(model, str) else label(speaker)) if speaks else (TOKENIZER, TOKENIZER)
    if completions is None:
        with counted("tries", progress) as count:
            env = CountedEnv(single_turn(), count)
            completions = tried(speaker, source, min(problems, TRIED), tries, sampling or Sampling(), seed, env)
    return completions, tokenizer, by


def _by_labels(formula: Any, given: Sequence[LabelledText], name: str) -> RewardReport:
    """What labels alone have to say about a reward."""
    prompts = len({each.task.prompt for each in given})
    report = RewardReport(str(as_reward(formula)), f"labels in {name}", prompts, 0, [], tokens=TOKENIZER)
    return hold_labelled(formula, given, TOKENIZER, report)


def tried(
    model: Model, source: TaskSource, problems: int, tries: int, sampling: Sampling, seed: int, env: Any
) -> dict[int, list[str]]:
    """What a model says to the first problems of a source, played in `env`, by their number."""
    size = source.size("train")
    tasks: list[Task] = [source.get("train", i) for i in range(problems if size is None else min(size, problems))]
    started = copy.copy(model)
    started.start(seed, {"policy": started})
    play = Player({"policy": started}, {"policy": "policy"}, env, sampling, derive(seed, "check"), 1)
    episodes = play([Ask(task, n=tries) for task in tasks])
    texts: dict[int, list[str]] = {n: [] for n in range(len(tasks))}
    place = {id(task): n for n, task in enumerate(tasks)}
    for episode in episodes:
        texts[place[id(episode.task)]].append(episode.segments[-1].text)
    return texts
