"""Killed at any instant and started again, everything ends as if it had not been.

Weights, events, rollouts, evaluations, trained models, what a study returns and what a proof says are the same to the last
bit; a server that is killed and started again answers the same. Not promised: clocks, which are in no result, and what a
reward of the user's remembers outside of its scores.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from killed import BESIDE, Mother, paths
from serving import TOKEN, Served, serving, until
from small import small_lm
from terminal import CLAIM
from worker_calls import descendants, ends

import guerdon as gd
from guerdon.core.column import Reason
from guerdon.core.manifest import OWNER, manifest_fault
from guerdon.evidence import proof_files
from guerdon.models.model_loading import MODEL_SUMS
from guerdon.rewards.asking.function import ask_all
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.scores import Outcome
from guerdon.runs.checksums import KEY
from guerdon.runs.event_types import Saved
from guerdon.runs.events import PROCESS, latest, read_events
from guerdon.runs.rollout_files import batch_bytes, read_batch
from guerdon.runs.run import Run

RECIPES = """
from guerdon import Study, recipe
from guerdon.recipes.house.grpo import grpo


def brief(completion):
    return -float(len(completion))


@recipe("twice")
def twice(task, model):
    \"\"\"Two runs, one after the other, and an evaluation.\"\"\"

    def body(run, seed):
        run.train(grpo.function(task, model, prompts=2, tries=4, steps=2))
        last = run.train(grpo.function(task, model, prompts=2, tries=4, steps=3))
        told = run.remember("a number", lambda: {"value": 0.25})
        return {**told, **run.eval(last.model(), task, tasks=2, tries=1)}

    return Study(body)
