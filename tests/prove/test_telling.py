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
from guerdon.evidence import proof_files
from guerdon.prove.proving import How

SWING = (0.01, -0.01, 0.02, -0.02, 0.005, -0.005, 0.015, -0.015)


def tallied(runs: Path, is_terminal: bool) -> str:
    file = io.StringIO()
    console = Console(file=file, force_terminal=is_terminal, width=80, color_system=None)
    with Tally(console, runs, ["prove"]) as tally:
        for done, total in ((0, 24), (1, 24), (24, 40), (40, 57), (57, 57)):
            tally(done, total, SimpleNamespace(name=f"run {done}") if done else None)  # type: ignore[arg-type]
    return file.getvalue()


def test_a_total_that_grows_is_told_in_lines(tmp_path):
    lines = tallied(tmp_path, is_terminal=False).splitlines()
    assert lines[0] == "24 runs to go" and len(lines) == 5
    assert lines[1].startswith("1 of 24 runs: run 1  ") and "runs added" not in lines[1]
    assert lines[2].startswith("24 of 40 runs: run 24") and lines[2].endswith("left (16 runs added)")
    assert lines[3].endswith("(17 runs added)") and lines[4] == "57 of 57 runs: run 57  0:00 left"


def test_a_total_that_grows_on_a_terminal(tmp_path):
    screen = tallied(tmp_path, is_terminal=True)
    assert "24 runs to go" in screen and "57 of 57 runs" in screen and "0:00 left" in screen
    assert "run 24" not in screen, "a bar, not a line for each run"


def test_what_is_known_leaves_nothing_to_go(tmp_path):
    file = io.StringIO()
    with Tally(Console(file=file, width=80), tmp_path, ["prove"]) as tally:
        tally(0, 0, None)
    assert file.getvalue() == "all runs are stored already\n"


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What is said of a claim, in a world."""

    def tell(claim: Any, world: Any, **changes: Any) -> list[str]:
        how = How(out=tmp_path / "evidence", runs=tmp_path / "runs")
        (proof,) = prove_planted(monkeypatch, [write_recipes(tmp_path / "mine.py", claim)], how, world)
        return claim_lines({**proof["claims"][0], **changes})

    return tell


def world_of(gain: float) -> Any:
    return lambda what, at, seed: 0.6 - 0.1 * (at != 1) + (what == "mine") * (gain + SWING[seed % 8])


def test_a_claim_in_a_few_lines(told):
    """By hand: of the sixteen s = 0.01414, t of 15 degrees 2.1314, so the mean is within 2.1314 s / 4 = 0.0075; 0.2 are gained,
    and (2.1314 + 0.8662) s / 4 = 0.0106 is detected."""
    assert told(claim_of(), world_of(0.1)) == [
        "ahead: 8 seeds and 8 fresh ones each show the method ahead",
        "pass@1 +0.1000 (+0.0925 to +0.1075) over 8 + 8 fresh seeds, +50 % of what GRPO on the true reward gains;"
        " detectable 0.0106",
        "confirmed by ablation; not registered before it was run",
    ]


def test_differences_are_signed_and_one_word_is_about_the_claim(told):
    lines = told(claim_of(), world_of(-0.1))
    assert lines[0] == "behind: 8 seeds and 8 fresh ones each show the method behind: the claim is refuted"
    assert lines[1].startswith("pass@1 -0.1000 (-0.1075 to -0.0925) over 8 + 8 fresh seeds, -50 % of what")


def test_no_difference_says_beyond_what(told):
    assert told(claim_of(), world_of(0.0))[0].startswith("no difference beyond 0.02: the 95 % interval lies within")


def test_a_gate_that_failed_is_told_with_why(told):
    lines = told(
        claim_of(), lambda what, at, seed: 0.45 - 0.01 * (at != 1) + (what == "mine") * (0.1 + SWING[seed % 8])
    )
    assert lines[0].startswith("inconclusive: no fresh seeds were run")
    assert "gate failed: gain (GRPO on the true reward gains +5.0 points (required: 12 or more))" in lines


def test_a_cheaper_claim_tells_both_comparisons(told):
    claim = claim_of(kind="cheaper", metric="length", better="lower", effect=0.5, keeps="pass@1")

    def world(what: str, factor: float, seed: int) -> dict[str, float]:
        ours = what != "grpo"
        kept = 0.6 - 0.2 * (factor != 1) + (0.5 * SWING[seed % 8] - 0.1) * ours
        return {"length": 8 - (2 + SWING[seed % 8]) * ours, "pass@1": kept}

    lines = told(claim, world)
    assert lines[0] == "behind: pass@1 is behind on the first seeds and on fresh ones: the claim is refuted"
    assert lines[1].startswith("length +2.0000 (+1.9925 to +2.0075)") and lines[2].startswith("pass@1 -0.1000 (-0.10")


def test_what_is_left_to_run_and_by_what_it_was_made(told):
    registered = {"batch": 2, "date": "2026-11-16", "hash": "x"}
    lines = told(claim_of(), world_of(0.1), needs=["a"], registered=registered, edition=2, made_with="0.2.0")
    assert lines[2] == "confirmed by ablation; runs made with 0.2.0; registered 2026-11-16, batch 2"
    assert lines[-1] == "unfinished: 1 run is still needed"


def test_the_lines_of_a_recipe(tmp_path, monkeypatch, capsys):
    how = How(out=tmp_path / "evidence", runs=tmp_path / "runs")
    name = write_recipes(tmp_path / "mine.py", claim_of())
    (proof,) = prove_planted(
        monkeypatch, [name], how, lambda what, at, seed: 0.6 + (what == "mine") * 0.1 + (at == 3.0) * 0.05 - (at == 9.0)
    )
    _tell(Output(as_json=False), proof, how)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["", "mine: the idea is better"]
    assert lines[-4:] == [
        "  method    0.7500  mine, learning rate 0.3 (default 0.1)",
        "  baseline  0.6500  grpo, learning rate 0.3 (default 0.1)",
        "  ablation  0.6500  mine idea=0, learning rate 0.3 (default 0.1)",
        f"  {tmp_path / 'evidence' / 'mine.md'}",
    ]


def test_lists_show_words_and_the_model_they_were_measured_with(tmp_path, monkeypatch, capsys):
    how = How(out=tmp_path / "evidence", runs=tmp_path / "runs")
    name = write_recipes(tmp_path / "mine.py", claim_of())
    (proof,) = prove_planted(monkeypatch, [name], how, world_of(0.1))
    proof["claims"][0]["claim"]["model"] = "sprig-1.1"
    proof_files.write(how.folder, {**proof, "recipe": "dump"})
    (how.folder / "sec.json").write_text('{"format": 1}')
    monkeypatch.setattr(proof_files, "SHIPPED", how.folder)
    assert main(["list", "recipes", "--json"]) == 0
    rows = {row["recipe"]: row for row in json.loads(capsys.readouterr().out)["recipes"]}
    assert rows["dump"]["result"] == ["ahead, on sprig-1.1"] and rows["sec"]["result"] == []
    monkeypatch.chdir(tmp_path)
    assert main(["show", "sec"]) == 0
    assert "evidence: none yet (guerdon prove sec)" in capsys.readouterr().out
    assert main(["show", "dump"]) == 0
    assert "evidence: ahead, on sprig-1.1: 8 seeds and 8 fresh ones" in capsys.readouterr().out
