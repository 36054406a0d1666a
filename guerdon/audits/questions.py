"""The completions that test a reward: answers of each kind with known labels, and a model's own tries.

Leaves out: how answers are made (`probes`), and how a reward is asked (`asking.py`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

from guerdon.audits.asking import Asked, TextFields, ask
from guerdon.audits.kinds import RIGHT, CheckedSample, Finding
from guerdon.audits.probes.answers import more_of_it, near_misses, tricks, written_otherwise
from guerdon.audits.probes.forms import choose_forms
from guerdon.audits.probes.gold import Posed
from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.core.part import knobs, label, walk
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Sampling, Task, TaskSource
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.models.standin import behind
from guerdon.models.text import TextModel
from guerdon.rewards.asking.samples import FIELDS
from guerdon.rewards.asking.token_ids import Ids
from guerdon.rewards.formula.reward import Reward
from guerdon.training.build import find_model, fit
from guerdon.training.onlooker import CountedEnv, counted

MAY_BE_CLOSE = ("near-miss", "other answer", "suffix", "prefix")
ATTACKED = 8  # problems that tricks are tried on
TOKENIZER = "sprig"  # counts tokens where no model is given that has some
TRIED = 8  # problems that a model tries
More = Callable[[Posed, Sequence[Posed]], Iterable[tuple[str, str]]]  # (kind, completion)


def no_more(each: Posed, posed: Sequence[Posed]) -> Iterable[tuple[str, str]]:
    """What the quick form adds to the usual kinds."""
    return ()


def pose(source: TaskSource, problems: int) -> list[Posed]:
    """The first problems of a source."""
    if problems < 1:
        raise UserError(f"an audit needs at least one problem, not {problems}")
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
class RewardAnswers:
    """A reward's scores of completions with known labels, and of a model's tries."""

    formula: Reward
    posed: Sequence[Posed]
    form: str  # in which answers were written, where it is not the task's own
    own: Asked
    tries: Asked


def ask_about(
    formula: Reward, posed: Sequence[Posed], completions: Mapping[int, Sequence[str]], ids: Ids, more: More = no_more
) -> RewardAnswers:
    """Ask a reward about problems.

    Args:
        formula: the reward.
        posed: the problems.
        completions: a model's tries, by the number of their problem.
        ids: tokenizes a completion.
        more: further completions of a problem, each with its kind.
    """

    def sample(kind: str, group: int, text: str) -> CheckedSample:
        return CheckedSample(kind, group, text, TextFields(posed[group].task, text, ids))

    form = choose_forms(formula, posed, sample)
    made = list(_samples(posed, sample, more))
    tried = [sample("tried", group, text) for group, texts in completions.items() for text in texts]
    asked = ask(formula, [*made, *tried], "first")
    return RewardAnswers(
        formula, posed, form, asked.pick(range(len(made))), asked.pick(range(len(made), len(made) + len(tried)))
    )


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


# --- a model's tries --------------------------------------------------------------------------------------------------


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
    """A model's tries at problems, unless `completions` are given; the tokenizer, and its name."""
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
