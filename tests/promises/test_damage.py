"""What a run reads back is what it wrote, or it says which file is damaged: no number comes from a damaged one.

It reaches over events, run.json, rollouts, checkpoints, trained models, evidence, what studies remember and judges' answers.
A line that a killed process left unfinished is no damage. Not promised: protection from forgers, who can make a checksum
too, and checks of what was written before there were checksums.
"""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from command_line import TRAIN, Cli, command_line, refused
from scheduling import mostly_slow

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.core.manifest import Damaged, write_manifest
from guerdon.core.recipe import Study
from guerdon.display.report import write_report
from guerdon.evidence import proof_files
from guerdon.judges.answerer import JudgeAnswer
from guerdon.judges.cache import Cache
from guerdon.models.tables import tabular
from guerdon.prove.known import LEDGER
from guerdon.prove.proving import How, prove
from guerdon.recipes.house.grpo import grpo
from guerdon.runs import checkpoint as checkpoints
from guerdon.runs.checkpoint import Checkpoint, list_checkpoints, load_checkpoint, save_checkpoint
from guerdon.runs.checksums import KEY, seal_line
from guerdon.runs.event_types import Ended, Started, StepDone
from guerdon.runs.events import EventLog, read_log
from guerdon.runs.folder import RunFolder
from guerdon.runs.rollout_files import read_batch
from guerdon.runs.run import Run
from guerdon.tasks import load
from guerdon.training.record import Options

FASTER = """
from guerdon.core.recipe import Claim, recipe
from guerdon.models.tables import tabular
from guerdon.recipes.house.grpo import grpo

@recipe("faster", family="mine", on=grpo, claim=Claim(says="learns", baseline="grpo lr=0.003", task="successor:1",
    model="tabular", settings="prompts=4 tries=8", budget=400, unit="samples"))
def faster(base, *, lr: float = 0.3):
    return base
"""

