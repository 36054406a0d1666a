"""Proofs in few files: verdicts in one, runs in compressed ones beside the package, and all of a proof comes back from them."""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from planted import claim_of, prove_planted, write_recipes
from refusals import refusal

import guerdon
from guerdon.cli.main import main
from guerdon.cli.output import Output
from guerdon.cli.prove import _tell_missing
from guerdon.core.errors import UserError
from guerdon.core.manifest import Damaged
from guerdon.evidence import proof_files
from guerdon.evidence.brief import brief
from guerdon.evidence.packed import missing_records, packed
from guerdon.evidence.record_files import proof_in, text_in, text_of
from guerdon.evidence.verdict_file import text_of as text_of_verdicts
from guerdon.evidence.words import runs_of
from guerdon.prove.known import Known
from guerdon.prove.proving import How
from guerdon.runs.checksums import KEY, sealed

ROOT = Path(guerdon.__file__).parent.parent
RECORDS = "mine.jsonl.xz"


def world(what: str, factor: float, seed: int) -> float:
    return 0.6 - 0.1 * (factor != 1) + 0.1 * (what == "mine") + 0.003 * (seed % 8) / (1 + (what == "mine"))


def written(folder: Path) -> Path:
    """A folder whose proofs are to be packed."""
    folder.mkdir(parents=True)
    (folder / proof_files.VERDICTS).write_text(text_of_verdicts({}, {}))
    return folder


@pytest.fixture(scope="module")
def recipes(tmp_path_factory: pytest.TempPathFactory) -> str:
    again = claim_of(says="and so it is with another effect", effect=0.01)
    return write_recipes(tmp_path_factory.mktemp("recipes") / "mine.py", claim_of(), again)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, recipes: str) -> tuple[Path, dict[str, Any]]:
    """A folder with a proof in a file of its own, and the proof; nobody changes them."""
    place = tmp_path_factory.mktemp("plain")
    how = How(out=place / "evidence", runs=place / "runs")
    with pytest.MonkeyPatch.context() as patch:
        (proof,) = prove_planted(patch, [recipes], how, world)
    return how.folder, proof


@pytest.fixture
def folder(tmp_path: Path, plain: tuple[Path, dict[str, Any]]) -> Path:
    """The same proof, packed."""
    folder = written(tmp_path / "package" / "evidence")
    proof_files.write(folder, plain[1])
    return folder


@pytest.mark.slow
def test_a_proof_comes_back_to_the_last_digit(tmp_path, plain, folder):
    assert proof_files.read(folder, "mine") == proof_files.read(plain[0], "mine") == plain[1]
    assert proof_files.verdict(folder, "mine") == proof_files.verdict(plain[0], "mine") == brief(plain[1])
    assert sorted(path.name for path in folder.iterdir()) == ["mine-2.svg", "mine.md", "mine.svg", "verdicts.json"]
    assert [path.name for path in (tmp_path / "package" / ".." / "records").iterdir()] == [RECORDS]
    assert proof_files.codes_of(proof_files.read(folder, "mine")) == proof_files.codes_of(plain[1])


def test_a_run_of_many_claims_is_kept_once(folder, plain):
    runs = [run for claim in plain[1]["claims"] for run in runs_of(claim)]
    lines = text_in((folder.parent.parent / "records" / RECORDS).read_bytes()).splitlines()
    kept = [json.loads(line) for line in lines[1:-1]]
    assert len(kept) == len({run["key"] for run in kept}) < len(runs)


def test_runs_that_differ_in_anything_are_two(plain):
    """Seconds are another's where the same run was made again: neither is lost."""
    other = json.loads(json.dumps({**plain[1], "recipe": "other"}))
    for claim in other["claims"]:
        claim["arms"]["method"]["runs"][0]["spent"]["seconds"] = 7.0
    lines = text_of({"mine": plain[1], "other": other}).splitlines()
    for name, proof in (("mine", plain[1]), ("other", other)):
        assert proof_in(lines, name, brief(proof)) == sealed(proof)


def test_pages_and_figures_are_those_of_a_file_of_its_own(plain, folder):
    ours, theirs = ((each / "mine.md").read_text() for each in (folder, plain[0]))
    assert ours.replace(f"[{RECORDS}](../../records/{RECORDS})", "[mine.json](mine.json)") == theirs
    for name in ("mine.svg", "mine-2.svg"):
        assert (folder / name).read_bytes() == (plain[0] / name).read_bytes()


def test_what_is_written_again_is_the_same_bytes(folder):
    files = [folder / proof_files.VERDICTS, folder.parent.parent / "records" / RECORDS]
    before = [path.read_bytes() for path in files]
    marks = [path.stat().st_ino for path in files]
    proof_files.write(folder, proof_files.read(folder, "mine"))
    assert [path.read_bytes() for path in files] == before
    assert files[1].stat().st_ino == marks[1], "an xz of another version would write other bytes of the same text"
    assert packed(folder).records == {RECORDS: hashlib.sha256(before[1]).hexdigest()}


