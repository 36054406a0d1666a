"""T-REG: DPO that spreads a pair's reward over tokens by what the model itself says of them under two opposite prompts.

Paper: Zhou et al. 2024 (arXiv:2412.02685), read in summaries; its code (github.com/wzhouad/T-REG) was not available. A token's
reward, in [-1/2, 1/2], is how much likelier the start model finds it under a prompt for good answers than under one for bad
ones. DPO is regularised by alpha times a likelihood of both answers, weighted by token rewards and DPO's weight of the pair.
The claim starts from a policy that `controlled` taught the two prompts. A model that follows instructions needs no such start:
set `better` and `worse`. Leaves out: SimPO under the same term; the paper's wording of the prompts and its alpha.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.needs import Needs
from guerdon.core.part import knob, part
from guerdon.core.placeholders import check_template
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.exams.exam import Exam
from guerdon.exams.farming import farmed
from guerdon.exams.step_judging import judged_steps
from guerdon.losses.pair import over_pairs, pairs_of
from guerdon.losses.reduce import numbers, own, per_track
from guerdon.losses.terms import Term
from guerdon.recipes.house.dpo import dpo
from guerdon.recipes.house.wordings import RIGHT, WRONG
from guerdon.recipes.process.process_claims import STEPS
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.scores import Outcome
from guerdon.rewards.model.model_reading import ModelLeaf, model_of, outcome_of_each, sample_tokens
from guerdon.rewards.model.reward_models import implicit, in_steps
from guerdon.rewards.stage.score_stages import score
from guerdon.select.other_views import read_under


@recipe(
    "t-reg",
    family="process",
    paper="arXiv:2412.02685",
    claim=Claim(
        says="Preferences whose reward is spread over tokens by two opposite prompts teach more than preferences alone.",
        baseline="dpo",
        ablation="t-reg even=true",
        **{**STEPS, "settings": "prompts=16 lr=1e-5 max_tokens=80 side_by_side.tries=4"},
        start="controlled",
    ),
    on=dpo,
    needs=Needs(text=True),
)
def t_reg(
    base: Recipe,
    task: Any,
    *,
    beta: float = 0.1,  # DPO's; the term has the same
    alpha: float = 2.0,  # ours: a token of reward 1/2 is then pushed down in no answer
    better: str = RIGHT,
    worse: str = WRONG,
    weighted: bool = True,  # the paper; without is its ablation
    even: bool = False,  # all tokens of an answer alike: nothing about tokens is left
) -> Recipe:
    """DPO with rewards for tokens that the start model gives under two opposite prompts."""
    (learner,) = base.stages.learners
    learner.loss = learner.loss + spread_by_tokens(alpha, beta, weighted=weighted, even=even)
    if hasattr(task, "first_wrong"):
        lines, implied = opposite_prompts(better, worse, per="line"), implicit(beta=beta, per="line")
        judged = [judged_steps(lines, "prompts"), judged_steps(implied, "implied"), farmed(lines)]
        base.exams.append(Exam(task, judged, env=base.exams[0].env, name="steps", tasks=64))
    return base.but(before={"learn": score(opposite_prompts(better, worse), "token")})


@part
class opposite_prompts(ModelLeaf):
    r"""$\hat r_t = \sigma\big(\log\pi(y_t \mid x_{better}, y_{<t}) - \log\pi(y_t \mid x_{worse}, y_{<t})\big) - \frac12$: how
    much likelier a token is where a model is asked for a good answer than where it is asked for a bad one, in steps: per
    token, or the mean of each line. *Biased* by whatever else the two templates change, and at tokens after an error.

    >>> print(opposite_prompts("good: {prompt}", "bad: {prompt}"))
    opposite_prompts
    """

    better: str
    worse: str
    model: str = "reference"
    per: Literal["token", "line"] = "token"

    def __post_init__(self) -> None:
        for name in ("better", "worse"):
            check_template(f"opposite_prompts.{name}", getattr(self, name), "prompt")

    async def score(self, samples: Samples) -> list[Outcome]:
        play = self.play_of(samples)
        tokens, model = sample_tokens(samples, play, self.model), model_of(play, self.model)
        good, bad = (read_under(tokens.batch, template, model) for template in (self.better, self.worse))
        reward = torch.sigmoid(good - bad) - 0.5

        def told(_: int, steps: Tensor) -> Outcome:
            pieces = tokens.cut(steps, self.per, self.model)
            return in_steps([float(reward[piece].mean()) for piece in pieces], pieces, tokens.own)

        return outcome_of_each(tokens, self.model, told)


@part
class spread_by_tokens(Term):
    r"""$\alpha\,w\,\big(L(y^+) + L(y^-)\big)$ with $L(y) = -\beta\sum_t \hat r_t\log\pi(y_t)$ and
    $w = \sigma\big(\beta h(y^-) - \beta h(y^+)\big)$, $h(y) = \sum_t\log\frac{\pi(y_t)}{\pi_{ref}(y_t)}$, the mean over pairs.

    Beside `dpo` with the same `beta`, a token of the better answer has the gradient $\beta w(1 + \alpha\hat r_t)$ in all, one
    of the worse $-\beta w(1 - \alpha\hat r_t)$. $w$ has no gradient; `weighted=False` sets it to 1. With `even` each token has
    its answer's mean reward. Assumes pairs; *biased*: no likelihood of preferences (arXiv:2412.02685).

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = example_tries([[1.0, 0.0]], reference__logp=[-1.0, -1.0], token_steps=[0.5, -0.5])
    >>> batch = gd.select.paired()(batch, ExamplePlay())
    >>> round(float(spread_by_tokens(alpha=2.0)(batch, {"logp": torch.tensor([-1.0, -1.0])})[0]), 4)  # w = 1/2, and both cancel
    0.0
    """

    alpha: float = knob(default=2.0, ge=0.0)
    beta: float = knob(default=0.1, gt=0.0)
    reward: str = "token_steps"
    weighted: bool = True
    even: bool = False

    wants = ("logp",)

    @property
    def needs(self) -> tuple[str, ...]:
        return ("pairs", "reference.logp", self.reward)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        pairs, logp, reward = pairs_of(batch), live["logp"], numbers(batch, self.reward)
        level = per_track(reward, batch, mean=True)
        if self.even:
            reward = torch.where(own(batch) > 0, batch.down(level, of="track"), 0.0)
        gain = self.beta * per_track(torch.where(batch.weight > 0, logp - batch["reference.logp"], 0.0), batch)
        chance = torch.sigmoid(gain[pairs.worse] - gain[pairs.better]).detach()
        weight = chance if self.weighted else torch.ones_like(chance)
        each = -self.beta * per_track(torch.where(batch.weight > 0, reward * logp, 0.0), batch)
        losses = self.alpha * weight * (each[pairs.better] + each[pairs.worse])
        noted = {"token_reward": level[pairs.better] - level[pairs.worse], "pair_weight": weight}
        return over_pairs(losses, batch), {name: over_pairs(x.detach(), batch) for name, x in noted.items()}
