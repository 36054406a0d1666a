"""The reward server as a client meets it. Most tests ask the application in this process; those about sockets, signals, the
command line and other clients ask a server in a process of its own, on a free port."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from command_line import command_line, refused
from serving import REWARDS, TOKEN, Askable, in_process, serving, until
from started import Started
from worker_calls import descendants

import guerdon as gd
from guerdon.core.column import Reason
from guerdon.rewards.asking.function import ask_all
from guerdon.rewards.asking.samples import Samples

pytest.importorskip("fastapi")

LIMITS = {"body": 20_971, "samples": 8, "at_once": 4, "queue": 60}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    with in_process(tmp_path_factory.mktemp("mixed"), "mixed", **LIMITS) as application:
        yield application


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    with in_process(tmp_path_factory.mktemp("odd"), "odd", missing=-1.0) as application:
        yield application


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """With a socket, as the command line starts it."""
    with serving(tmp_path_factory.mktemp("server"), "odd", "--missing", "-1", "--max-samples", "8") as served:
        yield served


def test_scores_and_their_components(mixed):
    (found,) = mixed.score("2").json["results"]
    assert found == {
        "value": 12.0,
        "reason": "value",
        "detail": None,
        "components": {
            "plain": {"value": 2.0, "reason": "value"},
            "apart": {"value": 4.0, "reason": "value"},
            "later": {"value": 6.0, "reason": "value"},
        },
    }


def test_every_outcome_is_typed(odd):
    found = odd.score("1", "raise", "late", "nan", "none").json["results"]  # NaN anywhere would not parse
    assert [r["reason"] for r in found] == ["value", "failed", "timed_out", "failed", "not_applicable"]
    assert [r["value"] for r in found] == [1.0, None, None, None, None]
    assert found[0]["detail"] == {"why": "a number", "parts": {"strange": None}}
    assert "ValueError: no good" in found[1]["detail"]["error"]


@pytest.mark.slow
def test_answers_are_not_mixed_up(mixed):
    """200 requests from 16 clients; each sample's number comes back, in place."""

    def ask(n: int) -> bool:
        numbers = [8 * n + i for i in range(1 + n % 8)]
        found = mixed.score(*map(str, numbers)).json["results"]
        parts = [[r["components"][p]["value"] for p in ("plain", "apart", "later")] for r in found]
        return [r["value"] for r in found] == [6 * x for x in numbers] and parts == [[x, 2 * x, 3 * x] for x in numbers]

    with ThreadPoolExecutor(16) as clients:
        assert all(clients.map(ask, range(200)))


def test_groups(tmp_path):
    with in_process(tmp_path, "relative") as application:
        body = {"samples": [{"completion": c} for c in "1379"], "group": [5, 2, 5, 2]}
        found = application.ask("/score", body).json["results"]
        assert [r["value"] for r in found] == [-3.0, -3.0, 3.0, 3.0]


# --- who is let in ----------------------------------------------------------------------------------------------------


def test_the_token(mixed):
    for given in (None, "wrong", TOKEN + "x", ""):
        for path, body in (("/score", {}), ("/get_reward", {}), ("/metrics", None), ("/", None)):
            found = mixed.ask(path, body, token=given)
            assert found.status == 401 and found.headers["www-authenticate"].startswith("Bearer")
            assert "token is missing or wrong" in found.error
    password = base64.b64encode(f"any:{TOKEN}".encode()).decode()
    assert mixed.ask("/", token=None, Authorization=f"Basic {password}").status == 200
    assert mixed.ask("/", token=None, Authorization="Basic ???").status == 401
    for path in ("/health", "/docs", "/openapi.json"):
        assert mixed.ask(path, token=None).status == 200


