"""The report: every number on it is computed again here, from `events.jsonl`, `run.json` and the rollout files.

The recomputation shares nothing with `guerdon.display.report`: it parses the event file itself, takes statistics of the
stored batches with numpy, and reads the page with `html.parser`. A digit that is neither such a number nor the run's own
words (a name, a prompt, a hash) fails the test.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import shutil
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest
import torch
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
from guerdon.runs.event_types import Ended, Evaluated, Started, StepDone, Warned
from guerdon.runs.events import EventLog
from guerdon.runs.folder import RunFolder
from guerdon.runs.rollout_files import read_batch, write_batch
from guerdon.runs.run import Run
from guerdon.runs.summary import batch_metrics
from guerdon.tasks.families.tiny import Tiny, successor

VOID = ("meta", "br")
OURS = {"95 %"}  # the one number that is about the method and not about the run
NUMBER = re.compile(r"[+\-]?\d[\d,]*(?:\.(\d+))?(?:e(-?\d+))?( %)?")


# --- the page, read -----------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """What a page says: numbers with their keys, the run's words, titles with their keys, the data block, and strays."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.stack: list[tuple[str, dict[str, str | None]]] = []
        self.numbers: list[tuple[str, str]] = []
        self.words: dict[int, str] = {}
        self.titles: list[tuple[list[str], str]] = []
        self.strays: list[str] = []
        self.addresses: list[str] = []
        self.tags: list[str] = []
        self.curves: dict[str, Any] = {}
        self.seen = 0
        self.feed(text)
        self.close()
        assert not self.stack, f"left open: {self.stack}"

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append(tag)
        self.addresses += [v or "" for k, v in attrs if k in ("src", "href", "action", "data", "poster", "srcset")]
        for name in ("title", "aria-label", "alt", "placeholder"):
            if re.search(r"\d", attributes.get(name) or ""):
                self.titles.append(((attributes.get("data-title-keys") or "").split(), attributes[name]))
        if tag not in VOID:
            self.seen += 1
            self.stack.append((tag, {**attributes, "number": str(self.seen)}))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.stack.pop()

    def handle_endtag(self, tag):
        assert self.stack.pop()[0] == tag

    def handle_data(self, data):
        tag, attributes = self.stack[-1] if self.stack else ("", {})
        if tag == "script" and attributes.get("type") == "application/json":
            self.curves = {unquote(name): curve for name, curve in json.loads(data).items()}
        elif tag in ("script", "style"):
            return
        elif any("data-text" in a for _, a in self.stack):
            number = next(int(a["number"]) for _, a in self.stack if "data-text" in a)
            self.words[number] = self.words.get(number, "") + data
        elif "data-key" in attributes:
            self.numbers.append((attributes["data-key"], data))
        elif re.search(r"\d", data):
            self.strays.append(data)

    @property
    def plain(self) -> str:
        return " ".join(self.words.values())


# --- the folder, read again ---------------------------------------------------------------------------------------


