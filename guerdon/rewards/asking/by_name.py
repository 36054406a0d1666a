"""Rewards by name, as `--reward` and `guerdon serve` take them: one on the shelf, one in a file of the user's, or a reward
model that a run trained."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import guerdon
from guerdon.core.errors import UserError, spelled, unknown
from guerdon.core.lazy import places_of
from guerdon.core.packages import find_brought, with_brought
from guerdon.core.user_file import find_in_file
from guerdon.models.trained_folders import scorer_folder
from guerdon.rewards.asking.function import Leaf, reward
from guerdon.rewards.formula.reward import Reward, as_reward
from guerdon.rewards.model.classifiers import classifier, is_classifier
from guerdon.rewards.model.reward_models import outcome_model, process_model

ROOMS = ("guerdon.rewards.", "guerdon.judges.")


def find_reward(spec: str) -> Reward:
    """`FILE.py:NAME`, a function or a formula; the name of one on the shelf, with its knobs as they are; or the folder of a
    trained reward model, of a run or its own."""
    if ".py" in spec:
        return as_reward(find_in_file(spec, "reward"))
    known = shelf()
    spec = spelled(spec, known)
    if spec not in known and (os.sep in spec or Path(spec).is_dir()):
        return trained_reward(spec)
    if spec not in known and (from_package := find_brought("rewards", spec)) is not None:
        named = from_package.load()
        return as_reward(named() if isinstance(named, type) and issubclass(named, Leaf) else named)
    if spec not in known:
        raise unknown("reward", spec, [*with_brought("rewards", known), "FILE.py:NAME", "RUN"])
    wanted = [name for name, default in knobs_of(known[spec]).items() if default is dataclasses.MISSING]
    if wanted:
        raise UserError(f"the reward {spec} needs its {', '.join(wanted)}: write it in a file, FILE.py:NAME")
    chosen: Reward = known[spec]()
    return chosen


def trained_reward(folder: str) -> Reward:
    """A trained reward model's score: of one called `prm` that of the weakest line, of any other that of the whole. One of
    another library's is asked through that."""
    if is_classifier(Path(folder)):
        return classifier(folder)
    place = folder if os.sep in folder else f"{os.curdir}{os.sep}{folder}"
    return process_model(place) if scorer_folder(folder).name == "prm" else outcome_model(place)


def shelf() -> dict[str, type[Leaf]]:
    """Every reward that the package has, by name; formulas over others are not among them."""
    public = {
        name: getattr(guerdon, name) for name, (place, _) in places_of("guerdon").items() if place.startswith(ROOMS)
    }
    return {n: x for n, x in public.items() if isinstance(x, type) and issubclass(x, Leaf) and x is not reward}


def knobs_of(part: Any) -> dict[str, Any]:
    """The knobs of a part and their defaults, MISSING where it has none."""
    return {
        f.name: f.default if f.default_factory is dataclasses.MISSING else f.default_factory()
        for f in dataclasses.fields(part)
        if f.init
    }
