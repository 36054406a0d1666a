"""T-REG's own parts: the reward of tokens by two opposite prompts, and the term that spreads a pair's reward by it.

Leaves out: teaching a model what the prompts mean (`recipes/house/controlled.py`).
Axes: S steps, K tracks, P pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.core.pack import pack, unpack
from guerdon.core.part import knob, part
from guerdon.core.placeholders import check_template
from guerdon.losses.pair import over_pairs, pairs_of
from guerdon.losses.reduce import numbers, own, per_track
from guerdon.losses.terms import Term
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.scores import Outcome
from guerdon.rewards.model.model_reading import ModelLeaf, model_of, outcome_of_each, sample_tokens
from guerdon.rewards.model.reward_models import in_steps


@part
class opposite_prompts(ModelLeaf):
    r"""$\hat r_t = \sigma\big(\log\pi(y_t \mid x_{better}, y_{<t}) - \log\pi(y_t \mid x_{worse}, y_{<t})\big) - \frac12$: how
    much likelier a token is where a model is asked for a good answer than where it is asked for a bad one, in steps.

    The self-generated token reward of T-REG (Zhou et al. 2024, arXiv:2412.02685). `model` is one of the run's; `better` and
    `worse` are the two wordings of what it was shown first, which it must have learned to tell apart. A number a token, or
    with `per="line"` the mean over each line. *Biased* by whatever else the two wordings change, and at tokens after an error,
    which either may find likely.

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
        good, bad = (_under(template, tokens.batch, model) for template in (self.better, self.worse))
        reward = torch.sigmoid(good - bad) - 0.5

        def told(_: int, steps: Tensor) -> Outcome:
            pieces = tokens.cut(steps, self.per, self.model)
            return in_steps([float(reward[piece].mean()) for piece in pieces], pieces, tokens.own)

        return outcome_of_each(tokens, self.model, told)


def _under(template: str, batch: Batch, model: Model) -> Tensor:
    """[S] the log-probs of a batch's steps as if its first views had been worded so."""
    episodes = []
    for episode in unpack(batch):
        segments = list(episode.segments)
        for i, segment in enumerate(segments):
            if segment.parent < 0:
                view = said_so(template, segment.view)
                segments[i] = segment.but(view=view, context=model.encode(view))
        episodes.append(episode.but(segments=tuple(segments)))
    with torch.no_grad():
        logp: Tensor = model.read(pack(episodes), ["logp"])["logp"]
    return logp.double().to(batch.seg.device)


def said_so(template: str, view: Any) -> Any:
    """What was shown, in another wording: a text, or the last message of a conversation.

    >>> said_so("wrong: {prompt}", [{"role": "user", "content": "2+2"}])
    [{'role': 'user', 'content': 'wrong: 2+2'}]
    """
    if isinstance(view, str):
        return template.format(prompt=view)
    if hasattr(view, "saying"):
        view = list(view)
    if isinstance(view, list) and view and isinstance(view[-1], Mapping) and isinstance(view[-1].get("content"), str):
        return [*view[:-1], {**view[-1], "content": template.format(prompt=view[-1]["content"])}]
    raise UserError(f"opposite_prompts words texts and messages, and not {type(view).__name__}: use text prompts")


@part
class spread_by_tokens(Term):
    r"""$\alpha\,w\,\big(L(y^+) + L(y^-)\big)$ with $L(y) = -\beta\sum_t \hat r_t\log\pi(y_t)$ and
    $w = \sigma\big(\beta h(y^-) - \beta h(y^+)\big)$, $h(y) = \sum_t\log\frac{\pi(y_t)}{\pi_{ref}(y_t)}$, the mean over pairs.

    The regulariser of T-REG (Zhou et al. 2024, arXiv:2412.02685), to stand beside `dpo` with the same `beta`: $w$ is what
    DPO's own gradient weighs a pair by, so that a token of the better answer is pulled by $\beta w(1 + \alpha\hat r_t)$ in all,
    one of the worse by $-\beta w(1 - \alpha\hat r_t)$. With `alpha=2` a token whose reward is at its bound of 1/2 is pushed
    down in no answer. $w$ has no gradient; `weighted=False` takes 1 for it. With `even` all tokens of an answer have
    their mean reward: nothing about tokens is left. `reward` is a column per step.

    Assumes token rewards that mean something. *Biased* on purpose: it is no likelihood of preferences. Notes `token_reward`,
    the mean over pairs of the better one's mean reward less the worse one's, and `pair_weight`, that of $w$.

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
        weight = torch.sigmoid(gain[pairs.worse] - gain[pairs.better]).detach()
        weight = weight if self.weighted else torch.ones_like(weight)
        each = -self.beta * per_track(torch.where(batch.weight > 0, reward * logp, 0.0), batch)
        losses = self.alpha * weight * (each[pairs.better] + each[pairs.worse])
        noted = {"token_reward": level[pairs.better] - level[pairs.worse], "pair_weight": weight}
        return over_pairs(losses, batch), {name: over_pairs(x.detach(), batch) for name, x in noted.items()}
