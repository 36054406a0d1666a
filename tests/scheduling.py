"""Which of many cases `make test` tries, and which `make slow` alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


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
