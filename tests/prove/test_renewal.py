"""`prove --renew`: evidence outlives a change of code only where runs that are made again come out the same."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line import Cli, command_line, refused
from guerdon.loop.proof.renewal import differing, renew
from planted import factor_of, record
from proofs import example, how, quiet

from guerdon.loop.proof import proving, renewal
from guerdon.loop.proof.known import LEDGER, Known
from guerdon.loop.proof.proving import How, Progress, prove, register_claims, run_wanted
from guerdon.store import evidence, identity

CHANGED = "guerdon.envs.simple"
OTHER, THIRD = "0123456789abcdef", "fedcba9876543210"
LINE = ("prove", "./thrice.py", "--renew", "--jobs", "1", "--runs", "made_again")
REAL = (("thrice", 1), ("thrice", 2), ("grpo", 0), ("thrice epochs=1", 0))  # arms and seeds that are made again first


def run_few(trials: Sequence[Any], known: Known, how: How, progress: Progress) -> None:
    """Runs that will be made again are real; the others are planted near them, and best at the default rate."""
    while wanted := list({run.key: run for trial in trials for run in trial.wanted(known)}.values()):
        real = [run for run in wanted if (run.arm.what, run.seed) in REAL and factor_of(run) == 1]
        run_wanted(real, lambda key: [], known, how, progress)
        for run in wanted:
            if run not in real:
                known.add(record(run, 0.63 + 0.11 * (run.arm.what == "thrice") - 0.1 * (factor_of(run) != 1)))


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the example of docs/evidence.md was registered and proved."""
    folder = tmp_path_factory.mktemp("proof")
    (folder / "thrice.py").write_text(example())
    assert register_claims([str(folder / "thrice.py")], how(folder)) is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proving, "run_trials", run_few)
        prove([str(folder / "thrice.py")], how(folder), quiet)
    return folder


@pytest.fixture
def proved(proof, tmp_path) -> tuple[Path, dict[str, Any]]:
    """A copy of that folder to do things to, and the evidence."""
    shutil.copytree(proof, tmp_path / "proved")
    return tmp_path / "proved", evidence.read(tmp_path / "proved" / "evidence", "thrice")


