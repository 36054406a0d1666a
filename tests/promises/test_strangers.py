"""A run folder from somebody else runs no code by itself, and none of them hides the others.

The Python files that a run names (recipe, task, reward) are run by `--resume`, `replay` and `eval` only where the same user
started that run on the same computer, which is remembered outside the folder, or says `--trust`. Not promised: what trusted
files import, and a home folder that others can write to.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import REWARDS, SMALL, TRAIN, Cli, command_line, refused
from scheduling import mostly_slow

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.runs.run_config import FIELDS

RUN = ("--rollouts-every", "3")
EVIL = REWARDS + "\nPath('evil-was-here').touch()\n"
TASK = """
import guerdon as gd
from guerdon.tasks.families.tiny import parity


class mine(parity):
    pass
"""
RECIPE = '''
from guerdon import recipe
from guerdon.recipes.house.grpo import grpo


@recipe("mine", on=grpo)
def mine(base):
    """GRPO as it is."""
    return base
'''


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return command_line(tmp_path, monkeypatch, capsys)


def begun(cli: Cli, *words: str) -> None:
    """A run that was interrupted, in `a`."""
    Path("press-ctrl-c").touch()
    assert cli(*TRAIN, "--reward", "my.py:stops", *RUN, *words, "--out", "a").code == 130
    Path("press-ctrl-c").unlink()


def change(run: str, **values: Any) -> None:
    """As a stranger would: there is nothing about a run.json that he could not make himself."""
    config = Path(run, "run.json")
    made = {**json.loads(config.read_text()), **values}
    config.write_text(json.dumps({name: value for name, value in made.items() if name != "sum"}))


def as_a_stranger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(Path("elsewhere").absolute()))


def test_files_of_a_strangers_run_are_not_run(cli, monkeypatch, tried):
    """`--resume`, `replay` and `eval` of a run that another user made, with its reward, its task and its recipe in files."""
    begun(cli)
    Path("task.py").write_text(TASK)
    Path("recipe.py").write_text(RECIPE)
    for words, out in ((("grpo", "--task", "task.py:mine"), "b"), (("./recipe.py", "--task", "parity"), "c")):
        assert cli("train", *words, *SMALL, "--steps", "2", "--out", out).code == 0
    Path("world.py").write_text("from own_gyms import counting\n")
    small = [f"--set={each}" for each in ("worlds=2", "horizon=8", "minibatch=16", "epochs=1", "exam=2")]
    assert cli("train", "ppo_control", "--env", "world.py:counting", *small, "--steps", "1", "--out", "d").code == 0
    as_a_stranger(monkeypatch)
    for file in ("my.py", "task.py", "recipe.py", "world.py"):
        Path(file).write_text(Path(file).read_text() + "\nopen('evil-was-here', 'w')\n")
    for words, file in (
        (("train", "--resume", "a"), "my.py"),
        (("replay", "a", "--reward", "exact"), "my.py"),
        (("train", "--resume", "b"), "task.py"),
        (("eval", "b"), "task.py"),
        (("replay", "b", "--reward", "exact"), "task.py"),
        (("train", "--resume", "c"), "./recipe.py"),
        (("replay", "c", "--reward", "exact"), "./recipe.py"),
        (("train", "--resume", "d"), "world.py"),
        (("eval", "d"), "world.py"),
    ):
        refused(cli(*words), f"names Python files ({file}) and was not made by you on this computer", "add --trust")
        tried()
    with pytest.raises(UserError, match="trust=True"):
        gd.train(resume="a")
    assert not Path("evil-was-here").exists()
    assert (
        cli("show", "a").code == 0 and cli("eval", "c", "--tasks", "2").code == 0
    )  # neither runs a file of the config
    assert cli("list", "runs", "--dir", ".").code == 0 and not Path("evil-was-here").exists()


@pytest.mark.slow
def test_who_looked_at_the_files_may_say_so(cli, monkeypatch):
    """`--trust` and `trust=True`, for each verb that runs files of a run."""
    begun(cli)
    as_a_stranger(monkeypatch)
    assert cli("replay", "a", "--reward", "my.py:right", "--trust").code == 0
    assert cli("train", "--resume", "a", "--trust").code == 0
    assert gd.replay("a", reward=lambda completion: 1.0, trust=True).credit_from == "the run's recipe"
    assert cli("train", "--resume", "a").code == 2  # it was said of then, not of whatever lies there later


def test_a_run_of_ones_own_asks_nothing(cli, monkeypatch):
    """Resumed where it was made, after the folder was moved, after all of the project was moved."""
    begun(cli)
    for number, move in enumerate((lambda: None, lambda: Path("a").rename("b"), lambda: None)):
        move()
        run = "a" if number == 0 else "b"
        if number == 2:
            Path("project").mkdir()
            for name in ("b", "my.py"):
                Path(name).rename(Path("project", name))
            monkeypatch.chdir("project")
        said = cli("replay", run, "--reward", "my.py:right")
        assert said.code == 0, said.err
    assert cli("train", "--resume", "b").code == 0


def test_a_file_edited_in_place_is_still_ones_own(cli):
    """The reward file got a comment, and something else to say, since the run began."""
    begun(cli)
    Path("my.py").write_text(REWARDS + "\n# a thought\n")
    assert cli("replay", "a", "--reward", "my.py:right").code == 0
    Path("my.py").write_text(REWARDS.replace("count() == 20", "count() == 21"))
    refused(cli("train", "--resume", "a"), "another version of this recipe")


FORGED: tuple[Callable[[dict[str, Any]], dict[str, Any]], ...] = (
    lambda config: {"wish": {**config["wish"], "reward": "evil.py:right"}},
    lambda config: {"wish": {**config["wish"], "task": "evil.py:right"}},
    lambda config: {"recipe": "evil.py"},
    lambda config: {"recipe": "evil.py:right"},
    lambda config: {"id": "0" * 32},
    lambda config: {"id": None},
    lambda config: {"wish": {**config["wish"], "reward": "./my.py:stops"}},
    lambda config: {"wish": {**config["wish"], "reward": "evil\0.py:right"}},
    lambda config: {"wish": {**config["wish"], "reward": "\ud800.py:right"}},
)


def test_a_run_of_ones_own_that_came_back_changed(cli, tried):
    """A folder that this user made and gave away: its run.json now names another file, another spelling of it or another id."""
    begun(cli)
    Path("evil.py").write_text(EVIL)
    config = json.loads(Path("a/run.json").read_text())
    for forge in FORGED:
        change("a", **{**config, **forge(config)})
        refused(cli("train", "--resume", "a"), "not made by you on this computer")
        refused(cli("replay", "a", "--reward", "exact"), "not made by you on this computer")
        tried()
    assert not Path("evil-was-here").exists()


def test_another_file_of_the_same_name_is_another_file(cli, monkeypatch):
    """The folder, unchanged, beside a `my.py` of somebody else's."""
    begun(cli)
    theirs = Path("theirs")
    theirs.mkdir()
    shutil.copytree("a", theirs / "a")
    (theirs / "my.py").write_text(EVIL)
    monkeypatch.chdir(theirs)
    refused(cli("train", "--resume", "a"), "names Python files (my.py)")
    assert not Path("evil-was-here").exists()


