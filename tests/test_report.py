"""The report: what it shows is computed again here, from `events.jsonl`, `run.json` and the rollout files.

The recomputation shares nothing with `guerdon.display`: it parses the event file itself and takes statistics of the stored
batches with numpy. How the page draws it is tested in a browser (`tests/studio/test_browser_report.py`).
"""

from __future__ import annotations

import json
import math
import re
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from report_pages import Addresses, report_data_of
from run_configs import config

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.credit.group_relative import centre
from guerdon.curricula.plain import uniform
from guerdon.display.report import write_report
from guerdon.envs.simple import single_turn
from guerdon.exams.rates import accuracy, answer_length, coverage, majority_vote
from guerdon.losses.policy import clipped
from guerdon.models.tables import tabular
from guerdon.rewards.stage.score_stages import score, verified
from guerdon.runs.event_types import Ended, Started, StepDone, Warned
from guerdon.runs.events import EventLog
from guerdon.runs.folder import RunFolder
from guerdon.runs.rollout_files import read_batch, write_batch
from guerdon.runs.run import Run
from guerdon.runs.summary import batch_metrics
from guerdon.tasks.families.tiny import Tiny, successor

# --- the folder, read again ---------------------------------------------------------------------------------------


class Truth:
    """A run's numbers, from its files."""

    def __init__(self, path: Path) -> None:
        self.path, self.config = path, json.loads((path / "run.json").read_text())
        events = path / "events.jsonl"
        rows = [json.loads(line) for line in events.read_text().splitlines()] if events.exists() else []
        attempts: dict[int, int] = {}
        for row in rows:
            if row["type"] not in ("Started", "Warned", "Stopped", "Ended"):
                attempts[row["step"]] = max(attempts.get(row["step"], 0), row["attempt"])
        self.rows = [r for r in rows if r["attempt"] == attempts.get(r["step"], r["attempt"])]
        self.done = {r["step"]: r for r in sorted(self.of("StepDone"), key=lambda r: r["step"])}
        self.evaluated = sorted(self.of("Evaluated"), key=lambda r: r["step"])

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [r for r in self.rows if r["type"] == kind]

    @cache  # noqa: B019 - lives as long as the test
    def batch(self, step: int) -> Any:
        kept = self.path / "rollouts" / f"step-{step:08d}.parquet"
        return read_batch(kept if kept.exists() else self.path / "faults" / kept.name)

    def metric(self, name: str, step: int) -> float:
        """Of a stored step's track columns from the rollouts themselves, of all else from the events."""
        row = self.done[step]
        column, _, what = name.rpartition("/")
        column, _, role = column.partition("@")
        stored = (self.path / "rollouts" / f"step-{step:08d}.parquet").exists()
        if stored and what in ("mean", "std") and (column == "length" or column in self.batch(step).cols):
            values = track_values(self.batch(step), column, role)
            return float(values.mean() if what == "mean" else values.std())
        if name == "tokens_per_second":
            return row["tokens"] / row["seconds"]
        return row["metrics"][name] if name in row["metrics"] else row.get(name, math.nan)

    def total(self, unit: str) -> float:
        inner = [Truth(config.parent).total(unit) for config in self.path.glob("inner/*/run.json")]
        return math.fsum([*(r[unit] for r in self.done.values()), *inner])


def track_rows(batch: Any, k: int) -> np.ndarray:
    mine = batch.path_seg[batch.path_track == k].numpy()
    return np.flatnonzero(np.isin(batch.seg.numpy(), mine))


def track_values(batch: Any, column: str, role: str = "") -> np.ndarray:
    """The values of a track column (or the lengths of tracks) that are there, of all roles or of one."""
    if column == "length":
        values = np.array([len(track_rows(batch, k)) for k in range(batch.K)], float)
    else:
        values = batch.cols[column].value.double().numpy()
    roles = np.array([batch.roles[int(batch.role[g])] for g in batch.leaf])
    values = values[roles == role] if role else values
    return values[~np.isnan(values)]


