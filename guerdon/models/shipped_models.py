"""The names that models have, known without loading one: those whose weights come with the package, and those that are made.

It needs no torch: a list of models is available at once.
"""

from __future__ import annotations

import json
from pathlib import Path

SPRIGS = [Path(__file__).parent / "sprig" / name for name in ("sprig-1", "sprig-1.1", "sprig-2")]  # older ones first
NEWEST = "sprig-2"  # what `sprig` alone is
ADAPTED = [Path(__file__).parent / "sprig" / "sprig-2-messages"]  # adapters of theirs that know more tasks
# models whose weights come with the package
SHIPPED = {"sprig": Path(__file__).parent / "sprig" / NEWEST} | {each.name: each for each in (*SPRIGS, *ADAPTED)}
NAMES = {  # name: the module whose class of that name it is
    "foreign": "guerdon.models.foreign_model",
    "lm": "guerdon.models.language_model",
    "tabular": "guerdon.models.tables",
}
CLASSES = {
    **NAMES,
    "mlp": "guerdon.models.control",
}  # and those that a recipe makes to fit an environment: of folders alone


def version(name: str) -> str:
    """What evidence calls a model: the version of a shipped one, else what its folder or file is called."""
    if name in SHIPPED:
        return str(json.loads((SHIPPED[name] / "training.json").read_text())["version"])
    return Path(name).name
