"""A score is finite in float32, or it is failed.

Whatever a reward returns or raises, and however it is called: in a worker, in this process, awaited, as a batch, in steps, by a
formula, a judge, another server or the environment. Who failed says why in one line, and the other samples of the same call
keep their scores. That a number is the right one is not promised.
"""

from __future__ import annotations

import json
import math

import odd_values
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from odd_values import FAILED, IN_PROCESS_ONLY, ODD, VALUE
from serving import serving

import guerdon as gd
from guerdon import models, tasks
from guerdon.core.column import Reason
from guerdon.core.episode import Episode, Segment
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.core.part import live
from guerdon.core.task import Ask, Task
from guerdon.rewards.asking.function import Leaf, ask_all
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.reward import Reward
from guerdon.rewards.formula.scores import LARGEST, Outcome, Scores
from guerdon.rewards.stage.placing import paid

GOOD = "good"


def found_in(made, name):
    """What a reward that is asked for an odd value by its name returns."""
    return 0.25 if name == GOOD else made[name][1]()


@gd.part
class asked(Leaf):
    """A part that is called like a function."""

    made: object = live()

    def __call__(self, completion):
        return found_in(self.made or ODD, completion)


def ways(made):
    """A reward by every way it can be called in this process."""

    def here(completion):
        return found_in(made, completion)

    async def later(completion):
        return found_in(made, completion)

    def listed(completion):
        return [found_in(made, each) for each in completion]

    part = asked()
    part.made = made
    return {
        "here": gd.reward(here, isolate=False),
        "later": later,
        "batched": gd.reward(listed, isolate=False, batched=True),
        "part": part,
        "formula": gd.blend(a=gd.reward(here, isolate=False)),
    }


def held(scored, names):
    """Every sample is finite in float32 and says nothing else, or has a reason and its line."""
    json.dumps([scored.whole, scored.details], allow_nan=False)
    for n, name in enumerate(names):
        value, reason, detail = scored.whole[n], scored.reasons[n], scored.details[n]
        if reason is Reason.VALUE:
            assert type(value) is float and abs(value) <= LARGEST, name
        else:
            assert value is None, name
        if reason is Reason.FAILED:
            assert isinstance(detail["error"], str) and detail["error"].strip() and len(detail["error"]) < 9000, name
            assert scored.in_words(n).isprintable() and len(scored.in_words(n)) < 5000, name


def check(reward, made):
    names = list(made)
    scored = gd.score_samples(reward, [{"completion": c} for name in names for c in (name, GOOD)])
    held(scored, [c for name in names for c in (name, GOOD)])
    assert scored.whole[1::2] == [0.25] * len(names)
    for n, name in enumerate(names):
        assert scored.reasons[2 * n].name.lower() == made[name][0], (name, scored.in_words(2 * n))


@pytest.mark.parametrize("way", ["here", "later", "batched", "part", "formula"])
@pytest.mark.filterwarnings("ignore")  # of coroutines that nobody awaits, and of what numpy thinks of odd numbers
def test_what_is_no_score_has_failed_in_this_process(way, tried):
    """1e39, inf, 10**400, Decimals, a class called Score, forged dicts, objects that raise, lists with holes, tensors."""
    made = {**ODD, **{f"a tensor: {name}": each for name, each in odd_values.tensors().items()}}
    check(ways(made)[way], made)
    tried(len(made))


def odd(completion):
    return 0.25 if completion == GOOD else ODD[completion][1]()


def test_what_is_no_score_has_failed_in_a_worker(tried):
    """The same, returned and raised in a worker process."""
    made = {name: each for name, each in ODD.items() if name not in IN_PROCESS_ONLY}
    check(gd.reward(odd), made)
    tried(len(made))