def check(path: Path) -> dict[str, Any]:
    """Write the report and compute every number of its curves, exams, costs and rollouts again."""
    data, truth = report_data_of(write_report(path).read_text()), Truth(path)
    for curve in data["curves"]["curves"].values():
        check_curve(curve, truth)
    exams = data["one"]["exams"]
    assert (exams is None) == (not truth.evaluated)
    for n, row in enumerate(truth.evaluated):
        assert exams["steps_done"][n] == row["step"] + 1
        for measure in exams["measures"]:
            name = measure["name"]
            assert measure["points"][n] == [row["result"].get(key) for key in (name, f"{name}_low", f"{name}_high")]
    spent = data["one"]["facts"]["spent"]
    for unit in ("tokens", "read", "updates", "seconds"):
        assert spent[unit] == pytest.approx(truth.total(unit))
    spread = np.cumsum([row["tokens"] for row in truth.done.values()]).tolist()
    assert data["places"]["tokens"] == [dict(zip(truth.done, spread, strict=True))[s] for s in data["places"]["step"]]
    for key, rollout in data["samples"]["rollouts"].items():
        check_rollout(rollout, truth.batch(int(key.partition("/")[0])))
    return data


def check_curve(curve: dict[str, Any], truth: Truth) -> None:
    spread = curve["metric"].removesuffix("/mean") + "/std" if "low" in curve else None
    for i, step in enumerate(curve["step"]):
        value = truth.metric(curve["metric"], step)
        assert curve["value"][i] == (pytest.approx(value, rel=1e-9, abs=1e-12) if math.isfinite(value) else None)
        if spread is not None and curve["value"][i] is not None:
            std = truth.metric(spread, step)
            assert curve["low"][i] >= value - std - 1e-9 and curve["high"][i] <= value + std + 1e-9


def check_rollout(rollout: dict[str, Any], batch: Any) -> None:
    """The numbers of a rollout's tokens and tracks against those of its batch."""
    for track in rollout["tracks"]:
        k = next(
            k
            for k in range(batch.K)
            if batch.episodes[int(batch.episode[batch.leaf[k]])].key == rollout["episode"]
            and int(batch.place[batch.leaf[k]]) == track["segment"]
        )
        rows = track_rows(batch, k)
        for column in track["columns"]:
            stored = batch.cols[column["name"]]
            values = stored.value.double().numpy()
            there = values[rows][~np.isnan(values[rows])] if stored.level != "track" else values[k : k + 1]
            value = there.mean() if len(there) else math.nan
            assert column["number"] == (pytest.approx(value) if math.isfinite(value) else None), column
        segments = [rollout["segments"][place] for place in track["path"]]
        for name, stored in (("logp", batch.logp), ("advantage", getattr(batch.cols.get("advantage"), "value", None))):
            shown = [v for segment in segments for v in segment["tokens"]["numbers"].get(name, [])]
            if stored is not None and shown:
                shown = [math.nan if v is None else v for v in shown]
                assert shown == pytest.approx(stored.double().numpy()[rows].tolist(), rel=1e-6, nan_ok=True)


# --- runs ---------------------------------------------------------------------------------------------------------

SMALL = gd.Options(save_every=2, eval_tasks=8, eval_tries=2, failed_limit=1.0)
ASKED = {"task": "successor", "model": "tabular", "lr": 0.3, "prompts": 4, "tries": 4, "max_tokens": 6}


def small(out: Path, *, steps: int = 4, **more: Any) -> Path:
    gd.train("grpo", **{**ASKED, "options": SMALL, "steps": steps, "out": out, **more})
    return out


def picky(completion: str) -> float | None:
    """Breaks on some answers, does not apply to others."""
    if completion[:1] in "45":
        raise ValueError(f"cannot read <b>{completion}</b>")
    if completion[:1] in "67":
        raise TimeoutError("the judge slept")
    return None if completion[:1] in "89" else len(completion) / 7


@gd.part
class table_talk:
    """Two seats: the second answers what the first said, then the first speaks again."""

    @property
    def roles(self) -> tuple[str, ...]:
        return ("first", "second")

    async def play(self, ask, seats):
        opening = await seats["first"].act(ask.shown)
        await seats["second"].act({"said": opening.text, "to": ask.shown})
        await seats["first"].act("and?")
        return seats.episode()


