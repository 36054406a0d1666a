"""Proving: a recipe of the user's own from claim to page, on a table that learns in a second."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from command_line import Cli, command_line
from proofs import MINE, REFUSES, example, how, quiet

import guerdon
from guerdon.core.errors import Notice, RunStopped
from guerdon.evidence import proof_files
from guerdon.prove.known import LEDGER
from guerdon.prove.proving import prove, register_claims
from guerdon.runs.checksums import sealed
from guerdon.runs.folder import RunFolder
from guerdon.runs.run import Run
from guerdon.runs.whole_files import write_json


@pytest.fixture(scope="module")
def proof(made_once) -> tuple[Path, list[tuple[int, int]]]:
    """A folder in which the example of docs/evidence.md was registered and proved, and what was told meanwhile."""

    def prove_it(folder: Path) -> None:
        (folder / "thrice.py").write_text(example())
        heard: list[tuple[int, int]] = []
        assert register_claims([str(folder / "thrice.py")], how(folder)) is not None
        prove([str(folder / "thrice.py")], how(folder), lambda done, total, last: heard.append((done, total)))
        (folder / "told.json").write_text(json.dumps(heard))

    folder = made_once("proof-of-thrice", prove_it)
    return folder, [(done, total) for done, total in json.loads((folder / "told.json").read_text())]


@pytest.fixture
def proved(proof, tmp_path) -> tuple[Path, dict[str, Any]]:
    """A copy of that folder to do things to, and the evidence."""
    shutil.copytree(proof[0], tmp_path / "proved")
    return tmp_path / "proved", proof_files.read(tmp_path / "proved" / "evidence", "thrice")


@pytest.mark.slow
def test_a_claim_is_run_and_its_evidence_says_all(proof):
    folder, told = proof
    evidenced = proof_files.read(folder / "evidence", "thrice")
    assert told[0] == (0, 12) and told[-1][0] == told[-1][1], "what is wanted grows with what is known"
    [claim] = evidenced["claims"]
    assert (claim["word"], claim["ablation"], claim["needs"]) == ("no difference", "", []), "each at its own best rate"
    assert claim["again"] == {"same": True} and all(gate["open"] for gate in claim["gates"])
    assert {gate["gate"] for gate in claim["gates"]} == {"chance", "updates", "cut", "gain", "rate", "differ"}
    assert [arm["what"] for arm in claim["arms"].values()] == ["thrice", "grpo", "thrice epochs=1"]
    method, baseline = claim["arms"]["method"], claim["arms"]["baseline"]
    for run in method["runs"] + baseline["runs"]:
        points = [point["result"]["point"] for point in run["points"]]
        assert points[0] == "start" and points[-2:] == ["late", "last"] and "0.5" in points
        assert run["spent"]["tokens"] == 2560 == run["points"][-1]["spent"]["tokens"]
    gap = claim["against"]["baseline"]
    differences = [a["score"] - b["score"] for a, b in zip(method["runs"], baseline["runs"], strict=True)]
    assert gap["differences"] == pytest.approx(differences) and (gap["first"], len(differences)) in ((8, 16), (12, 24))
    page = (folder / "evidence" / "thrice.md").read_text()
    assert "within the minimum effect on both sides of 0" in page
    assert "thrice.svg" in page and "$ guerdon prove " in page
    ET.fromstring((folder / "evidence" / "thrice.svg").read_text())
    assert "[thrice](thrice.md)" in (folder / "evidence" / "README.md").read_text()
    assert not list((folder / "runs").glob("*/checkpoints")), "weights are not evidence"


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["a run", "all runs", "the ledger and all runs", "the evidence"])
def test_what_is_known_is_not_run_again(proved, lost):
    """A lost folder costs nothing; neither does the ledger, while there is evidence, nor evidence, while there are runs."""
    folder, first = proved
    runs = [path.parent for path in (folder / "runs").glob("*/run.json")]
    assert len(runs) == len(first["claims"][0]["tried"]) + 2 * len(first["claims"][0]["arms"]["method"]["runs"])
    for path in {"a run": runs[3:4], "the evidence": []}.get(lost, runs):
        shutil.rmtree(path)
    if "ledger" in lost:
        (folder / "runs" / LEDGER).unlink()
    if lost == "the evidence":
        (folder / "evidence" / "thrice.json").unlink()
    told: list[tuple[int, int]] = []
    (again,) = prove([str(folder / "thrice.py")], how(folder), lambda done, total, last: told.append((done, total)))
    assert told == [(0, 0)]
    assert {**again, "command": ""} == {**first, "command": ""}


@pytest.mark.slow
def test_a_run_that_nobody_remembers_is_made_again(proved):
    """Neither ledger nor evidence: what lies in the folders is read, what is lost is run, and comes to the same."""
    folder, first = proved
    (folder / "runs" / LEDGER).unlink()
    (folder / "evidence" / "thrice.json").unlink()
    lost, *kept = sorted((folder / "runs").glob("*/events.jsonl"))
    stamps = {path: path.stat().st_mtime_ns for path in kept}
    shutil.rmtree(lost.parent)
    (again,) = prove([str(folder / "thrice.py")], how(folder), quiet)
    assert {path: path.stat().st_mtime_ns for path in kept} == stamps and lost.exists()
    assert again["claims"][0]["against"] == first["claims"][0]["against"]


@pytest.mark.slow
def test_evidence_of_other_code_is_stale(proved, monkeypatch, capsys):
    folder, proof = proved
    cli = command_line(folder, monkeypatch, capsys)
    (proved_from,) = [
        Path(unit.rpartition(":")[0]) for unit in proof["code"]["units"] if unit.endswith("thrice.py:thrice")
    ]
    assert "stale" not in cli("show", "./thrice.py").out and proof_files.stale(proof) == ""
    try:
        proved_from.write_text(example() + "# a comment changes nothing\n")
        assert "stale" not in cli("show", "./thrice.py").out
        proved_from.write_text(example().replace("epochs: int = 3", "epochs: int = 4"))
        stale = f"evidence: stale, made with {guerdon.__version__}, and code that its runs executed has changed since: "
        assert stale in cli("show", "./thrice.py").out
        assert cli("show", "./thrice.py", "--json").json["evidence"]["stale"].startswith("made with ")
    finally:  # others copy that folder
        proved_from.write_text(example())
    proof_files.write(folder / "evidence", {**proof, "code": {}})
    proof_files.write_index(folder / "evidence")
    assert "*Stale*: made before the code that ran was recorded." in Path("evidence/thrice.md").read_text()
    assert "**no difference beyond 0.02**, *stale* |" in Path("evidence/README.md").read_text()


@pytest.mark.slow
def test_show_tells_what_came_out(proved, monkeypatch, capsys):
    cli = command_line(proved[0], monkeypatch, capsys)
    lines = cli("show", "./thrice.py").out.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("evidence: no difference beyond 0.02: "))
    date = proved[1]["claims"][0]["registered"]["date"]
    assert lines[at + 1].startswith("  mean pass@1 +0.00")
    assert lines[at + 2] == f"  registered {date}, batch 1"


@pytest.mark.slow
def test_a_run_that_other_code_began_is_made_again(proved, monkeypatch):
    """Its folder lies where the run's goes, and is no run of this code's."""
    folder, first = proved
    (folder / "runs" / LEDGER).unlink()
    (folder / "evidence" / "thrice.json").unlink()
    left, *_ = sorted((folder / "runs").glob("*/run.json"))
    config = RunFolder(left.parent).read_config()
    write_json(left, sealed({**config, "code": "0" * 16}))
    began = (left.parent / "events.jsonl").stat().st_mtime_ns
    (again,) = prove([str(folder / "thrice.py")], how(folder), quiet)
    assert (left.parent / "events.jsonl").stat().st_mtime_ns != began
    assert again["claims"][0]["against"] == first["claims"][0]["against"]


@pytest.fixture(scope="module")
def quick_look(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A folder in which somebody took a quick look at the claim, and what was found."""
    folder = tmp_path_factory.mktemp("quick")
    (folder / "mine.py").write_text(MINE)
    [found] = prove([str(folder / "mine.py")], how(folder, quick=True), quiet)
    return folder, found


