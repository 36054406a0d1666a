"""The report's templates: shipped with the package, escaped throughout, and the same page whatever a run says."""

from __future__ import annotations

import json
import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import torch
from jinja2 import TemplateError
from run_configs import config

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.display.report import write_report
from guerdon.display.report.rendering import render
from guerdon.runs.checksums import crc
from guerdon.runs.event_types import Ended, Evaluated, ScoresMissing, Started, StepDone, Stopped, TimeoutFired, Warned
from guerdon.runs.events import EventLog
from guerdon.runs.folder import RunFolder
from guerdon.runs.rollout_files import write_batch

ROOT = Path(__file__).parent.parent.parent
TEMPLATES = ROOT / "guerdon" / "display" / "report" / "templates"
HOSTILE = """"'><img src=x onerror=alert(1)><!--</script></style></pre>{{ 7*7 }}{% for x in y %}&quot;\x00\x1b"""


def test_every_file_of_the_templates_is_shipped():
    shipped = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["guerdon"]
    files = {path for pattern in shipped for path in (ROOT / "guerdon").glob(pattern)}
    assert {path for path in TEMPLATES.rglob("*") if path.is_file()} <= files


@pytest.mark.parametrize("path", sorted(TEMPLATES.glob("*.html")), ids=lambda path: path.name)
def test_no_template_lets_anything_past_the_escape(path):
    text = path.read_text()
    assert not re.search(r"\|\s*safe\b|autoescape|xmlattr|\beval\b", text)
    unquoted = re.findall(r"""[\w-]+=(?!")[^\s>]*\{\{""", re.sub(r"\{%.*?%\}", "", text))
    assert not unquoted, f"an attribute without quotes: {unquoted}"


def test_a_name_that_is_not_given_is_an_error():
    with pytest.raises(TemplateError):
        render("header.html")


class Shape(HTMLParser):
    """A page without its words: every tag with the names of its attributes, and the comments."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, ...]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, *(name for name, _ in attrs)))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        self.tags.append((f"/{tag}",))

    def handle_comment(self, data):
        self.tags.append(("comment",))

    def handle_data(self, data):
        self.words.append(data)


def strange_run(path: Path, words: str) -> Path:
    """A run that says `words` in every place where it can say something."""
    folder = RunFolder(path)
    wish = {"task": words, "model": words, "reward": words}
    folder.create(
        config(steps=2) | {"recipe": words, "wish": wish, "hash": words, "versions": {words: words}, "created": words}
    )
    with EventLog(folder.events, 0) as log:
        log.emit(Started(0, steps=2))
        for step in range(2):
            metrics = {
                f"{words}/mean": 1.0,
                f"{words}/std": 0.5,
                f"policy/kl_{words.replace('/', '')}": 2.0,
                f"{words}@{words}/failed": 0.5,
            }
            metrics |= {f"draws/{words}:{level}": 1.0 for level in (1, 2)}
            log.emit(StepDone(step, metrics=metrics, tokens=1, episodes=1, seconds=1.0))
            result = {"task": words, "pass@1": 0.5, "pass@1_low": 0.4, "pass@1_high": 0.6, f"{words}/length": 3.0}
            log.emit(Evaluated(step, result=result | {f"pass@{words}": 0.5}))
        log.emit(
            ScoresMissing(1, column=words, failed=1, timed_out=1, of=3, first=f"{words}\n{words}", causes={words: 1})
        )
        log.emit(TimeoutFired(1, what=words))
        log.emit(Warned(1, message=words))
        log.emit(Stopped(1, why=words))
    write_batch(folder.rollouts(0), strange_batch(words), 0)
    write_batch(folder.fault(2), strange_batch(words), 2)
    return path


def strange_batch(words: str) -> gd.Batch:
    episodes = []
    for number, view in enumerate((words, {words: [words]})):
        acted = [
            gd.Segment(role, view, np.zeros(0), np.array([1]), np.array([-0.5]), words) for role in (words, "other")
        ]
        ask = gd.Ask(gd.Task(words, words, words, words))
        episodes.append(gd.Episode(ask, tuple(acted), 0, number, info={"error": f"{words}\n{words}"}))
    batch = gd.pack(episodes)
    reason = torch.full((batch.K,), int(Reason.FAILED), dtype=torch.int8)
    detail = {k: {"error": words, words: words} for k in range(batch.K)}
    broken = Column("track", torch.full((batch.K,), float("nan")), reason, detail)
    advantage = Column.full("step", torch.linspace(-1.0, 1.0, batch.S))
    return batch.with_cols(
        {"reward": Column.full("track", torch.arange(float(batch.K))), words: broken, "advantage": advantage}
    )


def strange_study(path: Path, words: str, folder: str) -> Path:
    study = RunFolder(path)
    study.create(config(kind="study") | {"recipe": words})
    data = json.dumps({words: [words, 1.0], "more": {words: None}}).encode()
    study.result.write_bytes(data)
    with EventLog(study.events, 0) as log:
        log.emit(Ended(0, result=crc(data)))
    strange_run(study.inner / folder, words)
    return path


def test_whatever_a_run_says_the_page_has_the_same_elements(tmp_path):
    plain = Shape(write_report(strange_run(tmp_path / "plain", "plain")).read_text())
    strange = Shape(write_report(strange_run(tmp_path / "strange", HOSTILE)).read_text())
    assert strange.tags == plain.tags and len(plain.tags) > 500
    seen = "".join(strange.words)
    assert seen.count("onerror=alert(1)") >= 40 and "{{ 7*7 }}{% for x in y %}&quot;␀␛" in seen


def test_whatever_a_study_says_the_page_has_the_same_elements(tmp_path):
    plain = Shape(write_report(strange_study(tmp_path / "plain", "plain", "inner")).read_text())
    strange = Shape(
        write_report(strange_study(tmp_path / "strange", HOSTILE, "\"'><img src=x onerror=alert(1)>")).read_text()
    )
    assert strange.tags == plain.tags
