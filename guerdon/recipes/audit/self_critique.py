"""Self-Critique: whether two greedy answers of one shape give away the problems that a model was trained on by reinforcement.

Paper: Tao et al. 2025, Detecting Data Contamination from Reinforcement Learning Post-training for Large Language Models
(arXiv:2510.09259), and the authors' code (github.com/yongding-tao/RL-Data-Contamination). Half of a finite set of problems,
as many of each kind, is trained on with GRPO; then all of them are asked twice, the second time for another way, and scored
(`audits/contamination`): by the likeness of the two rows of entropies, or by perplexity, Min-K%, Min-K%++ or mean entropy of
the first answer. The metric is the area under the ROC curve of members against the others, among problems answered alike
(right with right, wrong with wrong), so that what is easier is not taken for what is known. Different: a small model on
generated problems, entropies over the whole vocabulary. Leaves out: contamination in pre-training as well, and the benchmarks
of the paper.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.audits.contamination.contamination_probe import contamination
from guerdon.core.errors import UserError
from guerdon.core.recipe import Claim, Recipe, Study, recipe
from guerdon.core.seeds import generator
from guerdon.curricula.plain import uniform
from guerdon.recipes.house.grpo import grpo
from guerdon.studies.halves import even_halves
from guerdon.tasks.choosing import chosen

Detector = Literal["self_critique", "perplexity", "min_k", "min_k_plus", "entropy"]
NAME = "self-critique detector"
ARMS: dict[str, Any] = {"task": "countdown:1-6@256", "metric": "auc", "settings": "max_tokens=64", "budget": 1_000_000}


@recipe(
    "self-critique",
    family="audit",
    paper="arXiv:2510.09259",
    claim=(
        Claim(says="It tells problems of training better than perplexity.", baseline=f"{NAME}=perplexity", **ARMS),
        Claim(says="It tells problems of training better than Min-K%.", baseline=f"{NAME}=min_k", **ARMS),
        Claim(says="It tells problems of training better than mean entropy.", baseline=f"{NAME}=entropy", **ARMS),
    ),
    on=grpo,
)
def self_critique(base: Recipe, task: Any, *, detector: Detector = "self_critique") -> Study:
    """Train on half of a set of problems, and tell by a detector which half it was."""
    if (size := task.size("train")) is None:
        raise UserError(f"{task.name} never ends, and half of a set is trained on: --task {task.name}@256")

    def body(run: Any, seed: int) -> dict[str, Any]:
        problems = [task.get("train", i) for i in range(size)]
        members = even_halves([each.kind for each in problems], generator(seed, "members"))
        lesson = chosen(task, tuple(i for i in range(size) if members[i]))
        trained = run.train(base.but(curriculum=uniform(lesson, base.curriculum.tries)), budget=run.budget)
        told = contamination(trained.model(), problems, members, check=task.check, max_tokens=base.sampling.max_tokens)
        right = [[bool(p.right) for p in told.problems if p.member is which] for which in (True, False)]
        rates = {name: sum(each) / len(each) for name, each in zip(("right", "right_others"), right, strict=True)}
        areas = {name: area.auc for name, area in told.balanced.items()}
        plain = {name: area.auc for name, area in told.auc.items()}
        return {"auc": areas[detector], "plain_auc": plain[detector], **rates, "balanced": areas, "unbalanced": plain}

    return Study(body)
