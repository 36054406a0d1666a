"""Serialisation for workers: a function and its arguments as bytes that a worker can load.

Design. cloudpickle sends the user's own code by value and installed libraries by name; own is whatever is not installed.
By value, because a worker cannot import a notebook, a script's `__main__` or a file loaded from a path, and because a module
may have changed since it was imported: a worker must score with what the caller sees.
A function that holds what cannot be copied (a lock) is tried again with importable modules by name, before it is refused.
Imports in a function's body are read from its bytecode, so that a worker does them before a call's time begins.
Arguments are pickled plainly where they are plain data, which is many times faster; else each call's separately by cloudpickle.

Leaves out: environment variables and the state of libraries, which a worker has as they were at its start.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import io
import pickle
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import cloudpickle

from guerdon.core.errors import UserError
from guerdon.core.installed import is_installed
from guerdon.workers.seeded_calls import Seeded

_BY_NAME = {"guerdon", "cloudpickle"} | sys.stdlib_module_names
HEAVIEST = 64 << 20  # bytes of a function with what it holds: it is sent at every step, and to every worker
_registry = threading.Lock()  # cloudpickle has one list of modules to pickle by value
_looked: list[tuple[dict[str, ModuleType], tuple[ModuleType, ...]]] = [({}, ())]  # all modules, and the own among them
_known_own: dict[str, tuple[int, bool]] = {}  # module name: the module's id, whether it is the user's own


def carry(function: Callable[..., Any]) -> bytes:
    """The function as bytes, with the search path, the folder to stand in and the libraries that it will ask for."""
    own = _own_modules()
    trouble: Exception
    for everything in (True, False):
        try:
            with _by_value(own if everything else [module for module in own if not _importable(module)]):
                carried = cloudpickle.dumps(function, 5)
        except Exception as error:  # noqa: BLE001  whatever the user's objects raise when they are pickled
            trouble = error
        else:
            if len(carried) > HEAVIEST:
                break
            folder = None
            with contextlib.suppress(FileNotFoundError):
                folder = str(Path.cwd())
            path = [p for p in sys.path if isinstance(p, str)]
            return pickle.dumps((path, folder, sorted(_imports(function)), carried), 5)
    else:
        raise _refused(
            function, f"{trouble}", "make what can not be copied, as a lock or an open file, inside it"
        ) from trouble
    raise _refused(function, f"it holds {len(carried) >> 20} MiB of data", "load what it holds inside it")


def _refused(function: Any, why: str, mend: str) -> UserError:
    name = getattr(function, "__name__", type(function).__name__)
    return UserError(
        f"{name} can not be sent to a worker ({why}): {mend}, or run it here, reward({name}, isolate=False)"
    )


def pack_arguments(arguments: Sequence[Mapping[str, Any]]) -> bytes | list[bytes | str]:
    """The arguments of some calls as bytes: in one piece if they are plain data and arrays, else each call's for itself, or
    why they can not be, so that one that is broken breaks no other."""
    buffer = io.BytesIO()
    try:
        _PlainPickler(buffer, 5).dump(arguments)
    except Exception:  # noqa: BLE001  not plain; what is wrong with it is found below
        with _by_value(_own_modules()):
            return [_pack_one(given) for given in arguments]
    return buffer.getvalue()


class _PlainPickler(pickle.Pickler):
    """Plain data and arrays only. It is many times faster than cloudpickle, and would send a class of a script's by name."""

    def reducer_override(self, value: Any) -> Any:
        named = value if isinstance(value, type) or callable(value) else type(value)
        if (getattr(named, "__module__", None) or "").partition(".")[0] == "numpy":
            return NotImplemented  # as numpy has it: an array is its type, its shape and its bytes
        raise pickle.PicklingError("not plain data")


def _pack_one(given: Mapping[str, Any]) -> bytes | str:
    try:
        packed: bytes = cloudpickle.dumps(dict(given), 5)
    except Exception as error:  # noqa: BLE001  as above
        return f"{type(error).__name__}: the arguments can not be sent to a worker: {error}"
    return packed


def _imports(function: Any) -> set[tuple[str, tuple[str, ...]]]:
    """What the function and those it calls import in their bodies, or load from a module at first use, as far as their
    code shows: the names of modules, with what is taken from them. A worker does it beforehand, for a slow import is none
    of the time that a call may take."""
    imports: set[tuple[str, tuple[str, ...]]] = set()
    seen: set[int] = set()
    waiting: list[Any] = [function]
    while waiting:
        here = waiting.pop()
        here = getattr(here, "__func__", here)
        if id(here) in seen:
            continue
        seen.add(id(here))
        if isinstance(here, Seeded | functools.partial):
            waiting.append(here.function if isinstance(here, Seeded) else here.func)
        if not isinstance(here, FunctionType):
            continue
        waiting += [cell.cell_contents for cell in here.__closure__ or () if cell != CellType()]
        codes = [here.__code__]
        while codes:
            code = codes.pop()
            codes += [c for c in code.co_consts if isinstance(c, CodeType)]
            waiting += [here.__globals__.get(name) for name in code.co_names]
            imports.update(_imports_in(code, here.__globals__))
    return imports


def _imports_in(code: CodeType, names: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    before: list[Any] = [None, None]  # the two steps before: an import's level is one, what it takes the other
    for step in dis.get_instructions(code):
        if step.opname == "EXTENDED_ARG":
            continue
        if step.opname == "IMPORT_NAME" and before[0].argval == 0:
            yield step.argval, before[1].argval or ()
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and before[1] is not None and before[1].opname == "LOAD_GLOBAL":
            module = names.get(before[1].argval)
            if isinstance(module, ModuleType) and not _is_own(module.__name__, module):
                yield module.__name__, (step.argval,)
        before = [before[1], step]


def _own_modules() -> tuple[ModuleType, ...]:
    """The user's own, looked for again when a module came, went or took another's place: asked for at every step."""
    modules, own = _looked[0]
    if sys.modules != modules:
        modules = dict(sys.modules)
        own = tuple(module for name, module in modules.items() if _is_own(name, module))
        _looked[0] = modules, own
    return own


def _is_own(name: str, module: ModuleType | None) -> bool:
    """Whether a module is the user's own code, and not an installed library's."""
    known = _known_own.get(name)
    if known is None or known[0] != id(module):
        known = _known_own[name] = id(module), _look_whether_own(name, module)
    return known[1]


def _look_whether_own(name: str, module: ModuleType | None) -> bool:
    if (
        name.partition(".")[0] in _BY_NAME
        or name in ("__main__", "__mp_main__")
        or getattr(module, "__name__", "") != name
    ):
        return False  # cloudpickle takes __main__ by value anyway
    file = getattr(module, "__file__", None)
    if not isinstance(file, str):
        return getattr(module, "__spec__", None) is None  # made by hand; built-in modules have one
    return not is_installed(file)


def _importable(module: ModuleType) -> bool:
    """Whether a worker with our search path would find the module by its name. Not cached: the path may have changed."""
    spec = PathFinder.find_spec(module.__name__.partition(".")[0])
    return spec is not None and ("." in module.__name__ or spec.origin == module.__file__)


@contextlib.contextmanager
def _by_value(modules: Sequence[ModuleType]) -> Iterator[None]:
    """For as long as it takes: others in this process may use cloudpickle in their own way."""
    with _registry:
        before = cloudpickle.cloudpickle.list_registry_pickle_by_value()
        mine = [module for module in modules if module.__name__ not in before]
        for module in mine:
            cloudpickle.register_pickle_by_value(module)
        try:
            yield
        finally:
            for module in mine:
                cloudpickle.unregister_pickle_by_value(module)
