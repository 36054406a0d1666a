"""Rewards that count tokens outside a run: in every bridge they are counted or refused in a line, and never just left out.

`letters` is a tokenizer whose ids are counted by eye: one a character.
"""

from __future__ import annotations

import asyncio
import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from refusals import refusal
from serving import in_process

import guerdon as gd
from guerdon.bridges.openrlhf import openrlhf_answer
from guerdon.bridges.remote_reward import _sent
from guerdon.bridges.trl import components_for_trl, for_trl
from guerdon.bridges.verifiers import for_verifiers, for_verifiers_task
from guerdon.bridges.verl import for_verl, write_verl
from guerdon.core.errors import Notice, UserError

BRIEF = gd.exact() + gd.length(2, margin=2).weight(0.5)  # 1 up to two tokens, a half for three, 0 from four on
LACKS = r"reward length counts tokens, and {} of {} samples came without their ids \(`actions`\): .*{}"


def letters(text):
    return [ord(c) for c in text]


def lacks(without, of, mend):
    return pytest.raises(UserError, match=LACKS.format(without, of, mend))


# --- TRL -------------------------------------------------------------------------------------------------------------


def test_trl_counts_the_ids_that_were_sampled():
    """Not those that a tokenizer would make of the text: here they differ."""
    given = {"answer": ["4"] * 3, "completion_ids": [[7], [7, 8, 9], [7, 8, 9, 9]]}
    for call in (for_trl(BRIEF), for_trl(BRIEF, tokenizer=letters)):
        assert call(prompts=["p"] * 3, completions=["4", "4", "5"], **given) == [1.5, 1.25, 0.0]
    (_, brief), weights = components_for_trl(BRIEF)
    assert weights == [1.0, 0.5] and brief(["p"] * 3, ["4", "4", "5"], **given) == [1.0, 0.5, 0.0]


def test_trl_counts_by_a_tokenizer_where_there_are_no_ids():
    call = for_trl(BRIEF, tokenizer=letters)
    assert call(["p"] * 2, ["4", "444"], answer=["4", "4"]) == [1.5, 0.25]
    (_, brief), _ = components_for_trl(BRIEF, tokenizer="sprig")
    assert brief(["p"], ["1 2"], answer=["4"]) == [0.5]  # 1, a space, 2
    with lacks(2, 2, r"for_trl\(reward, tokenizer='MODEL OR FOLDER'\), or count in words"):
        for_trl(BRIEF)(["p"] * 2, ["4", "5"], answer=["4", "4"])
    with lacks(2, 2, "for_trl"):
        components_for_trl(BRIEF)[0][0](["p"] * 2, ["4", "5"], answer=["4", "4"])


def test_trls_ids_of_several_turns_are_not_those_of_the_last():
    said = [
        {"role": "assistant", "content": "let me look"},
        {"role": "tool", "content": "found"},
        {"role": "assistant", "content": "444"},
    ]
    asked, ids = [{"role": "user", "content": "?"}], [list(range(20))]
    assert for_trl(gd.length(2, margin=2), tokenizer=letters)([asked], [said], completion_ids=ids) == [0.5]
    with lacks(1, 1, "for_trl"):
        for_trl(gd.length(2, margin=2))([asked], [said], completion_ids=ids)


# --- one that lacks what it needs, and one that answers None ---------------------------------------------------------


def test_none_for_reasons_of_its_own_is_no_mistake():
    @gd.reward(isolate=False)
    def sometimes(completion, answer):
        return None

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert for_trl(sometimes)(["p"] * 2, ["4", "5"], answer=["4", "4"]) == [None, None]
        assert for_trl(gd.length(1, unit="words"))(["p"], ["a b"]) == [0.0]


def test_one_that_could_do_without_and_never_applied_is_warned_of():
    @gd.reward(isolate=False)
    def cheap(completion, actions=None):
        return None if actions is None else -len(actions)

    line = "cheap applied to none of 2 samples, and none has the 'actions' it asks for: name the tokenizer"
    with pytest.warns(Notice, match=line):
        assert for_trl(cheap)(["p"] * 2, ["4", "5"]) == [None, None]
    with pytest.warns(Notice, match="cheap applied to none of 1 samples"):
        assert for_verl(cheap + gd.exact())("gsm", "4", "4")["score"] == 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert for_trl(cheap, tokenizer=letters)(["p"], ["444"]) == [-3.0]
        assert for_trl(cheap)(["p"], ["444"], completion_ids=[[1]]) == [-1.0]


