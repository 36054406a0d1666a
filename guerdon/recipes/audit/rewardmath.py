"""RewardMATH: one right solution among nine wrong ones in its own style, as a benchmark of reward models.

Paper: Kim et al. 2024, Evaluating Robustness of Reward Models for Mathematical Reasoning (arXiv:2410.01729), and the authors'
code (github.com/kimsh0507/RewardMATH_official). RewardBench's mathematics holds one right answer, which people wrote and which
skips steps, against one wrong answer of a model, which does not: who likes either style is misjudged. RewardMATH rewrites the
right one step by step and has nine wrong ones of several models; its accuracies and mean reciprocal ranks go with what policies
gain by best-of-n, and with how much they lose when a reward is optimised too far, while RewardBench's hardly do.
Here twelve small reward models are brought up on a task's solutions, some to lean to a style (`scorer_pool.py`). `spearman` is
the rank correlation, over them, of the benchmark that is asked for (`styles`, `against`) with the share of held-out problems
that the best of 64 tries solves; all four benchmarks are in `foretold`, also by reciprocal rank, and with `drop`, what is lost
between the best number of tries and 64. With confounded styles the right one is terse and wrong ones are told in words.
Departs: leanings are planted, and known; wrong solutions are near-misses and tries of one model, as are those chosen among.
Leaves out: policies trained by PPO against each reward model, generative judges, process reward models.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Study, recipe
from guerdon.core.task import Sampling
from guerdon.recipes.audit.foretelling import PoolSetting, foretold, measured_pool

NAME = "rewardmath"


@recipe(
    "rewardmath",
    family="audit",
    paper="arXiv:2410.01729",
    claim=Claim(
        says="One against nine in one style foretells what best-of-64 is worth better than one against one in two.",
        baseline=f"{NAME} styles=confounded against=1",
        ablation=f"{NAME} styles=confounded",
        task="countdown:4",
        model="sprig-2",
        metric="spearman",
        effect=0.1,
        budget=656,  # steps of all twelve
        unit="steps",
    ),
    needs=Needs(errors=True, text=True, learns_from="pairs for the reward models that it tests"),
    helps=("noisy-judge",),
)
def rewardmath(
    task: Any,
    model: Model,
    *,
    styles: Literal["matched", "confounded"] = "matched",
    against: int = 9,  # wrong ones beside the right one
    pool: int = 12,  # the first so many of the reward models
    steps: int = 64,  # of the longest upbringing
    prompts: int = 32,
    rm_lr: float = 3e-4,  # as reward_model; it is the same for all arms, so nobody tunes it
    lessons: int = 2048,  # problems to learn from
    problems: int = 128,  # held-out ones to be asked about, and as many to choose among tries at
    tries: int = 64,
    max_tokens: int = 80,
) -> Study:
    """Bring up reward models, score them by a benchmark, and see how well it foretells what they choose."""

    def body(run: Any, seed: int) -> dict[str, Any]:
        setting = PoolSetting(pool, steps, prompts, rm_lr, lessons, problems, tries, Sampling(max_tokens=max_tokens))
        table = measured_pool(run, task, model, setting, against=(1, against))
        rows, drop = (foretold(table, what) for what in (f"best_of@{tries}", "drop"))
        return {"spearman": rows[f"{styles}_{against}"], "foretold": rows, "drop": drop, "table": table}

    return Study(body)
