"""What the claims of methods about debugging programs share: the functions to write, and an equal budget. No recipe.

Levels, budgets and learning rates of all of them stand here and nowhere else. Exams have a quarter of the usual problems, or
an eighth: the tests of a program cost more than writing it, and two exams of 250 are off by 0.03, where methods differ by 0.05
from seed to seed (`verpo`).
"""

from __future__ import annotations

from typing import Any

STUDENT = "sprig-2"
REFLECTIONS: dict[str, Any] = {
    "task": "functions:5-6",
    "model": STUDENT,
    "settings": "prompts=16 tries=8 lr=5e-5 max_tokens=400 functions.checker=plain",
    "budget": 250_000,
    "exam": 500,
}
DEBUGGING: dict[str, Any] = {
    "task": "functions:8",
    "model": STUDENT,
    "settings": "prompts=16 tries=8 lr=2e-5 max_tokens=224 functions.checker=plain",
    "budget": 150_000,
    "exam": 250,
}
STARTS: dict[str, Any] = {
    "task": "functions:7",
    "model": STUDENT,
    "settings": "prompts=16 tries=8 lr=2e-5 max_tokens=192 functions.checker=plain",
    "budget": 150_000,
    "exam": 250,
}
DECODING: dict[str, Any] = {
    **STARTS,
    "method": "stage=decoding",
    "settings": "prompts=16 tries=8 lr=3e-4 max_tokens=192 functions.checker=plain",
    "start": "rest-rl prompts=16 tries=8 lr=2e-5 max_tokens=192 steps=20 functions.checker=plain",
    "budget": 100_000,
}
