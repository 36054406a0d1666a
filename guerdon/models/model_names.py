"""What the name of a model means: known without loading one, and without torch."""

from __future__ import annotations

import os
from pathlib import Path

from guerdon.core.errors import UserError, nearest, spelled, unknown
from guerdon.models.fetched_models import FETCHED, file_of
from guerdon.models.hub_models import is_hub_id, kept_ids
from guerdon.models.shipped_models import NAMES, SHIPPED


def place_of(name: str) -> Path:
    """Where the model of a name lies, in whatever case the name is written, fetched or not yet; a path is itself. A name of
    the package goes before a folder of that name here, a fetched one behind it."""
    if name in SHIPPED or _is_there(Path(name)):
        return SHIPPED.get(name, Path(name))
    known = {**SHIPPED, **{each: file_of(each) for each in FETCHED}}
    return known.get(spelled(name, known), Path(name))


def name_of_place(place: str) -> str:
    """The name of the model that lies in a place, or the place."""
    known = {str(each): name for name, each in SHIPPED.items()} | {str(file_of(each)): each for each in FETCHED}
    return known.get(place, place)


def refuse_unknown(name: str) -> None:
    """Refuse what names no model, and a model that is not fetched yet."""
    place = place_of(name)
    if is_hub_id(name) or _is_there(place) or spelled(name, NAMES) in NAMES:
        return
    fetched = name_of_place(str(place))
    if fetched in FETCHED:
        raise UserError(f"{fetched} is not on this machine yet: guerdon models get {fetched}")
    names = [*SHIPPED, *FETCHED, *NAMES]
    if name != place.name or place.suffix == ".gguf":  # a path
        raise UserError(
            f"{name} is not there: a model is a folder, a .gguf file, ORG/NAME on the hub, or one of {', '.join(names)}"
        )
    raise unknown("model", name, [*names, *_near(name)])


def _is_there(place: Path) -> bool:
    """Whether a path can be opened, or fails in a way that says why: its name may be too long for a disk."""
    try:
        return place.exists()
    except OSError:
        return True


def _near(name: str) -> list[str]:
    """Folders and downloaded models that may have been meant by their last name."""
    here = [each.name for each in Path().iterdir() if os.access(each / "config.json", os.R_OK)]
    known = [f"./{each}" for each in here] + kept_ids()
    return [each for each in known if nearest(name, [each.rpartition("/")[2]]) is not None]
