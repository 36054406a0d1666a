"""The report shows the first prompt as the model saw it: every token, the template's own ones marked."""

from __future__ import annotations

import pytest
from report_pages import report_data_of

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
    assert [text for text, _ in shown["tokens"]] == [
        model.tokenizer.decode([t], False) for t in segment.context.tolist()
    ]
    assert "".join(text for text, _ in shown["tokens"]) == f"<|user|>{segment.view}<|assistant|>"
    assert [tone == "special" for _, tone in shown["tokens"]] == [True, *[False] * (shown["size"] - 2), True]
    assert shown["size"] == len(segment.context) and shown["role"] == "policy"
    assert shown["template"] == model.chat.format.template and shown["system"] == ""


def test_the_page_holds_them(run):
    page = write_report(run.path).read_text()
    shown = report_data_of(page)["prompt"]
    assert shown == {**of(run), "tokens": [list(token) for token in of(run)["tokens"]]}
    assert "<|user|>" not in page  # in no form that could be markup


def test_a_run_without_its_tokenizer_says_so(run, tmp_path):
    models = run.folder.models
    models.rename(tmp_path / "away")
    try:
        assert of(run)["tokens"] == [] and of(run)["template"] == ""
        models.mkdir()
        (models / "policy").mkdir()
        (models / "policy" / "tokenizer.json").write_text("{damaged")
        (models / "policy" / "tokenizer_config.json").write_text("[]")
        assert of(run)["tokens"] == []
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
    assert of(run) is None and report_data_of(run.folder.report.read_text())["prompt"] is None
    nothing = gd.train("grpo", task="parity", model="sprig", steps=0, out=tmp_path / "none", options=options)
    assert of(nothing) is None


def test_a_system_message_is_shown():
    assert _system([{"role": "system", "content": "be brief"}, {"role": "user", "content": "?"}]) == "be brief"
    assert _system("be brief") == "" == _system([1, {"role": "user", "content": "?"}])