def test_what_only_a_run_has_is_said_to_be_that():
    with refusal(UserError):
        for_trl(lambda episode: 1.0)(["p"], ["4"])
    own = gd.reward(lambda path: float(path == "a/b"), isolate=False)  # a column may have such a name
    assert for_trl(own)(["p"], ["4"], path=["a/b"]) == [1.0]
    with pytest.raises(UserError, match="counts tokens"):
        for_trl(lambda actions: 1.0)(["p"], ["4"])


# --- verl, OpenRLHF, verifiers ---------------------------------------------------------------------------------------


def test_verl():
    scored = for_verl(BRIEF, tokenizer=letters)("gsm", "444", "444")
    assert scored == {"score": 1.25, "reward.exact": 1.0, "reward.length": 0.5}
    with lacks(1, 1, "tokenizer='MODEL OR FOLDER' in for_verl or write_verl"):
        for_verl(BRIEF)("gsm", "444", "444")


def test_the_file_for_verl_names_its_tokenizer(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("import guerdon as gd\n\nbrief = gd.length(2, margin=2)\n")
    (tmp_path / "tokenizer.json").write_bytes(
        (gd.models.shipped_models.SHIPPED["sprig"] / "tokenizer.json").read_bytes()
    )
    monkeypatch.chdir(tmp_path)
    for named, written in (("sprig", "'sprig'"), (".", repr(str(tmp_path.resolve())))):
        path = write_verl("mine.py:brief", "out.py", tokenizer=named)
        assert f"tokenizer={written}" in path.read_text()
        scope: dict = {}
        exec(path.read_text(), scope)
        assert scope["compute_score"]("gsm", "1 2", "4") == {"score": 0.5}
    with pytest.raises(UserError, match="unknown model 'sprigg'"):
        write_verl("mine.py:brief", "out.py", tokenizer="sprigg")


def test_openrlhf():
    request = {"query": ["2+2=444</s>"], "prompts": ["2+2="], "labels": ["4"]}
    assert openrlhf_answer(BRIEF, request, tokenizer=letters)["rewards"] == [0.25]
    with lacks(1, 1, r"openrlhf_answer\(..., tokenizer='MODEL OR FOLDER'\)"):
        openrlhf_answer(BRIEF, request)


def rollout(*steps):
    said = [{"role": "assistant", "content": "444"}]
    return {"prompt": "2+2", "completion": said, "answer": "4", "info": {}, "trajectory": list(steps)}


def in_rubric(function, state):
    return asyncio.run(function(state["prompt"], state["completion"], state, state["answer"], state["info"]))


def test_verifiers_in_a_rubric():
    counted = {"tokens": {"completion_ids": [7, 8, 9]}}
    for steps, tokenizer, want in (
        ([{"tokens": {"completion_ids": [1] * 9}}, counted], None, 0.25),  # the last turn's
        ([counted], lambda text: [], 0.25),
        ([{"tokens": None}], letters, 0.25),
        ([], letters, 0.25),
    ):
        assert in_rubric(for_verifiers(BRIEF, tokenizer=tokenizer), rollout(*steps)) == want
    with pytest.warns(Notice, match=LACKS.format(1, 1, "tokenizer='MODEL OR FOLDER'")):  # raised, it would count as 0
        assert math.isnan(in_rubric(for_verifiers(BRIEF), rollout()))


def test_verifiers_in_a_task():
    def trace(token_ids):
        node = SimpleNamespace(sampled=True, token_ids=token_ids, mask=[False, True, True, True][: len(token_ids)])
        shown = SimpleNamespace(sampled=False, token_ids=[1] * 9, mask=[False] * 9)
        message = SimpleNamespace(role="assistant", content="44444")
        return SimpleNamespace(nodes=[node, shown], assistant_messages=[message])

    task = SimpleNamespace(data={"prompt": "2+2", "answer": "4"})
    assert asyncio.run(for_verifiers_task(BRIEF)(task, trace([0, 7, 8, 9]))) == 0.25  # the first was shown, not sampled
    assert asyncio.run(for_verifiers_task(BRIEF, tokenizer=letters)(task, trace([]))) == 0.0
    with lacks(1, 1, "tokenizer='MODEL OR FOLDER'"):
        asyncio.run(for_verifiers_task(BRIEF)(task, trace([])))


# --- the server, and one who asks it ---------------------------------------------------------------------------------


def test_a_server_counts_what_it_is_sent_or_by_its_tokenizer(tmp_path):
    pytest.importorskip("fastapi")
    samples = [{"completion": "4", "answer": "4", "actions": [7, 8, 9]}, {"completion": "444", "answer": "4"}]
    with in_process(tmp_path, "brief", tokenizer=letters) as served:
        results = served.ask("/score", {"samples": samples}).json["results"]
        assert [each["value"] for each in results] == [1.25, 0.25]
        example = served.ask("/").json["ask"]["POST /score"]["samples"]
        assert "actions" not in example[0] and served.ask("/score", {"samples": example}).status == 200
        asked = {"query": ["2+2=444</s>"], "prompts": ["2+2="], "labels": ["4"]}
        assert served.ask("/get_reward", asked).json["rewards"] == [0.25]
    with in_process(tmp_path, "brief") as served:
        refused = served.ask("/score", {"samples": samples})
        assert refused.status == 422
        assert "counts tokens, and 1 of 2 samples came without their ids (`actions`): send them" in refused.error
        assert "--tokenizer MODEL" in refused.error
        assert served.ask("/score", {"samples": samples[:1]}).json["results"][0]["value"] == 1.25
        example = served.ask("/").json["ask"]["POST /score"]["samples"]  # works as it stands
        assert served.ask("/score", {"samples": example}).json["results"][0]["value"] == 1.5
        wrong = served.ask("/score", {"samples": [{"completion": "4", "answer": "4", "actions": ["a"]}]})
        assert wrong.status == 422 and "samples.0.actions.0" in wrong.error


def test_what_a_run_samples_goes_to_the_server_with_its_ids():
    fields = {"completion": "4", "episode": object(), "actions": np.array([7, 8])}
    assert _sent(fields) == {"completion": "4", "actions": [7, 8]}
    for other in (np.array([0.5]), np.zeros((2, 2), np.int64), None):  # no token ids
        assert _sent({**fields, "actions": other}) == {"completion": "4"}
    assert _sent({"completion": "4"}) == {"completion": "4"}
    assert _sent({"completion": "", "actions": np.zeros(0, np.int64)}) == {"completion": "", "actions": []}


# --- by hand ---------------------------------------------------------------------------------------------------------


def test_explain_counts_by_a_tokenizer():
    said = gd.explain(BRIEF, completion="444", answer="4", tokenizer=letters)
    assert said.splitlines() == ["blend: 0.25   = exact + 0.5 * length", "  exact: 0", "  length: 0.5"]
    assert gd.explain(BRIEF, completion="444", answer="4", actions=[1], tokenizer=letters).startswith("blend: 0.5 ")
    assert gd.explain(lambda completion: len(completion), completion="444") == "<lambda>: 3"
    without = gd.explain(BRIEF, completion="444", answer="4").splitlines()
    assert without[0].startswith("blend: failed") and "name the tokenizer" in without[2]
    with refusal(UserError):
        gd.explain(BRIEF, answer="4", tokenizer=letters)


def test_samples_get_their_ids_once():
    samples = [{"completion": "44", "answer": "4"}, {"completion": "44", "answer": "4", "actions": [1, 2, 3]}]
    scored = gd.score_samples(BRIEF, gd.rewards.with_token_ids(samples, letters))
    assert scored.parts["length"] == [1.0, 0.5] and "actions" not in samples[0]
    without = gd.score_samples(BRIEF, samples)
    assert without.whole == [None, 0.25] and without.parts["length"] == [None, 0.5]
    assert without.part_reasons["length"][0] is gd.Reason.FAILED and "name the tokenizer" in without.in_words(0)
