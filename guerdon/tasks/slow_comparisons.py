"""Comparisons of an answer with the truth that can take for ever on a text a model wrote: formulas, JSON schemas.

Plain functions for worker processes, which stop them after some seconds: so there is no torch here.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from typing import Any

from guerdon.core.errors import UserError
from guerdon.tasks.field.plain_schema import plainly_fits
from guerdon.text.answers import NOTHING, find_json, whole_json


def same_formula(completion: str, answer: str = "", digits: int = 6, strict: bool = True) -> float | None:
    """1 if Math-Verify finds the completion's formula equal to the answer's; None without an answer it can read."""
    library: Any = importlib.import_module("math_verify")
    for module in (library.parser, library.grader):
        module.TIMEOUT_WARNING_SHOWN = True  # it would warn once that its own limits, a signal each, are off
    bare = not any(sign in answer for sign in ("$", r"\boxed", r"\(", r"\["))
    right = library.parse(f"${answer}$" if bare else answer, parsing_timeout=None)
    if not right:
        return None
    given = library.parse(completion, parsing_timeout=None)
    return float(library.verify(right, given, float_rounding=digits, strict=strict, timeout_seconds=None))


def fits_schema(completion: str, schema: Any = None, whole: bool = False) -> float | None:
    """1 if the completion's JSON fits the schema, else 0; None without a schema. Without jsonschema, by the plain validator."""
    if schema is None:
        return None
    value = whole_json(completion) if whole else find_json(completion)
    if value is NOTHING:
        return 0.0
    if importlib.util.find_spec("jsonschema") is None:
        return float(plainly_fits(value, schema))
    referencing = importlib.import_module("referencing.exceptions")
    try:
        return float(validator(schema).is_valid(value))
    except referencing.Unresolvable as error:
        raise UserError(f"the schema refers to {error.ref!r}, which it does not hold: put it under $defs") from error
    except (RecursionError, OverflowError):
        return 0.0  # deeper or larger than Python reckons with: no schema asks for that


def validator(schema: Any) -> Any:
    """What decides by a schema; refuses what is none."""
    library = importlib.import_module("jsonschema")
    if not isinstance(schema, Mapping | bool):
        raise UserError(f"a JSON schema is a dict (or True or False), not {schema!r}")
    kind = library.validators.validator_for(schema, default=library.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except library.SchemaError as error:
        raise UserError(f"json_schema.schema is not a JSON Schema: {error.message}") from error
    return kind(schema, registry=importlib.import_module("referencing").Registry())
