"""A plain validator for a part of JSON Schema: all that `json_forms` writes, and most of what people do.

Understood: type, enum, const, properties, required, additionalProperties (True or False), items (one schema), minItems,
maxItems, uniqueItems, minLength, maxLength, pattern, minimum, maximum, exclusiveMinimum, exclusiveMaximum. A schema with
anything else is refused. It says what jsonschema says (tests hold it to that), and needs no package.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sized
from typing import Any

from guerdon.core.errors import UserError

SAYS_NOTHING = {"$schema", "title", "description", "default", "examples", "$comment"}
TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: _is_whole(value),
}


def _is_whole(value: Any) -> bool:
    whole = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value) and value.is_integer())
    return whole and not isinstance(value, bool)


def plainly_fits(value: Any, schema: Any) -> bool:
    """Whether a JSON value fits a schema.

    >>> wanted = {"type": "object", "required": ["age"], "properties": {"age": {"type": "integer", "minimum": 0}}}
    >>> plainly_fits({"age": 3.0}, wanted), plainly_fits({"age": True}, wanted), plainly_fits({}, wanted)
    (True, False, False)
    """
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, Mapping):
        raise UserError(f"a JSON schema is a dict (or True or False), not {schema!r}")
    for word, asked in schema.items():
        if word in SAYS_NOTHING:
            continue
        if word not in WORDS:
            raise UserError(f"the plain validator does not know {word!r} of a schema: pip install 'guerdon[json]'")
        if not WORDS[word](value, asked, schema):
            return False
    return True


def same_value(given: Any, right: Any) -> bool:
    """Whether two JSON values are one: 1 and 1.0 are, 1 and true are not.

    >>> same_value({"a": [1.0]}, {"a": [1]}), same_value(1, True)
    (True, False)
    """
    if isinstance(given, bool) or isinstance(right, bool):
        return given is right
    if isinstance(given, dict) and isinstance(right, dict):
        return given.keys() == right.keys() and all(same_value(given[key], right[key]) for key in right)
    if isinstance(given, list) and isinstance(right, list):
        return len(given) == len(right) and all(map(same_value, given, right))
    return bool(given == right)


def _typed(value: Any, asked: Any, _: Any) -> bool:
    return any(TYPES[name](value) for name in ([asked] if isinstance(asked, str) else asked))


def _properties(value: Any, asked: Any, _: Any) -> bool:
    return not isinstance(value, dict) or all(plainly_fits(value[k], inner) for k, inner in asked.items() if k in value)


def _no_others(value: Any, asked: Any, schema: Any) -> bool:
    if not isinstance(asked, bool):
        raise UserError("the plain validator knows additionalProperties as True or False: pip install 'guerdon[json]'")
    return asked or not isinstance(value, dict) or value.keys() <= {*schema.get("properties", {})}


def _items(value: Any, asked: Any, _: Any) -> bool:
    return not isinstance(value, list) or all(plainly_fits(each, asked) for each in value)


def _unique(value: Any, asked: Any, _: Any) -> bool:
    if not asked or not isinstance(value, list):
        return True
    return not any(same_value(a, b) for place, a in enumerate(value) for b in value[:place])


def _bounded(kind: type[Sized], holds: Callable[[Any, Any], bool]) -> Callable[[Any, Any, Any], bool]:
    """A bound on the length of values of one kind."""
    return lambda value, asked, _: not isinstance(value, kind) or holds(len(value), asked)


def _compared(holds: Callable[[Any, Any], bool]) -> Callable[[Any, Any, Any], bool]:
    return lambda value, asked, _: not TYPES["number"](value) or holds(value, asked)


WORDS: dict[str, Callable[[Any, Any, Any], bool]] = {
    "type": _typed,
    "enum": lambda value, asked, _: any(same_value(value, each) for each in asked),
    "const": lambda value, asked, _: same_value(value, asked),
    "properties": _properties,
    "required": lambda value, asked, _: not isinstance(value, dict) or all(key in value for key in asked),
    "additionalProperties": _no_others,
    "items": _items,
    "minItems": _bounded(list, lambda count, least: count >= least),
    "maxItems": _bounded(list, lambda count, most: count <= most),
    "uniqueItems": _unique,
    "minLength": _bounded(str, lambda count, least: count >= least),
    "maxLength": _bounded(str, lambda count, most: count <= most),
    "pattern": lambda value, asked, _: not isinstance(value, str) or re.search(asked, value) is not None,
    "minimum": _compared(lambda value, least: value >= least),
    "maximum": _compared(lambda value, most: value <= most),
    "exclusiveMinimum": _compared(lambda value, bound: value > bound),
    "exclusiveMaximum": _compared(lambda value, bound: value < bound),
}
