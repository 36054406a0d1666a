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
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import Cli, command_line
from guerdon.loop.proof.null import prove_null
from guerdon.loop.proof.results import mean_curve, score_of, value_of

from guerdon.core.errors import RunStopped, UserError
from guerdon.core.recipe import Claim
from guerdon.loop import catalog
from guerdon.loop.proof import null, proving
from guerdon.loop.proof.arms import arms_of, make_arm
from guerdon.loop.proof.proving import OPTIONS, How, prove, settle
from guerdon.models import load
from guerdon.store import evidence
from guerdon.store.event_types import Evaluated, StepDone
from guerdon.store.identity import RESULTS
from guerdon.store.run import Run

MINE = '''
"""Learning faster: a larger step."""
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.recipes.house.grpo import grpo


@recipe("faster", family="mine", paper="arXiv:0000.00000", on=grpo, claim=Claim(
    says="a step a hundred times as large learns more", baseline="grpo lr=0.003", ablation="faster lr=0.003",
    task="successor:1", model="tabular", settings="prompts=4 tries=8", budget=2500, unit="tokens"))
def faster(base: Recipe, *, lr: float = 0.3) -> Recipe:
    """GRPO with a large step."""
    return base
'''


@pytest.fixture(scope="module", autouse=True)
def small_exams():
    """Evaluations of 24 tasks where evidence takes 384: what is proved here is plain to see."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proving, "OPTIONS", replace(OPTIONS, eval_tasks=24))
        yield


@pytest.fixture
def mine(tmp_path: Path) -> str:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return str(path)


def quiet(done: int, total: int, last: Any) -> None: ...


def how(tmp_path: Path, **more: Any) -> How:
    return How(**{"out": tmp_path / "evidence", "runs": tmp_path / "runs", "jobs": 1, **more})


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[int, int]]]:
    """A folder in which the claim has been proved once, and what was told meanwhile."""
    folder = tmp_path_factory.mktemp("proof")
    (folder / "mine.py").write_text(MINE)
    told: list[tuple[int, int]] = []
    prove([str(folder / "mine.py")], how(folder), lambda done, total, last: told.append((done, total)))
    return folder, told


@pytest.fixture
def proved(proof, tmp_path) -> tuple[Path, dict[str, Any]]:
    """A copy of that folder to do things to, and the evidence."""
    shutil.copytree(proof[0], tmp_path / "proved")
    return tmp_path / "proved", evidence.read(tmp_path / "proved" / "evidence", "faster")


def test_a_claim_is_run_and_its_evidence_says_all(proof):
    tmp_path, told = proof
    found = evidence.read(tmp_path / "evidence", "faster")
    assert told[0] == (0, 16) and told[-1] == (16, 16)  # the ablation is the baseline: equal arms run once
    [claim] = found["claims"]
    assert claim["verdict"] == "holds" and "8 paired seeds" in claim["how"]
    assert [arm["what"] for arm in claim["arms"].values()] == ["faster", "grpo lr=0.003", "faster lr=0.003"]
    method, baseline = claim["arms"]["method"], claim["arms"]["baseline"]
    assert [run["seed"] for run in method["runs"]] == list(range(8))
    for run in method["runs"] + baseline["runs"]:
        assert run["spent"]["tokens"] >= 2500 and run["curve"][0]["spent"] == 0
        assert run["curve"][-1]["spent"] == run["spent"]["tokens"]
        assert run["score"] == run["curve"][-1]["value"]
    differences = [a["score"] - b["score"] for a, b in zip(method["runs"], baseline["runs"], strict=True)]
    assert claim["against"]["baseline"]["differences"] == pytest.approx(differences)
    page = (tmp_path / "evidence" / "faster.md").read_text()
    assert "**Holds**" in page and "guerdon prove" in page and "faster.svg" in page
    ET.fromstring((tmp_path / "evidence" / "faster.svg").read_text())
    assert "faster" in (tmp_path / "evidence" / "README.md").read_text()
    assert not list((tmp_path / "runs").glob("*/checkpoints")), "weights are not evidence"


def test_what_is_done_is_not_done_again(proved):
    tmp_path, first = proved
    mine = str(tmp_path / "mine.py")
    stamps = {p: p.stat().st_mtime_ns for p in (tmp_path / "runs").glob("*/events.jsonl")}
    lost = sorted(stamps)[3]
    lost.unlink()
    told: list[int] = []
    again = prove([mine], how(tmp_path), lambda done, total, last: told.append(done))
    assert told == [15, 16]
    assert {p: p.stat().st_mtime_ns for p in stamps if p != lost} == {p: s for p, s in stamps.items() if p != lost}

    def scores(found: Any) -> Any:
        return [[r["score"] for r in arm["runs"]] for arm in found[0]["claims"][0]["arms"].values()]

    assert scores(again) == scores([first])


def test_evidence_of_other_code_is_stale(proved, monkeypatch, capsys):
    tmp_path, found = proved
    assert found["results"] == RESULTS and evidence.stale(found) == ""
    cli = command_line(tmp_path, monkeypatch, capsys)
    assert "guerdon_user_mine" in found["claims"][0]["arms"]["method"]["modules"]
    Path("mine.py").write_text(MINE + "# a comment changes nothing\n")
    assert "stale" not in cli("show", "./mine.py").out
    Path("mine.py").write_text(MINE.replace("lr: float = 0.3", "lr: float = 0.2"))
    said = cli("show", "./mine.py")
    assert "evidence: stale, the code of its method and ablation has changed since (guerdon prove faster)" in said.out
    assert cli("show", "./mine.py", "--json").json["evidence"]["stale"].startswith("the code of its method")
    older = evidence.stale({**found, "results": RESULTS - 1})
    assert older == f"what all recipes stand on comes to other results since (number {RESULTS - 1} then, {RESULTS} now)"
    del found["results"]
    assert evidence.stale(found) == "made before its code was recorded"
    evidence.write(tmp_path / "evidence", found)
    evidence.write_index(tmp_path / "evidence")
    assert "*Stale*: made before its code was recorded." in Path("evidence/faster.md").read_text()
    assert "**holds**, *stale* |" in Path("evidence/README.md").read_text()


def test_runs_of_other_code_are_not_taken_for_these(proved, monkeypatch):
    tmp_path, _ = proved
    arm = make_arm("grpo lr=0.003", catalog.find_recipe(str(tmp_path / "mine.py")).claims[0], OPTIONS)
    key = arm.key(0)
    assert make_arm("grpo lr=0.003", catalog.find_recipe(str(tmp_path / "mine.py")).claims[0], OPTIONS).key(0) == key
    monkeypatch.setattr("guerdon.loop.proof.arms.RESULTS", RESULTS + 1)
    assert arm.key(0) != key


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
    assert evidence.read_all(tmp_path / "evidence") == {}


@pytest.mark.slow
def test_workers_find_what_one_process_finds(mine, quick_look, tmp_path):
    (both,) = prove([mine], how(tmp_path, quick=True, jobs=2), quiet)
    assert json.dumps(quick_look[1]["claims"][0]["against"]) == json.dumps(both["claims"][0]["against"])


def test_a_family_shares_its_false_discoveries(proved):
    tmp_path, found = proved
    folder = tmp_path / "evidence"
    for i in range(30):  # thirty others that found nothing: p = 0.03 is then no discovery
        claim = json.loads(json.dumps(found["claims"][0]))
        claim["against"]["baseline"] |= {"p": 0.9, "verdict": "inconclusive"}
        claim["alone"] = "inconclusive"
        evidence.write(folder, {**found, "recipe": f"other{i}", "claims": [claim]})
    doubtful = json.loads(json.dumps(found))
    doubtful["claims"][0]["against"]["baseline"]["p"] = 0.03
    evidence.write(folder, doubtful)
    settle(folder, "mine")
    kept = evidence.read(folder, "faster")["claims"][0]
    assert kept["alone"] == "holds" and kept["verdict"] == "inconclusive" and "31 claims" in kept["how"]


@pytest.mark.slow
def test_a_recipe_against_itself(tmp_path, monkeypatch):
    options = how(tmp_path, changes={"task": "successor:1", "model": "tabular", "budget": 600})
    claim_settings = "prompts=4 tries=8"
    with pytest.raises(UserError, match="at least 40 pairs"):
        prove_null("grpo", 8, options, quiet)
    monkeypatch.setattr(null, "PAIRS", 8)  # to be done in seconds
    found = prove_null(f"grpo {claim_settings} lr=0.1", 8, options, quiet)
    assert len(found["differences"]) == 8 and any(found["differences"])
    assert found["wrong"] <= 0.10
    assert "where there is none" in (tmp_path / "evidence" / "README.md").read_text()


REFUSES = """
from guerdon.core.part import part


