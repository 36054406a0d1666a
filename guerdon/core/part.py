"""Parts: a callable dataclass that is its own config.

`@part` turns a class into a dataclass whose fields are *knobs* (they make the run's hash and are checked when the part
is built) or *state* (it goes to the checkpoint).
There is no config twin: the object is the config.
This file also walks, describes, hashes and overrides a tree of parts.
It leaves out what parts do; their folders hold that.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import hashlib
import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, TypeVar, dataclass_transform, overload

from guerdon.core.errors import UserError, unknown
from guerdon.core.knob_values import check_value, parse, type_hints
from guerdon.core.lazy import in_notebook
from guerdon.core.renamed import OldName, say_renamed
from guerdon.core.syntax import syntax

T = TypeVar("T")
PARTS: dict[str, type] = {}  # every part class by "folder.name", for the contract suite and for `guerdon list parts`


def knob(
    *,
    default: Any = dataclasses.MISSING,
    factory: Callable[[], Any] | None = None,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    choices: tuple[Any, ...] | None = None,
    hashed: bool = True,
    as_hash: bool = False,
    absent: Any = dataclasses.MISSING,
    was: str = "",
) -> Any:
    """A field that is part of the run's identity, with the values it may take. A float knob also takes a schedule.

    A path is `hashed=False`: the place of a file is not part of what a run computes; the part's `identity` hashes its content.
    With `as_hash` the value stands in the hash as a hash of its own, such as a task of a reward.
    A knob added to a part in use declares `absent`, the value that means what the part did without it: at that value
    it is not in the hash, so what was run before keeps its own. A renamed knob declares what it `was` called: the hash keeps
    that name, and for one version more users may write it.

    Args:
        default: value without a setting.
        factory: makes the default, where it is mutable.
        ge: least value.
        gt: bound that the value must exceed.
        le: largest value.
        choices: allowed values.
        hashed: part of the run's identity.
        as_hash: its own hash stands in the identity.
        absent: value at which it is not in the hash.
        was: earlier name.

    >>> import guerdon as gd
    >>> @gd.part
    ... class halves:
    ...     share: float = gd.knob(default=0.5, ge=0.0, le=1.0)
    >>> halves(2.0)
    Traceback (most recent call last):
    guerdon.core.errors.UserError: halves.share must be at most 1.0, not 2.0
    """
    limits = {"ge": ge, "gt": gt, "le": le, "choices": choices}
    metadata = {"limits": limits, "hashed": hashed, "as_hash": as_hash, "absent": absent, "was": was}
    if factory is not None:
        return dataclasses.field(default_factory=factory, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def state(*, default: Any = None, factory: Callable[[], Any] | None = None, init: Literal[False] = False) -> Any:
    """A field that changes during the run and is saved with it. JSON values, tensors, batches, and lists or dicts of
    them.

    Args:
        default: value at the start of a run.
        factory: makes the default, where it is mutable.
        init: always False: the constructor does not take the field.

    >>> import guerdon as gd
    >>> @gd.part
    ... class counts:
    ...     by: int = 1
    ...     seen: int = gd.state(default=0)
    >>> counts(by=2), counts(by=2).seen  # in the checkpoint, not in the hash
    (counts(by=2), 0)
    """
    if factory is None:
        kept = default
        factory = lambda: copy.deepcopy(kept)  # noqa: E731
    return dataclasses.field(default_factory=factory, init=init, repr=False, metadata={"state": True})


def live(*, default: Any = None, init: Literal[False] = False) -> Any:
    """A field recreated when a run starts (an optimiser, a cache): neither knob nor state.

    Args:
        default: value before a run starts.
        init: always False: the constructor does not take the field.

    >>> import guerdon as gd
    >>> @gd.part
    ... class remembers:
    ...     size: int = 8
    ...     cache: dict | None = gd.live()
    >>> remembers(4), remembers(4).cache  # neither in the hash nor in the checkpoint
    (remembers(size=4), None)
    """
    return dataclasses.field(default=default, init=init, repr=False)


@overload
def part(cls: type[T], /) -> type[T]: ...
@overload
def part(*, name: str = "", aliases: tuple[str, ...] = (), was: str = "") -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(field_specifiers=(knob, state, live, dataclasses.field), eq_default=False)
def part(cls: type[T] | None = None, /, *, name: str = "", aliases: tuple[str, ...] = (), was: str = "") -> Any:
    """Make `cls` a part. Fields are knobs unless made with `state(...)`; bad names and values are refused at once, before
    the `__post_init__` of the class sees them.

    `name` is what users see and what hashes are made of, the class's own unless given; `--set` and `but` accept `aliases` too.
    A renamed part declares what it `was` called: hashes keep that name, and for one version more users may write it.

    Args:
        cls: the class.
        name: what users see and hashes contain; the class's own by default.
        aliases: further names that `--set` and `but` accept.
        was: earlier name.

    >>> import guerdon as gd
    >>> @gd.part
    ... class half:
    ...     gives_to: str = "advantage"
    >>> half(), half(gives_to="mine"), half(give_to="mine")
    Traceback (most recent call last):
    guerdon.core.errors.UserError: unknown knob of half 'give_to': did you mean 'gives_to'?
    """
    if cls is None:
        return functools.partial(part, name=name, aliases=aliases, was=was)
    own_checks = getattr(cls, "__post_init__", None)

    def knobs_first(self: Any) -> None:
        if type(self) is part_class:  # once, whatever this class is a base of
            check_knobs(self)
        if own_checks is not None:
            own_checks(self)

    cls.__post_init__ = knobs_first  # type: ignore[attr-defined]
    part_class = dataclasses.dataclass(eq=False, repr=False)(cls)
    plain_init = part_class.__init__
    renamed = _renamed_knobs(part_class)
    for old, new in renamed.items():
        setattr(part_class, old, OldName(new, old))

    @functools.wraps(plain_init)
    def checked_init(self: Any, *args: Any, **kwargs: Any) -> None:
        names = [f.name for f in dataclasses.fields(part_class) if f.init]  # type: ignore[arg-type]
        for old in kwargs.keys() & renamed.keys():
            say_renamed(f"{label(part_class)}.{old}", renamed[old])
            kwargs[renamed[old]] = kwargs.pop(old)
        for name in kwargs:
            if name not in names:
                raise unknown(f"knob of {label(part_class)}", name, names)
        if len(args) > len(names):
            raise UserError(f"{label(part_class)} takes at most {len(names)} values: {', '.join(names)}")
        missing = [f.name for f in _required(part_class) if f.name not in kwargs and names.index(f.name) >= len(args)]
        if missing:
            raise UserError(f"{label(part_class)} needs {', '.join(missing)}")
        plain_init(self, *args, **kwargs)

    part_class.__init__ = checked_init  # type: ignore[method-assign]
    if "__repr__" not in cls.__dict__:
        part_class.__repr__ = spell  # type: ignore[method-assign]
    if not hasattr(part_class, "_repr_html_"):
        part_class._repr_html_ = in_notebook  # type: ignore[attr-defined]
    if part_class.__setattr__ is object.__setattr__:
        part_class.__setattr__ = set_known  # type: ignore[method-assign]
    part_class.__part__ = (name or part_class.__name__, *aliases, *filter(None, [was]))  # type: ignore[attr-defined]
    part_class.__was__ = was  # type: ignore[attr-defined]
    PARTS[f"{part_class.__module__}.{part_class.__name__}"] = part_class
    return part_class


def set_known(x: Any, name: str, value: Any) -> None:
    """Set an attribute that the part's class declares: a misspelt one would be kept and never read."""
    cls = type(x)
    if name not in cls.__dataclass_fields__ and not name.startswith("_") and not hasattr(cls, name):
        message = unknown(f"attribute of {label(cls)}", name, cls.__dataclass_fields__)
        raise UserError(f"{message}; one of its own is declared in its class, `{name}: Any = live()`, or begins with _")
    object.__setattr__(x, name, value)


