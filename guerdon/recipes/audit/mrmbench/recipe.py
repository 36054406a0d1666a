"""MRMBench: is what a reward model knows of single traits of an answer a better sign of its worth than how it ranks pairs?

Paper: Wang et al. 2025, Probing Preference Representations: A Multi-Dimensional Evaluation and Analysis Method for Reward
Models (arXiv:2511.12464; github.com/wangclnlp/MRMBench). On frozen hidden states of a reward model a probe is taught to tell
each of six traits: harmlessness, helpfulness, correctness, coherence, complexity, verbosity. The mean accuracy of the probes
goes with how good policies become that are trained by it (correlations above 0.8), and is offered in place of pairs.
Here answers are made of a task's solutions with six such traits, each by lot, and are worth a weighed sum of them. Reward
models of a pool learn pairs that differ in some traits only, each in others, for longer or shorter. `spearman` is the rank
correlation, over the pool, of the probes' mean accuracy (`by=probes`) or of the accuracy on pairs that differ in anything
(`by=pairs`) with the true worth of the best of 16 answers by the reward model.
Departs: probes are linear, by least squares; traits are made, not labelled; policies choose among answers, and do not learn.
Its inference-time probing, distances to a trait's centres as a confidence in a single reward, is `trait_distances.py`.
Leaves out: that in a claim, and PPO on what it trusts.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Study, recipe
from guerdon.recipes.audit.mrmbench.trait_pool import MIXES, TraitSetting, trait_table
from guerdon.studies.benchmarks import spearman

NAME = "mrmbench"


@recipe(
    "mrmbench",
    family="audit",
    paper="arXiv:2511.12464",
    claim=Claim(
        says="Probes of six traits foretell the worth of what a reward model chooses better than its accuracy on pairs.",
        baseline=f"{NAME} by=pairs",
        task="equation:6-7",
        metric="spearman",
        effect=0.1,
        budget=258,  # steps of all twelve
        unit="steps",
    ),
    needs=Needs(errors=True, text=True, learns_from="pairs for the reward models that it tests"),
    helps=("noisy-judge",),
)
def mrmbench(
    task: Any,
    model: Model,
    *,
    by: Literal["probes", "pairs"] = "probes",
    pool: int = len(MIXES),  # the first so many of the reward models
    steps: int = 24,  # of the longest
    prompts: int = 32,
    rm_lr: float = 3e-4,  # as reward_model; it is the same for all arms, so nobody tunes it
    problems: int = 128,  # to learn from, and held-out ones
    answers: int = 16,  # to choose among
) -> Study:
    """Bring up reward models on pairs that differ in some traits, probe them, and see what foretells the worth they choose."""

    def body(run: Any, seed: int) -> dict[str, Any]:
        setting = TraitSetting(pool, steps, prompts, rm_lr, problems, answers)
        table = trait_table(run, task, model, setting)
        truth = [row["chosen"] for row in table.values()]
        every = {
            k: spearman([row[k] for row in table.values()], truth) for k in next(iter(table.values())) if k != "chosen"
        }
        return {"spearman": every["mean" if by == "probes" else "pairs"], "foretold": every, "table": table}

    return Study(body)
