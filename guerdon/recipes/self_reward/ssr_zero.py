"""SSR-Zero: the policy translates, the same policy scores its translation from 0 to 100, and that score is the reward.

Paper: Yang et al. 2025, simple self-rewarding RL for machine translation (arXiv:2505.16637), read in its abstract and in
summaries; its repository (Kelaxon/SSR-Zero) holds no code. No reference is needed: the policy as it is now reads the request
and each try under a judge's prompt, which gives 0 to what is in another language, in several versions or with other text. The
reward is score / 100 and `form` for a bare translation: a line, not in quotation marks. A score outside 0 to 100, or none, is
asked for again and then *failed*, never 0. SSR-X adds an external metric, chrF with the reference or your own reward, times
`external`. `judged_by=start` is the paper's comparison: a frozen copy of the start model scores. The prompt is ours (`--set
roles.translation_score=FILE`), and so are both weights and what form is. A model that knows sprig's roles scores from 1 to 5,
in that role. Leaves out: thinking before the translation, in tags; COMET, which `--reward` can be.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.part import part
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.wordings import by_model
from guerdon.exams.exam import Exam
from guerdon.exams.rates import accuracy
from guerdon.exams.rewards_given import mean_reward
from guerdon.judges.judging import ANSWER, LINE, TASK, WARNED
from guerdon.judges.local_models import run_model
from guerdon.judges.pointwise import Scale, judge
from guerdon.models.frozen_copy import snapshot
from guerdon.models.model_facts import knows_roles
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid_by
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.formula.algebra import blend
from guerdon.rewards.formula.reward import as_reward
from guerdon.rewards.text.answers import chrf
from guerdon.tasks.stepwise import has_steps

ASKED = (
    "Score a translation from 0 to 100. 100 keeps the whole meaning of the source, in sound language; 0 keeps nothing of it. A"
    " translation into another language than the one asked for, several versions, or other text beside the translation has"
    " 0.\n\n" + TASK + ANSWER + WARNED + " Say briefly what is right and wrong in it." + LINE
)
QUOTES = "\"'`“”‘’«»「」"


@recipe(
    "ssr-zero",
    family="self_reward",
    paper="arXiv:2505.16637",
    on=grpo,
    needs=Needs(answers=False, text=True, one_turn=True),
    helps=("few-labels",),
)
def ssr_zero(
    base: Recipe,
    task: Any,
    model: Model,
    reward: Any = None,
    *,
    judged_by: Literal["policy", "start"] = "policy",  # who scores: the policy as it is now, or as it began
    form: float = 0.1,  # weight of a bare translation; ours
    external: float = 0.0,  # weight of the external metric of SSR-X; ours
) -> Recipe:
    """GRPO on the policy's own score of its translations."""
    if getattr(model, "chat", None) is not None and knows_roles(model) and not has_steps(task):
        raise UserError(
            f"ssr-zero: sprig scores solutions of generated families alone, not {task.name}: --model FOLDER with a model that"
            " follows instructions, or --task chain:3"
        )
    has_references = bool(task.get("train", 0).answer)
    if reward is not None and not external:
        raise UserError("ssr-zero adds --reward to the policy's own score: weigh it, --set external=0.5, or use grpo")
    if external and reward is None and not has_references:
        raise UserError("external=... adds chrF with references, which the rows lack: --answer COL, or --reward R")
    if judged_by == "start":
        base.models.setdefault("reference", snapshot("policy"))
    scored = of_100(run_model("policy" if judged_by == "policy" else "reference"))
    terms: dict[str, Any] = {"own_score": scored, "form": bare().weight(form)}
    if external:
        terms["external"] = as_reward(chrf() if reward is None else reward).weight(external)
    if has_references:
        base.exams = [Exam(task, [accuracy(), mean_reward(chrf(), "chrf")])]
    return paid_by(base, blend(**terms))


@part
class of_100(judge):
    """A model's score of a translation, a whole number from 0 to 100, over 100; from 1 to 5 in sprig's role `score`.

    >>> import guerdon as gd
    >>> @gd.part
    ... class says(gd.Answerer):
    ...     text: str
    ...     async def answer(self, questions, models):
    ...         return [gd.JudgeAnswer(self.text) for _ in questions]
    >>> replies = ("Fluent. It lost a word.\\nVerdict: 80", "Verdict: 140")
    >>> asked = [of_100(says(text), scale=(0, 100), prompt=ASKED) for text in replies]
    >>> [gd.score_samples(each, [{"prompt": "dog", "completion": "talu"}]).whole for each in asked]
    [[0.8], [None]]
    """

    by: Any
    question: str = ""
    scale: Scale = by_model((1, 5), (0, 100))
    sure: bool = False
    prompt: str | Path = by_model(
        "", ASKED, role="translation_score", places={"request": "prompt", "translation": "completion"}
    )
    name: str = "own_score"


@part
class bare(Leaf):
    """1 for one line of text, neither empty nor in quotation marks; else 0.

    >>> [bare()(text) for text in ("talu miro ame", '"talu miro ame"', "talu\\nmiro", " ")]
    [1.0, 0.0, 0.0, 0.0]
    """

    def __call__(self, completion: str) -> float:
        text = completion.strip()
        return float(bool(text) and "\n" not in text and text[0] not in QUOTES and text[-1] not in QUOTES)