@gd.part
class nasty(Tiny):
    """Prompts that would run if they could."""

    level: int = 1

    def make(self, draw):
        return "</script><script>alert(1)</script><img src=x onerror=alert(2)>", "7"


def folder(path: Path, steps: int = 0) -> tuple[RunFolder, EventLog]:
    """An empty run folder, to be filled by hand."""
    run_folder = RunFolder(path)
    run_folder.create(config(steps=steps))
    return run_folder, EventLog(run_folder.events, 0)


def batch_of(texts: list[str], actions: list[list[int]], **cols: Column) -> Any:
    episodes = []
    for i, (text, taken) in enumerate(zip(texts, actions, strict=True)):
        segment = gd.Segment("policy", "say it", np.zeros(0), np.array(taken), np.full(len(taken), -0.5), text)
        episodes.append(gd.Episode(gd.Ask(gd.Task(str(i), "say it")), (segment,), 0, i))
    return gd.pack(episodes).with_cols(cols)


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory) -> Path:
    """A run that ended well, with an evaluation on the way."""
    options = gd.Options(eval_every=2, eval_tasks=8, eval_tries=4)
    return small(tmp_path_factory.mktemp("whole") / "run", kl=0.01, prompts=16, tries=8, options=options)


@pytest.fixture(scope="module")
def picky_run(tmp_path_factory) -> Path:
    """A run whose reward breaks on some answers."""
    return small(tmp_path_factory.mktemp("picky") / "run", reward=f"{__file__}:picky")


# --- tests --------------------------------------------------------------------------------------------------------


def names_of(data: dict[str, Any]) -> set[str]:
    return set(data["curves"]["curves"])


def labels_of(data: dict[str, Any]) -> list[str]:
    return [sample["label"] for section in data["samples"]["sections"] for sample in section["samples"]]


def test_every_number_of_a_run_is_in_its_folder(whole_run):
    data = check(whole_run)
    one = data["one"]
    assert one["exams"]["steps_done"] == [0, 2, 4] and "pass@1" in {each["name"] for each in one["exams"]["measures"]}
    policy = {f"policy/{name}" for name in ("entropy", "kl_reference", "grad_norm", "loss", "lr")}
    assert names_of(data) >= {"correct", "length", "cut", "tokens_per_second", *policy}
    assert {name for name, curve in data["curves"]["curves"].items() if curve["flat"] == "constant"} >= {"policy/lr"}
    assert (one["run"]["status"], one["run"]["progress"]["done"], one["run"]["progress"]["of"]) == ("complete", 4, 4)
    assert one["facts"]["weights"] == Run(whole_run).weights
    assert not [each for each in one["commands"] if each["what"] == "resume it"]
    assert data["curves"]["first"] == "correct" and len(data["samples"]["rollouts"]) >= 4


@pytest.mark.slow
def test_numbers_of_all_exams_are_shown(tmp_path):
    task, table = successor(), tabular(length=1)
    exams = [
        gd.Exam(task, [accuracy(), majority_vote()]),
        gd.Exam(task, [answer_length(), coverage()], name="wide", tries=8),
    ]
    stages = [verified(task), centre("correct"), gd.Learn("policy", clipped())]
    for name, chosen in (("both", exams), ("named", exams[1:])):
        recipe = gd.Recipe({"policy": table}, uniform(task), single_turn(), stages, exams=chosen, prompts=2, steps=2)
        run = gd.train(recipe, out=tmp_path / name, options=gd.Options(eval_every=1, eval_tasks=4, eval_tries=2))
        shown = {each["name"]: each["points"] for each in check(run.path)["one"]["exams"]["measures"]}
        assert {f"wide/{n}" for n in ("length", "coverage", "distinct_answers")} <= shown.keys()
        assert all(len(points) == 3 for points in shown.values()) and shown["wide/coverage"][2][1] is not None
        assert ("majority@2" in shown) == ("pass@1" in shown) == (name == "both")


