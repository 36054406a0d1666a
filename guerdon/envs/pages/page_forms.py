"""What a form holds when it is sent, and what it complains about.

Leaves out: what is done with it then (`page_effects.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from guerdon.envs.pages.elements import Element

FORMATS = {  # of a field: what it must be, and how that is said
    "email": (r"[\w.]+@[\w.]+\.\w+", "must look like name@place.com"),
    "number": (r"-?[0-9]+", "must be a whole number"),
    "digits": (r"[0-9]+", "must be digits alone"),
    "date": (r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "must look like 2024-05-31"),
    "time": (r"[0-9]{2}:[0-9]{2}", "must look like 09:30"),
    "code": (r"[a-z]{2}-[0-9]{3}", "must look like ab-123"),
}


def form_values(form: Element) -> tuple[dict[str, str], list[str]]:
    """What a form's controls hold by name, and what is wrong with it."""
    values: dict[str, str] = {}
    controls = [e for e in form.walk() if e.attributes.get("name") and e.is_control and e.tag not in ("a", "button")]
    for each in controls:
        name, kind = each.attributes["name"], each.kind
        if kind == "box":
            values[name] = each.value if each.checked else "off"
        elif kind == "radio":
            values[name] = each.value if each.checked else values.get(name, "")
        else:
            values[name] = each.value
    errors = []
    for each in controls:
        wrong = _wrong(each, values)
        if wrong and f"{each.attributes['name']} {wrong}" not in errors:
            errors.append(f"{each.attributes['name']} {wrong}")
    return values, errors


def _wrong(control: Element, values: Mapping[str, str]) -> str:
    given, value = control.attributes, values[control.attributes["name"]]
    if value in ("", "off") and "required" in given:
        return "must be ticked" if control.kind == "box" else "is needed"
    pattern, says = FORMATS.get(given.get("format", ""), ("", ""))
    if value and pattern and not re.fullmatch(pattern, value):
        return says
    if "least" in given and re.fullmatch("-?[0-9]+", value) and int(value) < int(given["least"]):
        return f"must be at least {given['least']}"
    if "same" in given and value != values.get(given["same"]):
        return f"must be the same as {given['same']}"
    return ""
