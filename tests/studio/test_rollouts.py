"""Rollouts are searched as a plain filter over `Run.rollouts` would, whatever their columns are called and their texts say."""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import duckdb
import pytest
from searched_runs import HOSTILE, PlainFilter, keys_of, make_run, one_step, rows_of, write_step

from guerdon.core.errors import UserError
from guerdon.runs.folder import RunFolder
from guerdon.runs.labels import add_label
from guerdon.runs.run import Missing
from guerdon.studio.library import Library, id_of
from guerdon.studio.rollouts import index_shelf, rollout_index
from guerdon.studio.rollouts.facets import facets
from guerdon.studio.rollouts.index_shelf import IndexShelf, TooLong
from guerdon.studio.rollouts.matched_rows import matching
from guerdon.studio.rollouts.rollout_filters import RolloutFilter, filter_of
from guerdon.studio.rollouts.saving import lines_of
from guerdon.studio.rollouts.scratch import ScratchFolder
from guerdon.studio.rollouts.searching import RowOrder, RowPage, RowPlace, search

CASES = [
    {}, {"step": ["2"]}, {"step": ["1..2"]}, {"step": ["..1"]}, {"step": [">1"]}, {"kind": ["sums:1"]},
    {"kind": ["sums:1", "sorts:2"]}, {"family": ["sorts"]}, {"role": ["judge"]}, {"end": ["cut", "failed"]},
    {"length": ["3..5"]}, {"length": ["0"]}, {"where": ["reward:>0"]}, {"where": ["reward:-0.5..0.5", "correct:1"]},
    {"where": ["reward:none"]}, {"where": ["correct:any", "length:>=4"]}, {"where": ["advantage:<-0.25"]},
    {"reason": ["failed"]}, {"reason": ["reward:timed out"]}, {"reason": ["reward:failed", "correct:failed"]},
    {"learned": ["no"]}, {"learned": ["yes"], "end": ["stopped"]}, {"task": ["t1"]}, {"task": ["sums/t0"]},
    {"ask": ["2.1"]}, {"text": ["carry"]}, {"text": ["CARRY nine"]}, {"text": ['"the two"']}, {"text": ['"the  two"']},
    {"text": ["-carry -needle"]}, {"text": ["re:car+y.*(two|nine)"]}, {"text": ["-re:^w"]}, {"text": ['re:"the +two"']},
    {"text": ["köln"]}, {"text": ["KÖLN"]}, {"text": ["100%"]}, {"text": ["_under_"]}, {"text": ["\\back"]},
    {"text": ["'quoted'"]}, {"text": ["<script>"]}, {"text": ["prompt sum"]}, {"text": ["'; DROP"]},
    {"text": ["two"], "where": ["reward:..0.3"], "role": ["policy"], "step": ["1.."]},
    *({"where": [f"{name}:>0.1"]} for name in HOSTILE), *({"reason": [f"{name}:failed"]} for name in HOSTILE[:3]),
]  # fmt: skip


ALL = RowPage(size=500)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("searched") / "runs" / "a", names=tuple(HOSTILE))


@pytest.fixture(scope="module")
def shelf(folder: Path):
    shelf = IndexShelf(Library([folder.parent]))
    yield shelf
    shelf.close()


@pytest.fixture(autouse=True)
def always_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollout_index, "FRESH", 0.0)


def run_ids(shelf):
    return [each.id for each in shelf.library.runs()]


def found(shelf, ids=None, page=None, **asked):
    """An answer, once all is read."""
    page = page or ALL
    wanted = asked.pop("filter", None) or filter_of(asked)
    with shelf.indexes(ids or run_ids(shelf)) as indexes:
        settle(indexes)
        with matching(shelf, indexes, wanted, page.order.column) as (matched, _):
            return search(matched, page)


def settle(indexes):
    while not all(index.look().done for index in indexes):
        threading.Event().wait(0.005)
    return [index.look() for index in indexes]