class Truth:
    """Any number of a report by its key, from the files of the run."""

    def __init__(self, path: Path) -> None:
        self.path, self.config = path, json.loads((path / "run.json").read_text())
        events = path / "events.jsonl"
        rows = [json.loads(line) for line in events.read_text().splitlines()] if events.exists() else []
        attempts: dict[int, int] = {}
        for row in rows:
            if row["type"] not in ("Started", "Warned", "Stopped", "Ended"):
                attempts[row["step"]] = max(attempts.get(row["step"], 0), row["attempt"])
        self.rows = [r for r in rows if r["attempt"] == attempts.get(r["step"], r["attempt"])]
        self.every_row = rows
        self.stored = {int(file.stem.removeprefix("step-")) for file in path.glob("rollouts/step-*.parquet")}
        self.done = {r["step"]: r for r in sorted(self.of("StepDone"), key=lambda r: r["step"])}
        self.evaluated = sorted(self.of("Evaluated"), key=lambda r: r["step"])

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [r for r in self.rows if r["type"] == kind]

    @cache  # noqa: B019 - lives as long as the test
    def batch(self, kind: str, step: int) -> Any:
        return read_batch(self.path / ("faults" if kind == "fault" else "rollouts") / f"step-{step:08d}.parquet")

    def value(self, key: str) -> float:
        kind, _, rest = unquote(key).partition("/")
        if kind in ("rollout", "fault"):
            return self.of_batch(kind, rest)
        return float(getattr(self, f"of_{kind}")(rest))

    def of_config(self, name: str) -> float:
        return self.config[name]

    def of_run(self, name: str) -> float:
        rows = [*self.done.values()]  # a study has no steps of its own: it costs what the runs in it do
        rows += [r for config in self.path.glob("inner/*/run.json") for r in Truth(config.parent).done.values()]
        seconds = math.fsum(r["seconds"] for r in rows)
        units = {"seconds": 1, "minutes": 60, "hours": 3600}
        if name in units:
            return seconds / units[name]
        return max(self.done, default=-1) + 1 if name == "steps_done" else sum(r[name] for r in rows)

    def of_eval(self, rest: str) -> float:
        i, _, name = rest.partition("/")
        row = self.evaluated[int(i)]
        return row["step"] + 1 if name == "steps_done" else row["result"][name]

    def of_missing(self, rest: str) -> float:
        column, _, name = rest.rpartition("/")
        rows = [r for r in self.of("ScoresMissing") if r["column"] == column]
        return len(rows) if name == "steps" else sum(r[name] for r in rows)

    def of_step(self, step: str) -> float:
        assert int(step) in self.done
        return int(step)

    def of_curve(self, rest: str) -> float:
        name, _, step = rest.rpartition("@")
        return self.metric(name, int(step))

    def metric(self, name: str, step: int) -> float:
        """Of a stored step's columns from the rollouts themselves, of all else from the events."""
        row = self.done[step]
        column, _, what = name.rpartition("/")
        column, _, role = column.partition("@")
        if (
            step in self.stored
            and what in ("mean", "std")
            and (column == "length" or column in self.batch("rollout", step).cols)
        ):
            values = track_values(self.batch("rollout", step), column, role)
            value = float(values.mean() if what == "mean" else values.std())
            assert value == pytest.approx(row["metrics"][name], rel=1e-9, abs=1e-12)
            return value
        if name == "tokens_per_second":
            return row["tokens"] / row["seconds"]
        return row["metrics"][name] if name in row["metrics"] else row[name]

    @cache  # noqa: B019 - likewise
    def curve(self, name: str) -> dict[int, tuple[float, float]]:
        """The finite values of a curve by step, with their spread (0 where there is none)."""
        points = {}
        for step, row in self.done.items():
            spread = f"{name}/mean" in row["metrics"]
            has = name in (*row["metrics"], *row, "tokens_per_second") or spread
            if has and math.isfinite(value := self.metric(f"{name}/mean" if spread else name, step)):
                points[step] = (value, self.metric(f"{name}/std", step) if spread else 0.0)
        return points

    def of_axis(self, rest: str) -> float:
        """A round number at an axis is in no file; that it is round is checked below."""
        return float(rest.rpartition("/")[2])

    def of_least(self, name: str) -> float:
        return min(v for v, _ in self.curve(name).values())

    def of_most(self, name: str) -> float:
        return max(v for v, _ in self.curve(name).values())

    def of_count(self, name: str) -> float:
        return len(self.curve(name))

    def of_inner(self, rest: str) -> float:
        folder, name = rest.split("/")
        inner = Truth(self.path / "inner" / folder)
        if name in ("before", "after"):
            return inner.evaluated[0 if name == "before" else -1]["result"]["pass@1"]
        return inner.of_run(name) if name == "steps_done" else inner.config[name]

    def of_result(self, path: str) -> float:
        value = json.loads((self.path / "result.json").read_text())
        for part in path.split("/"):
            value = value[int(part)] if isinstance(value, list) else value[part]
        return value

    def of_batch(self, kind: str, rest: str) -> float:
        """A number of a stored batch: of one step (row), of a segment by its first row, of a track, or of all."""
        step, what, *more = rest.split("/", 2)
        batch = self.batch(kind, int(step))
        shown = batch.cols["advantage"].value.double().numpy() if "advantage" in batch.cols else np.zeros(0)
        if what == "step":
            return int(step)
        if what == "largest":
            return float(np.nanmax(np.abs(shown)))
        if what in ("row", "whole", "rest"):
            name, _, row = more[0].partition("@")
            seg = int(batch.seg[int(row)])
            rows = np.flatnonzero(batch.seg.numpy() == seg)
            assert what == "row" or rows[0] == int(row)
            rows = {"row": rows[rows == int(row)], "whole": rows, "rest": rows[600:]}[what]
            numbers = {"advantage": shown, "logp": batch.logp.double().numpy()}.get(name)
            return float(np.nanmean(numbers[rows])) if numbers is not None else len(rows)
        rows = track_rows(batch, int(what))
        if more[0] == "length":
            return len(rows)
        column = batch.cols[more[0]]
        values = column.value.double().numpy()
        return float(values[int(what)] if column.level == "track" else np.nanmean(values[rows]))

    @property
    def strings(self) -> list[str]:
        """Everything in words that the folder says: names, prompts, completions, exceptions, and where it lies."""
        strings = [str(self.path), self.config["created"].replace("T", " ").rstrip("Z"), self.config["hash"]]
        versions = " · ".join(f"{k} {v}" for k, v in self.config["versions"].items())
        made_of = {k: v for k, v in self.config.items() if k in ("settings", "data", "options", "parts")}
        strings += [
            versions,
            json.dumps(made_of, indent=2, ensure_ascii=False),
            " · ".join(leaves(self.config["wish"])),
        ]
        strings += [str(self.config["recipe"]), *leaves(self.every_row), *leaves(self.config)]
        strings += [f"stopped: {r['why']}" for r in self.every_row if r["type"] == "Stopped"]
        strings += [name for r in self.done.values() for name in r["metrics"]]
        strings += [name for r in self.evaluated for name in r["result"]]
        files = [("rollout", file) for file in self.path.glob("rollouts/*.parquet")]
        files += [("fault", file) for file in self.path.glob("faults/*.parquet")]
        for kind, file in files:
            batch = self.batch(kind, int(file.stem.removeprefix("step-")))
            strings += [
                w for n in batch.cols for w in (n, f"highest {n}", f"middle {n}", f"lowest {n}", f"all alike in {n}")
            ]
            for c in batch.cols.values():
                strings += [w for d in c.detail.values() for w in (*leaves(d), json.dumps(d, ensure_ascii=False))]
            for e in batch.episodes:
                strings += [e.task.answer, *leaves(e.info), *leaves([[s.text, s.view] for s in e.segments])]
                strings += [json.dumps(s.view, ensure_ascii=False) for s in e.segments]
        result = self.path / "result.json"
        strings += paths(json.loads(result.read_text())) if result.exists() else []
        inner = [Truth(p.parent) for p in self.path.glob("inner/*/run.json")]
        return strings + [w for i in inner for w in (*i.strings, i.path.name)]


