"""Every recipe on data of a user's own: it trains, or is refused with the line of its needs, as `training/usable.py` says."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Cli, command_line, refused
from own_worlds import given, rehearsed, trained, write_chat_model, write_worlds
from refusals import refusal

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.core.needs import NEEDED, Needs
from guerdon.core.user_file import load_file
from guerdon.models.model_facts import model_facts
from guerdon.tasks.source_facts import facts_of
from guerdon.training.build import RunRequest, build, find_task
from guerdon.training.catalog import find_recipe, listings
from guerdon.training.unmet_needs import Unmet, machine_facts
from guerdon.training.usable import FORMS, OWN_DATA, OWN_MODELS, usable

ROOT = Path(__file__).parent.parent.parent
TABLE = usable()
FOUR = ("answers", "pairs", "programs", "tools")
PUBLISHED = [name for name, listing in listings().items() if listing.family != "house"]
pytestmark = [
    pytest.mark.filterwarnings("ignore::guerdon.core.errors.Notice"),
    pytest.mark.skipif("sandbox" not in machine_facts(), reason="programs need a sandbox"),
]


@pytest.fixture
def worlds(made_once: Callable[..., Path]) -> Path:
    return made_once("own worlds", write_worlds)


@pytest.fixture
def models(made_once: Callable[..., Path]) -> dict[str, str]:
    pytest.importorskip("transformers")
    importlib.import_module("transformers.models.gpt_neox.modeling_gpt_neox")
    chat = made_once("own chat model", write_chat_model)
    return {"sprig": "sprig", "chat": str(chat), "tabular": "tabular"}


def held_to(name: str, model: str, form: str, attempt: Callable[[], Any]) -> None:
    """There is no third outcome: no traceback, and nothing that the table does not say."""
    if model == "tabular":  # a table has a few characters: what it cannot say is told as such
        try:
            attempt()
        except UserError as error:
            assert "\n" not in str(error)
        return
    if TABLE[name][form] in ("yes", model):
        attempt()
        return
    with pytest.raises(Unmet, match=f"^{name} (on .* )?(needs|has a fixed world)") as refusal:
        attempt()
    assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 400


CELLS = [(name, model, form) for name in TABLE for model in ("sprig", "chat", "tabular") for form in FORMS]


@pytest.mark.sampled(3, "name")
@pytest.mark.parametrize("name", TABLE)
def test_a_recipe_shows_its_first_prompts_or_says_what_it_needs(name, worlds, models, tmp_path):
    for model, form in (("chat", "answers"), ("sprig", "pairs"), ("chat", "programs")):
        held_to(
            name,
            model,
            form,
            lambda m=model, f=form: rehearsed(name, models[m], given(worlds, f), tmp_path / f"{m}-{f}"),
        )


@pytest.mark.slow
@pytest.mark.parametrize(("name", "model", "form"), CELLS)
def test_every_cell_trains_a_step_or_says_what_is_needed(name, model, form, worlds, models, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    held_to(name, model, form, lambda: trained(name, models[model], given(worlds, form), tmp_path))
    assert TABLE[name][form] in ("yes", model) or model == "tabular" or not any(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "form", "knobs"),
    [
        ("rrm", "answers", {"grader": "answer"}),
        ("sws", "answers", {"candidates": 0}),
        ("tp-grpo-thought", "answers", {"judge": "sprig"}),
        ("nemotron-crossthink", "programs", {"math": ("programs/adds",)}),
        ("guide", "tools", {"how": "start"}),
    ],
)
def test_a_knob_that_the_table_names_is_enough(name, form, knobs, worlds, models, tmp_path):
    assert TABLE[name][form].split()[:2] == ["set", *knobs]
    trained(name, models["chat"], given(worlds, form), tmp_path, **knobs)
    assert (tmp_path / "run" / "models" / "policy").is_dir()


def test_forms_and_models_have_what_the_table_takes_them_to_have(worlds, models):
    for each in OWN_DATA:
        world = given(worlds, each.title)
        kinds = ["pairs", "labels"] if each.title == "pairs" else [each.rows or "problems"]
        has = [facts_of(find_task(world.get("task"), world.get("data"), rows)) for rows in kinds]
        assert {name for names in has for name in names if name in NEEDED} == each.has, each.title
    assert {name: model_facts(models[name]) for name in OWN_MODELS} == OWN_MODELS
    assert {name: model_facts(gd.models.load(models[name])) for name in OWN_MODELS} == OWN_MODELS
    assert model_facts("tabular") == model_facts(gd.models.tabular()) == set()


def test_every_recipe_that_takes_problems_trains_on_some_of_ones_own():
    fixed = {name for name, listing in listings().items() if listing.needs.world}
    assert fixed == {name for name, listing in listings().items() if "task" not in listing.takes}
    able = [name for name in PUBLISHED if any(TABLE[name][form] for form in FOUR)]
    assert len(able) >= 40
    unable = {name for name in TABLE if not any(TABLE[name][form] for form in FORMS)} - fixed
    assert unable == {"clpo", "reasoning-sql", "searcher"}  # of certain families alone


def test_what_is_read_off_a_recipes_text_is_what_it_is():
    for name in ("grpo", "dump", "process_grpo", "prime", "biprm", "rex", "t-reg"):
        listing, entry = listings()[name], find_recipe(name)
        assert listing.needs == entry.needs
        assert set(listing.takes) == {"task", "model", "reward"} & set(entry.parameters())


@pytest.mark.slow
def test_all_of_them_are_read_off_their_text():
    for name, listing in listings().items():
        entry = find_recipe(name)
        assert (listing.needs, set(listing.takes)) == (
            entry.needs,
            {"task", "model", "reward"} & set(entry.parameters()),
        )


def test_needs_add_up_along_recipes_and_say_what_may_stand_in():
    needs = Needs(step_checker="prm+teacher|scorer").over(Needs(answers="reward", kinds=True))
    assert needs.names == ("answers", "step_checker", "kinds") and str(needs) == "answers, step checker, kinds"
    assert needs.missing("data", {"kinds"}) == ("answers", "step_checker")
    assert needs.missing("data", {"kinds", "answers"}, {"prm"}) == ("step_checker",)
    assert needs.missing("data", {"kinds"}, {"prm", "teacher", "reward"}) == ()
    assert needs.missing("data", {"answers", "kinds"}, {"scorer"}) == () == needs.missing("model", ())
    assert needs.how("step_checker").endswith("or --set prm=... --set teacher=..., or --set scorer=...")
    assert needs.how("answers").endswith("or --reward R")
    lines = "a checker of single steps (or --set prm=... and --set teacher=... or --set scorer=...)"
    assert needs.in_full == f"answers to check (or --reward R); {lines}; problems of several kinds"
    assert Needs().in_full == "nothing but problems"
    few = Needs(families="chain trace|math")
    assert few.missing("data", {"clock"}) == ("families",) and few.missing("data", {"trace"}) == ()
    assert few.missing("data", {"clock"}, {"math"}) == ()
    assert few.how("families") == "--task chain:3 (or trace), or --set math=..."
    assert Needs(labels=True).rows == "labels" and Needs(answers=True).rows == "problems"


def test_an_older_form_names_the_rows():
    made = gd.recipe("older", data="pairs")(lambda task, model: None)
    assert made.needs == Needs(preferences=True) and made.needs.rows == "pairs"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    run = command_line(tmp_path, monkeypatch, capsys)
    write_worlds(Path())
    return run


@pytest.mark.parametrize(
    ("name", "data", "line"),
    [
        (
            "fin-prm",
            "answers.csv",
            "fin-prm needs a checker of single steps, which answers.csv does not have: --task chain:3",
        ),
        (
            "verpo",
            "answers.csv",
            "verpo needs tests one by one, which answers.csv does not have: --data FILE with a column",
        ),
        ("reasoning-sql", "answers.csv", "databases to query, which answers.csv does not have: --task text_to_sql:2"),
        (
            "dump",
            "answers.csv",
            "dump needs problems of several kinds, which answers.csv does not have: --data FILE --kind COL",
        ),
        ("grpo", "pairs.jsonl", "grpo needs answers to check: pairs.jsonl: no column looks like the answer"),
        ("dpo", "answers.csv", "dpo needs pairs of a better and a worse answer: answers.csv holds no preferences"),
        (
            "inappropriateness-rewriting",
            "pairs.jsonl",
            "inappropriateness-rewriting needs problems: pairs.jsonl: no column looks like the answer",
        ),
        (
            "inappropriateness-rewriting",
            "answers.csv",
            "answers.csv does not have: --task notes:3 (or notes:3 --set notes.form=rewrite), or --reward R",
        ),
        ("distill", "answers.csv", "distill needs a second model: --set teacher=..."),
        (
            "plan-rewardbench",
            "answers.csv",
            "plan-rewardbench has a fixed world (traces of a calculator's user, with planted",
        ),
        (
            "rex",
            "answers.csv",
            "rex has a fixed world (images of digits for a small network): leave --task and --data out",
        ),
    ],
)
def test_what_is_missing_is_a_line_and_nothing_is_written(cli, name, data, line):
    refused(cli("train", name, "--data", data, "--model", "sprig"), line)
    assert not Path("runs").exists()


def test_what_a_model_lacks_is_told_before_it_loads(cli, monkeypatch):
    monkeypatch.setattr("guerdon.training.build.find_model", lambda model: pytest.fail("the model was loaded"))
    refused(
        cli("train", "grpo", "--task", "shop.py:shop", "--model", "sprig"),
        "grpo on stock+calculator/data needs a model that calls any tools, which sprig is not",
    )
    refused(
        cli("train", "implicit-prm", "--data", "answers.csv", "--model", "tabular"),
        "implicit-prm needs a model of text, which tabular is not: --model sprig",
    )


def test_a_knob_stands_in_for_a_need(cli):
    said = cli("train", "rrm", "--data", "answers.csv", "--model", "sprig")
    refused(said, "rrm needs a checker of single steps, which answers.csv does not have:")
    assert said.err.rstrip().endswith("or --set grader=...")
    assert build(RunRequest("rrm", data="answers.csv", model="sprig", settings={"grader": "answer"})).recipe.exams


@functools.cache
def page() -> Any:
    return load_file(str(ROOT / "scripts" / "document_usable.py"), "script")


def test_the_page_is_as_it_is_made():
    assert page().page() == (ROOT / "docs" / "usable.md").read_text()


def test_list_usable_and_show_say_it(cli):
    rows = {row["recipe"]: row for row in cli("list", "recipes", "--usable", "--json").json["recipes"]}
    assert rows["grpo"]["answers"] == "yes" and rows["grpo"]["tools"] == "chat" and rows["scope"]["needs"]
    refused(cli("list", "tasks", "--usable"), "--usable is for recipes")
    assert "set KNOB" in cli("list", "recipes", "--usable", "--family", "code").out


def test_every_recipe_takes_each_flag_or_says_why_not():
    for name, listing in listings().items():
        entry = find_recipe(name)
        needs = entry.needs
        for slot in ("task", "model", "reward"):
            assert slot in listing.takes or needs.world or (slot == "reward" and needs.learns_from), (name, slot)
        assert not (needs.learns_from and "reward" in listing.takes), name
        assert "steps" in entry.knobs() or needs.world, name


def test_a_flag_that_a_recipe_does_not_take_is_refused_with_the_reason(cli, monkeypatch):
    monkeypatch.setattr("guerdon.training.build.find_model", lambda model: pytest.fail("the model was loaded"))
    on = ("--task", "chain:1", "--model", "sprig", "--reward", "exact")
    refused(cli("train", "sft", *on), "sft learns from worked answers: leave --reward out")
    refused(
        cli("train", "t-reg", *on), "t-reg learns from preferences: leave --reward out"
    )  # of dpo, which it is made on
    refused(
        cli("train", "rex", *on[2:4]), "rex has a fixed world (images of digits for a small network): leave --model out"
    )


def test_the_steps_of_a_study_are_those_of_its_runs(tmp_path):
    length = []

    @gd.recipe("climbing")
    def climbing(steps: int = 9, pause: float = 0.5):
        """A study."""
        return gd.Study(lambda run, seed: length.append(steps) or {"steps": steps})

    first = gd.train(climbing, steps=3, out=tmp_path / "first")
    assert length == [3] and first.config["settings"] == {"steps": 3}
    assert first.config["hash"] == gd.train(climbing, settings={"steps": 3}, out=tmp_path / "same").config["hash"]

    @gd.recipe("resting", needs=Needs(world="a bed"))
    def resting():
        """A study without a length."""
        return gd.Study(lambda run, seed: {})

    with refusal(UserError):
        gd.train(resting, steps=3, out=tmp_path / "no")