@pytest.mark.sampled(20, "asked")
@pytest.mark.parametrize("asked", CASES, ids=lambda asked: json.dumps(asked))
def test_a_search_finds_what_a_plain_filter_does(shelf, folder, asked):
    plain = [row for row in rows_of(folder) if PlainFilter(asked)(row)]
    answer = found(shelf, **asked)
    assert sorted(keys_of(answer["rows"])) == sorted(keys_of(plain))
    assert answer["total"] == len(plain)
    rewards = [row["reward"] for row in plain if row["reward"] is not None]
    assert answer["mean_reward"] == (pytest.approx(sum(rewards) / len(rewards)) if rewards else None)
    assert answer["steps"] == ([min(r["step"] for r in plain), max(r["step"] for r in plain)] if plain else None)


def test_the_cases_let_some_through_and_keep_some_out(folder):
    rows = rows_of(folder)
    many = [sum(map(PlainFilter(asked), rows)) for asked in CASES]
    assert sum(0 < n < len(rows) for n in many) > 0.8 * len(CASES)


def test_what_a_row_shows(shelf, folder):
    plain = dict(zip(keys_of(rows_of(folder)), rows_of(folder), strict=True))
    names = ("reward", "correct", "advantage", *HOSTILE)
    answer = found(shelf, page=RowPage(columns=names, size=500), text=["needle"])
    assert answer["rows"]
    for row in answer["rows"]:
        whole = plain[row["step"], row["episode"], row["segment"]]
        assert row["values"] == {
            name: pytest.approx(whole[name]) if whole[name] is not None else None for name in names
        }
        assert row["reasons"] == {n: whole[f"{n}:reason"] for n in names if whole[f"{n}:reason"] is not None}
        assert [is_marked for _, is_marked in row["line"]] == [False, True, False]
        assert row["characters"] == len(whole["completion"]) and len("".join(text for text, _ in row["line"])) <= 242


@pytest.mark.sampled(5, "order")
@pytest.mark.parametrize(
    "order", ["", "reward", "-reward", "-advantage", "length", "-end", "episode", 'he said "x"', "-a.b"]
)
@pytest.mark.parametrize("size", [13, 500])
def test_pages_forward_and_back_are_the_whole_in_order(shelf, folder, order, size):
    by = RowOrder.of(order)
    whole = found(shelf, page=RowPage(by, size=500))
    keys = keys_of(whole["rows"])
    values = [row[by.column] for row in _with(rows_of(folder), keys)]
    there = [value for value in values if value is not None]
    assert values[: len(there)] == sorted(there, reverse=by.down), "what has no number comes last"
    forward, answer, starts = [], found(shelf, page=RowPage(by, size=size)), []
    while True:
        starts.append(answer["from"])
        forward += keys_of(answer["rows"])
        if answer["next"] is None:
            break
        answer = found(shelf, page=RowPage(by, RowPlace.of(answer["next"]), size=size))
    assert forward == keys and starts == list(range(0, len(keys), size))
    back = keys_of(answer["rows"])
    while answer["previous"] is not None:
        answer = found(shelf, page=RowPage(by, before=RowPlace.of(answer["previous"]), size=size))
        back = keys_of(answer["rows"]) + back
        assert answer["next"] is not None
    assert back == keys and answer["from"] == 0


def _with(rows, keys):
    by_key = dict(zip(keys_of(rows), rows, strict=True))
    return [by_key[key] for key in keys]


def test_pages_lose_and_double_nothing_while_files_come(tmp_path):
    folder = make_run(tmp_path / "runs" / "a", steps=0)
    for step in (4, 5):
        write_step(folder, step)
    shelf = IndexShelf(Library([tmp_path / "runs"]))
    first = keys_of(rows_of(folder))
    seen, answer, step = [], found(shelf, page=RowPage(RowOrder("reward", True), size=5)), 6
    while True:
        seen += keys_of(answer["rows"])
        if answer["next"] is None:
            break
        if step < 9:
            write_step(folder, step)  # newer ones, whose rewards lie anywhere
            step += 1
        answer = found(shelf, page=RowPage(RowOrder("reward", True), RowPlace.of(answer["next"]), size=5))
    shelf.close()
    assert len(seen) == len(set(seen)) and set(first) <= set(seen)


