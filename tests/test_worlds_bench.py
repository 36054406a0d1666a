"""What reinforcement adds (`bench/worlds.py`): numbers done by hand, and small runs from the ledger to the page."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import guerdon as gd
from bench import worlds_page
from bench.worlds import BEFORE, MODEL, SELF_PLAY, TRAINED, WORLDS, Field, World, WorldLedger, publish, run_field, tell
from guerdon.core.episode import Segment
from guerdon.core.pack import pack
from guerdon.core.part import walk
from guerdon.core.task import Ask
from guerdon.engine.player import Player
from guerdon.exams.drawing import draw_problems
from guerdon.prove.proving import How
from guerdon.training.build import RunRequest, build
from guerdon.training.record import Options

ROOT = Path(__file__).parent.parent
SVG = "{http://www.w3.org/2000/svg}"
PAGE = "# Worlds\n\n<!-- worlds: bench/worlds.py -->\nNot run yet.\n<!-- end of worlds -->\n\nWords.\n"
HAND = {"dice": World("dice", "hunt:3", max_tokens=8, steps=10)}


def record(seed, values, kind=TRAINED, world="dice", **changes):
    """What a ledger says of a run whose exams found these values: at the start, half way, late and at the end."""
    names = ("start", "0.5", "late", "last")[: len(values)]
    points = [
        {"spent": {"steps": step}, "result": {"point": point, "tasks": 100, "length": 10.0 + step, **found(value)}}
        for step, point, value in zip((0, 5, 9, 10), names, values, strict=False)
    ]
    known = {"world": world, "kind": kind, "setting": HAND["dice"].setting("m"), "source": "a", "machine": "x"}
    facts = {"created": "2026-01-01", "versions": {"device": "abacus"}, "at_a_time": 3, "weights": "w", "different": 90}
    return {"seed": seed, "points": points, "spent": {"seconds": 20.0 + seed}, **known, **facts, **changes}


def found(value):
    return value if isinstance(value, dict) else {"pass@1": value}


def by_hand():
    return [
        record(0, (0.3, 0.4, 0.5, 0.7)),
        record(1, (0.4, 0.5, 0.6, 0.6)),
        record(0, ({"pass@1": 0.3, "pass@16": 0.7},), BEFORE),
        record(1, ({"pass@1": 0.4, "pass@16": 0.8},), BEFORE),
    ]


def test_a_world_is_told_by_what_each_seed_gained_over_its_own_start():
    told = tell(by_hand(), HAND, "m")
    dice = told["worlds"]["dice"]
    assert [run["start"] for run in dice["runs"]] == [0.3, 0.4]
    assert [run["score"] for run in dice["runs"]] == pytest.approx([0.6, 0.6]), "the mean of the last two whole exams"
    assert worlds_page.gains(dice) == pytest.approx([0.3, 0.2])
    assert worlds_page.headroom(dice) == pytest.approx(0.75)
    assert [(p["spent"], p["mean"]) for p in dice["curve"]][0::3] == [(0, 0.35), (10, pytest.approx(0.65))]
    row = next(line for line in worlds_page.table(told).splitlines() if line.startswith("| dice"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    # 0.25 +- 12.71 * 0.0707 / sqrt(2); of the 40 points between 35 and 75 it gained 25
    assert cells[:5] == ["dice", "`hunt:3`", "100, 90 different", "35.0", "60.0 (60.0 to 60.0)"]
    assert cells[5:] == ["+25.0 (-38.5 to +88.5)", "75.0", "62 %", "10 to 20", "20"]


def test_only_runs_of_one_code_one_machine_and_this_setting_are_told():
    other = {**HAND["dice"].setting("m"), "task": "hunt:4"}
    others = [
        record(2, (0.9, 0.9, 0.9, 0.9), setting=other),
        record(0, (0.9, 0.9, 0.9, 0.9), source="b", created="2026-01-02"),
        record(1, (0.9, 0.9, 0.9, 0.9), machine="y"),
        record(0, ({"pass@16": 0.1},), BEFORE, source="b"),
        {"key": "of a proof", "seed": 0},
    ]
    assert tell([*others, *by_hand()], HAND, "m") == tell(by_hand(), HAND, "m")
    assert tell(by_hand(), HAND, "another model")["worlds"] == {}
    newer = [record(seed, (0.3, 0.4, 0.5, 0.5), source="b", created="2026-01-02") for seed in (0, 1)]
    dice = tell([*newer, *by_hand()], HAND, "m")["worlds"]["dice"]
    assert (dice["source"], dice["before"]) == ("b", []), (
        "of as many seeds the newer, and nothing of the older beside it"
    )


def test_what_was_told_is_told_again_beside_what_is_new():
    earlier = tell(by_hand(), HAND, "m")["worlds"]
    assert tell([], HAND, "m", earlier)["worlds"] == earlier, "without a ledger it is the memory"
    new = [record(2, (0.2, 0.4, 0.5, 0.5)), record(1, (0.4, 0.5, 0.6, 0.7)), record(2, ({"pass@16": 0.9},), BEFORE)]
    dice = tell(new, HAND, "m", earlier)["worlds"]["dice"]
    assert [run["score"] for run in dice["runs"]] == pytest.approx([0.6, 0.65, 0.5]), "what is new counts"
    assert [each["pass@16"] for each in dice["before"]] == [0.7, 0.8, 0.9]
    assert dice["curve"][0]["mean"] == pytest.approx(0.3), "of all three"
    for other in ({"source": "b"}, {"versions": {"device": "slide rule"}}):
        alone = [{**each, **other} for each in (*new, record(0, (0.2, 0.4, 0.5, 0.5)))]
        assert [run["score"] for run in tell(alone, HAND, "m", earlier)["worlds"]["dice"]["runs"]] == pytest.approx(
            [0.5, 0.65, 0.5]
        )
    changed = {"dice": dataclasses.replace(HAND["dice"], lr=1e-3)}
    assert tell([], changed, "m", earlier)["worlds"] == {}, "of another setting nothing stays"


def test_one_seed_tells_nothing():
    assert tell(by_hand()[:1], HAND, "m")["worlds"] == {}


def test_starts_without_room_are_named():
    told = tell([record(seed, (0.9, 0.9, 0.9 + 0.01 * seed, 0.9)) for seed in (0, 1)], HAND, "m")
    assert "little room in one direction: dice." in worlds_page.table(told)
    assert "little room" not in worlds_page.table(tell(by_hand(), HAND, "m"))


def test_the_figure_has_a_panel_a_world_and_a_line_at_many_tries():
    worlds = {name: dataclasses.replace(HAND["dice"], title=name) for name in "abcde"}
    records = [{**r, "world": name} for name in worlds for r in by_hand()]
    figure = ET.fromstring(worlds_page.draw(tell(records, worlds, "m")))
    words = ["".join(each.itertext()) for each in figure.iter(f"{SVG}text")]
    assert [w for w in words if w in worlds] == list("abcde") and words.count("pass@16 before") == 5
    dashed = [line for line in figure.iter(f"{SVG}line") if line.get("stroke-dasharray")]
    top, bottom = worlds_page.TOP, worlds_page.BOTTOM
    assert float(dashed[0].get("y1")) == pytest.approx(bottom - 0.75 * (bottom - top), abs=0.1)
    assert float(dashed[4].get("y1")) == pytest.approx(float(dashed[0].get("y1")) + worlds_page.HEIGHT), (
        "the second row"
    )


# --- small runs ---------------------------------------------------------------------------------------------------

TABLE = "prompts=2 tries=4 tabular.vocab=0123456789 tabular.length=2 tabular.rows=64"
SMALL = {"hunt": World("a hunt", "hunt:1", max_tokens=2, lr=0.3, steps=4, more=TABLE)}
EXAM = Options(
    rollouts_every=0, eval_every=0.5, eval_tasks=8, eval_whole=24, eval_late=0.75, eval_tries=1, eval_drawn=True
)
FIRST = Options(rollouts_every=0, eval_tasks=6, eval_tries=16, eval_drawn=True)
FIELD = Field(SMALL, "tabular", range(2), EXAM, FIRST)


@pytest.mark.slow
def test_runs_go_to_the_ledger_and_from_there_to_the_page(tmp_path, capsys):
    how, page = How(runs=tmp_path / "runs", jobs=1), tmp_path / "page.md"
    page.write_text(PAGE)
    run_field(dataclasses.replace(FIELD, seeds=range(1)), how)
    assert "2 of 2: hunt:1 grpo steps=0 seed 0" in capsys.readouterr().out
    run_field(FIELD, how)
    assert "2 of 2: hunt:1 grpo steps=0 seed 1" in capsys.readouterr().out, "what is known is not run again"
    lines = [json.loads(line) for line in (tmp_path / "runs" / "records.jsonl").read_text().splitlines()]
    lines = [line for line in lines if "weights" in line]  # others say which code ran
    assert [(r["world"], r["kind"], r["seed"]) for r in lines] == [
        ("hunt", kind, seed) for seed in (0, 1) for kind in (TRAINED, BEFORE)
    ]
    trained, before = lines[:2]
    assert [(p["result"]["point"], p["result"]["tasks"]) for p in trained["points"]] == [
        ("start", 24), ("0.5", 8), ("late", 24), ("last", 24)
    ]  # fmt: skip
    assert (trained["spent"]["steps"], trained["spent"]["samples"]) == (4, 32)
    assert before["points"][0]["result"]["tries"] == 16 and before["spent"] == {}, "nothing was learned"

    drawn = {t.prompt for t in draw_problems(gd.tasks.load("hunt:1"), 24, seed=0)}
    assert 1 < trained["different"] <= 24 and trained["different"] == len(drawn)

    told = tell(WorldLedger.read(how.runs).records, SMALL, "tabular")
    run_field(FIELD, How(runs=tmp_path / "elsewhere", jobs=1), told["worlds"])
    assert "0 of 0: begin" in capsys.readouterr().out, "nor what was told"
    publish(told, tmp_path, page)
    assert json.loads((tmp_path / "worlds.json").read_text())["worlds"]["hunt"]["runs"][1]["seed"] == 1
    assert ET.parse(tmp_path / "worlds.svg").getroot() is not None
    text = page.read_text()
    assert "| a hunt | `hunt:1` |" in text and "Not run yet" not in text and text.endswith("Words.\n")
    assert "| a hunt | `hunt:1` |" in capsys.readouterr().out
    publish(told, tmp_path, page)
    assert page.read_text() == text


@pytest.mark.slow
def test_nothing_known_is_a_line(tmp_path):
    command = [sys.executable, "-m", "bench.worlds", "--tell", "--model", "sprig-9", "--runs", str(tmp_path)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "worlds: nothing is known of sprig-9 in any world: python -m bench.worlds\n"


# --- the worlds themselves ----------------------------------------------------------------------------------------


@pytest.mark.sampled(3, "name")
@pytest.mark.parametrize("name", WORLDS)
def test_every_world_can_be_built(name):
    arms = WORLDS[name].arms(MODEL, EXAM, FIRST)
    trained, before = arms[TRAINED].build().recipe, arms[BEFORE].build().recipe
    assert (trained.prompts * trained.curriculum.tries, trained.budget.unit) == (128, "steps")
    assert trained.budget.amount == WORLDS[name].steps and before.steps == 0 and before.budget is None
    checkers = {part.checker for _, part in walk(trained) if hasattr(part, "checker")}
    assert checkers <= {"plain"}, "no box for every program"


@pytest.mark.sampled(3, "name")
@pytest.mark.parametrize("name", WORLDS)
def test_what_one_who_knows_everything_says_fits(name):
    """95 % of problems, as a proof asks for: every turn the limit, and the whole conversation the context."""
    recipe = WORLDS[name].arms(MODEL, EXAM, FIRST)[TRAINED].build().recipe
    source, model = recipe.exams[0].source, recipe.models["policy"]
    model.start(0, {})
    fits = []
    for i in range(20):
        turns, path = gd.gold_turns(source, source.get("train", i)), []
        for view, said in turns:
            reply = model.teacher_force(view, said, path)
            path.append(Segment("policy", view, reply.context, reply.actions, reply.logp, said, len(path) - 1))
        longest = max(len(segment.actions) for segment in path)
        whole = sum(len(segment.context) + len(segment.actions) for segment in path)
        fits.append(longest <= recipe.sampling.max_tokens and whole <= model.max_positions)
    assert sum(fits) >= 19


def test_the_game_is_played_by_one_policy_on_both_sides_and_examined_against_another():
    request = RunRequest(SELF_PLAY, "nim:2", "tabular", settings={"prompts": "3", "against": "perfect"}, text=True)
    recipe = build(request).recipe
    assert recipe.env.roles == ("first", "second") and {*recipe.seats.values()} == {"policy"}
    assert recipe.curriculum.task.against == recipe.stages.scores[0].task.against == ""
    assert (recipe.exams[0].source.against, recipe.exams[0].env.against) == ("perfect", "perfect")
    deals = [{recipe.exams[0].source.canonical(source.get(split, i).meta) for i in range(200)}
             for split, source in (("train", recipe.curriculum.task), ("test", recipe.exams[0].source))]  # fmt: skip
    assert not deals[0] & deals[1], "up to the order of heaps"


def test_each_side_of_a_game_is_compared_with_its_own_tries():
    """Two games of heaps 1 and 2: one is won by who begins, leaving equal heaps; one by the other, who takes the rest."""
    recipe = build(RunRequest(SELF_PLAY, "nim:1", "tabular")).recipe
    deal = recipe.curriculum.task.get("train", 0)
    deal.meta["heaps"] = [1, 2]
    begins = iter(["take 1 from 2", "take 1 from 1"])
    answers = {"nim 1 1": "take 1 from 1", "nim 0 2": "take 2 from 2", "nim 0 1": "take 1 from 2"}

    def move(view, past, seed):
        heaps = view.splitlines()[-1]
        return next(begins) if heaps == "nim 1 2" else answers[heaps]

    models = {side: gd.models.scripted(move) for side in ("first", "second")}
    for model in models.values():
        model.start(0, models)
    play = Player(models, {side: side for side in models}, recipe.env, recipe.sampling, 0, 1)
    batch = pack(play([Ask(deal, 2)]))
    for stage in (*recipe.stages.scores, *recipe.stages.credit):
        batch = stage(batch, play)
    side_K = [batch.roles[role] for role in batch.role_K.tolist()]
    won_K = batch["correct"].tolist()
    assert sorted(zip(side_K, won_K, strict=True)) == [("first", 0), ("first", 1), ("second", 0), ("second", 1)]
    advantage_K = batch.up(batch["advantage"], "track", by="mean").tolist()
    # half a game from the mean of its side, over the deviation of 0 and 1
    assert advantage_K == pytest.approx([0.5 / 0.5**0.5 * (1 if won else -1) for won in won_K], abs=1e-3)


@pytest.mark.slow
def test_self_play_is_run_like_any_other(tmp_path):
    game = World("nim", "nim:1", max_tokens=8, steps=1, more="prompts=2 tries=2", recipe="self_play")
    exam = Options(eval_tasks=4, eval_tries=1, eval_drawn=True)
    run_field(Field({"game": game}, MODEL, range(1), exam, exam), How(runs=tmp_path / "runs", jobs=1))
    trained, before = WorldLedger.read(tmp_path / "runs").records
    assert (trained["kind"], trained["spent"]["samples"]) == (TRAINED, 4) and before["kind"] == BEFORE
    assert [point["result"]["task"] for point in trained["points"]] == ["nim", "nim"]


def test_the_page_is_in_the_site_and_has_a_place_for_numbers():
    page = (ROOT / "docs" / "worlds_learned.md").read_text()
    assert worlds_page.PLACE.search(page) and "worlds_learned.md" in (ROOT / "mkdocs.yml").read_text()
    assert [*re.findall(r"\]\((figures/[^)]+)\)", page)] == [*{*re.findall(r"\]\((figures/[^)]+)\)", page)}]
