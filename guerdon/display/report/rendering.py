"""The report's templates: `templates/*.html` by jinja2, compiled once a process, with the style and the script beside them.

A run's text is untrusted, so escaping is on for every template.
Only what a template itself made goes into another as it is.
The style and the script are not templates: they go into the page unchanged.
"""

from __future__ import annotations

import functools
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

# a NUL must neither vanish nor break the page: control characters stand there as their pictures
PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"}


def render(template: str, **context: Any) -> str:
    """A template filled in. A name that the context does not hold is an error."""
    return _environment().get_template(template).render(context)


@functools.cache
def verbatim(name: str) -> Markup:
    """A file of the templates' folder, to stand in the page as it is."""
    environment = _environment()
    assert environment.loader is not None
    return Markup(environment.loader.get_source(environment, name)[0])


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("guerdon.display.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False}
    return environment


def _visible(value: Any) -> Any:
    """What an expression of a template gives, on its way to be escaped."""
    return value.translate(PICTURES) if isinstance(value, str) and not isinstance(value, Markup) else value
