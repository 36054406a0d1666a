"""Recipes, tasks, rewards and environments of installed packages: the page's own package, laid down as pip does, and a broken
one beside it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from command_line import command_line, refused

import guerdon as gd
from guerdon.cli.list import _brought
from guerdon.core.errors import Notice, UserError
from guerdon.core.packages import brought
from guerdon.rewards.asking.by_name import find_reward
from guerdon.training.advice import advise

PAGE = (Path(__file__).parent.parent / "docs" / "packages.md").read_text()
BROKEN = (
    '[guerdon.rewards]\nlost = "acme_gone:lost"\nexact = "acme_gone:exact"\n[guerdon.tasks]\nwrong = "json:loads"\n'
    '[guerdon.recipes]\nlame = "acme_gone:lame"\n'
)


def entries(toml: str) -> str:
    """The entry points of a pyproject.toml as the metadata of an installed package has them."""
    groups = re.findall(r'\[project\.entry-points\."([\w.]+)"\]\n((?:.+\n?)+)', toml)
    return "".join(f"[{group}]\n{lines}\n" for group, lines in groups).replace('"', "")


def install(site: Path, name: str, points: str) -> None:
    info = site / f"{name.replace('-', '_')}-0.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(points.replace('"', ""))


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    (toml,), (python,) = (re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL) for kind in ("toml", "python"))
    site = tmp_path / "site"
    install(site, "acme-rl", entries(toml))
    install(site, "broken", BROKEN)
    (site / "acme_rl.py").write_text(python)
    monkeypatch.syspath_prepend(site)
    monkeypatch.delitem(sys.modules, "acme_rl", raising=False)
    return command_line(tmp_path, monkeypatch, capsys)


def test_names_are_listed_with_their_package_and_nothing_is_imported(cli):
    for kind, name in (("rewards", "polite"), ("tasks", "halving"), ("recipes", "patient")):
        rows = [row for row in _brought(kind) if row["family"] == "acme-rl 0.1"]
        assert [(row[kind[:-1]], row["about"]) for row in rows] == [(name, f"from acme-rl 0.1: acme_rl:{name}")]
    assert "polite" in cli("list", "rewards", "--family", "acme-rl 0.1").out
    assert [each.name for each in brought("envs").values()] == ["once"]
    assert "lost" in brought("rewards") and "acme_rl" not in sys.modules and "acme_gone" not in sys.modules


def test_they_are_used_by_their_names_in_any_case(cli, tmp_path):
    done = cli(
        "train", "Patient", "--task", "Halving:2", "--model", "tabular", "--reward", "polite", "--set", "prompts=2",
        "--set", "tries=2", "--steps", "1", "--eval-tasks", "2", "--out", "run",
    )  # fmt: skip
    assert done.code == 0, done.err
    config = gd.Run(tmp_path / "run").config
    assert (
        config["recipe"] == "patient" and "polite" in str(config["rewards"]) and config["wish"]["task"] == "Halving:2"
    )
    assert gd.tasks.load("halving:2").get("train", 0).prompt.startswith("halve ")
    scored = gd.score_samples(find_reward("polite"), [{"completion": "Please"}, {"completion": "Now"}])
    assert scored.whole == [1.0, 0.0]


@pytest.mark.filterwarnings("default::guerdon.core.errors.Notice")
def test_recipes_of_packages_are_among_the_usable_and_in_advice(cli):
    said = cli("list", "recipes", "--usable", "--family", "acme-rl 0.1")
    (line,) = [each for each in said.out.splitlines() if each.startswith("patient")]
    assert line.split()[:2] == ["patient", "yes"], said.out
    assert "warning: lame of the package broken 0.1 (acme_gone:lame) cannot be loaded" in said.err
    with pytest.warns(Notice, match="lame of the package broken"):
        named = {each.recipe.name: each for each in advise(["answers"], data="my.csv", model="sprig")}
    assert named["patient"].command == "guerdon train patient --data my.csv --model sprig"
    assert named["patient"].result == "not measured" and "lame" not in named


def test_show_says_where_a_name_comes_from(cli):
    assert cli("show", "polite").out.startswith(
        "polite of the package acme-rl 0.1 (acme_rl:polite)\n\n1 for an answer that"
    )
    assert "GRPO at a small learning rate." in cli("show", "patient").out
    assert "halve " in cli("show", "halving:2").out and "halve " in cli("show", "halving").out
    assert "once: environment" in cli("show", "once").out
    refused(cli("show", "polte"), "did you mean 'polite'?")


def test_a_broken_package_is_a_line_that_names_it_and_breaks_nothing_else(cli):
    small = ("--task", "parity", "--model", "tabular", "--set", "prompts=1", "--steps", "0", "--eval-tasks", "0")
    refused(
        cli("train", "grpo", *small, "--reward", "lost"),
        "lost of the package broken 0.1 (acme_gone:lost) cannot be loaded: ModuleNotFoundError: No module named 'acme_gone'",
    )
    assert cli("train", "grpo", *small, "--reward", "exact").code == 0, "a name of the package's own goes first"
    with pytest.raises(
        UserError, match=r"^wrong of the package broken 0\.1 \(json:loads\) cannot be loaded: TypeError"
    ):
        gd.tasks.load("wrong")
    refused(cli("train", "grpo", *small[:2], "--reward", "poltie"), "did you mean 'polite'?")