@pytest.mark.parametrize(
    "asked", [{"where": ["length:>1"], "role": ["policy"]}, {"text": ["-needle"], "end": ["done", "cut"]}]
)
def test_facets_count_what_is_let_through(shelf, folder, asked):
    plain = [row for row in rows_of(folder) if PlainFilter(asked)(row)]
    wanted = filter_of(asked)
    with shelf.indexes(run_ids(shelf)) as indexes:
        settle(indexes)
        with matching(shelf, indexes, wanted) as (matched, _):
            told = facets(matched)
    for name, of in {
        "end": lambda r: r["end"],
        "kind": lambda r: f"{r['family']}:{r['level']}",
        "learned": lambda r: r["learned"],
    }.items():
        values = [of(row) for row in plain]
        assert dict(told[name]) == {value: values.count(value) for value in values}
    assert {(c, w): n for c, w, n in told["reason"] if c in ("reward", "Reward")} == {
        (c, w): n
        for c in ("reward", "Reward")
        for w in ("failed", "timed out", "not applicable")
        if (n := sum(row[f"{c}:reason"] == w for row in plain))
    }
    rewards = [row["reward"] for row in plain if row["reward"] is not None]
    spread = told["histograms"]["reward"]
    assert (spread["low"], spread["high"], spread["count"]) == (min(rewards), max(rewards), len(rewards))
    wide = (max(rewards) - min(rewards)) / len(spread["bins"])
    bins = [min(len(spread["bins"]) - 1, int((reward - min(rewards)) / wide)) for reward in rewards]
    assert spread["bins"] == [bins.count(n) for n in range(len(spread["bins"]))]


def test_several_runs_at_once_with_columns_of_their_own(tmp_path):
    one, other = tmp_path / "runs" / "one", tmp_path / "runs" / "two"
    make_run(one, steps=0), make_run(other, steps=0)
    one_step(one, 0, ["a", "b"], reward=[1.0, 2.0], brief=[0.0, 5.0])
    one_step(one, 1, ["c"], reward=[9.0], Brief=[7.0])  # another step of it has another column
    one_step(other, 0, ["b", "d"], reward=[3.0, 4.0])
    shelf = IndexShelf(Library([tmp_path / "runs"]))
    ids = run_ids(shelf)
    answer = found(shelf, page=RowPage(RowOrder("reward", True), columns=("reward", "brief", "Brief")))
    assert [(ids.index(row["run"]), row["values"]["reward"]) for row in answer["rows"]] == [
        (0, 9),
        (1, 4),
        (1, 3),
        (0, 2),
        (0, 1),
    ]
    assert answer["rows"][0]["values"] == {"reward": 9.0, "brief": None, "Brief": 7.0}
    assert answer["rows"][1]["values"] == {"reward": 4.0}
    assert [
        row["values"]["brief"] for row in found(shelf, where=["brief:>1"], page=RowPage(columns=("brief",)))["rows"]
    ] == [5.0]
    assert found(shelf, text=["b"])["total"] == 2
    pages = [found(shelf, page=RowPage(RowOrder("reward", True), size=2))]
    while pages[-1]["next"]:
        pages.append(found(shelf, page=RowPage(RowOrder("reward", True), RowPlace.of(pages[-1]["next"]), size=2)))
    assert [row["values"]["reward"] for page in pages for row in page["rows"]] == [9, 4, 3, 2, 1]
    with pytest.raises(UserError, match="unknown column 'brieff': did you mean 'brief'"):
        found(shelf, where=["brieff:1"])
    shelf.close()


