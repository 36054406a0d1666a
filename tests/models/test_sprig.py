"""The model that comes with the package, in its versions: what their cards say, and what it can be used for."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import guerdon as gd
from guerdon import models, tasks
from guerdon.core.task import Sampling
from guerdon.models.shipped_models import NEWEST, SHIPPED, SPRIGS, version
from guerdon.tasks.task_loading import family_names
from guerdon.training.api import answers

ROOT = Path(__file__).parent.parent.parent
GREEDY = Sampling(temperature=0.0, max_tokens=200)
OLDER = ("sprig-1", "sprig-1.1")
WORLDS_WITH_ROOM = {
    "calculator", "interpreter", "multi-hop search", "claim verification", "SQL", "Python", "page actions",
    "two-player game",
}  # fmt: skip


def measured(name, kind="card"):
    return json.loads((SHIPPED[name] / f"{kind}.json").read_text())


@pytest.fixture(scope="module")
def sprig():
    return models.load("sprig")


@pytest.fixture(scope="module", params=["sprig", "sprig-2"])
def shipped(request, sprig):
    """What `sprig` is, and the version that comes next."""
    return sprig if request.param == "sprig" else models.load(request.param)


@pytest.fixture(params=OLDER)
def card(request):
    """What was measured of an older version, by family."""
    return measured(request.param)["families"]


@pytest.fixture
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module


def test_a_name_alone_is_one_version(sprig):
    assert list(SHIPPED) == ["sprig", "sprig-1", "sprig-1.1", "sprig-2", "sprig-2-messages"]
    assert [version(name) for name in SHIPPED] == [NEWEST, *list(SHIPPED)[1:]]
    assert sprig.identity() == models.load(NEWEST).identity()
    assert len({models.load(folder.name).identity() for folder in SPRIGS}) == 3


@pytest.mark.parametrize("folder", SPRIGS, ids=lambda folder: folder.name)
def test_a_version_can_be_read_by_all(folder):
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o644}


def test_all_versions_together_are_small():
    assert sum(file.stat().st_size for folder in SPRIGS for file in folder.glob("*.safetensors")) <= 32 * 2**20


# --- cards ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OLDER)
def test_an_older_page_shows_what_was_measured_and_where_its_scripts_are(name):
    page = (SHIPPED[name] / "MODEL_CARD.md").read_text()
    assert page.startswith(f"# {name}\n") and "which are in the history" in page
    for family, found in measured(name)["families"].items():
        rates = (f"{100 * x['sampled']:.0f} / {100 * x['pass@16']:.0f}" for x in found["levels"].values())
        assert f"| {family} | {' | '.join(rates)} |" in page


def test_the_first_version_says_what_it_has_seen_of_todays_problems():
    assert "reorderings of problems it was trained on" in (SHIPPED["sprig-1"] / "MODEL_CARD.md").read_text()


def test_the_card_and_its_page_are_made_of_what_was_measured(scripts):
    folder = SHIPPED["sprig-2"]
    found = scripts("sprig_cells").Cells(folder / "cells.jsonl").found
    card = scripts("sprig_cells").card_of(found, scripts("sprig_card").WORLDS, family_names())
    assert card == measured("sprig-2")
    page = (folder / "MODEL_CARD.md").read_text()
    assert page == scripts("sprig_page").page(card, measured("sprig-2", "training"))
    for name in card["not measured"]:
        assert f"`{name}` (" in page and f", `{name}` |" not in page


def test_the_older_cards_cover_the_families_of_their_day(card):
    assert set(card) == set(family_names()) - {"counting"}
    assert all(set(f["levels"]) == set("12345678") for f in card.values())


def test_the_card_covers_every_family_level_and_role():
    families = measured("sprig-2")["families"]
    assert list(families) == family_names()
    assert all(set(f["levels"]) == set("12345678") and "roles" in f for f in families.values())


def test_easy_levels_are_mostly_solved_and_there_is_room_above(card):
    assert all(f["levels"]["1"]["sampled"] > 0.9 for f in card.values())
    room = [
        n
        for n, f in card.items()
        if any(0.1 <= x["sampled"] <= 0.4 and x["pass@16"] > 0.5 for x in f["levels"].values())
    ]
    assert len(room) >= 6


def test_headroom_is_found_by_rate_and_by_what_tries_add(scripts):
    rates = {"1": (0.9, 1.0), "2": (0.6, 0.8), "3": (0.5, 0.69), "4": (0.2, 0.5), "5": (0.19, 0.9)}
    levels = {level: {"sampled": s, "pass@16": p} for level, (s, p) in rates.items()}
    assert scripts("sprig_page").room(levels) == ["2", "4"]


def test_families_and_worlds_have_headroom(scripts):
    room, card = scripts("sprig_page").room, measured("sprig-2")
    assert sum(bool(room(f["levels"])) for f in card["families"].values()) >= 10
    with_room = {world for world, found in card["worlds"].items() if any(room(rates) for rates in found.values())}
    assert with_room >= WORLDS_WITH_ROOM
    page = (SHIPPED["sprig-2"] / "MODEL_CARD.md").read_text()
    for world in scripts("sprig_page").ROOMS:
        assert (f"| {world} | **none**" in page) == (world not in with_room)


def test_it_judges_its_own_attempts_as_wanted_in_the_mean(scripts):
    own = scripts("sprig_page").means(measured("sprig-2"))["own attempts"]
    assert own["verify"] >= 0.65 and own["prefer"] >= 0.65 and own["critique"] >= 0.5
    judged = [f["roles"]["own attempts"] for f in measured("sprig-2")["families"].values()]
    named = sum(each["critique"] * each["wrong"] for each in judged)
    assert named >= 0.5 * sum(each["wrong"] for each in judged), "of all wrong attempts together"


def test_the_parts_it_plays_reach_their_floors_in_the_mean(card):
    judged = [f["roles"] for f in card.values() if 0.3 <= f["levels"][str(f["roles"]["level"])]["sampled"] <= 0.6]
    assert len(judged) >= 6

    def mean(role):
        return sum(r["near-misses"][role] for r in judged) / len(judged)

    assert mean("verify") >= 0.7
    assert mean("prefer") >= 0.7
    assert mean("score") >= 0.5
    assert mean("revise") >= 0.1
    assert sum(r["propose"] for r in judged) / len(judged) >= 0.6
    assert card["chain"]["roles"]["tool"] >= 0.8


# --- measuring ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_breaks_is_told_and_measured_again_and_takes_nothing_with_it(scripts, tmp_path, capfd):
    cells = scripts("sprig_cells").Cells(tmp_path / "cells.jsonl")
    cells.begin({"problems": 4, "seed": 0})
    cells.measure("solve", {"six": (12, 2), "none": (1, 0)}, divmod, jobs=2)
    assert cells.found["solve", "six"] == (6, 0)
    assert cells.found["solve", "none"] == {"error": "its process ended with 1"}
    assert "ZeroDivisionError" in capfd.readouterr().err
    again = scripts("sprig_cells").Cells(tmp_path / "cells.jsonl")
    again.begin({"problems": 4, "seed": 0})
    again.measure("solve", {"six": (1, 0), "none": (9, 3)}, divmod, jobs=1)  # only what broke is done again
    assert again.found["solve", "six"] == [6, 0] and again.found["solve", "none"] == (3, 0)
    with pytest.raises(SystemExit, match="measure the same way"):
        again.begin({"problems": 8, "seed": 0})


def test_a_card_leaves_out_what_was_not_measured_and_names_it(scripts):
    rates = {"1": {"sampled": 0.5, "pass@16": 1.0}}
    found = {
        ("how", ""): {"problems": 4, "seed": 0}, ("solve", "chain"): rates, ("solve", "hops"): rates,
        ("solve", "nim"): {"error": "its process ended with 1"}, ("fit", "hops"): {"1": 0.5},
    }  # fmt: skip
    worlds = {"search": ("hops",), "games": ("nim", "hunt")}
    assert scripts("sprig_cells").card_of(found, worlds, ["chain", "clock"]) == {
        "problems": 4, "seed": 0, "families": {"chain": {"levels": rates}}, "worlds": {"search": {"hops": rates}, "games": {}},
        "fits": {"hops": {"1": 0.5}}, "notes": [],
        "not measured": {"chain": "roles", "clock": "solving and roles", "nim": "broke off", "hunt": "not tried"},
    }  # fmt: skip


@pytest.mark.slow
def test_a_cell_of_each_kind_is_measured_in_a_process_of_its_own(scripts, tmp_path):
    cells, script, folder = (
        scripts("sprig_cells").Cells(tmp_path / "cells.jsonl"),
        scripts("sprig_card"),
        SHIPPED["sprig-2"],
    )
    cells.measure("fit", {"forms": (str(folder), 4, "forms")}, script.fitting, 1)
    cells.measure("solve", {"hunt": (str(folder), "cpu", 2, 0, "hunt")}, script.solving, 1)
    cells.measure("play", {"chain": (str(folder), "cpu", 4, 0, "chain", 3)}, script.playing, 1)
    assert cells.found["fit", "forms"]["1"] == 1.0 > cells.found["fit", "forms"]["8"]
    assert cells.found["solve", "hunt"]["1"]["pass@16"] == 1.0
    assert cells.found["play", "chain"]["near-misses"]["wrong"] == 4
    assert cells.found["play", "chain"]["near-misses"]["verify"] > 0.5


# --- use ------------------------------------------------------------------------------------------------------------


def test_it_is_small_and_counts_in_digits(shipped):
    assert 2e6 <= sum(p.numel() for p in shipped.weights.parameters()) <= 8e6
    assert shipped.config.vocab <= 1024 and shipped.config.max_positions == 1024
    assert len(shipped.encode("1234567890")) == 12  # user, ten digits, assistant


@pytest.mark.sampled(1, "name")
@pytest.mark.parametrize("name", ["chain:1", "sorting:1", "verify/chain:2", "tool/chain:2", "propose/sorting:2"])
def test_it_does_what_the_card_says(sprig, name):
    found = gd.evaluate(sprig, task=name, tasks=8, sampling=GREEDY)
    assert found["pass@1"] > 0.75, found


@pytest.mark.parametrize(
    "name", ["chain:1", "calculator/equation:2", "hops:1", "text_to_sql:2", "nim:1", "verify/chain:2"]
)
@pytest.mark.slow
def test_the_next_version_does_what_its_card_says(name):
    how = {"checker": "plain"} if name.startswith("text") else {}
    found = gd.evaluate(models.load("sprig-2"), task=tasks.load(name, **how), tasks=8, sampling=GREEDY)
    assert found["pass@1"] >= 0.75, found


@pytest.mark.slow
@pytest.mark.parametrize("count", [12])
def test_greedy_accuracy_is_the_same_through_transformers(shipped, tmp_path, count):
    transformers = pytest.importorskip("transformers")
    models.save(shipped, tmp_path / "export")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "export", dtype=torch.float32)
    words = transformers.AutoTokenizer.from_pretrained(tmp_path / "export")
    source = tasks.load("countdown:3")
    problems = [source.get("test", i) for i in range(count)]
    ours = answers(shipped, problems, sampling=GREEDY)
    for problem, answer in zip(problems, ours, strict=True):
        chat = words.apply_chat_template(
            [{"role": "user", "content": problem.prompt}],
            add_generation_prompt=True,
            return_tensors="pt",
            return_dict=False,
        )
        assert chat[0].tolist() == shipped.encode(problem.prompt).tolist()
        with torch.no_grad():
            made = theirs.generate(chat, max_new_tokens=200, do_sample=False, pad_token_id=0)
        assert words.decode(made[0, chat.shape[1] :], skip_special_tokens=True) == answer
    again = models.load(str(tmp_path / "export"))
    assert again.identity() == shipped.identity()


@pytest.mark.slow
def test_all_stages_of_training_run_end_to_end(tmp_path):
    command = [sys.executable, str(ROOT / "scripts" / "train_sprig.py"), "--out", str(tmp_path / "toy"), "--toy"]
    for more in ([], ["--stage", "own"], ["--stage", "judge"]):
        if "judge" in more:  # from weights alone
            for name in ("progress.json", "state.safetensors"):
                (tmp_path / "toy" / name).unlink()
        done = subprocess.run([*command, *more], capture_output=True, text=True, timeout=1200, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "toy" / "training.json").read_text())
    text = [point for point in record["curve"] if point["stage"] == "text"]
    assert text[-1]["loss"] < text[0]["loss"]
    assert [*dict.fromkeys(point["stage"] for point in record["curve"])] == ["text", "own", "judge"]
    assert set(record["seconds"]) == {"text", "own attempts", "own", "judge attempts", "judge"}
    assert list(record["settings"]) == ["text", "own", "judge"]
    steps = {stage: settings["steps"] for stage, settings in record["settings"].items()}
    assert all(0 <= record["tokens"][stage] - n * 2**15 <= n * 1024 for stage, n in steps.items())  # one shard a step
    assert models.load(str(tmp_path / "toy")).net is not None


@pytest.mark.slow
def test_the_demo_learns(tmp_path, monkeypatch, capsys):
    from guerdon.cli.main import main

    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["gain"] >= 0.2
    assert Path(found["report"]).is_file()
