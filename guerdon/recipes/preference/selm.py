"""SELM: online DPO that leans away from what the policy says already, towards answers of which it knows no preferences.

Paper: Zhang et al. 2024, self-exploring language models (arXiv:2405.19332), read in its abstract; code: shenao-zhang/SELM,
scripts/selm_trainer.py, lines 384 to 404: DPO's loss plus alpha beta (log pi(y') - log ref(y')), y' an answer of the reference,
the mean over the batch; recipes/zephyr-selm/selm_config_full.yaml: alpha 0.001 with beta 0.01. In rounds: the reference is the
policy at the start of a round and makes the tries. The best of them against the worst are the pair, and y' are those in no
pair, so the term is biased towards lowering the middling ones. Where the probability goes is the model's to say: a table gives
it to what is likely already, and an answer that nobody tried gains nothing there; the paper counts on a model that
generalises. Different: a reward or judge orders the tries (theirs is PairRM), and new ones are drawn every step. Leaves out:
the answers of a data set among the ranked ones.
"""

from __future__ import annotations

from guerdon.core.batch import Batch
from guerdon.core.part import part
from guerdon.core.play import Play
from guerdon.core.recipe import Recipe, recipe
from guerdon.losses.penalties import kl
from guerdon.losses.terms import on
from guerdon.recipes.house.online_dpo import online_dpo
from guerdon.recipes.preference.shared import in_rounds


@recipe("selm", family="preference", paper="arXiv:2405.19332", on=online_dpo, helps=("few-labels",))
def selm(
    base: Recipe,
    *,
    optimism: float = 0.001,  # weight of the term that lowers what the reference says (alpha); the authors'
    round_steps: int = 25,  # steps of a round, after which the policy is the next reference; ours
) -> Recipe:
    """Online DPO in rounds, with a term that moves probability from known answers to all others."""
    (learner,) = base.stages.learners
    if optimism:
        known = kl(optimism * learner.loss.beta, kind="k1", mean="constant")
        learner.loss = learner.loss + on(unpaired(), known, name="optimism")
    return in_rounds(base, round_steps)


@part
class unpaired:
    """A selection: the tracks that are in no pair."""

    needs = ("pairs",)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        return batch.take(~batch.paired_K)