def test_files_that_come_go_change_and_break(tmp_path):
    folder = make_run(tmp_path / "runs" / "a", steps=0)
    for step in range(3):
        one_step(folder, step, [f"old {step}", "same"], reward=[0.0, math.inf])
    shelf = IndexShelf(Library([folder.parent]))
    assert found(shelf)["total"] == 6
    assert found(shelf, page=RowPage(RowOrder("reward", True)))["rows"][0]["values"] == {"reward": "inf"}
    place = RowPlace.of(found(shelf, page=RowPage(RowOrder("reward", True), size=1))["next"])
    assert found(shelf, page=RowPage(RowOrder("reward", True), place))["from"] == 1
    one_step(folder, 1, ["new 1"], reward=[1.0])  # a resumed run writes a step again
    one_step(folder, 3, ["new 3"], reward=[1.0])
    rollouts = RunFolder(folder).rollouts
    rollouts(2).unlink()
    whole = rollouts(0).read_bytes()
    rollouts(0).write_bytes(whole[:-40])
    (folder / "rollouts" / "step-00000004.parquet").write_bytes(b"")
    (folder / "rollouts" / "step-00000005.parquet").mkdir()
    rollouts(6).write_bytes(rollouts(3).read_bytes())  # not its step's
    (folder / "rollouts" / "other.parquet").write_bytes(b"no business of ours")
    with shelf.indexes(run_ids(shelf)) as indexes:
        (state,) = settle(indexes)
    assert (state.files, state.of, state.rows, state.damaged) == (6, 6, 2, 4)
    assert [row["line"][0][0] for row in found(shelf)["rows"]] == ["new 3", "new 1"]
    assert all(
        name in fault
        for name, fault in zip(("00000000", "00000004", "00000005", "00000006"), state.faults, strict=True)
    )
    assert all("\n" not in fault for fault in state.faults)
    rollouts(0).write_bytes(whole)
    assert found(shelf)["total"] == 4
    known = run_ids(shelf)
    (folder / "run.json").unlink()
    with pytest.raises(Missing):
        found(shelf, ids=known)
    shelf.close()


def test_a_huge_completion_is_cut_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(rollout_index, "CUT", {**rollout_index.CUT, "completion": 100})
    folder = make_run(tmp_path / "runs" / "a", steps=0)
    one_step(folder, 0, ["é" * 99 + "end" + "x" * 5000])
    shelf = IndexShelf(Library([folder.parent]))
    (row,) = found(shelf)["rows"]
    assert row["characters"] == 5102
    assert found(shelf, text=["ée"])["total"] == 1 and found(shelf, text=["end"])["total"] == 0
    shelf.close()


def test_what_labels_name_is_a_filter(shelf, folder):
    (id,) = run_ids(shelf)
    keys = keys_of(rows_of(folder))[3:9]
    told = found(shelf, filter=RolloutFilter(keys={id: frozenset(keys)}))
    assert sorted(keys_of(told["rows"])) == sorted(keys)
    assert found(shelf, filter=RolloutFilter(keys={}))["total"] == 0


@pytest.mark.slow
def test_labels_as_people_give_them(ask, tmp_path):
    folder = make_run(tmp_path / "runs" / "a", steps=0)
    one_step(folder, 0, ["a", "b", "c", "d"], reward=[0.0, 1.0, 2.0, 3.0])
    for number, kind in enumerate(("right", "wrong", "right")):
        add_label(folder, {"kind": kind, "step": 0, "episode": f"0.{number}.0", "segment": 0, "completion": "said"})
    with ask(folder.parent) as client:
        run = id_of(folder)

        def told(*labels):
            answer = client.get(
                "/api/rollouts", params={"run": run, "label": labels, "sort": "reward", "facets": "1"}
            ).json()
            return [row["line"][0][0] for row in answer["rows"]], answer["facets"]["label"]

        assert told() == (["a", "b", "c", "d"], [["right", 2], ["wrong", 1]])
        assert told("right") == (["a", "c"], [["right", 2]])
        assert told("right", "wrong") == told("any") == (["a", "b", "c"], [["right", 2], ["wrong", 1]])
        assert told("none") == (["d"], []) and told("hack") == ([], [])
        saved = client.get("/api/rollouts/rows.jsonl", params={"run": run, "label": "wrong"}).text.splitlines()
        assert [json.loads(line)["completion"] for line in saved] == ["b"]
        refused = client.get("/api/rollouts", params={"run": run, "label": "rihgt"})
        assert refused.status_code == 422 and "did you mean 'right'" in refused.json()["error"]


def test_rows_to_take_away(shelf, folder):
    wanted, order = filter_of({"role": ["policy"]}), RowOrder("advantage", True)
    with shelf.indexes(run_ids(shelf)) as indexes:
        settle(indexes)
        with matching(shelf, indexes, wanted, order.column) as (matched, _):
            lines, many = lines_of(matched, order)
    rows = [json.loads(line) for line in lines.splitlines()]
    plain = _with(rows_of(folder), keys_of(rows))
    assert many == len(rows) == sum(row["role"] == "policy" for row in rows_of(folder))
    for row, whole in zip(rows, plain, strict=True):
        assert {n: row[n] for n in ("completion", "prompt", "reward:reason", *HOSTILE)} == {
            n: whole[n] for n in ("completion", "prompt", "reward:reason", *HOSTILE)
        }


