"""What every reward that looks at text refuses when it is made: knobs that are not plain numbers, patterns that do not compile.

Leaves out: limits of single knobs, which `knob(...)` holds.
"""

from __future__ import annotations

import importlib.util
import math
import re

from guerdon.core.errors import UserError, require_extra
from guerdon.core.knob_values import is_schedule
from guerdon.core.part import knobs, label


def check_plain(part: object) -> None:
    """No schedule and no infinity: a leaf sees one sample and never learns the step."""
    for name, value in knobs(part).items():
        if is_schedule(value):
            raise UserError(f"{label(part)}.{name} takes no schedule: put it on the weight, .weight(linear(...))")
        if isinstance(value, float) and not math.isfinite(value):
            raise UserError(f"{label(part)}.{name} must be a finite number, not {value!r}")


def check_pattern(where: str, pattern: str) -> None:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise UserError(f"{where} {pattern!r} is not a regular expression: {error}") from error


def check_installed(module: str, package: str, extra: str) -> None:
    """Report that an optional library is missing when a recipe is built, without the time its import takes."""
    if importlib.util.find_spec(module) is None:
        raise require_extra(package, extra)
