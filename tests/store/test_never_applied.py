"""A part of a reward that never applied in a run: the run says so once at its end, and a long one early too."""

from __future__ import annotations

import guerdon as gd
from guerdon.training import loop


@gd.reward(isolate=False)
def silent(completion):
    return None


ASKED = []


@gd.reward(isolate=False)
def rare(completion):
    """Applies to one sample of the whole run, which is enough."""
    ASKED.append(completion)
    return 1.0 if len(ASKED) == 1 else None


@gd.reward(isolate=False)
def broken(completion):
    raise ValueError("no good")


def trained(folder, reward, steps):
    options = gd.Options(eval_tasks=0, rollouts_every=0, failed_limit=1.0)
    return gd.train("grpo", task="successor", model="tabular", reward=reward, steps=steps, out=folder, options=options)


def unapplied(run):
    return [message for message in run.warnings if "never applied" in message]


def test_it_is_told_early_and_at_the_end(tmp_path, monkeypatch):
    """Not of one that scored a single sample, nor of one that failed: those are counted as such."""
    monkeypatch.setattr(loop, "EARLY", 2)
    ASKED.clear()
    run = trained(tmp_path / "run", gd.blend(right=gd.exact(), silent=silent, rare=rare, broken=broken.weight(0.0)), 3)
    early, last = unapplied(run)
    assert early.startswith("silent never applied in 2 steps: it scored no sample, so it had no effect on 'reward'")
    assert last.startswith("silent never applied in 3 steps")
    assert len(ASKED) > 1


def test_a_short_run_is_told_once(tmp_path):
    run = trained(tmp_path / "run", gd.exact() + silent, 3)
    (message,) = unapplied(run)
    assert message.startswith("silent never applied in 3 steps")
    assert unapplied(trained(tmp_path / "sum", gd.exact() + gd.length(1), 2)) == []  # a run knows its actions
