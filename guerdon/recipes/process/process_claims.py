"""What the claims of methods about steps share: problems whose every line can be checked, and an equal budget. No recipe.

sprig solves half of these equations in five or six lines, errs before its last line wherever it errs, and comes to one right
answer in four by a wrong line: there are steps to judge, and answers that they would unmask. Plain GRPO gains some seven points
of them within the budget at its default learning rate (one run each of several tasks, before any claim was written: 6.4 points
by 250,000 tokens, 8.7 by 600,000), and loses them at three times that.
"""

from __future__ import annotations

from typing import Any

STEPS: dict[str, Any] = {
    "task": "equation:6-7",
    "settings": "prompts=16 tries=8 lr=2e-5 max_tokens=80",
    "budget": 400_000,
}
# What teaches the scorer that arms are prepared with: start={"prm": PRM}
PRM = "process_reward_model steps=150 lr=3e-4 max_tokens=80"