def test_metrics_of_track_columns_are_those_of_the_rollouts(picky_run):
    run = Run(picky_run)
    names = {"correct", "reward", "length"}
    for event in run.events(StepDone):
        batch = run.batch(event.step)
        assert names == {n for n, c in batch.cols.items() if c.level == "track"} | {"length"}
        for name in names:
            values = track_values(batch, name)
            assert event.metrics[f"{name}/mean"] == pytest.approx(values.mean(), rel=1e-9, abs=1e-12)
            assert event.metrics[f"{name}/std"] == pytest.approx(values.std(), rel=1e-9, abs=1e-12)
            reasons = [] if name == "length" else batch.cols[name].reason.tolist()
            due = [r for r in reasons if r != gd.Reason.NOT_APPLICABLE]
            failed = sum(r != gd.Reason.VALUE for r in due) / max(1, len(due))
            assert event.metrics.get(f"{name}/failed", 0.0) == pytest.approx(failed, abs=1e-12)


def test_a_failed_score_is_shown_with_its_exception_and_never_as_a_number(picky_run):
    data = check(picky_run)
    assert "a score failed" in labels_of(data)
    rows = Truth(picky_run).of("ScoresMissing")
    (alarm,) = [each for each in data["one"]["alarms"] if each["title"] == "reward: scores are missing"]
    assert alarm["count"] == sum(row["failed"] + row["timed_out"] for row in rows)
    assert "ValueError: cannot read <b>" in alarm["message"] or "TimeoutError: the judge slept" in alarm["message"]
    columns = [c for r in data["samples"]["rollouts"].values() for track in r["tracks"] for c in track["columns"]]
    broken = [c for c in columns if c.get("reason") in ("failed", "timed out")]
    assert broken and all(c["number"] is None for c in broken)
    assert "cannot read <b>" not in write_report(picky_run).read_text()


def test_what_the_run_says_cannot_become_markup(tmp_path):
    path = small(tmp_path / "run", steps=1, task=nasty())
    page, data = (path / "report.html").read_text(), check(path)
    assert "<script>alert" not in page and "<img" not in page
    prompts = {rollout["task"]["prompt"] for rollout in data["samples"]["rollouts"].values()}
    assert prompts == {"</script><script>alert(1)</script><img src=x onerror=alert(2)>"}


def test_names_and_messages_cannot_become_markup(tmp_path):
    run_folder, log = folder(tmp_path / "run", 2)
    bad = "</script><script>x</script>\x00\ud800"
    for step in range(2):
        log.emit(
            StepDone(step, metrics={f"{bad}/mean": float(step), f"{bad}/std": 0.5, f"a/kl_{bad}": 2.0}, seconds=1.0)
        )
    log.emit(Warned(1, message=bad))
    text = write_report(run_folder.path).read_text()
    assert "<script>x" not in text and text.count("</script>") == 2 and "\x00" not in text
    data = report_data_of(text)
    assert bad in data["curves"]["curves"] and bad in {alarm["message"] for alarm in data["one"]["alarms"]}


def test_the_page_loads_nothing(whole_run):
    text = write_report(whole_run).read_text()
    page = Addresses(text)
    assert page.addresses == [] and page.tags.count("script") == 2
    assert not set(page.tags) & {"link", "img", "iframe", "object", "embed", "video", "audio", "base", "form"}
    assert re.search(r"default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'\"", text)
    assert not list(whole_run.glob(".*.tmp"))


def test_who_runs_no_scripts_reads_the_essentials(whole_run, picky_run):
    words = re.search("<noscript>(.*)</noscript>", write_report(whole_run).read_text(), re.DOTALL)[1]
    ends = [row["result"]["pass@1"] for row in (Truth(whole_run).evaluated[0], Truth(whole_run).evaluated[-1])]
    assert f"pass@1: {ends[0]:.1%} → {ends[1]:.1%}".replace("%", " %") in words
    assert "complete" in words and f"weights {Run(whole_run).weights}" in words and "4 steps; " in words
    assert "reward: scores are missing" in write_report(picky_run).read_text()


