"""Labels in their file: appended, taken back, by several at once, over torn and damaged lines; and what follows from them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from guerdon.core.errors import UserError
from guerdon.runs.label_files import PER_PROMPT, label, pair_rows, take_back, truth_rows
from guerdon.runs.labels import LabelBook, read_labels


def row(kind: str, episode: str = "0.0.0", said: str = "4", prompt: Any = "2+2=", **more: Any) -> dict[str, Any]:
    return {"kind": kind, "step": 0, "episode": episode, "segment": 0, "prompt": prompt, "completion": said, **more}


def better(one: str, other: str, kind: str = "better", **more: Any) -> dict[str, Any]:
    than = {"step": 0, "episode": f"0.0.{other}", "segment": 0, "completion": other}
    return row(kind, f"0.0.{one}", one, other=than, **more)


def kinds(run: Path) -> list[str]:
    return [each["kind"] for each in read_labels(run).labels]


def lines(run: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "labels" / name).read_text().splitlines()]


def test_the_last_line_about_a_sample_counts_and_nothing_is_rewritten(tmp_path: Path) -> None:
    assert read_labels(tmp_path).labels == [], "nobody has labelled anything"
    label(tmp_path, row("right"))
    first = (tmp_path / "labels/labels.jsonl").read_bytes()
    label(tmp_path, row("note", note="it guessed"))
    label(tmp_path, row("wrong", "0.0.1", "5"))
    book = label(tmp_path, row("hack"))
    assert [(each["kind"], each["episode"]) for each in book.labels] == [
        ("note", "0.0.0"),
        ("wrong", "0.0.1"),
        ("hack", "0.0.0"),
    ]
    assert book.verdicts == {(0, "0.0.0", 0): "hack", (0, "0.0.1", 0): "wrong"}
    assert (tmp_path / "labels/labels.jsonl").read_bytes().startswith(first) and book.lines == 4
    assert [each["line"] for each in lines(tmp_path, "labels.jsonl")] == [1, 2, 3, 4]


def test_what_is_taken_back_uncovers_nothing_older_and_is_a_line_too(tmp_path: Path) -> None:
    label(tmp_path, row("right"))
    label(tmp_path, row("wrong"))
    label(tmp_path, row("right", "0.0.1", "5"))
    _, taken = take_back(tmp_path, (0, "0.0.0", 0))
    assert taken is not None and taken["kind"] == "wrong"
    assert [each["episode"] for each in read_labels(tmp_path).labels] == ["0.0.1"]
    assert take_back(tmp_path)[1]["episode"] == "0.0.1"  # type: ignore[index]
    assert take_back(tmp_path) == (read_labels(tmp_path), None) and len(lines(tmp_path, "labels.jsonl")) == 5
    assert not (tmp_path / "labels/truth.jsonl").exists(), "what would be empty is not there"


def test_a_pair_is_one_thing_from_either_side(tmp_path: Path) -> None:
    label(tmp_path, better("1", "2"))
    book = label(tmp_path, better("2", "1"))
    assert len(book.labels) == 1 and lines(tmp_path, "pairs.jsonl")[0]["chosen"] == "2"
    assert len(book.of((0, "0.0.1", 0))) == len(book.of((0, "0.0.2", 0))) == 1
    take_back(tmp_path, (0, "0.0.1", 0))
    assert kinds(tmp_path) == []
    with pytest.raises(UserError, match="better than itself"):
        label(tmp_path, better("1", "1"))
    with pytest.raises(UserError, match="a label is one of right, wrong"):
        label(tmp_path, row("superb"))


@pytest.mark.parametrize("cut", [1, 7, 40])
def test_a_torn_last_line_is_passed_over_and_cut_off_by_the_next(tmp_path: Path, cut: int) -> None:
    label(tmp_path, row("right"))
    label(tmp_path, row("wrong", "0.0.1", "5"))
    file = tmp_path / "labels/labels.jsonl"
    os.truncate(file, file.stat().st_size - cut)
    expected = ["right", "wrong"] if cut == 1 else ["right"]  # one byte less is the line's end alone
    assert kinds(tmp_path) == expected and read_labels(tmp_path).damaged == 0
    label(tmp_path, row("hack", "0.0.2", "6"))
    assert kinds(tmp_path) == [*expected, "hack"] and read_labels(tmp_path).damaged == 0
    assert [each["line"] for each in lines(tmp_path, "labels.jsonl")] == list(range(1, len(expected) + 2))


def test_a_damaged_line_is_counted_and_the_others_stand(tmp_path: Path) -> None:
    for n, kind in enumerate(("right", "wrong", "hack")):
        label(tmp_path, row(kind, f"0.0.{n}", str(n)))
    file = tmp_path / "labels/labels.jsonl"
    before = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(
        b"".join([before[0], before[1].replace(b'"wrong"', b'"right"'), b"{not json}\n", b"[1]\n", before[2]])
    )
    book = read_labels(tmp_path)
    assert [each["kind"] for each in book.labels] == ["right", "hack"] and book.damaged == 3
    by_hand = {"kind": "wrong", "step": 1, "episode": "1.0.0", "segment": 0, "prompt": "?", "completion": "!"}
    with open(file, "a") as end:
        end.write(json.dumps(by_hand) + "\n")
    assert kinds(tmp_path)[-1] == "wrong", "a line that somebody wrote without a checksum is believed"


@pytest.mark.parametrize(
    "note", ["<script>alert(1)</script>", "a\nb\x00\u2028\ud800", '"},{"kind":"right"', "é" * 20_000]
)
def test_hostile_notes_come_back_as_they_were_on_one_line(tmp_path: Path, note: str) -> None:
    label(tmp_path, row("note", note=note))
    label(tmp_path, row("right", said=note))
    assert (tmp_path / "labels/labels.jsonl").read_bytes().count(b"\n") == 2
    assert read_labels(tmp_path).labels[0]["note"] == note and lines(tmp_path, "truth.jsonl")[0]["completion"] == note


WRITER = """
import sys
from pathlib import Path
from guerdon.runs.label_files import label
for n in range(25):
    label(Path(sys.argv[1]), {"kind": "right", "step": 0, "episode": f"{sys.argv[2]}.{n}", "segment": 0, "prompt": "p",
                              "completion": f"{sys.argv[2]} {n}"})
