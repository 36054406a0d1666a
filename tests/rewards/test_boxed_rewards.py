"""Rewards in the sandbox: the same scores as in a worker, every fault typed, and nothing of the user's in reach."""

from __future__ import annotations

import os
import random
import socket
from pathlib import Path

import pytest
from refusals import refusal

import guerdon as gd
from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.sandbox import SandboxPool

SAMPLES = [{"completion": text, "answer": "4", "meta": {"most": 3}} for text in ("2 + 2 = 4", "5")]


@pytest.fixture(scope="module", autouse=True)
def boxes():
    try:
        with SandboxPool(workers=1) as pool:
            pool.python_now("")
    except UserError as refused:
        pytest.skip(str(refused))


def told(completion, answer, most):
    """Everything that a reward may return, and what it draws."""
    if answer not in completion:
        return None
    return gd.Score(len(completion) / most, why=f"of {answer}", parts={"luck": random.random()})


def test_a_box_gives_what_a_worker_gives():
    there, boxed = (gd.score_samples(gd.reward(told, isolate=how), SAMPLES) for how in (True, "sandbox"))
    assert there == boxed and boxed.whole == [3.0, None] and boxed.reasons[1] is Reason.NOT_APPLICABLE
    assert boxed.details[0]["parts"]["luck"] == there.details[0]["parts"]["luck"]

    def lengths(completion):
        return [float(len(text)) for text in completion]

    assert gd.score_samples(gd.reward(lengths, isolate="sandbox", batched=True), SAMPLES).whole == [9.0, 1.0]


def test_nothing_of_the_users_is_in_reach_and_others_score(tmp_path, monkeypatch):
    secret = tmp_path / "secret.txt"
    secret.write_text("7")
    monkeypatch.setenv("GUERDON_CANARY", "7")
    with socket.create_server(("127.0.0.1", 0)) as door:
        port, path = door.getsockname()[1], str(secret)

        def careless(completion):
            if completion == "file":
                return float(open(path).read())
            if completion == "variable":
                return float(os.environ["GUERDON_CANARY"])
            if completion == "network":
                return float(bool(socket.create_connection(("127.0.0.1", port))))
            if completion == "leave":
                os._exit(0)
            if completion == "forge":
                os.write(3, b'{"end": "value", "value": 7}')
                os._exit(0)
            if completion == "folder":
                return float(len(list(Path().iterdir())))
            while completion == "for ever":
                pass
            return 1.0

        hows = ["honest", "file", "variable", "network", "leave", "forge", "folder", "for ever"]
        scored = gd.score_samples(
            gd.reward(careless, isolate="sandbox", timeout=0.5), [{"completion": how} for how in hows]
        )
    assert scored.whole == [1.0, None, None, None, None, None, 0.0, None]
    assert [*map(int, scored.reasons)] == [0, *[Reason.FAILED] * 5, 0, Reason.TIMED_OUT]
    errors = {how: detail["error"] for how, detail in zip(hows, scored.details, strict=True) if detail}
    words = {
        "file": "FileNotFoundError",
        "variable": "KeyError: 'GUERDON_CANARY'",
        "network": "was refused the system call socket",
        "leave": "ended before it was through",
        "forge": "something else than the reward's answer",
        "for ever": "took more than",
    }
    assert all(word in errors[how] for how, word in words.items()), errors


def test_a_call_that_breaks_is_made_again():
    def by_chance(completion):
        if random.random() < 0.9:
            raise ValueError("not this time")
        return 1.0

    scored = gd.score_samples(gd.reward(by_chance, isolate="sandbox", retries=9), [{"completion": ""}])
    there = gd.score_samples(gd.reward(by_chance, retries=9), [{"completion": ""}])
    assert scored.whole == there.whole and scored.details[0]["tries"] == there.details[0]["tries"] > 1


def test_what_can_not_cross_is_refused_in_one_line(tmp_path):
    async def later(completion):
        return 1.0

    file = open(tmp_path / "log", "w")  # noqa: SIM115  it is what can not be sent

    def reads(completion):
        return float(file.write(completion))

    with refusal(UserError):
        gd.reward(lambda completion, episode: 1.0, isolate="sandbox")
    with refusal(UserError):
        gd.reward(later, isolate="sandbox")
    with refusal(UserError):
        gd.reward(reads, isolate="box")
    with refusal(UserError):
        gd.score_samples(gd.reward(reads, isolate="sandbox"), SAMPLES)
    file.close()
    odd = [{"completion": "4", "meta": {"thing": object()}}, {"completion": "4", "meta": {"thing": 1}}]
    scored = gd.score_samples(gd.reward(lambda thing: float(thing), isolate="sandbox"), odd)
    assert scored.whole == [None, 1.0] and "a object is not plain data" in scored.details[0]["error"]


@pytest.mark.slow
def test_it_is_checked_trained_with_and_replayed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("my.py").write_text(
        "import guerdon as gd\n\n\n@gd.reward(isolate='sandbox')\ndef right(completion, answer, **rest):\n"
        "    return float(completion.strip() == answer)\n\n\nplain = gd.reward(right.function)\n"
    )
    boxed, plain = (gd.check_reward(f"my.py:{name}", "successor", problems=1) for name in ("right", "plain"))
    assert [finding.words for finding in boxed.findings] == [finding.words for finding in plain.findings]
    small = {"steps": 2, "options": gd.Options(eval_tasks=0), "prompts": 2, "tries": 2}
    runs = [
        gd.train("grpo", task="successor", model="tabular", out=name, reward=f"my.py:{name}", **small)
        for name in ("right", "plain")
    ]
    assert runs[0].weights == runs[1].weights
    assert not gd.replay("right", reward="my.py:right").moved
