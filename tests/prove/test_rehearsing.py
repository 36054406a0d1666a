"""Evidence is of the functions that ran: stale when one of them changes, and kept where rehearsals before and after agree."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line import Cli, command_line, refused
from planted import factor_of, record
from proofs import example, how, quiet

import guerdon
from guerdon.evidence import proof_files
from guerdon.evidence.identity import HOUSE, Code, Sources, changed, code_of
from guerdon.prove import proving, rehearsing
from guerdon.prove.known import Known
from guerdon.prove.proving import How, Progress, prove, register_claims, run_wanted, trials_of
from guerdon.prove.rehearsing import ArmPlace, rehearse
from guerdon.training.catalog import find_recipe

REAL = (("thrice", 0), ("grpo", 0))  # arms and seeds that are run; the others are planted near them


def run_few(trials: Sequence[Any], known: Known, how: How, progress: Progress) -> None:
    while wanted := list({run.key: run for trial in trials for run in trial.wanted(known)}.values()):
        real = [run for run in wanted if (run.arm.what, run.seed) in REAL and factor_of(run) == 1]
        run_wanted(real, lambda key: [], known, how, progress)
        for run in wanted:
            if run not in real:
                known.add(record(run, 0.63 + 0.11 * (run.arm.what == "thrice") - 0.1 * (factor_of(run) != 1)))


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the example of docs/evidence.md was registered and proved, from within it."""
    folder = tmp_path_factory.mktemp("proof")
    (folder / "thrice.py").write_text(example())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(proving, "run_trials", run_few)
        assert register_claims(["thrice.py"], how(folder)) is not None
        prove(["thrice.py"], how(folder), quiet)
    return folder