def leaves(value: Any) -> list[str]:
    """All strings in a JSON value, keys included."""
    if isinstance(value, dict):
        return [w for k, v in value.items() for w in (k, *leaves(v))]
    return [w for v in value for w in leaves(v)] if isinstance(value, list) else [str(value)]


def paths(value: Any, at: str = "") -> list[str]:
    """The places of a JSON value's leaves."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [p for k, v in inside for p in paths(v, f"{at}/{k}")] or [at.removeprefix("/")]


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


def agrees(text: str, value: float) -> bool:
    """Whether a shown number is the value, rounded as far as it is shown."""
    match = NUMBER.fullmatch(text.strip().replace("−", "-"))
    assert match, f"{text!r} is not one number"
    shown = float(match[0].replace(",", "").removesuffix(" %"))
    unit = 10.0 ** (int(match[2] or 0) - len(match[1] or ""))
    return abs(shown - (100 * value if match[3] else value)) <= unit / 2 * (1 + 1e-9) + 1e-12 * abs(shown)


def check(path: Path) -> Page:
    """Write the report and compute every number on it again."""
    page, truth = Page(write_report(path).read_text()), Truth(path)
    assert not page.strays, f"numbers without a key: {page.strays}"
    for key, text in page.numbers:
        assert agrees(text, truth.value(key)), f"{key}: the page says {text}, the folder {truth.value(key)}"
    for keys, text in page.titles:
        numbers = [m[0] for m in NUMBER.finditer(text.replace("−", "-"))]
        assert len(numbers) == len(keys), f"{text}: {keys}"
        for key, number in zip(keys, numbers, strict=True):
            assert agrees(number, truth.value(key)), f"{key}: the page says {number}, the folder {truth.value(key)}"
    check_axes([key for key, _ in page.numbers])
    pool = [" ".join(w.split()) for w in truth.strings]
    for words in page.words.values():
        plain = " ".join(words.replace("∎", "").split())
        if re.search(r"\d", plain) and plain not in OURS:
            assert any(plain in source for source in pool) or str(path) in plain, f"not the run's words: {plain!r}"
    for name, curve in page.curves.items():
        known = truth.curve(name)
        for i, step in enumerate(curve["step"]):
            value, std = known.get(step, (None, None))
            assert curve["value"][i] == (None if value is None else pytest.approx(value, rel=1e-12))
            assert "std" not in curve or curve["std"][i] == (
                None if std is None else pytest.approx(std, rel=1e-9, abs=1e-12)
            )
    return page


def check_axes(keys: list[str]) -> None:
    """Numbers at an axis of values are round ones at even distances, three or more of them unless all values are one."""
    axes: dict[str, set[float]] = {}
    for key in keys:
        kind, _, rest = unquote(key).partition("/")
        name, _, value = rest.rpartition("/")
        if kind == "axis" and name != "steps":
            axes.setdefault(name, set()).add(float(value))
    for name, values in axes.items():
        ticks = sorted(values)
        apart = {f"{b - a:.6e}" for a, b in itertools.pairwise(ticks)}
        assert len(ticks) >= 3 and len(apart) == 1, f"{name}: {ticks}"
        assert re.match(r"(1|2|5|2\.5)0*e", re.sub(r"\.?0+e", "e", apart.pop())), f"{name}: {ticks}"


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


def test_every_number_of_a_run_is_in_its_folder(whole_run):
    page = check(whole_run)
    keys = {unquote(key) for key, _ in page.numbers}
    for wanted in ("eval/0/pass@1", "eval/2/pass@1_low", "curve/correct/mean@3", "curve/policy/entropy@3"):
        assert wanted in keys
    policy = {f"policy/{name}" for name in ("entropy", "kl_reference", "grad_norm", "loss")}
    assert {"correct", "length", "cut", "tokens_per_second", *policy} == set(page.curves)
    assert keys >= {"curve/policy/lr@3", "axis/pass@1/0.25", "axis/steps/4.0", "eval/2/tasks"}
    for words in ("Share of failed episodes, zero in every step", "Learning rate, <data"):
        assert words in page.text
    assert len(page.titles) > 12  # steps to point at
    assert "complete" in page.plain and "--resume" not in page.plain


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
        page = check(run.path)
        keys = {unquote(key) for key, _ in page.numbers}
        assert {f"eval/{i}/wide/{n}" for i in (0, 2) for n in ("length", "coverage", "distinct_answers")} <= keys
        assert "eval/2/wide/coverage_low" in keys and "wide/coverage" in page.plain
        assert ("eval/2/majority@2" in keys) == ("eval/2/pass@1" in keys) == (name == "both")


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
    page = check(picky_run)
    assert "a score failed" in page.plain
    assert "ValueError: cannot read <b>" in page.plain or "TimeoutError: the judge slept" in page.plain
    assert ">failed</span>" in page.text or ">timed out</span>" in page.text
    assert "cannot read <b>" not in page.text and "None of them became a number" in page.text
    assert {unquote(k) for k, _ in page.numbers} >= {
        "missing/reward/failed",
        "missing/reward/timed_out",
        "missing/reward/of",
    }


def test_what_the_run_says_cannot_become_markup(tmp_path):
    page = check(small(tmp_path / "run", steps=1, task=nasty()))
    assert "<script>alert" not in page.text and "<img" not in page.text
    assert "</script><script>alert(1)</script><img src=x onerror=alert(2)>" in page.plain
    assert page.tags.count("script") == 2 and page.tags.count("img") == 0


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
    assert next(iter(Page(text).curves)).startswith("</script>")


def test_the_page_loads_nothing(whole_run):
    page = Page(write_report(whole_run).read_text())
    assert page.addresses == [] and "http:" not in page.text and "https:" not in page.text and "url(" not in page.text
    assert not set(page.tags) & {"link", "img", "iframe", "object", "embed", "video", "audio", "base", "form"}
    assert "default-src &#39;none&#39;" in page.text
    assert not list(whole_run.glob(".*.tmp"))


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
    page = check(tmp_path / "run")
    assert {"reward", "brevity", "length@first", "length@second"} <= set(page.curves)
    assert "reward@first" not in page.curves  # only one role has a reward: its curve is the common one
    assert {"first", "second", "and?", "highest brevity"} <= set(page.words.values())
    assert "not applicable" in page.text


def test_zero_steps(tmp_path):
    page = check(small(tmp_path / "run", steps=0))
    assert page.curves == {} and "No rollouts are stored" in page.text


def test_a_run_that_has_only_begun(tmp_path):
    run_folder, log = folder(tmp_path / "run", 5)
    log.emit(Started(0, steps=5))
    page = check(run_folder.path)
    assert "unfinished" in page.plain and "guerdon train --resume" in page.plain
    run_folder.events.unlink()
    assert "unfinished" in check(run_folder.path).plain


def test_no_stored_rollouts(tmp_path):
    page = check(small(tmp_path / "run", options=gd.Options(rollouts_every=0, eval_tasks=0)))
    assert "No rollouts are stored" in page.text and "Held-out" not in page.text
    assert "correct" in page.curves and not page.titles


def test_an_unfinished_run_and_the_same_run_resumed(tmp_path, picky_run):
    path = Path(shutil.copytree(picky_run, tmp_path / "run"))
    lines = (path / "events.jsonl").read_text().splitlines(keepends=True)
    cut = next(i for i, line in enumerate(lines) if '"StepDone", "step": 3' in line)
    (path / "events.jsonl").write_text("".join(lines[:cut]))
    shutil.rmtree(path / "checkpoints" / "step-00000004")
    page = check(path)
    assert "unfinished" in page.plain and "guerdon train --resume" in page.plain
    assert ("run/steps_done", "3") in page.numbers and ("config/steps", "4") in page.numbers
    gd.train(resume=path)
    page = check(path)
    assert ("run/steps_done", "4") in page.numbers and "--resume" not in page.plain
    assert max(r["attempt"] for r in Truth(path).done.values()) == 1


def test_the_batch_that_broke_a_run_is_shown(tmp_path):
    def broken(completion: str) -> float:
        raise OSError(f"no grader for {completion!r}")

    with pytest.raises(gd.RunStopped):
        small(tmp_path / "run", reward=broken, options=gd.Options())
    page = check(tmp_path / "run")
    assert "The batch that broke step" in page.text and "OSError: no grader" in page.plain
    assert "stopped: step 0" in page.plain


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
    page = check(tmp_path / "study")
    inner = sorted(p.name for p in (tmp_path / "study" / "inner").iterdir())
    assert sorted(page.addresses) == [f"inner/{name}/report.html" for name in inner] and len(inner) == 2
    assert all((tmp_path / "study" / a).is_file() for a in page.addresses)
    assert {"result/lengths/0", "result/lengths/1", "result/seeds/used"} <= {k for k, _ in page.numbers}
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
    page = check(run_folder.path)
    assert len(page.curves["x"]["step"]) < 1500
    assert -5.0 in page.curves["policy/loss"]["value"] and page.curves["x"]["step"][-1] == 2999
    numbers = {unquote(k): text for k, text in page.numbers}
    assert numbers["most/y"] == "50" and numbers["count/y"] == "2,993" and numbers["count/lone"] == "1"


def test_a_metric_without_a_number_is_a_gap(tmp_path):
    run_folder, log = folder(tmp_path / "run", 4)
    for step, loss in enumerate((1.0, math.nan, math.inf, 3.0)):
        log.emit(StepDone(step, metrics={"policy/loss": loss}, seconds=0.1))
    page = check(run_folder.path)
    assert page.curves["policy/loss"]["value"] == [1.0, None, None, 3.0]
    drawn = re.search(r'data-curve="policy/loss".*?class="line" d="([^"]*)"', page.text, re.DOTALL)
    assert drawn and drawn[1].count("M") == 2


def test_a_curve_lies_where_its_numbers_say(tmp_path):
    run_folder, log = folder(tmp_path / "run", 3)
    for step, value in enumerate((0.0, 1.0, 4.0)):
        log.emit(StepDone(step, metrics={"policy/loss": value}, seconds=0.1))
    drawn = re.search(r'data-curve="policy/loss".*?class="line" d="M([^"]*)"', check(run_folder.path).text, re.DOTALL)
    points = [tuple(map(float, p.split(","))) for p in drawn[1].split("L")]
    (x0, y0), (x1, y1), (x2, y2) = points
    assert x1 - x0 == pytest.approx(x2 - x1) and y0 - y1 == pytest.approx((y0 - y2) / 4, abs=0.02) and y2 < y0


def test_a_band_of_shares_ends_at_none_and_all(tmp_path):
    run_folder, log = folder(tmp_path / "run", 3)
    for step, share in enumerate((0.0, 0.5, 0.9)):
        ones = {"solved/mean": share, "solved/std": math.sqrt(share * (1 - share))}
        log.emit(StepDone(step, metrics={**ones, "worth/mean": share, "worth/std": 1.0}, seconds=0.1))
    text = check(run_folder.path).text
    lows = {
        name: re.search(rf'data-curve="{name}" data-low="([^"]*)" data-high="([^"]*)"', text)
        for name in ("solved", "worth")
    }
    assert lows["solved"].groups() == ("0.0", "1.0") and lows["worth"].groups() == ("-1.0", "2.0")


def test_curves_in_which_nothing_is_to_be_seen_are_told_in_words(tmp_path):
    run_folder, log = folder(tmp_path / "run", 3)
    for step in range(3):
        noise = {"policy/loss": (-1) ** step * 3e-9, "policy/kl": 0.0, "policy/entropy": 0.5 + step * 1e-9}
        log.emit(
            StepDone(step, metrics={**noise, "policy/lr": 2e-8 * (step + 1), "policy/grad_norm": step}, seconds=0.1)
        )
    page = check(run_folder.path)
    assert set(page.curves) == {"policy/lr", "policy/grad_norm"}  # a learning rate may be small
    words = " ".join(re.sub(r"<[^>]*>", "", page.text).split())
    assert "Not drawn: KL, zero in every step; Entropy, 0.500 in every step; Loss, zero but for rounding" in words


def test_the_first_chart_has_the_steps_and_the_held_out_evaluations(whole_run, tmp_path):
    page = Page(write_report(whole_run).read_text())
    assert page.text.index("Accuracy") < page.text.index("Held-out accuracy") < page.text.index(">Policy<")
    assert page.text.count('<g class="held">') == 3 and page.text.count('data-curve="correct"') == 1
    run_folder, log = folder(tmp_path / "run", 2)
    for step in range(2):
        log.emit(StepDone(step, metrics={"reward/mean": 0.25 * (step + 1)}, seconds=0.1))
    page = check(run_folder.path)
    assert 'class="held"' not in page.text and "on the problems trained on; no held-out exam" in page.text
    assert ("curve/reward/mean@0", "0.250") in page.numbers and ("curve/reward/mean@1", "0.500") in page.numbers


def test_points_lie_where_their_numbers_say(tmp_path):
    """Over steps done: an evaluation after two steps stands where the third step's own tries do."""
    run_folder, log = folder(tmp_path / "run", 4)
    for step in range(4):
        log.emit(StepDone(step, metrics={"correct/mean": step / 4}, seconds=0.1))
        if step % 2:
            log.emit(
                Evaluated(step, result={"task": "t", "pass@1": (step + 1) / 4, "pass@1_low": 0.0, "pass@1_high": 1.0})
            )
    text = check(run_folder.path).text
    dots = [
        tuple(map(float, xy)) for xy in re.findall(r'class="dot" cx="([^"]*)" cy="([^"]*)"', text.split("</figure>")[0])
    ]
    line = re.search(r'class="line" d="M([^"]*)"', text)
    points = [tuple(map(float, p.split(","))) for p in line[1].split("L")]
    assert dots[0] == points[2] and dots[1] == (712.0, 8.0) and points[0] == (48.0, 172.0)


