"""PAR: the reward is the probability that a try beats an answer of the start model, by the reward model: bounded and centred.

Paper: Fu et al. 2025, Reward shaping to mitigate reward hacking in RLHF (arXiv:2502.18770); code: PorUna-byte/PAR,
trainers/reward_shaper.py (`calculate_relative_sigmoid`, `calculate_centered`). A try is paid the mean over `references` answers
of the start model to the same prompt of sigmoid(k (r - r_ref)): steep where it is about as good, flat where it is far better:
little is left to gain where a reward model is wrong most. One answer is enough by the paper. Each prompt is answered once
in a run and its rewards are kept; these answers count in the budget. Meant for a reward without bounds (`--reward`). Different:
GRPO in place of PPO. Leaves out: its other shapes, of which `normalised` and `clip` are on the shelf of rewards.
"""

from __future__ import annotations

from typing import Any, Literal

import torch

from guerdon.core.batch import Batch
from guerdon.core.column import Reason
from guerdon.core.extra_play import check_scores, play_scored
from guerdon.core.field_columns import FieldColumns, Gives
from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.part import knob, part, state
from guerdon.core.play import Play
from guerdon.core.recipe import Recipe, recipe
from guerdon.credit.restart_values import sampled_asks
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.process.second_models import begun


@recipe("par", family="policy", paper="arXiv:2502.18770", on=grpo, needs=Needs(answers="reward"), helps=("hacking",))
def par(
    base: Recipe,
    model: Model,
    *,
    references: int = 1,  # answers of the start model to each prompt; the paper: one is enough
    sharpness: float = 1.0,  # k of the sigmoid; the released code
    shape: Literal["sigmoid", "linear"] = "sigmoid",  # linear: centred alone, which changes no advantage; an ablation
) -> Recipe:
    """GRPO on the probability of beating the start model's answer."""
    (credit,), (*_, score) = base.stages.credit, base.stages.scores
    base.models.setdefault("reference", begun("policy", model))
    credit.reward = "preferred"
    return base.but(before={"centre": against_start(score, references, sharpness, shape)})


@part
class against_start(FieldColumns):
    r"""Column `gives_to`: $\frac1M\sum_m\sigma(k\,(r - r_m))$ with $r_m$ the rewards of `tries` answers of the model `of` to
    the same prompt, or the mean of $r - r_m$. *Not applicable* where none of them has a reward. Logs `preferred` and
    `reference_reward`.
    """

    score: Any
    tries: int = knob(default=1, ge=1)
    sharpness: float = knob(default=1.0, gt=0.0)
    shape: Literal["sigmoid", "linear"] = "sigmoid"
    of: str = "reference"
    gives_to: Gives = "preferred"

    known: dict[str, list[float]] = state(factory=dict)  # of each prompt's task, the rewards of the answers to it

    shelf = "scores"

    def __post_init__(self) -> None:
        check_scores([self.score], "par")

    @property
    def needs(self) -> tuple[str, ...]:
        return (str(self.score.gives[0]),)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column, asks = batch.track_column(self.needs[0], "par"), sampled_asks(batch)
        new = {ask.task.id: ask for ask in asks.values() if ask.task.id not in self.known}
        seated = [ask.but(n=self.tries, seats={**(ask.seats or {}), "policy": self.of}) for ask in new.values()]
        self.known |= {name: [] for name in new}
        played = play_scored(seated, [self.score], play)
        if played.K:
            rewards = played.cols[self.needs[0]]
            for k in torch.nonzero(~rewards.missing).flatten().tolist():
                name = played.episodes[int(played.episode[played.leaf[k]])].task.id
                self.known[name].append(float(rewards.value[k]))
        numbers = batch.ask[batch.leaf].tolist()
        against = [self.known[asks[number].task.id] if number in asks else [] for number in numbers]
        shaped = [self._shaped(float(r), others) for r, others in zip(column.value, against, strict=True)]
        value = torch.tensor(shaped, dtype=column.value.dtype)
        lacking = torch.where(value.isnan() & ~column.missing, int(Reason.NOT_APPLICABLE), column.reason)
        every = torch.tensor([r for others in against for r in others] or [0.0])
        play.log(preferred=float(value.nanmean().nan_to_num()), reference_reward=float(every.mean()))
        return batch.with_cols({self.gives_to: type(column)("track", value, lacking.to(torch.int8))})

    def _shaped(self, reward: float, others: list[float]) -> float:
        gap = reward - torch.tensor(others, dtype=torch.float64)
        shaped = torch.sigmoid(self.sharpness * gap) if self.shape == "sigmoid" else gap
        return float(shaped.mean())
