"""A run whose episodes are played by workers is the run of one process, whoever is lost on the way."""

from __future__ import annotations

import os
import pickle
import random
import signal
import sys
import threading

import played_elsewhere as runs
import pytest
from killing import killed_at
from started import modules_after

import guerdon as gd
from guerdon.runs.event_types import StepDone
from guerdon.runs.events import read_events
from guerdon.scale import crew, local
from guerdon.scale.crew import cut
from guerdon.training.build import versions
from guerdon.workers.processes import children

KEPT = gd.Options(eval_tasks=0)


def trained(out, workers=None, listeners=(), **said):
    return gd.train(**said, workers=workers, out=out, options=KEPT, progress=False, listeners=listeners)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("scale")


def each_with_two_and_one_with_all():
    """A table with 1, 2 and 4 workers; the others with 2, and with 1 and 4 in `make slow`."""
    for made in (*runs.QUICK, *runs.SLOW):
        for counts in ((1, 2, 4),) if made is runs.grpo_on_a_table else ((2,), (1, 4)):
            is_slow = made in runs.SLOW or counts == (1, 4)
            marks = [pytest.mark.slow] if is_slow else []
            yield pytest.param(made, counts, marks=marks, id=f"{made.__name__}-{counts}")


@pytest.mark.parametrize("made, counts", [*each_with_two_and_one_with_all()])
def test_any_number_of_workers_gives_the_weights_of_one_process(made, counts, place):
    said = {"steps": 6, **made(place)} if isinstance(made(place)["recipe"], str) else made(place)
    alone = trained(place / f"{made.__name__}-alone-{counts}", **said)
    for workers in counts:
        others = trained(place / f"{made.__name__}-{workers}", workers, **said)
        assert others.weights == alone.weights, f"{workers} workers"
        assert others.metrics.column("workers").to_pylist()[-1] >= 1
        assert others.config["hash"] == alone.config["hash"]


def counted(run):
    steps = [e for e in read_events(run.folder.events) if isinstance(e, StepDone)]
    return [(e.step, e.episodes, e.tokens, e.calls, e.read) for e in steps]


def victims():
    return [pid for template in local._made.values() for pid in children(template.process.pid)]


class Harm(threading.Thread):
    """Sends a signal to a random worker, now and then, while a run goes."""

    def __init__(self, number, times, seed):
        super().__init__(daemon=True)
        self.number, self.times, self.dice = number, times, random.Random(seed)
        self.over = threading.Event()
        self.done = 0

    def run(self):
        while self.done < self.times and not self.over.wait(self.dice.uniform(0.05, 0.3)):
            if left := self.victims():
                try:
                    os.kill(self.dice.choice(left), self.number)
                except ProcessLookupError:
                    continue
                self.done += 1

    @staticmethod
    def victims():
        return victims()

    def __call__(self, event):
        """Begin when the first step is done: a worker that is lost while it starts is started again, and that is all."""
        if isinstance(event, StepDone) and not self.is_alive():
            self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        if self.is_alive():
            self.join()


@pytest.fixture(scope="module")
def waited(place):
    return trained(place / "waited", recipe=runs.on_a_table(runs.slow_turn(), steps=30))


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 6))])
@pytest.mark.parametrize("ahead", [False, True])
def test_workers_that_are_killed_change_nothing(place, waited, seed, ahead):
    recipe = runs.on_a_table(runs.slow_turn(), steps=30, ahead=ahead)
    alone = trained(place / f"ahead-{seed}", recipe=recipe) if ahead else waited
    with Harm(signal.SIGKILL, 4, seed) as harm:
        run = trained(place / f"killed-{seed}-{ahead}", 2, [harm], recipe=recipe)
    assert harm.done > 0
    assert run.weights == alone.weights
    assert any("another" in w for w in run.warnings), "nothing was said of those that were lost"
    assert counted(run) == counted(alone), "something was counted twice"


def test_a_worker_that_is_stopped_is_taken_for_lost(place, waited, monkeypatch):
    monkeypatch.setattr(crew, "PATIENCE", 2.0)
    with Harm(signal.SIGSTOP, 2, 3) as harm:
        run = trained(place / "stopped", 2, [harm], recipe=runs.on_a_table(runs.slow_turn(), steps=30))
    assert harm.done > 0 and run.weights == waited.weights and counted(run) == counted(waited)
    assert any("said nothing for 2 s" in w for w in run.warnings)
    assert not victims(), "a stopped worker was left"


class Unreliable(local.Pipe):
    """A pipe that loses some answers, and doubles others."""

    dice = random.Random(0)

    def receive(self):
        while True:
            if self.kept:
                return self.kept.pop()
            kind, body = super().receive()
            if kind == local.ANSWER and (what := self.dice.random()) < 0.6:
                if what < 0.3:
                    continue
                self.kept.append((kind, body))
            return kind, body

    @property
    def kept(self):
        return vars(self).setdefault("_kept", [])