def test_requests_that_are_none(mixed):
    def refused(body, status, *words, path="/score", **headers):
        found = mixed.ask(path, body, **headers)
        assert found.status == status, found
        assert all(word in found.error for word in words), found.error

    one = {"completion": "1"}
    refused(b'{"samples": [', 400, "not JSON", "character 13")
    refused(b"", 422, "the body")
    refused([], 422, "the body")
    refused({}, 422, "samples: field required")
    refused({"samples": []}, 422, "samples: list should have at least 1 item")
    refused({"samples": [one, {"completion": 3}]}, 422, "samples.1.completion: input should be a valid string")
    refused({"samples": [{"prompt": "a"}]}, 422, "samples.0.completion: field required")
    refused({"samples": [{**one, "level": "3"}]}, 422, "samples.0.level: input should be a valid integer")
    refused({"samples": [one], "group": [0.5]}, 422, "group.0")
    refused({"samples": [one], "group": [0, 1]}, 422, "1 samples and 2 group numbers")
    refused({"samples": [one], "sample": 1}, 422, "sample: extra inputs")
    refused({"samples": [one]}, 415, "application/json", Content_Type="text/plain")
    refused({"samples": [one] * 9}, 413, "9 in one request, at most 8")
    refused({"samples": [{**one, "prompt": "x" * 30_000}]}, 413, "larger than 20,971 bytes")
    refused({"query": ["1"], "prompts": ["", ""]}, 422, "of one length", path="/get_reward")
    refused({"query": "1", "prompts": [""]}, 422, "query: input should be a valid list", path="/get_reward")
    refused({}, 404, "/score", path="/scores")
    assert mixed.ask("/score").status == 405


def test_a_body_that_hides_its_length(mixed):
    found = mixed.ask("/score", b"x" * 27_000, Transfer_Encoding="chunked")
    assert found.status == 413 and "larger than" in found.error


def test_without_a_token_only_this_machine_by_its_name(tmp_path):
    with in_process(tmp_path, "plain", token=None) as application:
        assert application.ask("/", token=None).status == 200
        found = application.ask("/", token=None, Host="evil.example")
        assert found.status == 403 and "evil.example" in found.error


# --- what is said about it --------------------------------------------------------------------------------------------


def test_the_description_and_its_example(mixed):
    about = mixed.ask("/").json
    assert about["reward"] == "plain + apart + later" and about["limits"]["samples"] == 8
    assert mixed.ask("/score", about["ask"]["POST /score"]).json["results"][0]["value"] == 24.0


def test_the_schema_has_examples_that_hold(mixed):
    schema = mixed.ask("/openapi.json").json
    assert {"/score", "/get_reward", "/health", "/metrics", "/"} == set(schema["paths"])
    (example,) = schema["components"]["schemas"]["ScoreRequest"]["examples"]
    assert [r["value"] for r in mixed.ask("/score", example).json["results"]] == [24.0, 30.0]
    assert {"401", "413", "422", "429", "504"} <= set(schema["paths"]["/score"]["post"]["responses"])


LINE = re.compile(r'[a-z_]+(\{[a-z]+="(?:[^"\\]|\\.)*"(,[a-z]+="(?:[^"\\]|\\.)*")*\})? [0-9.e+-]+')


def test_metrics(odd):
    before = odd.metric("guerdon_samples_total")
    failed = 'guerdon_outcomes_total{component="reward",reason="failed"}'
    broken = odd.metric(failed)
    odd.score("1", "raise", "none")
    text = odd.ask("/metrics").text
    assert odd.metric("guerdon_samples_total") == before + 3 and odd.metric(failed) == broken + 1
    kinds = re.findall(r"^# TYPE (\S+) (counter|gauge|histogram)$", text, re.MULTILINE)
    assert len(kinds) == 7
    for line in text.splitlines():
        assert line.startswith(("# HELP ", "# TYPE ")) or LINE.fullmatch(line), line
    buckets = [int(n) for n in re.findall(r"_bucket\{le=\"[^\"]+\"\} (\d+)", text)]
    assert buckets == sorted(buckets)
    assert buckets[-1] == odd.metric("guerdon_request_seconds_count") == odd.metric(
        'guerdon_requests_total{path="/score",status="200"}'
    )  # fmt: skip


