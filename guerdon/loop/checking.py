"""The front door to the check of a reward: names become a reward, problems and a model, which is asked for some tries."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.core.arguments import check_arguments
from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.core.part import label
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Sampling, Task, TaskSource
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.loop.build import find_model, find_task, fit, tell
from guerdon.loop.onlooker import CountedEnv, counted
from guerdon.models.standin import behind
from guerdon.models.text import TextModel
from guerdon.rewards.asking.by_name import find_reward
from guerdon.rewards.check.labelled_answers import LabelledText, read_labelled
from guerdon.rewards.check.reward_contract import hold_labelled, hold_reward, refused_if
from guerdon.rewards.check.reward_report import RewardReport
from guerdon.rewards.formula.reward import as_reward
from guerdon.tasks.files import name_of

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
