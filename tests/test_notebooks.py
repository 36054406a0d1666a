"""The notebooks of docs/notebooks run, and what they and the site show is what came of it."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest
from docs_site import notebooks

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))

import run_notebook  # noqa: E402 - of scripts, which docs_site has put in the way


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request):
    return request.param


def read(path):
    return json.loads(path.read_text())


def test_there_is_one():
    assert [path.stem for path in NOTEBOOKS] == ["first_rewards"]


def test_it_is_a_notebook_that_was_run_from_top_to_bottom(path):
    notebook = read(path)
    assert notebook["nbformat"] == 4 and len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    cells = run_notebook.code_cells(notebook)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert all(cell["outputs"] for cell in cells)
    for cell in cells:
        compile(run_notebook.code_of(cell), "cell", "exec")
        for output in cell["outputs"]:
            assert output["output_type"] in ("stream", "execute_result")  # no error among them
    assert str(ROOT) not in path.read_text() and "/tmp" not in path.read_text()


def test_its_page_shows_its_code_and_what_came_of_it(path):
    notebook, page = read(path), notebooks.notebook_pages()[f"notebooks/{path.stem}.md"]
    assert re.findall(r"```python\n(.*?)\n```", page, re.DOTALL) == [
        run_notebook.code_of(cell) for cell in run_notebook.code_cells(notebook)
    ]
    for cell in run_notebook.code_cells(notebook):
        for output in cell["outputs"]:
            data = output.get("data", {})
            shown = "".join(data.get("text/html") or data.get("text/plain") or output["text"])
            assert shown.rstrip() in page
    assert page.startswith("# ") and f"]({path.name})" in page


def test_the_site_has_the_page_and_the_navigation_leads_to_it(path):
    assert f"notebooks/{path.stem}.md" in notebooks.notebook_pages()
    assert f"notebooks/{path.stem}.md" in (ROOT / "mkdocs.yml").read_text()


def test_a_cell_shows_what_it_prints_and_what_it_ends_with():
    class Table:
        def __repr__(self) -> str:
            return "a table"

        def _repr_html_(self) -> str:
            return "<b>\n</b>"

    names = {"table": Table()}
    assert run_notebook.outputs("print('x')\ny = 1", names, 1) == [
        {"output_type": "stream", "name": "stdout", "text": ["x\n"]}
    ]
    (shown,) = run_notebook.outputs("y += 1\ntable", names, 2)
    assert shown["data"] == {"text/plain": ["a table"], "text/html": ["<b>\n", "</b>"]} and names["y"] == 2
    assert run_notebook.outputs("y;None", names, 3) == []
    with pytest.raises(ZeroDivisionError):
        run_notebook.outputs("1 / 0", names, 4)


def test_a_page_keeps_text_apart_from_html(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": ["# A"]},
        {"cell_type": "code", "source": ["1"], "outputs": [{"data": {"text/plain": ["<b>"]}}]},
        {"cell_type": "code", "source": ["2"], "outputs": [{"data": {"text/plain": ["x"], "text/html": ["<i>x</i>"]}}]},
    ]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells}))
    page = notebooks.page(tmp_path / "a.ipynb")
    assert (
        "```text\n<b>\n```" in page and '<div class="shown"><i>x</i></div>' in page and html.escape("<b>") not in page
    )


@pytest.mark.slow
def test_its_cells_run_in_order(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = read(path)
    before = [[output["output_type"] for output in cell["outputs"]] for cell in run_notebook.code_cells(notebook)]
    names = run_notebook.run(notebook)
    cells = run_notebook.code_cells(notebook)
    assert [[output["output_type"] for output in cell["outputs"]] for cell in cells] == before
    if path.stem == "first_rewards":
        assert names["run"].complete and names["replayed"].total["samples"] == 128
        assert names["report"].kinds[0]["mean"] == 1.0