def advantage(values: list[float]) -> Column:
    tensor = torch.tensor(values)
    return Column("step", tensor, torch.where(tensor.isnan(), int(Reason.NOT_APPLICABLE), 0).to(torch.int8))


def test_characters_are_coloured_when_an_action_is_a_character(tmp_path):
    run_folder, log = folder(tmp_path / "run", 1)
    log.emit(Started(0, steps=1))
    batch = batch_of(["ab", "b"], [[1, 2, 0], [2, 0]], advantage=advantage([2.0, -1.0, math.nan, 0.0, 0.5]))
    write_batch(run_folder.rollouts(0), batch)
    text = check(run_folder.path).text
    assert 'class="t pos" style="--a:0.70" title="advantage +2, log-prob −0.500"' in text
    assert re.search(r'class="t neg"[^>]*>b<', text) and re.search(r'class="t none"[^>]*><span class="end-mark">', text)
    assert 'class="t nil" title="advantage 0, log-prob −0.500"' in text and 'class="strip"' not in text


def test_a_token_of_several_characters_is_never_taken_for_one(tmp_path):
    """Two-character tokens with an end token have as many actions as characters; their meanings give them away."""
    run_folder, log = folder(tmp_path / "run", 1)
    log.emit(Started(0, steps=1))
    batch = batch_of(["42", "17"], [[5, 0], [6, 0]], advantage=advantage([1.0, 1.0, -1.0, -1.0]))
    write_batch(run_folder.rollouts(0), batch)
    text = check(run_folder.path).text
    assert text.count('class="strip"') == 2 and re.search(r'class="t pos"[^>]*>42<', text)


def test_a_long_completion_keeps_all_its_text(tmp_path):
    run_folder, log = folder(tmp_path / "run", 1)
    log.emit(Started(0, steps=1))
    letters, words = "abc" * 300, "word " * 700
    long = batch_of([letters], [[1, 2, 3] * 300], advantage=advantage([0.1 * (i % 7) for i in range(900)]))
    write_batch(run_folder.rollouts(0), long)
    assert letters in check(run_folder.path).words.values()
    long = batch_of([words], [list(range(700))], advantage=advantage([0.1 * (i % 7) - 0.2 for i in range(700)]))
    write_batch(run_folder.rollouts(0), long)
    page = check(run_folder.path)
    assert words in page.words.values() and ("rollout/0/rest/steps@0", "100") in [
        (unquote(k), s) for k, s in page.numbers
    ]


def test_a_batch_without_columns_or_actions(tmp_path):
    run_folder, log = folder(tmp_path / "run", 1)
    batch = batch_of(["", "x"], [[], [1]])
    write_batch(run_folder.rollouts(0), batch)
    log.emit(StepDone(0, metrics=batch_metrics(batch), seconds=0.0))
    page = check(run_folder.path)
    assert "This batch has no advantages" in page.text and "one track" in page.plain