Tried = Callable[..., None]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return command_line(tmp_path, monkeypatch, capsys)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run that is complete."""
    out = tmp_path_factory.mktemp("made") / "a"
    knobs = {"tabular.length": 1, "prompts": 2, "tries": 4}
    options = Options(save_every=1, eval_tasks=4)
    gd.train("grpo", task="parity", model="tabular", steps=3, out=out, settings=knobs, options=options)
    return out


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    """A copy of it to do things to."""
    return Path(shutil.copytree(made, tmp_path / "a"))


def flipped(data: bytes, at: int, bit: int = 0) -> bytes:
    return data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :]


def flip(path: Path, word: bytes = b"", after: int = 0) -> None:
    """Flip the lowest bit of a byte: in the middle, or so far after the last place of a word."""
    data = path.read_bytes()
    path.write_bytes(flipped(data, data.rindex(word) + after if word else len(data) // 2))


PACKED = Path(gd.__file__).parent / "evidence" / "verdicts.json"


# --- events -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_bytes_of_the_events(run: Path, tried: Tried) -> None:
    """Bytes all over the events of a run, one bit of each flipped: what is left is as it was, and the line is named."""
    path = RunFolder(run).events
    data, before = path.read_bytes(), read_log(path)
    assert before.damaged == () and before.lines == data.count(b"\n") == len(before.events)
    ends = [at for at, byte in enumerate(data[:-1]) if byte == ord("\n")]
    for at in (*ends, *range(0, len(data) - 1, 5)):
        path.write_bytes(flipped(data, at, at % 8))
        found = read_log(path)
        line = data.count(b"\n", 0, at) + 1
        hit = {line, line + 1} if data[at : at + 1] == b"\n" else {line}  # without its end a line runs into the next
        kept = [e for number, e in enumerate(before.events, start=1) if number not in hit]
        assert found.events == before.events or (found.events == kept and line in found.damaged)
        assert set(found.damaged) <= hit
        tried()
    path.write_bytes(flipped(data, len(data) - 1))  # the last end of all: what is without one is torn
    assert (read_log(path).events, read_log(path).damaged) == (before.events[:-1], ())


@pytest.mark.parametrize(
    ("at", "change", "says"),
    [
        (2, {"metrics": {"loss": "low", "much": 10**400, "list": []}}, ""),
        (2, {"metrics": []}, "'metrics' of a StepDone in events.jsonl is []"),
        (2, {"tokens": 10**400}, "'tokens' of a StepDone in events.jsonl is 1000"),
        (1, {"spent": {"tokens": "few"}}, "'spent' of a Evaluated in events.jsonl"),
        (-1, {"step": 2**62}, "steps have no event in events.jsonl, the first of them step 3"),
    ],
)
def test_events_that_say_something_else(cli: Cli, run: Path, at: int, change: dict[str, object], says: str) -> None:
    """Lines with the right checksum, of metrics that are text or huge, of costs that are none, of a step that never was."""
    path = RunFolder(run).events
    lines = path.read_bytes().splitlines()
    row = {**json.loads(lines[at]), **change}
    del row[KEY]
    lines[at] = seal_line(row)
    path.write_bytes(b"\n".join(lines) + b"\n")
    said = cli("show", str(run))
    assert says in said.out + said.err and "Traceback" not in said.err and len(said.err) < 300
    if said.code == 0:
        write_report(run)


@pytest.mark.parametrize("number", [10**18, "3", None, 2.5])
def test_a_line_with_a_number_that_is_none(run: Path, number: object) -> None:
    """A line with the right checksum whose number is huge, a text, null or a fraction."""
    path = RunFolder(run).events
    lines = path.read_bytes().splitlines(keepends=True)
    row = {**json.loads(lines[2]), "line": number}
    del row[KEY]
    path.write_bytes(b"".join([*lines[:2], seal_line(row) + b"\n", *lines[3:]]))
    assert read_log(path).damaged == (3,)


@pytest.mark.parametrize(
    ("attack", "damaged"),
    [
        (lambda lines: lines[:2] + lines[3:], (3,)),
        (lambda lines: [*lines[:2], *lines[1:]], (2,)),
        (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], (2,)),
        (lambda lines: [*lines[:4], b"\0" * len(lines[4]), *lines[5:]], (5,)),
        (lambda lines: [lines[1], *lines[1:]], (1, 2)),
        (lambda lines: [*lines[:2], lines[2].rpartition(b', "sum"')[0] + b"}", *lines[3:]], (3,)),
        (lambda lines: lines[2:], (1, 2)),
    ],
    ids=["a line lost", "a line twice", "two lines swapped", "a line of zeros", "the first one overwritten", "a checksum lost",
         "the beginning lost"],
)  # fmt: skip
def test_whole_lines_of_the_events(run: Path, attack, damaged: tuple[int, ...]) -> None:
    """Lines lost, doubled, swapped, overwritten or stripped of their checksum."""
    path = RunFolder(run).events
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join(attack(lines)) + b"\n")
    assert read_log(path).damaged == damaged
    words = "1 damaged line in" if len(damaged) == 1 else "2 damaged lines in"
    assert Run(run).damage[0] == f"{words} events.jsonl: {', '.join(map(str, damaged))}"


def test_a_torn_line_is_no_damage(tmp_path: Path, tried: Tried) -> None:
    """A process killed at each byte of its last line; the next one goes on."""
    path = tmp_path / "events.jsonl"
    with EventLog(path, 0) as log:
        log.emit(Started(0))
        first = log.size
        log.emit(StepDone(0, metrics={"reward/mean": 0.5}))
    data = path.read_bytes()
    for end in range(first, len(data) + 1):
        path.write_bytes(data[:end])
        with EventLog(path, 1) as log:
            log.emit(Ended(0))
        found = read_log(path)
        assert found.damaged == () and isinstance(found.events[-1], Ended)
        assert len(found.events) == (3 if end >= len(data) - 1 else 2)
        tried()


def test_events_without_checksums_are_read_as_before(tmp_path: Path) -> None:
    """A run whose first part was written before there were checksums, with a torn line in the middle of it."""
    path = tmp_path / "events.jsonl"
    old = [json.dumps(e.to_json()) for e in (Started(0, steps=2), StepDone(0), StepDone(1))]
    path.write_text("\n".join([old[0], old[1], old[2][:30], old[2]]) + "\n")
    with EventLog(path, 1) as log:
        log.emit(Ended(1))
    found = read_log(path)
    assert [type(e) for e in found.events] == [Started, StepDone, StepDone, Ended] and found.damaged == ()
    assert json.loads(path.read_text().splitlines()[-1])["line"] == 5


def test_damaged_events_are_named_wherever_a_run_is_shown(cli: Cli, run: Path) -> None:
    """A damaged evaluation, and then `show`, `list runs`, `eval`, `train --resume`, the report and `gd.Run`."""
    lines = (run / "events.jsonl").read_bytes().splitlines()  # a thread writes the event of a checkpoint, at any line
    last = max(number for number, line in enumerate(lines, 1) if b'"pass@1": ' in line)
    flip(run / "events.jsonl", b'"pass@1": ', 10)
    said = [
        f"1 damaged line in events.jsonl: {last}",
        "the last evaluation, after 3 steps, has no event in events.jsonl",
    ]
    assert Run("a").damage == said
    for words in (
        ("show", "a"),
        ("list", "runs", "--dir", "."),
        ("train", "--resume", "a"),
        ("eval", "a", "--tasks", "2"),
    ):
        found = cli(*words)
        assert found.code == 0 and all(each in found.out for each in said), found
    assert cli("show", "a", "--json").json["damage"] == said
    page = write_report("a").read_text()
    assert all(each in page for each in said)


def test_a_run_that_goes_on_over_damaged_events(cli: Cli) -> None:
    """Events damaged while a run was interrupted: it says so and ends with the same weights."""
    assert cli(*TRAIN, "--reward", "my.py:stops", "--out", "whole").code == 0
    Path("press-ctrl-c").touch()
    assert cli(*TRAIN, "--reward", "my.py:stops", "--out", "a").code == 130
    Path("press-ctrl-c").unlink()
    flip(Path("a/events.jsonl"), b'"StepDone"', 2)
    said = cli("train", "--resume", "a")
    assert said.code == 0 and "warning: 1 damaged line in events.jsonl:" in said.out
    assert (
        Run("a").weights == Run("whole").weights and "damaged line in events.jsonl" in Path("a/report.html").read_text()
    )


# --- run.json --------------------------------------------------------------------------------------------------------


def test_bytes_of_the_card(run: Path, tried: Tried) -> None:
    """Bytes all over run.json, one bit of each flipped: the same config, or a line."""
    path = RunFolder(run).config_file
    data, before = path.read_bytes(), Run(run).config
    for at in range(0, len(data), 5):
        path.write_bytes(flipped(data, at, at % 7))
        try:
            assert {k: v for k, v in Run(run).config.items() if k in before} == before
        except UserError as error:
            assert "run.json" in str(error) and "\n" not in str(error)
        tried()


def test_another_seed_in_the_card(cli: Cli, run: Path) -> None:
    """A seed changed by hand, and then every verb that would have taken it."""
    config = run / "run.json"
    config.write_text(config.read_text().replace('"seed": 0', '"seed": 1'))
    for words in (
        ("train", "--resume", "a"),
        ("show", "a"),
        ("eval", "a"),
        ("replay", "a", "--reward", "my.py:right"),
        ("train", "grpo", "--task", "parity", "--model", "a"),
    ):
        said = cli(*words)
        assert said.err.splitlines()[-1].startswith("guerdon: a/run.json does not match its checksum"), (words, said)
    assert "unreadable: a/run.json does not match its checksum" in cli("list", "runs", "--dir", ".").out
    meant = {k: v for k, v in json.loads(config.read_text()).items() if k != "sum"}
    config.write_text(json.dumps(meant))
    assert Run("a").config["seed"] == 1, "who deletes the checksum means it"


# --- rollouts, checkpoints, models --------------------------------------------------------------------------------


def test_bytes_of_the_rollouts(run: Path, tried: Tried) -> None:
    """Bytes all over a file of rollouts, pages, headers and footer, one bit of each flipped."""
    path = RunFolder(run).rollouts(0)
    data, before = path.read_bytes(), read_batch(path)
    for at in range(0, len(data), len(data) // 300):
        path.write_bytes(flipped(data, at, at % 8))
        try:
            assert read_batch(path).same(before)
        except Damaged as error:
            assert "step-00000000.parquet" in str(error)
        tried()


def test_rollouts_of_another_step(run: Path) -> None:
    """The file of another step in its place, whole as it is."""
    shutil.copyfile(RunFolder(run).rollouts(2), RunFolder(run).rollouts(1))
    with pytest.raises(Damaged, match="has changed: it holds step 2"):
        list(Run(run).batches())
    with pytest.raises(Damaged):
        _ = Run(run).rollouts


def test_damaged_rollouts_are_named(cli: Cli, run: Path) -> None:
    """A damaged step, and then `replay`, the report and a table of all rollouts."""
    flip(RunFolder(run).rollouts(2))
    refused(cli("replay", "a", "--reward", "my.py:right"), "step-00000002.parquet is damaged")
    with pytest.raises(Damaged, match=r"step-00000002\.parquet is damaged"):
        _ = Run("a").rollouts
    assert "step-00000002.parquet is damaged" in write_report("a").read_text()


def test_a_newer_damaged_checkpoint_does_not_push_out_a_good_one(tmp_path: Path) -> None:
    """--keep 1 with a damaged checkpoint from further on: the good one is kept."""
    save_checkpoint(tmp_path, Checkpoint(6, {"w": torch.ones(3)}, {}), 1)
    flip(tmp_path / "step-00000006" / "tensors.safetensors")
    for step in (2, 4):
        save_checkpoint(tmp_path, Checkpoint(step, {"w": torch.full((3,), float(step))}, {}), 1)
    warnings: list[str] = []
    found = load_checkpoint(tmp_path, warnings.append)
    assert found is not None and found.step == 4 and "step-00000006 is damaged" in warnings[0]
    assert [p.name for p in list_checkpoints(tmp_path)] == ["step-00000004", "step-00000006"]


def test_a_checkpoint_is_read_back_before_the_one_before_it_goes(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that garbles what is written, with --keep 1: the last good checkpoint stays, and a resume falls back on it."""
    Path("press-ctrl-c").touch()

    def garbled(folder: Path, name: str, *known: object) -> None:
        write_manifest(folder, name, *known)
        if int(json.loads((folder / "state.json").read_text())["step"]) > 1:
            flip(folder / "tensors.safetensors")

    line = (*TRAIN, "--keep", "1", "--save-every", "1", "--reward", "my.py:stops")
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "write_manifest", garbled)
        assert cli(*line, "--out", "a").code == 130
    assert [p.name for p in list_checkpoints(Path("a/checkpoints"))][:2] == ["step-00000001", "step-00000002"]
    assert "checkpoint step-00000002 is damaged as soon as it is written" in Run("a").warnings[0]
    Path("press-ctrl-c").unlink()
    said = cli("train", "--resume", "a")
    assert said.code == 0 and "step-00000002 is damaged" in said.out
    assert cli(*line, "--out", "b").code == 0 and Run("a").weights == Run("b").weights