"""
SMALL = (
    "--set", "prompts=2", "--set", "tries=4", "--eval-tasks", "2", "--eval-every", "3", "--save-every", "2", "--keep", "2",
)  # fmt: skip
TABLE = ("--task", "parity", "--model", "tabular", "--set", "tabular.length=1")
PROVE = ("prove", "./faster.py", "--quick", "--out", "evidence", "--runs", "proofs")
STARTS = {
    "train": ("train", "grpo", *TABLE, *SMALL, "--steps", "6", "--out", "run"),
    "LoRA": (
        "train", "grpo", "--task", "parity", "--model", "lm", "--set", "lm.lora=2", "--reward", "my.py:brief", *SMALL,
        "--set", "sampling.max_tokens=4", "--set", "kl=0.1", "--steps", "4", "--out", "run",
    ),
    "study": ("train", "./my.py:twice", *TABLE[:4], "--eval-tasks", "2", "--save-every", "2", "--out", "run"),
    "prove": (*PROVE, "--jobs", "1"),
    "prove, two at a time": (*PROVE, "--jobs", "2"),
}  # fmt: skip


@pytest.fixture(scope="module")
def mother(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mother]:
    made = Mother(tmp_path_factory.mktemp("said") / "last")
    yield made
    made.close()


def user_folder(folder: Path, what: str) -> Path:
    """A folder with what the command lines name."""
    folder.mkdir(parents=True)
    (folder / "my.py").write_text(RECIPES)
    (folder / "faster.py").write_text(CLAIM)
    if what == "LoRA":
        small_lm(folder / "lm")
    return folder


# --- what must be the same --------------------------------------------------------------------------------------------


def told(run: Run) -> list[Any]:
    """Every event but those of the processes, without clocks and attempts."""
    kept = [dataclasses.asdict(e) for e in latest(read_events(run.folder.events)) if not isinstance(e, PROCESS)]
    return [{k: v for k, v in e.items() if k not in ("time", "attempt", "seconds", "spent")} for e in kept]


def contents(folder: Path, own: bytes = b"") -> dict[str, str]:
    """A hash of every file without what is its `own`: the folder of the user's that it names, or the id of its run."""
    files = {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
    return {name: hashlib.sha256(data.replace(own, b"") if own else data).hexdigest() for name, data in files.items()}


def rollouts(folder: Path) -> dict[str, str]:
    """A hash of every stored batch, whichever run it says it is of."""
    files = sorted((folder / "rollouts").glob("*"))
    return {path.name: hashlib.sha256(batch_bytes(read_batch(path))).hexdigest() for path in files}


def trained(folder: Path) -> dict[str, str]:
    """A hash of every file of the trained models, which their checksums vouch for."""
    for sums in folder.glob(f"models/*/{MODEL_SUMS}"):
        assert manifest_fault(sums.parent, MODEL_SUMS) is None
    return {
        n: hash for n, hash in contents(folder / "models", bytes(folder.parent)).items() if not n.endswith(MODEL_SUMS)
    }


def outcome(folder: Path) -> dict[str, Any]:
    """All that a run folder, and those in it, came to."""
    run = Run(folder)
    assert run.status == "complete"
    found = {
        "weights": run.weights,
        "damage": run.damage,
        "events": told(run),
        "saved": {e.path: e.weights for e in run.events(Saved)},
        "evaluations": run.evaluations,
        "rollouts": rollouts(folder),
        "models": trained(folder),
        "checkpoint": contents(
            max((folder / "checkpoints").glob("step-*"), default=folder / "none"), run.folder.run_id().encode()
        ),
        "result": (folder / "result.json").read_text() if (folder / "result.json").exists() else None,
        "inner": {p.parent.name: outcome(p.parent) for p in sorted(folder.glob("inner/*/run.json"))},
        "remembered": {p.name: without_identity(p) for p in sorted(folder.glob("inner/*.json"))},
    }
    assert str(run.weights) in run.folder.report.read_text(), "the report is from before the end"
    left = [p for p in folder.rglob(".*") if p.name != ".lock"]
    assert not left, f"what a kill left half-written lies about: {left}"
    return found


def without_identity(file: Path) -> dict[str, Any]:
    """What a study remembers, without the identity of its run, which every start makes anew, and the sum that covers it."""
    return {name: value for name, value in json.loads(file.read_text()).items() if name not in (OWNER, KEY)}


def proof(folder: Path) -> Any:
    """What a proof says, without clocks, and without which functions ran: to go on runs what reads checkpoints too."""
    (file,) = (folder / "evidence").rglob("faster.json")

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                k: plain(v) for k, v in value.items() if k not in ("seconds", "created", "machine", "hours", "code")
            }
        return [plain(v) for v in value] if isinstance(value, list) else value

    return plain(proof_files.read(file.parent, file.stem))


# --- the campaign -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Whole:
    """What a command line comes to by itself, the names of its writes with how many of each there are, and its seconds."""

    truth: Any
    writes: dict[str, int]
    took: float


@pytest.fixture(scope="module")
def whole(mother: Mother, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Whole]:
    @functools.cache
    def made(what: str) -> Whole:
        folder, began = user_folder(tmp_path_factory.mktemp("whole") / what, what), time.monotonic()
        assert mother.run(folder, *STARTS[what]) == 0, mother.errors
        return Whole(came_to(folder, what), mother.seen, time.monotonic() - began)

    return made


def came_to(folder: Path, what: str) -> Any:
    return proof(folder) if what.startswith("prove") else outcome(folder / "run")


def words_of(folder: Path, what: str) -> tuple[str, ...]:
    """How it is gone on with: a proof as it was begun, a run by its folder."""
    is_run = not what.startswith("prove") and (folder / "run" / "run.json").exists()
    return ("train", "--resume", "run") if is_run else STARTS[what]


