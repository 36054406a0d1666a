"""Scores for files that have texts and none: a reward is asked about each text first, by the house's one scorer.

A row's other columns are fields of its samples, for rewards that ask for them by name. Where the reward gives no score, there
is none: it is counted as missing. Texts that are lists of messages are not scored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.audits.scores.protocol_list import ScoreProtocol, TextSlot
from guerdon.audits.scores.score_rows import ScoreRow, ScoreRows
from guerdon.core.errors import UserError
from guerdon.rewards.asking.by_name import find_reward
from guerdon.rewards.stage.scorer import score_samples


def scored_by(reward: Any, rows: ScoreRows, protocol: ScoreProtocol) -> ScoreRows:
    """The rows with the scores that a reward (a function, a formula, FILE.py:NAME, a trained model) gives to their texts."""
    if not protocol.texts:
        raise UserError(f"{protocol.name} is by scores of steps or verdicts: a reward of whole texts cannot give them")
    formula = find_reward(reward) if isinstance(reward, str) else reward
    samples: list[dict[str, Any]] = []
    groups: list[int] = []
    for number, row in enumerate(rows):
        for slot in protocol.texts:
            texts = _texts(row, slot)
            samples += [_sample(row.values, slot, text) for text in texts]
            groups += [number] * len(texts)
    scores = iter(score_samples(formula, samples, groups).whole)
    return ScoreRows([_scored(row, protocol.texts, scores) for row in rows], rows.name)


def _texts(row: ScoreRow, slot: TextSlot) -> Sequence[str]:
    value = row.value(slot.text)
    texts = value if isinstance(value, list) else [value]
    if not texts or not all(isinstance(text, str) for text in texts):
        row.refuse(f"{slot.text} is a text or a list of texts where a reward is to score it")
    return texts


def _sample(values: Mapping[str, Any], slot: TextSlot, text: str) -> dict[str, Any]:
    own = {name: value for name, value in values.items() if name not in (slot.text, "completion")}
    prompt = values.get(slot.prompt)
    return {**own, "prompt": prompt if isinstance(prompt, str) else "", "completion": text}


def _scored(row: ScoreRow, slots: Sequence[TextSlot], scores: Any) -> ScoreRow:
    given = {slot.score: [next(scores) for _ in _texts(row, slot)] for slot in slots}
    return ScoreRow({**row.values, **given}, row.where)
