"""Preferences from a run's rollouts: the pairs it learned from, or its best and worst tries, as lines that TRL and dpo read."""

from __future__ import annotations

import json

import pytest
from command_line import command_line, refused
from refusals import refusal

import guerdon as gd
from guerdon.results.run_pairs import export_pairs


def train(folder, recipe, *more):
    settings = {"prompts": 2, "tries": 4, "tabular.length": 1, **dict(more)}
    return gd.train(
        recipe, task="parity", model="tabular", steps=3, settings=settings, out=folder, options=gd.Options(eval_tasks=0)
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    train(folder / "pairs", "online_dpo")
    train(folder / "tries", "grpo")
    return folder


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def by_hand(run, column):
    """[(prompt, better, worse)] of each step's prompts, in TRL's form; each once."""
    rows = []
    for _, batch in run.batches():
        for ask in range(batch.size("ask")):
            tries = [k for k in range(batch.K) if batch.ask[batch.leaf[k]] == ask]
            tries.sort(key=lambda k: -float(batch[column][k]))
            best, worst = tries[0], next(k for k in tries if batch[column][k] == batch[column][tries[-1]])
            if batch[column][best] > batch[column][worst]:
                row = [batch.asks[best].shown, batch.texts[best], batch.texts[worst]]
                rows += [row] if row not in rows else []
    return rows


def plain(row):
    ((asked,), (chosen,), (rejected,)) = row["prompt"], row["chosen"], row["rejected"]
    assert (asked["role"], chosen["role"], rejected["role"]) == ("user", "assistant", "assistant")
    return [asked["content"], chosen["content"], rejected["content"]]


def test_a_run_without_pairs_gives_the_best_and_the_worst_try(runs, tmp_path):
    written = export_pairs(runs / "tries", tmp_path / "pairs.jsonl")
    rows = lines(tmp_path / "pairs.jsonl")
    assert [plain(row) for row in rows] == by_hand(gd.Run(runs / "tries"), "correct") and rows
    assert written.pairs == len(rows) and written.told_by == "correct" and {row["margin"] for row in rows} == {1.0}


def test_a_run_that_learned_from_pairs_gives_those(runs, tmp_path):
    written = export_pairs(runs / "pairs", tmp_path / "pairs.jsonl")
    rows, run = lines(tmp_path / "pairs.jsonl"), gd.Run(runs / "pairs")
    said = [
        [batch.asks[i].shown, batch.texts[i], batch.texts[j]]
        for _, batch in run.batches()
        for i, j in zip(batch.pairs.better.tolist(), batch.pairs.worse.tolist(), strict=True)
    ]
    assert written.told_by == "the run's own pairs" and written.pairs + written.twice == len(said) > 0
    assert [plain(row) for row in rows] == [list(each) for each in dict.fromkeys(map(tuple, said))]


def test_dpo_trains_on_them(runs, tmp_path):
    export_pairs(runs / "tries", tmp_path / "pairs.jsonl")
    assert gd.tasks.preferences(str(tmp_path / "pairs.jsonl")).want == "pairs"
    run = gd.train(
        "dpo",
        data=str(tmp_path / "pairs.jsonl"),
        model="tabular",
        steps=1,
        settings={"prompts": 2},
        out=tmp_path / "dpo",
        options=gd.Options(eval_tasks=0),
    )
    assert run.batch(0).pairs is not None


def test_on_the_command_line(runs, tmp_path, monkeypatch, capsys):
    cli = command_line(tmp_path, monkeypatch, capsys)
    said = cli("export", str(runs / "tries"), "--pairs", "pairs.jsonl", "--by", "correct").out
    assert "told by correct" in said and "guerdon train dpo --data pairs.jsonl" in said
    told = cli("export", str(runs / "tries"), "--pairs", "more.jsonl", "--json")
    assert json.loads(told.out)["pairs"] == len(lines(tmp_path / "more.jsonl"))
    run = str(runs / "tries")
    refused(cli("export", run, "--pairs", "pairs.jsonl"), "pairs.jsonl already exists: name another file")
    refused(cli("export", run, "--pairs", "new.jsonl", "--by", "corect"), "did you mean 'correct'?")
    refused(cli("export", run, "--pairs", "new.jsonl", "--by", "length"), "unknown column to order tries by 'length'")
    refused(cli("export", run, "folder", "--pairs", "new.jsonl"), "--pairs new.jsonl writes no model: remove folder")
    refused(cli("export", run, "--pairs", "a.jsonl", "--traces", "b.jsonl"), "export one after the other")
    refused(cli("export", run, "--by", "correct"), "--by orders tries for --pairs FILE")
    assert not (tmp_path / "new.jsonl").exists()


def test_tries_that_are_all_alike_make_no_pairs(tmp_path):
    train(tmp_path / "run", "grpo", ("tries", 1))
    with refusal(gd.UserError):
        export_pairs(tmp_path / "run", tmp_path / "pairs.jsonl")
    assert not (tmp_path / "pairs.jsonl").exists()


def test_a_run_without_any_score_says_what_to_name(tmp_path):
    settings = {"prompts": 2, "tabular.length": 1}
    options = gd.Options(eval_tasks=0)
    gd.train("sft", task="parity", model="tabular", steps=1, settings=settings, out=tmp_path / "run", options=options)
    with refusal(gd.UserError, "--by"):
        export_pairs(tmp_path / "run", tmp_path / "pairs.jsonl")


@pytest.mark.peers
def test_trl_takes_them(runs, tmp_path):
    trl = pytest.importorskip("trl")
    datasets = pytest.importorskip("datasets")
    export_pairs(runs / "tries", tmp_path / "pairs.jsonl")
    rows = datasets.load_dataset("json", data_files=str(tmp_path / "pairs.jsonl"), split="train")
    assert all(trl.is_conversational(row) for row in rows)
    assert set(rows.column_names) == {"prompt", "chosen", "rejected", "margin"}
