"""The tools that come with it: Python and SQL in the sandbox, files below a folder."""

from __future__ import annotations

import os
import sys

import pytest
from refusals import refusal
from tool_players import call, errors, played

import guerdon as gd
from guerdon.sandbox import Cause, Ran, SandboxPool

boxed = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox takes Linux")


def results(episode):
    return [each["result"] for each in episode.info["called"]]


@boxed
def test_names_last_for_an_episode_and_no_longer():
    env = gd.envs.tool_turns([gd.envs.interpreter(cpu=0.3)], most=20)
    codes = [
        "x = 3\nprint('seen once')", "x * 7", "x += 1; 1 / 0", "x", "import os; os._exit(0)", "raise SystemExit", "x +",
        "while True: pass", "import random; random.random()", f"open({__file__!r})", "x",
    ]  # fmt: skip
    says = [*(call("python", code=code) for code in codes), "done"]
    first, second = played(env, says), played(env, [says[8], "done"])
    assert results(first)[:4] == ["seen once", "21", "error: ZeroDivisionError: division by zero", "4"]
    assert errors(first) == ["", "", "raised", "", "raised", "", "raised", "timed_out", "", "raised", ""]
    assert (results(first)[-1], results(first)[8:9]) == ("4", results(second))
    fresh = played(env, [call("python", code="x"), "done"])
    assert results(fresh) == ["error: NameError: name 'x' is not defined"]


@boxed
def test_sql_asks_the_tasks_own_database():
    env = gd.envs.tool_turns([gd.envs.sql()])
    task = gd.Task(
        "1", "How many?", meta={"database": "create table a(x, y); insert into a values (1, 'b'), (2, null);"}
    )
    queries = [
        "select * from a",
        "drop table a",
        "select count(*) from a",
        "attach 'f' as g",
        "select",
        "select 1; select 2",
    ]
    episode = played(env, [*(call("sql", query=query) for query in queries), "done"], task)
    assert results(episode)[:3] == ["x | y\n1 | b\n2 | NULL", "done, no rows", "count(*)\n2"]
    assert errors(episode) == ["", "", "", "raised", "raised", "raised"]
    with refusal(gd.UserError):
        played(env, ["done"])


def test_a_broken_sandbox_fails_the_episode(monkeypatch):
    async def broken(self, *given, **how):
        return Ran(Cause.BROKEN, "the zygote is lost")

    monkeypatch.setattr(SandboxPool, "python", broken)
    episode = played(gd.envs.tool_turns([gd.envs.interpreter()]), [call("python", code="1"), "done"])
    assert episode.failed
    assert "the sandbox broke: the zygote is lost" in episode.info["error"]


def test_files_are_read_below_one_folder_only(tmp_path):
    secret, folder = tmp_path / "secret.txt", tmp_path / "notes"
    (folder / "in").mkdir(parents=True)
    secret.write_text("secret")
    (folder / "a.txt").write_text("hällo")
    (folder / "in" / "b.txt").write_text("y" * 50)
    (folder / "pic").write_bytes(b"\xff\xfe\0")
    (folder / "link.txt").symlink_to(secret)
    (folder / "up").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    reader = gd.envs.read_file(folder, most=20)
    assert reader.read("a.txt") == reader.read("./in/..".removesuffix("/in/..") + "/a.txt") == "hällo"
    assert reader.read("in/b.txt") == "y" * 20 + "\n... (50 bytes, the first 20 are shown)"
    assert reader.read(".") == "a.txt\nin/\npic\npipe"
    bad = [
        *(
            "../secret.txt",
            "in/../../secret.txt",
            str(secret),
            "/etc/passwd",
            "link.txt",
            "up/secret.txt",
            "pic",
            "pipe",
        ),
        *("gone", "a.txt/x", "a\0b", "in//../.."),
    ]
    for path in bad:
        with pytest.raises(ValueError):
            reader.read(path)
    before = reader.identity()
    (folder / "a.txt").write_text("other")
    assert gd.envs.read_file(folder).identity() != before
    with refusal(gd.UserError, "read_file"):
        gd.envs.read_file(folder / "gone")
    episode = played(gd.envs.tool_turns([reader]), [call("read_file", path="../secret.txt"), "done"])
    assert errors(episode) == ["raised"]
