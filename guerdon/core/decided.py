"""What decides what a call gives, as a hash: a function's syntax with every value that it closes over, however deep.

`core/part.py` describes what a run is made of, for people too; this is for sharing results, where one value that is left out
makes two different calls one. So everything counts: arrays and tensors to the last byte, states of random generators, fields of
objects. What has no readable state (an open file, a lock) has no hash, and then nothing is shared.
Leaves out: the code of functions that are called by name, which is the same for all calls of one program.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import random
import types
from collections.abc import Iterator, Mapping, Set
from typing import Any

import numpy as np
import torch

from guerdon.core.model import Model, weights_hash
from guerdon.core.part import describe, is_part, is_unset, source_hash

PLAIN = (bool, int, float, complex, str, bytes, type(None))
DECIDED_BY = "decided_by"  # a method: the values that decide what an object gives, where not all of its fields do


class _Opaque(Exception):
    """A value without readable state."""


def decided_by(value: Any) -> str | None:
    """The hash of all that decides what a value is, or what a call of it gives; None where something of it cannot be known.

    >>> def at_least(limits):
    ...     return lambda x: x >= limits[0]
    >>> decided_by(at_least([3])) == decided_by(at_least([3])) != decided_by(at_least([4]))
    True
    >>> decided_by(iter([3])) is None
    True
    """
    digest = hashlib.sha256()
    try:
        for piece in _pieces(value, ()):
            digest.update(f"{len(piece)}:".encode() + piece)
    except _Opaque:
        return None
    return digest.hexdigest()[:16]


def _pieces(value: Any, above: tuple[int, ...]) -> Iterator[bytes]:
    """The value as bytes, in an order that does not depend on where it lies in memory."""
    if isinstance(value, PLAIN):
        yield f"{type(value).__name__} {value!r}".encode()
        return
    if id(value) in above:  # it contains itself: the depth identifies it
        yield f"above {len(above) - above.index(id(value))}".encode()
        return
    above = (*above, id(value))
    yield _kind(value).encode()
    for piece in _parts_of(value):
        if isinstance(piece, _Bytes):
            yield piece.value
        else:
            yield from _pieces(piece, above)
    yield b"end"


class _Bytes:
    def __init__(self, value: bytes) -> None:
        self.value = value


def _kind(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _parts_of(value: Any) -> Iterator[Any]:
    if hasattr(value, DECIDED_BY):
        yield value.decided_by()
    elif isinstance(value, torch.Tensor):
        flat = value.detach().cpu().contiguous()
        yield from (str(value.dtype), str(value.device.type), tuple(value.shape))
        yield _Bytes(flat.reshape(-1).view(torch.uint8).numpy().tobytes())
    elif isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            yield value.tolist()
        else:
            yield from (str(value.dtype), value.shape, _Bytes(np.ascontiguousarray(value).tobytes()))
    elif isinstance(value, np.generic | torch.dtype | torch.device):
        yield repr(value)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from (key, inner)
    elif isinstance(value, list | tuple):
        yield from value
    elif isinstance(value, Set):
        yield sorted(filter(None, map(decided_by, value)))
        if any(decided_by(each) is None for each in value):
            raise _Opaque
    elif isinstance(value, random.Random):
        yield value.getstate()
    elif isinstance(value, torch.Generator):
        yield value.get_state()
    else:
        yield from _parts_of_code(value)


def _parts_of_code(value: Any) -> Iterator[Any]:
    if isinstance(value, functools.partial):
        yield from (value.func, value.args, value.keywords)
    elif isinstance(value, types.MethodType):
        yield from (value.__self__, value.__func__)
    elif isinstance(value, types.FunctionType):
        yield from (value.__module__, value.__qualname__, source_hash(value), value.__defaults__, value.__kwdefaults__)
        yield [None if is_unset(cell) else cell.cell_contents for cell in value.__closure__ or ()]
    elif isinstance(value, type | types.ModuleType):
        yield from (getattr(value, "__module__", ""), getattr(value, "__qualname__", value.__name__))
        if inspect.isclass(value) and "<locals>" in value.__qualname__:
            yield source_hash(value)
    elif isinstance(value, torch.nn.Module):
        yield from (weights_hash(value), str(value))
    elif isinstance(value, Model):
        yield describe(value)  # its knobs and the hash of its weights
    elif dataclasses.is_dataclass(value):
        kept = [f for f in dataclasses.fields(value) if f.init or f.metadata.get("state") or not is_part(value)]
        yield {f.name: getattr(value, f.name) for f in kept}
    elif isinstance(value, types.BuiltinFunctionType) and isinstance(value.__self__, types.ModuleType | None):
        yield f"{value.__module__}.{value.__qualname__}"
    elif _is_plain_object(value):
        yield vars(value)
    else:
        raise _Opaque


def _is_plain_object(value: Any) -> bool:
    """An object of a class in Python whose fields are all that it is."""
    own = {name for each in type(value).__mro__[:-1] for name in vars(each)}
    has_own_way = bool(own & {"__reduce__", "__reduce_ex__", "__slots__"})
    return hasattr(value, "__dict__") and not has_own_way and not hasattr(value, "__next__")
