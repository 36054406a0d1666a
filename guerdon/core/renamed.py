"""Names that earlier versions had. Each works for one version more, with a line that says the new one.

Public names and modules are in the tables here. A part says `@part(was="old")`, a knob `knob(was="old")`, a method
`old = OldName("new")`.
`import guerdon` reads this file, so it imports next to nothing.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import ClassVar

GONE_WITH = "0.4"  # the version that knows the new names alone

NAMES = {
    "guerdon.core.along.Along": "Reduction",
    "guerdon.core.along.HOW": "REDUCTIONS",
    "guerdon.core.errors.Told": "InputNote",
    "guerdon.credit.liking": "teacher_log_ratio",
    "guerdon.curricula.apart": "validation_problems",
    "guerdon.curricula.laps.Laps": "EpochSampler",
    "guerdon.curricula.recitals": "dataset_rows",
    "guerdon.envs.home_of": "default_env",
    "guerdon.envs.recital": "dataset_env",
    "guerdon.loop.once_more.once_more": "rerun",
    "guerdon.rewards.lines_played_on": "monte_carlo_labels",
    "guerdon.rewards.step_standing": "step_zscores",
    "guerdon.search.chosen_way": "chosen_path",
    "guerdon.search.grown": "sampled_tree",
    "guerdon.search.headed": "value_scorer",
    "guerdon.search.played_out": "monte_carlo_scorer",
    "guerdon.select.heard": "aggregate_followups",
    "guerdon.step_standing": "step_zscores",
    "guerdon.tasks.judging.closer_roles.CLOSER_ROLES": "JUDGE_ROLES",
    "guerdon.watch.sightings.Sighting": "RuleAlarm",
}
MODULES = {
    "guerdon.core.along": "guerdon.core.step_reductions",
    "guerdon.curricula.laps": "guerdon.curricula.epochs",
    "guerdon.curricula.rows_to_recite": "guerdon.curricula.stored_answers",
    "guerdon.curricula.solutions_to_recite": "guerdon.curricula.stored_solutions",
    "guerdon.envs.at_home": "guerdon.envs.default_envs",
    "guerdon.loop.once_more": "guerdon.loop.reruns",
    "guerdon.tasks.judging.closer_roles": "guerdon.tasks.judging.judge_roles",
    "guerdon.watch.sightings": "guerdon.watch.rule_alarms",
}


class Renamed(FutureWarning):
    """An old name was used. The command line prints it as one line."""


def say_renamed(old: str, new: str) -> None:
    warnings.warn(f"{old} is now {new}; {GONE_WITH} will not know the old name", Renamed, stacklevel=4)


def new_name(package: str, name: str) -> str:
    """What a public name of a package is called now: itself, unless it was renamed."""
    new = NAMES.get(f"{package}.{name}")
    if new is not None:
        say_renamed(f"{package}.{name}", f"{package}.{new}")
    return new or name


def old_names(module: str) -> Callable[[str], object]:
    """`__getattr__` of a module that has renamed what it holds."""

    def load(name: str) -> object:
        new = new_name(module, name)
        if new == name:
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        return getattr(sys.modules[module], new)

    return load


class OldName:
    """A method or a field of a class under the name it had: `recite = OldName("teacher_force")`."""

    def __init__(self, new: str, old: str = "") -> None:
        self.new, self.old = new, old

    def __set_name__(self, owner: type, name: str) -> None:
        self.old = name

    def __get__(self, x: object, owner: type) -> object:
        say_renamed(f"{owner.__name__}.{self.old}", self.new)
        return getattr(owner if x is None else x, self.new)

    def __set__(self, x: object, value: object) -> None:
        say_renamed(f"{type(x).__name__}.{self.old}", self.new)
        setattr(x, self.new, value)


class _OldModules:
    """Finds a renamed module by its old name: what is imported is the new one."""

    specs: ClassVar[dict[str, ModuleSpec | None]] = {}

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, cls) if name in MODULES else None  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        say_renamed(spec.name, MODULES[spec.name])
        module = importlib.import_module(MODULES[spec.name])
        _OldModules.specs[module.__name__] = module.__spec__
        module.__getattr__ = old_names(spec.name)  # type: ignore[method-assign]
        return module

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """It has run under its new name, which importing it by the old one must not change."""
        module.__spec__ = _OldModules.specs.pop(module.__name__)


def find_old_modules() -> None:
    if _OldModules not in sys.meta_path:
        sys.meta_path.append(_OldModules)
