"""The pages that the docs site makes from the code: each public name has one, and says what a page must say."""

from __future__ import annotations

import importlib
import inspect
import re
from posixpath import dirname, normpath

import pytest
from docs_site import ROOT, made_pages, places
from pages import chart, command_line, links, run_folder
from pages.discover import pages, rooms
from pages.prose import cell_text, markdown
from pages.reference import navigation, own_docstring, reference_pages, undocumented

import guerdon
from guerdon.core.part import PARTS
from guerdon.core.stages import shelf_of
from guerdon.training.catalog import part_modules

pytestmark = pytest.mark.slow  # `make docs` builds these pages, and fails where one is wrong


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return made_pages()


def test_every_public_name_has_a_page_and_a_docstring(made):
    assert undocumented() == []
    offered = [getattr(guerdon, name) for name in guerdon.__all__ if callable(getattr(guerdon, name))]
    assert [value for value in offered if pages().get(id(value)) not in made] == []


def test_a_name_without_a_docstring_is_found_out():
    class silent:
        pass

    assert own_docstring(silent) == "" and own_docstring(type("heir", (Exception,), {})) == ""
    assert own_docstring(markdown) != ""


def test_rewards_judges_tasks_schedules_and_models_have_their_rooms(made):
    assert {"rewards", "judges", "tasks", "schedules", "models", "credit", "losses", "exams", "python"} <= set(rooms())
    assert {"linear", "cosine", "warmup"} <= set(rooms()["schedules"])
    assert {"train", "Run", "Batch"} <= set(rooms()["python"])
    for room, members in rooms().items():
        index = made[f"reference/{room}/index.md"]
        assert [name for name in members if f"[`{name}`](" not in index] == [], room


def test_no_two_pages_differ_in_case_alone(made):
    assert len({place.casefold() for place in made}) == len(made)


def test_the_navigation_has_every_page_of_the_reference(made):
    named = set(re.findall(r"reference/[\w/.-]+\.md", repr(navigation())))
    assert named == {place for place in made if place.startswith("reference/")}


def test_a_second_pass_makes_the_same_pages(made):
    assert reference_pages().items() <= made.items()


def test_the_page_of_a_method_has_the_parts_of_its_own(made):
    page = made["methods/dr-saf.md"]
    assert "### spare_correct\n" in page and "`guerdon/recipes/curriculum/dr_saf/parts.py`" in page
    assert "## Parts of its own" not in made["methods/grpo.md"]


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


def test_every_part_of_credit_and_losses_says_what_a_page_must():
    texts = {p.name: p.about for room in ("credit", "losses") for p in rooms()[room].values() if p.is_part}
    for module in part_modules():  # those that live with their recipe
        importlib.import_module(module)
    for place, cls in PARTS.items():
        is_loss = hasattr(cls, "needs") and hasattr(cls, "wants")
        if place.startswith("guerdon.recipes.") and (is_loss or shelf_of(cls) in ("credit", "learners")):
            texts[cls.__name__] = inspect.getdoc(cls) or ""
    assert len(texts) > 40
    wanting = {name: missing for name, text in texts.items() if (missing := lacking(text))}
    assert wanting == {}


def test_a_docstring_that_says_too_little_is_found_out():
    assert len(lacking("It adds up.")) == 5
    assert lacking("No formula. Assumes nothing, unbiased. No paper.\n\n>>> 1\n1") == []
    assert lacking("$A$ assumes x; biased (arXiv:2402.03300).") == ["an example (>>> ...)"]


def test_an_example_loses_its_prompts_and_a_tag_is_a_word():
    text = "Of $a_t < b$ and <think> (arXiv:2402.03300).\n\n>>> for x in \"ab\":\n...     x\n'a'\n'b'"
    assert markdown(text) == (
        "Of $a_t < b$ and &lt;think> ([arXiv:2402.03300](https://arxiv.org/abs/2402.03300)).\n\n"
        "```python\nfor x in \"ab\":\n    x\n# 'a'\n# 'b'\n```"
    )


def test_a_bar_in_a_cell_begins_no_other():
    assert cell_text("`a|b` or |x|, $|S|$ and $\\|v\\|$") == r"`a|b` or \|x\|, $\vert S\vert $ and $\Vert v\Vert $"


def test_a_page_has_knobs_with_limits_and_comments_and_says_who_uses_it(made):
    kl, whiten = made["reference/losses/kl.md"], made["reference/credit/whiten.md"]
    assert "| `weight` | a number or a schedule, at least 0 | `0.04` | GRPO's beta |" in kl
    assert "| `kind` | `'k1'`, `'k2'`, `'k3'` | `'k3'` | estimator |" in kl
    assert "Reads columns: `reference.logp`. Reads from the model it trains: `logp`." in kl
    assert re.search(r"Where a knob asks for it: \[grpo\].*\[reinforce_pp\]", kl)
    assert re.search(r"In the house recipes \[ppo\].*\[reinforce_pp\]", whiten)
    assert "Kept in the checkpoint: `mean`." in made["reference/credit/role_baseline.md"]
    assert "Reads from the sample: `completion`, `answer`." in made["reference/rewards/exact.md"]


