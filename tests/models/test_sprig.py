"""The model that comes with the package, in its versions: what their cards say, and what it can be used for."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from scheduling import mostly_slow

import guerdon as gd
from guerdon import models, tasks
from guerdon.core.task import Sampling
from guerdon.loop.api import answers
from guerdon.models.model_loading import SHIPPED, SPRIGS, version
from guerdon.tasks.task_loading import BY_NAME, NAMES

ROOT = Path(__file__).parent.parent.parent
CARDS = {folder.name: folder / "card.json" for folder in SPRIGS if (folder / "card.json").is_file()}
GREEDY = Sampling(temperature=0.0, max_tokens=200)


@pytest.fixture(scope="module")
def sprig():
    return models.load("sprig")


@pytest.fixture(params=CARDS)
def card(request):
    """What was measured of a version, by family."""
    return json.loads(CARDS[request.param].read_text())["families"]


def test_a_name_alone_is_the_newest_version(sprig):
    assert list(SHIPPED) == ["sprig", "sprig-1", "sprig-1.1"]
    assert [version(name) for name in SHIPPED] == ["sprig-1.1", "sprig-1", "sprig-1.1"]
    assert sprig.identity() == models.load("sprig-1.1").identity() != models.load("sprig-1").identity()


@pytest.mark.parametrize("folder", SPRIGS, ids=lambda folder: folder.name)
def test_a_version_can_be_read_by_all(folder):
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o644}


@pytest.mark.parametrize("folder", SPRIGS, ids=lambda folder: folder.name)
def test_a_page_shows_what_was_measured_and_no_rates_where_nothing_was(folder, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    page = (folder / "MODEL_CARD.md").read_text()
    if folder.name in CARDS:
        measured = [json.loads((folder / f"{kind}.json").read_text()) for kind in ("card", "training")]
        assert page == importlib.import_module("sprig_card").render(*measured)
    else:
        assert page.startswith(f"# {folder.name}\n") and "|" not in page and "%" not in page
    assert f"python scripts/sprig_card.py guerdon/models/sprig/{folder.name}" in page


def test_the_first_version_says_what_it_has_seen_of_todays_problems():
    assert "reorderings of problems it was trained on" in (SHIPPED["sprig-1"] / "MODEL_CARD.md").read_text()


def test_it_is_small_and_counts_in_digits(sprig):
    assert 2e6 <= sum(p.numel() for p in sprig.weights.parameters()) <= 6e6
    assert sprig.config.vocab <= 1024
    assert sum(f.stat().st_size for f in SHIPPED["sprig"].iterdir()) <= 16 * 2**20
    assert len(sprig.encode("1234567890")) == 12  # user, ten digits, assistant


def test_the_card_covers_every_family_and_level(card):
    families = {n for n in NAMES if n not in BY_NAME and isinstance(tasks.load(n), tasks.Family)}
    assert set(card) == families
    assert len(families) >= 12
    assert all(set(f["levels"]) == set("12345678") for f in card.values())


def test_easy_levels_are_mostly_solved_and_there_is_room_above(card):
    assert all(f["levels"]["1"]["sampled"] > 0.9 for f in card.values())
    room = [
        n
        for n, f in card.items()
        if any(0.1 <= x["sampled"] <= 0.4 and x["pass@16"] > 0.5 for x in f["levels"].values())
    ]
    assert len(room) >= 6


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


@pytest.mark.parametrize("name", ["chain:1", "sorting:1", "verify/chain:2", "tool/chain:2", "propose/sorting:2"])
def test_it_does_what_the_card_says(sprig, name):
    found = gd.evaluate(sprig, task=name, tasks=12, sampling=GREEDY)
    assert found["pass@1"] > 0.75, found


@pytest.mark.parametrize("count", mostly_slow([3, 12], 3))
def test_greedy_accuracy_is_the_same_through_transformers(sprig, tmp_path, count):
    transformers = pytest.importorskip("transformers")
    models.save(sprig, tmp_path / "export")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "export", dtype=torch.float32)
    words = transformers.AutoTokenizer.from_pretrained(tmp_path / "export")
    source = tasks.load("countdown:3")
    problems = [source.get("test", i) for i in range(count)]
    ours = answers(sprig, problems, sampling=GREEDY)
    for problem, answer in zip(problems, ours, strict=True):
        chat = words.apply_chat_template(
            [{"role": "user", "content": problem.prompt}],
            add_generation_prompt=True,
            return_tensors="pt",
            return_dict=False,
        )
        assert chat[0].tolist() == sprig.encode(problem.prompt).tolist()
        with torch.no_grad():
            made = theirs.generate(chat, max_new_tokens=200, do_sample=False, pad_token_id=0)
        assert words.decode(made[0, chat.shape[1] :], skip_special_tokens=True) == answer
    again = models.load(str(tmp_path / "export"))
    assert again.identity() == sprig.identity()


@pytest.mark.slow
def test_the_training_script_runs_end_to_end(tmp_path):
    command = [sys.executable, str(ROOT / "scripts" / "train_sprig.py"), "--out", str(tmp_path / "toy"), "--toy"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "toy" / "training.json").read_text())
    assert record["curve"][-1]["loss"] < record["curve"][0]["loss"] - 1.0
    assert models.load(str(tmp_path / "toy")).net is not None


@pytest.mark.slow
def test_the_demo_learns(tmp_path, monkeypatch, capsys):
    from guerdon.cli.main import main

    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["gain"] >= 0.2
    assert Path(found["report"]).is_file()
