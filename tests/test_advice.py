"""Which method `guerdon advise` names: twenty questions that were written down with their right answers before it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from guerdon.training.advice import advise, have_of

QUESTIONS = json.loads(Path(__file__).with_name("advise_questions.json").read_text())


@pytest.mark.parametrize("asked", QUESTIONS, ids=[str(n + 1) for n in range(len(QUESTIONS))])
def test_one_of_the_first_three_is_right(asked: dict[str, Any]) -> None:
    columns = asked.get("columns", [])
    have = asked.get("have") or [have_of(columns)]
    names = [each.recipe.name for each in advise(have, asked.get("problem"), asked["model"], columns=columns)]
    assert {*names[:3]} & {*asked["right"]}, f"{asked['question']} {names[:8]}, not {asked['right']}"
