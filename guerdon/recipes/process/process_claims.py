"""What the claims of methods about steps share: problems whose every line can be checked, and an equal budget. No recipe.

sprig solves half of these equations in five or six lines, errs before its last line wherever it errs, and comes to one right
answer in four by a wrong line: there are steps to judge, and answers that they would unmask.
"""

from __future__ import annotations

from typing import Any

STEPS: dict[str, Any] = {
    "task": "equation:6-7",
    "settings": "prompts=16 tries=8 lr=5e-5 max_tokens=80",
    "budget": 250_000,
}
