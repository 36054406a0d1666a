"""Proofs whose arms begin with what another recipe trained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from proofs import MINE, REFUSES, how, quiet

from guerdon.core.errors import Notice, RunStopped, UserError
from guerdon.core.recipe import Claim
from guerdon.models import load
from guerdon.prove.arms import arms_of
from guerdon.prove.proving import prove
from guerdon.runs.event_types import Evaluated, StepDone
from guerdon.runs.run import Run
from guerdon.training import catalog


def test_all_arms_begin_with_what_the_start_trained(mine: str, tmp_path: Path) -> None:
    started = MINE.replace("budget=2500", 'budget=2500, start="faster prompts=4 tries=8 steps=30"')
    Path(mine).write_text(started.replace('ablation="faster lr=0.003", ', ""))
    with_start, (found,) = how(tmp_path, quick=True), prove([mine], how(tmp_path, quick=True), quiet)
    (claim,) = found["claims"]
    before = {arm["runs"][0]["points"][0]["result"]["pass@1"] for arm in claim["arms"].values()}
    tried = Claim(**claim["claim"])
    arm = arms_of(mine, tried, with_start.options(tried))["baseline"]
    start = Run(with_start.runs / arm.starts["policy"].folder(0))
    end = list(start.events(Evaluated))[-1].result["pass@1"]
    assert before == {round(end, 6)}  # exactly where the start ended: the same seed draws the same tries
    assert {p.name for p in (tmp_path / "runs").iterdir() if (p / "models").is_dir()} == {start.path.name}
    assert start.config["settings"]["steps"] == "3"  # a quick look trains it for a tenth
    assert len(list((tmp_path / "runs").glob("*/run.json"))) == 1 + 2 * 2  # it is trained once, for both arms and seeds
    assert arm.key(0) != replace(arm, starts={}).key(0)
    assert (
        "start from the model that `faster prompts=4 tries=8 steps=30 steps=3` trained"
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


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_start_prepares_a_model_by_its_name(mine: str, tmp_path: Path, jobs: int) -> None:
    Path(mine).write_text(HELPED)
    told: list[str] = []
    setting = how(tmp_path, quick=True, jobs=jobs)
    (found,) = prove(
        [mine], setting, lambda done, total, last: told.append(last.name if last else f"{done} of {total}")
    )
    (claim,) = found["claims"]
    assert claim["claim"]["start"] == {"guide": "grpo lr=0.3 prompts=4 tries=8 steps=60 steps=6"}
    assert told[0] == "0 of 7" and len(told) == 8  # the guide's run, and those of three arms at two seeds
    tried = Claim(**claim["claim"])
    arms = arms_of(mine, tried, setting.options(tried))
    start = arms["method"].starts["guide"]
    assert told.index(f"{start.what} seed 0") < min(told.index(f"guided{arm} seed 0") for arm in ("", " pull=0.1"))
    assert not arms["baseline"].starts, "it has no such model: its runs are the same without a start"
    kept = Run(setting.runs / start.folder(0))
    assert {p.name for p in setting.runs.iterdir() if (p / "models").is_dir()} == {kept.path.name}
    trained = load(str(kept.folder.models / "policy"))  # the only one that it trains
    for name in ("method", "ablation"):
        run = Run(setting.runs / arms[name].folder(1))
        assert run.config["prepared"] == {"guide": str(kept.folder.models / "policy")}
        assert run.config["parts"]["knobs"]["models"]["guide"]["identity"] == trained.identity()
        last = run.events(StepDone)[-1].tokens
        assert run.spent["tokens"] - last < 500, "what was trained first is not among what an arm spends"
    page = (setting.folder / "guided.md").read_text()
    assert "`guide` is trained by `grpo lr=0.3 prompts=4 tries=8 steps=60 steps=6` in all arms that have it" in page


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


def test_claims_with_a_dict_are_read_as_text(mine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(mine).write_text(HELPED)
    monkeypatch.setattr(catalog, "FOLDER", Path(mine).parent)
    (written,) = catalog._read(mine)
    assert written.listing.claims == ("near to one that knows is better",)


@pytest.mark.slow
def test_a_start_that_fails_is_what_is_told(mine: str, tmp_path: Path) -> None:
    broken = HELPED.replace("return base", "return base.but(env=refuses()) if pull == 0 else base") + REFUSES
    Path(mine).write_text(broken.replace("grpo lr=0.3 prompts=4 tries=8 steps=60", "guided pull=0"))
    with (
        pytest.warns(Notice, match="guided pull=0 steps=10 seed 0 failed"),
        pytest.raises(RunStopped, match=r"1 of 3 runs failed; guided pull=0 steps=10 seed 0: .*no table"),
    ):
        prove([mine], how(tmp_path, quick=True), quiet)
