"""The pages of docs/parts are those of today's parts, and the parts of credit and losses say what a page must say."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def script():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        return importlib.import_module("document_parts")


@pytest.fixture(scope="module")
def made(script):
    return script.pages()


def test_the_pages_are_up_to_date(script, made):
    assert script.stale(made) == [], "docs/parts is not what the parts say today: run `make pages`"


def test_a_second_pass_makes_the_same_pages(script, made):
    assert script.pages() == made


def lacking(text: str) -> list[str]:
    """What a docstring of credit or losses has to say and does not."""
    wanted = {
        "a formula ($...$, or 'No formula')": r"\$[^$]+\$|No formula",
        "what it assumes ('Assumes ...')": r"[Aa]ssum(e|es|ed|ption)\b",
        "whether it is biased ('Biased', 'unbiased')": r"[Bb]iase[ds]",
        "its paper (arXiv:..., or 'no paper')": r"arXiv:\d{4}\.\d{4,5}|[Nn]o paper",
        "an example (>>> ...)": r">>> ",
    }
    flat = " ".join(text.split())
    return [what for what, pattern in wanted.items() if not re.search(pattern, flat)]


def test_every_part_of_credit_and_losses_says_what_a_page_must(script):
    found = {}
    for folder in ("credit", "losses"):
        for name, cls in script.registered()[folder].items():
            if missing := lacking(inspect.getdoc(cls) or ""):
                found[f"{folder}/{name}"] = missing
    assert found == {}


def test_a_docstring_that_says_too_little_is_found_out():
    assert len(lacking("It adds up.")) == 5
    assert lacking("No formula. Assumes nothing, unbiased. No paper.\n\n>>> 1\n1") == []
    assert lacking("$A$ assumes x; biased (arXiv:2402.03300).") == ["an example (>>> ...)"]


def test_the_examples_of_the_pages_say_what_they_print(script):
    modules = {cls.__module__ for members in script.registered().values() for cls in members.values()}
    assert {m: found for m in sorted(modules) if (found := doctest.testmod(sys.modules[m]).failed)} == {}


def test_an_example_loses_its_prompts_and_a_formula_what_markdown_would_eat(script):
    text = "Of $a_t\\,b$ and\n$c$ (arXiv:2402.03300).\n\n>>> for x in \"ab\":\n...     x\n'a'\n'b'"
    assert script.markdown(text) == (
        "Of $`a_t\\,b`$ and $c$ ([arXiv:2402.03300](https://arxiv.org/abs/2402.03300)).\n\n"
        "```python\nfor x in \"ab\":\n    x\n# 'a'\n# 'b'\n```"
    )


def test_a_page_has_knobs_with_limits_and_comments_and_says_who_uses_it(made):
    kl, whiten, parts = made["losses/kl.md"], made["credit/whiten.md"], made["README.md"]
    assert "| `weight` | a number or a schedule, at least 0 | `0.04` | GRPO's beta |" in kl
    assert "| `kind` | `'k1'`, `'k2'`, `'k3'` | `'k3'` |  |" in kl
    assert "Reads columns: `reference.logp`. Reads of the model it teaches: `logp`." in kl
    assert re.search(r"Where a knob asks for it: \[grpo\].*\[reinforce_pp\]", kl)
    assert re.search(r"In the house recipes \[ppo\].*\[reinforce_pp\]", whiten)
    assert "Kept in the checkpoint: `mean`." in made["credit/role_baseline.md"]
    assert all(f"]({path})" in parts for path in made if "/" in path)


def test_the_chart_is_read_off_the_recipes(script, made):
    chart = made["algorithms.md"]
    rows = {line.split("|")[1].strip(): line for line in chart.splitlines() if line.startswith("| [")}
    assert {re.match(r"\[(\w+)\]", title)[1] for title in rows} == set(script.built_recipes())

    def row(start: str) -> str:
        return next(line for title, line in rows.items() if title.startswith(f"[{start}]"))

    assert '`centre(std=False)` | `clipped(mean="constant", constant=256)`' in row("dr_grpo")
    assert '`gae()`, `whiten()` | `clipped(mean="step")`; critic: `value(' in row("ppo")
    assert re.search(r"`until_\w+\(.*\)`, `with_spread\(by=\"ask\", most=16\)` \| 4 \|", row("dapo"))
    assert "`greedy_baseline(verified)`" in row("remax")
    assert any("`kl=0.04`" in title and "`clipped() + kl()`" in line for title, line in rows.items())


def test_the_pages_link_to_what_is_there(made):
    for path, text in made.items():
        for target in re.findall(r"\]\(([^)h][^)]*)\)", text):
            place = (ROOT / "docs" / "parts" / path).parent / target
            assert place.resolve().exists(), f"{path} links to {target}"
