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

from typing import Any

from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.losses.imitation import sft
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.process.intro.parts import candidates as drawn
from guerdon.recipes.process.intro.parts import weighed_candidates
from guerdon.recipes.process.process_claims import STEPS
from guerdon.select.filters import at_least
from guerdon.tasks.shown_answers import Show

# Of the family's own levels the start that is taught to read answers solves three quarters, which leaves little to learn.
HARDER: Any = {**STEPS, "task": "equation:7-8", "settings": "prompts=16 tries=8 lr=2e-5 max_tokens=112"}


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
