"""Guerdon rewards in TRL, and TRL's reward functions in Guerdon. Tested with TRL 1.16.0; importing it does not need TRL.

TRL calls a reward function with a step's prompts, completions and dataset columns as lists, and leaves out what is None.
A group is a run of equal prompts, as TRL repeats them; with several processes each sees its own share, so what compares
within a group (`normalised`) needs whole groups on one process. It also hands over `completion_ids`, the token ids of each
completion to its end: they are the sample's `actions`, for rewards that count tokens, where the completion is a single turn.
Left out: reward models as TRL loads them, and environments that pay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from guerdon.bridges.chat_text import runs, sample
from guerdon.bridges.gaps import warn_broken
from guerdon.bridges.lacking import filled, warn_lacking
from guerdon.core.errors import UserError
from guerdon.core.knob_values import is_schedule
from guerdon.rewards.asking.by_name import find_reward
from guerdon.rewards.asking.token_ids import ids_by
from guerdon.rewards.asking.trl_form import from_trl
from guerdon.rewards.formula.reward import Reward, as_reward, blended, weighted
from guerdon.rewards.stage.scorer import SampleScores, score_samples

__all__ = ["components_for_trl", "for_trl", "from_trl"]
LEFT_OUT = "TRL leaves them out"
FIX = "name the tokenizer to count by, for_trl(reward, tokenizer='MODEL OR FOLDER')"


class TrlReward:
    """A reward as TRL calls one. Made by `for_trl`."""

    def __init__(self, reward: Reward, missing: float | None, name: str, tokenizer: Any = None) -> None:
        self.reward, self.missing, self.__name__, self.tokenizer = reward, missing, name, tokenizer
        self.before: dict[str, float] = {}  # the means of the call before, for schedules that follow one

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
        scored = self.score(prompts, completions, columns)
        warn_broken(scored, self.__name__, LEFT_OUT)
        pairs = zip(scored.whole, scored.broken, strict=True)
        return [self.missing if value is None and not broken else value for value, broken in pairs]

    def score(self, prompts: Sequence[Any], completions: Sequence[Any], columns: dict[str, Any]) -> SampleScores:
        """Score one call's samples, each column's entry a field of its sample."""
        by_sample = {n: c for n, c in columns.items() if isinstance(c, list | tuple) and len(c) == len(completions)}
        samples = [
            _sample(prompt, completion, {name: column[n] for name, column in by_sample.items()})
            for n, (prompt, completion) in enumerate(zip(prompts, completions, strict=True))
        ]
        known = filled(self.reward, samples, self.tokenizer, FIX)
        state = columns.get("trainer_state")
        step, steps = (0, 1) if state is None else (state.global_step, max(1, state.max_steps))
        scored = score_samples(self.reward, known, runs(prompts), step, steps, self.before)
        warn_lacking(self.reward, known, scored, FIX)
        self.before = scored.means
        return scored


def _sample(prompt: Any, completion: Any, columns: dict[str, Any]) -> dict[str, Any]:
    """One sample's fields. TRL's ids are those of the whole completion: of several turns they are not the last one's."""
    fields, ids = sample(prompt, completion, columns), columns.get("completion_ids")
    is_known = "actions" not in fields and ids is not None and len(fields["turns"]) == 1
    return {**fields, "actions": np.asarray(ids)} if is_known else fields


def for_trl(
    reward: Any, missing: float | Literal["none"] = "none", name: str | None = None, tokenizer: Any = None
) -> TrlReward:
    """A Guerdon reward, a function or a formula, or what `--reward` names (`for_trl("runs/rm")`: the reward model that a run
    trained), for the `reward_funcs` of a TRL trainer.

    Where it does not apply TRL gets None, or the number `missing`. Where it failed or timed out TRL gets None in any case,
    and a warning counts them. `name` is what TRL logs it by; two of the same name would overwrite each other there.

    Rewards that count tokens have those that TRL sampled. Where it hands over none, as in a conversation of several turns,
    `tokenizer` counts: a model's name or folder, a tokenizer.json, or the trainer's own (`processing_class`).
    """
    formula = find_reward(reward) if isinstance(reward, str) else as_reward(reward)
    if missing != "none" and (isinstance(missing, str | bool) or not isinstance(missing, int | float)):
        raise UserError(f"missing is a number or 'none', not {missing!r}")
    ids = None if tokenizer is None else ids_by(tokenizer)  # errors in it are reported now
    return TrlReward(formula, None if missing == "none" else float(missing), name or formula.name, ids)


class TrlComponent:
    """One term of a sum as TRL calls it. The terms of a sum share one scoring of each call's samples."""

    def __init__(self, name: str, shared: _Shared) -> None:
        self.__name__, self.shared = name, shared

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
        scored = self.shared.ask(self.__name__, prompts, completions, columns)
        values = scored.parts[self.__name__]
        # A term that fails makes the sum fail. TRL would add up the others: so none of them has a number either.
        return [None if broken else x for x, broken in zip(values, scored.broken, strict=True)]


class _Shared:
    """The scores of the samples last asked about. A second call by the same term scores them again."""

    def __init__(self, whole: TrlReward) -> None:
        self.whole = whole
        self.samples: tuple[Any, Any] = (None, None)  # held, so that what `is` the same was never another list
        self.scored: SampleScores | None = None
        self.asked: set[str] = set()

    def ask(
        self, name: str, prompts: Sequence[Any], completions: Sequence[Any], columns: dict[str, Any]
    ) -> SampleScores:
        same = self.samples[0] is prompts and self.samples[1] is completions
        if self.scored is None or not same or name in self.asked:
            self.scored = self.whole.score(prompts, completions, columns)
            self.samples, self.asked = (prompts, completions), set()
            warn_broken(self.scored, str(self.whole.reward), LEFT_OUT)
        self.asked.add(name)
        return self.scored


def components_for_trl(
    formula: Any, tokenizer: Any = None
) -> tuple[list[Callable[..., list[float | None]]], list[float]]:
    """A weighted sum as TRL's `reward_funcs` and `reward_weights`, so that TRL logs every term by its name.

    TRL's total is the formula's: a term that does not apply is left out of both, and a sample of which a term broke has no
    total in either. A reward that is not a sum is one term. `tokenizer` is that of `for_trl`.
    """
    whole = as_reward(formula)
    if isinstance(whole, weighted):
        whole = blended({whole.name: whole})
    if not isinstance(whole, blended):
        return [for_trl(whole, tokenizer=tokenizer)], [1.0]
    if whole.renormalise:
        raise UserError("TRL adds up with fixed weights and cannot renormalise: use for_trl(formula) for this sum")
    weights = {name: term.by if isinstance(term, weighted) else 1.0 for name, term in whole.terms.items()}
    moving = [name for name, weight in weights.items() if is_schedule(weight) or hasattr(weight, "follow")]
    if moving:
        raise UserError(
            f"TRL's weights are fixed and that of {moving[0]!r} has a schedule: use for_trl(formula) for this sum"
        )
    shared = _Shared(for_trl(whole, tokenizer=tokenizer))
    terms: list[Callable[..., list[float | None]]] = [TrlComponent(name, shared) for name in weights]
    return terms, [float(weight) for weight in weights.values()]
