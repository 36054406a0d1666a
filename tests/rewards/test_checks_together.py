"""Checks that are asked together and as episodes end: the verdicts, reasons, details and order of one at a time."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
from pathlib import Path

import pytest

import guerdon as gd
from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.pack import pack
from guerdon.core.part import part
from guerdon.core.task import Task, checks_later, truth_later, truth_of
from guerdon.rewards.stage.score_stages import checker, verified
from guerdon.sandbox import Cause, Limits, shared_sandbox
from guerdon.sandbox.ran_program import Ran
from guerdon.tasks.code import function_checks
from guerdon.tasks.field import program_tests, sql_tasks
from guerdon.training.loop import start

sys.path.append(str(Path(__file__).parent.parent / "resume"))
sys.path.append(str(Path(__file__).parent.parent / "sandbox"))
from everything import everything, letters
from test_sandbox_pool import zygotes

SHORT = Limits(cpu=0.4, wall=20.0)
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
HUNGRY = "SELECT length(group_concat(hex(zeroblob(400000000)))) FROM (SELECT 1 UNION SELECT 2)"


class OneByOne:
    """A source whose checks are asked one after another, as a source without an async check is."""

    def __init__(self, source):
        self.source, self.name = source, source.name

    def check(self, task, completion):
        return self.source.check(task, completion)


@pytest.fixture
def short(monkeypatch):
    for module in (sql_tasks, program_tests, function_checks):
        monkeypatch.setattr(module, "LIMITS", SHORT)


def sql_samples():
    source, samples = gd.tasks.load("text_to_sql:1-6"), []
    for number in (0, 1, 5):
        task = source.get("train", number)
        wrong = [miss[1] for miss in task.meta["wrong"]]
        said = [task.answer, f"```sql\n{task.answer};\n```", task.answer + " -- so", *wrong, *wrong[:1], task.answer]
        said += [
            "",
            "SELECT nothing FROM nowhere",
            "I do not know",
            "SELECT 1; SELECT 2",
            "SELECT '\0'",
            "SELECT '\ud800'",
        ]
        said += ["DROP TABLE airports", "PRAGMA temp_store = 2", "ATTACH 'x' AS x", ENDLESS, HUNGRY, "VALUES (1)"]
        samples += [{"task": task, "completion": text} for text in said]
    return source, samples


def program_samples():
    row = {
        "text": "Double a number.",
        "code": "def f(x): return 2 * x",
        "test_list": ["assert f(2) == 4", "assert f(0) == 0"],
    }
    other = {"text": "Halve it.", "code": "def f(x): return x / 2", "test_list": ["assert f(2) == 1"]}
    source = gd.tasks.programs([row, other, row])
    said = ["def f(x): return x + x", "def f(x): return x / 2", "def f(x): return 4", "def f(", "", "f = 3"]
    said += ["def f(x):\n    while True: pass", "import os; os.abort()", "import os; os._exit(0)", "raise SystemExit"]
    said += [
        "import os\ndef f(x):\n    os.fork()\n    return 2 * x",
        "def f(x): return [0] * (1 << 40)",
        "def f(x): return x + x",
    ]
    return source, [{"task": source.get("train", n % 2), "completion": text} for n in range(2) for text in said]


def function_samples():
    source = gd.tasks.load("functions:2-3")
    said = [
        "def f(xs):\n while True: pass",
        "import os; os.abort()",
        "import os; os._exit(0)",
        "",
        "def f(xs): return xs",
    ]
    said += ["import os\ndef f(*xs):\n os.fork()\n return 1", "def f(", "```python\ndef f(*xs): return object()\n```"]
    samples = []
    for number in range(2):
        task = source.get("train", number)
        right = source.solution(task)
        samples += [{"task": task, "completion": text} for text in [right, *said, right]]
    return source, samples


@pytest.mark.parametrize("kind", [sql_samples, program_samples, function_samples])
def test_verdicts_are_those_of_one_at_a_time(short, kind):
    source, samples = kind()
    assert checks_later(source)
    alone = gd.score_samples(checker(OneByOne(source)), samples)
    boxes = shared_sandbox().counts.copy()
    together = gd.score_samples(checker(source), samples)
    asked = shared_sandbox().counts - boxes
    assert (together.whole, together.reasons, together.details) == (alone.whole, alone.reasons, alone.details)
    assert {0.0, 1.0} <= set(together.whole)
    assert asked["cpu"] >= 1 and asked.total() < len(samples) + together.whole.count(1.0)


def test_programs_that_are_repaired_give_what_they_give_alone(short):
    tests = [[[1], 2], [[0], 1], [[5], 6]]
    programs = ["def f(x): return x + 1", "def f(x): return 2", "def f(x):\n while True: pass", "import os; os.abort()"]
    programs += ["def f(", "import os\ndef f(x):\n os.fork()\n return x + 1", "def f(x): return x + 1"]

    async def together():
        return await asyncio.gather(*(function_checks.answers_later(program, tests) for program in programs))

    boxes = shared_sandbox().counts.total()
    answers = asyncio.run(together())
    assert shared_sandbox().counts.total() - boxes == len(set(programs))
    assert answers == [function_checks.answers_now(program, tests) for program in programs]


def test_repairs_played_at_once_end_as_they_do_one_by_one():
    from guerdon.envs.programs.repair_world import ProgramAtHand

    source = gd.envs.repairs(level=1)
    metas = [source.get("train", n).meta for n in range(3)]
    says = [
        ["run", "edit 2: return 1", "run", "submit"],
        ["run", "submit"],
        ["edit 1:def g(", "run", "edit 2:", "submit"],
    ]
    plays = [(meta, said) for meta in metas for said in says]

    async def played(meta, said):
        world = ProgramAtHand(meta, "sandbox", None)
        return [await world.step(text) for text in said], world.outcome()

    async def at_once():
        return await asyncio.gather(*(played(*each) for each in plays))

    assert asyncio.run(at_once()) == [asyncio.run(played(*each)) for each in plays]


@pytest.mark.slow
def test_all_boxes_killed_in_the_middle_of_a_step_change_no_verdict(short, monkeypatch):
    source, samples = sql_samples()
    samples = [each for each in samples if each["completion"] not in (ENDLESS, HUNGRY)]
    calm = gd.score_samples(checker(source), samples)
    pool, killed = shared_sandbox(), []
    begun, before = pool.begun, pool.counts["lost"]

    def begin(request):
        done = begun(request)
        if len(killed) < 2:
            killed.append(zygotes())
            for pid in killed[-1]:
                with contextlib.suppress(ProcessLookupError):  # one of the first blow may be gone by the second
                    os.kill(pid, signal.SIGKILL)
        return done

    monkeypatch.setattr(pool, "begun", begin)
    shaken = gd.score_samples(checker(source), samples)
    assert any(killed) and pool.counts["lost"] > before
    assert (shaken.whole, shaken.reasons, shaken.details) == (calm.whole, calm.reasons, calm.details)


def test_boxes_that_stay_broken_are_failed_and_counted(monkeypatch):
    source, samples = sql_samples()

    class Broken:
        def query(self, *_):
            return self

        async def on(self, _):
            return Ran(Cause.BROKEN, "the sandbox was lost")

    monkeypatch.setattr(sql_tasks, "shared_questions", Broken)
    scores = gd.score_samples(checker(source), samples[:2])
    assert scores.reasons == [Reason.FAILED] * 2
    assert all(each["error"].endswith("SandboxBroke: the sandbox was lost") for each in scores.details)


def test_one_key_and_two_databases_are_two_questions():
    meta = {"ordered": False, "wrong": [], "query": "SELECT a FROM t"}
    made = "CREATE TABLE t (a); INSERT INTO t VALUES ({});"
    tasks = [
        Task("same", "What is a?", "SELECT a FROM t", "text_to_sql", 1, {**meta, "databases": [made.format(n)]})
        for n in (1, 2)
    ]
    samples = [{"task": task, "completion": text} for task in tasks for text in ("SELECT 1", "SELECT 2")]
    assert gd.score_samples(checker(gd.tasks.text_to_sql()), samples).whole == [1.0, 0.0, 0.0, 1.0]


# --- sources of anybody's --------------------------------------------------------------------------------------------


@part
class waiting(letters):
    """Letters whose checks wait; all that were asked are noted."""

    asked = []

    async def check_later(self, task, completion):
        self.asked.append(completion)
        await asyncio.sleep(0.001)
        return self.check(task, completion)


def recipe_of(source, ahead=False):
    recipe = everything.build({}, {"steps": 3, "ahead": ahead})
    recipe.stages[0] = verified(source)
    recipe.exams = [gd.Exam(source)]
    return recipe


@pytest.mark.sampled(1, "ahead")
@pytest.mark.parametrize("ahead", [False, True])
def test_a_run_whose_checks_wait_is_the_run_whose_checks_do_not(tmp_path, ahead):
    runs = [
        gd.train(
            recipe_of(source, ahead), seed=1, out=tmp_path / type(source).__name__, options=gd.Options(eval_tasks=8)
        )
        for source in (letters(), waiting())
    ]
    plain, early = runs
    assert plain.weights == early.weights and plain.evaluations == early.evaluations
    for name in ("correct/mean", "accuracy"):
        if name in plain.metrics.column_names:
            assert plain.metrics[name].to_pylist() == early.metrics[name].to_pylist()


def test_a_check_is_asked_when_the_episode_ends_and_only_once():
    waiting.asked.clear()
    recipe, play = start(recipe_of(waiting()), seed=0, total=3)
    play.begin(0)
    batch = pack(play(recipe.curriculum.draw(7, play)))
    assert len(waiting.asked) == batch.K
    scored = recipe.stages[0](batch, play)
    assert len(waiting.asked) == batch.K and not recipe.stages[0].early
    said = [batch.episodes[e].segments[-1].text for e in batch.episode[batch.leaf].tolist()]
    tasks = [batch.episodes[e].task for e in batch.episode[batch.leaf].tolist()]
    assert scored["correct"].tolist() == [letters().check(task, text) for task, text in zip(tasks, said, strict=True)]


def test_a_source_that_does_not_wait_is_not_told_of_episodes():
    _, play = start(recipe_of(letters()), seed=0, total=3)
    told = [listener.func.__self__ for listener in play.ended]
    assert not any(isinstance(stage, verified) for stage in told)


def test_exams_ask_as_their_episodes_end(monkeypatch):
    waiting.asked.clear()
    called = verified.__call__
    early = []
    monkeypatch.setattr(
        verified, "__call__", lambda self, *given: early.append(len(self.early)) or called(self, *given)
    )
    found = gd.evaluate("tabular", exam=gd.Exam(waiting()), tasks=4, tries=2)
    assert early == [8] and len(waiting.asked) == 8
    assert found == gd.evaluate("tabular", exam=gd.Exam(letters()), tasks=4, tries=2)


@pytest.mark.sampled(1, "ahead")
@pytest.mark.parametrize("ahead", [False, True])
def test_a_truth_asks_as_episodes_end_and_changes_no_weight(tmp_path, monkeypatch, ahead):
    def made():
        recipe = recipe_of(waiting(), ahead)
        recipe.stages = [stage for stage in recipe.stages if not isinstance(stage, verified)]
        return recipe

    called, early = verified.__call__, []
    monkeypatch.setattr(
        verified, "__call__", lambda self, *given: early.append(len(self.early)) or called(self, *given)
    )
    options = gd.Options(eval_tasks=0, truth="verified")
    watched = gd.train(made(), seed=1, out=tmp_path / "watched", options=options)
    assert len(early) == 3 and all(known >= 28 for known in early)
    assert watched.weights == gd.train(made(), seed=1, out=tmp_path / "plain", options=gd.Options(eval_tasks=0)).weights


# --- what is refused, and what is typed --------------------------------------------------------------------------------


@part
class not_async(letters):
    def check_later(self, task, completion):
        return 1.0


@part
class async_alone(letters):
    async def check(self, task, completion):
        return 1.0


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (not_async(), "not_async.check_later is not async: write `async def check_later`, or leave it out"),
        (async_alone(), "async_alone.check is async: call it check_later, beside a plain check"),
    ],
)
def test_a_check_of_the_wrong_kind_is_refused_before_anything_is_played(source, line):
    with pytest.raises(UserError) as refused:
        start(recipe_of(source), seed=0, total=1)
    assert str(refused.value) == line


@part
class gives(letters):
    value: object = None

    async def check_later(self, task, completion):
        if isinstance(self.value, type):
            raise self.value("no verdict")
        return self.value


NO_VERDICT = "ValueError: the check of gives gave {}: a verdict is 1.0 (right), 0.0 (wrong), or None"


@pytest.mark.parametrize(
    ("value", "reason", "line"),
    [
        (3, Reason.FAILED, NO_VERDICT.format(3)),
        (-0.5, Reason.FAILED, NO_VERDICT.format(-0.5)),
        (float("nan"), Reason.FAILED, NO_VERDICT.format("nan")),
        ("1.0", Reason.FAILED, NO_VERDICT.format("'1.0'")),
        (OSError, Reason.FAILED, "OSError: no verdict"),
        (TimeoutError, Reason.TIMED_OUT, "TimeoutError: no verdict"),
        (SystemExit, Reason.FAILED, "SystemExit: no verdict"),
        (None, Reason.NOT_APPLICABLE, None),
        (True, Reason.VALUE, None),
        (0.25, Reason.VALUE, None),
    ],
)
def test_what_an_async_check_gives_is_typed(value, reason, line):
    samples = [{"task": letters().get("train", 0), "completion": "a"}] * 2
    scores = gd.score_samples(checker(gives(value)), samples)
    assert scores.reasons == [reason] * 2
    assert line is None or [each["error"].splitlines()[-1] for each in scores.details] == [line] * 2
    assert reason is not Reason.VALUE or scores.whole == [float(value)] * 2


@part
class stricter(waiting):
    """Writes its check anew, and not its async twin."""

    def check(self, task, completion):
        return 0.0


def test_a_check_that_is_written_anew_is_the_one_that_counts():
    source = stricter()
    assert not checks_later(source)
    task = source.get("train", 0)
    track = {"completion": task.answer, "path": []}
    assert asyncio.run(truth_later(source, task, track)) == truth_of(source, task, track) == 0.0
    bound = waiting()
    bound.check = lambda task, completion: 0.0
    assert not checks_later(bound)


def test_sources_around_others_wait_where_those_do():
    sql, plain = gd.tasks.text_to_sql(level=2), gd.tasks.text_to_sql(level=1, checker="plain")
    mixed = gd.tasks.mixture("both", [sql, plain])
    around = [sql, mixed, gd.tasks.first(sql, 4), gd.tasks.first(mixed, 4), gd.tasks.answer_shown(sql)]
    around += [gd.tasks.debugged(gd.tasks.load("functions:1")), gd.tasks.load("reflecting:functions:1")]
    assert all(checks_later(source) for source in around)
    for source in (plain, gd.tasks.first(plain, 4), gd.tasks.load("chain:1"), gd.tasks.answer_shown(plain)):
        assert not checks_later(source)
    for source in around:
        for number in range(2):
            task = source.get("train", number)
            for text in (task.answer, "SELECT 7", ""):
                track = {"completion": text, "path": []}
                assert asyncio.run(truth_later(source, task, track)) == truth_of(source, task, track)


def test_the_task_of_the_docs_checks_as_the_page_says(capsys):
    text = (Path(__file__).parent.parent.parent / "docs" / "your_own_task.md").read_text()
    code, printed = re.findall(
        r"```python\n(.*?)```\n\n```text\n(.*?)```", text.partition("## Checks that wait")[2], re.S
    )[0]
    names = {"__name__": "docs"}
    exec(code, names)
    assert capsys.readouterr().out == printed
    assert names["scored"].whole == [1.0, 0.0] * 50
    assert [names["proofs"]().check(names["task"], said) for said in ("qed", "?")] == [1.0, 0.0]