def _required(cls: Any) -> list[dataclasses.Field[Any]]:
    missing = dataclasses.MISSING
    return [f for f in dataclasses.fields(cls) if f.init and f.default is missing and f.default_factory is missing]


def is_part(x: object) -> bool:
    return bool(getattr(x, "__part__", False)) and not isinstance(x, type)


def names_of(x: Any) -> tuple[str, ...]:
    """A part's short name, and its aliases."""
    cls = x if isinstance(x, type) else type(x)
    return tuple(vars(cls).get("__part__", (cls.__name__,)))


def label(x: Any) -> str:
    """A part's short name, as users write it."""
    return names_of(x)[0]


def old_label(x: Any) -> str:
    """What a part was called before it was renamed; empty unless it was."""
    return str(vars(x if isinstance(x, type) else type(x)).get("__was__", ""))


def hashed_label(x: Any) -> str:
    """A part's name in hashes: the first it had."""
    return old_label(x) or label(x)


def _renamed_knobs(cls: Any) -> dict[str, str]:
    """The knobs that were called otherwise: old name -> new."""
    return {f.metadata["was"]: f.name for f in dataclasses.fields(cls) if f.metadata.get("was")}


def knobs(x: Any) -> dict[str, Any]:
    """The part's knobs and their values, in the order they are declared."""
    return {f.name: getattr(x, f.name) for f in dataclasses.fields(x) if f.init}


