"""Guerdon rewards in `verifiers`, and one of its rubrics as a Guerdon reward. Needs no verifiers to be imported.

Rubrics are tested with verifiers 0.3.1, the last version that has them; tasks, which replace them, with 0.4.0.
A Rubric turns whatever a function raises into the reward 0. So nothing is raised into one: a sample without a score gets
NaN, which no one takes for a reward, unless another number is chosen. And in the other direction a Rubric's functions are
watched, and what one of them raises makes the sample *failed*. A task records what is raised as an error, and no reward.
Where a client of verifiers kept the tokens that were sampled, the last reply's are the sample's `actions`.
Left out: rubrics with functions over whole groups as rewards.
"""

from __future__ import annotations

import copy
import functools
import inspect
import math
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import numpy as np

from guerdon.bridges.chat_text import content, runs, sample
from guerdon.bridges.gaps import no_gaps
from guerdon.bridges.lacking import filled, warn_lacking
from guerdon.core.errors import Notice, UserError
from guerdon.core.part import part
from guerdon.core.score import Score
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.asking.token_ids import ids_by
from guerdon.rewards.formula.reward import Reward, as_reward
from guerdon.rewards.stage.scorer import SampleScores, score_samples_later

FIX = "name the tokenizer to count by, tokenizer='MODEL OR FOLDER'"


def for_verifiers(
    reward: Any, missing: float = math.nan, group: bool = False, name: str | None = None, tokenizer: Any = None
) -> Callable[..., Awaitable[Any]]:
    """A Guerdon reward as a function for `Rubric(funcs=[...])`.

    Fields are the rollout's prompt, completion and answer, the keys of its `info`, the other columns of its row, and
    `state`. Where there is no score, because it does not apply, failed or timed out, it returns `missing`, with a
    warning. With `group` it is a function over the rollouts of a group, for rewards that compare (`normalised`). A
    `tokenizer` (a model's name or folder, a tokenizer.json, a tokenizer) counts tokens where the rollout has none.
    """
    formula = as_reward(reward)
    called, ids = name or formula.name, None if tokenizer is None else ids_by(tokenizer)

    async def one(prompt: Any, completion: Any, state: Any, answer: Any = "", info: Any = None) -> float:
        samples = [_sample(prompt, completion, answer, state, info)]
        return (await _numbers(formula, samples, [0], missing, called, ids))[0]

    async def several(prompts: Any, completions: Any, answers: Any, states: Any, infos: Any) -> list[float]:
        columns = zip(prompts, completions, answers, states, infos, strict=True)
        return await _numbers(formula, [_sample(*each) for each in columns], runs(prompts), missing, called, ids)

    function: Callable[..., Awaitable[Any]] = several if group else one
    function.__name__ = called
    return function


def for_verifiers_task(
    reward: Any, missing: float | None = None, name: str | None = None, tokenizer: Any = None
) -> Callable[..., Any]:
    """A Guerdon reward as a method of a task: `score = vf.reward(for_verifiers_task(formula))` in a class of `vf.Task`.

    Fields are the prompt, the model's turns, every other entry of the task's data (`answer`, ...) and `trace`. A sample
    without a score raises, unless `missing` gives a value for it. `tokenizer` is that of `for_verifiers`.
    """
    formula = as_reward(reward)
    called, ids = name or formula.name, None if tokenizer is None else ids_by(tokenizer)

    async def method(self: Any, trace: Any) -> float:
        row = dict(self.data)
        prompt = row.pop("prompt", None)
        replies = [{"role": "assistant", "content": content(m)} for m in trace.assistant_messages]
        fields = sample([] if prompt is None else prompt, replies, {**row, "trace": trace})
        first = getattr(trace, "root_reply", None)  # 0.3.1 has none
        if first is not None:  # other agents spoke after the one that is judged
            fields["completion"] = first
        elif (tokens := _sampled(trace)) is not None:
            fields["actions"] = tokens
        samples = filled(formula, [fields], ids, FIX)
        scored = await score_samples_later(formula, samples)
        warn_lacking(formula, samples, scored, FIX)
        return no_gaps(scored, called, missing)[0]

    method.__name__ = called
    return method


