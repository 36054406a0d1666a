"""Reward functions in TRL's form, which take lists of completions and return a list of numbers, as rewards.

`as_reward` recognises them wherever a reward is taken: a function with a parameter `completions` and none called `completion`.
Each is called with lists of one sample.
Leaves out: our rewards in TRL's trainers (`bridges/trl.py`).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.rewards.asking.function import Arguments, Leaf, reward
from guerdon.tasks.row_columns import ANSWERS


@part
class trl_function(Leaf):
    """A TRL reward function as a reward, asked with lists of one sample. Made by `from_trl`.

    Args:
        function: the function.
        columns: the field of a sample that fills a column of another name.
        chat: give it conversations in place of strings.
        answers: a column that the rows do not have, with a name such as `solution` or `ground_truth`, is the answer.
    """

    function: Callable[..., Any]
    columns: dict[str, str]
    chat: bool = False
    answers: bool = knob(default=False, absent=False)

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    @property
    def is_async(self) -> bool:
        own = type(self.function).__call__  # of an object that is called like a function
        return inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(own)

    @cached_property
    def wants(self) -> Arguments:
        taken = inspect.signature(self.function).parameters.values()
        plain = [p for p in taken if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        names = {p.name: self._field(p.name) for p in plain}
        optional = frozenset(names[p.name] for p in plain if p.default is not p.empty or self._is_answer(p.name))
        asked = dict.fromkeys(("prompt", "completion", *names.values(), *self.columns.values()))
        return Arguments(tuple(asked), optional, any(p.kind is p.VAR_KEYWORD for p in taken))

    def _is_answer(self, column: str) -> bool:
        """Whether a column that the rows do not have is the answer."""
        return self.answers and column in ANSWERS

    def _field(self, column: str) -> str:
        return {"prompts": "prompt", "completions": "completion", **self.columns}.get(column, column)

    def _arguments(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        given = super()._arguments(fields)
        missing = [name for name in self.wants.names if self._is_answer(name) and name not in given]
        return {**given, **dict.fromkeys(missing, fields.get("answer"))}

    def __call__(self, **fields: Any) -> Any:
        prompt, completion = fields["prompt"], fields["completion"]
        if self.chat:
            prompt, completion = [{"role": "user", "content": prompt}], [{"role": "assistant", "content": completion}]
        columns = {column: fields[field] for column, field in self.columns.items() if field in fields}
        every = {**fields, **columns, "prompts": prompt, "completions": completion}
        taken = (
            set(every) - {"prompt", "completion"}
            if self.wants.any_name
            else inspect.signature(self.function).parameters
        )
        given = {name: [value] for name, value in every.items() if name in taken}
        scores = self.function(**given)
        return _only_later(scores) if inspect.isawaitable(scores) else _only(scores)


def from_trl(function: Callable[..., Any], chat: bool = False, **columns: str) -> trl_function:
    """A TRL reward function as a Guerdon reward: `from_trl(accuracy, solution="answer")`.

    Keywords say which field fills a column of another name. `chat` hands it conversations in place of strings.
    """
    if not callable(function):
        raise UserError(f"a TRL reward function is a callable, not {function!r}")
    return trl_function(function, columns, chat)


def reward_of_function(function: Any) -> Leaf:
    """A function of the user's as a reward, whichever form it is written in."""
    if not _takes_lists(function):
        return reward(function)
    return trl_function(function, {}, chat=_takes_chats(function), answers=True)


def _takes_lists(value: Any) -> bool:
    """Whether a function is written as TRL asks for them: lists of completions in."""
    try:
        names = inspect.signature(value).parameters if callable(value) else ()
    except ValueError:  # written in C, without a signature
        return False
    return "completions" in names and "completion" not in names


def _takes_chats(function: Any) -> bool:
    """Whether it reads completions as conversations, by its own text."""
    try:
        return bool(re.search(r"""\[["']content["']\]""", inspect.getsource(function)))
    except (OSError, TypeError):  # made at a prompt, or no function
        return False


def _only(scores: Any) -> Any:
    if not isinstance(scores, Sequence) or isinstance(scores, str) or len(scores) != 1:
        raise TypeError(f"a TRL reward function returned {scores!r} for one sample, not a list of one number")
    return scores[0]


async def _only_later(scores: Any) -> Any:
    return _only(await scores)
