"""The bridge to verl: the file it loads, read by verl's own loader and scored by its own reward manager."""

from __future__ import annotations

import asyncio
import importlib
import math
import sys
import warnings
from types import SimpleNamespace

import pytest
import torch
from refusals import refusal

import guerdon as gd
from guerdon.bridges.verl import for_verl, write_verl
from guerdon.core.errors import Notice, RunStopped, UserError
from guerdon.rewards.asking.by_name import find_reward
from guerdon.rewards.formula.algebra import blend

MINE = """
import guerdon as gd
from guerdon.rewards.formula.algebra import blend


@gd.reward
def exact(completion, answer):
    return completion == answer


def brief(completion, limit):
    return -max(0, len(completion) - limit)


formula = blend(exact=exact, brief=gd.reward(brief).weight(0.5))
"""


@gd.reward
def picky(completion):
    if completion == "bad":
        raise ValueError("no good")
    return None if completion == "" else 0.5


@pytest.fixture
def written(tmp_path):
    (tmp_path / "my.py").write_text(MINE)
    return write_verl(f"{tmp_path}/my.py:formula", tmp_path / "for_verl.py")


def test_a_reward_as_verl_calls_it():
    score = for_verl(blend(picky=picky, long=lambda completion, data_source: len(completion + data_source)))
    assert score("gsm", "four", "4") == {"score": 7.5, "reward.picky": 0.5, "reward.long": 7.0}
    found = score(data_source="gsm", solution_str="", ground_truth="4", extra_info={"index": 3})
    assert found["score"] == 3.0 and math.isnan(found["reward.picky"])


def test_a_missing_score_stops_unless_its_worth_was_chosen():
    with pytest.raises(RunStopped, match="no good"):
        for_verl(picky)("gsm", "bad", "4")
    with pytest.warns(Notice, match="each counts 0"):
        assert for_verl(picky, missing=0.0)("gsm", "bad", "4") == {"score": 0.0, "missing": 1.0}
    assert for_verl(picky, missing=0.0)("gsm", "4", "4") == {"score": 0.5, "missing": 0.0}


def test_what_is_wrong_is_said_when_it_is_written(tmp_path, written):
    for spec, words in (
        ("my:f", "is FILE.py:NAME"),
        ("no.py:f", "no reward file"),
        (f"{tmp_path}/my.py:exat", "'exact'"),
    ):
        with pytest.raises(UserError, match=words):
            write_verl(spec, tmp_path / "out.py")
    with refusal(UserError):
        write_verl(f"{tmp_path}/my.py:exact", tmp_path / "my.py")
    write_verl(f"{tmp_path}/my.py:exact", written, missing=-1.0)
    assert "missing=-1.0" in written.read_text()


# --- verl itself ------------------------------------------------------------------------------------------------------


@pytest.fixture
def verl():
    """Opens verl's own modules, and forgets them."""
    before = set(sys.modules)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module("verl.utils")
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if name.partition(".")[0] == "verl":
            del sys.modules[name]


def custom(path):
    settings = {"path": str(path), "name": "compute_score"}
    return SimpleNamespace(reward={"custom_reward_function": settings})


@pytest.mark.peers("verl")
def test_its_loader_takes_the_file(verl, written):
    score = verl("verl.trainer.ppo.reward").get_custom_reward_fn(custom(written))
    found = score(data_source="gsm", solution_str="four", ground_truth="four", extra_info={"limit": 2})
    assert found == {"score": 0.0, "reward.exact": 1.0, "reward.brief": -2.0}
    assert found["score"] == reward_value(written, "four", "four", 2)


def reward_value(written, completion, answer, limit):
    from guerdon import score_samples

    formula = find_reward(f"{written.parent}/my.py:formula")
    return score_samples(formula, [{"completion": completion, "answer": answer, "limit": limit}]).whole[0]


@pytest.mark.peers("verl")
@pytest.mark.filterwarnings("ignore")
def test_its_manager_takes_the_score(verl, written):
    manager_of = verl("verl.experimental.reward_loop.reward_manager.naive").NaiveRewardManager
    manager = object.__new__(manager_of)  # past a constructor that only wires up a tokenizer and a config
    manager.compute_score = verl("verl.trainer.ppo.reward").get_custom_reward_fn(custom(written))
    manager.is_async_reward_score, manager.reward_router_address = False, None
    manager.tokenizer = SimpleNamespace(decode=lambda ids, **kwargs: "".join(map(chr, ids.tolist())))
    ids = torch.tensor([ord(c) for c in "four"])
    about = {"data_source": "gsm", "reward_model": {"ground_truth": "four"}, "extra_info": {"limit": 2}}
    item = SimpleNamespace(
        batch={"responses": ids, "attention_mask": torch.ones(6, dtype=torch.long)}, non_tensor_batch=about
    )

    class Data(list):
        def __getitem__(self, at):
            return self if isinstance(at, slice) else item

    async def run():
        manager.loop = asyncio.get_running_loop()
        return await manager.run_single(Data([item]))

    found = asyncio.run(run())
    assert found["reward_score"] == 0.0 and found["reward_extra_info"]["reward.brief"] == -2.0
