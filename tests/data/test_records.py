"""Rows of files and objects: the same in every form, each found again by its index, bad ones named by their place."""

from __future__ import annotations

import copy
import csv
import datetime
import decimal
import io
import json
import pickle
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refusal

from guerdon.core.errors import UserError
from guerdon.data import hub_datasets, lines
from guerdon.data.opening import open_records

ROWS = [
    {"question": "2+2?", "answer": 4, "tags": ["a", "b"]},
    {"question": 'a "quoted",\nsecond line; and \ttab', "answer": 5, "tags": []},
    {"question": "日本 é\u2028x", "answer": -1, "tags": ["c"]},
]
TEXTS = [{"question": row["question"], "answer": str(row["answer"])} for row in ROWS]


def write_csv(
    path: Path, rows: list[dict[str, str]], delimiter: str = ",", end: str = "\n", mark: str = "utf-8"
) -> Path:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter, lineterminator=end)
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(text.getvalue().encode(mark))
    return path


class Indexed:
    """What a data set of the `datasets` library is to a reader."""

    column_names = ["question", "answer", "tags"]

    def __len__(self):
        return len(ROWS)

    def __getitem__(self, index):
        return dict(ROWS[index])

    def __iter__(self):
        return (dict(row) for row in ROWS)


class Stream:
    def __iter__(self):
        return (dict(row) for row in ROWS)


def values(records):
    return [row.value for row in records]


def forms(tmp_path):
    jsonl, listed, parquet = (tmp_path / f"my.{end}" for end in ("jsonl", "json", "parquet"))
    jsonl.write_text("\n\n".join(json.dumps(row) for row in ROWS))
    listed.write_text(json.dumps(ROWS, indent=1))
    pq.write_table(pa.Table.from_pylist(ROWS), parquet, row_group_size=2)
    return {
        "jsonl": jsonl, "a list in JSON": listed, "parquet": parquet, "list": ROWS, "tuple": tuple(ROWS),
        "indexed": Indexed(), "stream": Stream(), "generator": (row for row in ROWS), "table": pa.Table.from_pylist(ROWS),
    }  # fmt: skip


@pytest.mark.parametrize("form", [
    "jsonl", "a list in JSON", "parquet", "list", "tuple", "indexed", "stream", "generator", "table",
])  # fmt: skip
def test_rows_are_the_same_in_every_form(tmp_path, form):
    records = open_records(forms(tmp_path)[form], "mine")
    assert len(records) == 3 and values(records) == ROWS
    assert [records[i].value for i in (2, 0, 1, -1)] == [ROWS[2], ROWS[0], ROWS[1], ROWS[2]]
    assert records.columns == ("question", "answer", "tags")
    assert [row.number for row in records] == ([1, 3, 5] if form == "jsonl" else [1, 2, 3])
    with pytest.raises(IndexError):
        records[3]


@pytest.mark.parametrize(("delimiter", "suffix"), [(",", "csv"), (";", "csv"), ("\t", "csv"), ("\t", "tsv")])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["utf-8", "utf-8-sig"])
def test_csv(tmp_path, delimiter, suffix, end, mark):
    records = open_records(write_csv(tmp_path / f"my.{suffix}", TEXTS, delimiter, end, mark))
    assert values(records) == TEXTS and [records[i].value for i in (1, 2, 0)] == [TEXTS[1], TEXTS[2], TEXTS[0]]
    assert [row.number for row in records] == [2, 3, 5] and records.columns == (
        "question",
        "answer",
    )  # a field has 2 lines


def test_csv_rows_agree_with_pythons_reader(tmp_path):
    """Random fields of quotes, delimiters and newlines; the reader that holds all rows in memory gives the same."""
    draw = random.Random(0)
    rows = [{c: "".join(draw.choices('ab",;\n\t é', k=draw.randint(1, 9))) + "." for c in "xyz"} for _ in range(200)]
    records = open_records(write_csv(tmp_path / "my.csv", rows))
    assert values(records) == rows
    for i in draw.sample(range(200), 50):
        assert records[i].value == rows[i]


