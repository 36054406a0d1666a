"""The bridge to TRL: what its callables return, and the real GRPOTrainer with our rewards against our own score stage."""

from __future__ import annotations

import asyncio
import importlib
from types import SimpleNamespace

import pytest
from refusals import refusal
from small import small_lm
from strategies import episode, segment

import guerdon as gd
from guerdon import score_samples, tasks
from guerdon.bridges.trl import components_for_trl, for_trl, from_trl
from guerdon.core.errors import Notice, UserError
from guerdon.core.pack import pack
from guerdon.core.schedule import linear
from guerdon.core.task import Ask, Task
from guerdon.rewards.formula.algebra import blend, by_metric, normalised
from guerdon.rewards.formula.reward import as_reward
from guerdon.rewards.stage.score_stages import score


@gd.reward
def exact(completion, answer):
    return completion.strip() == answer


@gd.reward
def digits(completion):
    return sum(c.isdigit() for c in completion) / max(1, len(completion))


@gd.reward
def picky(completion):
    """Breaks on some completions, does not apply to others."""
    if len(completion) % 3 == 0:
        raise ValueError("a third of them")
    return None if len(completion) % 3 == 1 else 1.0


def test_strings_and_columns():
    call = for_trl(blend(exact=exact, long=digits.weight(2.0)))
    assert call.__name__ == "blend"
    given = {"completions": ["4", "x"], "answer": ["4", "4"], "completion_ids": [[1], [2]], "log_metric": print}
    assert call(prompts=["2+2", "2+2"], **given) == [3.0, 0.0]


def test_conversations():
    @gd.reward
    def look(prompt, completion, turns, messages):
        return prompt == "now?" and completion == "b" and turns == ["a", "b"] and len(messages) == 6

    asked = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "old"},
        {"role": "user", "content": "now?"},
    ]
    said = [
        {"role": "assistant", "content": "a"},
        {"role": "tool", "content": "t"},
        {"role": "assistant", "content": [{"type": "text", "text": "b"}]},
    ]
    assert for_trl(look)([asked], [said]) == [1.0]
    assert for_trl(digits)([asked], [[]]) == [0.0]  # nothing was said


def test_what_is_missing_is_none_and_what_broke_is_counted():
    texts = ["abc", "abcd", "abcde"]  # fails, does not apply, 1
    with pytest.warns(Notice, match=r"picky gave no score for 1 of 3 samples \(1 failed\).*ValueError: a third"):
        assert for_trl(picky)(["p"] * 3, texts) == [None, None, 1.0]
    with pytest.warns(Notice):
        assert for_trl(picky, missing=-1)(["p"] * 3, texts) == [None, -1.0, 1.0]
    with refusal(UserError):
        for_trl(picky, missing="zero")


def test_a_missing_column_is_refused():
    with refusal(UserError):
        for_trl(exact)(["p"], ["c"], solution=["4"])


def test_groups_are_runs_of_equal_prompts():
    call = for_trl(normalised(digits, scale=False))
    assert call(["p", "p", "q", "q"], ["1", "a", "1", "1"]) == [0.5, -0.5, 0.0, 0.0]


def test_schedules_know_the_trainer_and_the_call_before():
    by_step = for_trl(blend(digits=digits.weight(linear(0.0, 1.0))))
    found = [by_step(["p"], ["1"], trainer_state=SimpleNamespace(global_step=s, max_steps=11))[0] for s in (0, 10)]
    assert found[0] == 0.0 and found[1] > 0.9
    by_progress = blend(digits=digits, more=digits.weight(by_metric("reward.digits", start=0.0, end=1.0)))
    call = for_trl(by_progress)
    assert [call(["p"], ["1"]), call(["p"], ["1"])] == [[1.0], [2.0]]


def test_components_add_up_to_the_formula():
    formula = blend(exact=exact, digits=digits.weight(0.5), picky=picky.weight(0.0)) - picky
    calls, weights = components_for_trl(formula)
    assert [c.__name__ for c in calls] == list(formula.of) and weights == [1.0, 0.5, 0.0, -1.0]
    prompts, texts, answers = ["p"] * 4, ["4", "44", "444", "x"], ["4"] * 4
    with pytest.warns(Notice) as seen:
        columns = [call(prompts, texts, answer=answers) for call in calls]
    assert len(seen) == 1  # scored once for all of them, and said once
    with pytest.warns(Notice):
        whole = for_trl(formula)(prompts, texts, answer=answers)
    for row, total in zip(zip(*columns, strict=True), whole, strict=True):
        there = [w * x for w, x in zip(weights, row, strict=True) if x is not None]
        assert (sum(there) if there else None) == total  # as TRL adds up
    assert whole[2] is None and all(column[2] is None for column in columns)


