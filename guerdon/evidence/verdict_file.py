"""`verdicts.json`: what came of the claims of many recipes, in one file.

Of each proof it has the verdict (`evidence/brief.py`), a line for each claim. The units of code that proofs executed
stand once in a table, a line for each module; a proof has a bit for each entry of it. Beside them are the hashes of the files
with the runs (`evidence/record_files.py`).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import compress
from typing import Any

from guerdon.runs.checksums import KEY, is_whole, sealed

FORMAT = 2
TABLES = ("curve",)  # rows with the same keys, which are kept as columns
Entry = tuple[str, str]  # a unit and its digest; of a file, the module with a colon and the digest of its bytes


@dataclass(frozen=True)
class Verdicts:
    """The file as it was read: proofs are unfolded when they are asked for."""

    proofs: Mapping[str, Mapping[str, Any]]
    table: tuple[Entry, ...]
    records: Mapping[str, str]  # the SHA-256 of each file with runs, by its name

    def __getitem__(self, name: str) -> dict[str, Any]:
        return _unfolded(self.proofs[name], self.table)


NONE = Verdicts({}, (), {})


def read_verdicts(text: str) -> Verdicts | None:
    """The file of this text; None where it is of another version, or not as it was written."""
    try:
        value = json.loads(text)
        if value["format"] != FORMAT or KEY not in value or not is_whole(value):
            return None
        return Verdicts(value["proofs"], tuple(_entries(value["code"])), value["records"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def text_of(proofs: Mapping[str, Mapping[str, Any]], records: Mapping[str, str]) -> str:
    """The text of a file with the verdicts of these proofs: the same for the same verdicts."""
    table = sorted({entry for proof in proofs.values() for entry in _code_entries(proof.get("code", {}))})
    folded = {name: _folded(proofs[name], table) for name in sorted(proofs)}
    value = sealed({"format": FORMAT, "records": records, "code": _by_module(table), "proofs": folded})
    parts = {
        "format": _compact(FORMAT),
        "records": _lines(records),
        "code": _lines(value["code"]),
        "proofs": "{\n" + ",\n".join(f"{_compact(n)}:{_claim_lines(p)}" for n, p in folded.items()) + "\n}",
        KEY: _compact(value[KEY]),
    }
    return "{\n" + ",\n".join(f"{_compact(name)}:{part}" for name, part in parts.items()) + "\n}\n"


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _lines(value: Mapping[str, Any]) -> str:
    """An object with a line for each of its keys."""
    return "{\n" + ",\n".join(f"{_compact(k)}:{_compact(v)}" for k, v in value.items()) + "\n}"


def _claim_lines(proof: Mapping[str, Any]) -> str:
    """A proof with its claims at its end, a line for each."""
    head = _compact({k: v for k, v in proof.items() if k != "claims"})
    if "claims" not in proof:
        return head
    return f'{head[:-1]},"claims":[\n' + ",\n".join(map(_compact, proof["claims"])) + "]}"


# --- code ---------------------------------------------------------------------------------------------------------


def _code_entries(code: Mapping[str, Any]) -> Iterator[Entry]:
    yield from code.get("units", {}).items()
    yield from ((f"{module}:", digest) for module, digest in code.get("files", {}).items())


def _by_module(table: Iterable[Entry]) -> dict[str, dict[str, str | list[str]]]:
    """The table as JSON: a digest for each name of each module, or a list where proofs have executed several versions of it."""
    modules: dict[str, dict[str, Any]] = {}
    for unit, digest in table:
        module, _, name = unit.partition(":")
        names = modules.setdefault(module, {})
        names[name] = digest if name not in names else [*_listed(names[name]), digest]
    return modules


def _entries(modules: Mapping[str, Mapping[str, str | list[str]]]) -> Iterator[Entry]:
    for module, names in modules.items():
        for name, digests in names.items():
            yield from ((f"{module}:{name}", digest) for digest in _listed(digests))


def _listed(digests: str | list[str]) -> list[str]:
    return [digests] if isinstance(digests, str) else digests


def _folded_code(code: Mapping[str, Any], table: Iterable[Entry]) -> dict[str, Any]:
    if "sets" not in code:
        return {}
    mine = {*_code_entries(code)}
    bits = sum(1 << i for i, entry in enumerate(table) if entry in mine)
    size = (bits.bit_length() + 7) // 8
    return {"ran": base64.b64encode(bits.to_bytes(size, "little")).decode(), "sets": code["sets"]}


def _unfolded_code(code: Mapping[str, Any], table: tuple[Entry, ...]) -> dict[str, Any]:
    if "sets" not in code:
        return {}
    bits = int.from_bytes(base64.b64decode(code["ran"]), "little")
    mine = [*compress(table, map(int, reversed(f"{bits:0{len(table)}b}")))]
    units = {unit: digest for unit, digest in mine if not unit.endswith(":")}
    return {"units": units, "files": {u[:-1]: d for u, d in mine if u.endswith(":")}, "sets": code["sets"]}


# --- proofs -------------------------------------------------------------------------------------------------------


def _folded(proof: Mapping[str, Any], table: Iterable[Entry]) -> dict[str, Any]:
    return {k: _folded_code(v, table) if k == "code" else _as_columns(v) for k, v in proof.items()}


def _unfolded(proof: Mapping[str, Any], table: tuple[Entry, ...]) -> dict[str, Any]:
    return {k: _unfolded_code(v, table) if k == "code" else _as_rows(v) for k, v in proof.items()}


def _as_columns(value: Any) -> Any:
    """The same with each table as one list for each column."""
    if isinstance(value, Mapping):
        return {k: _columns(v) if k in TABLES else _as_columns(v) for k, v in value.items()}
    return [_as_columns(v) for v in value] if isinstance(value, list) else value


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {key: [row[key] for row in rows] for key in (rows[0] if rows else ())}


def _as_rows(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _rows(v) if k in TABLES else _as_rows(v) for k, v in value.items()}
    return [_as_rows(v) for v in value] if isinstance(value, list) else value


def _rows(columns: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
