"""A user's code never decides how the program ends.

`sys.exit(0)`, a KeyboardInterrupt that nobody pressed, a leaked CancelledError or whatever else a reward raises makes that
sample *failed*; anywhere else it is one line with its place, an exit code that is not 0, and a run that can be resumed. `train`
gives 0 for a complete run alone, and 130 when a signal came. What calls `os._exit` in our own process, or ends it by a signal,
is beyond us: in a worker it is contained.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from pathlib import Path

import pytest
import typer
from scheduling import mostly_slow
from serving import serving

import guerdon as gd
from guerdon import models, tasks
from guerdon.cli.main import app, main
from guerdon.core.column import Reason
from guerdon.core.part import live
from guerdon.recipes.house.grpo import grpo
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.formula.reward import Reward


class RunStopped(BaseException):
    """A user's own, by the name of ours."""


ENDINGS = {
    "sys.exit(0)": lambda: sys.exit(0),
    "SystemExit": lambda: raised(SystemExit("done")),
    "KeyboardInterrupt": lambda: raised(KeyboardInterrupt()),
    "CancelledError": lambda: raised(asyncio.CancelledError()),
    "GeneratorExit": lambda: raised(GeneratorExit()),
    "RunStopped": lambda: raised(RunStopped("of mine")),
    "a group": lambda: raised(BaseExceptionGroup("many", [SystemExit(0), ValueError("x")])),
    "exceptions": lambda: raised(ExceptionGroup("many", [ValueError("x")])),
    "typer.Exit": lambda: raised(typer.Exit(0)),
    "typer.Abort": lambda: raised(typer.Abort()),
}


def raised(error):
    raise error


def scored(reward, *completions):
    found = gd.score_samples(reward, [{"completion": c} for c in completions])
    for n, detail in enumerate(found.details):
        assert found.reasons[n] is not Reason.FAILED or (detail["error"].strip() and found.in_words(n).isprintable())
    return found


def ends(completion):
    return ENDINGS[completion]() if completion in ENDINGS else float(completion)


async def ends_later(completion):
    await asyncio.sleep(0)
    return ends(completion)


@gd.part
class ending(Leaf):
    """A part that is called, and ends."""

    def __call__(self, completion):
        return ends(completion)


@gd.part
class scoring(Leaf):
    """A part with a `score` of its own."""

    async def score(self, samples):
        return [ends(fields["completion"]) for fields in samples.fields]


@gd.part
class combining(Reward):
    """A formula whose arithmetic ends."""

    reward: object
    how: object = live()

    @property
    def of(self):
        return {"inner": self.reward}

    def combine(self, parts, where):
        return ENDINGS[self.how]()


WAYS = {"in a worker": ends, "here": gd.reward(ends, isolate=False), "awaited": ends_later, "a part": ending()}


@pytest.mark.parametrize("way", WAYS)
def test_a_reward_that_ends_is_a_failed_sample(way, tried):
    """sys.exit(0), KeyboardInterrupt, CancelledError, GeneratorExit, own BaseExceptions and groups, in four kinds of reward."""
    found = scored(WAYS[way], *ENDINGS, "1.5")
    assert found.reasons == [Reason.FAILED] * len(ENDINGS) + [Reason.VALUE] and found.whole[-1] == 1.5
    tried(len(ENDINGS))


@pytest.mark.parametrize("how", ENDINGS)
def test_a_part_or_formula_that_ends_has_failed_for_all_it_was_asked(how):
    """The same in a part's own `score` and in a formula's `combine`, which are asked about all samples at once."""
    found = scored(gd.blend(mine=scoring(), other=gd.reward(lambda completion: 2.0, isolate=False)), how, how)
    assert found.reasons == [Reason.FAILED] * 2 and found.parts["other"] == [2.0, 2.0]
    formula = combining(gd.reward(lambda completion: 1.0, isolate=False))
    formula.how = how
    assert scored(formula, "1", "2").reasons == [Reason.FAILED] * 2


async def bad():
    sys.exit(0)


