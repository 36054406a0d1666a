"""Rewards of env steps: a number, or named components, for what an action did.

A function's parameters name what it reads of a step; what it returns becomes a number for each step, its components by name,
or a failure with the environment, the step and the component. A failure is never 0.
Leaves out: rewards of text (`guerdon.rewards`), whose fields are those of a sample.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from guerdon.core.errors import UserError, in_a_line, unknown
from guerdon.core.part import part, source_hash
from guerdon.core.user_file import find_in_file

Numbers = npt.NDArray[np.float64]
FIELDS = ("observation", "action", "next_observation", "reward", "terminated", "truncated", "info")


@dataclass(frozen=True)
class Steps:
    """N env steps, each of another world: arrays whose first axis is the step, dicts and tuples of such arrays where a space
    is one; `info` has a mapping for each. `next_observation` is what the action led to, the last one of an episode too."""

    observation: Any
    action: Any
    next_observation: Any
    reward: Any
    terminated: Any
    truncated: Any
    info: Sequence[Mapping[str, Any]]

    def __len__(self) -> int:
        return len(self.reward)

    def each(self, names: Sequence[str]) -> Iterator[dict[str, Any]]:
        """What is named, of one step after another."""
        columns = [_in_rows(getattr(self, name), len(self)) for name in names]
        rows = zip(*columns, strict=True) if names else iter([()] * len(self))
        return (dict(zip(names, row, strict=True)) for row in rows)

    def pick(self, i: int) -> Steps:
        """One step, as a batch."""
        return Steps(**{name: rows_of(getattr(self, name), slice(i, i + 1)) for name in FIELDS})


@dataclass(frozen=True)
class Paid:
    """What a reward gave to N steps: `total`, NaN where it failed; its components `parts`, NaN where a step has none; and
    `why` a step failed, by its number: what happened, and in which component."""

    total: Numbers
    parts: dict[str, Numbers]
    why: dict[int, tuple[str, str]]

    def each(self) -> list[dict[str, float]]:
        """The components of each step."""
        columns = [each.tolist() for each in self.parts.values()]
        rows = zip(*columns, strict=True)
        return [{name: v for name, v in zip(self.parts, row, strict=True) if v == v} for row in rows]

    def told(self, i: int, env: str, where: str) -> str:
        """Why a step failed, in a line."""
        what, component = self.why[i]
        return f"{env}: {what} at {where}{component}"


@part
class step_reward:
    r"""A function as the reward of env steps, $r_t = f(s_t, a_t, s_{t+1}, \ldots)$; of a mapping the sum is paid,
    $r_t = \sum_k r_{k,t}$.

    Its parameters name what it reads of a step: `observation`, `action` as the environment takes it, `next_observation`,
    `reward` (the environment's own), `terminated`, `truncated`, `info`. It returns a number, or numbers by name, the
    components. A component that a step does not have is left out of it. With `batched` it is called once for many worlds, each
    argument an array with a row for each, `info` a list; it returns an array, or arrays by name.

    What it raises, and a number that is not finite, fails the step: an episode that has one failed, and is never 0.

    Args:
        function: the function.
        batched: one call gets the steps of all worlds.

    >>> import guerdon as gd
    >>> @gd.worlds.step_reward
    ... def upright(next_observation, terminated):
    ...     return {"angle": 1.0 - abs(next_observation[2]), "fell": -10.0 * terminated}
    >>> env = gd.gym_reward("CartPole-v1", upright)
    >>> _ = env.reset(seed=0)
    >>> _, pay, _, _, info = env.step(1)
    >>> round(pay, 3), sorted(info["reward_parts"]), info["env_reward"]
    (0.953, ['angle', 'fell'], 1.0)
    """

    function: Callable[..., Any] | None = None
    batched: bool = False

    def __post_init__(self) -> None:
        if self.function is not None:
            _ = self.wants

    def __call__(self, *decorated: Any, **fields: Any) -> Any:
        if self.function is None and len(decorated) == 1:
            return dataclasses.replace(self, function=decorated[0])
        return self.called(*decorated, **fields)

    @property
    def called(self) -> Callable[..., Any]:
        if self.function is None:
            raise UserError("a step_reward has no function: write it above one, @gd.worlds.step_reward(batched=True)")
        return self.function

    @property
    def name(self) -> str:
        return getattr(self.called, "__name__", type(self.called).__name__)

    def identity(self) -> Any:
        return source_hash(self.called)

    @cached_property
    def wants(self) -> tuple[str, ...]:
        """The names of what it reads."""
        taken = inspect.signature(self.called).parameters.values()
        if any(p.kind is p.VAR_KEYWORD for p in taken):
            return FIELDS
        for p in taken:
            if p.name not in FIELDS and p.default is p.empty and p.kind is not p.VAR_POSITIONAL:
                raise unknown(f"argument of reward {self.name}", p.name, FIELDS)
        return tuple(p.name for p in taken if p.name in FIELDS)

    def pay_each(self, did: Sequence[tuple[Any, ...]]) -> Paid:
        """What it gives to steps, each the fields of one."""
        columns = {name: [each[i] for each in did] for i, name in enumerate(FIELDS)}
        if self.batched:
            columns |= {name: stacked(each) for name, each in columns.items() if name != "info"}
        return self.pay(Steps(**columns))

    def pay(self, steps: Steps) -> Paid:
        """What it gives to steps. It is called once, or for each; where one call for all breaks, for each alone."""
        if not self.batched:
            return self._joined([self._one(fields) for fields in steps.each(self.wants)])
        try:
            given = self.called(**{name: getattr(steps, name) for name in self.wants})
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - the user's code; what it raised is recorded
            if len(steps) == 1:
                return self._joined([self._raised(error)])
            alone = [self.pay(steps.pick(i)) for i in range(len(steps))]
            return self._joined([each.why.get(0) or each.each()[0] for each in alone])
        parts = {name: self._column(name, value, len(steps)) for name, value in self._named(given).items()}
        return self._finite({str(name): column for name, column in parts.items()}, {})

    def _raised(self, error: Exception) -> tuple[str, str]:
        return f"the reward {self.name} raised {in_a_line(error)}", ""

    def _one(self, fields: Mapping[str, Any]) -> dict[str, float] | tuple[str, str]:
        """The components of a step, or why there are none."""
        try:
            given = self.called(**fields)
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - the same
            return self._raised(error)
        named = self._named(given)
        try:
            return {name: float(value) for name, value in named.items()}
        except (TypeError, ValueError):
            return {name: self._number(name, value) for name, value in named.items()}

    def _named(self, given: Any) -> Mapping[str, Any]:
        if type(given) is not dict and not isinstance(given, Mapping):
            return {self.name: given}
        if not given:
            raise UserError(f"reward {self.name} returned no component: it returns a number, or numbers by name")
        return given

    def _number(self, name: str, value: Any) -> float:
        try:
            return float(value)
        except (TypeError, ValueError) as error:
            which = "" if name == self.name else f" as component {name!r}"
            raise UserError(
                f"reward {self.name} returned {_short(value)}{which}: it returns a number, or numbers by name"
            ) from error

    def _column(self, name: str, value: Any, n: int) -> Numbers:
        try:
            column = np.asarray(value, np.float64)
        except (TypeError, ValueError) as error:
            raise UserError(
                f"reward {self.name} returned {_short(value)}: batched, it returns an array of {n} numbers"
            ) from error
        if column.shape != (n,):
            which = "" if name == self.name else f" as component {name!r}"
            raise UserError(
                f"reward {self.name} returned an array of shape {column.shape}{which} for {n} steps: its shape is ({n},)"
            )
        return column

    def _joined(self, each: Sequence[dict[str, float] | tuple[str, str]]) -> Paid:
        why = {i: one for i, one in enumerate(each) if isinstance(one, tuple)}
        given = [one if isinstance(one, dict) else {} for one in each]
        names = dict.fromkeys(name for one in given for name in one) or [self.name]
        paid = self._finite({str(n): np.array([one.get(n, 0.0) for one in given], np.float64) for n in names}, why)
        if any(len(one) < len(names) for one in given):
            for name, column in zip(names, paid.parts.values(), strict=True):
                column[[name not in one for one in given]] = np.nan
        return paid

    def _finite(self, parts: dict[str, Numbers], why: dict[int, tuple[str, str]]) -> Paid:
        """The sum of components, and what is wrong with those that are not finite."""
        total = sum(parts.values(), np.zeros(len(next(iter(parts.values())))))
        for i in np.flatnonzero(~np.isfinite(total)).tolist():
            wrong = [name for name, column in parts.items() if not math.isfinite(column[i])]
            value = parts[wrong[0]][i] if wrong else total[i]
            why.setdefault(i, (f"the reward is {value:g}", f", component {(wrong or [self.name])[0]!r}"))
        if why:
            total[list(why)] = np.nan
        return Paid(total, parts, why)


def as_step_reward(reward: Any) -> step_reward | None:
    """A reward of env steps: such a part, a function, or FILE.py:NAME of one; None stays None."""
    if reward is None or isinstance(reward, step_reward):
        return reward
    if isinstance(reward, str):
        if ".py:" not in reward:
            raise UserError(f"a reward of env steps is FILE.py:NAME of a function, not {reward!r}")
        return as_step_reward(find_in_file(reward, "reward"))
    if hasattr(reward, "leaves"):
        raise UserError(
            f"{_short(reward)} is a reward of text; one of env steps is a function of {', '.join(FIELDS[:3])} and others,"
            " without @gd.reward above it"
        )
    if not callable(reward) or isinstance(reward, type):
        raise UserError(f"a reward of env steps is a function of {', '.join(FIELDS)}, not {_short(reward)}")
    return step_reward(reward)


def copied(seen: Any) -> Any:
    """An observation that later steps do not change: environments may show one array again and again."""
    if isinstance(seen, np.ndarray):
        return seen.copy()
    if isinstance(seen, Mapping):
        return {name: copied(each) for name, each in seen.items()}
    return tuple(copied(each) for each in seen) if isinstance(seen, tuple) else seen


def rows_of(batch: Any, index: Any) -> Any:
    """Some rows, by a slice or their numbers, as a batch."""
    if isinstance(batch, Mapping):
        return {name: rows_of(each, index) for name, each in batch.items()}
    return tuple(rows_of(each, index) for each in batch) if isinstance(batch, tuple) else batch[index]


def _in_rows(batch: Any, n: int) -> list[Any]:
    """Rows one after another; of arrays of numbers and flags, those of Python, which are faster one by one."""
    if isinstance(batch, np.ndarray):
        return batch.tolist() if batch.ndim == 1 else list(batch)
    if isinstance(batch, Mapping):
        columns = {name: _in_rows(each, n) for name, each in batch.items()}
        return [{name: column[i] for name, column in columns.items()} for i in range(n)]
    return list(zip(*(_in_rows(each, n) for each in batch), strict=True)) if isinstance(batch, tuple) else list(batch)


def with_rows(batch: Any, rows: Mapping[int, Any]) -> Any:
    """The same rows, with others in the place of some."""
    if isinstance(batch, Mapping):
        return {name: with_rows(each, {i: row[name] for i, row in rows.items()}) for name, each in batch.items()}
    if isinstance(batch, tuple):
        return tuple(with_rows(each, {i: row[n] for i, row in rows.items()}) for n, each in enumerate(batch))
    changed = np.array(batch)
    for i, row in rows.items():
        changed[i] = row
    return changed


def stacked(each: Sequence[Any]) -> Any:
    """Rows as arrays: observations or actions of several worlds, whose spaces are the same."""
    first = each[0]
    if isinstance(first, Mapping):
        return {name: stacked([one[name] for one in each]) for name in first}
    if isinstance(first, tuple):
        return tuple(stacked(list(column)) for column in zip(*each, strict=True))
    return np.asarray(each)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 80 else f"{text[:77]}..."
