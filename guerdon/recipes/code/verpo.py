"""VeRPO: GRPO on programs whose reward is all tests passed, and beside it each test, weighed by how rarely it is passed.

Paper: Wang et al. 2026 (arXiv:2601.03525, third version). A test's pass rate among the tries at a problem says how hard it is.
A try is paid `by_rarity` for the tests that it passes: hard ones more than easy ones, and many that are equally easy no more
than one. The advantage is that of the outcome plus `beta` times that of the tests, each less its mean in the group and not
divided by the spread; in one turn that is the advantage of the sum. `weights=equal` pays the share of tests that are passed,
`outcome=0` nothing for all of them together. No code was found, nor the paper's `alpha`, `sigma` and `beta`: they are ours.
Leaves out: several turns with feedback, where each attempt has its own tests.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid_by
from guerdon.rewards.formula.algebra import blend, by_rarity
from guerdon.rewards.text.programs import tests_passed

FUNCTIONS: dict[str, Any] = {
    "task": "functions:8",
    "model": "sprig-2",
    "settings": "prompts=16 tries=8 lr=5e-5 max_tokens=224 functions.checker=plain",
    "budget": 250_000,
    "exam": 1000,
}


@recipe(
    "verpo",
    family="code",
    paper="arXiv:2601.03525",
    claim=(
        Claim(
            says="Tests weighed by how rarely they are passed, beside all together, solve more than all together alone.",
            ablation="verpo beta=0",
            **FUNCTIONS,
        ),
        Claim(
            says="Tests weighed by how rarely they are passed, beside all together, solve more than the share passed.",
            baseline="verpo weights=equal outcome=0",
            **FUNCTIONS,
        ),
    ),
    on=grpo,
    needs=Needs(tests=True, sandbox=True),
    helps=("sparse", "uneven-difficulty"),
)
def verpo(
    base: Recipe,
    task: Any,
    *,
    beta: float = 0.5,  # ours
    alpha: float = 1.0,  # ours: a test that nobody passes would weigh e times one that everybody does
    sigma: float = 0.1,  # ours: about one try in eight
    weights: Literal["rare", "equal"] = "rare",
    outcome: float = 1.0,  # the paper's
) -> Recipe:
    """GRPO with a dense reward from unit tests, weighed by how hard they have turned out to be."""
    tests = tests_passed(task)
    dense = by_rarity(tests, alpha, sigma) if weights == "rare" else tests
    solved = tests.gated_by(tests, least=1.0)  # the share where it is 1, else 0
    base.stages.credit[0].std = False
    return paid_by(base, blend(solved=solved.weight(outcome), tests=dense.weight(beta)))