def spell(x: Any) -> str:
    """The part as a user would write it: only the knobs that differ from their defaults."""
    return f"{label(x)}({', '.join(f'{name}={spelled(value)}' for name, value in changed(x).items())})"


def changed(x: Any) -> dict[str, Any]:
    """The knobs of a part that differ from their defaults."""
    values = {}
    for f in dataclasses.fields(x):
        if f.init and f.repr:
            value, default = getattr(x, f.name), default_of(f)
            if default is dataclasses.MISSING or describe(value) != describe(default):
                values[f.name] = value
    return values


def default_of(f: dataclasses.Field[Any]) -> Any:
    """Of a knob that has none, `dataclasses.MISSING`."""
    return f.default_factory() if f.default_factory is not dataclasses.MISSING else f.default


def spelled(value: Any) -> str:
    """A knob's value, as a user would write it."""
    return getattr(value, "__name__", None) or repr(value)


def check_knobs(x: Any) -> None:
    hints = type_hints(type(x))
    for f in dataclasses.fields(x):
        if f.init:
            value = getattr(x, f.name)
            check_value(f"{label(x)}.{f.name}", value, hints.get(f.name), f.metadata.get("limits", {}))


# --- the tree of parts --------------------------------------------------------------------------------------------


def walk(x: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every part in a tree with its path, parents first. A part that stands in two places is met once."""
    seen: set[int] = set()

    def visit(value: Any, at: str) -> Iterator[tuple[str, Any]]:
        if is_part(value):
            if id(value) in seen:
                return
            seen.add(id(value))
            yield at, value
            for name, inner in knobs(value).items():
                yield from visit(inner, f"{at}.{name}" if at else name)
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                yield from visit(inner, f"{at}.{key}")
        elif isinstance(value, list | tuple):
            for i, inner in enumerate(value):
                yield from visit(inner, f"{at}.{i}")

    yield from visit(x, path)


def describe(value: Any) -> Any:
    """A value as JSON: what a run's hash is made of. Functions count by name and source, so an edit changes the hash; one of
    comments does not."""
    if is_part(value):
        own = getattr(value, "identity", None)
        extra = {"identity": own()} if callable(own) else {}
        if not type(value).__module__.startswith("guerdon."):  # the user's own class: an edit makes another recipe
            extra["source"] = source_hash(type(value))
        fields = dataclasses.fields(value)
        hashed = {f.name for f in fields if f.metadata.get("hashed", True) and not is_absent(value, f)}
        # knobs that are replaced by another value here, such as "auto"
        meant = {f.name: fingerprint(getattr(value, f.name)) for f in fields if f.metadata.get("as_hash")}
        meant |= value.meant() if hasattr(value, "meant") else {}
        first = {new: old for old, new in _renamed_knobs(value).items()}
        own_knobs = {first.get(k, k): describe(v) for k, v in {**knobs(value), **meant}.items() if k in hashed}
        return {"part": hashed_label(value), "knobs": own_knobs, **extra}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(k): describe(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [describe(v) for v in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: describe(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, functools.partial):
        return {"partial": describe(value.func), "args": describe(value.args), "keywords": describe(value.keywords)}
    if callable(value):
        return {"function": getattr(value, "__name__", label(value)), "source": source_hash(value), **_captured(value)}
    raise UserError(f"{value!r} cannot be a knob: use numbers, strings, lists, parts or functions")


def is_absent(x: Any, f: dataclasses.Field[Any]) -> bool:
    """Whether a knob that joined the part later is as if it were not there."""
    means = f.metadata.get("absent", dataclasses.MISSING)
    return means is not dataclasses.MISSING and describe(getattr(x, f.name)) == describe(means)


def _captured(fn: Any) -> dict[str, Any]:
    """Plain values that a function closes over: `at_least(3)` and `at_least(4)` have one source and are two functions."""
    names = getattr(getattr(fn, "__code__", None), "co_freevars", ())
    cells = zip(names, getattr(fn, "__closure__", None) or (), strict=False)
    held = {name: cell.cell_contents for name, cell in cells if not is_unset(cell)}
    plain = {
        k: describe(v) for k, v in held.items() if is_part(v) or v is None or isinstance(v, bool | int | float | str)
    }
    return {"captured": plain} if plain else {}


def is_unset(cell: Any) -> bool:
    try:
        return cell.cell_contents is cell
    except ValueError:  # a name that is not bound yet
        return True


def source_hash(fn: Any) -> str:
    try:
        text = syntax(inspect.getsource(inspect.unwrap(fn)))
    except (OSError, TypeError):
        text = getattr(fn, "__qualname__", repr(type(fn)))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def fingerprint(value: Any) -> str:
    """The hash of a described value: equal configs have equal fingerprints on every machine."""
    text = json.dumps(describe(value), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def handles(root: Any, *, aliases: bool = False) -> dict[str, Any]:
    """Parts of a tree by the short name `--set` and `but` use: the part's name, `_2`, `_3` for repeats. After those, where
    they are wanted, by their aliases."""
    named: dict[str, Any] = {}
    met = [member for path, member in walk(root) if path]
    others = [(alias, member) for member in met for alias in names_of(member)[1:]] if aliases else []
    for called, member in [*((label(member), member) for member in met), *others]:
        name, n = called.lower(), 2
        while name in named:
            name, n = f"{called.lower()}_{n}", n + 1
        named[name] = member
    return named


def find_part(root: Any, name: str, also: Iterable[str] = ()) -> Any:
    """The part of a tree that a short name or an alias means. `also` are names that could have been meant as well."""
    by_name = handles(root, aliases=True)
    if name not in by_name:
        raise unknown("part", name, [*also, *handles(root)])
    member = by_name[name]
    was = old_label(member)
    if was and name.rstrip("_0123456789") == was:
        say_renamed(was, label(member))
    return member


def set_knob(root: Any, path: str, value: Any, *, text: bool = False) -> None:
    """Set `part.field`, or a `field` of the root itself, in place; `text` values come from a command line and are parsed
    by the knob's type."""
    name, dot, field_name = path.partition(".")
    target = find_part(root, name) if dot else root
    if not dot:
        name, field_name = label(root).lower(), name
    fields = {f.name: f for f in dataclasses.fields(target) if f.init}
    renamed = _renamed_knobs(target)
    if field_name in renamed:
        say_renamed(f"{name}.{field_name}", renamed[field_name])
        field_name = renamed[field_name]
    if field_name not in fields:
        raise unknown(f"knob of {name}", field_name, fields)
    where = f"{name}.{field_name}"
    hint = type_hints(type(target)).get(field_name)
    value = parse(value, hint, where) if text else value
    check_value(where, value, hint, fields[field_name].metadata.get("limits", {}))
    setattr(target, field_name, value)


def get_state(root: Any) -> dict[str, dict[str, Any]]:
    """Every part's state by path. The inverse of `set_state`."""
    states: dict[str, dict[str, Any]] = {}
    for path, inner in walk(root):
        own = {f.name: getattr(inner, f.name) for f in dataclasses.fields(inner) if f.metadata.get("state")}
        if own:
            states[path] = own
    return states


def set_state(root: Any, saved: Mapping[str, Mapping[str, Any]]) -> None:
    """Give every part its saved state back; a state that fits no part means another recipe wrote it."""
    by_path = dict(walk(root))
    for path, own in saved.items():
        if path not in by_path:
            raise UserError(f"the checkpoint has state for {path!r}, which this recipe does not have")
        for name, value in own.items():
            setattr(by_path[path], name, value)