atoms = st.one_of(
    st.floats(), st.integers(), st.integers(10**30, 10**60), st.decimals(), st.fractions(), st.complex_numbers(),
    st.booleans(), st.none(), st.text(max_size=9), st.binary(max_size=9), st.sampled_from([1e38, 3e38, 1e39, -3e38]),
    arrays.arrays(arrays.scalar_dtypes(), arrays.array_shapes(min_dims=1, max_dims=2, max_side=3)),
)  # fmt: skip
values = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=3), inner, max_size=2),
        st.builds(
            gd.Score, inner, st.text(max_size=3) | inner, st.dictionaries(st.text(max_size=3), inner, max_size=2)
        ),
    ),
    max_leaves=6,
)


@given(st.lists(values, min_size=1, max_size=4))
@pytest.mark.filterwarnings("ignore")
def test_any_value_at_all_is_finite_or_has_failed(drawn):
    """Drawn at random: numbers of every kind, texts, arrays of every type, lists, dicts and Scores of them, in five ways."""
    made = {str(n): ("", lambda value=value: value) for n, value in enumerate(drawn)}
    for reward in ways(made).values():
        held(gd.score_samples(reward, [{"completion": name} for name in made]), made)


@gd.part
class outcomes(Leaf):
    """A part that types its outcomes itself."""

    said: object = live()

    async def score(self, samples):
        return [Outcome(*self.said[fields["completion"]]) for fields in samples.fields]


def test_outcomes_that_a_part_typed_itself_are_held_to_the_same(tried):
    """A part whose own `score` says VALUE of 1e39, NaN, text, None or steps that overflow, or a reason that is none."""
    said = {
        "1e39": (Reason.VALUE, 1e39),
        "nan": (Reason.VALUE,),
        "text": (Reason.VALUE, "x"),
        "None": (Reason.VALUE, None),
        "steps": (Reason.VALUE, 1.0, None, (3e38, 3e38)),
        "no steps": (Reason.VALUE, 1.0, None, 7),
        "reason": (7, 1.0),
        "word": ("value", 1.0),
        "bare": (Reason.FAILED,),
        "odd error": (Reason.FAILED, 1.0, {"error": object()}),
        "odd detail": (Reason.FAILED, 1.0, "because"),
    }
    part = outcomes()
    part.said = said
    scored = gd.score_samples(part, [{"completion": name} for name in said])
    held(scored, said)
    assert scored.reasons == [Reason.FAILED] * len(said)
    tried(len(said))


@gd.part
class combined(Reward):
    """A formula whose arithmetic is a user's."""

    reward: object
    made: object = live()

    @property
    def of(self):
        return {"inner": self.reward}

    def combine(self, parts, where):
        return self.made(parts["inner"])


def test_formulas_that_overflow_have_failed(tried):
    """Sums, products, weights and steps that leave float32, and a formula of a user's that makes NaN, infinity or too much."""
    large = gd.reward(lambda completion: 3e38, isolate=False)
    steps = gd.reward(lambda completion: [3e38, -3e38], isolate=False)
    formulas = [large + large, large * large, large.weight(10.0), gd.blend(a=steps.weight(10.0)), steps.weight(1e300)]
    for make in (
        lambda s: s.map(lambda x: x / 0),
        lambda s: s.map(lambda x: x * math.nan),
        lambda s: s.map(lambda x: x * 2),
    ):
        mine = combined(large)
        mine.made = make
        formulas.append(mine)
    bare = combined(steps)
    bare.made = lambda s: Scores(torch.zeros(1).double(), s.reason, {0: torch.tensor([math.inf, -math.inf])})
    for formula in [*formulas, bare]:
        scored = gd.score_samples(formula, [{"completion": "x"}])
        held(scored, ["x"])
        assert scored.reasons == [Reason.FAILED] and "came to" in scored.in_words(0), str(formula)
        tried()


@gd.part
class says_no(gd.Answerer):
    """A judge who is never content."""

    waits = False

    async def answer(self, asked, models):
        return [gd.JudgeAnswer("Verdict: no", tokens_in=1, tokens_out=1) for _ in asked]