@part
class refuses:
    \"\"\"An environment that breaks.\"\"\"

    roles = ("policy",)

    async def play(self, ask, seats):
        raise ValueError("no table")
"""


def test_a_run_that_fails_is_named_and_the_others_are_kept(mine, tmp_path):
    Path(mine).write_text(REFUSES + MINE.replace("return base", "return base.but(env=refuses()) if lr > 0.1 else base"))
    with pytest.raises(RunStopped, match=r"2 of 4 runs failed; faster seed 0: .*no table"):
        prove([mine], how(tmp_path, quick=True), quiet)
    assert len([p for p in (tmp_path / "runs").iterdir() if '"Ended"' in (p / "events.jsonl").read_text()]) == 2


INTERRUPTS = """
import os
import signal
from guerdon.core.part import part
from guerdon.envs.simple import single_turn

told = []

@part
class interrupts(single_turn):
    \"\"\"An environment in which the user presses Ctrl-C, once.\"\"\"

    async def play(self, ask, seats):
        if not told:
            told.append(True)
            os.kill(os.getpid(), signal.SIGINT)
        return await super().play(ask, seats)
"""


LONGER = MINE.replace("budget=2500", "budget=25000")  # of which a quick look makes more than a step


def test_ctrl_c_ends_a_proof_and_not_one_of_its_runs_alone(mine, tmp_path):
    """In this very process, where runs come one after the other: each hears Ctrl-C and ends its step."""
    Path(mine).write_text(INTERRUPTS + LONGER.replace("return base", "return base.but(env=interrupts())"))
    with pytest.raises(KeyboardInterrupt):
        prove([mine], how(tmp_path, quick=True), quiet)
    assert len(list((tmp_path / "runs").iterdir())) == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("grpo kl", "KNOB=VALUE"),
        ("grop", "did you mean 'grpo'"),
        ("grpo lrr=1", "did you mean 'lr'"),
        ("grpo lr=x", "must be"),
    ],
)
def test_arms_that_cannot_be(words, says):
    with pytest.raises(UserError, match=says):
        make_arm(words, Claim("x", task="successor:1", model="tabular"), OPTIONS).build()


def test_arms_have_the_claims_settings_and_their_own():
    claim = Claim(
        "x", baseline="grpo lr=0.5", ablation="rloo", task="successor:1", model="tabular", settings="tries=4 lr=0.1"
    )
    arms = arms_of("dr_grpo", claim, OPTIONS)
    assert {n: (a.what, a.request.settings["lr"], a.request.settings["tries"]) for n, a in arms.items()} == {
        "method": ("dr_grpo", "0.1", "4"),
        "baseline": ("grpo lr=0.5", "0.5", "4"),
        "ablation": ("rloo", "0.1", "4"),
    }
    assert arms["method"].key(0) != arms["method"].key(1) != arms["ablation"].key(1)
    assert make_arm("grpo lr=0.5", claim, OPTIONS).key(3) == arms["baseline"].key(3)


STUDY = '''
from guerdon.core.recipe import Claim, Recipe, Study, recipe
from guerdon.recipes.house.grpo import grpo


@recipe("twice", family="mine", on=grpo, claim=Claim(
    says="x", baseline="twice times=1", task="successor:1", model="tabular", settings="prompts=4 tries=8 lr=0.3 steps=1000",
    metric="pass@1", budget=50000))
def twice(base: Recipe, *, times: int = 2) -> Study:
    """Several runs, one after the other, each from the weights of the one before."""
    def body(run, seed):
        for i in range(times):
            trained = run.train(base, seed=seed + 100 * i, steps=1000 if i else 5)
            base.models["policy"] = trained.model()
        return RESULT
    return Study(body)
'''


def test_a_budget_reaches_a_study_and_its_curve_is_that_of_its_runs(mine, tmp_path):
    Path(mine).write_text(STUDY.replace("RESULT", "None"))
    (found,) = prove([mine], how(tmp_path, quick=True), quiet)
    arms = found["claims"][0]["arms"]
    for run in arms["method"]["runs"]:
        spent, curve = run["spent"], run["curve"]
        assert 5000 <= spent["tokens"] < 6000  # a tenth, up to a whole step: five steps, then what is left
        assert spent["steps"] > 5 and spent["updates"] > 5 and spent["read"] > spent["tokens"]
        assert [curve[0]["spent"], curve[3]["spent"]] == [0, spent["tokens"]]
        assert curve[1]["spent"] == curve[2]["spent"], "where the first run ended, the second began"
        assert run["score"] == run["curve"][-1]["value"]
    assert [run["spent"]["steps"] for run in arms["baseline"]["runs"]] == [5, 5]
    assert arms["method"]["curve"][0]["spent"] == 0


@pytest.mark.slow
def test_what_a_study_returns_counts_before_what_its_runs_found(mine, tmp_path):
    Path(mine).write_text(STUDY.replace("RESULT", '{"pass@1": 7.0 + times, "spent": {"samples": 3}}'))
    (found,) = prove([mine], how(tmp_path, quick=True), quiet)
    arms = found["claims"][0]["arms"]
    assert {arm: (runs["runs"][0]["score"], runs["runs"][0]["spent"]["samples"]) for arm, runs in arms.items()} == {
        "method": (9.0, 3), "baseline": (8.0, 3)
    }  # fmt: skip
    Path(mine).write_text(STUDY.replace("RESULT", "None").replace('metric="pass@1"', 'metric="pas@1"'))
    with pytest.raises(UserError, match=r"unknown key of the study's result and evaluations 'pas@1'.*pass@1"):
        prove([mine], how(tmp_path, quick=True), quiet)


def test_seeds_too_few(mine, tmp_path):
    with pytest.raises(UserError, match="at least 8 seeds"):
        prove([mine], how(tmp_path, changes={"seeds": 7}), quiet)


def test_a_claim_says_which_seeds_it_takes(mine, tmp_path):
    Path(mine).write_text(MINE.replace("budget=2500", "budget=50, seeds=9, first_seed=30"))
    (found,) = prove([mine], how(tmp_path), quiet)
    assert [run["seed"] for run in found["claims"][0]["arms"]["method"]["runs"]] == list(range(30, 39))
    (found,) = prove([mine], how(tmp_path, changes={"seeds": 8, "first_seed": 31}), quiet)
    assert [run["seed"] for run in found["claims"][0]["arms"]["baseline"]["runs"]] == list(range(31, 39))


def test_scores_by_hand():
    curve = [{"spent": 0.0, "value": 0.2}, {"spent": 10.0, "value": 0.4}, {"spent": 40.0, "value": 0.8}]
    assert score_of(curve, Claim("x")) == 0.8
    assert score_of(curve, Claim("x", metric="mean pass@1")) == pytest.approx((10 * 0.3 + 30 * 0.6) / 40)
    kinds = {"chain:1": 1.0, "chain:5": 0.5, "other:6": 0.1}
    assert value_of({"pass@1": 0.7, "kinds": kinds}, "pass@1", ()) == 0.7
    assert value_of({"pass@1": 0.7, "kinds": kinds}, "pass@1", (5, 6)) == pytest.approx(0.3)
    with pytest.raises(UserError, match="unknown metric"):
        value_of({"pass@1": 0.7}, "pas@1", ())
    with pytest.raises(UserError, match="levels"):
        value_of({"pass@1": 0.7}, "pass@1", (5,))


def test_curves_of_seeds_meet_at_equal_amounts():
    runs = [
        {"curve": [{"spent": 0, "value": 0.0}, {"spent": 10, "value": 1.0}, {"spent": 20, "value": 1.0}]},
        {"curve": [{"spent": 0, "value": 0.0}, {"spent": 12, "value": 0.6}, {"spent": 18, "value": 0.9}]},
    ]
    found = mean_curve(runs)
    assert [p["spent"] for p in found] == [0, 9, 18]
    assert found[1]["mean"] == pytest.approx((0.9 + 0.45) / 2)
    assert found[2]["mean"] == pytest.approx((1.0 + 0.9) / 2)


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return command_line(tmp_path, monkeypatch, capsys)


def test_prove_on_the_command_line(cli: Cli, mine: str) -> None:
    result = cli("prove", mine, "--quick", "--jobs", "1")
    assert result.code == 0, result.err
    assert "faster: a step a hundred times as large learns more" in result.out
    assert "4 runs to go" in result.out + result.err
    assert "a quick look, not evidence" in result.out and "evidence/quick/faster.md" in result.out
    assert cli("prove").code == 2 and cli("prove", "grpo").code == 2 and cli("prove", "--family", "hose").code == 2
    told = cli("prove", "grpo").err
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
    assert process.returncode == 130 and "the same command goes on from here" in out
    assert "Traceback" not in out
    assert len(list((tmp_path / "runs" / "prove").iterdir())) <= 2, "a run that was waiting was begun after all"


def test_all_arms_begin_with_what_the_start_trained(mine: str, tmp_path: Path) -> None:
    started = MINE.replace("budget=2500", 'budget=2500, start="faster prompts=4 tries=8 steps=30"')
    Path(mine).write_text(started.replace('ablation="faster lr=0.003", ', ""))
    with_start, (found,) = how(tmp_path, quick=True), prove([mine], how(tmp_path, quick=True), quiet)
    (claim,) = found["claims"]
    before = {arm["runs"][0]["curve"][0]["value"] for arm in claim["arms"].values()}
    arm = arms_of(mine, Claim(**claim["claim"]), with_start.options)["baseline"]
    start = Run(with_start.runs / arm.starts["policy"].key(0))
    end = list(start.events(Evaluated))[-1].result["pass@1"]
    assert before == {round(end, 6)}  # exactly where the start ended: the same seed draws the same tries
    assert {p.name for p in (tmp_path / "runs").iterdir() if (p / "models").is_dir()} == {start.path.name}
    assert start.config["settings"]["steps"] == "3"  # a quick look trains it for a tenth
    assert len(list((tmp_path / "runs").iterdir())) == 1 + 2 * 2  # it is trained once, for both arms and seeds
    assert arm.key(0) != replace(arm, starts={}).key(0)
    assert (
        "begin with what `faster prompts=4 tries=8 steps=30 steps=3` trained"
        in (with_start.folder / "faster.md").read_text()
    )


HELPED = '''
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.losses.penalties import kl
from guerdon.models.tables import tabular
from guerdon.recipes.house.grpo import grpo


@recipe("guided", family="mine", on=grpo, claim=Claim(
    says="near to one that knows is better", baseline="grpo lr=0.003", ablation="guided pull=0.1", task="successor:1",
    model="tabular", settings="prompts=4 tries=8", start={"guide": "grpo lr=0.3 prompts=4 tries=8 steps=60"}, budget=5000))
def guided(base: Recipe, *, lr: float = 0.003, pull: float = 5.0) -> Recipe:
    """GRPO that is held near to another model."""
    base.models["guide"] = tabular()
    base.stages[-1].loss += kl(pull, to="guide")
    return base
'''


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_start_prepares_a_model_by_its_name(mine: str, tmp_path: Path, jobs: int) -> None:
    Path(mine).write_text(HELPED)
    told: list[str] = []
    setting = how(tmp_path, quick=True, jobs=jobs)
    (found,) = prove(
        [mine], setting, lambda done, total, last: told.append(last.name if last else f"{done} of {total}")
    )
    (claim,) = found["claims"]
    assert claim["claim"]["start"] == {"guide": "grpo lr=0.3 prompts=4 tries=8 steps=60 steps=6"}
    assert told[0] == "0 of 7" and len(told) == 8  # one run for all arms and seeds, and the arms' own
    arms = arms_of(mine, Claim(**claim["claim"]), setting.options)
    start = arms["method"].starts["guide"]
    assert told.index(f"{start.what} seed 0") < min(told.index(f"guided{arm} seed 0") for arm in ("", " pull=0.1"))
    assert not arms["baseline"].starts, "it has no such model: its runs are the same without a start"
    kept = Run(setting.runs / start.key(0))
    assert {p.name for p in setting.runs.iterdir() if (p / "models").is_dir()} == {kept.path.name}
    trained = load(str(kept.folder.models / "policy"))  # the only one that it trains
    for name in ("method", "ablation"):
        run = Run(setting.runs / arms[name].key(1))
        assert run.config["prepared"] == {"guide": str(kept.folder.models / "policy")}
        assert run.config["parts"]["knobs"]["models"]["guide"]["identity"] == trained.identity()
        last = run.events(StepDone)[-1].tokens
        assert run.spent["tokens"] - last < 500, "what was trained first is not among what an arm spends"
    page = (setting.folder / "guided.md").read_text()
    assert "`guide` is what `grpo lr=0.3 prompts=4 tries=8 steps=60 steps=6` trained, in all arms that have it" in page


@pytest.mark.parametrize(
    ("start", "says"),
    [
        ({"guard": "grpo"}, "start prepares the model 'guard', which no arm has"),
        ({"guide": "grop"}, "did you mean 'grpo'"),
        ({"guide": "grpo stepps=3"}, "did you mean 'steps'"),
    ],
)
def test_starts_that_cannot_be(mine: str, tmp_path: Path, start: dict[str, str], says: str) -> None:
    Path(mine).write_text(HELPED)
    with pytest.raises(UserError, match=says) as told:
        prove([mine], how(tmp_path, quick=True, changes={"start": start}), quiet)
    assert "\n" not in str(told.value)


def test_claims_with_a_dict_are_read_as_text(mine: str) -> None:
    Path(mine).write_text(HELPED)
    (listing,) = catalog._read(Path(mine), "mine")
    assert listing.claims == ("near to one that knows is better",)


def test_a_start_that_fails_is_what_is_told(mine: str, tmp_path: Path) -> None:
    broken = HELPED.replace("return base", "return base.but(env=refuses()) if pull == 0 else base") + REFUSES
    Path(mine).write_text(broken.replace("grpo lr=0.3 prompts=4 tries=8 steps=60", "guided pull=0"))
    with pytest.raises(RunStopped, match=r"runs failed; guided pull=0 steps=10 seed 0: .*no table"):
        prove([mine], how(tmp_path, quick=True), quiet)
