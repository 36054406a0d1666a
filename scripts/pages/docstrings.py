"""A griffe extension: docstrings as they stand in the source become the Markdown of the site."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from guerdon.cli.knob_words import without_arguments
from pages.prose import markdown


class Prose(griffe.Extension):
    """Examples as code without prompts, papers as links; of parts without `Args:`, which their table of knobs has."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is None:
            return
        text = obj.docstring.value
        is_part = isinstance(obj, griffe.Class) and any(each.callable_path.endswith(".part") for each in obj.decorators)
        obj.docstring.value = markdown(without_arguments(text) if is_part else text)
