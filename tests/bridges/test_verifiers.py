"""The bridge to verifiers, with the real library: rubrics in 0.3.1, tasks in 0.4.0."""

from __future__ import annotations

import asyncio
import importlib
import math

import pytest

import guerdon as gd
from guerdon import score_samples
from guerdon.bridges.verifiers import for_verifiers, for_verifiers_task, from_verifiers
from guerdon.core.column import Reason
from guerdon.core.errors import Notice, RunStopped, UserError
from guerdon.rewards.formula.algebra import blend, normalised


@gd.reward
def exact(completion, answer):
    return completion.strip() == answer


@gd.reward
async def careful(completion):
    await asyncio.sleep(0.01)
    if completion == "bad":
        raise ValueError("no good")
    return None if completion == "" else 0.5


rubrics = pytest.mark.peers("verifiers<0.4")
tasks = pytest.mark.peers("verifiers>=0.4")


def library():
    return importlib.import_module("verifiers")


def state(text, answer="4", chat=True, **info):
    said = [{"role": "assistant", "content": text}] if chat else text
    asked = [{"role": "user", "content": "2+2"}] if chat else "2+2"
    return {"prompt": asked, "completion": said, "answer": answer, "info": info, "trajectory": []}


@rubrics
def test_in_a_rubric_rollout_by_rollout():
    rubric = library().Rubric(funcs=[for_verifiers(blend(exact=exact, careful=careful)), for_verifiers(exact)])
    for text, chat, want in (("4", True, 2.5), ("5", True, 0.5), ("4", False, 2.5), ("", True, 0.0)):
        rollout = state(text, chat=chat)
        asyncio.run(rubric.score_rollout(rollout))
        assert rollout["reward"] == want
        assert set(rollout["metrics"]) == {"blend", "exact"}


@rubrics
def test_in_a_rubric_by_group():
    rubric = library().Rubric(funcs=[for_verifiers(normalised(exact, scale=False), group=True), for_verifiers(exact)])
    rollouts = [state(text) for text in ("4", "5", "5", "4")]
    asyncio.run(rubric.score_group(rollouts))
    assert [r["metrics"]["normalised"] for r in rollouts] == [0.5, -0.5, -0.5, 0.5]
    assert [r["reward"] for r in rollouts] == [1.5, -0.5, -0.5, 1.5]


@rubrics
def test_info_and_the_state_are_fields():
    @gd.reward
    def near(completion, target, state, info):
        return abs(int(completion) - target) <= 1 and state["info"] is info

    rollout = state("4", target=5)
    asyncio.run(library().Rubric(funcs=[for_verifiers(near)]).score_rollout(rollout))
    assert rollout["reward"] == 1.0


@rubrics
def test_a_missing_score_is_never_the_zero_a_rubric_makes_of_it():
    vf = library()
    for text, words in (("bad", "ValueError: no good"), ("", "not applicable")):
        rollout = state(text)
        with pytest.warns(Notice, match=words):
            asyncio.run(vf.Rubric(funcs=[for_verifiers(careful)]).score_rollout(rollout))
        assert math.isnan(rollout["reward"])
        with pytest.warns(Notice, match="they get -1"):
            asyncio.run(vf.Rubric(funcs=[for_verifiers(careful, missing=-1.0)]).score_rollout(rollout))
        assert rollout["reward"] == -1.0


@rubrics
def test_nor_is_a_reward_that_asks_for_what_there_is_not():
    rollout = state("4")
    with pytest.warns(Notice, match="needs 'colour' and no sample has it"):
        asyncio.run(library().Rubric(funcs=[for_verifiers(lambda colour: 1.0)]).score_rollout(rollout))
    assert math.isnan(rollout["reward"])


@rubrics
def test_a_rubric_is_a_reward():
    vf = library()

    def right(parser, completion, answer):
        return parser.parse_answer(completion) == answer

    async def told(info, **kwargs):
        return info["bonus"]

    rubric = vf.Rubric(funcs=[right, told], weights=[1.0, 0.5])
    samples = [{"prompt": "2+2", "completion": c, "answer": "4", "bonus": 2.0} for c in ("4", "5")]
    found = score_samples(blend(own=exact, theirs=from_verifiers(rubric)), samples)
    assert found.parts["theirs"] == [2.0, 1.0] and found.whole == [3.0, 1.0]
    leaf = from_verifiers(vf.RubricGroup([rubric, vf.Rubric(funcs=[right])]))
    assert score_samples(leaf, samples).whole == [3.0, 1.0]
    assert score_samples(leaf, samples).details[0]["parts"] == {"right": 2.0, "told": 2.0}
    assert rubric.funcs == [right, told]  # as it was


@rubrics
def test_what_a_rubrics_function_raises_is_failed_and_not_zero():
    vf = library()

    def breaks(completion):
        raise TimeoutError if completion == "late" else ZeroDivisionError("gone")

    leaf = from_verifiers(vf.Rubric(funcs=[breaks, lambda completion: None]), chat=False)
    found = score_samples(leaf, [{"prompt": "p", "completion": c} for c in ("late", "x")])
    assert found.reasons == [Reason.TIMED_OUT, Reason.FAILED] and "gone" in found.in_words(1)


def test_what_is_no_rubric_is_refused():
    with pytest.raises(UserError, match="has score_rollout"):
        from_verifiers(exact)


@rubrics
def test_a_rubric_of_whole_groups_is_refused():
    grouped = library().Rubric(funcs=[for_verifiers(exact, group=True)])
    with pytest.raises(UserError, match="whole groups"):
        from_verifiers(grouped)


# --- tasks, which took the place of rubrics ---------------------------------------------------------------------------


@pytest.fixture
def rollout():
    """A function that scores one reply with a task of the real library that has a formula for its reward."""
    import verifiers.v1 as vf
    from verifiers.v1.graph import MessageNode
    from verifiers.v1.trace import AgentInfo, TraceTask

    class Sum(vf.TaskData):
        answer: str = ""

    class SumTask(vf.Task[Sum]):
        score_it = vf.reward(for_verifiers_task(blend(exact=exact, careful=careful), name="score_it"), weight=2.0)

    def play(text):
        task = SumTask(Sum(prompt="2+2", answer="4"), vf.TaskConfig())
        said = vf.AssistantMessage(content=text)
        nodes = [MessageNode(message=vf.UserMessage(content="2+2")), MessageNode(parent=0, message=said, sampled=True)]
        about = TraceTask(type="SumTask", data=task.data)
        trace = vf.Trace(task=about, agent=AgentInfo(config=vf.AgentConfig()), nodes=nodes)
        asyncio.run(task.score(trace))
        return trace

    return play


@tasks
@pytest.mark.filterwarnings("ignore")
def test_in_a_task(rollout):
    assert rollout("4").reward == 3.0 and rollout("5").reward == 1.0
    assert set(rollout("4").rewards) == {"score_it"}


@tasks
@pytest.mark.filterwarnings("ignore")
def test_a_task_records_no_reward_for_a_missing_score(rollout):
    with pytest.raises(Exception) as caught:
        rollout("bad")
    assert "no good" in str(caught.value) or isinstance(caught.value.__cause__, RunStopped)
