"""The files that a report is made of: shipped with the package, one script of many, and the same page whatever a run says."""

from __future__ import annotations

import json
import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import torch
from report_pages import report_data_of
from run_configs import config

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.display.report import write_report
from guerdon.display.report.bundle import bundled_script
from guerdon.runs.checksums import crc
from guerdon.runs.event_types import Ended, Evaluated, ScoresMissing, Started, StepDone, Stopped, TimeoutFired, Warned
from guerdon.runs.events import EventLog
from guerdon.runs.folder import RunFolder
from guerdon.runs.rollout_files import write_batch

ROOT = Path(__file__).parent.parent.parent
DISPLAY = ROOT / "guerdon" / "display"
HOSTILE = """"'><img src=x onerror=alert(1)><!--</script></style></pre>{{ 7*7 }}{% for x in y %}&quot;\x00\x1b"""


def test_every_file_of_the_page_is_shipped():
    shipped = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["guerdon"]
    files = {path for pattern in shipped for path in (ROOT / "guerdon").glob(pattern)}
    own = {path for path in DISPLAY.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    assert own <= files and DISPLAY / "page" / "report.js" in own


def test_modules_become_one_script_in_the_order_of_their_needs():
    script = bundled_script("report.js")
    made = re.findall(r"^const (\w+_js) = \(\(\) => \{$", script, re.MULTILINE)
    used = [
        (at.start(), name)
        for at in re.finditer(r"^const \{[^}]*\} = (\w+_js);$", script, re.MULTILINE)
        for name in [at[1]]
    ]
    begins = {name: script.index(f"const {name} = (() => {{") for name in made}
    assert made[-1] == "report_js" and len(made) == len(set(made)) > 20
    assert used and all(begins[name] < at for at, name in used)
    assert not re.search(r"^(?:import|export)\b|\bimport\(|</script|<!--", script, re.MULTILINE)


def test_a_renamed_import_keeps_its_new_name(tmp_path, monkeypatch):
    (tmp_path / "a.js").write_text('import { one as two } from "/page/b.js";\nexport const three = two + 1;\n')
    (tmp_path / "b.js").write_text("export const one = 1;\n")
    monkeypatch.setattr("guerdon.display.report.bundle.PAGE", tmp_path)
    assert bundled_script("a.js").splitlines() == [
        '"use strict";',
        "const b_js = (() => {",
        "const one = 1;",
        "return { one };",
        "})();",
        "const a_js = (() => {",
        "const { one: two } = b_js;",
        "const three = two + 1;",
        "return { three };",
        "})();",
    ]


@pytest.mark.parametrize("text", ['import("/page/x.js");\n', "export { x };\n", 'const end = "</script>";\n'])
def test_what_cannot_stand_in_one_script_is_refused(text, tmp_path, monkeypatch):
    (tmp_path / "odd.js").write_text(text)
    monkeypatch.setattr("guerdon.display.report.bundle.PAGE", tmp_path)
    with pytest.raises(AssertionError, match=r"odd.js: this cannot stand in one script"):
        bundled_script("odd.js")


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


def leaves(value):
    """All strings in a JSON value, keys included."""
    if isinstance(value, dict):
        return [w for k, v in value.items() for w in (k, *leaves(v))]
    return [w for v in value for w in leaves(v)] if isinstance(value, list) else [str(value)]


def test_whatever_a_run_says_the_page_has_the_same_elements(tmp_path):
    plain = Shape(write_report(strange_run(tmp_path / "plain", "plain")).read_text())
    text = write_report(strange_run(tmp_path / "strange", HOSTILE)).read_text()
    assert Shape(text).tags == plain.tags and "<img" not in text and "\x00" not in text
    seen = "".join(leaves(report_data_of(text)))
    assert seen.count(HOSTILE) >= 40


def test_whatever_a_study_says_the_page_has_the_same_elements(tmp_path):
    plain = Shape(write_report(strange_study(tmp_path / "plain", "plain", "inner")).read_text())
    strange = Shape(
        write_report(strange_study(tmp_path / "strange", HOSTILE, "\"'><img src=x onerror=alert(1)>")).read_text()
    )
    assert strange.tags == plain.tags