# --- with a socket ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_line_serves_what_it_was_told_to(server):
    """The flags, the token and every path, over real connections."""
    assert TOKEN not in json.dumps(server.said)  # it came from the environment, so it is not shown
    about = server.ask("/").json
    assert about["reward"] == server.said["reward"] == "odd" and about["limits"]["samples"] == 8
    assert server.ask("/", token="wrong").status == 401 and server.ask("/health", token=None).status == 200
    assert [r["reason"] for r in server.score("1", "raise").json["results"]] == ["value", "failed"]
    request = {"query": ["1+1=none"], "prompts": ["1+1="], "labels": ["2"]}
    assert server.ask("/get_reward", request).json["rewards"] == [-1.0]
    assert server.ask("/score", b'{"samples": [').status == 400 and server.score(*"123456789").status == 413
    parts = "".join(f"{len(part):x}\r\n{part}\r\n" for part in ('{"samples": [{"comple', 'tion": "7"}]}')) + "0\r\n\r\n"
    assert server.ask("/score", parts.encode(), Transfer_Encoding="chunked").json["results"][0]["value"] == 7.0
    assert server.metric("guerdon_samples_total") > 0


# --- others' clients --------------------------------------------------------------------------------------------------


def test_openrlhf(mixed, odd):
    request = {"query": ["1+1=2</s>"], "prompts": ["1+1="], "labels": ["2"]}
    found = mixed.ask("/get_reward", request).json
    assert found == {
        "rewards": [12.0],
        "scores": [12.0],
        "extra_logs": {"plain": [2.0], "apart": [4.0], "later": [6.0]},
    }
    found = odd.ask("/get_reward", {**request, "query": ["1+1=none"]}).json  # started with --missing -1
    assert found["rewards"] == [-1.0] and found["extra_logs"]["missing"] == [1.0]
    unreadable = mixed.ask("/get_reward", {**request, "query": ["1+1=two"]})
    assert unreadable.status == 500 and "could not convert string to float: 'two'" in unreadable.error


def test_a_remote_reward_keeps_its_types(server, monkeypatch):
    monkeypatch.setenv("GUERDON_TOKEN", TOKEN)
    there = gd.remote(server.url, most=2)
    samples = Samples.of([{"completion": c} for c in ("1", "raise", "late", "none", "7")], group=[0, 1, 0, 0, 1])
    found = ask_all([(there, samples)])[0]
    assert [o.reason for o in found] == [
        Reason.VALUE,
        Reason.FAILED,
        Reason.TIMED_OUT,
        Reason.NOT_APPLICABLE,
        Reason.VALUE,
    ]
    assert found[0].value == 1.0 and found[4].value == 7.0 and found[0].detail["why"] == "a number"
    assert "remote: 7 (a number)" in there.explain(completion="7")
    monkeypatch.setenv("GUERDON_TOKEN", "wrong")
    with pytest.raises(gd.UserError, match="set GUERDON_TOKEN"):
        there.explain(completion="7")
    monkeypatch.setattr("guerdon.bridges.remote_reward.FIRST_PAUSE", 0.001)
    assert "failed (ConnectionRefusedError" in gd.remote("http://127.0.0.1:9").explain(completion="7")


# --- full, and stopping -----------------------------------------------------------------------------------------------


def later(server: Askable, *completions: str, **fields: str):
    """Ask in a thread; what comes back is read from the list. Nothing does if the server ends first."""
    found: list = []

    def ask() -> None:
        with contextlib.suppress(http.client.RemoteDisconnected):
            found.append(server.score(*completions, **fields))

    thread = threading.Thread(target=ask)
    thread.start()
    return thread, found


def full(server: Askable, gate: Path) -> list:
    """One is scored, one waits, the third is sent away; the first two are still asked for."""
    asked = [later(server, str(n), gate=str(gate)) for n in (5, 6)]
    server.wait_for(scoring=1, waiting=1)
    third = server.score("7")
    assert third.status == 429 and int(third.headers["retry-after"]) >= 1 and "2 requests" in third.error
    assert server.ask("/health").status == 200  # the loop is free
    return asked


def answered(server: Askable, gate: Path, asked: list) -> list[float]:
    """The values of those that were asked for before the server began to stop: they still get them."""
    until(lambda: server.ask("/health").status == 503)
    assert server.score("8").status == 503
    gate.touch()
    for thread, _ in asked:
        thread.join()
    return sorted(found[0].json["results"][0]["value"] for _, found in asked)


@pytest.mark.parametrize("reward", ["held", "waits"])
def test_full_then_closing(tmp_path, reward):
    with in_process(tmp_path, reward, at_once=1, queue=1) as application:
        asked = full(application, tmp_path / "gate")
        application.app.state.queue.closing = True
        assert answered(application, tmp_path / "gate", asked) == ([5.0, 6.0] if reward == "held" else [15.0, 18.0])


