"""Files of scores: formats, published shapes, refusals in a line, rewards that score texts, the command, and real files."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import pandas
import pytest
import typer
from refusals import refusal
from typer.testing import CliRunner

from guerdon.audits.scores.scoring import audit_scores, score_protocols
from guerdon.cli.audit_scores import PROTOCOLS, audit_scores_verb
from guerdon.core.errors import UserError

DATA = Path(__file__).parents[2] / ".." / "shared" / "data"
REWARDMATH = "rewardmath_scores_{}.json.gz"
PAIRS = [
    {"id": 1, "chosen_score": 2.0, "rejected_score": 1.0},
    {"id": 2, "chosen_score": 0.0, "rejected_score": 1.0},
    {"id": 3, "chosen_score": math.nan, "rejected_score": 1.0},
]


def real(name: str) -> Path:
    path = DATA / name
    if not path.exists():
        path = Path(__file__).parents[3] / ".." / "shared" / "data" / name
    if not path.exists():
        pytest.skip("needs shared/data")
    return path


@pytest.fixture(scope="module")
def app() -> typer.Typer:
    app = typer.Typer()
    app.command()(audit_scores_verb)
    return app


def save(path: Path) -> Path:
    text = json.dumps(PAIRS)  # with a NaN, as Python writes it
    columns = {name: [row[name] for row in PAIRS] for name in PAIRS[0]}
    match "".join(path.suffixes):
        case ".json" if path.stem == "columns":
            path.write_text(json.dumps({**columns, "model": "mine"}, indent=4))
        case ".json":
            path.write_text(text)
        case ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in PAIRS))
        case ".json.gz":
            path.write_bytes(gzip.compress(text.encode()))
        case ".jsonl.gz":
            path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in PAIRS).encode()))
        case ".csv":
            pandas.DataFrame(PAIRS).to_csv(path, index=False)
        case ".parquet":
            pandas.DataFrame(PAIRS).to_parquet(path)
    return path


@pytest.mark.parametrize("name", ["a.json", "columns.json", "a.jsonl", "a.json.gz", "a.jsonl.gz", "a.csv", "a.parquet"])
def test_every_format_says_the_same(tmp_path, name):
    report = audit_scores(save(tmp_path / name), "pairs", draws=0)
    assert (report["accuracy"], report.missing, report.rows, report.problems) == (0.5, 1, 3, 2)


def test_an_object_that_holds_no_columns_is_refused(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"a": [1], "b": [1, 2]}, indent=2))
    with refusal(UserError):
        audit_scores(tmp_path / "a.json", "pairs")


def test_columns_in_python():
    assert audit_scores({"chosen_score": [1, 0], "rejected_score": [0, 1]}, "pairs", draws=0)["accuracy"] == 0.5


@pytest.mark.parametrize(
    ("rows", "protocol", "says"),
    [
        ([{"chosen_score": 1}], "pairs", r"data, row 1: no column rejected_scores or .*; there is chosen_score$"),
        ([*PAIRS, {"rejected_score": 1}], "pairs", r"data, row 4: no column chosen_scores"),
        ([{"chosen_score": "good", "rejected_score": 1}], "pairs", r"row 1: chosen_score is a number, not 'good'"),
        ([{"chosen_score": 1, "rejected_score": 0}], "rewardbench", r"row 1: no column subset; there is"),
        (
            [{"subset": "Ties", "id": "x", "chosen_scores": [1], "rejected_scores": [0]}],
            "rewardbench-2",
            "ref:N or tied:N",
        ),
        ([{"score_chosen": [1, 2], "score_rejected": [1, 2, 3]}], "rm-bench", "here 2 and 3"),
        ([{"label": "A", "score_A": 1, "score_B": 2}], "judgebench", "label is A>B or B>A"),
        ([{"score": [1, 2], "solution_reference": ["a"]}], "rewardmath", "2 scores and 1 solution_reference"),
        ([{"score": [1], "solution_reference": ["a"]}], "rewardmath", "0 right, 1 wrong"),
        ([{"label": 0.5, "prediction": 1}], "processbench", "label is a whole number"),
        ([{"probability": 1.5}], "pairs", "between 0 and 1"),
        ([{"chosen_score": None, "rejected_score": 1}], "pairs", "no row has all the scores"),
        ([], "pairs", "holds no rows"),
        (PAIRS, "pear", "unknown protocol 'pear': did you mean 'pairs'?"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(rows, protocol, says):
    with pytest.raises(UserError, match=says) as refused:
        audit_scores(rows, protocol, draws=0)
    assert "\n" not in str(refused.value)


def test_an_infinite_score_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("chosen_score,rejected_score\n1,inf\n")
    with refusal(UserError, "2", "rejected_score"):
        audit_scores(tmp_path / "a.csv", "pairs")
    with refusal(UserError, "1"):
        audit_scores([{"chosen_score": 1, "rejected_score": math.inf}], "pairs")


def test_a_reward_scores_texts_first():
    rows = [
        {"prompt": "2+2", "chosen": "4", "rejected": ["four is 5", "6"], "answer": "4"},
        {"prompt": "3+3", "chosen": "it is 6", "rejected": ["6", "7"], "answer": "6"},
    ]
    report = audit_scores(rows, "pairs", reward="exact", draws=0)
    assert report["accuracy"] == 0.5 and report["ties"] == 0.25  # the second chosen one is not exactly the answer

    def broken(completion: str) -> float:
        raise ValueError

    with refusal(UserError):
        audit_scores(rows, "pairs", reward=broken)
    with pytest.raises(UserError, match="scores of steps"):
        audit_scores(rows, "processbench", reward="exact")


def test_a_reward_scores_the_four_texts_of_a_contrast():
    def shared(prompt: str, completion: str) -> float:
        return float(len({*prompt.split()} & {*completion.split()}))

    texts = {"query": "red cats", "retrieval": "red dogs", "query_response_k": "cats", "retrieval_response_k": "dogs"}
    report = audit_scores([texts], "contrast", reward=shared, draws=0)
    assert report["response side"] == 1 and report["instruction side"] == 1


def test_a_report_in_every_form():
    report = audit_scores(
        [*PAIRS, {"id": "<b>", "subset": "<b>", "chosen_score": 2, "rejected_score": 1}], "pairs", draws=20
    )
    plain = report.to_dict()
    assert json.loads(json.dumps(plain))["measures"]["accuracy"]["value"] == report["accuracy"]
    assert plain["missing"] == 1 and "66.67 %" in str(report) and max(map(len, report.page(60).splitlines())) <= 80
    assert "&lt;b&gt;" in report._repr_html_() and "<b>" not in report._repr_html_()
    assert repr(report) == "ScoreReport(pairs on data: accuracy 66.67 %, accuracy, ties half 66.67 %)"
    with pytest.raises(KeyError, match="there is accuracy"):
        report["nothing"]


def test_the_command(app, tmp_path):
    file = str(save(tmp_path / "a.jsonl"))
    said = CliRunner().invoke(app, [file, "--protocol", "pairs", "--draws", "10"])
    assert said.exit_code == 0 and "accuracy" in said.stdout and "missing scores: 1" in said.stdout
    assert max(map(len, said.stdout.splitlines())) <= 80
    told = CliRunner().invoke(app, [file, "--protocol", "pairs", "--json"])
    assert json.loads(told.stdout)["measures"]["accuracy"]["value"] == 0.5
    assert json.loads(told.stdout)["measures"]["calibration/ECE"]["count"] == 2
    listed = CliRunner().invoke(app, [])
    assert "rewardmath" in listed.stdout and "a row holds" in listed.stdout
    assert PROTOCOLS.split(", ") == [*score_protocols()]
    lost = CliRunner().invoke(app, [file])
    assert isinstance(lost.exception, UserError) and "--protocol NAME: contrast, dimensions" in str(lost.exception)


def test_rewardmath_published_scores_of_skywork():
    report = audit_scores(real(REWARDMATH.format("skywork_llama3")), "rewardmath")
    assert round(100 * report["accuracy"], 2) == 22.15 and round(report["MRR"], 3) == 0.447 and report.problems == 483
    accuracy = report.measure("accuracy")
    assert (
        0.18 < accuracy.low < 0.19
        and 0.25 < accuracy.high < 0.27
        and report["best of/10"] == pytest.approx(accuracy.value)
    )


@pytest.mark.slow
def test_rewardmath_published_step_scores_of_math_shepherd():
    report = audit_scores(real(REWARDMATH.format("Math_Shepherd")), "rewardmath", draws=0)
    accuracy = {
        "min": 15.32, "max": 3.93, "prod": 17.18, "geometric_mean": 15.73, "mean": 15.11, "mean_logit": 14.70,
        "mean_odd": 9.32, "last": 18.22,
    }  # fmt: skip
    assert {how: round(100 * report[f"accuracy/{how}"], 2) for how in accuracy} == accuracy
    assert round(report["MRR/last"], 4) == 0.3883


def test_rewardmath_published_verdicts_of_gpt4o():
    report = audit_scores(real(REWARDMATH.format("gpt4o_pairwise")), "rewardmath", draws=0)
    assert round(100 * report["accuracy"], 2) == 24.64 and round(report["MRR"], 4) == 0.4892


@pytest.mark.slow
def test_pairs_of_people_scored_by_a_reward():
    """Real dialogues, scored by their own length: the score is the length, so they are one."""
    report = audit_scores(
        real("hh_harmless_test.jsonl.gz"), "pairs", reward=lambda completion: float(len(completion)), draws=0
    )
    assert report.rows == 2312 and report["length/Spearman"] == pytest.approx(1) and 0.4 < report["accuracy"] < 0.6
