"""InTRO: at every place of a right try, the tokens that the policy might say, weighed by what knowing the answer makes of them.

Paper: Zhu et al. 2025, In-Token Rationality Optimization: Towards Accurate and Concise LLM Reasoning via Self-Feedback
(arXiv:2511.09865). No released code was found; formulas follow the abstract and summaries of the paper. Tries are sampled and
those that are right kept; at each of their places `candidates` tokens are drawn from the policy, and each is taught with the
weight w = min(pi(token | question and answer) / pi(token | question), 200), the policy itself being asked with the answer below
the question. In expectation that moves pi(. | x) towards pi(. | x, y), and no token but the tries' own is generated.
What a policy says with the answer shown must mean something: a model that follows instructions is shown it in a sentence, sprig
must be taught first (`answer_reader`), which the claim does for all arms.
Leaves out: nothing that is known of it. The wording around the answer is ours, and so is drawing from the 64 likeliest tokens.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column
from guerdon.core.episode import Episode
from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.pack import pack
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.losses.imitation import sft
from guerdon.losses.reduce import Mean, average, reduce
from guerdon.losses.terms import Term
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.process.process_claims import STEPS
from guerdon.select.filters import at_least
from guerdon.tasks.shown_answers import Show, with_answer

# Of the family's own levels the start that is taught to read answers solves three quarters, which leaves little to learn.
HARDER: Any = {**STEPS, "task": "equation:7-8", "settings": "prompts=16 tries=8 lr=2e-5 max_tokens=112"}
TOKENS, WEIGHTS = "candidates.top_token", "candidates.weight"


@part
class candidates:
    r"""At each step $n$ tokens $v_j \sim \pi(\cdot \mid x, z_{<t})$ and
    $w_j = \min(\frac{\pi(v_j \mid x, y, z_{<t})}{\pi(v_j \mid x, z_{<t})},\ most)$, what knowing the answer $y$ makes of each:
    columns `candidates.top_token` and `candidates.weight`.

    The correction factors of InTRO (Zhu et al. 2025, arXiv:2511.09865). Candidates are drawn from the 64 likeliest tokens, as
    likely among them as they are; `show` says how the answer stands below the question. Nothing is generated: both
    distributions are read off the steps that are there.

    *Assumes* a model to which an answer below the question means something, and problems with one answer. *Biased* by `most`,
    by tokens beside the 64, and as far as the model's $\pi(\cdot \mid x, y)$ is not the posterior of its own
    $\pi(\cdot \mid x)$: a model that copies an answer it was shown weighs copying up. Logs `candidates/weight` and
    `candidates/cut`, the share at `most`.

    >>> candidates(n=3).gives
    ('candidates.top_token', 'candidates.weight')
    """

    n: int = knob(default=5, ge=1)
    most: float = knob(default=200.0, gt=0.0)
    show: Show = "sentence"
    model: str = "policy"

    shelf = "select"
    gives = (TOKENS, WEIGHTS)

    @property
    def needs(self) -> tuple[str, ...]:
        return (f"{self.model}.top_token", f"{self.model}.top_logp")

    def __call__(self, batch: Batch, play: Play) -> Batch:
        token, logp = (batch[name] for name in self.needs)
        batch = batch.without(*self.needs)
        if not batch.S:
            nothing = {name: Column.full("step", torch.zeros(0, self.n)) for name in self.gives}
            return batch.with_cols(nothing)
        dice = play.generator("candidates")
        drawn = torch.multinomial(logp.double().exp().nan_to_num(1.0), self.n, replacement=True, generator=dice)
        named = Column.full("step", token.gather(1, drawn))
        model = play.models[self.model]
        told = pack([self._told(episode, model) for episode in batch.episodes]).with_cols({TOKENS: named})
        with torch.no_grad():
            knowing = model.read(told, ["logp_at"])["logp_at"].to(logp.device)
        ratio = (knowing.double() - logp.gather(1, drawn).double()).exp()
        weight = ratio.clamp(max=self.most).nan_to_num(0.0)
        play.log(
            **{"candidates/weight": float(weight.mean()), "candidates/cut": float((ratio > self.most).double().mean())}
        )
        return batch.with_cols({TOKENS: named, WEIGHTS: Column.full("step", weight.float())})

    def _told(self, episode: Episode, model: Model) -> Episode:
        """The episode as if its question had shown the answer."""
        if len(episode.segments) != 1:
            raise UserError(
                "candidates reads answers of a single turn: use an environment of one question and one answer"
            )
        (segment,) = episode.segments
        view: Any = with_answer(segment.view, episode.task.answer, self.show)
        return dataclasses.replace(episode, segments=(segment.but(view=view, context=model.encode(view)),))


@part
class weighed_candidates(Term):
    r"""$-\frac{1}{|z|\,n}\sum_t\sum_j w_{tj}\log\pi(v_{tj} \mid x, z_{<t})$ over candidates, the mean over tracks.

    InTRO (Zhu et al. 2025, arXiv:2511.09865). With weights that are not cut it is in expectation the cross-entropy from the
    policy that knows the answer to the one that does not, so its gradient is that of the forward divergence between them, at
    the steps that were taken. Assumes weights made for the policy as it is; biased after its first update of a batch, and by
    how the steps were taken. Notes `candidate_weight`.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> columns = {"candidates.top_token": torch.tensor([[3.0, 4.0]]), "candidates.weight": torch.tensor([[2.0, 0.0]])}
    >>> batch = example_tries([[1.0]]).with_cols({name: gd.Column.full("step", x) for name, x in columns.items()})
    >>> float(weighed_candidates()(batch, {"logp_at": torch.tensor([[-1.0, -3.0]])})[0])  # 2 * 1 / 2
    1.0
    """

    mean: Mean = "track"
    constant: float = knob(default=1.0, gt=0.0)

    needs = (TOKENS, WEIGHTS)
    wants = ("logp_at",)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        logp, learned = live["logp_at"], batch.weight > 0
        weight = batch[WEIGHTS].to(logp.dtype)
        cost = torch.where(learned, -(weight * logp).mean(1), 0.0)
        noted = {"candidate_weight": average(weight.mean(1), batch)}
        return reduce(cost, batch, self.mean, self.constant), noted


drawn = candidates  # by another name than the recipe's knob


@recipe(
    "intro",
    family="process",
    paper="arXiv:2511.09865",
    claim=Claim(
        says="Candidate tokens weighed by what knowing the answer makes of them solve more than GRPO of as many tries.",
        method="show=line",
        ablation="intro candidates=0",
        start="answer_reader show=line steps=400",
        **HARDER,
    ),
    on=grpo,
    needs=Needs(text=True, decoder=True),
    helps=("sparse",),
)
def intro(
    base: Recipe,
    *,
    candidates: int = 5,  # the paper's; 0: right tries are imitated as they are (rejection sampling)
    most: float = 200.0,  # the paper's bound of a weight
    show: Show = "sentence",  # ours
) -> Recipe:
    """Candidate tokens of right tries, weighed by the policy that knows the answer."""
    (learner,) = base.stages.learners
    learner.on, learner.loss = at_least("correct"), weighed_candidates() if candidates else sft(mean="track")
    weigh = [drawn(candidates, most, show)] if candidates else []
    base.stages = [*base.stages.scores, *weigh, learner]
    return base
