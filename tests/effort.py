"""How much a test tries. A plain run tries little of everything; `make slow` tries the rest.

Two ways, each for what it fits. `examples` follows hypothesis's profile: quick, or thorough in `make slow`, which runs every
test that draws examples again. `little_and_much` gives a test its numbers, those of `make slow` marked so.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings


def examples(share: float) -> settings:
    """For a test whose examples cost more, or less, than most: this share of what the profile says, at least three."""
    return settings(max_examples=max(3, round(share * settings.default.max_examples)))


def little_and_much(names: str, little: Any, much: Any) -> pytest.MarkDecorator:
    """Parametrises a test twice: what a plain run tries, and what `make slow` tries."""
    marked = pytest.param(*(much if "," in names else [much]), marks=pytest.mark.slow, id="much")
    return pytest.mark.parametrize(names, [pytest.param(*(little if "," in names else [little]), id="little"), marked])