@pytest.mark.slow
def test_several_roles(tmp_path):
    recipe = gd.Recipe(
        models={"policy": tabular()},
        curriculum=uniform(successor(), tries=4),
        env=table_talk(),
        stages=[
            score(picky, role="first"),
            score(lambda completion: float(len(completion)), gives_to="brevity", role="second"),
            centre("reward"),
            gd.Learn("policy", clipped()),
        ],
        seats={"first": "policy", "second": "policy"},
        sampling=gd.Sampling(max_tokens=5),
        prompts=3,
        steps=2,
    )
    gd.train(recipe, out=tmp_path / "run", options=SMALL)
    data = check(tmp_path / "run")
    drawn = {name for section in data["curves"]["sections"] if section["tone"] == "reward" for name in section["names"]}
    assert {"reward", "brevity"} <= drawn and "reward@first" not in drawn  # one role has a reward: the common curve
    assert {"length@first", "length@second"} <= names_of(data) and "highest brevity" in labels_of(data)
    rollout = next(iter(data["samples"]["rollouts"].values()))
    assert [segment["role"] for segment in rollout["segments"]] == ["first", "second", "first"]
    assert "and?" in {segment["view"].get("text") for segment in rollout["segments"]}
    assert "not applicable" in {c.get("reason") for track in rollout["tracks"] for c in track["columns"]}


def test_zero_steps(tmp_path):
    data = check(small(tmp_path / "run", steps=0))
    assert data["curves"]["curves"] == {} and data["samples"]["sections"] == []


def test_a_run_that_has_only_begun(tmp_path):
    run_folder, log = folder(tmp_path / "run", 5)
    log.emit(Started(0, steps=5))
    one = check(run_folder.path)["one"]
    assert one["run"]["status"] == "unfinished" and "guerdon train --resume" in one["commands"][0]["line"]
    run_folder.events.unlink()
    assert check(run_folder.path)["one"]["run"]["status"] == "unfinished"


def test_no_stored_rollouts(tmp_path):
    data = check(small(tmp_path / "run", options=gd.Options(rollouts_every=0, eval_tasks=0)))
    assert data["samples"] == {"sections": [], "rollouts": {}, "groups": {}} and data["one"]["exams"] is None
    assert "correct" in names_of(data)


def test_an_unfinished_run_and_the_same_run_resumed(tmp_path, picky_run):
    path = Path(shutil.copytree(picky_run, tmp_path / "run"))
    lines = (path / "events.jsonl").read_text().splitlines(keepends=True)
    cut = next(i for i, line in enumerate(lines) if '"StepDone", "step": 3' in line)
    (path / "events.jsonl").write_text("".join(lines[:cut]))
    shutil.rmtree(path / "checkpoints" / "step-00000004")
    row = check(path)["one"]["run"]
    assert (row["status"], row["progress"]["done"], row["progress"]["of"]) == ("unfinished", 3, 4)
    gd.train(resume=path)
    row = check(path)["one"]["run"]
    assert (row["status"], row["progress"]["done"]) == ("complete", 4)
    assert max(r["attempt"] for r in Truth(path).done.values()) == 1


def test_the_batch_that_broke_a_run_is_shown(tmp_path):
    def broken(completion: str) -> float:
        raise OSError(f"no grader for {completion!r}")

    with pytest.raises(gd.RunStopped):
        small(tmp_path / "run", reward=broken, options=gd.Options())
    data = check(tmp_path / "run")
    assert "Step 0, which broke" in {section["title"] for section in data["samples"]["sections"]}
    errors = [c["error"]["line"] for r in data["samples"]["rollouts"].values() for t in r["tracks"] for c in t["columns"]
              if "error" in c]  # fmt: skip
    assert errors and all(line.startswith("OSError: no grader") for line in errors)
    assert data["one"]["run"]["status"] == "stopped" and data["one"]["run"]["why"].startswith("step 0")


