"""docs/bridges.md does what it says: every example in it is run, in a folder with the reward file it shows."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest
from small import small_lm

import guerdon as gd

PAGE = (Path(__file__).parent.parent.parent / "docs" / "bridges.md").read_text()
SECTIONS = dict(zip(re.findall(r"^## (.+)$", PAGE, re.M), re.split(r"^## .+$", PAGE, flags=re.M)[1:], strict=True))


def examples(text):
    return re.findall(r"```python\n(.*?)```", text, re.S)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "my.py").write_text(examples(PAGE)[0])
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield tmp_path
    sys.modules.pop("my", None)


def run(section, **names):
    found = [compile(code, f"bridges.md, {section}", "exec") for code in examples(SECTIONS[section])]
    for code in found:
        exec(code, names)
    return names


def test_every_section_has_its_test():
    assert set(SECTIONS) == {"Rewards that count tokens", "TRL", "verifiers", "OpenRLHF", "verl"}


def test_rewards_that_count_tokens(folder, capsys):
    said, refused = re.findall(r"```text\n(.*?)```", SECTIONS["Rewards that count tokens"], re.S)
    names = run("Rewards that count tokens", gd=gd)
    assert capsys.readouterr().out == said
    with pytest.raises(gd.UserError) as error:
        names["for_verl"](gd.exact() + gd.length(4))("sums", "= 4", "= 4")
    assert f"{error.value}\n" == refused


@pytest.mark.peers("trl", "datasets")
@pytest.mark.filterwarnings("ignore")
def test_trl(folder, capsys):
    (folder / "my-model").mkdir()
    small_lm(folder / "my-model")
    trainer = run("TRL")["trainer"]
    assert {"rewards/exact/mean", "rewards/brief/mean"} <= set(trainer._metrics["train"]) | set(
        trainer.state.log_history[0]
    )
    assert "accuracy: 1" in capsys.readouterr().out


@pytest.mark.peers("verifiers<0.4")
def test_verifiers(folder, capsys):
    run("verifiers")
    assert capsys.readouterr().out.startswith("blend: 0.98")


def test_openrlhf(folder, capsys):
    run("OpenRLHF")
    assert "'rewards': [0.99]" in capsys.readouterr().out


def test_verl(folder):
    run("verl")
    names: dict = {}
    exec((folder / "reward_for_verl.py").read_text(), names)
    assert names["compute_score"]("sums", "4", "4")["score"] == 0.99