@pytest.fixture
def folder(proof: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that folder to do things to; `before` in it has the recipe as it was."""
    shutil.copytree(proof, tmp_path / "proved")
    monkeypatch.chdir(tmp_path / "proved")
    Path("before").mkdir()
    shutil.copy("thrice.py", "before")
    return tmp_path / "proved"


@pytest.fixture
def cli(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return command_line(folder, monkeypatch, capsys)


def edit(then: str, now: str) -> None:
    text = Path("thrice.py").read_text()
    assert then in text
    Path("thrice.py").write_text(text.replace(then, now))


def told() -> dict[str, Any]:
    return proof_files.read(Path("evidence"), "thrice")


OTHERWISE = (
    'return base.but(**{"learn.epochs": epochs})',
    'knobs = {"learn.epochs": epochs}\n    return base.but(**knobs)',
)


def test_a_change_of_what_ran_makes_evidence_stale_and_one_of_names_and_words_does_not(folder, cli):
    assert proof_files.stale(told()) == "" and "thrice.py:thrice" in told()["code"]["units"]
    assert {"losses.reduce:reduce", "core.learn:Learn.__call__", "exams.drawing:_drawn"} <= set(told()["code"]["units"])
    edit("GRPO that goes over", "GRPO going over")
    Path("thrice.py").write_text(Path("thrice.py").read_text() + "\n\ndef unused():\n    return 1\n")
    assert proof_files.stale(told()) == ""
    edit("epochs: int = 3", "epochs: int = 4")
    since = f"made with {guerdon.__version__}, and code that its runs executed has changed since"
    assert proof_files.stale(told()) == f"{since}: thrice.py thrice"
    assert f"evidence: stale, {since}" in cli("show", "./thrice.py").out
    known = Known.read(Path("nowhere"), Path("evidence"))
    method, *_ = told()["claims"][0]["arms"]["method"]["runs"]
    assert known.get(method["key"]) is None, "runs of other code are known to nobody"


def test_evidence_without_the_code_that_ran_is_stale(folder):
    old = {**told(), "code": {"guerdon.envs.simple": "2281d3505b13eb82"}}
    assert proof_files.stale(old) == "made before the code that ran was recorded"


def plant(monkeypatch: pytest.MonkeyPatch, **differs: Any) -> None:
    """Rehearsals that execute what evidence says, and come to one record, but for what differs now."""
    units, arms = told()["code"]["units"], ("method", "baseline", "ablation")
    then = {"weights": "ab", "spent": {}, "points": [], "units": [*units]}

    def rehearsals(names: Any, place: Any, how: Any, heard: Any) -> dict[ArmPlace, Any]:
        record = then if place.own.name == "before" else {**then, **differs}
        return {ArmPlace("thrice.py", 0, role): {"units": record["units"], "record": record} for role in arms}

    monkeypatch.setattr(rehearsing, "_rehearsals", rehearsals)


@pytest.mark.slow
def test_evidence_is_kept_where_rehearsals_agree(folder, cli, monkeypatch):
    plant(monkeypatch)
    assert cli("prove", "thrice.py", "--rehearse", "before").out == "thrice.py: its code has not changed\n"
    edit(*OTHERWISE)
    assert proof_files.stale(told())
    said = cli("prove", "thrice.py", "--rehearse", "before")
    what = (
        "refactored: thrice.py thrice changed; rehearsed before and after with equal weights and numbers: method of claim 1,"
        " baseline of claim 1, ablation of claim 1"
    )
    assert said.code == 0 and said.out == f"thrice.py: {what}\n"
    assert proof_files.stale(told()) == "" and told()["history"][0]["what"] == what
    assert what in Path("evidence/thrice.md").read_text() and what in cli("show", "./thrice.py").out
    again = prove(["thrice.py"], how(folder), lambda done, total, last: None if total == 0 else pytest.fail("a run"))
    assert again[0]["claims"][0]["against"] == told()["claims"][0]["against"] and "history" in again[0]


@pytest.mark.slow
def test_evidence_stays_stale_where_one_number_differs(folder, cli, monkeypatch):
    plant(monkeypatch, weights="cd")
    edit(*OTHERWISE)
    before = Path("evidence/thrice.json").read_bytes()
    said = cli("prove", "thrice.py", "--rehearse", "before")
    refused(said, "1 of 1 proofs stay stale: thrice.py", code=1)
    assert said.out.strip() == (
        "thrice.py: stays stale: method of claim 1 has different results: weights ab then, cd now"
    )
    assert Path("evidence/thrice.json").read_bytes() == before


@pytest.mark.slow
def test_evidence_stays_stale_where_the_rehearsal_does_not_reach_what_changed(folder, monkeypatch):
    """A GPU kernel, where there is no GPU."""
    plant(monkeypatch)
    proof = told()
    kernel = "models.kernels.gate:_bend"
    proof["code"]["units"][kernel] = "0" * 12
    proof["code"]["files"] |= {"models.kernels.gate": "0" * 12}
    monkeypatch.setattr(rehearsing, "changed", lambda code, sources: {})  # BEFORE had that kernel
    rehearsals = [rehearsing._rehearsals([], place, None, None) for place in places()]
    each, renewed = rehearsing.settle("thrice.py", proof, *rehearsals, Sources(HOUSE, Path("before")))
    assert (
        renewed is None
        and each.is_left_stale
        and each.why == "the rehearsal here does not execute models/kernels/gate.py _bend"
    )


def places() -> list[Any]:
    return [rehearsing._Place(HOUSE, Path("before")), rehearsing._Place(HOUSE, Path.cwd())]


@pytest.mark.slow
def test_other_code_than_it_was_made_with_is_no_before(folder, cli):
    edit(*OTHERWISE)
    Path("before/thrice.py").write_text(Path("thrice.py").read_text().replace("epochs: int = 3", "epochs: int = 5"))
    said = cli("prove", "thrice.py", "--rehearse", "before")
    assert said.code == 1 and "stays stale: it was not made with the code in before: thrice.py thrice" in said.out
    refused(cli("prove", "thrice.py", "--rehearse", "evidence"), "holds no code: make it with git worktree add")
    refused(cli("prove", "thrice.py", "--rehearse", "before", "--quick"), "a --quick run is not evidence")
    refused(cli("prove", "thrice.py", "--rehearse", "before", "--tell"), "--tell and --rehearse cannot be combined")


@pytest.mark.slow
def test_real_rehearsals_tell_a_refactoring_from_a_change(folder, cli):
    edit(*OTHERWISE)
    assert cli("prove", "thrice.py", "--rehearse", "before").code == 0
    shutil.copy("thrice.py", "before")
    edit('{"learn.epochs": epochs}', '{"learn.epochs": epochs + 1}')
    said = cli("prove", "thrice.py", "--rehearse", "before")
    assert said.code == 1 and "method of claim 1 has different results: weights" in said.out


# --- the table of changes -------------------------------------------------------------------------------------------

CHANGES = {  # file, what stands there, what is put in its place, whether results change
    "a loss divides by the root of a track's length": (
        "losses/reduce.py", "return (total / length).sum()", "return (total / length.sqrt()).sum()", True),
    "groups are of asks": (
        "credit/group_relative.py", 'batch.group(by if by in COARSE else "task")', 'batch.group("ask")', True),
    "half an exam": ("exams/drawing.py", "and len(drawn) < number:", "and len(drawn) < number // 2:", True),
    "a local has another name": ("tasks/family.py", "draw = random", "dice = random", False),
    "an import more": ("workers/processes.py", "import os\n", "import json\nimport os\n", False),
}  # fmt: skip


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Code:
    """What a method on GRPO executes, with exams as in a proof; and how families of problems draw theirs."""
    knobs = "prompts=8 tries=8 lr=0.3 tabular.vocab=01 tabular.length=1"
    changes = {"task": "parity:1-3", "model": "tabular", "settings": knobs, "budget": 1000.0}
    (trial,) = trials_of("dump", find_recipe("dump"), How(changes=changes))
    rehearsed = rehearse(trial.arms["method"], tmp_path_factory.mktemp("rehearsal"))
    return code_of([*rehearsed["units"], "tasks.family:Family.get"])


@pytest.mark.sampled(3, "what")
@pytest.mark.parametrize("what", CHANGES)
def test_five_changes_five_right_answers(what, ran, tmp_path):
    file, then, now, counts = CHANGES[what]
    shutil.copytree(
        HOUSE, tmp_path / "guerdon", ignore=shutil.ignore_patterns("evidence", "sprig", "__pycache__", "page")
    )
    path = tmp_path / "guerdon" / file
    text = path.read_text()
    assert then in text
    path.write_text(text.replace(then, now).replace("make(draw)", "make(dice)" if "dice" in now else "make(draw)"))
    assert bool(changed(ran, Sources(tmp_path / "guerdon"))) is counts


def test_a_change_inside_a_gpu_kernel_counts_where_its_launch_ran(tmp_path):
    code = code_of(["models.kernels.gate:_Gated.forward"])
    assert {"models.kernels.gate:_forward", "models.kernels.gate:_bend", "models.kernels.gate:_backward"} <= set(
        code.units
    )
    shutil.copytree(
        HOUSE / "models", tmp_path / "guerdon" / "models", ignore=shutil.ignore_patterns("sprig", "__pycache__")
    )
    path = tmp_path / "guerdon" / "models" / "kernels" / "gate.py"
    path.write_text(path.read_text().replace("0.044715 * g", "0.044716 * g"))
    assert "models.kernels.gate:_bend" in changed(code, Sources(tmp_path / "guerdon"))


def test_code_of_an_earlier_version_is_rehearsed_by_the_name_that_this_module_had(tmp_path):
    assert rehearsing._module_in(rehearsing.HOUSE) == "guerdon.prove.rehearsing"
    folder = tmp_path / "guerdon" / "loop" / "proof"
    folder.mkdir(parents=True)
    (folder / "rehearsing.py").touch()
    assert rehearsing._module_in(tmp_path / "guerdon") == "guerdon.loop" + ".proof.rehearsing"
