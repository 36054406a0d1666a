"""Programs to repair: moves by hand, facts of each turn, and the contract."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from scheduling import mostly_slow

import guerdon as gd
from guerdon.core.task import Ask
from guerdon.envs.programs.repair_tasks import LEVELS
from guerdon.tasks.code.function_checks import passed_now

META = {
    "asked": "write f(xs): keep the positive numbers, then give their sum.",
    "right": "def f(xs):\n total = 0\n for x in xs:\n  if x > 0:\n   total += x\n return total",
    "wrong": "def f(xs):\n total = 1\n for x in xs:\n  if x > 0:\n   total += x\n return total",
    "visible": [[[[]], 0], [[[1, -2, 3]], 4]],
    "tests": [[[[]], 0], [[[1, -2, 3]], 4], [[[-1]], 0], [[[5]], 5]],
    "share": 0.0,
}


def played(*said, checker="sandbox", pay=0.0):
    env = gd.envs.repairs(checker=checker, pay=pay)
    world = env.open(Ask(gd.Task("1", "", meta=META)), 0)
    seen = [world.begin()]
    pays = []
    for words in said:
        observed = asyncio.run(world.step(words))
        seen.append(observed.view)
        pays.append(observed.pay)
    return seen, pays, world.outcome()


@pytest.mark.parametrize("checker", ["sandbox", "plain"])
def test_moves_by_hand(checker):
    seen, pays, outcome = played("run", "edit 2: total = 0", "run", "submit", checker=checker)
    assert seen[0].split("\n")[1:3] == ["1:def f(xs):", "2: total = 1"]
    assert seen[1] == "0 of 2 tests pass\nf([]) gives 1, not 0"
    assert seen[2].split("\n")[1] == "2: total = 0"
    assert seen[3] == "all 2 tests pass"
    assert pays == [None] * 4
    assert outcome == {
        "goal": 1.0,
        "submitted": True,
        "share": 1.0,
        "better": True,
        "moves": ["run", "edit", "run", "submit"],
        "runs": 2,
        "edits": 2 - 1,
        "idle_edits": 0,
        "not_understood": 0,
    }


def test_right_and_not_submitted_is_no_goal():
    _, _, outcome = played("edit 2: total = 0")
    assert (outcome["goal"], outcome["share"], outcome["better"]) == (0.0, 1.0, True)


def test_submitted_and_wrong_is_no_goal():
    """With `if x > 0` spoilt and the start right, two of four tests pass: those where nothing negative is left out."""
    _, _, outcome = played("edit 2: total = 0", "edit 4:  if x > -9:", "submit")
    assert (outcome["goal"], outcome["share"], outcome["better"]) == (0.0, 0.5, True)


def test_every_turn_tells_its_kind_and_pay():
    said = ("run", "edit 2: total = 1", "edit 9: x", "what?", "edit 2: import os\nrun", "submit")
    seen, pays, outcome = played(*said, pay=0.1)
    assert outcome["moves"] == ["run", "edit", "", "", "", "submit"]
    assert pays == [0.1, 0.1, 0.0, 0.0, 0.0, 0.1]
    assert (outcome["idle_edits"], outcome["not_understood"], outcome["better"]) == (1, 3, False)
    assert seen[3] == "moves: run, edit NUMBER:LINE, submit"


def test_a_program_that_raises_or_never_ends_gives_nothing():
    seen, _, _ = played(
        "edit 2: total = 1 // 0", "run", "edit 4:  while True:", "edit 2: total = 0", "run", checker="plain"
    )
    assert seen[2] == "0 of 2 tests pass\nf([]) gives nothing, not 0"
    assert seen[5] == "0 of 2 tests pass\nf([]) gives nothing, not 0"


@pytest.mark.parametrize("level", mostly_slow(LEVELS, min(LEVELS), max(LEVELS)))
def test_problems_have_their_errors(level):
    source = gd.envs.repairs(level=level)
    for index in range(12):
        task = source.get("train", index)
        meta = task.meta
        wrong, right = meta["wrong"].split("\n"), meta["right"].split("\n")
        differ = [at for at, (a, b) in enumerate(zip(wrong, right, strict=True), 1) if a != b]
        assert len(differ) == LEVELS[level][1]
        assert [int(says.split(" ")[1]) for says in meta["says"]] == differ
        assert all(passed_now(meta["right"], meta["tests"], "plain"))
        assert not all(passed_now(meta["wrong"], meta["visible"], "plain"))
        assert task == source.get("train", index)


def test_it_keeps_the_contract():
    assert gd.check_env(gd.envs.repairs(level=5), episodes=2)["goals"] == 2


@pytest.mark.parametrize("level", mostly_slow(LEVELS, min(LEVELS), max(LEVELS)))
def test_every_level_keeps_the_contract(level):
    gd.check_env(gd.envs.repairs(level=level, checker="plain"), episodes=5)


def test_the_page_shows_an_episode_and_an_example_as_they_are(capsys):
    page = (Path(__file__).parents[3] / "docs" / "people_and_games.md").read_text()
    section = page.partition("## Programs to repair\n")[2].partition("\n## ")[0]
    episode = gd.demonstration(gd.envs.repairs(level=3))
    assert gd.transcript(episode, 400) in section
    code, printed = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", section, re.S).groups()
    exec(compile(code, "people_and_games.md", "exec"), {})
    assert capsys.readouterr().out == printed