def test_a_study_lists_its_runs(tmp_path):
    def body(run, seed):
        recipe = gd.Recipe(
            models={"policy": tabular()},
            curriculum=uniform(successor(), tries=2),
            env=table_talk(),
            stages=[verified(successor(), role="first"), centre("correct"), gd.Learn("policy", clipped())],
            seats={"first": "policy", "second": "policy"},
            sampling=gd.Sampling(max_tokens=3),
            prompts=2,
        )
        lengths = [float(run.train(recipe, steps=n).metrics["length/mean"][0].as_py()) for n in (1, 2)]
        return {"lengths": lengths, "verdict": "no difference", "seeds": {"used": seed}}

    gd.train(gd.Study(body), out=tmp_path / "study", options=SMALL)
    one = check(tmp_path / "study")["one"]
    inner = sorted(p.name for p in (tmp_path / "study" / "inner").iterdir())
    assert [each["address"] for each in one["inner"]] == [f"inner/{name}/report.html" for name in inner]
    assert len(inner) == 2 and all((tmp_path / "study" / each["address"]).is_file() for each in one["inner"])
    assert sorted(each["progress"]["of"] for each in one["inner"]) == [1, 2]
    result = {each["name"]: each["value"] for each in one["result"]}
    assert result.keys() == {"lengths/0", "lengths/1", "verdict", "seeds/used"}
    assert (result["verdict"], result["seeds/used"]) == ("no difference", "0")
    for name in inner:
        check(tmp_path / "study" / "inner" / name)


@pytest.mark.slow
def test_a_long_run_is_thinned_without_losing_a_peak(tmp_path):
    run_folder, log = folder(tmp_path / "run", 3000)
    rng = np.random.default_rng(0)
    for step in range(3000):
        x = {"x/mean": float(rng.normal()), "x/std": float(rng.random())}
        lone = {"lone": 1.0} if step == 1234 else {"y": math.nan if step % 500 == 7 else 50.0 if step == 777 else 1.0}
        log.emit(StepDone(step, metrics={**x, **lone, "policy/loss": -5.0 if step == 1501 else 0.1}, seconds=0.1))
    log.emit(Ended(2999, weights="ff"))
    curves = check(run_folder.path)["curves"]["curves"]
    assert len(curves["x"]["step"]) < 600 and curves["x"]["step"][-1] == 2999
    assert -5.0 in curves["policy/loss"]["value"] and 50.0 in curves["y"]["value"]
    assert (curves["y"]["count"], curves["lone"]["count"]) == (2993, 1)


def test_a_metric_without_a_number_is_a_gap(tmp_path):
    run_folder, log = folder(tmp_path / "run", 4)
    for step, loss in enumerate((1.0, math.nan, math.inf, 3.0)):
        log.emit(StepDone(step, metrics={"policy/loss": loss}, seconds=0.1))
    assert check(run_folder.path)["curves"]["curves"]["policy/loss"]["value"] == [1.0, None, None, 3.0]


def test_a_band_of_shares_ends_at_none_and_all(tmp_path):
    run_folder, log = folder(tmp_path / "run", 3)
    for step, share in enumerate((0.0, 0.5, 0.9)):
        ones = {"solved/mean": share, "solved/std": math.sqrt(share * (1 - share))}
        log.emit(StepDone(step, metrics={**ones, "worth/mean": share, "worth/std": 1.0}, seconds=0.1))
    curves = check(run_folder.path)["curves"]["curves"]
    assert (curves["solved"]["low"], curves["solved"]["high"]) == ([0.0, 0.0, pytest.approx(0.6)], [0.0, 1.0, 1.0])
    assert (min(curves["worth"]["low"]), max(curves["worth"]["high"])) == (-1.0, 1.9)


def test_curves_in_which_nothing_is_to_be_seen_are_known(tmp_path):
    run_folder, log = folder(tmp_path / "run", 3)
    for step in range(3):
        noise = {"policy/loss": (-1) ** step * 3e-9, "policy/kl": 0.0, "policy/entropy": 0.5 + step * 1e-9}
        log.emit(
            StepDone(step, metrics={**noise, "policy/lr": 2e-8 * (step + 1), "policy/grad_norm": step}, seconds=0.1)
        )
    flat = {name: curve["flat"] for name, curve in check(run_folder.path)["curves"]["curves"].items()}
    wanted = {"policy/loss": "rounding", "policy/kl": "zero", "policy/entropy": "constant"}
    assert {name: flat[name] for name in wanted} == wanted
    assert flat["policy/lr"] == flat["policy/grad_norm"] == ""  # a learning rate may be small