def test_components_are_scored_anew_for_each_batch():
    count = []

    @gd.reward
    def counted(completion):
        count.append(completion)
        return len(count)

    calls, _ = components_for_trl(counted + counted.weight(2.0))
    prompts, texts = ["p"], ["c"]
    assert [c(prompts, texts) for c in calls] == [[1.0], [1.0]]
    assert [c(prompts, texts) for c in calls] == [[2.0], [2.0]]
    assert calls[1](["p"], ["c"]) == [3.0]


def test_what_cannot_be_components():
    assert components_for_trl(exact * 2.0)[1] == [2.0]
    assert [c.__name__ for c in components_for_trl(normalised(exact))[0]] == ["normalised"]
    with refusal(UserError):
        components_for_trl(blend(exact=exact.weight(linear(0.0, 1.0))))
    with pytest.raises(UserError, match="cannot renormalise"):
        components_for_trl(blend(renormalise=True, exact=exact))


def test_a_trl_function_is_a_reward():
    def accuracy(completions, solution, **kwargs):
        return [None if s == "" else float(c == s) for c, s in zip(completions, solution, strict=True)]

    async def polite(prompts, completions):
        await asyncio.sleep(0)
        texts = [(p[0]["content"], c[0]["content"]) for p, c in zip(prompts, completions, strict=True)]
        return ["please" in asked and said == "4" for asked, said in texts]

    formula = blend(accuracy=from_trl(accuracy, solution="answer"), polite=from_trl(polite, chat=True).weight(0.5))
    samples = [{"prompt": "2+2 please", "completion": c, "answer": a} for c, a in (("4", "4"), ("5", "4"), ("5", ""))]
    found = score_samples(formula, samples)
    assert found.whole == [1.5, 0.0, 0.0] and found.parts["accuracy"] == [1.0, 0.0, None]
    assert from_trl(accuracy, solution="answer").name == "accuracy"
    with pytest.raises(UserError, match="accuracy needs 'solution'"):
        score_samples(from_trl(accuracy), samples)
    assert for_trl(from_trl(for_trl(exact)))(["p"], ["4"], answer=["4"]) == [1.0]  # there and back


def test_a_function_in_trls_form_is_recognised():
    def accuracy(prompts, completions, ground_truth, **kwargs):
        return [float(c == t) for c, t in zip(completions, ground_truth, strict=True)]

    def polite(completions):
        return [float(c[0]["content"] == "please") for c in completions]

    samples = [{"prompt": "2+2", "completion": c, "answer": "4"} for c in ("4", "please")]
    assert score_samples(as_reward(accuracy), samples).whole == [1.0, 0.0]  # the rows have no `ground_truth`
    known = [{**sample, "ground_truth": "please"} for sample in samples]
    assert score_samples(as_reward(accuracy), known).whole == [0.0, 1.0]
    assert score_samples(as_reward(polite), samples).whole == [0.0, 1.0]  # it reads conversations
    assert type(as_reward(lambda completion, completions: 0.0)).__name__ == "reward"  # a column called so, in our form
    with pytest.raises(UserError, match="needs 'colour'"):
        score_samples(as_reward(lambda completions, colour: [1.0]), samples)


def test_a_trl_function_that_returns_no_list_of_one_fails():
    found = score_samples(from_trl(lambda prompts, completions: 1.0), [{"prompt": "p", "completion": "c"}])
    assert found.whole == [None] and "not a list of one number" in found.in_words(0)


# --- the real trainer -------------------------------------------------------------------------------------------------


class Kept:
    """A reward function that keeps what the trainer showed it."""

    def __init__(self, inner):
        self.inner, self.__name__, self.calls = inner, inner.__name__, []

    def __call__(self, prompts, completions, **columns):
        found = self.inner(prompts, completions, **columns)
        self.calls.append((prompts, completions, columns["answer"], found))
        return found


