"""A bad row of a data file is named with its line, and all of them before training begins.

Rows are lines that end with a newline; what else Unicode takes for the end of a line is text. Files of ratings are read the
same way. Not promised: that a prompt leaves room for the longest answer (what the model has no room for is cut), or for the
later turns of an environment that has several.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import SMALL, Cli, command_line, refused
from small import small_lm

from guerdon.core.errors import UserError
from guerdon.core.task import Task
from guerdon.data import lines
from guerdon.data.arrow_rows import table_rows
from guerdon.data.lines import read_line
from guerdon.rewards.memory.feedback import human_feedback
from guerdon.tasks.files import rows

GOOD = [json.dumps({"prompt": f"p{n}", "answer": n}) for n in range(8)]
TRAIN = ("train", "grpo", "--data", "my.jsonl", "--steps", "1", *SMALL, "--out", "run")
TEXT = [
    "\u2028",
    "\u2029",
    "\x85",
    "\\u000b",
    "\\f",
    "\\u001c",
    "\\u001d",
    "\\u001e",
    "\\u0000",
    "\\r",
    "\\ud83d\\ude00",
]

BAD = {  # the row and what is said of it
    "a lone surrogate": ('{"prompt": "\\ud800", "answer": 1}', "half a character, '\\ud800', is not text"),
    "one in another column": ('{"prompt": "a", "answer": 1, "x": ["\\uDFFF"]}', "half a character, '\\udfff'"),
    "10**5000": ('{"prompt": "a", "answer": 1' + "0" * 5000 + "}", "a number of 5001 digits"),
    "a kind beyond int64": ('{"prompt": "a", "answer": 1, "kind": 9223372036854775808}', "a kind of 9223372036854775808 is"),
    "a kind that is a list": ('{"prompt": "a", "answer": 1, "kind": [1]}', "no text in column 'kind'"),
    "deep lists": ('{"prompt": "a", "answer": 1, "x": ' + "[" * 100_000 + "]" * 100_000 + "}", "inside of each other"),
    "lists that only Python's copy is too shallow for": (
        '{"prompt": "a", "answer": 1, "x": ' + "[" * 400 + "]" * 400 + "}", "more than 64 values inside of each other"
    ),
    "NaN": ('{"prompt": "a", "answer": NaN}', "NaN is not a JSON number"),
    "-Infinity": ('{"prompt": "a", "answer": 1, "x": -Infinity}', "-Infinity is not a JSON number"),
    "1e999": ('{"prompt": "a", "answer": 1e999}', "the number '1e999' is beyond"),
    "the same key twice": ('{"prompt": "a", "answer": 1, "prompt": "b"}', "the key 'prompt' occurs twice"),
    "a form feed between": ('{"prompt": "a",\x0c "answer": 1}', "not JSON: Expecting property name"),
    "half an object": ('{"prompt": "a"', "not JSON: Expecting ',' delimiter"),
    "a list": ('["a", 1]', "not a JSON object"),
    "null": ('{"prompt": null, "answer": 1}', "no text in column 'prompt'"),
    "a column that a terminal obeys": ('{"\\u001b[2J\\n": 1}', r"(columns: '\x1b[2J\n')"),
}  # fmt: skip


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return command_line(tmp_path, monkeypatch, capsys)


def every(path: str) -> list[Task]:
    """All problems of a file, the held-out ones at the end."""
    source = rows(path)
    return [source.get(split, i) for split in ("train", "test") for i in range(source.size(split) or 0)]


def write(*some: str | bytes, end: bytes = b"\n") -> None:
    whole = [*(GOOD[:3]), *some, *GOOD[3:]]
    Path("my.jsonl").write_bytes(b"".join((s if isinstance(s, bytes) else s.encode()) + end for s in whole))


def test_what_else_ends_a_line_in_unicode_is_text(cli, tried):
    """U+2028, U+2029, U+0085, form feeds and separators in a prompt; lines that end with \\r\\n; emoji in two halves."""
    for end in (b"\n", b"\r\n"):
        write(*(json.dumps({"prompt": "X", "answer": 1}).replace("X", f"a{text}b") for text in TEXT), end=end)
        found = every("my.jsonl")
        assert [task.id for task in found] == [str(n + 1) for n in range(8 + len(TEXT))]
        expected = [json.loads(f'"a{text}b"') for text in TEXT]
        assert [task.prompt for task in found[3 : 3 + len(TEXT)]] == expected
        tried(len(TEXT))
    said = cli(*TRAIN, "--json")
    assert said.code == 0, said.err


@pytest.mark.parametrize(("row", "says"), BAD.values(), ids=BAD)
def test_a_bad_row_is_named_with_its_line(cli, row, says):
    """Lone surrogates, 10**5000, NaN, 1e999, kinds beyond int64, 100,000 lists in each other, a key twice, no object at all."""
    write(row)
    kind = ("--kind", "kind") if "kind" in row else ()
    if kind:
        Path("my.jsonl").write_text(Path("my.jsonl").read_text().replace('{"prompt": "p', '{"kind": 1, "prompt": "p'))
    refused(cli(*TRAIN, *kind), "my.jsonl, line 4: ", says, "--skip-bad")
    assert not Path("run").exists()
    refused(cli("eval", "tabular", "--data", "my.jsonl", *kind), "my.jsonl, line 4: ", says)


def test_bytes_that_are_no_text_are_named_with_their_line(cli):
    """Invalid UTF-8, an overlong form, a surrogate as bytes, Latin-1; each the row's own fault."""
    write(
        b'{"prompt": "\xff", "answer": 1}',
        b'{"prompt": "\xc0\x80", "answer": 1}',
        b'{"prompt": "\xed\xa0\x80"}',
        b"\xe9",
    )
    refused(
        cli(*TRAIN), "line 4: not UTF-8: byte 0xff at 12; line 5: not UTF-8", "; line 6: not UTF-8", "; line 7: not"
    )


