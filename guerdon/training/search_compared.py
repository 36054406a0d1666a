"""A search beside what the same tokens buy without it: plain sampling, the majority of several tries, the best of them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from guerdon.core.errors import UserError, unknown
from guerdon.core.exam_result import ExamResult
from guerdon.core.knob_values import parse, type_hints
from guerdon.core.part import knobs, label
from guerdon.core.renamed import say_renamed
from guerdon.core.task import Sampling
from guerdon.core.wordings import set_wording
from guerdon.exams.best_of_n import best_of
from guerdon.exams.exam import Exam
from guerdon.exams.rates import accuracy, majority_vote, tokens_spent
from guerdon.models.trained_folders import opened_scorer, scorer_folder
from guerdon.rewards.asking.by_name import trained_reward
from guerdon.search.beams import beam, lookahead
from guerdon.search.step_scorers import value_scorer
from guerdon.search.uct import mcts
from guerdon.search.whole_answers import revise, vote
from guerdon.training.api import evaluate
from guerdon.training.build import find_task

SEARCHES: dict[str, Any] = {"vote": vote, "beam": beam, "lookahead": lookahead, "mcts": mcts, "revise": revise}
PROCESS = "prm"  # what the recipes of process reward models call theirs
UNGUIDED = ("vote", "revise")  # those that can do without a scorer
MOST = 64  # tries at a problem that a search is compared with


def search_by_name(name: str, settings: Mapping[str, str], scorer: str | None) -> Any:
    """A search as the command line names it: `search.KNOB` and `scorer.KNOB` are its knobs and its scorer's, `roles.ROLE` is
    the wording of a role that it asks in. It keeps the chosen way alone. A process reward model counts by a way's weakest line,
    any other by the last, as `--reward` has them."""
    if name not in SEARCHES:
        raise unknown("search", name, SEARCHES)
    if scorer is None and name not in UNGUIDED:
        raise UserError(
            f"--search {name} goes by a scorer: give --scorer RUN, a finished run of process_reward_model"
            " (guerdon train process_reward_model --task NAME)"
        )
    given: dict[str, dict[str, str]] = {"search": {}, "scorer": {}, "roles": {}}
    for key, value in settings.items():
        part, dot, knob = key.partition(".")
        if part not in given or not dot:
            raise UserError(
                f"--set {key}: a search takes search.KNOB=VALUE, scorer.KNOB=VALUE and roles.ROLE=FILE, as in search.tries=8"
            )
        given[part][knob] = value
    if given["scorer"] and scorer is None:
        raise UserError("--set scorer.KNOB is about a scorer: give --scorer RUN too")
    also: dict[str, Any] = {"keep": "chosen"}
    if scorer is not None:
        reduction = "min" if scorer_folder(scorer).name == PROCESS else "last"
        also["scorer"] = _made(
            value_scorer, "scorer", {"reduce_steps": reduction, **_renamed(given["scorer"])}, ("model",)
        )
    made = _made(SEARCHES[name], "search", given["search"], ("scorer", "keep", "role"), **also)
    for role, wording in given["roles"].items():
        set_wording(made, role, wording)
    return made


def _renamed(given: Mapping[str, str]) -> dict[str, str]:
    """The scorer's knobs, the reduction under the name it has now."""
    if "along" in given:
        say_renamed("scorer.along", "scorer.reduce_steps")
    return {"reduce_steps" if name == "along" else name: value for name, value in given.items()}


def _made(cls: Any, part: str, given: Mapping[str, str], fixed: tuple[str, ...], **also: Any) -> Any:
    hints = type_hints(cls)
    known = [name for name in inspect.signature(cls).parameters if name not in fixed]
    for name in given:
        if name not in known:
            raise unknown(f"knob of {part}", name, known)
    return cls(**{name: parse(text, hints[name], f"{part}.{name}") for name, text in given.items()}, **also)


def searched(
    model: Any,
    search: Any,
    *,
    scorer: str | None = None,
    task: Any = None,
    data: Any = None,
    tries: int | None = None,
    tasks: int = 64,
    seed: int = 0,
    sampling: Sampling | None = None,
    trust: bool = False,
) -> ExamResult:
    """Accuracy and tokens a problem of a search, and of what can be done without: `rows`, one for each way to answer. The
    problems are the same. Plain tries are as many as cost about what the search does, or `tries`."""
    models = {"scorer": opened_scorer(scorer)[0]} if scorer is not None else {}
    how: dict[str, Any] = {"models": models, "tasks": tasks, "seed": seed, "trust": trust}
    how["sampling"] = sampling or Sampling()
    source = find_task(task, data)
    if source is None or not getattr(source, "has_held_out_answers", True):
        raise UserError("search is measured by right answers: give a task, or rows that have them (--answer COL)")
    ours = evaluate(model, task=source, env=search, **how)
    n = tries or max(1, min(MOST, round(ours["tokens"] / max(1.0, ours["length"]))))
    metrics: list[Any] = [accuracy(), tokens_spent()]
    if n > 1:
        metrics += [majority_vote(), *([best_of(_chooser(scorer, search))] if scorer is not None else [])]
    theirs = evaluate(model, exam=Exam(source, metrics, tries=n), **how)
    rows = [_row("plain sampling", theirs, "pass@1", theirs["tokens"])]
    for words, name in ((f"majority of {n}", f"majority@{n}"), (f"best of {n}", f"best_of@{n}")):
        rows += [_row(words, theirs, name, n * theirs["tokens"])] if name in theirs else []
    rows.append(_row(_called(search), ours, "pass@1", ours["tokens"]))
    return ExamResult({"task": ours["task"], "tasks": ours["tasks"], "plain_tries": n, "rows": rows})


def _chooser(scorer: str, search: Any) -> Any:
    """The reward of the scorer that the best of several tries is chosen by: lines count as the search has them count."""
    reward: Any = trained_reward(scorer)
    if hasattr(reward, "aggregate"):
        reward.aggregate = getattr(search.scorer, "reduce_steps", reward.aggregate)
    return reward


def _called(search: Any) -> str:
    """A search by its name and the numbers that say how much of it there is."""
    numbers = [f"{k}={v}" for k, v in knobs(search).items() if type(v) is int and k != "lines"]
    return f"{label(search)}({', '.join(numbers)})"


def _row(how: str, numbers: Mapping[str, Any], name: str, tokens: float) -> dict[str, Any]:
    low, high = (numbers.get(f"{name}_{end}") for end in ("low", "high"))
    return {"how": how, "accuracy": numbers[name], "low": low, "high": high, "tokens": tokens}