def test_a_question_that_takes_too_long_is_ended(shelf):
    with pytest.raises(TooLong, match=r"took longer than 0\.05 s: ask for less"), shelf.question(0.05) as cursor:
        cursor.execute(
            "SELECT count(*) FROM range(10000000000) a, range(1000) b WHERE (a.range + b.range) % 7 = 1"
        ).fetchall()
    assert found(shelf)["total"] > 0, "others go on"


def test_duckdb_reaches_nothing_else(shelf, tmp_path):
    (tmp_path / "secret.csv").write_text("a\n1\n")
    for statement in (
        f"SELECT * FROM read_csv('{tmp_path}/secret.csv')", f"COPY (SELECT 1) TO '{tmp_path}/out.csv'", "INSTALL httpfs",
        f"ATTACH '{tmp_path}/x.duckdb'", "SET enable_external_access = true",
    ):  # fmt: skip
        with pytest.raises(duckdb.Error), shelf.question() as cursor:
            cursor.execute(statement).fetchall()
    assert not (tmp_path / "out.csv").exists() and not (tmp_path / "x.duckdb").exists()


@pytest.mark.slow
def test_only_the_last_runs_stay_open_and_nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr(index_shelf, "OPEN", 2)
    for name in "abcd":
        one_step(make_run(tmp_path / "runs" / name, steps=0), 0, [name])
    shelf = IndexShelf(Library([tmp_path / "runs"]))
    ids = run_ids(shelf)
    for turn in range(2):
        for id, name in zip(ids, "abcd", strict=True):
            assert found(shelf, [id])["rows"][0]["line"] == [[name, False]], turn
    place = shelf._folder.path
    assert list(shelf._open) == ids[2:] and len(list(place.glob("*.duckdb"))) == 2
    with pytest.raises(UserError, match="3 runs at once are too many: 2"):
        found(shelf, ids[:3])
    shelf.close()
    assert not place.exists()


def test_what_a_killed_studio_left_is_swept(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = "import os; from guerdon.studio.rollouts.scratch import ScratchFolder as S; print(S().path, flush=True); os._exit(9)"
    around = {**os.environ, "TMPDIR": str(tmp_path)}
    left = Path(
        subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=around).stdout.strip()
    )
    assert left.parent == tmp_path
    (left / "run1.duckdb").write_bytes(b"large")
    (tmp_path / "guerdon-studio-other").mkdir()  # not one of ours, or one that is just being made
    mine = ScratchFolder()
    other = ScratchFolder()
    assert not left.exists() and mine.path.exists() and other.path.exists()
    mine.remove(), other.remove()
    assert [each.name for each in tmp_path.iterdir()] == ["guerdon-studio-other"]


