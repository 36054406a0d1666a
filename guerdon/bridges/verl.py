"""A Guerdon reward as verl's custom reward function. Tested with verl 0.9.1; importing it does not need verl.

verl loads a function by a file's path and a name, calls it for one sample at a time, and takes a number or a dict whose
`score` is one; the dict's other entries go to its log and must be the same for every sample. So `write_verl` writes such a
file. Since it sees one sample, a reward that compares within a group has nothing to compare here. verl knows no missing
score either. Its function gets the response's text and not its token ids: a reward that counts tokens needs a tokenizer.
Left out: reward managers of one's own, which would see whole batches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from guerdon.bridges.gaps import no_gaps
from guerdon.bridges.lacking import filled, warn_lacking
from guerdon.core.errors import UserError
from guerdon.rewards.asking.by_name import find_reward
from guerdon.rewards.asking.token_ids import ids_by
from guerdon.rewards.formula.reward import as_reward
from guerdon.rewards.stage.scorer import score_samples

FIX = "name the tokenizer to count by, tokenizer='MODEL OR FOLDER' in for_verl or write_verl"
MARK = '"""verl\'s custom reward function, written by guerdon.bridges.verl: '
TEXT = (
    MARK
    + '''{spec}. Regenerate it instead of editing it."""

from guerdon.bridges.verl import for_verl
from guerdon.rewards.asking.by_name import find_reward

score = for_verl(find_reward({spec!r}), missing={missing!r}, tokenizer={tokenizer!r})


def compute_score(data_source, solution_str, ground_truth, extra_info=None, **further):
    return score(data_source, solution_str, ground_truth, extra_info, **further)
'''
)


def for_verl(reward: Any, missing: float | None = None, tokenizer: Any = None) -> Callable[..., dict[str, float]]:
    """A reward as verl calls one: `score`, and each part of a formula as `reward.PART`.

    `ground_truth` is the sample's `answer`, the keys of `extra_info` are fields too (there is a `prompt` only if one of them
    is). A sample without a score stops the run, unless `missing` gives a value for it; `missing` in the log is then 1 for
    such a sample. A part without a score is NaN in the log. `tokenizer` (a model's name or folder, a tokenizer.json, a
    tokenizer) counts for rewards that count tokens.
    """
    formula = as_reward(reward)
    ids = None if tokenizer is None else ids_by(tokenizer)

    def compute_score(
        data_source: str,
        solution_str: str,
        ground_truth: Any,
        extra_info: Mapping[str, Any] | None = None,
        **further: Any,
    ) -> dict[str, float]:
        own = {"data_source": data_source, "completion": solution_str, "answer": ground_truth, "turns": [solution_str]}
        samples = filled(formula, [{**further, **(extra_info or {}), **own}], ids, FIX)
        scored = score_samples(formula, samples)
        warn_lacking(formula, samples, scored, FIX)
        (value,) = no_gaps(scored, formula.name, missing)
        parts = {f"reward.{name}": math.nan if x is None else x for name, (x,) in scored.parts.items()}
        gap = {} if missing is None else {"missing": float(scored.whole[0] is None)}
        return {"score": value, **parts, **gap}

    return compute_score


def write_verl(
    reward_spec: str, out: str | Path, missing: float | None = None, tokenizer: str | Path | None = None
) -> Path:
    """Write the file for verl's `custom_reward_function.path`; its `name` there is `compute_score`.

    `reward_spec` is FILE.py:NAME, a function or a formula. The file refers to it by its full path, so every machine of the
    run needs both, and Guerdon; so it does to `tokenizer`, a model's name or folder or a tokenizer.json.
    """
    file, name = _split(reward_spec)
    spec = f"{file.resolve()}:{name}"
    find_reward(spec)  # errors in it are reported now, not in a worker
    if tokenizer is not None:
        ids_by(tokenizer)
        tokenizer = str(Path(tokenizer).resolve() if Path(tokenizer).exists() else tokenizer)
    path = Path(out)
    if path.exists() and not path.read_text().startswith(MARK):
        raise UserError(f"{out} is there and was not written by this: choose another name")
    path.write_text(TEXT.format(spec=spec, missing=missing, tokenizer=tokenizer))
    return path


def _split(spec: str) -> tuple[Path, str]:
    file, _, name = spec.rpartition(":")
    if not file.endswith(".py") or not name.isidentifier():
        raise UserError(f"a reward for verl is FILE.py:NAME, not {spec!r}")
    return Path(file), name