async def meddles(completion):
    loop, me = asyncio.get_running_loop(), asyncio.current_task()
    match completion:
        case "cancel me":
            me.cancel()
        case "cancel me and wait":
            me.cancel()
            await asyncio.sleep(60)
        case "cancel all":
            for task in asyncio.all_tasks():
                task.cancel()
        case "close":
            loop.close()
        case "a child that exits":
            await asyncio.create_task(bad())
        case "stop":
            loop.stop()
        case "an orphan that exits":
            loop.create_task(bad())
            await asyncio.sleep(0.01)
        case "soon":
            loop.call_soon(sys.exit, 0)
            await asyncio.sleep(0.01)
    return 1.0


MEDDLING = {
    "cancel me": Reason.FAILED,
    "cancel me and wait": Reason.FAILED,
    "cancel all": Reason.FAILED,
    "close": Reason.FAILED,
    "a child that exits": Reason.FAILED,
    "stop": Reason.VALUE,
    "an orphan that exits": Reason.VALUE,
    "soon": Reason.VALUE,
}


@pytest.mark.parametrize("how", MEDDLING)
@pytest.mark.slow
def test_an_async_reward_has_no_hold_on_the_loop_of_others(how):
    """An async reward that cancels its task or all of them, stops or closes its loop, or starts tasks that exit."""
    assert scored(meddles, how).reasons == [MEDDLING[how]]
    assert scored(meddles, "1", "2").whole == [1.0, 1.0]
    gc.collect(1)  # asyncio tells of tasks that nobody awaited when they are collected: here, not amid another test


def test_a_plain_function_finds_no_loop_to_meddle_with():
    """A function in this process that would stop the loop and cancel its tasks; one that runs a loop of its own may."""

    @gd.reward(isolate=False)
    def plain(completion):
        if completion == "stop":
            asyncio.get_running_loop().stop()
        if completion == "cancel":
            for task in asyncio.all_tasks():
                task.cancel()
        return asyncio.run(ends_later(completion))

    found = scored(plain, "stop", "1.5", "cancel", "2.5", "sys.exit(0)")
    assert found.whole == [None, 1.5, None, 2.5, None]


# --- runs -----------------------------------------------------------------------------------------------------------


@gd.part
class ends_at:
    """A stage that ends at a step, once it is told how."""

    how: object = live()
    needs = gives = ()

    def __call__(self, batch, play):
        if self.how and play.step == 2:
            ENDINGS[self.how]()
        return batch


def small(**changes):
    made = grpo(tasks.load("successor"), models.load("tabular"), prompts=2, tries=2, steps=4, lr=0.1)
    return made.but(**changes) if changes else made


def with_stage(how=None):
    stage = ends_at()
    stage.how = how
    made = small()
    made.stages.append(stage)
    return made


OPTIONS = gd.Options(eval_tasks=0, save_every=1)


