"""Evidence files: what came of a recipe's claims. Reading and listing them needs neither torch nor the runs.

A *proof* is all that is known, with every run; its *verdict* is what is shown of it (`evidence/brief.py`). In a folder of
one's own each proof is a file: `NAME.json`; `NAME@STUDENT.json`, where another model took the place of the shipped one;
`NAME+screening.json`, of screenings in settings. In the package all verdicts are one file, and the runs are not installed
(`evidence/packed.py`); a `NAME.json` that is put there counts too, and the next proof that is written packs it.
Pages and figures are made from verdicts, whenever a proof is written.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.manifest import Damaged
from guerdon.evidence.brief import brief
from guerdon.evidence.figure import figure
from guerdon.evidence.identity import Code, named
from guerdon.evidence.identity import changed as changed_units
from guerdon.evidence.index import index
from guerdon.evidence.packed import RECORDS, VERDICTS, digest_of, pack, packed, read_packed, records_of
from guerdon.evidence.page import page
from guerdon.evidence.words import name_of, others_of
from guerdon.runs.checksums import KEY, is_whole, sealed
from guerdon.runs.whole_files import write_readable_json, write_text

FORMAT = 3  # of this edition
CALIBRATION = "calibration"
REGISTER = "register.json"
PILOTS = "settings.json"  # what the pilots of settings came to
_whole = set[bytes]()  # digests of texts that matched their checksum
SHIPPED = Path(__file__).resolve().parent  # of the package's own recipes


def read(folder: Path, name: str) -> dict[str, Any]:
    """A proof with every run."""
    return read_packed(folder, name) if _is_packed(folder, name) else _read_plain(folder, name)


def read_all(folder: Path, but: Collection[str] = ()) -> dict[str, dict[str, Any]]:
    """Every recipe's proof in a folder, by name, `but` for some; without what is of another edition."""
    return {name: read(folder, name) for name in _names(folder) if name not in but}


def verdict(folder: Path, name: str) -> dict[str, Any]:
    """What is shown of a proof. Needs no runs, where a folder has a `verdicts.json`."""
    return packed(folder)[name] if _is_packed(folder, name) else brief(_read_plain(folder, name))


def verdicts(folder: Path) -> dict[str, dict[str, Any]]:
    """What is shown of every recipe's proof in a folder, by name; without what is of another edition."""
    return {name: verdict(folder, name) for name in _names(folder)}


def has(folder: Path, name: str) -> bool:
    """Whether a folder has a proof of this name, of whatever edition."""
    return _plain(folder, name).is_file() or name in packed(folder).proofs


def file_of(folder: Path, name: str) -> Path:
    """The file of a folder that tells what came of a proof."""
    return folder / VERDICTS if _is_packed(folder, name) else _plain(folder, name)


def marks(folder: Path) -> dict[str, bytes]:
    """For each proof in a folder, and for the calibration, what changes when it does."""
    together = dict.fromkeys(packed(folder).proofs, digest_of(folder / VERDICTS))
    return dict(sorted({**together, **{path.stem: digest_of(path) for path in _plain_files(folder)}}.items()))


def _is_packed(folder: Path, name: str) -> bool:
    return name in packed(folder).proofs and not _plain(folder, name).is_file()


def _plain(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"


def _plain_files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob("*.json")) if path.name not in (REGISTER, PILOTS, VERDICTS)]


def _read_plain(folder: Path, name: str) -> dict[str, Any]:
    path = _plain(folder, name)
    try:
        text = path.read_text()
        proof = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"there is no evidence in {path}: guerdon prove {name}") from error
    if not isinstance(proof, dict) or proof.get("format") != FORMAT:
        raise UserError(
            f"{path} is of another edition of the rules or version of guerdon: guerdon prove {name.partition('+')[0]}"
        )
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


def is_of_another_edition(folder: Path, name: str) -> bool:
    """Whether a file was written by other rules than today's, whose words do not count here."""
    try:
        proof = json.loads(_plain(folder, name).read_text())
    except (OSError, ValueError, RecursionError):  # whoever reads it says what is wrong with it
        return False
    return isinstance(proof, dict) and isinstance(proof.get("format"), int) and proof["format"] < FORMAT


def _names(folder: Path) -> list[str]:
    """The proofs that there are, without those of other editions."""
    every = {*(path.stem for path in _plain_files(folder)), *packed(folder).proofs}
    return [name for name in sorted(every - {CALIBRATION}) if not is_of_another_edition(folder, name)]


def beside(folder: Path, recipe: str) -> list[str]:
    """What a recipe's evidence besides its claims with the shipped model is called in a folder: with other students, and of
    screenings."""
    return [name for name in _names(folder) if name.startswith((f"{recipe}@", f"{recipe}+"))]


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
    """The units of each set of functions that its runs executed, of a proof."""
    code = proof.get("code", {})
    return {name: frozenset(code["units"]) - set(lacks) for name, lacks in code.get("sets", {}).items()}


def write(folder: Path, *proofs: dict[str, Any]) -> None:
    """Proofs with their figures; and all pages of their recipes, each of which names what came of the recipe with other
    students and in settings."""
    named_proofs = {name_of(proof): proof for proof in proofs}
    _keep(folder, named_proofs)
    recipes = {re.split("[@+]", name)[0] for name in named_proofs}
    for recipe in recipes:
        same = {name: verdict(folder, name) for name in _names(folder) if re.split("[@+]", name)[0] == recipe}
        for name, shown in same.items():
            for i, claim in enumerate(shown["claims"] if name in named_proofs else ()):
                write_text(folder / f"{name}{_number(i)}.svg", figure(claim))
            others = others_of(shown, [*same.values()])
            write_text(folder / f"{name}.md", page(shown, stale(shown), others, _numbers(folder, name)))


def _keep(folder: Path, proofs: Mapping[str, dict[str, Any]]) -> None:
    if not (folder / VERDICTS).is_file():
        for name, proof in proofs.items():
            write_readable_json(_plain(folder, name), sealed(proof))
        return
    loose = {path.stem: _read_plain(folder, path.stem) for path in _plain_files(folder) if path.stem not in proofs}
    pack(folder, {**loose, **proofs})
    for name in (*loose, *proofs):
        _plain(folder, name).unlink(missing_ok=True)


def _numbers(folder: Path, name: str) -> str:
    """Where every seed's curve of a proof is, from its page."""
    proof = packed(folder).proofs.get(name)
    return f"../../{RECORDS}/{records_of(name, proof)}" if proof is not None else f"{name}.json"


def recorded_pairs(folder: Path) -> list[dict[str, Any]]:
    """Arms that were run against themselves, with the paired differences that they came to."""
    return list(verdict(folder, CALIBRATION)["settings"]) if has(folder, CALIBRATION) else []


def write_index(folder: Path) -> None:
    every = verdicts(folder)
    old = {name for name, proof in every.items() if stale(proof)}
    write_text(folder / "README.md", index(every, old, read_register(folder)))


def _number(i: int) -> str:
    return f"-{i + 1}" if i else ""
