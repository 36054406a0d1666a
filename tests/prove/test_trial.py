"""The rule of a proof, from runs that are planted to runs that are wanted: tuning, looks, gates, ablation, replication."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from planted import claim_of, factor_of, play, record, trial_of

from guerdon.core.errors import UserError
from guerdon.loop.proof.arms import machine
from guerdon.loop.proof.claim_results import judged
from guerdon.loop.proof.known import LEDGER, Known
from guerdon.loop.proof.proving import tell
from guerdon.loop.proof.testability import closed, solutions_fit
from guerdon.loop.proof.trial import AGAIN, FRESH, Trial
from guerdon.loop.proof.tuning import TUNING_SEEDS

SWING = (0.01, -0.01, 0.02, -0.02, 0.005, -0.005, 0.015, -0.015)  # a spread without a mean, over eight seeds


@pytest.fixture
def known(tmp_path: Path) -> Known:
    return Known(tmp_path / "runs" / LEDGER)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "recipes.py"


def gaining(gain: float, spread: float = 1.0, ablation: float = 0.0) -> Any:
    """A world in which the method is better by so much, the ablation by so much, and seeds swing."""

    def world(what: str, factor: float, seed: int) -> float:
        ahead = gain if what == "mine" else ablation if what == "mine idea=0" else 0.0
        return 0.6 + (ahead + spread * SWING[seed % 8] if what != "grpo" else 0.0)

    return world


def result(trial: Trial, known: Known) -> dict[str, Any]:
    claim = {**judged(trial, known), "registered": None}
    claim["verdict"] = claim["alone"]
    tell(claim)
    return claim


def counts(runs: list[Any]) -> dict[str, int]:
    """How many runs were of which kind of seeds."""
    return {
        "tuning": sum(run.seed in TUNING_SEEDS for run in runs),
        "look": sum(run.seed < 32 and not run.again and run.arm.what != "mine idea=0" for run in runs),
        "ablation": sum(run.arm.what == "mine idea=0" for run in runs),
        "fresh": sum(run.seed in FRESH for run in runs),
        "again": sum(run.again == AGAIN for run in runs),
    }


# --- what is run --------------------------------------------------------------------------------------------------


def test_a_clear_claim_takes_eight_seeds_an_ablation_and_fresh_ones(path, known):
    trial = trial_of(path, claim_of())
    runs = play([trial], known, gaining(0.1))
    assert counts(runs) == {"tuning": 2 * 3 * 4, "look": 2 * 8, "ablation": 8, "fresh": 2 * 8, "again": 1}
    claim = result(trial, known)
    assert (claim["verdict"], claim["stands"], claim["idea"]) == ("better", "supported", "by its idea")
    assert claim["replication"]["inside"] and claim["again"] == {"same": True} and claim["needs"] == []
    assert [run["seed"] for run in claim["arms"]["method"]["runs"]] == list(range(8))
    assert claim["against"]["baseline"]["mean"] == pytest.approx(0.1)
    assert [r["seed"] for r in claim["tried"]].count(1003) == 2


def test_a_refuted_claim_is_replicated_but_has_no_ablation(path, known):
    trial = trial_of(path, claim_of())
    assert counts(play([trial], known, gaining(-0.1)))["ablation"] == 0
    claim = result(trial, known)
    assert (claim["verdict"], claim["stands"], claim["idea"]) == ("worse", "refuted", "")
    assert claim["replication"]["inside"]


def test_equal_is_not_replicated(path, known):
    trial = trial_of(path, claim_of())
    assert counts(play([trial], known, gaining(0.0, 0.1))) == {
        "tuning": 24, "look": 16, "ablation": 0, "fresh": 0, "again": 1
    }  # fmt: skip
    assert result(trial, known)["verdict"] == "equal"


@pytest.mark.parametrize(
    ("gain", "spread", "seeds"),
    [
        (0.1, 1.0, 8),  # known at once
        (0.0, 6.0, 16),  # too noisy to tell, and no longer likely to matter
        (0.025, 2.0, 32),  # still as large as the effect after sixteen
    ],
)
def test_an_open_claim_is_looked_at_again(path, known, gain, spread, seeds):
    trial = trial_of(path, claim_of())
    runs = play([trial], known, gaining(gain, spread))
    claim = result(trial, known)
    assert len(claim["against"]["baseline"]["differences"]) == seeds == counts(runs)["look"] / 2
    assert [look["seeds"] for look in claim["against"]["baseline"]["looks"]] == [n for n in (8, 16, 32) if n <= seeds]
    assert claim["stands"] == ("supported" if seeds == 8 else "open")


def test_plain_grpo_stands_beside_another_baseline_on_the_first_seeds(path, known):
    trial = trial_of(path, claim_of(baseline="rloo"))
    assert list(trial.arms) == ["method", "baseline", "ablation", "plain"]
    runs = play([trial], known, lambda what, factor, seed: 0.6 + 6 * SWING[seed % 8] * (what == "mine"))
    assert sorted(run.seed for run in runs if run.arm.what == "grpo" and run.seed < 100) == list(range(8))
    assert max(run.seed for run in runs if run.arm.what == "rloo" and run.seed < 100) == 15
    claim = result(trial, known)
    assert len(claim["against"]["plain"]["differences"]) == 8 and len(claim["against"]["baseline"]["differences"]) == 16


# --- learning rates -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("gain", "factor"), [(0.019, 1.0), (0.021, 3.0)])
def test_a_rate_leaves_its_default_only_for_the_effect(path, known, gain, factor):
    trial = trial_of(path, claim_of())

    def world(what: str, at: float, seed: int) -> float:
        return 0.6 + 0.1 * (what != "grpo") + (gain if at == 3.0 and what == "mine" else 0.0) + 0.1 * SWING[seed % 8]

    runs = play([trial], known, world)
    assert trial.factors(known) == {"method": factor, "baseline": 1.0}
    looked = {(run.arm.what, factor_of(run)) for run in runs if run.seed not in TUNING_SEEDS}
    assert looked >= {("mine", factor), ("grpo", 1.0)} and len({what for what, _ in looked}) == len(looked)
    rates = result(trial, known)["rates"]["method"]
    assert rates["default"] == 0.1 and rates["scores"]["3"] - rates["scores"]["1"] == pytest.approx(gain)


def test_the_ablation_has_the_methods_rate(path, known):
    trial = trial_of(path, claim_of())
    runs = play([trial], known, lambda what, at, seed: 0.6 + 0.1 * (what == "mine") + 0.1 * (at == 3.0))
    assert {factor_of(run) for run in runs if run.arm.what == "mine idea=0"} == {3.0}


# --- gates --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("comes_to", "why"),
    [
        ({"pass@1": 0.95, "start": 0.85}, "the start solves 85.0 % of the exam"),
        ({"pass@1": 0.3, "start": 0.05}, "the start solves 5.0 % of the exam"),
        ({"pass@1": 0.45, "start": 0.4}, "plain GRPO gains +5.0 points, and 6 are asked for"),
        ({"pass@1": 0.6, "asked": {"hint": 100}}, "0 % of what was trained on was asked in the exam's form"),
    ],
)
def test_a_gate_that_closes_ends_the_matter_at_the_first_look(path, known, comes_to, why):
    trial = trial_of(path, claim_of())
    runs = play([trial], known, lambda what, at, seed: {**comes_to, "pass@1": comes_to["pass@1"] + SWING[seed % 8] / 9})
    assert counts(runs) == {"tuning": 24, "look": 16, "ablation": 0, "fresh": 0, "again": 0}
    claim = result(trial, known)
    assert (claim["verdict"], claim["stands"]) == ("not testable here", "open")
    assert why in closed(claim["gates"]) and why in claim["how"]


@pytest.mark.parametrize(("tokens", "is_open"), [(4, False), (64, True)])
def test_solutions_that_do_not_fit(path, tokens, is_open):
    claim = claim_of(
        task="countdown:1", model="sprig-1.1", settings=f"prompts=2 tries=4 max_tokens={tokens}", ablation=""
    )
    gate = solutions_fit(claim, trial_of(path, claim).first)
    assert gate is not None and gate["open"] is is_open and f"fit {tokens} tokens" in gate["why"]
    assert (("95 % are asked for" in gate["why"]), closed([gate]) == "") == (not is_open, is_open)
    assert solutions_fit(replace(claim, cuts=True), trial_of(path, claim).first) is None


# --- ablation and replication -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ablation", "idea"),
    [(0.0, "by its idea"), (0.1, "not by its idea"), (0.2, "not by its idea")],
)
def test_whose_merit_it_is(path, known, ablation, idea):
    trial = trial_of(path, claim_of())
    play([trial], known, gaining(0.1, ablation=ablation))
    assert result(trial, known)["idea"] == idea


def test_an_ablation_that_does_not_tell(path, known):
    trial = trial_of(path, claim_of())
    swings = {"mine": 0.2, "mine idea=0": 15.0}
    play([trial], known, lambda what, at, seed: 0.6 + 0.1 * (what == "mine") + swings.get(what, 0) * SWING[seed % 8])
    assert result(trial, known)["idea"] == "whether by its idea is not known"
    alone = trial_of(path, claim_of(ablation=""))
    play([alone], known, gaining(0.1))
    assert result(alone, known)["idea"] == "no ablation"


def test_an_ablation_that_waits_is_not_called_none(path, known):
    trial, world = trial_of(path, claim_of()), gaining(0.1)
    while not trial.is_told(known):
        for run in trial.wanted(known):
            known.add(record(run, world(run.arm.what, factor_of(run), run.seed)))
    assert result(trial, known)["idea"] == "its ablation is still to be run"
    some = [run for run in trial.wanted(known) if run.arm.what == "mine idea=0"][:3]
    for run in some:
        known.add(record(run, world(run.arm.what, factor_of(run), run.seed)))
    assert len(some) == 3 and result(trial, known)["idea"] == "its ablation is still to be run"
    play([trial], known, world)
    assert "idea" in result(trial, known)["idea"]


def test_fresh_seeds_that_come_out_elsewhere(path, known):
    trial = trial_of(path, claim_of())
    play([trial], known, lambda what, at, seed: gaining(0.1 if seed < 1000 or seed >= 2000 else 0.05)(what, at, seed))
    again = result(trial, known)["replication"]
    assert not again["inside"] and again["mean"] == pytest.approx(0.05) and again["low"] > 0.05
    assert len(again["differences"]) == 8


def test_other_weights_from_nothing(path, known):
    trial = trial_of(path, claim_of())
    made = play([trial], known, gaining(0.1))
    (again,) = (run for run in made if run.again)
    known.add({**record(again, 0.7), "weights": "others"})
    assert result(trial, known)["again"] == {"same": False}
    known.add({**record(again, 0.7, on="elsewhere")})
    del known.by_machine[machine()][again.key]
    assert result(trial, known)["again"] is None, "another machine may well come to other weights"


# --- kinds of claims ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shorter", "better", "verdict", "stands"),
    [
        (2.0, 0.0, "better", "supported"),
        (2.0, -0.1, "better", "refuted"),  # it costs less, and accuracy with it
        (-2.0, 0.1, "worse", "refuted"),
        (0.0, 0.1, "equal", "refuted"),
    ],
)
def test_cheaper(path, known, shorter, better, verdict, stands):
    claim = claim_of(kind="cheaper", metric="length", better="lower", effect=0.5, keeps="pass@1", loss=0.02)
    trial = trial_of(path, claim)

    def world(what: str, at: float, seed: int) -> dict[str, float]:
        swing = 0.1 * SWING[seed % 8]
        ours = what != "grpo"
        return {"length": 8.0 - shorter * ours + swing * ours, "pass@1": 0.6 + (better + swing) * ours}

    play([trial], known, world)
    told = result(trial, known)
    assert (told["verdict"], told["stands"]) == (verdict, stands)
    assert told["against"]["baseline"]["mean"] == pytest.approx(shorter)
    assert told["quality"]["mean"] == pytest.approx(better)


@pytest.mark.parametrize(("score", "stands"), [(0.8, "supported"), (0.7, "supported"), (0.6, "refuted")])
def test_a_bound(path, known, score, stands):
    trial = trial_of(path, claim_of(kind="bound", bound=0.7))
    assert list(trial.arms) == ["method"]
    play([trial], known, lambda what, at, seed: score + 0.1 * SWING[seed % 8])
    told = result(trial, known)
    assert told["stands"] == stands and told["against"]["baseline"]["mean"] == pytest.approx(score - 0.7)


@pytest.mark.parametrize(("gain", "stands"), [(0.05, "supported"), (0.0, "refuted"), (-0.05, "refuted")])
def test_a_slope(path, known, gain, stands):
    trial = trial_of(path, claim_of(kind="slope", along="tries=2,4,8", ablation=""))
    assert list(trial.arms) == ["method tries=2", "method tries=4", "method tries=8"]
    doublings = {"mine tries=2": 1, "mine tries=4": 2, "mine tries=8": 3}
    play([trial], known, lambda what, at, seed: 0.6 + gain * doublings[what] + 0.1 * SWING[seed % 8] * doublings[what])
    told = result(trial, known)
    assert told["stands"] == stands and told["against"]["baseline"]["mean"] == pytest.approx(gain)


@pytest.mark.parametrize(
    ("kind", "gain", "stands"),
    [
        ("equal", 0.0, "supported"), ("equal", 0.1, "refuted"), ("equal", -0.1, "refuted"),
        ("at least as good", 0.0, "supported"), ("at least as good", 0.1, "supported"),
        ("at least as good", -0.1, "refuted"),
    ],
)  # fmt: skip
def test_equal_and_at_least_as_good(path, known, kind, gain, stands):
    trial = trial_of(path, claim_of(kind=kind))
    play([trial], known, gaining(gain, 0.1))
    assert result(trial, known)["stands"] == stands


# --- machines -----------------------------------------------------------------------------------------------------


def test_a_trial_is_of_one_machine(path, known):
    """What another machine saw to its end counts; what it did not is begun anew here, and never mixed."""
    trial = trial_of(path, claim_of())
    made = play([trial], Known(path.parent / "other" / LEDGER), gaining(0.1))
    for run in made:
        known.add(record(run, gaining(0.1)(run.arm.what, factor_of(run), run.seed), on="elsewhere"))
    there = trial.seen(known)
    assert there.machine == "elsewhere" and trial.wanted(there) == [] and not trial.is_told(known)
    shared = next(run for run in made if run.seed == 3 and run.arm.what == "grpo")
    known.add(record(shared, 0.1))  # of another trial, here
    assert trial.comparison(trial.seen(known)).differences == trial.comparison(there).differences
    assert max(trial.comparison(there).differences) < 0.2, "the one from here would give 0.5"
    del known.by_machine["elsewhere"][shared.key]
    assert trial.seen(known).machine == machine()
    assert shared.key not in {run.key for run in trial.wanted(known)}
    play([trial], known, gaining(0.2))
    assert trial.seen(known).machine == machine()


def test_what_another_machine_told_is_told_until_there_is_more_here(path, known):
    trial, world = trial_of(path, claim_of()), gaining(0.025, 2.0)
    made = play([trial], Known(path.parent / "other" / LEDGER), world)
    for run in made[:45]:
        known.add(record(run, world(run.arm.what, factor_of(run), run.seed), on="elsewhere"))
    assert trial.seen(known).machine == "elsewhere" and trial.wanted(trial.seen(known))
    for run in made[:45]:
        known.add(record(run, world(run.arm.what, factor_of(run), run.seed)))
    assert trial.seen(known).machine == machine()


def test_a_look_that_is_not_complete_says_nothing(path, known):
    """Interrupted after any run, a proof tells what the looks before came to."""
    trial, whole = trial_of(path, claim_of()), Known(path.parent / "whole" / LEDGER)
    world = gaining(0.025, 2.0)
    told = []
    for i, run in enumerate(play([trial], whole, world)):
        known.add(record(run, world(run.arm.what, factor_of(run), run.seed)))
        if i % 7 == 5 and trial.is_told(known):
            claim = result(trial, known)
            told.append(len(claim["against"]["baseline"]["differences"]))
            assert len(claim["arms"]["method"]["runs"]) == len(claim["arms"]["baseline"]["runs"]) == told[-1]
            assert claim["needs"]
    assert told == [8] * 3 + [16] * 4, "after 41, 48, ..., 83 runs: looks are complete after 40, 56 and 88"


def test_a_replication_that_is_not_complete_says_nothing(path, known):
    trial, whole = trial_of(path, claim_of()), Known(path.parent / "whole" / LEDGER)
    for run in play([trial], whole, gaining(0.1)):
        if (run.seed, run.arm.what) != (1007, "grpo"):
            known.add(record(run, gaining(0.1)(run.arm.what, factor_of(run), run.seed)))
    claim = result(trial, known)
    assert claim["replication"] is None and len(claim["needs"]) == 1 and claim["verdict"] == "better"


# --- what they are made of ----------------------------------------------------------------------------------------


def test_the_ledger_goes_on_after_a_torn_line(path, known):
    trial = trial_of(path, claim_of())
    made = play([trial], known, gaining(0.1))
    text = known.ledger.read_text()
    known.ledger.write_text(text[:-40])
    assert [run.key for run in trial.wanted(Known.read(known.ledger.parent))] == [made[-1].key]
    known.ledger.write_text(text.replace('"pass@1": 0.71', '"pass@1": 0.72', 1))
    changed = Known.read(known.ledger.parent)
    assert len(changed.by_machine[machine()]) == len(made) - 1, "a record that was changed by hand is not taken"


def test_a_slope_without_values_is_refused(path):
    with pytest.raises(UserError, match="along='tries=2,4,8'"):
        trial_of(path, claim_of(kind="slope", along="tries"))


def test_forms_that_earlier_runs_told_apart_are_one(tmp_path: Path) -> None:
    asked = {"write f([1,": 3, "write f('dust')": 2, "define f(6)": 4, "0 countdown": 1}
    known = Known(tmp_path / LEDGER, [{"key": "k", "machine": machine(), "asked": asked}])
    assert (known.get("k") or {})["asked"] == {"write f": 5, "define f": 4, "0 countdown": 1}
