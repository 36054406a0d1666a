"""Inappropriateness rewriting: PPO on a classifier's word that a rewritten text is appropriate, and on what is kept of it.

Paper: Ziegenbein et al. 2024, LLM-based rewriting of inappropriate argumentation (arXiv:2406.03363), read in its abstract;
code read: timonziegenbein/inappropriateness-mitigation at 8d4061d, src/inappropriateness-mitigation/trl_lora_new.py: reward
app_weight * a + similarity_weight * s with weights that add up to 1 (317, ppo_harmonic_mean.sh), PPO (254-275), a prompted
model to start from (40-43). No pair of texts is needed. With `alpha=1` a text without content earns all there is, so similarity
to the original is the other part. The classifier is `--reward`; a second one, which is not trained on (`held_out`), judges
held-out rewritings: what rises by the first alone has been hacked. On `notes`, which is taken in its rewriting form, the first
knows the words that a problem forbids, the second the rude words of all. Different: similarity is the F1 of words where
theirs is BERTScore's (give one as `similarity`); the critic is a model of its own; rates and sampling are the house's.
Leaves out: their cosine schedule, adapter (`--set lm.lora=8`), reward clipping, and their baselines in few shots.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.needs import Needs
from guerdon.core.part import part
from guerdon.core.placeholders import check_template
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.task import Split, Task
from guerdon.exams.exam import Exam
from guerdon.exams.rates import accuracy, answer_length
from guerdon.exams.rewards_given import mean_reward
from guerdon.recipes.house.ppo import ppo
from guerdon.recipes.house.shared import chosen, forbidden_words
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.formula.algebra import blend
from guerdon.rewards.formula.reward import as_reward
from guerdon.rewards.stage.score_stages import score, verified
from guerdon.rewards.text.answers import token_f1
from guerdon.tasks.changed_source import ChangedSource
from guerdon.tasks.messages.note_reading import has_word
from guerdon.tasks.messages.note_words import KINDS

INSTRUCTION = "Rewrite this text so that it is appropriate. Change as little as you can.\n\n{prompt}\n"  # after theirs
RUDE = tuple(word for _, _, words in KINDS.values() for word in words)


@recipe(
    "inappropriateness-rewriting",
    family="policy",
    paper="arXiv:2406.03363",
    on=ppo,
    needs=Needs(families="notes notes_rewrite|reward", answers=False, text=True, one_turn=True),
)
def inappropriateness_rewriting(
    base: Recipe,
    task: Any,
    reward: Any = None,
    *,
    alpha: float = 0.5,  # weight of the classifier; theirs are 0.4 to 0.6, and 1.0
    similarity: Any = "",  # a reward in place of the F1 of words with the text: its name, FILE.py:NAME, or one
    held_out: Any = "",  # a classifier that is not trained on, likewise
    instruction: str = INSTRUCTION,  # around a text; not where a problem brings its text as `draft`, as notes do
    kl: float = 0.001857,  # of the reward, theirs
) -> Recipe:
    """PPO on being appropriate and on similarity to the text that is rewritten."""
    if not 0.0 <= alpha <= 1.0:
        raise UserError(f"alpha is a share from 0 to 1, the weight of the classifier, not {alpha}")
    task = dataclasses.replace(task, form="rewrite") if task.name == "notes" else task
    on_notes = task.name == "notes_rewrite"
    source = to_rewrite(task, instruction)
    appropriate = forbidden_words() if reward is None else as_reward(reward)
    kept = chosen(similarity) or kept_words()
    paid = blend(appropriate=appropriate.weight(alpha), similar=kept.weight(1.0 - alpha))
    rest = [stage for stage in base.stages if stage not in list(base.stages.scores)]
    rest[0].reward = "reward"  # what the penalty is taken from, or else what the advantage is made of
    base.curriculum.task, base.stages = source, [verified(source), score(paid), *rest]
    judges = {
        "appropriate": appropriate,
        "similar": kept,
        "held_out": chosen(held_out) or (no_rude_words() if on_notes else None),
    }
    rates = [accuracy(), answer_length()] if getattr(task, "has_held_out_answers", True) else [answer_length()]
    measured = [mean_reward(judge, name) for name, judge in judges.items() if judge is not None]
    base.exams = [Exam(source, [*rates, *measured])]
    return base


@part
class to_rewrite(ChangedSource):
    """The problems of `source` as texts to rewrite: each prompt within `template`, and beside it as `draft`. A problem that
    has a `draft` already shows it in its prompt, and stays as it is.

    >>> import guerdon as gd
    >>> task = to_rewrite(gd.tasks.load("chain:1"), "Rewrite: {prompt}").get("train", 0)
    >>> task.prompt, task.meta["draft"]
    ('Rewrite: chain 4 *4 *5', 'chain 4 *4 *5')
    """

    source: Any
    template: str = INSTRUCTION

    def __post_init__(self) -> None:
        check_template("instruction", self.template, "prompt")

    @property
    def name(self) -> str:
        return str(self.source.name)

    def get(self, split: Split, index: int) -> Task:
        task = super().get(split, index)
        if "draft" in task.meta:
            return task
        if task.view is not None:
            raise UserError("a text to rewrite is a text, and a row here has messages: give the text as its prompt")
        prompt = self.template.format(prompt=task.prompt)
        return dataclasses.replace(task, prompt=prompt, meta={**task.meta, "draft": task.prompt})


@part
class kept_words(Leaf):
    """The F1 of words with the text that is rewritten; 0 for nothing.

    >>> kept_words()("the cat sat", "The cat sat down."), kept_words()("", "The cat sat down.")
    (0.8, 0.0)
    """

    def __call__(self, completion: str, draft: str) -> float | None:
        return token_f1()(completion, draft)


@part
class no_rude_words(Leaf):
    """1 for a text without any rude word of `notes`, else 0.

    >>> no_rude_words()("Come on Friday."), no_rude_words()("Come on Friday, loser.")
    (1.0, 0.0)
    """

    def __call__(self, completion: str) -> float:
        return float(not any(has_word(completion, word) for word in RUDE))