STAGES = ["sys.exit(0)", "KeyboardInterrupt", "CancelledError", "RunStopped", "a group", "typer.Exit"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run that nothing stopped."""
    return gd.train(with_stage(), out=tmp_path_factory.mktemp("whole") / "run", options=OPTIONS)


@pytest.mark.parametrize("how", mostly_slow(STAGES, "sys.exit(0)", "CancelledError", "a group"))
def test_a_stage_that_ends_stops_the_run_which_goes_on_from_there(tmp_path, whole, how):
    """A stage that exits at step 2: one line that names its place; resumed, the weights of a run that nothing stopped."""
    with pytest.raises(gd.RunStopped, match=r"^step 2: .*test_endings\.py, line \d+: ") as caught:
        gd.train(with_stage(how), out=tmp_path / "run", options=OPTIONS)
    assert "\n" not in str(caught.value)
    stopped = gd.Run(tmp_path / "run")
    assert stopped.status != "complete" and stopped.steps_done == 2
    assert gd.train(with_stage(), resume=tmp_path / "run").weights == whole.weights


@gd.part
class ends_drawing:
    how: str = "sys.exit(0)"

    def draw(self, n, play):
        return ENDINGS[self.how]()

    def observe(self, batch, play):
        return None


@gd.part
class ends_playing:
    how: str
    roles = ("policy",)

    async def play(self, ask, seats):
        if self.how == "cancel":
            asyncio.current_task().cancel()
        if self.how == "stop":
            asyncio.get_running_loop().stop()
        if self.how in ENDINGS:
            ENDINGS[self.how]()
        await asyncio.sleep(60)


def test_other_code_of_a_run_that_ends_stops_it_in_one_line(tmp_path, tried):
    """A curriculum, an environment, a listener and an exam's metric that exit, cancel or stop the loop."""

    def exits(event):
        sys.exit(0)

    def metric(sitting):
        sys.exit(0)

    exam = gd.Exam(tasks.load("successor"), [metric], tasks=2, tries=1)
    for n, (recipe, options, listeners, said) in enumerate(
        (
            (small(curriculum=ends_drawing()), OPTIONS, (), r"test_endings\.py, line \d+: SystemExit: 0 was raised"),
            (
                small(env=ends_playing("sys.exit(0)")),
                OPTIONS,
                (),
                r"4 of 4 in 'episode' failed.*line \d+: SystemExit: 0",
            ),
            (small(env=ends_playing("CancelledError")), OPTIONS, (), r"'episode' failed.*line \d+: CancelledError"),
            (small(env=ends_playing("cancel")), OPTIONS, (), "CancelledError was raised"),
            (small(env=ends_playing("stop")), OPTIONS, (), "stopped the event loop"),
            (small(), OPTIONS, (exits,), r"test_endings\.py, line \d+: SystemExit: 0 was raised"),
            (small(exams=[exam]), gd.Options(), (), r"test_endings\.py, line \d+: SystemExit: 0 was raised"),
        )
    ):
        with pytest.raises(gd.RunStopped, match=said) as caught:
            gd.train(recipe, out=tmp_path / str(n), options=options, listeners=listeners)
        assert "\n" not in str(caught.value)
        assert gd.Run(tmp_path / str(n)).status != "complete"
        tried()


# --- the command line -----------------------------------------------------------------------------------------------

FILE = '''
import asyncio
import signal
import sys

import typer

import guerdon as gd
from guerdon.core.part import live
from guerdon.recipes.house.grpo import grpo


class Mine(gd.UserError):
    exit_code = 0


def end(how):
    if how == "a signal":
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    if how == "sys.exit":
        sys.exit(0)
    raise {{"keyboard": KeyboardInterrupt, "cancelled": asyncio.CancelledError, "exit": typer.Exit, "abort": typer.Abort,
           "mine": Mine, "bug": ZeroDivisionError, "end": EOFError}}[how]


@gd.part
class ends:
    how: str = ""
    needs = gives = ()

    def __call__(self, batch, play):
        if self.how and play.step == 1:
            end(self.how)
        return batch


@gd.recipe("mine")
def mine(task, model, *, how: str = "", early: str = ""):
    """GRPO that ends."""
    if early:
        end(early)
    made = grpo.function(task, model, prompts=2, tries=2, steps=2)
    made.stages.append(ends(how))
    return made


async def later(completion):
    end("sys.exit")


@gd.recipe("study")
def study(task, model):
    """A study that leaves."""
    return gd.Study(lambda run, seed: end("sys.exit"))


{last}
'''


@pytest.fixture
def line(tmp_path, monkeypatch, capsys):
    """Runs a command line in this process: its exit code and its last line."""
    monkeypatch.chdir(tmp_path)
    Path("fine.py").write_text(FILE.format(last=""))
    Path("leaves.py").write_text(FILE.format(last="sys.exit(0)"))

    def run(*words):
        code = main(words)
        said = capsys.readouterr().err
        assert "Traceback" not in said
        return code, [x for x in said.splitlines() if x.startswith("guerdon: ")]

    return run


MINE = ("train", "./fine.py:mine", "--task", "successor", "--model", "tabular", "--eval-tasks", "0", "--out", "run")


@pytest.mark.sampled(6, "how")
@pytest.mark.parametrize("knob", ["how", "early"])
@pytest.mark.parametrize("how", ["sys.exit", "keyboard", "cancelled", "exit", "abort", "mine", "bug", "end"])
def test_train_gives_0_for_a_complete_run_alone(line, how, knob):
    """A recipe, and a stage of it, that exit, raise typer's own exits, an error that says 0, or a bug."""
    code, said = line(*MINE, "--set", f"{knob}={how}")
    assert code == 1 and len(said) == 1, said
    assert how == "mine" or "fine.py, line " in said[0], said


def test_130_is_for_a_signal_that_came(line):
    """Ctrl-C twice inside a stage: 130, where a KeyboardInterrupt that the stage raises gives 1; and the whole run 0."""
    assert line(*MINE, "--set", "how=a signal")[0] == 130
    assert line(*MINE[:-1], "other", "--set", "how=keyboard")[0] == 1
    assert line(*MINE[:-1], "whole")[0] == 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    "words",
    [
        ("train", "./leaves.py:mine", "--task", "successor", "--model", "tabular"),
        ("train", "./fine.py:study", "--task", "successor", "--model", "tabular"),
        ("train", "grpo", "--task", "successor", "--model", "tabular", "--steps", "1", "--reward", "leaves.py:later"),
        ("show", "./leaves.py"),
        ("prove", "./leaves.py"),
        ("serve", "leaves.py:later"),
        ("replay", "run", "--reward", "leaves.py:later"),
    ],
    ids=lambda words: f"{words[0]} {words[1]}",
)
def test_a_file_that_leaves_while_it_is_read_is_one_line(line, words):
    """`sys.exit(0)` at the end of a recipe's or a reward's file, and in a study, under each verb that reads one."""
    if words[0] == "replay":
        assert line(*MINE)[0] == 0
    code, said = line(*words)
    assert code in (1, 2) and len(said) == 1, said
    assert "SystemExit: 0" in said[0] and ".py, line " in said[0]


