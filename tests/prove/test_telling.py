"""What `guerdon prove` says on a terminal and in a file: a few lines a claim, and a tally of runs that may grow."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from planted import claim_of, prove_planted, write_recipes
from rich.console import Console

from guerdon.cli.main import main
from guerdon.cli.output import Output
from guerdon.cli.prove import Tally, _tell, claim_lines
from guerdon.loop.proof.proving import How
from guerdon.store import evidence

SWING = (0.01, -0.01, 0.02, -0.02, 0.005, -0.005, 0.015, -0.015)


def tallied(is_terminal: bool) -> str:
    file = io.StringIO()
    console = Console(file=file, force_terminal=is_terminal, width=80, color_system=None)
    with Tally(console) as tally:
        for done, total in ((0, 24), (1, 24), (24, 40), (40, 57), (57, 57)):
            tally(done, total, SimpleNamespace(name=f"run {done}") if done else None)  # type: ignore[arg-type]
    return file.getvalue()


def test_a_total_that_grows_is_told_in_lines():
    lines = tallied(is_terminal=False).splitlines()
    assert lines[0] == "24 runs to go" and len(lines) == 5
    assert lines[1].startswith("1 of 24 runs: run 1  ") and "more are wanted" not in lines[1]
    assert lines[2].startswith("24 of 40 runs: run 24") and lines[2].endswith("left (16 more are wanted)")
    assert lines[3].endswith("(17 more are wanted)") and lines[4] == "57 of 57 runs: run 57  0:00 left"


def test_a_total_that_grows_on_a_terminal():
    screen = tallied(is_terminal=True)
    assert "24 runs to go" in screen and "57 of 57 runs" in screen and "0:00 left" in screen
    assert "run 24" not in screen, "a bar, not a line for each run"


def test_what_is_known_leaves_nothing_to_go():
    file = io.StringIO()
    with Tally(Console(file=file, width=80)) as tally:
        tally(0, 0, None)
    assert file.getvalue() == "all runs are known\n"


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What is said of a claim, in a world."""

    def tell(claim: Any, world: Any, **changes: Any) -> list[str]:
        how = How(out=tmp_path / "evidence", runs=tmp_path / "runs")
        (proof,) = prove_planted(monkeypatch, [write_recipes(tmp_path / "mine.py", claim)], how, world)
        return claim_lines({**proof["claims"][0], **changes})

    return tell


def test_a_claim_in_a_few_lines(told):
    """By hand: s = 0.01464, t of 7 degrees 2.3646, so the mean is within 2.3646 s / sqrt(8), fresh ones within 2.3646 s / 2."""
    lines = told(claim_of(), lambda what, at, seed: 0.6 + (what == "mine") * (0.1 + SWING[seed % 8]))
    assert lines == [
        "better: by more than the effect that counts",
        "the claim is supported; by its idea; replicated; not registered before it was run",
        "better by +0.1000 (+0.0878 to +0.1122) over 8 seeds, where 0.02 counts; by signs alone p = 0.0078",
        "fresh seeds: +0.1000, to be within +0.0827 and +0.1173",
    ]


def test_a_claim_that_cannot_be_tried_says_why(told):
    lines = told(claim_of(), lambda what, at, seed: {"pass@1": 0.95, "start": 0.9})
    assert lines[0].startswith("not testable here: the start solves 90.0 % of the exam, and 10 to 80 % is asked for")
    assert lines[1] == "the claim is open; not registered before it was run"


def test_a_cheaper_claim_tells_both_comparisons(told):
    claim = claim_of(kind="cheaper", metric="length", better="lower", effect=0.5, keeps="pass@1")

    def world(what: str, factor: float, seed: int) -> dict[str, float]:
        ours = what != "grpo"
        return {"length": 8 - (2 + SWING[seed % 8]) * ours, "pass@1": 0.6 + (0.5 * SWING[seed % 8] - 0.1) * ours}

    lines = told(claim, world)
    assert lines[0] == "better: cheaper by more than the effect that counts"
    assert lines[1].startswith("the claim is refuted; not by its idea; replicated")
    assert lines[3] == "pass@1: worse by +0.1000 (+0.0939 to +0.1061), worse"


def test_what_is_left_to_run_and_what_the_batch_says(told):
    lines = told(
        claim_of(),
        lambda what, at, seed: 0.6 + (what == "mine") * (0.1 + SWING[seed % 8]),
        needs=["a"],
        verdict="not known",
        stands="open",
        registered={"batch": 2, "date": "2026-11-16", "hash": "x"},
    )
    assert lines[0] == ("not known: alone it would be better, but it is no discovery among the claims of its batch")
    assert lines[1] == "the claim is open; replicated; registered 2026-11-16, batch 2"
    assert lines[-1] == "unfinished: 1 run is still wanted"


def test_the_lines_of_a_recipe(tmp_path, monkeypatch, capsys):
    how = How(out=tmp_path / "evidence", runs=tmp_path / "runs")
    name = write_recipes(tmp_path / "mine.py", claim_of())
    (proof,) = prove_planted(
        monkeypatch, [name], how, lambda what, at, seed: 0.6 + (what == "mine") * 0.1 + (at == 3.0) * 0.05
    )
    _tell(Output(as_json=False), proof, how)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["", "mine: the idea is better"]
    assert lines[-4:] == [
        "  method    0.7500  mine, learning rate 0.3 (default 0.1)",
        "  baseline  0.6500  grpo, learning rate 0.3 (default 0.1)",
        "  ablation  0.6500  mine idea=0",
        f"  {tmp_path / 'evidence' / 'mine.md'}",
    ]


def test_lists_show_verdicts_and_where_they_were_come_to(tmp_path, monkeypatch, capsys):
    how = How(out=tmp_path / "evidence", runs=tmp_path / "runs")
    name = write_recipes(tmp_path / "mine.py", claim_of())
    (proof,) = prove_planted(monkeypatch, [name], how, lambda what, at, seed: 0.6 + (what == "mine") * 0.1)
    proof["claims"][0]["claim"]["model"] = "sprig-1.1"
    evidence.write(how.folder, {**proof, "recipe": "dump"})
    (how.folder / "sec.json").write_text('{"format": 1}')
    monkeypatch.setattr(evidence, "SHIPPED", how.folder)
    assert main(["list", "recipes", "--json"]) == 0
    rows = {row["recipe"]: row for row in json.loads(capsys.readouterr().out)["recipes"]}
    assert rows["dump"]["verdict"] == ["better, on sprig-1.1"] and rows["sec"]["verdict"] == []
    monkeypatch.chdir(tmp_path)
    assert main(["show", "sec"]) == 0
    assert "evidence: none yet (guerdon prove sec)" in capsys.readouterr().out
    assert main(["show", "dump"]) == 0
    assert "evidence: better, on sprig-1.1: by more than the effect that counts" in capsys.readouterr().out
