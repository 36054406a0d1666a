"""The public names: a committed list of them, each with a docstring and an example, and a type that a type checker sees.

`python tests/test_public_names.py` writes the list anew. That the examples are true is for `--doctest-modules`.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import doctest
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import docs_site  # noqa: F401 - with it the scripts of the site can be imported
import pytest
from pages.discover import pages
from pages.part import comments, own_knobs
from pages.reference import undocumented
from source_trees import tree

from guerdon.cli.knob_words import arguments
from guerdon.core.lazy import places_of

ROOT = Path(__file__).parent.parent
LIST = Path(__file__).with_name("public_names.txt")
SHELVES = sorted(stub.parent.name for stub in (ROOT / "guerdon").glob("*/__init__.pyi"))

MADE_FOR_YOU = {  # parts that no shelf exports, for users get them from something else
    "rewards.blended": "`+` makes it",
    "rewards.weighted": "`.weight()` and `*` make it",
    "rewards.extreme": "`least` and `most` make it",
    "rewards.verdict": "`checker` makes it",
    "rewards.trl_function": "`from_trl` makes it, and `as_reward` of a function in TRL's form",
    "losses.total": "`+` makes it",
    "tasks.mixed_families": "`by_steps` makes it",
    "tasks.offered": "`closed_form` makes it",
    "models.past_self": "`pool` makes them",
    "models.foreign": "`load` makes it, of a folder whose architecture transformers alone knows",
}


def places() -> dict[str, tuple[str, str]]:
    """Every public name as a user writes it (`gd.credit.centre`): the module it comes from, and its name there."""
    found = {}
    for package in ["guerdon", *(f"guerdon.{shelf}" for shelf in SHELVES)]:
        importlib.import_module(package)
        prefix = package.replace("guerdon", "gd", 1)
        found |= {f"{prefix}.{name}": place for name, place in places_of(package).items()}
    return dict(sorted(found.items()))


def value_of(name: str) -> Any:
    _, *shelf, last = name.split(".")
    return getattr(importlib.import_module(".".join(["guerdon", *shelf])), last)


def documented() -> dict[str, Any]:
    """What must say what it is: each object once, under the first of its names. Modules open with a docstring anyway."""
    values: dict[tuple[str, str], tuple[str, Any]] = {}
    for name, place in places().items():
        value = value_of(name)
        if not isinstance(value, ModuleType):
            values.setdefault(place, (name, value))
    return dict(values.values())


def docstring(value: Any) -> str:
    """Its own: neither inherited nor made up by `dataclass`."""
    text = inspect.cleandoc((vars(value).get("__doc__") if isinstance(value, type) else value.__doc__) or "")
    return "" if text.startswith(f"{getattr(value, '__name__', '')}(") else text


def opens_with_a_sentence(text: str) -> bool:
    paragraph = " ".join(text.split("\n\n")[0].split())
    return re.match(r"[A-Z1`$(].* .*[.:?]$", paragraph) is not None


def test_the_list_of_public_names_is_as_committed():
    now, then = set(places()), set(LIST.read_text().split())
    changes = [f"+ {name}" for name in sorted(now - then)] + [f"- {name}" for name in sorted(then - now)]
    assert not changes, (
        f"{', '.join(changes)}: if that is meant, write the list anew: python tests/{Path(__file__).name}"
    )


def test_every_public_name_loads_and_says_what_it_is():
    silent = [name for name, value in documented().items() if not opens_with_a_sentence(docstring(value))]
    assert silent == [], "their docstrings do not open with a sentence"


def test_every_public_name_has_an_example():
    bare = [name for name, value in documented().items() if ">>> " not in docstring(value)]
    assert bare == [], "their docstrings show no example, >>> ..."


def test_every_example_runs_as_it_stands():
    """For whoever pastes it: what it uses it imports, though doctest would find it in the module."""
    lacking = {name: free for name, value in documented().items() if (free := free_names(docstring(value)))}
    assert lacking == {}, "their examples use what they do not import: write gd.NAME after import guerdon as gd"


UNDESCRIBED = ("gd.sandbox.", "gd.envs.calculator")  # what a tool says is for models
IN_PROSE = {"level"}  # the docstring of a source says what each level has


def test_parameters_are_described():
    """Under `Args:`, or beside the field of a part; and `Args:` names nothing else."""
    wrong = {}
    for name, value in documented().items():
        if not name.startswith(UNDESCRIBED):
            known, described = parameters(value), set(arguments(docstring(value)))
            missing = known - described - IN_PROSE
            if missing and isinstance(value, type):
                missing -= {each for each, beside in comments(value).items() if beside}
            if missing or described - known:
                wrong[name] = sorted(missing | (described - known))
    assert wrong == {}


def parameters(value: Any) -> set[str]:
    """What a user passes to it."""
    if dataclasses.is_dataclass(value) and isinstance(value, type):
        return {knob.name for knob in own_knobs(value)}
    if isinstance(value, FunctionType):
        return set(inspect.signature(value).parameters)
    return set()


def free_names(text: str) -> set[str]:
    """What the examples of a docstring use and neither define nor import."""
    used, bound = set(), set(dir(builtins))
    for node in ast.walk(ast.parse("".join(example.source for example in doctest.DocTestParser().get_examples(text)))):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.ExceptHandler | ast.ClassDef | ast.FunctionDef):
            bound.add(str(node.name))
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bound |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    return used - bound


def test_the_docs_site_has_a_page_for_every_public_name():
    assert undocumented() == []
    assert [name for name, value in documented().items() if callable(value) and id(value) not in pages()] == []


def test_a_docstring_that_says_too_little_is_found_out():
    class heir(dict):
        pass

    assert docstring(heir) == "" and docstring(documented) != ""
    assert free_names(">>> for x in [1]:\n...     centre(x)\n1") == {"centre"}
    assert not any(map(opens_with_a_sentence, ("", "Centred.", "no sentence at all")))
    assert opens_with_a_sentence("`a`: what is\ndone.\n\nmore")


def parts_in(folder: Path) -> set[str]:
    """The parts that modules of a folder define, as `module.name`, without private ones."""
    found = set()
    for path in sorted(folder.rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for node in tree(path).body:
            marks = [getattr(getattr(d, "func", d), "id", "") for d in getattr(node, "decorator_list", [])]
            if isinstance(node, ast.ClassDef) and "part" in marks and not node.name.startswith("_"):
                found.add(f"{module}.{node.name}")
    return found


@pytest.mark.parametrize("shelf", SHELVES)
def test_a_shelf_offers_every_part_of_its_folder(shelf):
    importlib.import_module(f"guerdon.{shelf}")
    offered = {".".join(place) for place in places_of(f"guerdon.{shelf}").values()}
    kept_back = parts_in(ROOT / "guerdon" / shelf) - offered
    forgotten = {part for part in kept_back if f"{shelf}.{part.rpartition('.')[2]}" not in MADE_FOR_YOU}
    assert forgotten == set(), f"export them in guerdon/{shelf}/__init__.pyi, or say in MADE_FOR_YOU who makes them"
    gone = {name for name in MADE_FOR_YOU if name.startswith(f"{shelf}.")}
    assert gone == {f"{shelf}.{part.rpartition('.')[2]}" for part in kept_back}, "MADE_FOR_YOU names what is not there"


SEEN = """
import guerdon as gd
from guerdon.losses import clipped

