"""Self-Critique: whether two greedy answers of one shape give away the problems that a model was trained on by reinforcement.

Paper: Tao et al. 2025, Detecting Data Contamination from Reinforcement Learning Post-training for Large Language Models
(arXiv:2510.09259), and the authors' code (github.com/yongding-tao/RL-Data-Contamination). Half of a finite set of problems,
as many of each kind, is trained on with GRPO; then all are asked twice, the second time for another way, and scored
(`audits/contamination`) by the likeness of the two rows of entropies, or by another detector on the first answer. The metric is
the area under the ROC curve of members against the others among problems answered alike, right or wrong, so that easy ones are
not taken for known ones. Different: a small model, generated problems, words for trying again that it was taught.
Leaves out: contamination in pre-training, and the paper's benchmarks.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.audits.contamination.probe import AGAIN, probe_contamination
from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Study, recipe
from guerdon.core.seeds import generator
from guerdon.curricula.plain import uniform
from guerdon.recipes.house.grpo import grpo
from guerdon.studies.halves import even_halves
from guerdon.tasks.choosing import chosen

Detector = Literal["self_critique", "perplexity", "min_k", "min_k_plus", "entropy"]
NAME = "self-critique detector"
ARMS: dict[str, Any] = {"task": "countdown:1-6@256", "metric": "auc", "budget": 1_000_000}


@recipe(
    "self-critique",
    family="audit",
    paper="arXiv:2510.09259",
    claim=(
        Claim(says="It tells problems of training better than perplexity.", baseline=f"{NAME}=perplexity", **ARMS),
        Claim(says="It tells problems of training better than Min-K%.", baseline=f"{NAME}=min_k", **ARMS),
        Claim(says="It tells problems of training better than mean entropy.", baseline=f"{NAME}=entropy", **ARMS),
    ),
    needs=Needs(answers=True, finite=True, text=True, learns_from="right answers, to be detected"),
)
def self_critique(
    task: Any,
    model: Model,
    *,
    detector: Detector = "self_critique",
    another_way: str = AGAIN.sprig,  # how the second answer is asked for: this, of other models in plain language, or a file
    prompts: int = 16,
    tries: int = 8,
    rl_lr: float = 2e-5,  # as grpo; all detectors classify the same problems, so nobody tunes it
    max_tokens: int = 64,
    steps: int = 100,
) -> Study:
    """Train on half of a set of problems, and tell by a detector which half it was."""
    if (size := task.size("train")) is None:
        raise UserError(f"{task.name} never ends, and half of a set is trained on: --task {task.name}@256")

    def body(run: Any, seed: int) -> dict[str, Any]:
        problems = [task.get("train", i) for i in range(size)]
        members = even_halves([each.kind for each in problems], generator(seed, "members"))
        lesson = chosen(task, tuple(i for i in range(size) if members[i]))
        learned: Any = grpo(task, model, prompts=prompts, tries=tries, lr=rl_lr, max_tokens=max_tokens, steps=steps)
        trained = run.train(learned.but(curriculum=uniform(lesson, tries)), budget=run.budget)
        how = {
            "check": task.check,
            "max_tokens": max_tokens,
            "another_way": "" if another_way == AGAIN.sprig else another_way,
        }
        told = probe_contamination(trained.model(), problems, members, **how)
        right = {m: [bool(p.right) for p in told.problems if p.member is m] for m in (True, False)}
        rates = {f"right_{name}": sum(right[m]) / len(right[m]) for name, m in (("members", True), ("others", False))}
        areas, plain = ({n: area.auc for n, area in each.items()} for each in (told.balanced, told.auc))
        return {"auc": areas[detector], "plain_auc": plain[detector], **rates, "balanced": areas, "unbalanced": plain}

    return Study(body)
