"""What tests of proofs share: a recipe of the user's own on a table that learns in a second, and where its proof goes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from guerdon.prove.proving import How

PAGE = Path(__file__).parent.parent.parent / "docs" / "evidence.md"
MINE = '''
"""Learning faster: a larger step."""
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.recipes.house.grpo import grpo


@recipe("faster", family="mine", paper="arXiv:0000.00000", on=grpo, claim=Claim(
    says="a step a hundred times as large learns more", baseline="grpo lr=0.003", ablation="faster lr=0.003",
    task="successor:1", model="tabular", settings="prompts=4 tries=8", budget=2500, unit="tokens"))
def faster(base: Recipe, *, lr: float = 0.3) -> Recipe:
    """GRPO with a large step."""
    return base
'''
REFUSES = """
from guerdon.core.part import part


@part
class refuses:
    \"\"\"An environment that breaks.\"\"\"

    roles = ("policy",)

    async def play(self, ask, seats):
        raise ValueError("no table")
"""


def quiet(done: int, total: int, last: Any) -> None: ...


def how(tmp_path: Path, **more: Any) -> How:
    return How(**{"out": tmp_path / "evidence", "runs": tmp_path / "runs", "jobs": 1, **more})


def example() -> str:
    """The recipe that the page shows."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return str(code)
