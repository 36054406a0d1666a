"""Pages of one's own: the example that the docs show, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

from refusals import refusal

import guerdon as gd
from guerdon.core.user_file import load_file

ROOT = Path(__file__).parent.parent.parent.parent
EXAMPLE = ROOT / "examples" / "own_pages.py"


def test_the_docs_show_the_example_and_it_runs():
    assert EXAMPLE.read_text().strip() in (ROOT / "docs" / "pages.md").read_text()
    assert len(EXAMPLE.read_text().splitlines()) < 40
    source = load_file(str(EXAMPLE), "task").task()
    assert gd.check_env(source, episodes=2)["goals"] == 2
    assert (source.size("train"), source.size("test")) == (3, 1)
    script = ["click 1", "type 1 Dora", "type 2 dora", "click 4", "type 2 d@dora.net", "click 3", "click 4", "stop"]
    for left_out, right in ((None, 1.0), (5, 0.0)):  # without the sixth move there will be letters
        says = [said for n, said in enumerate(script) if n != left_out]
        player = gd.models.scripted(lambda view, past, seed, says=says: says[len(past)])
        assert gd.evaluate(player, task=source)["pass@1"] == right


def test_rows_that_say_too_little_are_refused(tmp_path):
    (tmp_path / "index.html").write_text("<p>hello")
    own = gd.envs.own_pages
    with refusal(gd.UserError, "1"):
        own(str(tmp_path), [{"prompt": "x", "answer": "hello"}, {"answer": "hello"}])
    with refusal(gd.UserError, "0"):
        own(str(tmp_path), [{"prompt": "x"}])
    with refusal(gd.UserError):
        own(str(tmp_path), [{"prompt": "x", "answer": "hello"}])
    rows = [{"prompt": "x", "answer": "hello", "split": "test"}, {"prompt": "y", "answer": "z"}]
    source = own(str(tmp_path), rows)
    assert source.get("test", 0).prompt == "x" and source.get("train", 0).prompt == "y"
    first = source.identity()
    (tmp_path / "index.html").write_text("<p>hallo")
    assert (
        own(str(tmp_path), rows).identity() != first
    )  # what a run computes follows from the pages, not from where they lie


def test_the_docs_show_what_comes_out(capsys):
    inside = "((?:(?!```).)*)"
    blocks = re.findall(f"```python\n{inside}```\n\n```\n{inside}```", (ROOT / "docs" / "pages.md").read_text(), re.S)
    blocks = [(code, shown) for code, shown in blocks if not shown.startswith("$")]
    assert len(blocks) == 2
    for code, shown in blocks:
        exec(code, {})
        assert capsys.readouterr().out == shown