def test_many_ask_while_files_come(tmp_path):
    """Threads that search, while steps are written, written again and deleted, see whole steps and no error."""
    folder = make_run(tmp_path / "runs" / "a", steps=0)
    for step in range(6):
        one_step(folder, step, [f"{step} {n}" for n in range(10)], reward=[float(n) for n in range(10)])
    shelf = IndexShelf(Library([folder.parent]))
    draw, faults, done = random.Random(0), [], threading.Event()

    def look(asked):
        try:
            while not done.is_set():
                with shelf.indexes(run_ids(shelf)) as indexes, matching(shelf, indexes, asked) as (matched, _):
                    answer = search(matched, RowPage(size=200))
                    assert sum(many for _, many in facets(matched)["end"]) == answer["total"]
                    steps = [row["step"] for row in answer["rows"]]
                    assert all(steps.count(step) in (1, 10) for step in steps), steps
        except BaseException as error:  # noqa: BLE001
            faults.append(error)

    threads = [
        threading.Thread(target=look, args=(filter_of(asked),))
        for asked in ({}, {"where": ["reward:>=0"]}, {"text": ["-zzz"]})
    ]
    for thread in threads:
        thread.start()
    for turn in range(20):
        step = draw.randrange(8)
        if turn % 5 == 4 and RunFolder(folder).rollouts(step).exists():
            RunFolder(folder).rollouts(step).unlink()
        else:
            size = draw.choice([1, 10])
            extra = {"extra": [1.0] * size} if turn > 10 else {}
            one_step(folder, step, [f"{turn} {n}" for n in range(size)], reward=[1.0] * size, **extra)
    with shelf.indexes(run_ids(shelf)) as indexes:
        settle(indexes)
    done.set()
    for thread in threads:
        thread.join()
    assert not faults, faults[0]
    assert sorted(keys_of(found(shelf)["rows"])) == sorted(keys_of(rows_of(folder)))
    shelf.close()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"step": ["x"]}, "step=x: a number or a range"),
        ({"where": ["reward"]}, "where=reward: a column and what"),
        ({"where": ["role:1"]}, "role holds no numbers"),
        ({"where": ["a:.."]}, "a number or"),
        ({"end": ["dnoe"]}, "did you mean 'done'"),
        ({"learned": ["x"]}, "yes for what"),
        ({"reason": ["reward:fialed"]}, "did you mean 'failed'"),
        ({"text": ['re:""']}, "re: wants a pattern"),
        ({"text": ["re:" + "a" * 300]}, "re: wants a pattern"),
        ({"text": ["a" * 2000]}, "too long to search"),
        ({"text": ["a " * 40]}, "too many"),
    ],
)
def test_mistakes_are_said_in_a_line(asked, words):
    with pytest.raises(UserError, match=words.replace("(", r"\(")) as told:
        filter_of(asked)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("pattern", ["(", "a{2000}", "(?<=x)y", "\\", "[z-a]", "(a*)*(b"])
def test_what_is_no_pattern_is_said_in_a_line(shelf, pattern):
    with pytest.raises(UserError, match="is not a regular expression") as told:
        found(shelf, text=[f"re:{pattern}"])
    assert "\n" not in str(told.value)
    with pytest.raises(UserError, match="is not a regular expression"):
        found(shelf, text=[f"-re:{pattern}"])


@pytest.mark.parametrize(
    "text", ["", "x", "bnVsbA==", "W10=", "WzEsMiwzLDRd", "é", "W3siYSI6MX0sIDEsICJhIiwgMV0=", "A" * 5000]
)
def test_a_place_that_is_none_is_refused(text):
    with pytest.raises(UserError, match="after= and before="):
        RowPlace.of(text)


def test_over_http(ask, folder):
    with ask(folder.parent) as client:
        (run,) = client.get("/api/rollouts/runs").json()["runs"]
        assert run["files"] == 4 and run["name"].endswith(f"{os.sep}a")
        asked = {
            "run": run["id"],
            "facets": "1",
            "where": "reward:any",
            "sort": "-reward",
            "size": "3",
            "column": HOSTILE[0],
        }
        while not (answer := client.get("/api/rollouts", params=asked).json())["runs"][0]["indexed"]["done"]:
            pass
        plain = [row for row in rows_of(folder) if row["reward"] is not None]
        assert answer["total"] == len(plain) and answer["all"] == len(rows_of(folder))
        assert answer["rows"][0]["values"]["reward"] == max(row["reward"] for row in plain)
        assert HOSTILE[0] in answer["rows"][0]["values"] and set(HOSTILE) < set(answer["runs"][0]["columns"])
        assert sum(many for _, many in answer["facets"]["end"]) == len(plain)
        assert client.get("/api/rollouts/steps", params={"run": run["id"]}).json() == {"steps": [0, 1, 2, 3]}
        saved = client.get("/api/rollouts/rows.jsonl", params=asked)
        assert saved.headers["x-guerdon-rows"] == f"{len(plain)} of {len(plain)}" and len(
            saved.text.splitlines()
        ) == len(plain)
        for wrong, status in (
            ({"run": ""}, 422), ({"run": "nope"}, 404), ({"size": "0"}, 422), ({"text": "re:("}, 422), ({"sort": "nope"}, 422),
            ({"after": "nope"}, 422),
        ):  # fmt: skip
            refused = client.get("/api/rollouts", params={"run": run["id"], **wrong})
            assert refused.status_code == status and len(refused.json()["error"].splitlines()) == 1