def test_a_mark_of_the_encoding_is_no_part_of_the_first_row(cli, tried):
    """A UTF-8 byte-order mark is passed over; UTF-16 and UTF-32, with a mark or without, are named."""
    Path("my.jsonl").write_text("\n".join(GOOD), encoding="utf-8-sig")
    assert every("my.jsonl")[0].prompt == "p0"
    for encoding, name in (
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16"),
        ("utf-16-be", "UTF-16"),
        ("utf-32", "UTF-32"),
    ):
        Path("my.jsonl").write_text("\n".join(GOOD), encoding=encoding)
        refused(cli(*TRAIN), f"cannot read --data my.jsonl: it is {name}, save it as UTF-8")
        tried()


def test_all_bad_rows_are_found_at_once(cli):
    """Seven bad rows: the first five are named and the rest counted; `--skip-bad` leaves them out, names and remembers them."""
    write(*["{oops"] * 7)
    refused(cli(*TRAIN), "line 4: ", "; line 8: ", "; and 2 more. Fix the file")


@pytest.mark.filterwarnings("default::guerdon.core.errors.Notice")
def test_skipped_rows_are_named(cli):
    """`train` and `eval` with `--skip-bad` say which rows they left out, and the run remembers."""
    write("{oops", '{"prompt": "\\ud800", "answer": 1}')
    said = cli(*TRAIN, "--skip-bad")
    assert said.code == 0 and "skipped 2 bad rows (line 4: not JSON: " in said.err and "; line 5: half a" in said.err
    assert "skipped: line 5: half a character" in cli("show", "run").out
    assert "skipped 2 bad rows (line 4: " in cli("eval", "run", "--k", "1").err


TABLES = {  # a file, and what is said of it
    "a row too short": ("my.csv", b"prompt,answer\na,1\nb\nc,3\n", "my.csv, line 3: 1 fields, where the header has 2"),
    "a row too long": ("my.csv", b"prompt,answer\na,1\nb,2,3\n", "my.csv, line 3: 3 fields, where the header has 2"),
    "Latin-1": ("my.csv", b"prompt,answer\na,1\n\xe9,2\n", "my.csv, line 3: not UTF-8: byte 0xe9 at 0"),
    "an open quote": ("my.csv", b'prompt,answer\na,1\n"b,2\nc,3\n', "my.csv, line 3: not CSV: unexpected end of data"),
    "an empty field": ("my.csv", b"prompt,answer\na,1\nb,\n", "my.csv, line 3: no text in column 'answer'"),
    "a name twice": (
        "my.csv",
        b"prompt,answer,prompt\na,1,b\n",
        "its header has the column 'prompt' twice: rename one",
    ),
    "UTF-16": (
        "my.csv",
        "prompt,answer\na,1\n".encode("utf-16"),
        "cannot read --data my.csv: it is UTF-16, save it as UTF-8",
    ),
    "nothing": ("my.csv", b"", "my.csv holds 0 good rows: two are the fewest"),
    "a header alone": ("my.csv", b"prompt,answer\n", "my.csv holds 0 good rows: two are the fewest"),
    "no Parquet": ("my.parquet", b"PAR1 and no more", "cannot read --data my.parquet: "),
    "compressed": ("my.jsonl", b"\x1f\x8b\x08\x00", "cannot read --data my.jsonl: it is gzip: unpack it with gunzip"),
}