def test_a_quick_look_is_kept_apart_and_says_so(quick_look):
    tmp_path, found = quick_look
    assert found["quick"] and found["claims"][0]["claim"]["budget"] == 250
    assert not (tmp_path / "evidence" / "faster.json").exists()
    assert "not evidence" in (tmp_path / "evidence" / "quick" / "faster.md").read_text()
    assert proof_files.read_all(tmp_path / "evidence") == {}


@pytest.mark.slow
def test_workers_find_what_one_process_finds(mine, quick_look, tmp_path):
    (both,) = prove([mine], how(tmp_path, quick=True, jobs=2), quiet)
    assert json.dumps(quick_look[1]["claims"][0]["against"]) == json.dumps(both["claims"][0]["against"])


def test_a_run_that_fails_is_named_and_the_others_are_kept(mine, tmp_path):
    Path(mine).write_text(REFUSES + MINE.replace("return base", "return base.but(env=refuses()) if lr > 0.1 else base"))
    with (
        pytest.warns(Notice, match="faster seed 0 failed, and the others continue: .*no table") as told,
        pytest.raises(RunStopped, match=r"2 of 4 runs failed; faster seed 0: .*no table"),
    ):
        prove([mine], how(tmp_path, quick=True), quiet)
    assert len(told) == 1, "what is wrong with several is told at once, and once"
    ended = [p for p in (tmp_path / "runs").glob("*/events.jsonl") if '"Ended"' in p.read_text()]
    assert len(ended) == 2 == (tmp_path / "runs" / LEDGER).read_text().count('"weights"')