@dataclass
class Campaign:
    """Kills a command line again and again, lets it go on, and holds what it comes to against what it comes to by itself."""

    mother: Mother
    base: Path
    what: str
    whole: Whole
    kills: int = 0
    folders: int = 0

    def __post_init__(self) -> None:
        self.folder = self.new()

    def new(self) -> Path:
        self.folders += 1
        return user_folder(self.base / f"killed-{self.folders}", self.what)

    def attempt(self, **how: Any) -> None:
        """One process: killed, or complete and then compared."""
        code = self.mother.run(self.folder, *words_of(self.folder, self.what), **how)
        if code == -signal.SIGKILL:
            self.kills += 1
            return
        assert code == 0, f"{self.what} {how}: {self.mother.errors}"
        self.compare(how)

    def compare(self, how: Any = None) -> None:
        same(came_to(self.folder, self.what), self.whole.truth, f"{self.what} in {self.folder} after {how}")
        self.folder = self.new()

    def at_writes(self, names: list[str], draw: random.Random) -> None:
        """A kill at each of these writes, the first or a later one of its name; six in a row in one folder."""
        for number, name in enumerate(names, start=1):
            before = self.kills
            is_new = not (self.folder / "run").exists()  # later there may be only one left
            self.attempt(die=(name, draw.randint(1, min(3, self.whole.writes[name])) if is_new else 1))
            if self.kills == before:  # what went on did not come by that write: from the start it does
                self.attempt(die=(name, 1))
            if number % 6 == 0:
                self.finish()
        self.finish()

    def at_moments(self, count: int, draw: random.Random) -> None:
        """Kills after random times, up to about what the whole takes."""
        aim = self.kills + count
        while self.kills < aim:
            self.attempt(after=draw.uniform(0.01, self.whole.took))
        self.finish()

    def finish(self) -> None:
        if any((self.folder / name).exists() for name in ("run", "proofs", "evidence")):
            self.attempt()


def same(found: Any, truth: Any, what: str) -> None:
    assert found == truth, f"{what} differs in {differs(found, truth)}"


def differs(a: Any, b: Any, at: str = "") -> str:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in dict.fromkeys((*a, *b)):
            if a.get(key) != b.get(key):
                return differs(a.get(key), b.get(key), f"{at}/{key}")
    if isinstance(a, list) and isinstance(b, list):
        for i, (x, y) in enumerate(zip(a, b, strict=False)):
            if x != y:
                return differs(x, y, f"{at}/{i}")
        at += f" (of {len(a)} and {len(b)})"
    return f"{at}: {str(a)[:200]} and {str(b)[:200]}"


@pytest.mark.slow
def test_a_run_killed_at_a_few_writes_ends_the_same(
    mother: Mother, whole: Callable[[str], Whole], tmp_path: Path, tried: Callable[..., None]
) -> None:
    """A run killed while it writes an event, a checkpoint, a rollout file and its report, and gone on with each time."""
    made = Campaign(mother, tmp_path, "train", whole("train"))
    for part in ("half of run/events", "after replace of run/checkpoints", "before replace of run/roll"):
        made.attempt(die=(next(name for name in made.whole.writes if part in name), 1))
    made.attempt(die=("before replace of run/.report.html.tmp", 1))
    assert made.kills == 4 and Run(made.folder / "run").status == "complete"
    made.finish()
    tried(made.kills)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "part", "at_writes", "at_moments"),
    [
        ("train", "run/", 8, 12), ("train", BESIDE, 24, 0), ("train", "run/rollouts", 8, 0), ("LoRA", "run/", 6, 5),
        ("LoRA", BESIDE, 12, 0), ("study", "run/", 8, 5), ("prove", "", 8, 4), ("prove, two at a time", "", 0, 3),
    ],
)  # fmt: skip
def test_killed_at_writes_and_at_random(
    mother: Mother,
    whole: Callable[[str], Whole],
    tmp_path: Path,
    tried: Callable[..., None],
    what: str,
    part: str,
    at_writes: int,
    at_moments: int,
) -> None:
    """Training, checkpoints, rollouts, adapters, studies, proofs: killed at every kind of write and at random moments."""
    draw = random.Random(f"{what} {part}")
    made = Campaign(mother, tmp_path, what, whole(what))
    names = sorted(name for name in made.whole.writes if part in name)
    if part == BESIDE:  # what is removed has no folder in its name
        folders = ("run/checkpoints", "run/rollouts")
        assert all(any(f in name for f in folders) for name in names if "run/" in name), f"written beside: {names}"
    draw.shuffle(names)
    names = [*names, *(draw.choice(names) for _ in range(at_writes))][:at_writes]
    made.at_writes(names, draw)
    made.at_moments(at_moments, draw)
    assert made.kills >= at_moments
    print(f"{what} {part}: {made.kills} kills, {len(made.whole.writes)} kinds of writes")
    tried(made.kills)


