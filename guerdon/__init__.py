"""Guerdon: reward engineering in reinforcement learning.

`import guerdon as gd` costs next to nothing: names are loaded when they are first used, torch with the first that needs it.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_WHERE = {
    "train": "guerdon.loop.api",
    "evaluate": "guerdon.loop.api",
    "best_of": "guerdon.loop.api",
    "replay": "guerdon.loop.replay",
    "Options": "guerdon.loop.record",
    "Run": "guerdon.store.run",
    "recipe": "guerdon.core.recipe",
    "Recipe": "guerdon.core.recipe",
    "Study": "guerdon.core.recipe",
    "Claim": "guerdon.core.recipe",
    "Exam": "guerdon.exams.exam",
    "Sitting": "guerdon.exams.exam",
    "Learn": "guerdon.core.learn",
    "Task": "guerdon.core.task",
    "Ask": "guerdon.core.task",
    "Sampling": "guerdon.core.task",
    "Segment": "guerdon.core.episode",
    "Episode": "guerdon.core.episode",
    "End": "guerdon.core.episode",
    "Batch": "guerdon.core.batch",
    "Pairs": "guerdon.core.batch",
    "Column": "guerdon.core.column",
    "Reason": "guerdon.core.column",
    "pack": "guerdon.core.pack",
    "unpack": "guerdon.core.pack",
    "part": "guerdon.core.part",
    "knob": "guerdon.core.part",
    "state": "guerdon.core.part",
    "check_task": "guerdon.tasks.contract",
    "check_reward": "guerdon.rewards.contract",
    "reward": "guerdon.rewards.function",
    "score_samples": "guerdon.rewards.scoring",
    "Score": "guerdon.rewards.plain",
    **dict.fromkeys(("blend", "product", "least", "most", "clip", "normalised"), "guerdon.rewards.algebra"),
    **dict.fromkeys(("gate", "veto", "bonus", "bounded", "cascade"), "guerdon.rewards.gates"),
    **dict.fromkeys(("delta", "potential", "overall"), "guerdon.rewards.along"),
    "following": "guerdon.rewards.following",
    **dict.fromkeys(("exact", "one_of", "same_set", "numeric", "maths", "matches"), "guerdon.rewards.answers"),
    **dict.fromkeys(("json_schema", "token_f1", "bleu", "rouge_l"), "guerdon.rewards.answers"),
    **dict.fromkeys(("follows", "length", "cosine_length", "overlong", "repetition"), "guerdon.rewards.shape"),
    **dict.fromkeys(("majority", "win_rate"), "guerdon.rewards.groups"),
    **dict.fromkeys(("self_certainty", "low_entropy", "likelihood"), "guerdon.rewards.confidence"),
    "implicit": "guerdon.rewards.implicit",
    **dict.fromkeys(("outcome_model", "process_model"), "guerdon.rewards.model_scores"),
    **dict.fromkeys(("recall", "ndcg", "reciprocal_rank", "rank_incentive"), "guerdon.rewards.retrieval"),
    "perplexity_gain": "guerdon.rewards.gain",
    **dict.fromkeys(("count_novelty", "embedding_novelty", "rnd"), "guerdon.rewards.novelty"),
    "human_feedback": "guerdon.rewards.feedback",
    "remote": "guerdon.bridges.remote",
    **dict.fromkeys(("judge", "yes", "self_judge"), "guerdon.judges.judge"),
    **dict.fromkeys(("pairwise", "listwise"), "guerdon.judges.compare"),
    **dict.fromkeys(("rubric", "criterion"), "guerdon.judges.rubric"),
    **dict.fromkeys(("endpoint", "patience"), "guerdon.judges.endpoint"),
    **dict.fromkeys(("local", "run_model"), "guerdon.judges.local"),
    **dict.fromkeys(("Answerer", "Asked", "Answer"), "guerdon.judges.answerer"),
    "UserError": "guerdon.core.errors",
    "RunStopped": "guerdon.core.errors",
}

__all__ = ["__version__", *_WHERE]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'guerdon' has no attribute {name!r}")
    value = getattr(importlib.import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