def test_final_weights_are_never_those_of_an_earlier_step(run: Path) -> None:
    """The last checkpoint of a finished run is damaged, and its model asked for."""
    trained = gd.train(resume=run)
    trained.model()
    flip(list_checkpoints(trained.folder.checkpoints)[-1] / "tensors.safetensors")
    with pytest.raises(UserError, match="has lost its final weights: checkpoint step-00000003 is damaged"):
        trained.model()


def test_bytes_of_a_trained_model(cli: Cli, run: Path, tried: Tried) -> None:
    """Each file of a trained model, a bit of it flipped, and then `eval` and `train --model`."""
    for path in sorted((run / "models" / "policy").iterdir()):
        data = path.read_bytes()
        flip(path)
        for words in (("eval", "a"), ("train", "grpo", "--task", "parity", "--model", "a", "--out", "b")):
            refused(cli(*words), "models/policy is damaged")
            tried()
        path.write_bytes(data)
    assert cli("eval", "a", "--tasks", "2", "--k", "1").code == 0


# --- proofs, studies, judges --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_no_verdict_from_a_damaged_run(tmp_path: Path, tried: Tried) -> None:
    """A bit of a run that a proof reads flipped (last evaluation, end, run.json), or its last evaluation lost: it is made
    again."""
    (tmp_path / "faster.py").write_text(FASTER)
    how = How(tmp_path / "evidence", tmp_path / "runs", jobs=1, quick=True, changes={"budget": 400.0})

    def scores() -> list[float]:
        found = prove([str(tmp_path / "faster.py")], how, lambda *_: None)
        return [run["score"] for arm in found[0]["claims"][0]["arms"].values() for run in arm["runs"]]

    before = scores()
    runs = sorted(path.parent for path in (tmp_path / "runs").glob("*/run.json"))
    (tmp_path / "runs" / LEDGER).unlink()  # so that the runs themselves are read
    (how.folder / "faster.json").unlink()
    flip(runs[0] / "events.jsonl", b'"pass@1": ', 10)
    flip(runs[1] / "events.jsonl", b'"Ended"', 2)
    flip(runs[2] / "run.json", b'"seed": ', 8)
    lines = [json.loads(line) for line in (runs[3] / "events.jsonl").read_text().splitlines()]
    old = [{k: v for k, v in row.items() if k not in ("line", "sum")} for row in lines]  # before there were checksums
    last = max(i for i, row in enumerate(old) if row["type"] == "Evaluated")
    (runs[3] / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for i, row in enumerate(old) if i != last))
    after = lines[last]["step"] + 1
    assert Run(runs[3]).damage == [f"the last evaluation, after {after} steps, has no event in events.jsonl"]
    assert scores() == before
    for run in runs:
        again = Run(run)
        assert again.damage == [] and again.warnings[0].startswith(
            "the run that lay here was damaged, and is made again"
        )
        tried()


