"""Semantic SCST: self-critical training on what a generated text means, mixed with the likelihood of the reference.

Paper: Kwate Dassi 2021, Semantic-based self-critical training for question generation (arXiv:2108.12026), read in its abstract.
A sampled text is paid for how much better it is than the greedy one (self-critical training, as in `remax`), by a mix of BLEU
and of a semantic reward against the reference; the reference itself is learned by likelihood in the same update. The semantic
reward is BERTScore's F1 (Zhang et al. 2019, arXiv:1904.09675): each token of one text is matched with the nearest of the other
by its hidden state, here that of the start model. The data are prompts (a context and the answer to ask for) with references
(the question). Both mixes are ours. Leaves out: a model made for similarity (give one as `--reward`, which is then the semantic
part), rare words that weigh more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from guerdon.core.column import Reason
from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.part import part
from guerdon.core.recipe import Recipe, recipe
from guerdon.credit.restart_values import greedy_baseline
from guerdon.envs.simple import dataset_env
from guerdon.losses.imitation import sft
from guerdon.losses.terms import on
from guerdon.models.probing import probe
from guerdon.recipes.house.remax import remax
from guerdon.recipes.process.second_models import begun
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.algebra import blend
from guerdon.rewards.formula.reward import as_reward
from guerdon.rewards.formula.scores import Outcome, outcome_of
from guerdon.rewards.model.model_reading import ModelLeaf, model_of, too_long
from guerdon.rewards.stage.score_stages import score
from guerdon.rewards.text.answers import bleu
from guerdon.select.second_roles import Tried, follow_up

GIVEN, EVALUATOR = "given", "evaluator"  # the role that recites references, and the model whose states are compared


@recipe(
    "semantic-scst-qg",
    family="policy",
    paper="arXiv:2108.12026",
    on=remax,
    needs=Needs(answers=True, text=True, one_turn=True),
)
def semantic_scst_qg(
    base: Recipe,
    model: Model,
    reward: Any = None,
    *,
    semantic: float = 0.5,  # share of the semantic reward, the rest is BLEU; ours
    gamma: float = 0.5,  # share of the self-critical loss, the rest is the references' likelihood; ours
) -> Recipe:
    """Self-critical training by BLEU and by meaning, beside the likelihood of references."""
    (learner,), (truth, *_) = base.stages.learners, base.stages.scores
    meaning = state_match() if reward is None else as_reward(reward)
    paid = score(blend(meaning=meaning.weight(semantic), wording=bleu().weight(1.0 - semantic)))
    critical = on("policy", learner.loss, weight=gamma, name="critical")
    learner.loss = critical + on(GIVEN, sft(), weight=1.0 - gamma)
    base.models[EVALUATOR], base.seats[GIVEN] = begun("policy", model), "policy"
    base.stages = [truth, paid, greedy_baseline(paid), follow_up(dataset_env(GIVEN), as_asked, per="ask"), learner]
    return base


def as_asked(tried: list[Tried]) -> Any:
    """What the tries at a problem were shown."""
    return tried[0].episode.ask.shown


@part
class state_match(ModelLeaf):
    r"""BERTScore's F1 of a text and the answer, by the model's hidden states at their tokens; 0 for an empty text, *not
    applicable* without an answer.
    """

    model: str = EVALUATOR

    async def score(self, samples: Samples) -> list[Outcome]:
        model = model_of(self.play_of(samples), self.model)
        pairs = [(str(fields.get("completion") or ""), str(fields.get("answer") or "")) for fields in samples.fields]
        texts = sorted({text for pair in pairs for text in pair})
        read = dict(zip(texts, probe(model, [((), "", text) for text in texts], ["hidden"]), strict=True))
        return [self._outcome(said, answer, read) for said, answer in pairs]

    def _outcome(self, said: str, answer: str, read: Mapping[str, Any]) -> Outcome:
        if not answer.strip():
            return Outcome(Reason.NOT_APPLICABLE)
        if not said.strip():
            return outcome_of(0.0)
        given, wanted = read[said], read[answer]
        return (
            too_long(self.model)
            if given is None or wanted is None
            else outcome_of(f1(given["hidden"], wanted["hidden"]))
        )


def f1(given: Tensor, wanted: Tensor) -> float:
    r"""$2PR/(P+R)$ with $P$ the mean over the rows of `given` of the largest cosine with a row of `wanted`, and $R$ that over
    the rows of `wanted`.

    >>> round(f1(torch.eye(3)[:1], torch.eye(3)[:2]), 4)  # P = 1, R = 1/2
    0.6667
    """
    one, other = (torch.nn.functional.normalize(x.double()) for x in (given, wanted))
    cosines = one @ other.T
    precision, recall = cosines.amax(1).mean(), cosines.amax(0).mean()
    return float(2 * precision * recall / (precision + recall).clamp(min=1e-9))
