"""GenARM: a language model taught on preferences guides a frozen one, token by token.

Paper: Xu et al. 2024 (arXiv:2410.08193), read in its abstract; code read: Yuancheng-Xu/GenARM, training_trl/arm_trainer.py,
21-55 (the loss), README.md, 67-81 (decoding). The reward of an answer is the sum of its log-probs, without a reference, so that
every token has a reward; it is learned from pairs by -log sigma(beta (r+ - r-)). Answers are drawn from the frozen model, the
reward's log-probs added at every token by a weight. Their tool divides by the sum of the weights and corrects that by a
temperature of 1 / (1 + weight), which is the same. Different: the frozen model is where the reward model began, unless another
of the same tokens is named; the rate is ours. Leaves out: several rewards at once, which `Sampling(guides=...)` takes
(docs/guided_sampling.md).
"""

from __future__ import annotations

from typing import Any

from guerdon.core.learn import Learn
from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.optim import adam
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.task import Sampling
from guerdon.envs.contrasting import side_by_side
from guerdon.envs.simple import single_turn
from guerdon.exams.exam import Exam
from guerdon.exams.scorers import implicit_pairs
from guerdon.losses import pair
from guerdon.models import load
from guerdon.models.frozen_copy import snapshot
from guerdon.recipes.house.recited import all_pairs, brings_answers, to_recite
from guerdon.rewards.stage.score_stages import verified


@recipe(
    "genarm",
    family="preference",
    paper="arXiv:2410.08193",
    needs=Needs(preferences=True, decoder=True, learns_from="preferences"),
)
def genarm(
    task: Any,
    model: Model,
    *,
    frozen: Any = "",  # the model that is guided: one, its name or folder; where the reward model began without one
    weight: float = 1.0,  # of the reward at each token of the exam's answers, 1 / beta in the paper
    prompts: int = 32,  # pairs a step, theirs
    wrong: int = 1,  # near-misses a problem of a task, each a pair with the gold solution
    beta: float = 0.05,  # of the loss, theirs
    lr: float = 1e-5,  # theirs is 5e-4, for an adapter
    temperature: float = 1.0,
    max_tokens: int = 256,
    steps: int = 100,
) -> Recipe:
    """A reward model that is a language model, and answers of a frozen one that it guides.

    Examined on held-out problems by the guided answers; on a file of preferences, which says nothing of new answers, on
    held-out pairs.
    """
    how = Sampling(temperature=temperature, max_tokens=max_tokens, guides=(("arm", weight),))
    asks = to_recite(task, wrong)
    pairs = Exam(asks, [implicit_pairs("arm", reference="", beta=beta)], sampling=how, name="pairs")
    base = snapshot("arm") if frozen == "" else load(frozen) if isinstance(frozen, str) else frozen
    return Recipe(
        models={"arm": model, "frozen": base},
        curriculum=asks,
        env=side_by_side(),
        stages=[
            verified(task),
            all_pairs(task),
            Learn("arm", pair.dpo(beta=beta, to=""), opt=adam(lr=lr)),
        ],
        seats={"policy": "frozen"},
        sampling=how.but(guides=()),
        exams=[pairs if brings_answers(task) else Exam(task, env=single_turn(), sampling=how)],
        prompts=prompts,
        steps=steps,
    )
