"""Evidence files: what came of a recipe's claims. Reading and listing them needs neither torch nor the runs.

`NAME.json` is the truth; `NAME@STUDENT.json`, where another model took the place of the shipped one. The page and the figure
beside it are made from it, whenever it is written.
Those of the package's own recipes are in `guerdon/evidence`, without pages: the docs site makes them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.manifest import Damaged
from guerdon.store.checksums import KEY, is_whole, sealed
from guerdon.store.evidence_figure import figure
from guerdon.store.evidence_index import index
from guerdon.store.evidence_page import page
from guerdon.store.evidence_words import file_name, others_of
from guerdon.store.identity import Code, named
from guerdon.store.identity import changed as changed_units
from guerdon.store.whole_files import write_readable_json, write_text

FIRST, FORMAT = 1, 2  # of the first edition, and of this one
CALIBRATION = "calibration"
REGISTER = "register.json"
_whole = set[bytes]()  # digests of texts that matched their checksum
SHIPPED = Path(__file__).resolve().parent.parent / "evidence"  # of the package's own recipes


def read(folder: Path, name: str) -> dict[str, Any]:
    path = folder / f"{name}.json"
    try:
        text = path.read_text()
        proof = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"there is no evidence in {path}: guerdon prove {name}") from error
    if isinstance(proof, dict) and proof.get("format") == FIRST:
        raise UserError(f"{path} is of the first edition, whose verdicts no longer count: guerdon prove {name}")
    if not isinstance(proof, dict) or proof.get("format") != FORMAT:
        raise UserError(f"{path} was written by another version of guerdon: guerdon prove {name}")
    if not _is_as_written(text, proof):
        raise Damaged(
            f"{path} does not match its checksum, so it was damaged or changed by hand: put a copy of it back, or guerdon prove"
            f" {name}"
        )
    return {k: v for k, v in proof.items() if k != KEY}


def _is_as_written(text: str, proof: Mapping[str, Any]) -> bool:
    """Whether it matches its checksum, which takes longer than reading it: a text that did is not asked again."""
    digest = hashlib.sha256(text.encode()).digest()
    if digest not in _whole and is_whole(proof):
        _whole.add(digest)
    return digest in _whole


def read_all(folder: Path) -> dict[str, dict[str, Any]]:
    """Every recipe's evidence in a folder, by name; without what is of the first edition."""
    return {name: read(folder, name) for name in _names(folder) if not is_of_first_edition(folder, name)}


def is_of_first_edition(folder: Path, name: str) -> bool:
    try:
        proof = json.loads((folder / f"{name}.json").read_text())
    except (OSError, ValueError, RecursionError):  # whoever reads it says what is wrong with it
        return False
    return isinstance(proof, dict) and proof.get("format") == FIRST


def _names(folder: Path) -> list[str]:
    apart = (CALIBRATION, Path(REGISTER).stem)
    return [path.stem for path in sorted(folder.glob("*.json")) if path.stem not in apart]


def with_students(folder: Path, recipe: str) -> list[str]:
    """What a recipe's evidence with other students than the shipped model is called, in a folder."""
    return [name for name in _names(folder) if name.startswith(f"{recipe}@")]


def read_register(folder: Path) -> list[dict[str, Any]]:
    """What was registered before it was run: the batches, oldest first."""
    path = folder / REGISTER
    if not path.is_file():
        return []
    try:
        return list(json.loads(path.read_text())["batches"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Damaged(f"{path} is damaged: put a copy of it back, it is the only record of what came first") from error


def stale(proof: Mapping[str, Any]) -> str:
    """Why evidence is not of the code as it is today; empty where it is."""
    if not isinstance(proof.get("code"), Mapping) or "sets" not in proof["code"]:
        return "made before the code that ran was recorded"
    changed = sorted(stale_units(proof), key=lambda unit: (not unit.startswith(("recipes.", "losses.")), unit))
    made = dict(proof.get("versions") or {}).get("guerdon", "an earlier version")
    return f"made with {made}, and code that its runs executed has changed since: {named(changed)}" if changed else ""


def stale_units(proof: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """The units of its code that are not what they were, with their hashes then and now."""
    return changed_units(Code(proof["code"]["units"], proof["code"]["files"]))


def codes_of(proof: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """The units of each set of functions that its runs executed."""
    code = proof.get("code", {})
    return {name: frozenset(code["units"]) - set(lacks) for name, lacks in code.get("sets", {}).items()}


def others(folder: Path, proof: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The evidence of the same recipe with other students."""
    names = [
        name
        for name in (proof["recipe"], *with_students(folder, proof["recipe"]))
        if (folder / f"{name}.json").is_file()
    ]
    return others_of(proof, [read(folder, name) for name in names])


def write(folder: Path, proof: dict[str, Any], others: Sequence[Mapping[str, Any]] = ()) -> None:
    """The file, its figure and its page, which names what `others` of the same recipe came to with other students."""
    name = file_name(proof["recipe"], proof.get("student", ""))
    write_readable_json(folder / f"{name}.json", sealed(proof))
    for i, claim in enumerate(proof["claims"]):
        write_text(folder / f"{name}{_number(i)}.svg", figure(claim))
    write_text(folder / f"{name}.md", page(proof, stale(proof), others))


def write_calibration(folder: Path, result: dict[str, Any]) -> None:
    write_readable_json(folder / f"{CALIBRATION}.json", sealed(result))


def read_calibration(folder: Path) -> dict[str, Any] | None:
    """How often verdicts are wrong, and how often they see what is there; None where nobody looked."""
    return read(folder, CALIBRATION) if (folder / f"{CALIBRATION}.json").is_file() else None


def write_index(folder: Path) -> None:
    every = read_all(folder)
    old = {name for name, proof in every.items() if stale(proof)}
    write_text(folder / "README.md", index(every, read_calibration(folder), old, read_register(folder)))


def _number(i: int) -> str:
    return f"-{i + 1}" if i else ""
