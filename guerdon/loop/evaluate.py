"""Held-out accuracy: pass@1, pass@k without bias, and intervals over tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from guerdon.core.errors import RunStopped
from guerdon.core.model import Model
from guerdon.core.pack import pack
from guerdon.core.play import Env
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Sampling, TaskSource
from guerdon.engine.play import Player
from guerdon.loop.statistics import interval, pass_at_k
from guerdon.rewards.score import verified


def evaluate(
    models: Mapping[str, Model],
    seats: Mapping[str, str],
    env: Env,
    task: TaskSource,
    sampling: Sampling,
    *,
    tasks: int = 64,
    tries: int = 4,
    seed: int = 0,
) -> dict[str, Any]:
    """Play the first `tasks` held-out problems `tries` times each. The same seed gives the same tries for equal weights.

    A problem that comes twice counts once, with all its tries: intervals are over different problems.

    Tries that could not be checked are in no rate; their share is `missing`. With several kinds of problems, `kinds` has
    the pass@1 of each.
    """
    size = task.size("test")
    number = tasks if size is None else min(tasks, size)
    play = Player(models, seats, env, sampling, derive(seed, "evaluate"), 1)
    batch = pack(play([Ask(task.get("test", i), tries) for i in range(number)]))
    batch = verified(task)(batch, play)
    column = batch.cols["correct"]
    scores: dict[int, list[float]] = defaultdict(list)
    kind: dict[int, str] = {}
    checked: set[int] = set()
    tried = batch.episode[batch.leaf].tolist()
    for problem, episode, value in zip(batch.task[batch.leaf].tolist(), tried, column.value.tolist(), strict=True):
        if value == value:
            scores[problem].append(value)
            kind[problem] = batch.episodes[episode].task.kind
            checked.add(episode)
    if not scores:
        errors = [d["error"] for d in column.detail.values() if "error" in d]
        errors += [str(e.info["error"]) for e in batch.episodes if e.failed]
        first = errors[0] if errors else "no task could be checked"
        raise RunStopped(f"evaluation has no checked try: {first.strip().splitlines()[-1]}")
    return {
        "task": task.name,
        "tasks": len(scores),
        "tries": tries,
        **_rates(list(scores.values()), tries),
        **_by_kind(scores, kind),
        "missing": 1.0 - len(checked) / len(batch.episodes),
        "length": float(batch.length.double().sum() / max(1, batch.K)),
    }


def _by_kind(scores: Mapping[int, list[float]], kind: Mapping[int, str]) -> dict[str, Any]:
    """pass@1 of each kind of problem, where there are several."""
    found: dict[str, list[float]] = defaultdict(list)
    for problem, tried in scores.items():
        found[kind[problem]].append(sum(v >= 0.5 for v in tried) / len(tried))
    return {"kinds": {k: sum(v) / len(v) for k, v in found.items()}} if len(found) > 1 else {}


def _rates(scores: list[list[float]], tries: int) -> dict[str, float]:
    """pass@1 and, by powers of two up to `tries`, pass@k, each with the ends of its interval."""
    found: dict[str, float] = {}
    k = 1
    while k <= tries:
        enough = [s for s in scores if len(s) >= k]
        rates = [pass_at_k(len(s), sum(v >= 0.5 for v in s), k) for s in enough]
        mean, low, high = interval(rates)
        found |= {f"pass@{k}": mean, f"pass@{k}_low": low, f"pass@{k}_high": high}
        k = k * 2 if k * 2 <= tries or k == tries else tries
    return found