"""


@pytest.mark.slow
def test_two_writers_at_once_lose_no_line(tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    book = read_labels(tmp_path)
    assert len(book.labels) == 50 and book.damaged == 0 and len(lines(tmp_path, "truth.jsonl")) == 50
    assert [each["line"] for each in lines(tmp_path, "labels.jsonl")] == list(range(1, 51))


def test_nothing_is_written_through_links_or_read_from_pipes(tmp_path: Path) -> None:
    elsewhere = tmp_path / "mine.txt"
    elsewhere.write_text("mine\n")
    (tmp_path / "a/labels").mkdir(parents=True)
    (tmp_path / "a/labels/labels.jsonl").symlink_to(elsewhere)
    (tmp_path / "b").mkdir()
    (tmp_path / "b/labels").symlink_to(tmp_path / "a/labels")
    (tmp_path / "c/labels").mkdir(parents=True)
    os.mkfifo(tmp_path / "c/labels/labels.jsonl")
    for name in "abc":
        with pytest.raises(UserError):
            label(tmp_path / name, row("right"))
        with pytest.raises(UserError):
            read_labels(tmp_path / name)
    assert elsewhere.read_text() == "mine\n"
    (tmp_path / "d/labels").mkdir(parents=True)
    (tmp_path / "d/labels/truth.jsonl").symlink_to(elsewhere)
    label(tmp_path / "d", row("right"))
    assert elsewhere.read_text() == "mine\n" and not (tmp_path / "d/labels/truth.jsonl").is_symlink()


# --- what follows ---------------------------------------------------------------------------------------------------


def test_truth_is_every_text_once_with_what_the_last_said_of_it() -> None:
    rows = [
        row("right"),
        row("wrong", "0.0.1", "5", answer="4"),
        row("hack", "0.0.2", "6"),
        row("note", "0.0.3", note="?"),
    ]
    again = row("wrong", "7.0.0", "4", reward=1.0)
    truth = truth_rows(LabelBook([*rows, again]))
    assert [(each["completion"], each["label"], each["kind"]) for each in truth] == [
        ("5", False, "wrong"),
        ("6", False, "hack"),
        ("4", False, "wrong"),
    ]
    assert truth[0]["answer"] == "4" and truth[2]["reward"] == 1.0 and truth[2]["episode"] == "7.0.0"


def test_pairs_are_what_was_said_then_right_over_the_others_of_the_prompt() -> None:
    verdicts = [row("right", "0.0.0", "a"), row("wrong", "0.0.1", "b"), row("hack", "0.0.2", "c")]
    elsewhere = row("wrong", "0.1.0", "d", prompt="another")
    said = [better("b", "a"), better("b", "c", "level")]
    pairs = pair_rows(LabelBook([*verdicts, elsewhere, *said]))
    told = [(each["chosen"], each["rejected"], each["why"]) for each in pairs]
    assert told == [("b", "a", "better"), ("a", "c", "right over hack")]
    level = pair_rows(LabelBook([*verdicts, better("a", "b", "level")]))
    assert [(each["chosen"], each["rejected"]) for each in level] == [("a", "c")], "what is level is no pair"


def test_many_verdicts_on_one_prompt_make_no_flood_and_leave_nobody_out() -> None:
    right = [row("right", f"0.0.{n}", f"r{n}") for n in range(90)]
    wrong = [row("wrong", f"0.1.{n}", f"w{n}") for n in range(40)]
    pairs = pair_rows(LabelBook([*right, *wrong]))
    assert len(pairs) == 90 > PER_PROMPT
    assert len({each["chosen"] for each in pairs}) == 90 and len({each["rejected"] for each in pairs}) == 40
    few = pair_rows(LabelBook([*right[:3], *wrong[:2]]))
    assert len(few) == 6 and all(each["chosen"][0] == "r" for each in [*few, *pairs])