def train(folder, functions, weights, conversational):
    """Two steps of GRPO on a small model with random weights. Returns the trainer."""
    datasets, trl, transformers = map(importlib.import_module, ("datasets", "trl", "transformers"))
    source = folder / "model"
    source.mkdir()
    small_lm(source)
    countdown = tasks.load("countdown:2")
    rows = [countdown.get("train", i) for i in range(4)]
    asked = [[{"role": "user", "content": t.prompt}] if conversational else t.prompt for t in rows]
    trainer = trl.GRPOTrainer(
        model=transformers.AutoModelForCausalLM.from_pretrained(source),
        processing_class=transformers.AutoTokenizer.from_pretrained(source, padding_side="left"),
        reward_funcs=functions,
        train_dataset=datasets.Dataset.from_dict({"prompt": asked, "answer": [f"{i}" for i in range(4)]}),
        args=trl.GRPOConfig(
            output_dir=str(folder), max_steps=2, per_device_train_batch_size=8, num_generations=4, max_completion_length=8,
            reward_weights=weights, use_cpu=True, bf16=False, report_to="none", logging_steps=1, save_strategy="no",
            disable_tqdm=True, gradient_checkpointing=False, seed=1,
        ),
    )  # fmt: skip
    trainer.train()
    return trainer


def native(formula, prompts, completions, answers):
    """The columns of our own score stage for the same completions, one task for each run of equal prompts."""
    episodes, number = [], -1
    for n, (prompt, text, answer) in enumerate(zip(prompts, completions, answers, strict=True)):
        attempt = 0 if n == 0 or prompt != prompts[n - 1] else attempt + 1  # noqa: F821
        number += attempt == 0
        asked = Ask(Task(id=str(number), prompt=prompt, answer=answer), n=4)
        episodes.append(episode(segment(text=text), ask=asked, number=number, attempt=attempt))
    return score(formula)(pack(episodes), SimpleNamespace(step=0, steps=2, seed=0)).cols


@pytest.mark.peers("trl", "datasets")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("conversational", [False, True], ids=["strings", "conversations"])
def test_the_trainer_logs_what_our_own_stage_computes(tmp_path, conversational):
    formula = blend(digits=digits, spread=normalised(digits).weight(0.25), picky=picky.weight(0.5))
    functions, weights = components_for_trl(formula)
    kept = [Kept(each) for each in (*functions, for_trl(formula, name="whole"))]
    trainer = train(tmp_path, kept, [*weights, 0.0], conversational)
    metrics = [row for row in trainer.state.log_history if "reward" in row]
    assert [len(each.calls) for each in kept] == [2] * 4 and len(metrics) == 2
    for step in (0, 1):
        prompts, completions, answers, whole = kept[-1].calls[step]
        columns = native(formula, *(last(each) if conversational else each for each in (prompts, completions)), answers)
        assert bare(whole) == pytest.approx(columns["reward"].value.tolist(), nan_ok=True)
        assert metrics[step]["reward"] == pytest.approx(mean(whole), rel=1e-3)  # TRL's own sum of the components
        for name, each in zip(formula.of, kept, strict=False):
            own, broken = columns[f"reward.{name}"].value.tolist(), columns["reward"].missing.tolist()
            want = [float("nan") if b else x for x, b in zip(own, broken, strict=True)]
            assert bare(each.calls[step][3]) == pytest.approx(want, nan_ok=True)
            assert metrics[step][f"rewards/{name}/mean"] == pytest.approx(mean(each.calls[step][3]), rel=1e-3, abs=1e-6)
            if step == 1:  # TRL's log of single samples holds the last step
                assert list(trainer._logs["rewards"][name]) == pytest.approx(want, nan_ok=True)
    found = [x for _, _, _, values in kept[-1].calls for x in values]
    assert None in found and len(set(found)) > 3
    advantages = list(trainer._logs["advantages"])  # what has no score moves nothing
    assert all(a == 0 for a, x in zip(advantages, kept[-1].calls[1][3], strict=True) if x is None) and any(advantages)


def last(conversations):
    return [messages[-1]["content"] for messages in conversations]


def bare(values):
    return [float("nan") if x is None else x for x in values]


def mean(values):
    there = [x for x in values if x is not None]
    return sum(there) / len(there)
