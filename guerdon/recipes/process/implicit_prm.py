"""Implicit PRM: a reward model of outcomes that is the log-ratio of two models, and so a reward for every step.

Paper: Yuan et al. 2024, Free Process Rewards without Process Labels (arXiv:2412.01981), with the released code
(github.com/PRIME-RL/ImplicitPRM: train/tasks/run_ce.sh, eval/prm_eval_utils.py). Tries of the model itself are checked; a copy
of it is taught their outcomes y by cross-entropy under sigma(beta log(prm / reference)) of the whole answer, or (`loss=dpo`)
which of two is right. What a line added to that log-ratio is then its process reward, which nobody labelled; answers are
chosen by their least line (`choose=min`, the code's default) or by the sum, which is the outcome model itself. The claim's
baseline is the paper's, labels from completions of every line (`math_shepherd`), at equal tokens; its ablation a plain outcome
model, a head taught the same outcomes by cross-entropy.
Leaves out: KTO and NCA as losses, votes weighted by rewards, and tries of several models.
The product is the model `prm`, read against the model it was grown from: `gd.implicit("prm", "reference")`.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.learn import Learn
from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.optim import adam
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.core.task import Sampling
from guerdon.losses.pair import dpo
from guerdon.losses.reward_modelling import implicit_outcome, outcome
from guerdon.recipes.house.heads import with_head
from guerdon.recipes.house.own_tries import chosen_of_four, taught_on_tries
from guerdon.recipes.house.step_exams import step_exams
from guerdon.recipes.process.second_models import begun
from guerdon.rewards.formula.per_step import overall
from guerdon.rewards.model.reward_models import implicit, outcome_model
from guerdon.rewards.stage.score_stages import verified
from guerdon.select.pairs import paired


@recipe(
    "implicit-prm",
    family="process",
    paper="arXiv:2412.01981",
    claim=Claim(
        says="Rewards of lines implied by outcomes choose better answers than labels by playing on, at equal tokens.",
        baseline="math_shepherd",
        ablation="implicit-prm loss=head",
        metric="choice/best_of@4",
        task="equation:6-7",
        settings="max_tokens=80",
        budget=400_000,
    ),
    needs=Needs(answers=True, text=True, learns_from="which tries are right"),
    helps=("unsound-steps", "few-labels"),
)
def implicit_prm(
    task: Any,
    model: Model,
    *,
    loss: Literal["ce", "dpo", "head"] = "ce",  # the paper's two best; head: a plain outcome model
    beta: float = 0.05,  # the paper's
    choose: Literal["min", "sum"] = "min",  # the released code's default
    prompts: int = 16,
    tries: int = 8,  # the paper's eight answers a problem
    lr: float = 3e-4,  # of 3e-5 to 1e-3 best on 128 held-out tries of sprig; the paper has 5e-7 for billions of weights
    temperature: float = 1.0,
    max_tokens: int = 256,
    exam_tasks: int = 512,
    steps: int = 60,
) -> Recipe:
    """A process reward model of outcomes alone, as a log-ratio. Examined by the try that it likes best of four."""
    prm = with_head(model) if loss == "head" else model
    teach = {"ce": implicit_outcome(beta), "dpo": dpo(beta), "head": outcome("correct", "logistic")}
    added, so_far = (implicit("prm", beta=beta, per="line", so_far=so_far) for so_far in (False, True))
    liked = outcome_model("prm") if loss == "head" else overall(added, choose)
    lines = [] if loss == "head" else step_exams(task, so_far, added)
    pairs = [paired("correct", which="all")] if loss == "dpo" else []
    stages = [verified(task), *pairs, Learn("prm", teach[loss], opt=adam(lr=lr))]
    models = {"prm": prm, "reference": begun("prm", prm)}
    how = Sampling(temperature=temperature, max_tokens=max_tokens)
    taught = taught_on_tries(task, models, "reference", stages, how, prompts, tries, steps)
    taught.exams = [chosen_of_four(task, liked, exam_tasks), *lines]
    return taught
