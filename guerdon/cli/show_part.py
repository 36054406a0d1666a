"""`guerdon show PART` and `guerdon show REWARD`: its docstring, and what each of its knobs does."""

from __future__ import annotations

import inspect
from typing import Any

from guerdon.cli import knob_words, shelves
from guerdon.cli.output import Output
from guerdon.core.errors import unknown


def show_part(output: Output, name: str, recipes: list[str]) -> None:
    """Every part of a name, or the one of FOLDER.NAME; refused with what comes near where there is none."""
    folder, _, last = name.rpartition(".")
    every = shelves.parts()
    chosen = [each for each in every if last in _names(each) and folder in ("", each.folder)]
    if not chosen:
        raise unknown("recipe, part or reward", name, [*recipes, *(n for each in every for n in _names(each))])
    if not output.as_json:
        for i, each in enumerate(chosen):
            if i:
                output.say()
            _tell(output, each)
    output.finish({"parts": [_as_json(each) for each in chosen]})


def _names(each: shelves.Shelved) -> tuple[str, ...]:
    """The names it goes by."""
    return tuple(each.cls.__part__)


def _tell(output: Output, each: shelves.Shelved) -> None:
    output.say(f"{each.name}  ({each.folder})  {each.module}")
    output.say()
    output.say(knob_words.without_arguments(inspect.getdoc(each.cls) or ""))
    knobs = shelves.knobs(each.cls)
    if knobs:
        output.say()
        output.say("knobs")
        for line in knob_words.lines(knobs, knob_words.part_knobs(each.cls, knobs), min(output.console.width, 100)):
            output.say(line)
    for name in ("needs", "gives"):
        columns = getattr(each.cls, name, ())
        if isinstance(columns, tuple) and columns:
            output.say(f"{name}: {', '.join(columns)}")


def _as_json(each: shelves.Shelved) -> dict[str, Any]:
    words = knob_words.part_knobs(each.cls, shelves.knobs(each.cls))
    return {**shelves.row(each), "module": each.module, "doc": inspect.getdoc(each.cls), "knob_words": words}