FAULTS = {
    "short": (b"a,b\n1,2\n3\n4,5\n", {3: "1 fields, where the header has 2"}),
    "long": (b"a,b\n1,2\n3,4,5\n4,5\n", {3: "3 fields, where the header has 2"}),
    "latin-1": (b"a,b\n1,\xe9\n4,5\n", {2: "not UTF-8: byte 0xe9 at 2"}),
    "a quote in the middle": (b'a,b\n"1"x,2\n4,5\n', {2: "not CSV: ',' expected after '\"'"}),
    "a quote that is never closed": (b'a,b\n4,5\n"1,2\n3,4\n', {3: "not CSV: unexpected end of data"}),
}


@pytest.mark.parametrize(("text", "faults"), FAULTS.values(), ids=FAULTS)
def test_bad_rows_of_a_csv_are_named_by_their_line(tmp_path, text, faults):
    path = tmp_path / "my.csv"
    path.write_bytes(text)
    records = open_records(path)
    assert {row.number: row.fault for row in records if row.fault} == faults
    assert {"a": "4", "b": "5"} in values(records)


def test_rows_without_anything_are_passed_over(tmp_path):
    path = tmp_path / "my.csv"
    path.write_bytes(b"\n,a,b,\n\n0,1,,\n,,,\n  \n1,2,3,\n\n")
    records = open_records(path)
    assert [(row.number, row.value) for row in records] == [(4, {"a": "1", "b": None}), (7, {"a": "2", "b": "3"})]


def test_a_row_too_long_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST", 1 << 10)
    for name, text, number in (
        ("my.csv", b"a,b\n1,2\n" + b"x" * 5000 + b",3\n4,5\n", 3),
        ("my.jsonl", b'{"a": "1"}\n{"a": "' + b"x" * 5000 + b'"}\n{"a": "4", "b": "5"}\n', 2),
    ):
        (tmp_path / name).write_bytes(text)
        faults = [(row.number, row.fault) for row in open_records(tmp_path / name)]
        assert [number for number, fault in faults if fault] == [number] and len(faults) == 3


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("my.csv", b"a,b,a\n1,2,3\n", "its header has the column 'a' twice"),
        ("my.csv", b'"a\n1,2\n', "its header is not CSV"),
        ("my.csv", "a,b\n1,2\n".encode("utf-16"), "it is UTF-16, save it as UTF-8"),
        ("my.csv", b"\xe9,b\n1,2\n", "its header is not UTF-8: byte 0xe9"),
        ("my.jsonl", b"\x1f\x8b\x08\x00abc", "it is gzip: unpack it"),
        ("my.xlsx", b"PK\x03\x04abc", "a zip archive or a spreadsheet"),
        ("my.parquet", b"PAR1 and no more", "cannot read my.parquet: "),
        ("my.parquet", b"", "cannot read my.parquet: "),
        ("my.json", b'[{"a": 1}, {"a": ]', "not JSON"),
    ],
)
def test_what_is_no_such_file_is_refused_in_one_line(tmp_path, monkeypatch, name, content, says):
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content)
    with pytest.raises(UserError, match=says) as error:
        open_records(name)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [b"", b"a,b\n", b"\xef\xbb\xbf", b"\n\n"])
def test_empty_files_have_no_rows(tmp_path, content):
    (tmp_path / "my.csv").write_bytes(content)
    assert len(open_records(tmp_path / "my.csv")) == 0


