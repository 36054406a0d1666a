"""Questions to boxes that are asked together: each comes to what it would alone, whatever it is asked beside."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import random
import signal
import sys
from concurrent.futures import Future

import pytest
from test_sandbox_pool import zygotes

from guerdon.sandbox import Cause, Limits, SandboxPool
from guerdon.sandbox import shared_questions as module
from guerdon.sandbox.ran_program import Ran, each_ran
from guerdon.sandbox.shared_questions import MOST_QUERIES, SharedQuestions, once_a_step

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="full isolation takes Linux")
LIMITS = Limits(
    cpu=0.4, wall=20.0, memory=48 << 20
)  # a quarter of the processor time fills 48 MiB, more than all of it 256
MADE = "CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, NULL); CREATE TABLE u (a);"
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
QUERIES = {
    "right": "SELECT a, b FROM t ORDER BY a",
    "other rows": "SELECT a FROM t WHERE a > 1",
    "numbers": "SELECT 1e308 * 10, -1e308 * 10, 9223372036854775807, x'00ff', 0.1, NULL",
    "no rows": "SELECT a FROM t WHERE a > 9",
    "nothing": "",
    "no column": "SELECT c FROM t",
    "no table": "SELECT a FROM nowhere",
    "no SQL": "I would select all rows where",
    "open text": "SELECT 'a FROM t",
    "two statements": "SELECT 1; SELECT 2",
    "a zero inside": "SELECT 'a\0b'",
    "half a character": "SELECT '\ud800'",
    "a constraint": "INSERT INTO t SELECT a, b FROM t RETURNING nothing",
    "a setting": "PRAGMA hard_heap_limit = 1",
    "what is read of settings": "PRAGMA table_info(t)",
    "another file": "ATTACH '/etc/passwd' AS p",
    "vacuum": "VACUUM",
    "an extension": "SELECT load_extension('x')",
    "deletes": "DELETE FROM t",
    "drops": "DROP TABLE t",
    "changes": "UPDATE t SET a = 100 RETURNING a",
    "a temporary table": "CREATE TEMP TABLE t AS SELECT 7 AS a, 7 AS b",
    "a trigger": "CREATE TEMP TRIGGER w AFTER DELETE ON t BEGIN DELETE FROM u; END",
    "a transaction": "BEGIN EXCLUSIVE",
    "too many rows": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000) SELECT i FROM n",
    "many rows": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9000) SELECT i FROM n",
    "never ends": ENDLESS,
    "memory": "SELECT length(group_concat(z)) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
    "LIMIT 900) SELECT hex(zeroblob(500000)) AS z FROM n)",
    "one large value": "SELECT zeroblob(900000000)",
    "much to give back": "SELECT hex(zeroblob(3000000))",
    "deep": "SELECT " + "(" * 2000 + "1" + ")" * 2000,
    "one more after all": "SELECT sum(a) FROM t",
}


@pytest.fixture(scope="module")
def pool():
    with SandboxPool(workers=3) as made:
        yield made


@pytest.fixture(scope="module")
def alone(pool):
    """What each query comes to in a box of its own."""
    return {name: facts(pool.sql_now(MADE, query, LIMITS)) for name, query in QUERIES.items()}


def facts(ran: Ran) -> Ran:
    """All but the seconds."""
    return dataclasses.replace(ran, cpu=0.0, wall=0.0)


def asked(pool: SandboxPool, queries, script: str = MADE, limits: Limits = LIMITS) -> list[Ran]:
    async def ask() -> list[Ran]:
        questions = SharedQuestions(lambda: pool)
        return await asyncio.gather(*(questions.sql(script, query, limits) for query in queries))

    return asyncio.run(ask())


def boxes(pool: SandboxPool) -> int:
    return sum(pool.counts.values())


def test_the_queries_end_in_every_way_there_is(alone):
    causes = {ran.cause for ran in alone.values()}
    assert causes >= {Cause.DONE, Cause.RAISED, Cause.FORBIDDEN, Cause.CPU, Cause.MEMORY}


@pytest.mark.parametrize("seed", range(3))
def test_each_comes_to_what_it_does_alone_in_any_order(pool, alone, seed):
    names = random.Random(seed).sample(sorted(QUERIES), len(QUERIES))
    together = asked(pool, [QUERIES[name] for name in names])
    assert {name: facts(ran) for name, ran in zip(names, together, strict=True)} == alone


@pytest.mark.parametrize("before", ["deletes", "drops", "changes", "a temporary table", "a trigger", "a transaction"])
def test_what_one_query_does_to_its_database_no_other_sees(pool, alone, before):
    queries = [QUERIES[before], QUERIES["right"], QUERIES[before] + " ", QUERIES["one more after all"]]
    ended = boxes(pool)
    first, right, _, last = asked(pool, queries)
    assert boxes(pool) == ended + 1  # they did share a box
    assert facts(right) == alone["right"] and facts(last) == alone["one more after all"]
    assert facts(first) == alone[before]


def test_plain_queries_of_a_database_share_one_box_and_equal_ones_are_asked_once(pool):
    ended = boxes(pool)
    answers = asked(pool, [f"SELECT a + {n % 5} FROM t" for n in range(40)])
    assert boxes(pool) == ended + 1
    assert [ran.value["rows"][0] for ran in answers] == [[1 + n % 5] for n in range(40)]


def test_a_box_takes_so_many_queries_and_no_more(pool):
    ended = boxes(pool)
    asked(pool, [f"SELECT {n}" for n in range(MOST_QUERIES + 2)])
    assert boxes(pool) == ended + 2


def test_a_query_goes_through_databases_in_one_box_and_no_further_than_it_is_asked(pool):
    other = MADE + "INSERT INTO t VALUES (9, 'z'); CREATE TABLE more (a);"

    async def ask() -> list[list[Ran]]:
        questions, found = SharedQuestions(lambda: pool), []
        asked = [questions.query([MADE, other], query, LIMITS) for query in ("SELECT max(a) FROM t", "SELECT 1", "no")]
        for number in (0, 1):
            found.append(await asyncio.gather(*(each.on(number) for each in asked[: 2 + (number == 0)])))
        return found

    ended = boxes(pool)
    (first, one, broken), (second, two) = asyncio.run(ask())
    assert boxes(pool) == ended + 1
    assert [ran.value["rows"] for ran in (first, second, one, two)] == [[[3]], [[9]], [[1]], [[1]]]
    assert facts(broken) == facts(pool.sql_now(MADE, "no", LIMITS))

    async def ask_on() -> list[Ran]:
        query = SharedQuestions(lambda: pool).query([MADE, other, MADE], "SELECT count(*) FROM more", LIMITS)
        return [await query.on(number) for number in range(3)]

    none, some, again = asyncio.run(ask_on())
    assert (none.error, some.value["rows"], again.error) == (none.error, [[0]], "OperationalError: no such table: more")


def test_queries_that_take_long_cost_the_others_nothing_but_time(pool, alone):
    names = ["right", "never ends", "no column", "one more after all"]
    before, limits = pool.counts.copy(), Limits(cpu=1.0, wall=20.0)
    right, endless, *others = asked(pool, [QUERIES[name] for name in names], limits=limits)
    assert [facts(ran) for ran in (right, *others)] == [alone[name] for name in names if name != "never ends"]
    assert endless.cause is Cause.CPU and endless.error == "took more than 1 s of processor time"
    assert pool.counts - before == {"done": 1, "cpu": 1}  # the shared one, and the one that never ends in its own


def test_databases_are_never_mixed_up(pool):
    """One query of two databases is two questions, whatever their tasks are called."""

    async def ask() -> list[Ran]:
        questions = SharedQuestions(lambda: pool)
        scripts = [MADE, MADE + "INSERT INTO t VALUES (9, 'z');"] * 3
        with once_a_step(0):
            return await asyncio.gather(*(questions.sql(each, "SELECT max(a) FROM t", LIMITS) for each in scripts))

    assert [ran.value["rows"] for ran in asyncio.run(ask())] == [[[3]], [[9]]] * 3


def test_a_script_that_fails_is_told_of_as_ever(pool):
    alone = facts(pool.sql_now("CREATE nothing", "SELECT 1", LIMITS))
    assert [facts(ran) for ran in asked(pool, ["SELECT 1", "SELECT 2"], "CREATE nothing")] == [alone, alone]


def test_limits_are_part_of_the_question(pool):
    async def ask() -> list[Ran]:
        questions = SharedQuestions(lambda: pool)
        limits = [Limits(cpu=0.2), Limits(cpu=0.3)]
        return await asyncio.gather(*(questions.sql(MADE, ENDLESS, each) for each in limits))

    assert [ran.error for ran in asyncio.run(ask())] == [f"took more than {s} s of processor time" for s in (0.2, 0.3)]


def test_a_box_that_was_not_through_counts_for_nothing():
    whole = Ran(Cause.DONE, value=[[{"columns": [], "rows": []}] * 2, [("", "Error: x", "x\n")], []])
    (done, too), (raised,), left = each_ran(whole, 3)
    assert done.ok and too.ok and raised.error == "Error: x" and raised.cause is Cause.RAISED and left == []
    changes = [{"cause": Cause.CPU}, {"cause": Cause.CRASHED}, {"cause": Cause.BROKEN}, {"forbidden": ("socket",)}]
    changes += [{"value": None}, {"value": whole.value[:2]}, {"value": {"rows": []}}]
    assert all(each_ran(dataclasses.replace(whole, **change), 3) == [[]] * 3 for change in changes)
    forged = [7, "text", ("done", "", ""), ("", "", 3), ("", ""), [[]], {"rows": [], 7: 8}]
    told = each_ran(Ran(Cause.DONE, value=[forged, *([one] for one in forged[:-1]), forged[-1]]), len(forged) + 1)
    assert not any(ran.ok for each in told for ran in each)


@pytest.mark.slow
def test_all_boxes_killed_in_the_middle_come_to_the_same(alone):
    names = [name for name in QUERIES if name not in ("never ends", "memory", "one large value")]
    others = zygotes()
    with SandboxPool(workers=2) as own:
        own.sql_now(MADE, "SELECT 1", LIMITS)
        begun, killed = own.begun, []

        def begin(request):
            done = begun(request)
            if not killed:
                killed.extend(zygotes(others))
                for pid in killed:
                    os.kill(pid, signal.SIGKILL)
            return done

        own.begun = begin
        together = asked(own, [QUERIES[name] for name in names])
        assert killed and own.counts["lost"] >= 1
    assert [facts(ran) for ran in together] == [alone[name] for name in names]


def test_a_pool_that_loses_every_shared_box_asks_each_alone(pool, alone, monkeypatch):
    names, run = ["right", "no column", "other rows"], pool.begun

    def begin(request):
        if b"queries" in request.frames[0]:
            return _broken_instead(run(request))
        return run(request)

    monkeypatch.setattr(pool, "begun", begin)
    assert [facts(ran) for ran in asked(pool, [QUERIES[name] for name in names])] == [alone[name] for name in names]


def _broken_instead(done):
    done.result()
    other: Future[Ran] = Future()
    other.set_result(Ran(Cause.BROKEN, "the sandbox was lost"))
    return other


def test_a_step_remembers_and_the_next_asks_again(pool):
    async def ask(step: int | None, times: int = 1) -> int:
        questions, ended = SharedQuestions(lambda: pool), boxes(pool)
        for _ in range(times):
            if step is None:
                await questions.sql(MADE, "SELECT 5", LIMITS)
            else:
                with once_a_step(step):
                    await questions.sql(MADE, "SELECT 5", LIMITS)
        return boxes(pool) - ended

    module._steps.clear()
    assert asyncio.run(ask(1, times=3)) == 1  # equal questions, one after the other
    assert asyncio.run(ask(1)) == 0  # of another part of the run, in a loop of its own
    assert asyncio.run(ask(2)) == 1
    assert asyncio.run(ask(3)) == 1 and len(module._steps) == module.STEPS_KEPT
    assert asyncio.run(ask(1)) == 1
    assert asyncio.run(ask(None, times=2)) == 2  # in no step nothing is kept


def test_a_box_that_broke_and_large_answers_are_not_remembered(pool):
    module._steps.clear()
    answers = [Ran(Cause.BROKEN, "lost"), Ran(Cause.DONE, value=["x" * 9000]), Ran(Cause.DONE, value=1 << 99999)]
    answers += [Ran(Cause.DONE, value={"rows": [[1]] * 9000}), Ran(Cause.DONE, value={"rows": [[1], [2]]})]

    async def ask() -> list[int]:
        questions, kept = SharedQuestions(lambda: pool), []
        for n, answer in enumerate(answers):

            async def given(answer=answer) -> Ran:
                return answer

            with once_a_step(1):
                module._keep(("q", n), await questions.joined(("q", n), given))
            kept.append(len(module._steps[1]))
        return kept

    assert asyncio.run(ask()) == [0, 0, 0, 0, 1]


def test_who_stops_waiting_takes_the_answer_from_nobody(pool):
    async def ask() -> Ran:
        questions = SharedQuestions(lambda: pool)
        first, second = (asyncio.ensure_future(questions.sql(MADE, "SELECT 6", LIMITS)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        return await second

    assert asyncio.run(ask()).value["rows"] == [[6]]


def test_programs_have_a_box_each(pool):
    async def ask() -> list[Ran]:
        questions = SharedQuestions(lambda: pool)
        programs = [f"def f(x): return x + {n}" for n in (1, 2, 1)]
        each = [questions.call(program, [{"x": 1}], "f", limits=LIMITS) for program in programs]
        tested = [questions.check(program, "assert f(1) == 2", limits=LIMITS) for program in programs]
        return await asyncio.gather(*each, *tested)

    ended = boxes(pool)
    *called, first, second, third = asyncio.run(ask())
    assert [ran.value for ran in called] == [[2], [3], [2]]
    assert [first.ok, second.ok, third.ok] == [True, False, True]
    assert boxes(pool) == ended + 4  # equal ones once, others never together
