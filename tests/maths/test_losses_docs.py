"""What docs/losses.md shows runs, and the combinations in its chart can be built."""

from __future__ import annotations

import re
from pathlib import Path

from guerdon.losses.critic import value
from guerdon.losses.distillation import distilled
from guerdon.losses.imitation import advantage_weighted, sft
from guerdon.losses.kl_cost import kl_cost
from guerdon.losses.old_policy import masked, sampled, truncated
from guerdon.losses.pair import better_nll, dpo, odds_ratio
from guerdon.losses.penalties import entropy, kl
from guerdon.losses.policy import clipped, reweighted
from guerdon.losses.reward_model import bradley_terry, implicit_outcome, outcome, step_labels
from guerdon.losses.signs import by_sign, finished
from guerdon.losses.unpaired import kto, mismatched_kl

PAGE = Path(__file__).parent.parent.parent / "docs" / "losses.md"
PARTS = [advantage_weighted, better_nll, bradley_terry, by_sign, clipped, distilled, dpo, entropy, finished]
PARTS += [implicit_outcome, kl, kl_cost, kto, masked, mismatched_kl, odds_ratio, outcome, reweighted, sampled, sft]
PARTS += [step_labels, truncated, value]


def test_the_page_runs():
    scope: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(compile(code, str(PAGE), "exec"), scope)


def test_the_combinations_of_the_chart_can_be_built():
    names = {part.__name__: part for part in PARTS}
    chart = PAGE.read_text().split("## Which algorithm")[1].split("\n## ")[0]
    written = [code for row in chart.splitlines() if row.startswith("| ") for code in re.findall(r"`([^`]+)`", row)]
    built = [
        eval(code, {**names, "max_tokens": 256.0})
        for code in written
        if re.match(r"\w+\(", code) and "Learn" not in code
    ]
    assert len(built) > 25


def test_every_part_is_on_the_page():
    text = PAGE.read_text()
    assert [p.__name__ for p in PARTS if f"`{p.__name__}" not in text and f"{p.__name__}(" not in text] == []