def test_answers_that_are_lost_or_doubled_change_nothing(place, monkeypatch):
    alone = trained(place / "reliable", recipe=runs.on_a_table(steps=6))
    monkeypatch.setattr(local, "Pipe", Unreliable)
    run = trained(place / "unreliable", 2, recipe=runs.on_a_table(steps=6))
    assert run.weights == alone.weights and counted(run) == counted(alone)


@pytest.mark.parametrize("ahead", [False, True])
def test_a_run_that_is_killed_goes_on_with_other_workers(place, ahead):
    recipe = runs.on_a_table(runs.slow_turn(), steps=6, ahead=ahead)
    alone = trained(place / f"unbroken-{ahead}", recipe=recipe)
    with killed_at(4):
        trained(place / f"broken-{ahead}", 2, recipe=recipe)
    run = gd.train(recipe, resume=place / f"broken-{ahead}", workers=3, progress=False)
    assert run.complete and run.weights == alone.weights


def test_what_workers_cannot_play_is_said(place):
    with pytest.raises(gd.UserError, match="global generators"):
        trained(place / "dicey", 2, recipe=runs.on_a_table(runs.dicey_turn(), steps=2))
    with pytest.raises(gd.UserError, match="--workers 0: nobody would play"):
        trained(place / "none", 0, recipe=runs.on_a_table())
    deadly = runs.on_a_table(runs.deadly_turn(), steps=2)
    with pytest.raises(gd.RunStopped, match=r"step 0: worker \d ended while it played asks? \d.* as 4 did before"):
        trained(place / "deadly", 1, recipe=deadly)
    env = runs.slow_turn()
    env._held = runs.Held()
    locked = runs.on_a_table(env, steps=2)
    with pytest.raises(gd.UserError, match="cannot be sent to another process"):
        trained(place / "locked", 2, recipe=locked)


def test_files_that_only_the_run_has(place, monkeypatch):
    """A worker that cannot build the run says what is missing."""
    rows = place / "rows.jsonl"
    rows.write_text("".join(f'{{"prompt": "{n} + 1 =", "answer": "{n + 1}"}}\n' for n in range(40)))
    spawn = local._Template.spawn
    monkeypatch.setattr(local._Template, "spawn", lambda self, end: (rows.unlink(missing_ok=True), spawn(self, end)))
    with pytest.raises(gd.UserError, match=r"worker 0 on .* cannot build the run: .*rows.jsonl"):
        trained(place / "gone", 1, recipe="grpo", model="tabular", data=str(rows), steps=2)


def test_workers_that_would_differ_are_refused_by_name(place, monkeypatch):
    table = {"recipe": "grpo", "task": "successor", "model": "tabular", "steps": 1}
    with monkeypatch.context() as patch:
        patch.setattr(crew, "versions", lambda: {**versions(), "torch": "2.0.0"})
        with pytest.raises(gd.UserError, match=r"worker 0 on \S+ has torch .*, and the run has 2.0.0"):
            trained(place / "torch", 1, **table)
    with monkeypatch.context() as patch:
        patch.setattr(crew, "processor", lambda: "abacus")
        with pytest.raises(gd.UserError, match=r"worker 0 on \S+ has another processor \(.*\) than the run \(abacus\)"):
            trained(place / "processor", 1, **table)
    with monkeypatch.context() as patch:
        patch.setattr(local, "SPARE", 1 << 62)
        with pytest.raises(gd.UserError, match="no room in shared memory for 0 MiB of weights"):
            trained(place / "room", 1, **table)


def test_ray_is_an_extra(place, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(gd.UserError, match=r"pip install 'guerdon\[scale\]'"):
        trained(place / "extra", "ray", recipe=runs.on_a_table())


def test_a_worker_that_plays_otherwise_is_reported(place):
    run = trained(place / "otherwise", 1, recipe=runs.on_a_table(runs.pid_turn(), steps=2))
    assert any("played the first try otherwise" in w for w in run.warnings)


def test_a_run_without_workers_imports_nothing_of_them(place):
    modules = modules_after(["train", "grpo", "--task", "successor", "--model", "tabular", "--steps", "1"], place)
    assert "guerdon.training.loop" in modules and not {name for name in modules if "guerdon.scale" in name}


def test_asks_are_cut_by_their_tries():
    asks = [gd.Ask(gd.Task(str(n), "", ""), n=n) for n in (1, 1, 8, 1, 1)]
    assert [(first, len(part)) for first, part in cut(asks, 2)] == [(0, 3), (3, 2)]
    assert [(first, len(part)) for first, part in cut(asks[:1], 4)] == [(0, 1)]
    whole = [ask for _, part in cut(asks, 3) for ask in part]
    assert whole == asks


def test_a_model_with_a_chat_travels():
    model = gd.models.load("sprig")
    model.start(0, {})
    again = pickle.loads(pickle.dumps(model))
    assert list(again.encode("2 + 2 =")) == list(model.encode("2 + 2 ="))
