"""The bridge to OpenRLHF: its request and answer, and its real client against a server that answers with it."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import logging
import math
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from refusals import refusal

import guerdon as gd
from guerdon.bridges.openrlhf import openrlhf_answer
from guerdon.core.errors import Notice, RunStopped, UserError
from guerdon.rewards.formula.algebra import blend


@gd.reward
def exact(completion, answer):
    return completion == answer


@gd.reward
def picky(completion):
    if completion == "bad":
        raise ValueError("no good")
    return None if completion == "" else 0.5


FORMULA = blend(exact=exact, picky=picky)


def request(*texts, prompt="<|im_start|>2+2", label="4"):
    return {"query": [prompt + t for t in texts], "prompts": [prompt] * len(texts), "labels": [label] * len(texts)}


def test_the_answer():
    found = openrlhf_answer(FORMULA, request("4</s>", "5<|im_end|></s>"))
    assert found["rewards"] == found["scores"] == [1.5, 0.5]
    assert found["extra_logs"] == {"exact": [1.0, 0.0], "picky": [0.5, 0.5]}
    assert openrlhf_answer(exact, request("4</s>", label="4</s>"), ends=())["rewards"] == [1.0]


def test_a_label_that_is_an_object():
    found = openrlhf_answer(lambda completion, target: completion == target, request("4", label={"target": "4"}))
    assert found["rewards"] == [1.0]


def test_a_missing_score_stops_unless_its_worth_was_chosen():
    with pytest.raises(RunStopped, match="no good"):
        openrlhf_answer(FORMULA, request("bad"))
    with pytest.warns(Notice, match="each counts 0"):
        found = openrlhf_answer(FORMULA, request("bad", "4"), missing=0.0)
    assert found["rewards"] == [0.0, 1.5] and found["extra_logs"]["missing"] == [1.0, 0.0]
    assert math.isnan(found["extra_logs"]["picky"][0])


def test_a_request_that_is_none():
    with refusal(UserError):
        openrlhf_answer(exact, {"query": ["a"]})
    with refusal(UserError):
        openrlhf_answer(exact, {**request("4"), "labels": []})
    with refusal(UserError, "0"):
        openrlhf_answer(exact, {"query": ["2 4"], "prompts": ["2+2"], "labels": ["4"]})


# --- the real client --------------------------------------------------------------------------------------------------


def client(monkeypatch):
    """OpenRLHF's executor from its own file: the package around it needs deepspeed and ray, so its logger is a stand-in."""
    found = importlib.util.find_spec("openrlhf")
    stand_in = SimpleNamespace(init_logger=logging.getLogger)
    for name in ("openrlhf", "openrlhf.utils"):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace())
    monkeypatch.setitem(sys.modules, "openrlhf.utils.logging_utils", stand_in)
    spec = importlib.util.spec_from_file_location("openrlhf_agent", Path(found.origin).parent / "utils" / "agent.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.SingleTurnAgentExecutor


class Answers(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(openrlhf_answer(FORMULA, asked)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Letters:
    """A tokenizer with a token for each letter."""

    def __call__(self, text, **kwargs):
        return {"input_ids": torch.tensor([[ord(c) for c in text]])}

    def decode(self, ids, **kwargs):
        return "".join(map(chr, ids))


class Engine:
    """An engine that always says the same."""

    def __init__(self, text):
        self.text = text

    async def generate(self, ids, params, **kwargs):
        made = SimpleNamespace(token_ids=[ord(c) for c in self.text], finish_reason="stop", logprobs=None)
        return SimpleNamespace(outputs=[made])


@pytest.mark.peers("openrlhf", "aiohttp")
def test_the_real_client_reads_it(monkeypatch):
    executor_of = client(monkeypatch)
    server = HTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        executor = executor_of(f"http://127.0.0.1:{server.server_port}/get_reward")
        params = SimpleNamespace(max_tokens=8, logprobs=None)
        for text, want in (("4</s>", 1.5), ("5</s>", 0.5)):
            play = executor.execute("<|im_start|>2+2", "4", params, 64, Letters(), Engine(text))
            found = asyncio.run(play)
            assert torch.tensor([found["reward"]]).item() == torch.tensor([found["scores"]]).item() == want
            assert torch.tensor([found["extra_logs"]["picky"]]).item() == 0.5
    finally:
        server.shutdown()
        server.server_close()