@pytest.fixture
def change(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Change a module that every run stands on, as far as its hash can tell."""
    real = identity._digest

    def change_to(digest: str) -> None:
        monkeypatch.setattr(identity, "_digest", lambda name: digest if name == CHANGED else real(name))

    return change_to


@pytest.fixture
def cli(proved, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return command_line(proved[0], monkeypatch, capsys)


@pytest.fixture
def comes_to(proved, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs that are made again are their records, but for what a test changes; which ones are wanted is remembered."""
    by_seed = {
        (arm["hash"], run["seed"]): run for arm in proved[1]["claims"][0]["arms"].values() for run in arm["runs"]
    }
    asked: list[str] = []

    def plant(**changes: Any) -> list[str]:
        def run_planted(runs: Any, more: Any, known: Any, how: Any, progress: Any) -> None:
            asked[:] = [f"{run.arm.what} seed {run.seed}" for run in runs]
            for run in runs:
                known.add({**by_seed[run.arm.hash, run.seed], "key": run.key, **changes})

        monkeypatch.setattr(renewal, "run_wanted", run_planted)
        return asked

    return plant


def test_evidence_is_renewed_by_runs_that_come_out_the_same(proved, change, cli):
    """With real runs: those of the proof are known by their new keys afterwards, and tell the same."""
    folder, first = proved
    assert cli(*LINE).out == "thrice: of today's code, nothing to renew\n"
    change(OTHER)
    assert evidence.stale(first) == "the code of its method and baseline and ablation has changed since"
    said = cli(*LINE).out.splitlines()
    date, hashes = evidence.read(folder / "evidence", "thrice")["renewed"][0]["date"], f"{first['code'][CHANGED]}, now"
    assert [line.partition("  ")[0] for line in said[:-1]] == [
        "3 runs to go",  # the ablation of this claim is its baseline
        "1 of 3 runs: thrice seed 1",
        "2 of 3 runs: thrice seed 2",
        "3 of 3 runs: thrice epochs=1 seed 0",
    ]
    told = (
        f"{date}: {CHANGED} changed ({hashes} {OTHER}); made again, with the same weights and numbers: method seed 1, method"
        " seed 2, baseline seed 0, ablation seed 0"
    )
    assert said[-1] == f"thrice: renewed; {told}"
    assert "## Changed since, with the same results\n\n" in (page := Path("evidence/thrice.md").read_text())
    assert f"\n- {told}\n" in page and "*Stale*" not in page
    assert f"\n  renewed {told}\n" in cli("show", "./thrice.py").out
    renewed = evidence.read(folder / "evidence", "thrice")
    assert evidence.stale(renewed) == "" and renewed["code"] == {**first["code"], CHANGED: OTHER}
    (before,), (after,) = first["claims"], renewed["claims"]
    runs = [
        [run for arm in claim["arms"].values() for run in arm["runs"]] + claim["tried"] for claim in (before, after)
    ]
    assert len(runs[0]) == 24 + 41
    for then, now in zip(*runs, strict=True):
        assert now["key"] != then["key"] and now == {**then, "key": now["key"], "made_as": then["key"]}
    ledger = [json.loads(line) for line in Path("made_again", LEDGER).read_text().splitlines()]
    assert [record["key"].rpartition("-")[2] for record in ledger] == ["same"] * 3
    (told_anew,) = prove([str(folder / "thrice.py")], how(folder, runs=folder / "made_again"), no_runs)
    assert {**told_anew, "command": ""} == {**renewed, "command": ""}, "all is known by today's keys"


def no_runs(done: int, total: int, last: Any) -> None:
    assert total == 0


def test_the_next_time_other_seeds_are_made_again(proved, change, comes_to):
    folder, wanted = proved[0], comes_to()
    asked = []
    for digest in (OTHER, THIRD):
        change(digest)
        (each,) = renew([str(folder / "thrice.py")], how(folder), quiet)
        assert each.outcome == "renewed"
        asked.append([*wanted])
    methods = [[name for name in names if name.startswith("thrice seed")] for names in asked]
    assert methods == [["thrice seed 1", "thrice seed 2"], ["thrice seed 3", "thrice seed 4"]]
    assert [names[2:] for names in asked] == [
        ["grpo seed 0", "thrice epochs=1 seed 0"],
        ["grpo seed 1", "thrice epochs=1 seed 1"],
    ]
    twice = evidence.read(folder / "evidence", "thrice")
    assert [note["modules"][CHANGED][1] for note in twice["renewed"]] == [OTHER, THIRD]
    firsts = [run["key"] for run in proved[1]["claims"][0]["arms"]["method"]["runs"]]
    assert [run["made_as"] for run in twice["claims"][0]["arms"]["method"]["runs"]] == firsts


def test_one_run_that_differs_leaves_all_as_it_was(proved, change, comes_to, cli):
    comes_to(weights="ffff")
    change(OTHER)
    before = {path: path.read_bytes() for path in Path("evidence").iterdir() if path.name != "README.md"}
    weights = proved[1]["claims"][0]["arms"]["method"]["runs"][1]["weights"]
    said = cli(*LINE)
    refused(said, "1 of 1 proofs stay stale: thrice", code=1)
    assert said.out.strip() == (
        f"thrice: stays stale: method seed 1 (thrice) came out otherwise: weights {weights} then, ffff now"
    )
    assert {path: path.read_bytes() for path in before} == before
    assert "evidence: stale, the code of its method" in cli("show", "./thrice.py").out


@pytest.mark.parametrize(
    ("spoilt", "why"),
    [
        ("machine", "it was run on A100 with torch 1.0, and this is processor with torch"),
        ("hash", "its baseline is another recipe today, with other parts or knobs"),
        ("results", "what all recipes stand on comes to other results since"),
        ("claim", "its claims are not those that were run (guerdon prove"),
    ],
)
def test_what_would_come_out_otherwise_is_not_even_tried(proved, change, comes_to, spoilt, why):
    folder, told = proved
    wanted, more = comes_to(), {}
    baseline = told["claims"][0]["arms"]["baseline"]
    match spoilt:
        case "machine":
            there = {"machine": "elsewhere", "versions": {"guerdon": "0", "torch": "1.0", "device": "A100"}}
            baseline["runs"][3] |= there
        case "hash":
            baseline["hash"] = OTHER
        case "results":
            told["results"] -= 1
        case "claim":
            more = {"changes": {"budget": 320}}
    evidence.write(folder / "evidence", told)
    change(OTHER)
    (each,) = renew([str(folder / "thrice.py")], how(folder, **more), quiet)
    assert each.outcome == "refused" and each.is_left_stale and each.why.startswith(why) and not wanted
    assert evidence.stale(evidence.read(folder / "evidence", "thrice"))


def test_what_cannot_be_renewed_is_refused(cli):
    refused(cli("prove", "dump", "--renew"), "there is no evidence of dump in", "--out")
    refused(cli("prove", "./thrice.py", "--renew", "--quick"), "a quick look is none")
    refused(cli("prove", "./thrice.py", "--renew", "--tell"), "--tell and --renew are two things to do")


def test_a_record_is_compared_number_by_number():
    """By hand. A study has no weights to speak of: its result is what it came to."""
    study = {
        "weights": "e3",
        "spent": {},
        "points": [],
        "result": {"accuracy": 0.93, "curve": [{"spent": 20, "value": 0.5}]},
    }
    other = {**study, "result": {"accuracy": 0.93, "curve": [{"spent": 20, "value": 0.500001}], "seconds": 3.0}}
    assert differing(study, {**study, "created": "tomorrow", "result": {**study["result"], "new": 1}}) == ""
    assert differing(study, other) == "result, curve 1, value 0.5 then, 0.500001 now"
    assert differing(study, {**study, "result": {}}) == "result, accuracy 0.93 then, nothing now"
    exams = [{"spent": {"tokens": 9, "seconds": 1.0}, "result": {"pass@1": 0.5, "gap": float("nan")}}]
    run = {"weights": "ab", "spent": {"tokens": 9, "seconds": 1.0}, "asked": {"odd": 3}, "points": exams}
    slower = [{"spent": {"tokens": 9, "seconds": 2.0}, "result": {"pass@1": 0.5, "gap": float("nan")}}]
    assert differing(run, {**run, "points": slower, "spent": {"tokens": 9, "seconds": 2.0}}) == ""
    assert differing(run, {**run, "points": []}) == "1 exams then, 0 now"
    worse = [{**exams[0], "result": {"pass@1": 0.499999, "gap": float("nan")}}]
    assert differing(run, {**run, "points": worse}) == "exam 1, result, pass@1 0.5 then, 0.499999 now"
    assert differing(run, {**run, "asked": {"odd": 4}}) == "asked, odd 3 then, 4 now"
