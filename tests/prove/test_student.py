"""A second student: taught once, then all arms of a claim begin with it; its evidence stands beside the shipped model's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command_line import command_line
from refusals import refusal
from small import small_lm

from guerdon.core.errors import UserError
from guerdon.core.recipe import Claim
from guerdon.evidence import proof_files
from guerdon.evidence.words import word as shown
from guerdon.models import lora
from guerdon.prove.proving import How, prove, register_claims, trials_of
from guerdon.prove.register import registered
from guerdon.prove.student import given, longer
from guerdon.runs.run import Run
from guerdon.training.build import find_model
from guerdon.training.catalog import find_recipe

MINE = '''
"""Learning faster: a larger step."""
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.recipes.house.grpo import grpo


@recipe("faster", family="mine", on=grpo, claim=Claim(
    says="a larger step learns more", baseline="grpo lr=1e-5", task="countdown:1",
    settings="prompts=2 tries=4 max_tokens=24", budget=4000))
def faster(base: Recipe, *, lr: float = 1e-4) -> Recipe:
    """GRPO with a larger step."""
    return base
'''
PLAIN = Claim("x", task="countdown:1-6", settings="prompts=16 lr=5e-5 max_tokens=64", ablation="grpo lr=1e-5 kl=1")


def how(folder: Path, student: bool = False, quick: bool = True) -> How:
    chosen = str(folder / "Tiny-1M") if student else ""
    return How(out=folder / "evidence", runs=folder / "runs", jobs=1, quick=quick, student=chosen)


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A folder in which a quick look was taken with the shipped model and with a small one, and the runs of the latter."""
    folder = tmp_path_factory.mktemp("student")
    (folder / "faster.py").write_text(MINE)
    small_lm(folder / "Tiny-1M", std=0.02)
    runs: list[str] = []
    prove([str(folder / "faster.py")], how(folder), lambda *_: None)
    prove(
        [str(folder / "faster.py")], how(folder, student=True), lambda _, __, job: runs.append(job.name if job else "")
    )
    return folder, runs


def runs_in(folder: Path) -> list[Run]:
    return [Run(path.parent) for path in sorted((folder / "runs").glob("*/run.json"))]


@pytest.mark.slow
def test_a_student_is_taught_once_and_all_arms_begin_with_it(proof):
    folder, runs = proof
    assert [name.split()[0] for name in runs if name] == ["sft", "faster", "grpo", "faster", "grpo"]
    [taught] = [run for run in runs_in(folder) if run.folder.models.is_dir()]
    assert taught.config["steps"] == 30 and taught.config["settings"]["lm.lora"] == "16"  # a tenth of the lesson
    begun = [run for run in runs_in(folder) if run.config["wish"]["model"] == str(taught.path)]
    assert len(begun) == 4 and {run.config["settings"]["lm.lora"] for run in begun} == {"16"}
    assert len({run.config["hash"] for run in begun}) == 2, "of two arms"


@pytest.mark.slow
def test_what_is_handed_over_is_the_student_below_an_adapter_that_learned(proof):
    folder, _ = proof
    [taught] = [run for run in runs_in(folder) if run.folder.models.is_dir()]
    policy = find_model(str(taught.path))
    assert policy is not None and Path(policy.source) == folder / "Tiny-1M"
    changes = [change for _, _, change in lora.changes(policy.decoder)]
    assert len(changes) == 2 * 7 and all(change.rank == 16 and change.B.abs().max() > 0 for change in changes)


@pytest.mark.slow
def test_evidence_of_a_student_stands_beside_the_shipped_models(proof):
    folder, _ = proof
    quick = folder / "evidence" / "quick"
    ours, theirs = (proof_files.read(quick, name) for name in ("faster", "faster@tiny-1m"))
    assert ours.keys() | {"student"} == theirs.keys() and theirs["student"] == "tiny-1m"
    assert theirs["model"] == {"name": "tiny-1m", "version": "tiny-1m"}
    claimed, [arms] = theirs["claims"][0]["claim"], [claim["arms"] for claim in theirs["claims"]]
    assert claimed["model"] == "tiny-1m" and str(folder) not in str(claimed)
    assert arms["baseline"]["what"] == "grpo lr=4e-05" and arms["method"]["lr"] == 1e-4  # a default is a recipe's own
    keys = [{run["key"] for arm in p["claims"][0]["arms"].values() for run in arm["runs"]} for p in (ours, theirs)]
    assert len(keys[0]) == len(keys[1]) == 4 and keys[0].isdisjoint(keys[1])
    word, other = shown(ours["claims"][0]), shown(theirs["claims"][0])
    page, beside, index = ((quick / f"{name}.md").read_text() for name in ("faster", "faster@tiny-1m", "README"))
    assert f"[faster@tiny-1m](faster@tiny-1m.md): **{other}, on tiny-1m**" in page
    assert f"[faster](faster.md): **{word}, on sprig-1.1**" in beside and "(faster@tiny-1m.svg)" in beside
    assert "[faster@tiny-1m.json](faster@tiny-1m.json)" in beside and "from the model that `sft steps=" in beside
    both = f"{word}, on sprig-1.1 and tiny-1m" if word == other else f"{word}, on sprig-1.1; {other}, on tiny-1m"
    assert f"**{both}**" in index and "| [faster@tiny-1m](faster@tiny-1m.md) |" in index
    assert (quick / "faster@tiny-1m.svg").is_file()


