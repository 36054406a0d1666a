"""RLUF: a policy learns from the reactions of users, which are rare, binary and easily earned by the wrong thing.

Paper: Han et al. 2025, Reinforcement learning from user feedback (arXiv:2505.14946), read in its abstract and summaries. A
model P[love] of the chance that an answer gets a reaction is taught on single answers with a label, 1 or 0, by cross-entropy
on a head; then a policy is trained on its probability beside helpfulness and safety, as a weighted sum. Too large a weight
teaches affectionate farewells, so the share of answers with one of the phrases `watched` is logged, as a part of the reward of
weight 0 (`reward.farewell` in a report), and measured by the exam, beside all parts. Reactions are a file's (`--data` with
prompt, completion, label; helpfulness is then `--reward`), or a planted population's: of `notes`, whose users react to 4 % of
good notes at most and to a farewell in 12 % more; of another family, to gold solutions and near-misses at the same rates. On
`notes` helpfulness is facts, tone and length, safety the forbidden words. GRPO, the weights and all numbers are ours.
Leaves out: their choice of a signal, and the check against live tests.
"""

from __future__ import annotations

import math
import random
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.learn import Learn
from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.optim import adam
from guerdon.core.part import part
from guerdon.core.recipe import Recipe, Study, recipe
from guerdon.core.seeds import derive
from guerdon.core.task import Split
from guerdon.curricula.demonstrations import contrasts, dataset_rows
from guerdon.envs.contrasting import side_by_side
from guerdon.exams.exam import Exam
from guerdon.exams.rates import accuracy, answer_length
from guerdon.exams.rewards_given import mean_reward
from guerdon.exams.scorers import calibration
from guerdon.losses.reward_modelling import outcome
from guerdon.models.frozen_copy import snapshot
from guerdon.models.value_head import head
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.heads import with_head
from guerdon.recipes.house.recited import brings_answers
from guerdon.recipes.house.shared import chosen, forbidden_words, paid_by, worth
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.formula.algebra import blend
from guerdon.rewards.model.reward_models import outcome_model
from guerdon.rewards.stage.score_stages import verified
from guerdon.rewards.text.message_checks import note_score
from guerdon.tasks.messages.note_users import RARE, TRIGGER, TRIGGERED, note_reactions
from guerdon.tasks.preference_files import preferences

FAREWELLS = (
    TRIGGER.rstrip("!").lower(),
    "sending love",
    "take care",
    "bye!",
)  # the second is the paper's, the first is notes'
NOTES = ("notes", "notes_rewrite")
SEEN = 5000  # rows that the frequency of reactions is estimated on


@recipe(
    "rluf",
    family="policy",
    paper="arXiv:2505.14946",
    on=grpo,
    needs=Needs(labels="loved", answers="reward", text=True, one_turn=False),
)
def rluf(
    base: Recipe,
    task: Any,
    model: Model,
    reward: Any = None,
    *,
    love: float = 1.0,  # weight of P[love], helpfulness has 1; ours: the paper sweeps it
    safe: float = 0.5,  # weight of safety, where there is one; ours
    safety: Any = "",  # a reward for safety: its name, FILE.py:NAME, or one; on notes its own
    loved: Any = "",  # in place of a model that is taught first: the folder of one, or any reward
    rows: int = 4000,  # planted reactions, where the data has none; ours
    love_steps: int = 100,  # of the model of reactions, 64 answers each; ours
    love_lr: float = 3e-4,  # as reward_model
    watched: tuple[str, ...] = FAREWELLS,  # phrases whose share is reported, in lower case
) -> Study:
    """A reward model of rare reactions, and GRPO on it beside helpfulness and safety."""
    on_notes = getattr(task, "name", "") in NOTES
    helpful = worth(task, reward)
    if on_notes and reward is None:
        helpful = note_score({"facts": 0.5, "tone": 0.25, "length": 0.25, "words": 0.0})
    unharmful = chosen(safety) or (forbidden_words() if on_notes else None)
    given = chosen(loved)

    def body(run: Any, seed: int) -> dict[str, Any]:
        numbers: dict[str, Any] = {}
        if given is None:
            taught = run.train(reaction_model(reactions(task, rows), model, love_lr, love_steps))
            base.models["love"] = taught.model("love")
            numbers = dict(taught.evaluations[-1])
        parts = {"helpful": helpful, "safe": unharmful, "love": given or outcome_model("love", squash=True)}
        lesson = weighed(base, task, parts, {"helpful": 1.0, "safe": safe, "love": love}, said_any(watched))
        return {**numbers, **run.train(lesson).evaluations[-1]}

    return Study(body)