def test_what_the_run_is_about_comes_first(tmp_path):
    run_folder, log = folder(tmp_path / "run", 2)
    for step in range(2):
        log.emit(StepDone(step, metrics={"reward/mean": 0.25 * (step + 1)}, seconds=0.1))
    headline = check(run_folder.path)["one"]["run"]["headline"]
    assert (headline["before"]["value"], headline["after"]["value"], headline["source"]) == (0.25, 0.5, "step")
    assert "on the problems trained on" in headline["about"]


def advantage(values: list[float]) -> Column:
    tensor = torch.tensor(values)
    return Column("step", tensor, torch.where(tensor.isnan(), int(Reason.NOT_APPLICABLE), 0).to(torch.int8))


def only_rollout(path: Path) -> dict[str, Any]:
    (rollout,) = check(path)["samples"]["rollouts"].values()
    return rollout


def test_characters_are_coloured_when_an_action_is_a_character(tmp_path):
    run_folder, log = folder(tmp_path / "run", 1)
    log.emit(Started(0, steps=1))
    batch = batch_of(["ab", "b"], [[1, 2, 0], [2, 0]], advantage=advantage([2.0, -1.0, math.nan, 0.0, 0.5]))
    write_batch(run_folder.rollouts(0), batch)
    rollouts = check(run_folder.path)["samples"]["rollouts"]
    tokens = rollouts["0/0.0.0"]["segments"][0]["tokens"]
    assert tokens["pieces"] == ["a", "b", ""] and tokens["silent"] == {"2": "end"}
    assert tokens["numbers"]["advantage"] == [2.0, -1.0, None] and tokens["numbers"]["logp"] == [-0.5] * 3
    (colour,) = [each for each in rollouts["0/0.0.0"]["colours"] if each["name"] == "advantage"]
    assert (colour["low"], colour["high"]) == (-1.0, 2.0)  # of the whole batch


def test_a_token_of_several_characters_is_never_taken_for_one(tmp_path):
    """Two-character tokens with an end token have as many actions as characters; their meanings give them away."""
    run_folder, log = folder(tmp_path / "run", 1)
    log.emit(Started(0, steps=1))
    batch = batch_of(["42", "17"], [[5, 0], [6, 0]], advantage=advantage([1.0, 1.0, -1.0, -1.0]))
    write_batch(run_folder.rollouts(0), batch)
    segments = [r["segments"][0] for r in check(run_folder.path)["samples"]["rollouts"].values()]
    assert [segment["tokens"]["pieces"] for segment in segments] == [None, None]
    assert {segment["text"] for segment in segments} == {"42", "17"}


def test_a_long_completion_keeps_its_text(tmp_path):
    run_folder, log = folder(tmp_path / "run", 1)
    log.emit(Started(0, steps=1))
    letters, words = "abc" * 300, "word " * 700
    long = batch_of([letters], [[1, 2, 3] * 300], advantage=advantage([0.1 * (i % 7) for i in range(900)]))
    write_batch(run_folder.rollouts(0), long)
    (segment,) = only_rollout(run_folder.path)["segments"]
    assert segment["text"] == letters and "".join(segment["tokens"]["pieces"]) == letters
    long = batch_of([words], [list(range(700))], advantage=advantage([0.1 * (i % 7) - 0.2 for i in range(700)]))
    write_batch(run_folder.rollouts(0), long)
    (segment,) = only_rollout(run_folder.path)["segments"]
    assert segment["text"] == words and len(segment["tokens"]["numbers"]["advantage"]) == 700


def test_a_batch_without_columns_or_actions(tmp_path):
    run_folder, log = folder(tmp_path / "run", 1)
    batch = batch_of(["", "x"], [[], [1]])
    write_batch(run_folder.rollouts(0), batch)
    log.emit(StepDone(0, metrics=batch_metrics(batch), seconds=0.0))
    data = check(run_folder.path)
    assert labels_of(data) == ["one track"]
    (rollout,) = data["samples"]["rollouts"].values()
    assert "advantage" not in {each["name"] for each in rollout["colours"]} and rollout["tracks"][0]["columns"] == []