@pytest.mark.parametrize("floor", [math.inf, 1e39, -1e308])
def test_verdicts_of_judges_are_held_to_the_same(floor):
    """A rubric that is vetoed down to a floor which float32 does not hold."""
    reward = gd.rubric([gd.criterion("it is good", veto=True)], says_no(), floor=floor)
    (found,) = ask_all([(reward, Samples.of([{"prompt": "p", "completion": "c"}]))])[0]
    assert found.reason is Reason.FAILED and math.isnan(found.value)


@pytest.mark.parametrize("pay", [math.nan, math.inf, 1e39, [math.inf, 0.0], [3e38, 3e38]])
def test_pay_of_an_environment_is_held_to_the_same(pay):
    """An environment that pays NaN, infinity, 1e39, or numbers whose sum is more."""
    each = {"rewards": pay} if isinstance(pay, list) else {"reward": pay}
    good = Segment("policy", "", [], [0, 0], [0.0, 0.0], reward=0.25)
    batch = pack(
        [Episode(Ask(Task("1", "")), (good,)), Episode(Ask(Task("2", "")), (good.but(**{"reward": None, **each}),))]
    )
    scored = paid()(batch, ExamplePlay())
    for name in ("reward", "reward_turns"):
        column = scored.cols[name]
        assert column.reason.tolist() == [Reason.VALUE, Reason.FAILED] and column.value[0] == 0.25
        assert "pay finite numbers" in column.detail[1]["error"]
    steps = scored.cols["reward_steps"]
    assert not steps.value.isinf().any() and steps.reason.tolist()[:2] == [Reason.VALUE] * 2
    assert Reason.FAILED in steps.reason.tolist()


SERVED = """
import odd_values

import guerdon as gd


def made(completion):
    return 0.25 if completion == "good" else odd_values.ODD[completion][1]()


@gd.reward(isolate=False)
def here(completion):
    return made(completion)


async def later(completion):
    return made(completion)


mixed = gd.blend(apart=lambda completion: made(completion), here=here, later=later)
"""


@pytest.mark.slow
def test_one_odd_sample_never_fails_a_whole_request(tmp_path, monkeypatch, tried):
    """Every odd value in one request to a real server, scored in a worker, in the server and awaited; and `remote` of it."""
    monkeypatch.setenv("PYTHONPATH", str(odd_values.__file__).rpartition("/")[0], prepend=":")
    names = [name for name in ODD if name not in IN_PROCESS_ONLY]
    with serving(tmp_path, "mixed", rewards=SERVED) as server:
        reply = server.score(*names, GOOD)
        assert reply.status == 200, reply.text
        results = reply.json["results"]
        monkeypatch.setenv("GUERDON_TOKEN", "a-token-for-tests")
        far = gd.score_samples(gd.remote(server.url), [{"completion": name} for name in (*names, GOOD)])
    assert results[-1]["value"] == 0.75 and far.whole[-1] == 0.75
    for name, result, reason in zip(names, results, far.reasons, strict=False):
        wanted = ODD[name][0]
        if name != "largest":  # three of them are too much
            assert result["reason"] == reason.name.lower() == wanted, (name, result)
        assert (result["value"] is not None) == (result["reason"] == VALUE)
        assert result["reason"] != FAILED or result["detail"]["error"].strip()
        tried(2)


def test_a_run_counts_them_and_learns_from_the_others(tmp_path):
    """A run whose reward gives 1e39 now and then: those failed, no column holds infinity, and the rest is learned from."""
    from guerdon.recipes.house.grpo import grpo

    @gd.reward(isolate=False)
    def mostly(completion):
        return 1e39 if completion[:1] in ("1", "2") else float(len(completion))

    made = grpo(tasks.load("successor"), models.load("tabular"), prompts=4, tries=4, steps=2, reward=mostly)
    run = gd.train(made, out=tmp_path / "run", options=gd.Options(eval_tasks=0, failed_limit=1.0))
    column = run.batch(0).cols["reward"]
    assert run.status == "complete" and Reason.FAILED in column.reason.tolist() and not column.value.isinf().any()
    assert all("1e+39" in column.detail[k]["error"] for k in column.reason.nonzero().flatten().tolist())