def test_what_tables_hold_becomes_json(tmp_path):
    """Dates, decimals, NaN, arrays; pictures and bytes are left out, and infinities are a fault of their row."""
    day = datetime.date(2026, 1, 2)
    rows = [
        {"a": day, "b": decimal.Decimal("1.5"), "c": float("nan"), "d": b"\0", "e": [1, None], "f": {"g": day}},
        {"a": None, "b": None, "c": float("inf"), "d": None, "e": None, "f": None},
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "my.parquet")
    wanted = {"a": "2026-01-02", "b": 1.5, "c": None, "e": [1, None], "f": {"g": "2026-01-02"}}
    for source in (rows, tmp_path / "my.parquet"):
        first, second = open_records(source, "mine")
        assert first.value == wanted and "infinite" in second.fault
    assert open_records([{"x": np.int64(3), "y": np.arange(2), "z": object()}])[0].value == {"x": 3, "y": [0, 1]}
    for bad in ({"x": "\ud800"}, {1: 2}, {"x": 10**5000}, ["x"], None):
        assert open_records([bad])[0].fault
    endless: list = []
    endless.append(endless)
    assert "inside of each other" in open_records([{"x": endless}])[0].fault


def test_identity_is_of_the_content(tmp_path):
    one, two = write_csv(tmp_path / "one.csv", TEXTS), write_csv(tmp_path / "two.csv", TEXTS)
    other = write_csv(tmp_path / "other.csv", TEXTS[:2])
    assert open_records(one).identity() == open_records(two).identity() != open_records(other).identity()
    assert open_records(ROWS).identity() == open_records(Indexed()).identity() != open_records(ROWS[1:]).identity()


def test_a_file_that_changes_while_in_use_is_refused(tmp_path):
    path = write_csv(tmp_path / "my.csv", TEXTS)
    records = open_records(path)
    with path.open("ab") as file:
        file.write(b"more,1\n")
    with refusal(UserError):
        records[0]


def test_copies_share_and_other_processes_open_again(tmp_path):
    for source in (write_csv(tmp_path / "my.csv", TEXTS), TEXTS):
        records = open_records(source, "mine")
        assert copy.deepcopy(records) is records
        again = pickle.loads(pickle.dumps(records))
        assert values(again) == values(records) == TEXTS and again.name == "mine"


def test_sets_of_sets_and_no_sets():
    with refusal(UserError):
        open_records({"train": ROWS, "test": ROWS}, "data")
    with pytest.raises(UserError, match="holds no rows"):
        open_records(3, "data")


def test_frames_and_data_sets():
    pandas, datasets = pytest.importorskip("pandas"), pytest.importorskip("datasets")
    assert values(open_records(pandas.DataFrame(TEXTS))) == TEXTS
    made = datasets.Dataset.from_list(ROWS)
    assert values(open_records(made)) == ROWS and open_records(made)[1].value == ROWS[1]
    assert values(open_records(made.to_iterable_dataset())) == ROWS


def test_words_that_are_no_file(tmp_path, monkeypatch):
    """An id is looked up on the hub only where no file is meant; without the hub, one line says how to fetch it."""
    pytest.importorskip("datasets")
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    for path in ("data/train", "none/my.csv", "none", "a/b/c"):
        with pytest.raises(UserError, match="No such file"):
            open_records(path)

    import datasets

    monkeypatch.setattr(hub_datasets, "_is_hub_there", lambda: True)

    def unreachable(*_, **__):
        raise ConnectionError("no route")

    monkeypatch.setattr(datasets, "get_dataset_config_names", unreachable)
    with pytest.raises(UserError, match="`hf download openai/gsm8k --repo-type dataset --local-dir gsm8k`"):
        open_records("openai/gsm8k")
    monkeypatch.setattr(datasets, "get_dataset_config_names", lambda name: ["main", "socratic"])
    monkeypatch.setattr(datasets, "get_dataset_split_names", lambda name, config: ["train", "test"])
    asked = []
    monkeypatch.setattr(datasets, "load_dataset", lambda *a, **k: asked.append((*a, k["split"])) or ROWS)
    for word in ("openai/gsm8k", "hf:openai/gsm8k:test", "openai/gsm8k:socratic", "hf:openai/gsm8k:socratic:test"):
        assert values(open_records(word)) == ROWS
    g = "openai/gsm8k"
    assert asked == [(g, "main", "train"), (g, "main", "test"), (g, "socratic", "train"), (g, "socratic", "test")]
    with pytest.raises(UserError, match="no split 'dev', but train, test"):
        open_records("hf:openai/gsm8k:dev")
