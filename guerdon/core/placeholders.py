"""Prompt templates that users write: which placeholders they must have."""

from __future__ import annotations

from string import Formatter

from guerdon.core.errors import UserError


def check_template(where: str, template: str, *names: str) -> None:
    """Refuse a template that does not have exactly these fields."""
    try:
        placeholders = {name for _, name, _, _ in Formatter().parse(template) if name is not None}
    except ValueError as error:
        raise UserError(f"{where} cannot be read ({error}): write {{{{ and }}}} for plain braces") from error
    if placeholders != set(names):
        wanted = " and ".join(f"{{{name}}}" for name in names)
        raise UserError(f"{where} must have {wanted} and no other field, not {template!r}")