@pytest.mark.parametrize("reward", ["held", "waits"])
def test_full_then_stopped(tmp_path, reward):
    """The same with a server and a signal, after which it ends and its workers do."""
    with serving(tmp_path, reward, "--at-once", "1", "--queue", "1") as server:
        server.score("1")  # so that workers are there
        under_way = descendants(server.process.pid)
        asked = full(server, tmp_path / "gate")
        server.process.send_signal(signal.SIGTERM)
        assert answered(server, tmp_path / "gate", asked) == ([5.0, 6.0] if reward == "held" else [15.0, 18.0])
        assert server.process.wait(timeout=30) == 0
        assert bool(under_way) == (reward == "waits")
        until(lambda: not any(_lives(pid) for pid in under_way))


def _lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_can_not_be_finished_is_said(tmp_path):
    """A plain function that never returns: its time runs out, and it does not keep the server from stopping."""
    with serving(tmp_path, "held", "--timeout", "0.5", "--grace", "0.2") as server:
        found = server.score("1", gate="never")
        assert found.status == 504 and "within 0.5 s" in found.error
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(timeout=30) == 0
        assert "was left behind" in server.process.stderr.read()


def test_grace_runs_out(tmp_path):
    with serving(tmp_path, "waits", "--grace", "0.2") as server:
        thread, found = later(server, "1", gate="never")
        server.wait_for(scoring=1)
        server.process.send_signal(signal.SIGTERM)
        thread.join()
        assert found[0].status == 503 and "could not wait" in found[0].error
        assert server.process.wait(timeout=30) == 0


def test_a_second_signal_does_not_wait(tmp_path):
    with serving(tmp_path, "waits", "--grace", "3600") as server:
        server.score("1")
        under_way = descendants(server.process.pid)
        thread, found = later(server, "1", gate="never")
        server.wait_for(scoring=1)
        server.process.send_signal(signal.SIGINT)
        until(lambda: server.ask("/health").status == 503)
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(timeout=30) == 130
        thread.join()
        assert not found
        until(lambda: not any(_lives(pid) for pid in under_way))


# --- the command line -------------------------------------------------------------------------------------------------


def test_the_printed_line_works_as_it_stands(tmp_path):
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    process = Started(["serve", "exact", "--port", "0"], tmp_path, {**os.environ, "GUERDON_TOKEN": ""})
    try:
        said = {}
        while "stop" not in said:
            name, value = process.stdout.readline().split(maxsplit=1)
            said[name] = value
        assert said["reward"] == "exact\n" and said["token"].split()[0] in said["ask"]
        found = json.loads(subprocess.run(said["ask"], shell=True, capture_output=True, check=True).stdout)
        assert found["results"][0]["value"] == 1.0
    finally:
        process.close()


def test_starts_that_are_refused(tmp_path, monkeypatch, capsys):
    run = command_line(tmp_path, monkeypatch, capsys)
    (tmp_path / "served.py").write_text(REWARDS)
    refused(run("serve", "exat"), "did you mean 'exact'?")
    refused(run("serve", "length"), "length needs its limit")
    refused(run("serve", "served.py:plian"), "did you mean 'plain'?")
    refused(run("serve", "served.py:needs_run"), "needs_run needs 'episode'", "training run")
    refused(run("serve", "self_certainty"), "training alone")
    refused(run("serve", "exact", "--no-token", "--host", "0.0.0.0"), "without a token", "127.0.0.1")
    refused(run("serve", "exact", "--timeout", "0"), "timeout must be above 0")
    refused(run("serve", "exact", "--tokenizer", "sprigg"), "unknown model 'sprigg': did you mean 'sprig'?")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused(run("serve", "exact", "--port", port), f"127.0.0.1:{port}", "choose another --port")
    monkeypatch.setenv("GUERDON_TOKEN", "two words")
    refused(run("serve", "exact"), "GUERDON_TOKEN", "without spaces")


def test_without_its_libraries(tmp_path, monkeypatch, capsys):
    for module in ("fastapi", "guerdon.bridges.serve.app", "guerdon.bridges.serve.runner"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    refused(command_line(tmp_path, monkeypatch, capsys)("serve", "exact"), "pip install 'guerdon[serve]'")
