"""Whatever somebody calls a reward, as one: ours, a file's, a function in TRL's form, an address, a trained model, the truth.

Leaves out: what is asked of it (`auditing.py`).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from guerdon.bridges.remote_reward import remote
from guerdon.bridges.trl import from_trl
from guerdon.core.task import Task, TaskSource, truth_of
from guerdon.core.user_file import find_in_file
from guerdon.rewards.asking.by_name import find_reward
from guerdon.rewards.asking.function import reward
from guerdon.rewards.asking.samples import FIELDS
from guerdon.rewards.formula.reward import Reward, as_reward

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