def test_an_async_reward_that_exits_does_not_complete_a_run(line):
    """`sys.exit(0)` in an async reward under `train`: every sample failed, exit code 1."""
    code, said = line(
        "train", "grpo", "--task", "successor", "--model", "tabular", "--steps", "1", "--reward", "fine.py:later"
    )
    assert code == 1 and len(said) == 1 and "failed, more than 20%: SystemExit: 0" in said[0], said


def test_every_verb_says_itself_how_it_ends():
    """No verb of the command line is left out."""
    assert len(app.registered_commands) >= 9
    assert all(hasattr(command.callback, "__wrapped__") for command in app.registered_commands)


# --- the server -----------------------------------------------------------------------------------------------------


def test_a_server_answers_on_whatever_a_reward_does(tmp_path, monkeypatch, tried):
    """All of these from async, in-process and isolated rewards of a real server: they failed, and the next is scored."""
    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).parent}:{Path(__file__).parents[1]}", prepend=":")
    served = "import guerdon as gd\nfrom test_endings import MEDDLING, ends, ends_later, meddles\n\n"
    served += "here = gd.reward(ends, isolate=False)\n\n\nasync def later(completion):\n"
    served += "    return await (meddles if completion in MEDDLING else ends_later)(completion)\n\n\n"
    served += "def apart(completion):\n    return ends(completion)\n\n\n"
    served += "mixed = gd.blend(later=later, here=here, apart=apart)\n"
    with serving(tmp_path, "mixed", rewards=served) as server:
        for how in (*ENDINGS, *(how for how, reason in MEDDLING.items() if reason is Reason.FAILED)):
            reply = server.score(how)
            assert reply.status == 200 and reply.json["results"][0]["reason"] == "failed", (how, reply.text)
            tried(3)
        together = server.score(*ENDINGS, "2.0").json["results"]
        assert [r["reason"] for r in together] == ["failed"] * len(ENDINGS) + ["value"]
        assert together[-1]["value"] == 6.0 and server.ask("/health").json == {"status": "ok"}
        assert server.process.poll() is None
