"""Fields that rewards need and samples of other libraries do not have: token ids are filled in, others are refused.

A reward that needs a field it is not given would not apply, sample after sample, without a word: that is an error of one line.
One that has all it needs and answers None does not apply for its own reasons, which is not an error.
In between is one that could do without a field, was not given it and never applied: it gets a warning.
Left out: scores that broke (`gaps.py`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from guerdon.core.column import Reason
from guerdon.core.errors import Notice, UserError
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.asking.token_ids import counts_tokens, with_token_ids
from guerdon.rewards.formula.reward import Reward
from guerdon.rewards.stage.scorer import SampleScores, names_of

Fields = Mapping[str, Any]
RUN_ONLY = ("task", "episode", "path", "made", "view")  # others have them only as columns of their own
ACTIONS = "actions"


def filled(formula: Reward, samples: Sequence[Fields], tokenizer: Any, fix: str) -> Sequence[Fields]:
    """Samples as the formula needs them: where token ids are needed, samples without get them by `tokenizer`, if any.

    What is needed and missing is refused; `fix` is the fix: how a user of this library names a tokenizer.
    """
    wants = [leaf.wants for leaf in formula.leaves]
    if tokenizer is not None and any(ACTIONS in each.names or each.any_name for each in wants):
        samples = with_token_ids(samples, tokenizer)
    without = sum(sample.get(ACTIONS) is None for sample in samples)
    for leaf in formula.leaves if samples else ():
        if without and counts_tokens(leaf):
            words = ", or count in words (unit='words')" if hasattr(leaf, "unit") else ""
            raise UserError(
                f"reward {leaf.name} counts tokens, and {without} of {len(samples)} samples came without their ids"
                f" (`{ACTIONS}`): {fix}{words}"
            )
        _refuse_run_only(leaf, samples)
    return samples


def _refuse_run_only(leaf: Leaf, samples: Sequence[Fields]) -> None:
    for name in RUN_ONLY:
        is_needed = name in leaf.wants.names and name not in leaf.wants.optional
        if is_needed and not any(name in sample or name in (sample.get("meta") or {}) for sample in samples):
            raise UserError(f"reward {leaf.name} {only_in_a_run(name)}")


def only_in_a_run(name: str) -> str:
    """Why a field is not there, and what to take instead."""
    return (
        f"needs {name!r}, which only a training run has: let it take prompt, completion, answer or fields of your own"
    )


def warn_lacking(formula: Reward, samples: Sequence[Fields], scored: SampleScores, fix: str) -> None:
    """Report the leaves that applied to no sample and miss a field that they could have used."""
    for name, leaf, reasons in _leaves(formula, scored):
        if samples and all(reason is Reason.NOT_APPLICABLE for reason in reasons):
            there = {name for sample in samples for name in (*sample, *(sample.get("meta") or {}))}
            lacking = [each for each in leaf.wants.names if each not in there]
            if lacking:
                how = f": {fix}" if ACTIONS in lacking else ""
                line = f"{name} applied to none of {len(samples)} samples, and none has the {lacking[0]!r} it asks for"
                warnings.warn(line + how, Notice, stacklevel=4)


def _leaves(formula: Reward, scored: SampleScores) -> Iterator[tuple[str, Leaf, list[Reason]]]:
    """Each leaf of a formula with its name there and its value for each sample."""
    if isinstance(formula, Leaf):
        yield formula.name, formula, scored.reasons
    for path, name in names_of(formula).items():
        part = formula
        for each in path:
            part = part.of[each]
        if isinstance(part, Leaf):
            yield name, part, scored.part_reasons[name]