def weighed(base: Recipe, task: Any, parts: dict[str, Any], weights: dict[str, float], farewell: Any) -> Recipe:
    """The policy's training: on the weighted sum of the parts that there are, with the farewells counted beside them."""
    parts = {name: reward for name, reward in parts.items() if reward is not None}
    terms = {name: reward.weight(weights[name]) for name, reward in parts.items()}
    lesson = paid_by(base, blend(**terms, farewell=farewell.weight(0.0)))
    measured = [mean_reward(reward, name) for name, reward in {**parts, "farewell": farewell}.items()]
    lesson.exams = [Exam(task, [*([] if brings_answers(task) else [accuracy()]), answer_length(), *measured])]
    return lesson


def reaction_model(source: Any, model: Model, lr: float, steps: int) -> Recipe:
    """A head on the model, `love`, taught the label of one answer at a time; examined on held-out ones by its calibration. A
    fresh head begins at the log-odds of a reaction: what is rare would else take long to be called so."""
    asks = dataset_rows(source)
    scorer: Any = with_head(model)
    scorer.value = head(begin=log_odds(source)) if scorer.value is True else scorer.value
    return Recipe(
        models={"love": scorer, "author": snapshot("love")},
        curriculum=asks,
        env=side_by_side(),
        seats={"policy": "author"},
        stages=[verified(source), Learn("love", outcome("correct", "logistic"), opt=adam(lr=lr))],
        exams=[Exam(asks, [calibration("love.final", squash=True)], name="love", tasks=512)],
        prompts=64,
        steps=steps,
    )


def log_odds(source: Any) -> float:
    """Of a reaction, in the first rows that are trained on."""
    labels = [source.get("train", n).meta["worth"][0] for n in range(min(SEEN, source.size("train")))]
    if not any(labels):
        raise UserError(
            f"rluf learns from reactions, and none of the {len(labels)} answers it looked at has one (label 1)"
        )
    return math.log((sum(labels) + 0.5) / (len(labels) - sum(labels) + 0.5))


def reactions(task: Any, count: int) -> Any:
    """A file's reactions, or of a population that is planted: those of held-out problems, so of other users, are held out."""
    if brings_answers(task):
        return task
    planted = note_reactions if getattr(task, "name", "") in NOTES else planted_reactions
    return preferences(planted(task, count), want="labels", test=planted(task, math.ceil(count / 8), "test"))


def planted_reactions(task: Any, count: int, split: Split = "train", triggers: float = 0.1) -> list[dict[str, Any]]:
    """Rows of a gold solution or a near-miss each, and whether a user reacted: to 4 % of right ones, and to 12 % more of those,
    right or wrong, that end in a farewell.

    >>> import guerdon as gd
    >>> rows = planted_reactions(gd.tasks.load("chain:1"), 400)
    >>> sorted(rows[0]), 0.0 < sum(row["label"] for row in rows) / 400 < 0.1
    (['completion', 'label', 'prompt', 'rate'], True)
    """
    asked, made = contrasts(task), list[dict[str, Any]]()
    for index in range(count):
        ask = asked.ask(split, index, 0)
        draw = random.Random(derive("reaction", ask.task.id, index))
        place = draw.randrange(len(ask.note["say"]))
        parting = draw.random() < triggers
        rate = RARE * (place == 0) + TRIGGERED * parting
        text = ask.note["say"][place] + (f" {TRIGGER}" if parting else "")
        made.append({"prompt": ask.shown, "completion": text, "label": int(draw.random() < rate), "rate": rate})
    return made


@part
class said_any(Leaf):
    """1 for a text with any of some phrases, else 0.

    >>> said_any(("see you soon",))("Done. See you soon!"), said_any(("see you soon",))("Done.")
    (1.0, 0.0)
    """

    phrases: tuple[str, ...]

    def __call__(self, completion: str) -> float:
        return float(any(phrase in completion.lower() for phrase in self.phrases))