def _sampled(trace: Any) -> np.ndarray | None:
    """The tokens of the model's last reply, where the trace has them: those of its message that were sampled."""
    replies = [node for node in getattr(trace, "nodes", None) or () if getattr(node, "sampled", False)]
    if not replies or not getattr(replies[-1], "token_ids", None):
        return None
    pairs = zip(replies[-1].token_ids, replies[-1].mask, strict=True)
    return np.array([token for token, is_sampled in pairs if is_sampled], np.int64)


async def _numbers(
    reward: Reward,
    samples: Sequence[Mapping[str, Any]],
    group: Sequence[int],
    missing: float,
    name: str,
    ids: Any,
) -> list[float]:
    try:
        samples = filled(reward, samples, ids, FIX)
        scored = await score_samples_later(reward, samples, group)
    except UserError as error:  # raised, it would count as 0
        _warn(f"{error}; {len(samples)} samples get {missing:g}")
        return [missing] * len(samples)
    _warn_missing(scored, name, missing)
    return [missing if x is None else x for x in scored.whole]


def _warn_missing(scored: SampleScores, name: str, missing: float) -> None:
    gaps = [n for n, x in enumerate(scored.whole) if x is None]
    if gaps:
        first = scored.in_words(gaps[0])
        _warn(
            f"{name} gave no score for {len(gaps)} of {len(scored.whole)} samples, first: {first}; they get {missing:g}"
        )


def _warn(line: str) -> None:
    try:
        warnings.warn(line, Notice, stacklevel=4)
    except Notice:  # where warnings are errors: raised, it would count as 0
        return


def _sample(prompt: Any, completion: Any, answer: Any, state: Mapping[str, Any], info: Any) -> dict[str, Any]:
    row = state.get("input")
    columns = {**(row if isinstance(row, Mapping) else {}), **(info if isinstance(info, Mapping) else {})}
    task = state.get("task")
    steps = state.get("trajectory") or [{}]
    tokens = steps[-1].get("tokens") or {}
    known = {} if task is None else {"task": task}
    if tokens.get("completion_ids"):
        known["actions"] = np.asarray(tokens["completion_ids"])
    return sample(
        prompt,
        completion if completion is not None else [],
        {**columns, "answer": answer, "state": state, "info": info or {}, **known},
    )


@part
class rubric_reward(Leaf):
    """A verifiers Rubric as a reward: the reward it gives a rollout, with its metrics as parts. Made by `from_verifiers`."""

    rubric: Any
    chat: bool = True

    @property
    def name(self) -> str:
        return type(self.rubric).__name__.lower()

    async def __call__(self, prompt: str, completion: str, answer: Any = "", **fields: Any) -> Score:
        state = {
            "prompt": [{"role": "user", "content": prompt}] if self.chat else prompt,
            "completion": [{"role": "assistant", "content": completion}] if self.chat else completion,
            "answer": answer,
            "info": dict(fields.get("meta", {})),
            "trajectory": [],
        }
        raised: list[Exception] = []
        await _watched(self.rubric, raised).score_rollout(state)
        if raised:
            raise raised[0]
        return Score(float(state["reward"]), parts=dict(state["metrics"]))


def from_verifiers(rubric: Any, chat: bool = True) -> rubric_reward:
    """A verifiers Rubric as a Guerdon reward. `meta` becomes the rollout's `info`; without `chat` it sees plain strings."""
    if not hasattr(rubric, "score_rollout"):
        raise UserError(f"a verifiers Rubric has score_rollout, {rubric!r} has not")
    if getattr(rubric, "has_group_rewards", False):
        raise UserError(
            "this Rubric has functions over whole groups, a reward is asked about one sample: leave them out"
        )
    return rubric_reward(rubric, chat)


def _watched(rubric: Any, raised: list[Exception]) -> Any:
    """A copy of a rubric, or of a group of them, that notes what its functions raise before the rubric makes it 0."""
    twin = copy.copy(rubric)
    twin.funcs = [_noting(function, raised) for function in rubric.funcs]
    if hasattr(rubric, "rubrics"):
        twin.rubrics = [_watched(inner, raised) for inner in rubric.rubrics]
    return twin


def _noting(function: Callable[..., Any], raised: list[Exception]) -> Callable[..., Any]:
    @functools.wraps(function)  # the rubric reads its name and its arguments
    async def noting(*args: Any, **fields: Any) -> float:
        try:
            score = function(*args, **fields)
            return float(await score if inspect.isawaitable(score) else score)
        except Exception as error:
            raised.append(error)
            raise

    return noting
