"""A griffe extension: docstrings as they stand in the source become the Markdown of the site."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pages.prose import markdown


class Prose(griffe.Extension):
    """Examples as code without prompts, papers as links."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)