INTERRUPTS = """
import os
import signal
from pathlib import Path
from guerdon.core.part import part
from guerdon.envs.simple import single_turn


@part
class interrupts(single_turn):
    \"\"\"An environment in which the user presses Ctrl-C, once.\"\"\"

    async def play(self, ask, seats):
        if not Path(__file__).with_suffix(".told").exists():
            Path(__file__).with_suffix(".told").touch()
            os.kill(os.getpid(), signal.SIGINT)
        return await super().play(ask, seats)
"""
LONGER = MINE.replace("budget=2500", "budget=25000")  # of which a quick look makes more than a step


@pytest.mark.slow
def test_ctrl_c_ends_a_proof_and_not_one_of_its_runs_alone(mine, tmp_path):
    """In this very process, where runs come one after the other: each hears Ctrl-C and ends its step."""
    Path(mine).write_text(INTERRUPTS + LONGER.replace("return base", "return base.but(env=interrupts())"))
    with pytest.raises(KeyboardInterrupt):
        prove([mine], how(tmp_path, quick=True), quiet)
    (begun,) = (path.parent for path in (tmp_path / "runs").glob("*/run.json"))
    assert Run(begun).status != "complete" and not (tmp_path / "evidence" / "quick" / "faster.json").exists()
    (proof,) = prove([mine], how(tmp_path, quick=True), quiet)
    assert Run(begun).status == "complete", "the same command goes on from there"
    assert [len(arm["runs"]) for arm in proof["claims"][0]["arms"].values()] == [2, 2, 2]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return command_line(tmp_path, monkeypatch, capsys)


def test_prove_on_the_command_line(cli: Cli, mine: str) -> None:
    result = cli("prove", mine, "--quick", "--jobs", "1")
    assert result.code == 0, result.err
    assert "faster: a step a hundred times as large learns more" in result.out
    assert "4 runs to go" in result.out + result.err
    assert "4 of 4 runs: faster lr=0.003 seed 1" in result.out, "the ablation is the baseline: equal arms run once"
    assert "evidence/quick/faster.md  (--quick: not evidence)" in result.out
    assert "all runs are stored already" in cli("prove", mine, "--quick", "--jobs", "1").out
    assert (
        cli("prove").code == 2
        and cli("prove", "grpo", "--register").code == 2
        and cli("prove", "--family", "hose").code == 2
    )
    told = cli("prove", "grpo", "--register").err
    assert "claims nothing" in told and told.count("\n") == 1


@pytest.mark.slow
def test_ctrl_c_ends_all_workers_soon(mine: str, tmp_path: Path) -> None:
    words = ["prove", mine, "--quick", "--budget", "1e8", "--jobs", "2"]  # a run would take hours
    command = [sys.executable, "-m", "guerdon.cli.main", *words]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    waited = time.monotonic()
    while not list(tmp_path.glob("runs/prove/*/events.jsonl")):
        assert time.monotonic() - waited < 600 and process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 130 and "the same command continues" in out
    assert "Traceback" not in out
    assert len(list((tmp_path / "runs" / "prove").glob("*/run.json"))) <= 2, (
        "a run that was waiting was begun after all"
    )
