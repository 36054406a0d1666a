"""What docs/tools.md shows is what comes of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tool_players import call, played

import guerdon as gd
from guerdon.core.user_file import find_in_file

PAGE = (Path(__file__).parents[3] / "docs" / "tools.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_does_what_it_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shop, reward, state, traces = blocks("python")
    assert len(shop.splitlines()) < 40
    space: dict = {"__name__": "__main__"}
    for code, shown in ((shop, blocks("text")[0]), (reward, ""), (state, ""), (traces, blocks("text")[1])):
        Path("shop.py").write_text(code)
        exec(compile(code, "shop.py", "exec"), space)
        out = capsys.readouterr().out
        before, _, after = shown.partition("...\n")
        assert out.startswith(before) and out.endswith(after)
    rolled = played(space["env"], [call("roll"), "done"], gd.Task("1", "Roll.", meta={"sides": 1}))
    assert rolled.info["called"][0]["result"] == "1"


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ('<tool_call>{"name": stock</tool_call>', "malformed"),
        (call("stok"), "unknown"),
        (call("stock", fruit=3), "arguments"),
        (call("stock", fruit="kiwis"), "raised"),
    ],
)
def test_errors_read_as_the_page_says(said, kind, tmp_path):
    (tmp_path / "shop.py").write_text(blocks("python")[0])
    env = find_in_file(f"{tmp_path}/shop.py:shop", "task")().home
    result = played(env, [said, "done"]).info["called"][0]
    assert result["error"] == kind
    assert f"| `{result['result']}` |" in re.search(rf"\| `{kind}` \|.*", PAGE)[0]