@pytest.mark.slow
def test_no_verdict_from_a_damaged_ledger(tmp_path: Path, tried: Tried) -> None:
    """A digit of a record in a proof's ledger changed, or its last line torn: that run is made again, and no other."""
    (tmp_path / "faster.py").write_text(FASTER)
    how = How(tmp_path / "evidence", tmp_path / "runs", jobs=1, quick=True, changes={"budget": 400.0})
    told: list[int] = []

    def scores() -> list[float]:
        proofs = prove([str(tmp_path / "faster.py")], how, lambda done, *_: told.append(done))
        return [run["score"] for arm in proofs[0]["claims"][0]["arms"].values() for run in arm["runs"]]

    before, ledger = scores(), tmp_path / "runs" / LEDGER
    whole = ledger.read_bytes()
    torn, flipped = whole[:-9], bytearray(whole)
    flipped[whole.index(b'"tokens": ') + 10] ^= 1
    for damaged in (torn, bytes(flipped)):
        ledger.write_bytes(damaged)
        (how.folder / "faster.json").unlink()
        told.clear()
        assert scores() == before and told[-1] == 1
        tried()


def test_damaged_evidence_is_not_read(tmp_path: Path) -> None:
    """A digit of the packed verdicts changed."""
    shutil.copy(PACKED, tmp_path)
    assert proof_files.verdicts(tmp_path) == proof_files.verdicts(PACKED.parent) != {}
    data = (tmp_path / PACKED.name).read_bytes()
    at = next(i for i in range(len(data) // 2, len(data)) if data[i : i + 1].isdigit())
    (tmp_path / PACKED.name).write_bytes(flipped(data, at))
    with pytest.raises(UserError, match=r"verdicts\.json was damaged"):
        proof_files.verdicts(tmp_path)


def test_what_a_study_remembers(tmp_path: Path, tried: Tried) -> None:
    """A run in a study, what it remembers and what it returned, each damaged in turn."""
    made: list[int] = []

    def body(run, seed):
        inner = run.train(grpo.function(load("parity"), tabular(length=1), prompts=2, tries=4, steps=2))
        kept = run.remember("key", lambda: made.append(1) or {"value": 0.125})
        return {"score": inner.evaluations[-1]["pass@1"], "kept": kept["value"]}

    out = tmp_path / "study"
    before = gd.train(Study(body), out=out).result
    for path in (next((out / "inner").glob("*/events.jsonl")), next((out / "inner").glob("remembered-*.json"))):
        flip(path, b'"pass@1": ' if path.suffix == ".jsonl" else b"0.125", 2 if path.suffix == ".json" else 10)
        events = (out / "events.jsonl").read_bytes().splitlines(True)
        (out / "events.jsonl").write_bytes(b"".join(events[:-1]))  # killed before its last line
        again = gd.train(Study(body), resume=out)
        assert again.result == before and again.damage == []
        tried()
    assert made == [1, 1]
    flip(out / "result.json", b"0.125", 4)
    with pytest.raises(Damaged, match=r"result\.json is damaged"):
        gd.train(Study(body), resume=out)
    assert "result.json is damaged" in Run(out).damage[0]


def test_a_damaged_answer_of_a_judge_is_asked_again(tmp_path: Path) -> None:
    """A letter of an answer changed inside the file of judges' answers."""
    path = tmp_path / "answers.sqlite"
    with Cache(path) as cache:
        cache.put("a", JudgeAnswer("yes"))
        cache.put("b", JudgeAnswer("no"))
    with sqlite3.connect(path) as database:
        database.execute("UPDATE answers SET answer = replace(answer, 'yes', 'yas')")
    with Cache(path) as cache:
        assert {key: answer.text for key, answer in cache.get(["a", "b"]).items()} == {"b": "no"}


# --- anything at all ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turns", mostly_slow([range(6), range(6, 24)], range(6)), ids=["few", "many"])
def test_random_damage_anywhere(cli: Cli, made: Path, run: Path, tried: Tried, turns: range) -> None:
    """Blocks of random bytes, zeros and cuts at random places of every kind of file, and then `show` and `train --resume`."""
    kinds = ("run.json", "events.jsonl", "checkpoints/*/*", "rollouts/*")
    expected = facts(run)
    for turn in turns:
        draw = random.Random(f"damage {turn}")
        path = draw.choice(sorted(run.glob(kinds[turn % len(kinds)])))
        data = path.read_bytes()
        at, size = draw.randrange(len(data)), draw.choice((1, 4, 64))
        block = draw.choice((draw.randbytes(size), bytes(size), b""))
        path.write_bytes(data[:at] + block + (data[at + size :] if block else b""))
        for words in (("show", "a", "--json"), ("train", "--resume", "a", "--json")):
            said = cli(*words)
            assert said.code in (0, 1, 2) and "Traceback" not in said.err, said.err
            told = said.code != 0 or said.json["damage"] or said.json["status"] != "complete"
            assert told or facts(run) == expected, (path, at, block)
        shutil.rmtree(run)
        shutil.copytree(made, run)
        tried()


def facts(run: Path) -> tuple[object, ...]:
    """What anybody would quote of a run, but for times."""
    found = Run(run)
    spent = {unit: cost for unit, cost in found.spent.items() if unit != "seconds"}
    return found.weights, found.evaluations, spent, found.config["seed"], found.steps_done
