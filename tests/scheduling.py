"""What `make test` tries, and what `make slow` alone.

`mostly_slow` picks a few cases of many. `little_and_much` gives a test two numbers, the second for `make slow`. `examples`
follows hypothesis's profile: quick in `make test`, thorough in `make slow`, which runs every test that draws examples again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings


def mostly_slow(cases: Iterable[Any], *plain: Any) -> list[Any]:
    """The cases for `parametrize`: those named in `plain` stay in `make test`, the others move to `make slow`.

    A tuple is one case of several arguments.
    """
    cases = list(cases)
    unknown = [case for case in plain if case not in cases]
    assert not unknown, f"no such cases: {unknown}"
    return [
        case if case in plain else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
        for case in cases
    ]


def little_and_much(names: str, little: Any, much: Any) -> pytest.MarkDecorator:
    """Parametrises a test twice: what a plain run tries, and what `make slow` tries."""
    marked = pytest.param(*(much if "," in names else [much]), marks=pytest.mark.slow, id="much")
    return pytest.mark.parametrize(names, [pytest.param(*(little if "," in names else [little]), id="little"), marked])


def examples(share: float) -> settings:
    """For a test whose examples cost more, or less, than most: this share of what the profile says, at least three."""
    return settings(max_examples=max(3, round(share * settings.default.max_examples)))
