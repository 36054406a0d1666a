"""Every command on the page about scores prints what the page says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from guerdon.audits.scores.scoring import score_protocols
from guerdon.cli.audit_scores import audit_scores_verb

PAGE = (Path(__file__).parents[2] / "docs" / "reward_model_scores.md").read_text()
SHOWN = re.findall(
    r"rows in `([\w-]+\.jsonl)`:\n\n```json\n(.*?)```\n\n```console\n\$ guerdon audit scores ([^\n]*)\n(.*?)```",
    PAGE,
    re.DOTALL,
)


def test_every_protocol_is_shown_in_a_section_of_its_own():
    assert [words.split()[2] for _, _, words, _ in SHOWN] == [
        name for name in re.findall(r"^## ([\w-]+)$", PAGE, re.MULTILINE) if name in score_protocols()
    ]
    assert {words.split()[2] for _, _, words, _ in SHOWN} == {*score_protocols()}


@pytest.mark.parametrize(("file", "rows", "words", "says"), SHOWN, ids=[each[0] for each in SHOWN])
def test_a_command_of_the_page(file, rows, words, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(file).write_text(rows)
    app = typer.Typer()
    app.command()(audit_scores_verb)
    said = CliRunner().invoke(app, shlex.split(words))
    assert said.exit_code == 0 and said.stdout == says