@pytest.mark.parametrize(("path", "content", "says"), TABLES.values(), ids=TABLES)
def test_other_forms_are_refused_the_same_way(cli, path, content, says):
    """CSV with ragged rows, Latin-1, an open quote, an empty field, a name twice; a header alone; no Parquet; gzip."""
    Path(path).write_bytes(content)
    refused(cli("train", "grpo", "--data", path, "--steps", "1", *SMALL, "--out", "run"), says)
    assert not Path("run").exists()


def test_nulls_and_lists_of_a_parquet_file_are_named(cli):
    """A null and a list in the place of a prompt, NaN in the place of an answer."""
    pq.write_table(pa.table({"prompt": ["a", None, "c"], "answer": [1.0, 2.0, float("nan")]}), "my.parquet")
    words = ("train", "grpo", "--data", "my.parquet", "--steps", "1", *SMALL)
    refused(cli(*words), "my.parquet, row 2: no text in column 'prompt'", "; row 3: no text in column 'answer'")
    pq.write_table(pa.table({"prompt": [["a"], ["b"]], "answer": [1, 2]}), "my.parquet")
    refused(cli(*words), "my.parquet, row 1: no text in column 'prompt', but a message that is not an object")


def test_what_is_no_file_does_not_hang(cli, tried):
    """An empty file, a folder, a pipe nobody writes to, /dev/zero, a link to itself, a name with a zero byte, no file."""
    Path("empty").touch()
    Path("folder").mkdir()
    os.mkfifo("pipe")
    Path("loop").symlink_to("loop")
    for path, says in (
        ("empty", "empty holds 0 good rows: two are the fewest"),
        ("folder", "it is a folder, not a plain file"),
        ("pipe", "it is a pipe, not a plain file"),
        ("/dev/zero", "it is a device, not a plain file"),
        ("loop", "cannot read --data loop: "),
        ("a\0b", "embedded null byte"),
        ("none", "No such file or directory"),
        ("x" * 5000, "File name too long"),
    ):
        refused(cli("train", "grpo", "--data", path, "--steps", "1", *SMALL), says)
        tried()


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable for root")
def test_a_file_that_may_not_be_read(cli):
    """A file without the permission to read it."""
    write()
    Path("my.jsonl").chmod(0)
    refused(cli(*TRAIN), "cannot read --data my.jsonl: Permission denied")


@pytest.mark.slow
def test_a_line_without_end_is_not_taken_into_memory(cli, monkeypatch):
    """A line of 200 MB is passed over in pieces: 16 MiB is the longest."""
    monkeypatch.setattr(lines, "LONGEST", 1 << 20)
    write()
    with open("my.jsonl", "r+b") as file:
        file.seek(200_000_000)
        file.write(b"\n" + GOOD[0].encode() + b"\n{oops\n")
    refused(cli(*TRAIN), "line 9: longer than 1 MiB; line 11: not JSON")


@pytest.mark.filterwarnings("default::guerdon.core.errors.Notice")
def test_a_prompt_too_long_for_the_model_is_found_before_the_first_step(cli):
    """Prompts of 64 tokens and more for a model that sees 64: `train`, `eval`, `--skip-bad`; not at step 70."""
    small_lm(Path("own"), max_positions=64)
    fits, long = (json.dumps({"prompt": "1" * n, "answer": 1}) for n in (61, 62))  # two more tokens stand around it
    write(fits, long, json.dumps({"prompt": "漢" * 30, "answer": 1}))
    words = (
        "train",
        "grpo",
        "--data",
        "my.jsonl",
        "--model",
        "own",
        "--steps",
        "1",
        "--out",
        "run",
        "--eval-tasks",
        "1",
    )
    refused(
        cli(*words), "my.jsonl, line 5: a prompt of 64 tokens leaves no room in a context of 64; line 6: a prompt of 92"
    )
    assert not Path("run").exists()
    refused(cli("eval", "own", "--data", "my.jsonl"), "my.jsonl, line 5: a prompt of 64 tokens")
    said = cli(*words, "--skip-bad", "--set", "prompts=2", "--set", "tries=2")
    assert said.code == 0 and "skipped 2 bad rows (line 5: a prompt of 64 tokens" in said.err, said.err


