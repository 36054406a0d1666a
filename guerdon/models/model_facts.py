"""What a model has of what a recipe may need, by the names of `core/needs.py`: from its name or its files, without its weights.

Leaves out: what is missing (`training/unmet_needs.py`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from guerdon.core.model import Model
from guerdon.models.architectures import known_architectures
from guerdon.models.chat import taught_format
from guerdon.models.model_names import place_of
from guerdon.models.shipped_models import NAMES, SHIPPED

DECODER = "logp_at"  # a reading that guerdon's own decoder alone has
POLICY = Path("models") / "policy"  # in the folder of a run
MADE_WITHOUT_TEXT = frozenset({"tabular"})  # of the models that are made by name
OF_A_TABLE = frozenset[str]()


def model_facts(model: Any) -> frozenset[str]:
    """What a model has, by its name, its folder or itself.

    >>> [sorted(model_facts(name)) for name in ("sprig", "tabular", "ORG/NAME")]
    [['decoder', 'text'], [], ['decoder', 'text', 'tools']]
    """
    if isinstance(model, Model):
        chat = getattr(model, "chat", None)
        return OF_A_TABLE if chat is None else _of_format(chat.calls, DECODER in model.reads)
    name = str(model)
    if name in NAMES and not Path(name).exists():
        return OF_A_TABLE if name in MADE_WITHOUT_TEXT else _of_format("", name == "lm")
    return _of_folder(place_of(name))


def knows_roles(model: Any) -> bool:
    """Whether a model was trained on the words in which sprig's roles are asked, `verify` and the like; or is a table, of which
    whatever it is shown is a key."""
    chat = getattr(model, "chat", None)
    return chat is None or chat.calls == "sprig"


def _of_folder(folder: Path) -> frozenset[str]:
    folder = folder / POLICY if (folder / POLICY).is_dir() else folder
    own = _read(folder / "model.json")
    if own.get("model") in MADE_WITHOUT_TEXT:
        return OF_A_TABLE
    source = str(own.get("knobs", {}).get("source") or ".")
    place = SHIPPED.get(source, folder / source)
    template = str(_read(place / "tokenizer_config.json").get("chat_template") or "")
    architectures = _read(place / "config.json").get("architectures") or []
    return _of_format(taught_format(template), not architectures or architectures[0] in known_architectures())


def _of_format(calls: str, in_decoder: bool) -> frozenset[str]:
    """By how the model writes calls, which says who taught it, and by what it runs in."""
    return frozenset({"text", *(["decoder"] if in_decoder else []), *([] if calls == "sprig" else ["tools"])})


def _read(file: Path) -> dict[str, Any]:
    """What a file of settings says; nothing where there is none. What is wrong with it is told where the model is loaded."""
    try:
        read = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return read if isinstance(read, dict) else {}