reveal_type(gd.train)
reveal_type(gd.credit.centre)
reveal_type(gd.exact)
reveal_type(clipped)
reveal_type(gd.tasks.load)
"""


@pytest.mark.slow
def test_a_type_checker_sees_real_signatures(tmp_path):
    """With the cache that `make types` leaves it takes a second; without, as long as that does."""
    pytest.importorskip("mypy")
    (tmp_path / "seen.py").write_text(SEEN)
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), str(tmp_path / "seen.py")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    types = re.findall(r'seen\.py:\d+: note: Revealed type is "(.*)"', done.stdout)
    assert len(types) == SEEN.count("reveal_type"), done.stdout + done.stderr
    train, centre, exact, clipped, load = types
    assert "steps: int | None" in train and train.endswith("-> guerdon.training.resume.Trained")
    assert "std: bool" in centre and centre.endswith("-> guerdon.credit.group_relative.centre")
    assert "casefold: bool" in exact and exact.endswith("-> guerdon.rewards.text.answers.exact")
    assert "low: float | str" in clipped and clipped.endswith("-> guerdon.losses.policy.clipped")
    assert "name: str" in load and load.endswith("-> guerdon.core.task.TaskSource")
    assert (ROOT / "guerdon" / "py.typed").exists()  # or those who install it would see none of this


if __name__ == "__main__":
    LIST.write_text("".join(f"{name}\n" for name in places()))
