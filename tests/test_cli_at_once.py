"""What is answered without torch, which takes seconds to import: a typing error, and what was shown or listed before."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import command_line

from guerdon.cli import remembered as module
from guerdon.cli.remembered import remembered

TYPOS = (
    ("show grppo", "unknown recipe, part or reward 'grppo': did you mean 'grpo'?"),
    ("train grppo --task parity --model tabular", "unknown recipe 'grppo': did you mean 'grpo'?"),
    ("train grpo --task partiy --model tabular", "unknown task 'partiy': did you mean 'parity'?"),
    ("train grpo --task chain:1-2+partiy@9 --model tabular", "unknown task 'partiy': did you mean 'parity'?"),
    ("train grpo --task parity --model tabluar", "unknown model 'tabluar': did you mean 'tabular'?"),
    ("train grpo --task parity --model no/such/folder/", "no/such/folder/ is not there"),
    ("train grpo --task parity --model tabular --reward exct", "unknown reward 'exct': did you mean 'exact'?"),
    ("eval sprg --task parity", "unknown model 'sprg': did you mean 'sprig'?"),
    ("check exct --task parity", "unknown reward 'exct': did you mean 'exact'?"),
    ("audit verified --task partiy", "unknown task 'partiy': did you mean 'parity'?"),
)
SHOWN = ("show grpo", "show centre", "list models", "list tasks", "list rewards --json")
ASK = """
import contextlib, io, json, sys
from guerdon.cli.main import main
said = []
for line in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(line.split())
    said.append([code, out.getvalue(), err.getvalue(), "torch" in sys.modules])
print(json.dumps(said))
"""


def answers(folder: Path, *lines: str) -> list[tuple[int, str, str, bool]]:
    """What lines answer, one after the other in a process of their own, and whether torch was there then."""
    asked = subprocess.run(
        [sys.executable, "-c", ASK, json.dumps(lines)], cwd=folder, capture_output=True, text=True, check=True
    )
    return [tuple(each) for each in json.loads(asked.stdout.splitlines()[-1])]


def test_typing_errors_and_what_was_asked_before_need_no_torch(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    cli = command_line(tmp_path, monkeypatch, capsys)
    before = [cli(*line.split()) for line in SHOWN]  # in this process, which has torch
    told = answers(tmp_path, *(line for line, _ in TYPOS), *SHOWN)
    for (line, words), (code, out, err, has_torch) in zip(TYPOS, told[: len(TYPOS)], strict=True):
        assert code == 2 and words in err and not out and not has_torch, line
    kept = [each.name for each in (tmp_path / "cache").rglob("*")]
    for line, first, (code, out, _, has_torch) in zip(SHOWN, before, told[len(TYPOS) :], strict=True):
        assert (code, out) == (first.code, first.out) == (0, out) and not has_torch, (line, kept)


def test_an_answer_is_made_again_after_any_change_and_where_it_cannot_be_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = []

    def make():
        made.append(1)
        return len(made)

    assert [remembered(["show", "a"], make), remembered(["show", "a"], make), remembered(["show", "b"], make)] == [
        1,
        1,
        2,
    ]
    monkeypatch.setattr(module, "tree_hash", lambda *others: "another")
    assert remembered(["show", "a"], make) == 3
    (another,) = (tmp_path / "cache" / "guerdon" / "answers").glob("another-*.json")
    another.write_text("[half")
    assert remembered(["show", "a"], make) == 4 and remembered(["show", "a"], make) == 4
    monkeypatch.setenv("XDG_CACHE_HOME", str(another))  # no folder
    assert [remembered(["show", "a"], make), remembered(["show", "a"], make)] == [5, 6]


@pytest.mark.parametrize("options", [("--task", "parity"), ("--set", "kl=0.04")])
def test_what_depends_on_more_than_the_package_is_not_remembered(tmp_path, monkeypatch, capsys, options):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    cli = command_line(tmp_path, monkeypatch, capsys)
    assert cli("show", "grpo", *options).code == 0
    assert not (tmp_path / "cache" / "guerdon" / "answers").exists()
