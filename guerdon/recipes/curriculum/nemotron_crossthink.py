"""Nemotron-CrossThink: GRPO on a blend of general and mathematical problems, two to one, asked without options.

Paper: Akter et al. 2025, Scaling Self-Learning beyond Math Reasoning (arXiv:2504.13941). Problems of many domains are given
short answers that can be checked, asked openly or with options (templates), and blended; general reasoning and mathematics two
to one did best (by 0.3 points over mathematics alone), and open questions better than choices (by 1.2). The reward is 1 where
answer and format are right.
Here `math` names the families that count as mathematics and all others of the task are general; `ratio` is general to 1 of
mathematics (0: mathematics alone). With `template="choice"` the general problems show two solutions, of which one is chosen.
The exam has as many problems of every kind, whatever was trained on.
Leaves out: the corpora and their filter for answers that can be checked (those of generated problems can); the filter that
drops what a smaller model solves (`with_rate` is one by the policy's own rate).
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.errors import UserError
from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.core.task import kinds_of
from guerdon.curricula.blends import proportions
from guerdon.recipes.house.grpo import grpo
from guerdon.rewards.stage.score_stages import verified
from guerdon.tasks.closed import closed_form
from guerdon.tasks.mixtures import mixture

NAME = "nemotron-crossthink"
ARMS: Any = {"task": "countdown:3-4+addition:5-6+strings:5-6+lists:5-6+trace:2-3"}
ARMS |= {"settings": "prompts=16 tries=8 lr=5e-5 max_tokens=112"}
BLENDS: Any = {"baseline": f"{NAME} ratio=0", "ablation": f"{NAME} ratio=0.5", **ARMS}
FORMS: Any = {"baseline": f"{NAME} template=choice", **ARMS}


@recipe(
    "nemotron-crossthink",
    family="curriculum",
    paper="arXiv:2504.13941",
    claim=(
        Claim(
            says="General problems and mathematics, two to one, solve more over all domains than mathematics.", **BLENDS
        ),
        Claim(says="General problems asked openly solve more over all domains than asked as choices.", **FORMS),
    ),
    on=grpo,
    needs=Needs(domains=True, families="countdown addition equation chain modular bases units|math"),
)
def nemotron_crossthink(
    base: Recipe,
    task: Any,
    *,
    tries: int = 8,
    ratio: float = 2.0,  # the paper's best blend
    math: tuple[str, ...] = ("countdown", "addition", "equation", "chain", "modular", "bases", "units"),
    template: Literal["open", "choice"] = "open",  # the paper's better one
) -> Recipe:
    """GRPO on general and mathematical problems in given proportions."""
    sources = kinds_of(task).values()
    sums = [source for source in sources if source.get("train", 0).family in math]
    general = [source for source in sources if source not in sums]
    if not sums or not general:
        raise UserError(f"{task.name} is of one domain: mix mathematics ({', '.join(math)}) with others, A+B")
    asked = closed_form(mixture(task.name, general)).sources if template == "choice" else general
    both = mixture(task.name, [*sums, *asked])
    weights = {kind: 1 / len(sums) if s in sums else ratio / len(general) for kind, s in both.kinds().items()}
    base.curriculum = proportions(both, weights, tries)
    return base.but(verified=verified(both))