@pytest.mark.slow
def test_a_student_is_registered_wherever_it_lies(proof, tmp_path):
    folder, _ = proof
    name, whole = str(folder / "faster.py"), how(folder, student=True, quick=False)
    batch = register_claims([name], whole)
    assert batch is not None and list(batch["claims"]) == ["faster@tiny-1m"]
    assert register_claims([name], whole) is None
    shutil.copytree(folder / "Tiny-1M", tmp_path / "Tiny-1M")
    moved = How(out=folder / "evidence", student=str(tmp_path / "Tiny-1M"))
    [trial] = trials_of(name, find_recipe(name), moved)
    assert registered(folder / "evidence", trial) is not None
    [small] = trials_of(name, find_recipe(name), how(folder, quick=False))
    assert registered(folder / "evidence", small) is None


@pytest.mark.slow
def test_limits_and_budgets_in_tokens_grow_with_the_students_tokens(proof):
    folder, _ = proof
    student, grpo = str(folder / "Tiny-1M"), find_recipe("grpo")
    times = longer(student, "sprig-1.1", "countdown:1-6")
    assert 1 < times < 3, "a tokenizer of three sentences"
    claim = given(PLAIN, grpo, student)
    limit = -int(-64 * times // 1)
    assert claim.settings == f"prompts=16 lr=0.0002 max_tokens={limit} lm.lora=16"
    assert claim.ablation == "grpo lr=4e-05 kl=1" and claim.budget == round(250_000 * times)
    assert claim.start == f"sft steps=300 prompts=64 lr=5e-4 max_tokens={limit} lm.lora=16"
    assert given(PLAIN, grpo, student, same_budget=True).budget == 250_000
    assert longer("sprig-1", "sprig-1.1", "countdown:1-6") == 1.0, "of one tokenizer"


@pytest.mark.parametrize(
    ("claim", "recipe", "says"),
    [
        (Claim("x"), "grpo", "grpo begins with sprig-1.1"),
        (Claim("x", model="", metric="accuracy"), "cyclical-curriculum-learning", "brings models of its own"),
        (Claim("x", model="tabular", task="successor"), "grpo", "begins with tabular"),
        (Claim("x", task="countdown:1", start="searcher"), "grpo", "begins with what 'searcher' trained"),
        (Claim("x", task="countdown:1"), "auto-cei", "is a study"),
    ],
)
def test_claims_that_have_no_place_for_a_student(claim, recipe, says):
    with pytest.raises(UserError, match=says):
        given(claim, find_recipe(recipe), "sprig-1")


def test_a_student_must_take_an_adapter():
    with refusal(UserError):
        given(PLAIN, find_recipe("grpo"), "tabular")


@pytest.mark.slow
@pytest.mark.slow
def test_the_site_has_a_page_for_each_student(proof, monkeypatch):
    folder, _ = proof
    monkeypatch.setattr(proof_files, "SHIPPED", folder / "evidence" / "quick")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "scripts"))
    from pages import methods

    pages = methods.method_pages()
    assert "[The recipe](../../methods/faster.md)" in pages["evidence/recipes/faster@tiny-1m.md"]
    assert "(faster@tiny-1m.md)" in pages["evidence/recipes/faster.md"]


@pytest.mark.slow
def test_the_flag(proof, monkeypatch, capsys):
    folder, _ = proof
    cli = command_line(folder, monkeypatch, capsys)
    said = cli("prove", "./faster.py", "--student", "Tiny-1M", "--quick", "--jobs", "1")
    assert "all runs are stored already" in said.out + said.err and "faster@tiny-1m.md" in said.out
    shown = cli("show", "./faster.py").out
    assert "evidence: none yet" in shown  # a quick look is none
    shutil.copytree("evidence/quick", "evidence", dirs_exist_ok=True)
    shown = cli("show", "./faster.py").out
    assert ", on sprig-1.1: " in shown and ", on tiny-1m: " in shown and "--student Tiny-1M" in shown
    refused = cli("prove", "auto-cei", "--student", "Tiny-1M", "--quick")
    assert refused.code == 2 and refused.err.count("\n") == 1 and "is a study" in refused.err
