"""RewardBench 2: best-of-4 items as a benchmark of reward models, in place of pairs.

Paper: Malik et al. 2025, RewardBench 2: Advancing Reward Model Evaluation (arXiv:2506.01937). An item has one chosen completion
and three rejected ones, and counts where the chosen one scores highest (25 % by chance); models score some twenty points lower
than on pairs, and the scores go with what is gained by best-of-N, of 16 completions and more.
Here twelve small reward models of many qualities are brought up on a task's solutions (`scorer_pool.py`). `spearman` is the
rank correlation, over them, of the share of items in which the right one is first (`against` three wrong ones, or one) with
what the best of 16 tries gains over one try. `score` is that share, on average over the pool.
Departs: one domain, mathematics, where the paper has six, and items by a checker in place of people and models.
Leaves out: Ties, whose rule wants several right answers; policies trained by PPO against the reward models, and so the loss
where a policy and its reward model grow from different ones.
"""

from __future__ import annotations

from statistics import fmean
from typing import Any

from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Study, recipe
from guerdon.core.task import Sampling
from guerdon.recipes.audit.foretelling import PoolSetting, foretold, measured_pool

NAME = "rewardbench-2"


@recipe(
    "rewardbench-2",
    family="audit",
    paper="arXiv:2506.01937",
    claim=Claim(
        says="Best-of-4 items foretell what reward models gain by best-of-16 at least as well as pairs do.",
        kind="at least as good",
        baseline=f"{NAME} against=1",
        task="countdown:4",
        model="sprig-2",
        metric="spearman",
        effect=0.05,
        budget=656,  # steps of all twelve
        unit="steps",
    ),
    needs=Needs(errors=True, text=True, learns_from="pairs for the reward models that it tests"),
    helps=("noisy-judge",),
)
def rewardbench_2(
    task: Any,
    model: Model,
    *,
    against: int = 3,  # wrong ones beside the right one
    pool: int = 12,  # the first so many of the reward models
    steps: int = 64,  # of the longest upbringing
    prompts: int = 32,
    rm_lr: float = 3e-4,  # as reward_model; it is the same for all arms, so nobody tunes it
    lessons: int = 2048,  # problems to learn from
    problems: int = 192,  # held-out ones to be asked about, and as many to choose among tries at
    tries: int = 16,
    max_tokens: int = 80,
) -> Study:
    """Bring up reward models, score them by items of several wrong ones, and see how well that foretells what they gain."""

    def body(run: Any, seed: int) -> dict[str, Any]:
        setting = PoolSetting(pool, steps, prompts, rm_lr, lessons, problems, tries, Sampling(max_tokens=max_tokens))
        table = measured_pool(run, task, model, setting, against=(1, against))
        rows, own = foretold(table, "gain"), f"matched_{against}"
        score = fmean(row[own] for row in table.values())
        return {"spearman": rows[own], "score": score, "foretold": rows, "table": table}

    return Study(body)