def test_a_task_shows_problems_with_their_solutions(made):
    page = made["reference/tasks/chain.md"]
    assert page.count("```text\n") == 3 and "\n= " in page and "Near-misses: off by one" in page


def test_the_chart_is_read_off_the_recipes(made):
    text = made["reference/algorithms.md"]
    rows = {line.split("|")[1].strip(): line for line in text.splitlines() if line.startswith("| [")}
    assert {re.match(r"\[(\w+)\]", title)[1] for title in rows} == set(chart.house())

    def row(start: str) -> str:
        return next(line for title, line in rows.items() if title.startswith(f"[{start}]"))

    assert '`centre(std=False)` | `clipped(mean="constant", constant=256)`' in row("dr_grpo")
    assert '`gae()`, `whiten()` | `clipped(mean="step")`; critic: `value(' in row("ppo")
    assert re.search(r"`until_\w+\(.*\)`, `with_spread\(by=\"ask\", most=16\)` \| 4 \|", row("dapo"))
    assert "`greedy_baseline(verified)`" in row("remax")
    assert any("`kl=0.04`" in title and "`clipped() + kl()`" in line for title, line in rows.items())


def test_every_verb_and_option_is_on_the_page_of_the_command_line():
    page = command_line.page()
    verbs = "check train eval list show compare export prove replay serve demo doctor"
    for verb in verbs.split():
        assert f"## guerdon {verb}\n" in page
    assert "| `--model NAME|DIR` | A model's name, ORG/NAME on the hub, its folder, or a finished run. |" in page
    assert "$ guerdon train --resume runs/grpo-successor-001" in page


def test_the_page_of_the_run_folder_knows_every_file_of_a_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    guerdon.train("grpo", task="successor", model="tabular", steps=1, out="run")
    tops = {path.partition("/")[0] for path in run_folder.LAYOUT}
    assert {path.name for path in (tmp_path / "run").iterdir() if not path.name.startswith(".")} <= tops
    page = run_folder.page()
    assert "### StepDone" in page and "`metrics` (dict[str, float])" in page


def test_links_of_the_repository_become_links_of_the_site():
    def link(target: str, place: str = "credit.md") -> str:
        return links.of_site(f"[x]({target})", place)

    assert link("../README.md") == "[x](index.md)" and link("docs/credit.md#a", "index.md") == "[x](credit.md#a)"
    assert link("../guerdon/evidence/verdicts.json#dump") == "[x](evidence/recipes/dump.md)"
    assert link("../guerdon/evidence/verdicts.json") == "[x](evidence/recipes/all.md)"
    assert link("../../guerdon/evidence/dump.svg", "evidence/curriculum.md") == "[x](recipes/dump.svg)"
    assert link("../tests/promises/test_kills.py", "promises.md") == "[x](source/tests/promises/test_kills.py.md)"
    assert link("https://x.y/z") == "[x](https://x.y/z)" and link("#here") == "[x](#here)"
    assert links.of_site("`[x](../README.md)`", "credit.md") == "`[x](../README.md)`"
    assert link("../nothing.md") == "[x](../nothing.md)"  # the build refuses it


def test_every_link_leads_to_something(made):
    committed = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    texts = {place: (ROOT / "docs" / place).read_text() for place in committed}
    texts |= {place: (ROOT / home).read_text() for place, home in links.BORROWED.items()}
    for place, text in {**made, **texts}.items():
        for match in links.LINK.finditer(links.of_site(text, place)):
            target = match["target"]
            if target and not re.match(r"[a-z]+:", target):
                assert normpath(f"{dirname(place) or '.'}/{target}") in places(), f"{place} links to {target}"


def test_the_site_builds_and_what_is_broken_ends_it(tmp_path):
    build = pytest.importorskip("mkdocs.commands.build")
    for library in ("mkdocstrings", "material", "latex2mathml"):
        pytest.importorskip(library)
    from mkdocs.config import load_config
    from mkdocs.exceptions import Abort

    config = load_config(str(ROOT / "mkdocs.yml"), strict=True, site_dir=str(tmp_path / "site"))
    build.build(config)
    page = (tmp_path / "site" / "reference" / "credit" / "gae.html").read_text()
    assert "<math " in page and "Source code in" in page
    broken = load_config(str(ROOT / "mkdocs.yml"), strict=True, site_dir=str(tmp_path / "site"))
    broken.nav.append({"Nothing": "nothing.md"})
    with pytest.raises(Abort):
        build.build(broken)
