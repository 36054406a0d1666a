"""The parts and rewards of the package: their names read off the files, which takes no time; and all about them, which takes
importing every module, for a part is known once its module is.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import pkgutil
import re
from pathlib import Path
from typing import Any

import guerdon
from guerdon.cli.output import first_paragraph
from guerdon.core.lazy import places_of

HOME = Path(guerdon.__file__).parent
# modules that begin with libraries which may be absent
_GYMS = ("guerdon.bridges.gymnasium_envs", "guerdon.bridges.sb3_env", "guerdon.worlds.own_worlds")
_SERVERS = ("guerdon.network.client", "guerdon.network.connections", "guerdon.network.request_limits")
WANT_EXTRAS = ("guerdon.bridges.serve.", "guerdon.studio.", "guerdon.models.kernels.", *_GYMS, *_SERVERS)
NOT_PARTS = ("cli", "prove", "results", "studio", "training")  # packages without parts that a recipe is made of
ROOMS = ("guerdon.rewards.", "guerdon.judges.")  # of rewards
ROOT_OF_REWARDS = "Leaf"


@dataclasses.dataclass(frozen=True)
class Shelved:
    """A part: its name, the folder it lies in (`recipes/NAME` for one that only a recipe has) and its module."""

    name: str
    folder: str
    module: str
    cls: Any


def part_names() -> dict[str, list[str]]:
    """The names of all parts by folder, read off the files."""
    by_folder: dict[str, list[str]] = {}
    for path in sorted(HOME.rglob("*.py")):
        folder = _folder(_module(path))
        if folder and not _module(path).startswith(WANT_EXTRAS):
            by_folder.setdefault(folder, []).extend(_parts_in(path.read_text(encoding="utf-8")))
    return {folder: sorted(names) for folder, names in sorted(by_folder.items()) if names}


def setting_names() -> list[str]:
    """The settings of the suite, read off its file: importing it takes torch."""
    tree = ast.parse((HOME / "prove" / "setting_suite.py").read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = [call.args[0] for call in calls if getattr(call.func, "id", "") == "NamedSetting"]
    return [str(name.value) for name in names if isinstance(name, ast.Constant)]


def reward_names() -> list[str]:
    """The names of all rewards, read off the files: public classes that are made on `Leaf`."""
    made_on: dict[str, set[str]] = {}
    for room in ROOMS:
        for path in (HOME / room.split(".")[1]).rglob("*.py"):
            for name, bases in CLASS.findall(path.read_text(encoding="utf-8")):
                made_on[name] = {base.strip() for base in bases.split(",")}
    leaves = {ROOT_OF_REWARDS}
    while more := {name for name, bases in made_on.items() if bases & leaves} - leaves:
        leaves |= more
    public = {name: real for name, (place, real) in places_of("guerdon").items() if place.startswith(ROOMS)}
    return sorted(
        name for name, real in public.items() if (real or name) in leaves - {ROOT_OF_REWARDS} and name != "reward"
    )


def parts() -> list[Shelved]:
    """Every part, in the order of folders and names."""
    for module in pkgutil.walk_packages(guerdon.__path__, "guerdon."):
        if module.name.split(".")[1] not in NOT_PARTS and not module.name.startswith(WANT_EXTRAS):
            importlib.import_module(module.name)
    return _imported()


def parts_named(name: str) -> list[Shelved]:
    """The parts of a name, today's or an older one; their modules alone are imported."""
    for module in part_modules().get(name, ()):
        importlib.import_module(module)
    return [each for each in _imported() if name in each.cls.__part__]


def _imported() -> list[Shelved]:
    from guerdon.core.part import PARTS, label

    every = [Shelved(label(cls), _folder(cls.__module__), cls.__module__, cls) for cls in PARTS.values()]
    return sorted((each for each in every if each.folder), key=lambda each: (each.folder, each.name))


@functools.cache
def part_modules() -> dict[str, list[str]]:
    """The modules with parts of a name, by today's names and older ones, read off the files; callers only read it."""
    by_name: dict[str, list[str]] = {}
    for path in sorted(HOME.rglob("*.py")):
        module = _module(path)
        if _folder(module) and not module.startswith(WANT_EXTRAS):
            text = path.read_text(encoding="utf-8")
            for name in [
                *_parts_in(text),
                *(old for each in PART.finditer(text) for old in WAS.findall(each["given"] or "")),
            ]:
                by_name.setdefault(name, []).append(module)
    return by_name


def knobs(cls: Any) -> dict[str, str]:
    """The knobs of a part with their defaults as a user would write them; empty where there is none."""
    return {f.name: _default(f) for f in dataclasses.fields(cls) if f.init}


def row(each: Shelved) -> dict[str, Any]:
    return {
        "part": each.name,
        "folder": each.folder,
        "about": first_paragraph(each.cls.__doc__),
        "knobs": knobs(each.cls),
    }


def _default(field: Any) -> str:
    if field.default is not dataclasses.MISSING:
        return repr(field.default)
    return repr(field.default_factory()) if field.default_factory is not dataclasses.MISSING else ""


def _module(path: Path) -> str:
    return ".".join(["guerdon", *path.relative_to(HOME).with_suffix("").parts]).removesuffix(".__init__")


def _folder(module: str) -> str:
    """Where a part is listed; empty for what is none of ours, or none that a recipe is made of."""
    package, home, _, recipe = [*module.split("."), "", "", ""][:4]
    if package != "guerdon" or home in (*NOT_PARTS, ""):
        return ""
    return f"recipes/{recipe}" if home == "recipes" else home


# read off the text, for parsing takes seconds
PART = re.compile(r"^@part(?:\((?P<given>(?:.|\n)*?)\))?(?: *#.*)?\n(?:@.*\n)*class (?P<name>\w+)", re.MULTILINE)
WAS = re.compile(r"\bwas=\"([^\"]+)\"")
NAMED = re.compile(r"\bname=\"([^\"]+)\"")
CLASS = re.compile(r"^ *class (\w+)(?:\(([^)]*)\))?:", re.MULTILINE)


def _parts_in(text: str) -> list[str]:
    """The names of the parts in a file's text: those given to `@part(name=...)`, or of their classes."""
    classes = PART.finditer(text)
    names = [(NAMED.search(each["given"] or ""), each["name"]) for each in classes]
    return [given[1] if given else name for given, name in names]