def test_ratings_are_read_the_same_way(tmp_path, tried):
    """A rating of 10**400, NaN, a pipe, UTF-16, half a character, deep lists, a byte-order mark, U+2028 in what was rated."""
    path = tmp_path / "ratings.jsonl"
    good = '{"prompt": "a", "completion": "b\u2028c", "rating": 1}\r\n'
    path.write_text(good, encoding="utf-8-sig", newline="")
    assert human_feedback(str(path))("b\u2028c", prompt="a").value == 1.0
    for row, says in (
        (
            '{"prompt": "a", "completion": "b", "rating": 1' + "0" * 400 + "}",
            "line 2: rating must be a number, not 1000",
        ),
        ('{"prompt": "a", "completion": "b", "rating": NaN}', "line 2: NaN is not a JSON number"),
        ('{"prompt": "a", "completion": "\\ud800", "rating": 1}', "line 2: half a character"),
        ("[" * 100_000, "line 2: more than 64 values"),
    ):
        path.write_text(good + row + "\n", newline="")
        with pytest.raises(UserError, match=says):
            human_feedback(str(path))
        tried()
    os.mkfifo(tmp_path / "pipe")
    for other in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(UserError, match="not a plain file"):
            human_feedback(str(other))
        tried()


@pytest.mark.parametrize("wide", ["json", "csv", "parquet", "table"])
def test_a_name_twice_among_thousands_is_found_at_once(cli, wide, tried):
    """A line of 40,000 keys, a CSV and tables of thousands of columns, one name of them twice: no comparing of all with all."""
    names = [f"k{n}" for n in range(40_000)]
    names[-1] = names[0]
    began = time.process_time()
    if wide == "json":
        text = json.dumps(dict.fromkeys(names[:-1], 1))[:-1] + f', "{names[0]}": 2}}'
        assert read_line(1, text.encode()).fault == "the key 'k0' occurs twice"
    elif wide == "csv":
        Path("my.csv").write_text(",".join(names) + "\n" + ",".join("x" for _ in names) + "\n")
        refused(cli("train", "grpo", "--data", "my.csv", "--steps", "1", *SMALL), "has the column 'k0' twice")
    else:
        names = names if wide == "table" else [names[0], *names[-3_999:]]  # Parquet itself takes long for many columns
        table = pa.Table.from_arrays([pa.array([1], pa.int8())] * len(names), names=names)
        if wide == "parquet":
            pq.write_table(table, "my.parquet")
            refused(cli("train", "grpo", "--data", "my.parquet", "--steps", "1", *SMALL), "has the column 'k0' twice")
        else:
            with pytest.raises(UserError, match="has the column 'k0' twice"):
                table_rows(table, "a table")
    assert time.process_time() - began < 15  # 40,000 comparisons of 40,000 names take longer than that
    tried()


def test_values_of_a_parquet_file_that_nobody_has_are_named_with_their_row(cli, tried):
    """A time zone that is not known, text that is no UTF-8 by itself, in lists, in objects and in a dictionary, a duration of
    10**11 years."""
    ends = pa.py_buffer(b"\0\0\0\0\2\0\0\0\4\0\0\0")
    text = pa.Array.from_buffers(pa.string(), 2, [None, ends, pa.py_buffer(b"ok\xff\xfe")])
    prompts = ["a", "b"]
    odd = {
        "'when' has a time zone that is not known": (prompts, pa.array([1, 2], pa.timestamp("us", tz="Mars/Olympus"))),
        "'when' cannot be read": (prompts, pa.array([1, 2**62], pa.duration("s"))),
        "'when' is not UTF-8: byte 0xff": (prompts, text),
        "'prompt' is not UTF-8: byte 0xff": (text, prompts),
        "'when' is not UTF-8": (prompts, pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), text)),
        "'when' is not": (prompts, pa.StructArray.from_arrays([text], ["x"])),
        "'when' is": (prompts, text.dictionary_encode()),
    }
    for says, columns in odd.items():
        pq.write_table(pa.table({"prompt": columns[0], "answer": ["1", "2"], "when": columns[1]}), "my.parquet")
        refused(cli("train", "grpo", "--data", "my.parquet", "--steps", "1", *SMALL), "my.parquet, row ", says)
        tried()