def test_a_run_without_python_files_needs_no_trust(cli, monkeypatch):
    """A run of a recipe, a task and a reward of the package, from another user."""
    assert cli(*TRAIN, *RUN, "--out", "a").code == 0
    assert not Path("state").exists()
    as_a_stranger(monkeypatch)
    assert cli("replay", "a", "--reward", "my.py:right", "--column", "correct").code == 0
    assert cli("eval", "a", "--tasks", "2").code == 0 and cli("train", "--resume", "a").code == 0


def test_a_home_that_cannot_be_written_to(cli, monkeypatch):
    """A state folder that is a file: one warning, and the run goes on to its end."""
    Path("state").write_text("in the way")
    said = cli(*TRAIN, "--reward", "my.py:right", "--out", "a")
    assert said.code == 0 and said.out.count("warning: cannot note in ") == 1 and "ask for --trust" in said.out
    refused(cli("train", "--resume", "a"), "not made by you on this computer")
    assert cli("train", "--resume", "a", "--trust").code == 0


INSIDE: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "has no 'wish.task'": lambda config: {"wish": {"model": "tabular", "reward": None}},
    "'settings.prompts' in its run.json is not text": lambda config: {"settings": {"prompts": 2}},
    "grpo.prompts must be int": lambda config: {"settings": {"prompts": "[" * 100_000}},
    "resumed elsewhere": lambda config: {"versions": {}},
    "resumed with other code": lambda config: {"code": None},
    "": lambda config: {"parts": {"knobs": "none"}},
}


@pytest.mark.parametrize("says", mostly_slow(INSIDE, *list(INSIDE)[::2]))
def test_a_card_with_something_else_inside(cli, says):
    """Without a slot or versions, with settings that are not text or deep, with odd parts: one line, or the run goes on."""
    begun(cli)
    config = json.loads(Path("a/run.json").read_text())
    change("a", **{**config, **INSIDE[says](config)})
    said = cli("train", "--resume", "a")
    assert says in said.out + said.err and "Traceback" not in said.err
    if said.code:
        assert said.code == 2 and said.err.count("\n") == 1 and len(said.err) < 5000
    else:
        assert "complete" in cli("show", "a").out


