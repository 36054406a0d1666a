"""The report shows the first prompt as the model saw it: every token, the template's own ones marked."""

from __future__ import annotations

import html
import re

import pytest

import guerdon as gd
from guerdon.display.report import write_report
from guerdon.display.report.examples import example_batches
from guerdon.display.report.prompting import _system, prompting


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prompting") / "run"
    options = gd.Options(eval_tasks=0)
    return gd.train("grpo", task="countdown:2", model="sprig", steps=1, prompts=1, tries=2, out=folder, options=options)


def of(run):
    return prompting(run, example_batches(run, print))


def test_the_tokens_are_those_that_were_read(run):
    shown = of(run)
    segment = example_batches(run, print)[0].batch.episodes[0].segments[0]
    model = gd.models.load("sprig")
    assert [token.text for token in shown.tokens] == [
        model.tokenizer.decode([t], False) for t in segment.context.tolist()
    ]
    assert "".join(token.text for token in shown.tokens) == f"<|user|>{segment.view}<|assistant|>"
    assert [token.tone == "special" for token in shown.tokens] == [True, *[False] * (len(shown.tokens) - 2), True]
    assert shown.size.text == str(len(segment.context)) and shown.role == "policy" and shown.tokens_more is None
    assert shown.template == model.chat.format.template and shown.system == ""


def test_the_page_shows_them_escaped(run):
    page = write_report(run.path).read_text()
    (section,) = re.findall(r"<h2>What the model was shown first</h2>(.*?)</section>", page, re.S)
    pieces = re.findall(r'<span class="p (\w+)">(.*?)</span>', section, re.S)
    assert pieces == [(token.tone, html.escape(token.text)) for token in of(run).tokens]
    assert "Chat template" in section and html.escape("{% for message in messages %}") in section
    assert "System prompt" not in section


def test_a_run_without_its_tokenizer_says_so(run, tmp_path):
    models = run.folder.models
    models.rename(tmp_path / "away")
    try:
        assert of(run).tokens == [] and of(run).template == ""
        assert "They are shown here once the run is complete" in write_report(run.path).read_text()
        models.mkdir()
        (models / "policy").mkdir()
        (models / "policy" / "tokenizer.json").write_text("{damaged")
        (models / "policy" / "tokenizer_config.json").write_text("[]")
        assert of(run).tokens == []
    finally:
        if models.exists():
            for file in (models / "policy").iterdir():
                file.unlink()
            (models / "policy").rmdir()
            models.rmdir()
        (tmp_path / "away").rename(models)


def test_what_has_no_tokens_has_no_section(tmp_path):
    options = gd.Options(eval_tasks=0)
    run = gd.train("grpo", task="parity", model="tabular", steps=1, out=tmp_path / "run", options=options)
    assert of(run) is None and "What the model was shown first" not in run.folder.report.read_text()
    nothing = gd.train("grpo", task="parity", model="sprig", steps=0, out=tmp_path / "none", options=options)
    assert of(nothing) is None


def test_a_system_message_is_shown():
    assert _system([{"role": "system", "content": "be brief"}, {"role": "user", "content": "?"}]) == "be brief"
    assert _system("be brief") == "" == _system([1, {"role": "user", "content": "?"}])