@pytest.mark.slow
def test_a_process_from_the_start(whole: Callable[[str], Whole], tmp_path: Path, tried: Callable[..., None]) -> None:
    """`python -m guerdon.cli.main train` as a user starts it, killed five times when it has written some events."""
    folder, draw, kills = user_folder(tmp_path / "cold", "train"), random.Random(7), 0
    log = folder / "run" / "events.jsonl"
    for _ in range(5):
        words = [sys.executable, "-m", "guerdon.cli.main", *words_of(folder, "train")]
        process = subprocess.Popen(words, cwd=folder, env=paths(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        enough = size(log) + draw.randint(0, 1000)
        while process.poll() is None and size(log) <= enough:
            time.sleep(0.005)
        process.kill()
        _, errors = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), errors.decode()
        kills += process.returncode != 0
    subprocess.run(
        [sys.executable, "-m", "guerdon.cli.main", *words_of(folder, "train")], cwd=folder, env=paths(), check=True
    )
    same(came_to(folder, "train"), whole("train").truth, f"after {kills} kills")
    assert kills >= 3
    tried(kills)


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


# --- a server ---------------------------------------------------------------------------------------------------------

SAID = [str(n) for n in range(8)]


def ask(url: str, found: list[Outcome], stop: threading.Event) -> None:
    there, samples = gd.remote(url, timeout=2.0), Samples.of([{"completion": c} for c in SAID], group=[0] * len(SAID))
    while not stop.is_set():
        found += ask_all([(there, samples)])[0]


def killed_while_asked(served: Served, wait: float) -> list[list[Outcome]]:
    """What four clients of a server heard, who went on asking until it was dead and all that it had started was gone."""
    found: list[list[Outcome]] = [[], [], [], []]
    stop = threading.Event()
    clients = [threading.Thread(target=ask, args=(served.url, each, stop)) for each in found]
    for client in clients:
        client.start()
    until(lambda: all(found))
    time.sleep(wait)
    below = descendants(served.process.pid)
    served.process.kill()
    until(lambda: all(each[-1].reason is Reason.FAILED for each in found))
    stop.set()
    for client in clients:
        client.join()
    assert ends(list(below))
    return found


@pytest.mark.slow
def test_a_server_killed_and_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tried: Callable[..., None]
) -> None:
    """A server killed 10 times while four clients ask, and started again on its port."""
    monkeypatch.setenv("GUERDON_TOKEN", TOKEN)
    draw, port, truth = random.Random(11), "0", None
    for _ in range(10):
        with serving(tmp_path, "mixed", "--port", port) as served:
            port = served.url.rpartition(":")[2]
            said = served.score(*SAID)
            truth = truth or said.json
            assert said.status == 200 and said.json == truth, "what was started again says something else"
            heard = killed_while_asked(served, draw.uniform(0.0, 0.5))
        values = [r["value"] for r in truth["results"]]
        for each in heard:
            for n, outcome in enumerate(each):
                right = outcome.reason is Reason.VALUE and outcome.value == values[n % len(SAID)]
                unanswered = outcome.reason is Reason.FAILED and "did not answer" in str(outcome.detail)
                late = outcome.reason is Reason.TIMED_OUT  # two seconds are little on a busy machine
                assert right or unanswered or late, outcome
        tried()