# --- list runs ------------------------------------------------------------------------------------------------------


def configs(whole: dict[str, Any]) -> dict[str, bytes]:
    """Configs that are none, by what is wrong with them."""
    made: dict[str, bytes] = {
        "empty": b"", "no JSON": b"{oops", "a list": b"[]", "a number": b"7", "null": b"null", "not UTF-8": b"\xff\xfe{}",
        "deep": b'{"a":' * 100_000 + b"}" * 100_000, "deep list": b"[" * 200_000, "many digits": b"9" * 10_000,
        "half": json.dumps(whole).encode()[:-40], "zeros": b"\0" * 4096,
    }  # fmt: skip
    for name in (*FIELDS, "data"):
        made[f"without {name}"] = json.dumps({k: v for k, v in whole.items() if k != name}).encode()
    for name in whole:
        for value in ([], {"a": []}, "x", None):
            made[f"{name} {value}"] = json.dumps({**whole, name: value}).encode()
    return made


@pytest.mark.slow
def test_list_runs_survives_any_card(cli, tried):
    """`run.json` that is not JSON, a list, deep, cut, without keys, with each key of each wrong type: a row each."""
    assert cli(*TRAIN, "--out", "runs/whole").code == 0
    whole = {k: v for k, v in json.loads(Path("runs/whole/run.json").read_text()).items() if k != "sum"}
    for number, text in enumerate(configs(whole).values()):
        folder = Path(f"runs/bad-{number:03d}")
        folder.mkdir()
        (folder / "run.json").write_bytes(text)
    said = cli("list", "runs", "--json")
    rows = {row["run"]: row for row in said.json["runs"]}
    assert said.code == 0 and len(rows) == 1 + len(configs(whole))
    assert rows["runs/whole"]["status"] == "complete"
    for number, name in enumerate(configs(whole)):
        row = rows[f"runs/bad-{number:03d}"]
        assert row["status"].startswith("unreadable: ") or row["status"] == "unfinished", (name, row)
        if number % 8 == 0 or row["status"] == "unfinished":
            shown = cli("show", row["run"])
            assert shown.code in (0, 2) and "Traceback" not in shown.err, (name, shown.err)
        tried()
    assert cli("list", "runs").code == 0


def test_list_runs_survives_what_is_no_file(cli, tried):
    """A pipe, a folder, a link to itself, a link to nowhere, a link to /dev/zero, 65 MiB, one without permission."""
    assert cli(*TRAIN, "--out", "runs/whole").code == 0

    def folder(name: str) -> Path:
        made = Path("runs", name)
        made.mkdir()
        return made / "run.json"

    os.mkfifo(folder("pipe"))
    folder("folder").mkdir()
    loop = folder("loop")
    loop.symlink_to(loop.name)
    folder("nowhere").symlink_to("nothing")
    folder("zero").symlink_to("/dev/zero")
    with open(folder("huge"), "wb") as file:
        file.truncate(65 << 20)
    secret = folder("secret")
    secret.write_text("{}")
    secret.chmod(0)
    shutil.copytree("runs/whole", "runs/pipe of events")
    Path("runs/pipe of events/events.jsonl").unlink()
    os.mkfifo("runs/pipe of events/events.jsonl")
    said = cli("list", "runs", "--json")
    rows = {row["run"]: row["status"] for row in said.json["runs"]}
    assert said.code == 0 and rows.pop("runs/whole") == "complete" and len(rows) == 8
    assert all(status.startswith("unreadable: ") for status in rows.values()), rows
    tried(len(rows))


EVENTS = (
    '{"type": "Evaluated", "step": 0, "result": []}',
    '{"type": "Evaluated", "step": 0, "result": {"pass@1": "all of them"}}',
    '{"type": "StepDone", "step": "one"}',
    '{"type": "StepDone", "step": 0, "attempt": "first", "metrics": 3}',
    '{"type": "Stopped", "step": 0, "why": ["\\u001b[2J"]}',
    '{"type": "Ended", "step": true}',
    '{"type": ["Ended"], "step": 0}',
    '{"type": "Party", "step": 0}',
    "[" * 100_000,
)


def test_list_and_show_survive_events_of_another_kind(cli, tried):
    """Lines of events with values of another type, of a type that is none, nested 100,000 deep."""
    assert cli(*TRAIN, "--steps", "1", "--out", "runs/a").code == 0
    for line in EVENTS:
        Path("runs/a/events.jsonl").write_text(line + "\n")
        assert cli("list", "runs").code == 0
        shown = cli("show", "runs/a")
        assert shown.code in (0, 2) and "Traceback" not in shown.err
        tried()
