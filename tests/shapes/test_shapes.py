"""Four published methods that break naive designs, each a recipe of at most 60 lines that must learn its toy problem."""

from __future__ import annotations

import functools
import itertools
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from scheduling import mostly_slow
from scipy.stats import kendalltau

import guerdon as gd
from guerdon.core.episode import Episode
from guerdon.core.pack import pack
from guerdon.runs.run import Run
from guerdon.training.catalog import find_recipe

HERE = Path(__file__).parent
NAMES = ["spiral", "prime", "cream", "rlbff"]
QUIET = gd.Options(save_every=1000, eval_tasks=12)


@pytest.fixture(autouse=True)
def toys_on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))


def learn(name, tmp_path, **settings):
    return gd.train(f"{HERE / name}.py", out=tmp_path / name, options=QUIET, seed=1, settings=settings)


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_is_at_most_sixty_lines(name):
    text = (HERE / f"{name}.py").read_text()
    code = text.split('"""', 2)[2]  # what follows the opening docstring
    lines = [x for x in code.splitlines() if x.strip() and not x.startswith(("import ", "from "))]
    assert len(lines) <= 60, f"{name} has {len(lines)} lines"


def inner(run, number=-1):
    """A study's run by the order it was made in."""
    folders = sorted((run.path / "inner").glob("*/run.json"), key=lambda p: p.stat().st_mtime_ns)
    return Run(folders[number].parent)


@pytest.mark.slow
def test_spiral_self_play_comes_closer_to_equilibrium(tmp_path):
    run = learn("spiral", tmp_path)
    fresh = find_recipe(f"{HERE / 'spiral'}.py").build({}, {}).models["policy"]
    fresh.start(1, {})
    before, after = exploitability(fresh), exploitability(run.model())
    assert before == pytest.approx(
        11 / 12, abs=1e-6
    )  # the uniform player's, from the literature: 0.9167 for both sides
    assert after < 0.4 * before
    before, after = ([exam[f"start@{seat}/return"] for seat in ("first", "second")] for exam in run.evaluations)
    assert before[0] == -before[1]  # against itself: the same games, seen from both seats
    assert sum(after) > 0.3  # whoever it was in the beginning loses to it
    assert all(run.evaluations[-1][f"start@{seat}/games"] == 6 * 64 for seat in ("first", "second"))
    last = run.batch(run.steps_done - 1)
    paid = {role: last["reward"][last.role_K == i] for i, role in enumerate(last.roles)}
    assert torch.equal(paid["first"], -paid["second"])  # zero-sum, and two tracks an episode
    state = json.loads((sorted((run.path / "checkpoints").iterdir())[-1] / "state.json").read_text())
    means = state["state"]["parts"]["stages.1"]["mean"]
    assert set(means) == {"kuhn/first", "kuhn/second"}
    assert means["kuhn/first"] == pytest.approx(-means["kuhn/second"], abs=1e-6)


def bet_rates(model):
    """The chance of a bet in each of the twelve situations of Kuhn poker, read from the model."""
    segments, names = [], []
    for card, seen in itertools.product(range(3), ("", "pb", "p", "b")):
        first = seen in ("", "pb")
        ask = gd.Ask(gd.Task(f"{card}{seen}", ""))
        say = [(f"first {card}", "p"), ("pb", "b")] if seen == "pb" else [(f"first {card}", "b")]
        say = say if first else [(f"second {card} {seen}", "b")]
        made = []
        for i, (view, text) in enumerate(say):
            reply = model.teacher_force(view, text)
            made.append(gd.Segment("x", view, reply.context, reply.actions, reply.logp, text, parent=i - 1))
        segments.append(Episode(ask, tuple(made), number=len(names)))
        names.append((card, seen))
    batch = pack(segments)
    logp = model.read(batch, ["logp"])["logp"]
    last = torch.cumsum(batch.length, 0)[batch.leaf] - 1
    return dict(zip(names, logp[last].exp().tolist(), strict=True))


def exploitability(model):
    """What best responses win against the policy, both sides added: 0 at an equilibrium."""
    bet = bet_rates(model)
    deals = [(a, b) for a in range(3) for b in range(3) if a != b]

    def value(first, second):
        """First's expected win, each side a function (card, seen) -> chance of a bet."""
        total = 0.0
        for a, b in deals:
            win = 1 if a > b else -1
            opens, answers, calls = first(a, ""), second(b, "p"), first(a, "pb")
            passed = (1 - answers) * win + answers * (calls * 2 * win - (1 - calls))
            bet_on = second(b, "b") * 2 * win + (1 - second(b, "b"))
            total += ((1 - opens) * passed + opens * bet_on) / 6
        return total

    def now(card, seen):
        return bet[card, seen]

    best_first = best_second = -np.inf
    for pure in itertools.product((0, 1), repeat=6):
        plan = {key: pure[i] for i, key in enumerate(itertools.product(range(3), ("", "pb")))}
        best_first = max(best_first, value(lambda c, s, plan=plan: plan[c, s], now))
        plan = {key: pure[i] for i, key in enumerate(itertools.product(range(3), ("p", "b")))}
        best_second = max(best_second, -value(now, lambda c, s, plan=plan: plan[c, s]))
    return best_first + best_second


