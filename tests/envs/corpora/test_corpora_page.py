"""What docs/corpora.md shows is what comes out."""

import re
import warnings
from pathlib import Path

import pytest
from command_line import command_line

import guerdon as gd

PAGE = (Path(__file__).parents[3] / "docs" / "corpora.md").read_text()
PYTHON = {block.split("\n")[0][2:]: block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)}


def shown(command: str) -> str:
    """What the page shows under a command."""
    (block,) = re.findall(rf"```console\n\$ {re.escape(command)}\n(.*?)```", PAGE, re.DOTALL)
    return block


def test_the_notes_are_searched_as_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = PYTHON["notes.py"]
    assert code.count("\n") < 40
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what was made of the rows is told on stderr
        exec(compile(code, "notes.py", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == shown("python notes.py")


def test_a_demonstration_is_as_shown():
    told = gd.transcript(gd.demonstration(gd.tasks.load("hops:2")))
    assert shown("guerdon show hops:2").split("\n\n", 1)[1].rstrip() == told


@pytest.mark.slow
def test_rows_and_a_corpus_train_together(tmp_path, monkeypatch, capsys):
    test_the_notes_are_searched_as_shown(tmp_path, monkeypatch, capsys)
    (tmp_path / "ask_notes.py").write_text(PYTHON["ask_notes.py"])
    run = command_line(tmp_path, monkeypatch, capsys)
    few = "--set prompts=1 --set tries=2 --set max_tokens=16 --steps 1 --eval-tasks 1 --out run"
    said = run("train", "./ask_notes.py", "--data", "qa.jsonl", "--model", "sprig", *few.split())
    assert said.code == 0, said
    ((_, batch),) = gd.Run("run").batches()
    assert all(e.info["goal"] in (0.0, 1.0) and "one move a turn" in e.segments[0].view for e in batch.episodes)