def test_a_proof_leaves_the_files_of_other_families_alone(folder, plain):
    records = folder.parent.parent / "records"
    before = (records / RECORDS).read_bytes()
    proof_files.write(folder, {**plain[1], "recipe": "other", "family": "theirs"})
    assert (records / RECORDS).read_bytes() == before and (records / "theirs.jsonl.xz").is_file()
    assert proof_files.read(folder, "mine") == plain[1] and proof_files.read(folder, "other")["family"] == "theirs"
    proof_files.write(folder, {**plain[1], "recipe": "other", "family": "mine"})
    assert not (records / "theirs.jsonl.xz").exists() and [*packed(folder).records] == [RECORDS], "it has moved"
    assert proof_files.read(folder, "other")["family"] == "mine"


def test_a_file_that_is_put_there_counts_and_is_packed_by_the_next(folder, plain):
    newer = {**plain[1], "created": "2027-01-01"}
    (folder / "mine.json").write_text(json.dumps(sealed(newer)))
    (folder / "brought.json").write_text(json.dumps(sealed({**plain[1], "recipe": "brought"})))
    assert proof_files.read(folder, "mine") == newer and set(proof_files.verdicts(folder)) == {"brought", "mine"}
    proof_files.write(folder, {**plain[1], "recipe": "other"})
    assert not [*folder.glob("mine.json"), *folder.glob("brought.json")]
    assert proof_files.read(folder, "mine") == newer and proof_files.read(folder, "brought")["recipe"] == "brought"


def test_what_is_known_comes_from_records(tmp_path, folder, plain, recipes, monkeypatch):
    """`prove --tell` writes the same proof from the package's files alone."""
    known, theirs = (Known.read(tmp_path / "nowhere", each) for each in (folder, plain[0]))
    assert known.by_machine == theirs.by_machine and {*known.codes} == {*theirs.codes}
    how = How(out=folder, runs=tmp_path / "nowhere", tells=True)
    (told,) = prove_planted(monkeypatch, [recipes], how, world)
    assert told == plain[1]


# --- without the runs ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_who_has_no_runs_is_told_where_they_are_and_still_sees_verdicts(folder, tmp_path, recipes, monkeypatch, capsys):
    (folder.parent.parent / "records" / RECORDS).unlink()
    line = missing_records(folder, "mine", "nothing")
    assert line.startswith("the package is installed without the runs of its evidence: mine.jsonl.xz is in records/ of")
    assert f"to be put in {tmp_path / 'records'}; without it" in line and "\n" not in line
    with refusal(UserError):
        proof_files.read(folder, "mine")
    assert proof_files.verdict(folder, "mine")["claims"][0]["word"] == "ahead"
    assert Known.read(tmp_path / "nowhere", folder).by_machine == {}
    monkeypatch.setattr(proof_files, "SHIPPED", folder)
    monkeypatch.chdir(tmp_path / "package")
    capsys.readouterr()
    assert main(["show", recipes]) == 0
    assert "evidence: ahead: 8 seeds and 8 fresh ones" in capsys.readouterr().out
    assert main(["show", recipes, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["evidence"]
    assert told["without_runs"] == line and "runs" not in told["claims"][0]["arms"]["method"]
    _tell_missing(Output(as_json=False), ["mine"])
    assert capsys.readouterr().out == f"note: {line}\n"
    assert main(["prove", recipes, "--sample", "--out", "evidence"]) == 2
    assert capsys.readouterr().err.strip().endswith(line)


def test_runs_of_other_verdicts_and_damaged_files_are_refused(folder, plain):
    path = folder.parent.parent / "records" / RECORDS
    whole = path.read_bytes()
    path.write_bytes(whole[:-9] + b"?" + whole[-8:])
    with refusal(Damaged):
        proof_files.read(folder, "mine")
    path.write_bytes(whole)
    text = (folder / proof_files.VERDICTS).read_text()
    (folder / proof_files.VERDICTS).write_text(text.replace('"word":"ahead"', '"word":"behind"', 1))
    with refusal(Damaged):
        proof_files.verdicts(folder)
    other = brief(plain[1])
    other["claims"][0]["word"] = "behind"
    (folder / proof_files.VERDICTS).write_text(
        text_of_verdicts({"mine": other}, {RECORDS: hashlib.sha256(whole).hexdigest()})
    )
    with refusal(Damaged):
        proof_files.read(folder, "mine")


# --- the package's own --------------------------------------------------------------------------------------------


def test_all_of_the_packages_evidence_comes_back_from_its_files():
    """Each with the checksum that it was sealed with when it was written."""
    assert missing_records(proof_files.SHIPPED, *proof_files.marks(proof_files.SHIPPED)) == ""
    for name in proof_files.marks(proof_files.SHIPPED):
        proof = proof_files.read(proof_files.SHIPPED, name)
        assert brief(proof) == packed(proof_files.SHIPPED)[name]


def test_the_package_ships_verdicts_and_no_runs():
    shipped = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["guerdon"]
    assert {each for each in shipped if each.startswith("evidence/")} == {
        f"evidence/{proof_files.VERDICTS}",
        f"evidence/{proof_files.REGISTER}",
        f"evidence/{proof_files.PILOTS}",
    }
    assert sorted(path.name for path in proof_files.SHIPPED.glob("*.json")) == [
        proof_files.REGISTER,
        proof_files.PILOTS,
        proof_files.VERDICTS,
    ]
    claims = sum(len(proof["claims"]) for proof in proof_files.verdicts(proof_files.SHIPPED).values())
    assert (proof_files.SHIPPED / proof_files.VERDICTS).stat().st_size < 8_000 * claims
    assert KEY in json.loads((proof_files.SHIPPED / proof_files.VERDICTS).read_text())
