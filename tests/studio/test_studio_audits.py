"""Audits as the page is told of them: which there are, one, two compared; and whatever else an audit.json may be."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from written_audits import finding, kind, report, write_audit

import guerdon as gd
from guerdon.audits.auditing import audit
from guerdon.studio.audits import audit_shelf
from guerdon.studio.audits.audit_shape import FORMAT, LONGEST, NoAudit, audit_of
from guerdon.studio.audits.audit_shelf import AuditShelf, ShelvedAudit
from guerdon.studio.audits.compared_audits import compared
from guerdon.studio.library import Library, id_of
from guerdon.studio.live import ChangeWatch

Ask = Callable[[Path], TestClient]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at the disk is believed for no time."""
    monkeypatch.setattr(audit_shelf, "FRESH", 0.0)


def id_at(folder: Path) -> str:
    return f"audit-{id_of(folder)}"


def listed(client: TestClient) -> list[dict[str, Any]]:
    answer = client.get("/api/audits")
    assert answer.status_code == 200, answer.text
    return answer.json()["audits"]


def names(folder: Path) -> list[str]:
    return [row["name"] for row in AuditShelf(Library([folder])).summaries()]


def test_audits_are_found_among_runs_and_beside_them(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    (runs / "first").mkdir(parents=True)
    (runs / "first" / "run.json").write_text("{}")
    write_audit(runs / "loose", 1)
    write_audit(runs / "a" / "b" / "deep", 2)
    write_audit(runs / "first" / "audit", 3)
    write_audit(tmp_path / "audits" / "beside", 4)
    write_audit(runs / ".hidden")
    write_audit(runs / "first" / "rollouts" / "too far")
    (runs / "link").symlink_to(runs / "loose")
    assert names(runs) == ["loose", "deep", "audit", "beside"], "the newest first"
    assert names(runs / "first") == ["audit", "beside"], "a run that is named alone"
    assert names(tmp_path / "audits") == ["beside"] and names(tmp_path / "audits" / "beside") == ["beside"]
    assert names(tmp_path)[0] == "loose" and len(names(tmp_path)) == 4


def test_beside_is_where_runs_are_whatever_they_are_called_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_audit(tmp_path / "audits" / "beside")
    (tmp_path / "runs").mkdir()
    monkeypatch.chdir(tmp_path)
    assert AuditShelf(Library(["runs"])).summaries()[0]["path"] == str(Path("audits/beside"))
    monkeypatch.chdir(tmp_path / "runs")
    assert names(Path()) == ["beside"]


def test_the_list_says_of_each_what_matters(ask: Ask, tmp_path: Path) -> None:
    write_audit(tmp_path / "old", 2, findings=[finding(), finding("x", "warning"), finding("y", "warning")])
    write_audit(tmp_path / "new", 1, reward="good", task="trace:3", findings=[])
    new, old = listed(ask(tmp_path))
    assert (old["reward"], old["task"], old["severe"], old["warnings"], old["problems"], old["samples"]) == (
        "right", "trace:3", 1, 2, 20, 1115,
    )  # fmt: skip
    assert old["when"] == "2027-01-15T06:00:00+00:00" and old["id"] == id_at(tmp_path / "old")
    assert (new["reward"], new["severe"], new["warnings"], new["why"]) == ("good", 0, 0, "")


def test_one_audit_is_all_that_was_written(ask: Ask, tmp_path: Path) -> None:
    weak, strong = finding("weak", "warning", 0.9), finding("strong", harm=0.1)
    failures = [{"component": "c", "kind": "k", "task": "t", "error": "e", "completion": ""}] * 60
    folder = write_audit(tmp_path / "a", findings=[weak, strong, finding("stronger")], failures=failures)
    other = write_audit(tmp_path / "b", 5, reward="mended", findings=[])
    write_audit(tmp_path / "elsewhere", 1, task="hops:3")
    told = ask(tmp_path).get(f"/api/audits/one/{id_at(folder)}").json()
    written = json.loads((folder / "audit.json").read_text())
    assert [each["name"] for each in told["audit"]["findings"]] == ["stronger", "strong", "weak"]
    assert told["audit"]["findings"][2] == written["findings"][0]
    assert told["audit"]["failed"] == 60 and len(told["audit"]["failures"]) == 50
    for name in (
        "reward",
        "problems",
        "tokens",
        "kinds",
        "rates",
        "auc",
        "sensitivity",
        "partial",
        "components",
        "seconds",
    ):
        assert told["audit"][name] == written[name], name
    assert {**told["audit"]["tried"], "unclear": 0} == written["tried"]
    assert [each["id"] for each in told["others"]] == [id_at(other)], "of the same task"
    assert told["about"]["severe"] == 2 and "written" not in told["about"]


def test_a_real_audit_is_shown(ask: Ask, tmp_path: Path) -> None:
    @gd.reward
    def within(task, completion):
        """Whether the answer stands somewhere."""
        return task.answer in completion

    made = audit(within, "trace:3", problems=2)
    made.save(tmp_path / "real")
    (row,) = listed(client := ask(tmp_path))
    assert row["severe"] == len(made.severe) > 0 and not row["why"]
    told = client.get(f"/api/audits/one/{row['id']}").json()["audit"]
    assert [each["name"] for each in told["findings"]] == [each.name for each in made.findings]
    assert {each["kind"]: each["errors"] for each in told["kinds"]} == {e["kind"]: e["errors"] for e in made.kinds}


# --- what is no audit -------------------------------------------------------------------------------------------------


def wrong_values(told: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a value."""
    yield path
    inner = told.items() if isinstance(told, dict) else enumerate(told) if isinstance(told, list) else ()
    for key, value in inner:
        yield from wrong_values(value, (*path, key))


def with_value(told: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    made = dict(told) if isinstance(told, dict) else list(told)
    made[path[0]] = with_value(told[path[0]], path[1:], value)
    return made


@pytest.mark.parametrize(
    "odd",
    [None, "x", 3, -1, True, [], [3], {}, {"a": {}}, 10**400, float("nan"), float("inf")],
    ids=lambda o: str(o)[:8],
)
def test_any_audit_is_read_or_refused_in_a_line(odd: Any) -> None:
    """Each value in it is another: what comes of it has the types that the page counts on, or is told."""
    whole = report().to_dict()
    for path in wrong_values(whole):
        try:
            told = audit_of(with_value(whole, path, odd))
        except NoAudit as error:
            assert "\n" not in str(error) and len(str(error)) < 200
        else:
            json.dumps(told, allow_nan=False)
            assert all(each["severity"] in ("severe", "warning") for each in told["findings"])
            assert all(isinstance(each["errors"], int) for each in told.get("kinds", []))


@pytest.mark.sampled(5, "text")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ("", "not JSON"),
        ("[" * 200_000, "not JSON"),
        ('{"reward": "\\ud800', "not JSON"),
        (b"\xff\xfe{", "not JSON"),
        ("[1]", "it is no object"),
        ('{"format": 3}', "no audit of this version"),
        ('{"name": "a package"}', "no audit of this version"),
        (f'{{"format": {FORMAT}}}', "it has no reward"),
        (f'{{"format": {FORMAT}, "reward": 3}}', "it has no task"),
        ("9" * 5_000, "not JSON"),
    ],
    ids=lambda v: str(v)[:16],
)
def test_a_damaged_or_foreign_file_is_told_and_hides_nothing(ask: Ask, tmp_path: Path, text: Any, words: str) -> None:
    write_audit(tmp_path / "good", 1)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "audit.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    client = ask(tmp_path)
    rows = {row["name"]: row for row in listed(client)}
    assert not rows["good"]["why"] and words in rows["bad"]["why"] and "\n" not in rows["bad"]["why"]
    assert "guerdon audit" in rows["bad"]["why"], "the mend"
    one = client.get(f"/api/audits/one/{rows['bad']['id']}")
    assert one.status_code == 200 and one.json()["audit"] is None and words in one.json()["about"]["why"]
    both = client.get(f"/api/audits/compare?audit={rows['good']['id']}&audit={rows['bad']['id']}")
    assert both.status_code == 422 and words in both.json()["error"]


def test_what_is_no_plain_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("piped", "folder", "large", "loop"):
        (tmp_path / name).mkdir()
    os.mkfifo(tmp_path / "piped" / "audit.json")
    (tmp_path / "folder" / "audit.json").mkdir()
    (tmp_path / "large" / "audit.json").write_text(" " * 2_000)
    (tmp_path / "loop" / "audit.json").symlink_to("audit.json")
    monkeypatch.setattr(audit_shelf, "LARGEST", 1_000)
    rows = {row["name"]: row["why"] for row in AuditShelf(Library([tmp_path])).summaries()}
    assert "not a file" in rows["piped"] and "not a file" in rows["folder"] and "larger than" in rows["large"]
    assert "loop" not in rows, "a link that leads nowhere is nothing"


def test_long_texts_are_cut_and_say_so() -> None:
    told = audit_of(report(reward="x" * (LONGEST + 7)).to_dict())
    assert told["reward"].endswith("x ... (7 more characters)")


def test_an_audit_that_is_gone_or_never_was_is_missing(ask: Ask, tmp_path: Path) -> None:
    folder = write_audit(tmp_path / "a")
    client = ask(tmp_path)
    assert client.get(f"/api/audits/one/{id_at(folder)}").status_code == 200
    (folder / "audit.json").unlink()
    gone, never = (client.get(f"/api/audits/one/{id}") for id in (id_at(folder), "audit-x"))
    assert gone.status_code == never.status_code == 404 and "no longer" in gone.json()["error"]
    assert listed(client) == []


def test_an_audit_that_is_written_again_is_read_again(tmp_path: Path) -> None:
    shelved = ShelvedAudit(write_audit(tmp_path / "a"))
    assert shelved.summary() is shelved.summary() and shelved.summary()["severe"] == 1
    report(findings=[]).save(tmp_path / "a")
    assert shelved.summary()["severe"] == 0


# --- two of them ------------------------------------------------------------------------------------------------------


def test_findings_that_went_came_and_stayed() -> None:
    before = audit_of(
        report(
            findings=[finding("a"), finding("b", harm=0.6), finding("a", harm=0.2)],
            kinds=[kind("gold", 0.0, right=True), kind("suffix", 0.875), kind("list", 0.25), kind("old", 0.5)],
        ).to_dict()
    )
    after = audit_of(
        report(
            findings=[finding("b", "warning", 0.1), finding("c"), finding("a")],
            kinds=[kind("gold", 0.0, right=True), kind("suffix", 0.0), kind("list", 0.5)],
        ).to_dict()
    )
    told = compared(before, after)
    assert [(each["name"], each["harm"]) for each in told["went"]] == [("a", 0.2)], "the second of its name"
    assert [each["name"] for each in told["came"]] == ["c"]
    assert [(a["name"], a["harm"], b["severity"], b["harm"]) for a, b in told["stayed"]] == [
        ("a", 0.7, "severe", 0.7), ("b", 0.6, "warning", 0.1),
    ]  # fmt: skip
    assert [(row["kind"], row["change"]) for row in told["kinds"]] == [
        ("suffix", -0.875),
        ("list", 0.25),
        ("old", None),
    ]
    assert told["kinds"][2]["rates"][1] is None and told["numbers"][0]["auc"]["auc"] == 0.81


def test_two_of_a_task_can_be_asked_for_and_others_cannot(ask: Ask, tmp_path: Path) -> None:
    first, second = write_audit(tmp_path / "a", 1), write_audit(tmp_path / "b", findings=[])
    other = write_audit(tmp_path / "c", task="hops:3")
    client = ask(tmp_path)

    def of(*folders: Path) -> Any:
        return client.get("/api/audits/compare", params={"audit": [id_at(folder) for folder in folders]})

    told = of(first, second).json()
    assert [each["name"] for each in told["about"]] == ["a", "b"] and len(told["went"]) == 1 and not told["came"]
    assert [len(of(second, first).json()[name]) for name in ("went", "came")] == [0, 1]
    assert "different tasks, trace:3 and hops:3" in of(first, other).json()["error"]
    assert of(first).status_code == of(first, second, other).status_code == 422
    assert of(first, tmp_path / "no").status_code == 404


def test_changes_of_audits_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("guerdon.studio.live.EVERY", 0.01)
    library = Library([tmp_path])

    async def listen() -> list[Any]:
        watch = ChangeWatch(library, AuditShelf(library).marks)
        stream = watch.events()
        assert "hello" in await anext(stream)
        write_audit(tmp_path / "a")
        heard = [json.loads((await anext(stream)).split("data: ")[1])["runs"]]
        watch.close()
        return heard

    assert asyncio.run(asyncio.wait_for(listen(), 60)) == [[id_at(tmp_path / "a")]]


def test_an_audit_as_0_2_wrote_it_is_shown(tmp_path):
    told = json.loads((write_audit(tmp_path / "old") / "audit.json").read_text())
    for each in told["findings"]:
        each["mend"] = each.pop("fix")
    now = audit_of({**told, "format": 1})
    assert [each["fix"] for each in now["findings"]] == [each["mend"] for each in told["findings"]]