@pytest.mark.slow
def test_prime_learns_the_codes_and_which_digit_was_wrong(tmp_path):
    run = learn("prime", tmp_path)
    first, last = run.evaluations[0]["pass@1"], run.evaluations[-1]["pass@1"]
    assert first < 0.1
    assert last > 0.9
    right, first_wrong = [], []
    for batch in (run.batch(step) for step in range(10, 30)):  # while there still are wrong answers to judge
        digit = 0.05 * (batch["prm.logp"] - batch["reference.logp"])
        for g, e in enumerate(batch.episode.tolist()):
            said, credit = batch.action[batch.seg == g].tolist(), digit[batch.seg == g].tolist()
            matches = [str(a) == c for a, c in zip(said, batch.episodes[e].task.answer, strict=True)]
            wrong = matches.index(False) if False in matches else len(matches)
            right += credit[:wrong]
            first_wrong += credit[wrong : wrong + 1]
    assert min(len(right), len(first_wrong)) > 100
    ranked_alike = np.mean([r > w for r in right for w in first_wrong])
    assert ranked_alike > 0.75  # AUC of the process reward for the first wrong digit, from outcome labels alone


def test_prime_reads_the_process_model_after_it_learned(tmp_path):
    """`prm.logp` is read once before the learner of `prm` (never: it has no need of it) and once after."""
    run = learn("prime", tmp_path, steps=1)
    batch = run.batch(0)
    assert not torch.equal(
        batch["prm.logp"], batch["reference.logp"]
    )  # equal before the first update, so read after it


@pytest.mark.slow
def test_cream_sharpens_what_it_heard_and_labels_by_consistency(tmp_path):
    run = inner(learn("cream", tmp_path))
    before, after = run.evaluations[0]["pass@1"], run.evaluations[-1]["pass@1"]
    assert after > before + 0.15
    soft = 0
    for step in range(0, 60, 7):
        batch = run.batch(step)
        now = batch.up(batch["present.logp"], "track", by="mean")
        then = batch.up(batch["previous.logp"], "track", by="mean")
        for top, low, label in zip(batch.pairs.better, batch.pairs.worse, batch.pairs.label, strict=True):
            tries = batch.ask[batch.leaf] == batch.ask[batch.leaf[top]]
            ranks = [np.argsort(np.argsort(v[tries].numpy(), kind="stable"), kind="stable") for v in (now, then)]
            assert float(label) == pytest.approx((kendalltau(*ranks).statistic + 1) / 2, abs=1e-5)
            assert now[top] == now[tries].max()
            assert now[low] == now[tries].min()
            soft += bool(label < 1)
    assert soft > 0  # the previous model did disagree now and then


@pytest.mark.slow
def test_cream_previous_model_is_one_iteration_behind(tmp_path):
    run = inner(learn("cream", tmp_path, steps=25))
    batch = {step: run.batch(step) for step in (0, 9, 10, 19, 20)}
    same = {s: torch.equal(b["present.logp"], b["previous.logp"]) for s, b in batch.items()}
    assert same == {0: True, 9: True, 10: False, 19: False, 20: False}


@pytest.fixture(scope="module")
def rlbff(tmp_path_factory):
    """The study for a principle, made once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HERE))
        yield functools.cache(lambda principle: learn("rlbff", tmp_path_factory.mktemp("rlbff"), principle=principle))


PRINCIPLES = {"has no a": lambda s: "a" not in s, "is a mirror": lambda s: s == s[::-1]}


@pytest.mark.slow
@pytest.mark.parametrize("principle", mostly_slow(PRINCIPLES, "has no a"))
def test_rlbff_policy_learns_the_principle_its_judge_is_asked(rlbff, principle):
    run, keeps = inner(rlbff(principle)), PRINCIPLES[principle]
    first, last = run.batch(0), run.batch(run.steps_done - 1)

    def share(batch):
        return np.mean([keeps(e.segments[0].text) for e in batch.episodes])

    assert share(last) > 0.9 > share(first) + 0.2
    judge = [e.segments[1] for e in last.episodes]
    assert all(s.role == "judge" and s.parent == 0 and principle in s.view for s in judge)  # stored with what it judged
    assert 2 * len(last.episodes) == last.K
    mine = last.tracks_of(["policy"])
    assert not torch.isnan(last["reward"][mine]).any()
    assert torch.isnan(last["reward"][~mine]).all()


@pytest.mark.slow
def test_rlbff_study_resumes_without_training_the_judge_again(tmp_path, rlbff):
    path = Path(shutil.copytree(rlbff("has no a").path, tmp_path / "run"))
    folders = {p: p.stat().st_mtime_ns for p in (path / "inner").glob("*/events.jsonl")}
    assert len(folders) == 2
    (path / "events.jsonl").unlink()  # as if the study had been killed before its last line
    again = gd.train(resume=path)
    assert {p: p.stat().st_mtime_ns for p in (path / "inner").glob("*/events.jsonl")} == folders
    assert again.complete
