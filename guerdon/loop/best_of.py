"""Best of N at evaluation: what a reward is worth to somebody who samples N answers and keeps the one it likes best.

A function beside `evaluate` and not an environment: to choose inside an episode an environment would have to have rewards
and the models they read, which it is not given; and all it would hand on is the chosen try, while pass@1 and pass@N of
the very same tries are what the choice must be held against. Left out: choosing by vote, and search that branches.
"""

from __future__ import annotations

import copy
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.core.errors import RunStopped, UserError
from guerdon.core.model import Model
from guerdon.core.pack import pack
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Sampling
from guerdon.engine.play import Player
from guerdon.envs.simple import single_turn
from guerdon.loop.build import find_model, find_task
from guerdon.loop.statistics import interval, pass_at_k
from guerdon.rewards.score import score, verified

Try = tuple[float, float]  # what the reward says (NaN where it has no value), and whether it is right


def best_of(
    model: Any,
    reward: Any,
    *,
    task: Any,
    n: int = 4,
    models: Mapping[str, Any] | None = None,
    tasks: int = 64,
    seed: int = 0,
    sampling: Sampling | None = None,
) -> dict[str, Any]:
    """Accuracy on held-out problems of the try that `reward` likes best among `n`, beside pass@1 and pass@n of the same tries.

    `models` are those that the reward reads, by the names it has for them:
    `best_of("sprig", gd.outcome_model("rm"), task="countdown:2", models={"rm": run.model("rm")})`. Where several tries are
    liked best, the accuracy is the mean over them; where none of the tries has a score, one is as good as another, and
    the share of such choices is `unscored`. Tries that cannot be checked are left out.
    """
    source = find_task(task)
    if source is None or n < 1:
        raise UserError("best of what? give a task, and n of at least 1")
    playing: dict[str, Model] = {}
    for name, found in {"policy": model, **(models or {})}.items():
        made = find_model(found)
        assert isinstance(made, Model)
        playing[name] = copy.copy(made)
        playing[name].start(seed, playing)
    size = source.size("test")
    number = tasks if size is None else min(tasks, size)
    play = Player(playing, {"policy": "policy"}, single_turn(), sampling or Sampling(), derive(seed, "best_of"), 1)
    batch = pack(play([Ask(source.get("test", i), n) for i in range(number)]))
    batch = score(reward)(verified(source)(batch, play), play)
    tries: dict[int, dict[int, list[Try]]] = defaultdict(lambda: defaultdict(list))
    problem, ask = batch.task[batch.leaf].tolist(), batch.ask[batch.leaf].tolist()
    for p, a, liked, right in zip(problem, ask, batch["reward"].tolist(), batch["correct"].tolist(), strict=True):
        if right == right:
            tries[p][a].append((liked, right))
    if not tries:
        raise RunStopped("best_of has no checked try")
    asked = [list(asks.values()) for asks in tries.values()]
    return {"task": source.name, "tasks": len(tries), "tries": n, **rates(asked, n)}


def rates(problems: Sequence[Sequence[Sequence[Try]]], n: int) -> dict[str, float]:
    """pass@1, the accuracy of the choice and pass@n, each with the ends of its interval over problems, from the tries of
    each time that a problem was asked: one that came twice counts once, with the mean of its two choices. A choice is among
    the tries that could be checked; pass@n is of problems with at least n of them."""
    right = [[float(is_right >= 0.5) for tries in asked for _, is_right in tries] for asked in problems]
    found: dict[str, float] = {}
    for name, each in (
        ("pass@1", [math.fsum(r) / len(r) for r in right]),
        (f"best_of_{n}", [math.fsum(chosen(tries) for tries in asked) / len(asked) for asked in problems]),
        (f"pass@{n}", [pass_at_k(len(r), int(sum(r)), n) for r in right if len(r) >= n]),
    ):
        mean, low, high = interval(each)
        found |= {name: mean, f"{name}_low": low, f"{name}_high": high}
    blind = [all(math.isnan(liked) for liked, _ in tries) for asked in problems for tries in asked]
    return {**found, "unscored": sum(blind) / len(blind)}


def chosen(tries: Sequence[Try]) -> float:
    """How often the try that is liked best is right."""
    scored = [liked for liked, _ in tries if not math.isnan(liked)]
    best = [right for liked, right in tries if not scored or liked == max(scored)]
    return math.fsum(float(right >= 0.5) for right in best) / len(best)
