"""OpenRLHF's remote reward: what comes in its request, and what its client reads from the answer. Tested with 0.11.2.

The request has lists `query` (prompt and completion as one text, special tokens and all), `prompts` and `labels`; the
answer has lists `rewards`, `scores` and, for the log, `extra_logs`. The client sends one sample at a time, so a reward that
compares within a group has nothing to compare here. It knows no missing score: None for a reward breaks its run later on,
and every sample must have the same logs. No token ids come with a request: a reward that counts tokens needs a tokenizer.
The HTTP server is in `serve`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.bridges.chat_text import runs
from guerdon.bridges.gaps import no_gaps
from guerdon.bridges.lacking import filled, warn_lacking
from guerdon.core.errors import UserError
from guerdon.rewards.formula.reward import as_reward
from guerdon.rewards.stage.scorer import SampleScores, score_samples

FIX = "name the tokenizer to count by, openrlhf_answer(..., tokenizer='MODEL OR FOLDER')"
ENDS = ("</s>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<end_of_turn>", "<eos>")


def openrlhf_answer(
    reward: Any,
    request: Mapping[str, Any],
    missing: float | None = None,
    ends: Sequence[str] = ENDS,
    tokenizer: Any = None,
) -> dict[str, Any]:
    """The answer to one request. A label is the sample's `answer`; a label that is an object gives its keys as fields too.

    `ends` are the end-of-turn texts cut off a completion. A sample without a score stops the run, unless `missing` gives
    a value for it; the log then has `missing`, 1 for such a sample. A part without a score is NaN in the log. `tokenizer` (a
    model's name or folder, a tokenizer.json, a tokenizer) counts for rewards that count tokens.
    """
    formula = as_reward(reward)
    samples = filled(formula, samples_of(request, ends), tokenizer, FIX)
    scored = score_samples(formula, samples, groups_of(samples))
    warn_lacking(formula, samples, scored, FIX)
    return answer_of(scored, formula.name, missing)


def answer_of(scored: SampleScores, name: str, missing: float | None = None) -> dict[str, Any]:
    """The answer made of scores; `name` is the reward's, for messages about missing ones."""
    rewards = no_gaps(scored, name, missing)
    logs = {name: [math.nan if x is None else x for x in part] for name, part in scored.parts.items()}
    if missing is not None:
        logs["missing"] = [float(x is None) for x in scored.whole]
    return {"rewards": rewards, "scores": rewards, "extra_logs": logs}


def groups_of(samples: Sequence[Mapping[str, Any]]) -> list[int]:
    """Neighbours with one prompt are tries at it."""
    return runs([sample["prompt"] for sample in samples])


def samples_of(request: Mapping[str, Any], ends: Sequence[str] = ENDS) -> list[dict[str, Any]]:
    """A request's samples, by their fields."""
    queries, prompts, labels = (request.get(name) for name in ("query", "prompts", "labels"))
    if not isinstance(queries, list) or not isinstance(prompts, list) or len(queries) != len(prompts):
        raise UserError("an OpenRLHF request has lists `query` and `prompts` of one length: send both")
    if labels is not None and (not isinstance(labels, list) or len(labels) != len(queries)):
        raise UserError(f"an OpenRLHF request has one of `labels` for each query: {len(queries)} are needed")
    samples = []
    for n, (query, prompt) in enumerate(zip(queries, prompts, strict=True)):
        fields = {"prompt": prompt, "completion": _completion(query, prompt, ends, n)}
        label = None if labels is None else labels[n]
        if label is not None:
            fields = {**(label if isinstance(label, Mapping) else {}), **fields, "answer": label}
        samples.append(fields)
    return samples


def _completion(query: str, prompt: str, ends: Sequence[str], index: int) -> str:
    if not query.startswith(prompt):
        raise UserError(
            f"query {index} does not begin with its prompt {prompt[:40]!r}, so where the completion begins is unknown: was the "
            "prompt cut? Raise OpenRLHF's maximum length, or leave longer prompts out"
        )
    completion = query[len(prompt) :]
    while True:
        end = next((e for e in ends if completion.endswith(e)), None)
        if end is None:
            return completion
        completion = completion[: -len(end)]
