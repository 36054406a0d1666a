"""The order of an experiment, from runs that are planted to runs that are wanted: rates, first seeds, gates, fresh seeds."""

from __future__ import annotations

from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import pytest
from planted import claim_of, factor_of, play, record, trial_of

from guerdon.core.errors import UserError
from guerdon.prove.arms import machine
from guerdon.prove.claim_gates import failed, solutions_fit
from guerdon.prove.claim_results import judged
from guerdon.prove.known import LEDGER, Known
from guerdon.prove.setting_suite import setting_named
from guerdon.prove.trial import AGAIN, FRESH, Trial
from guerdon.prove.tuning import TUNING_SEEDS

SWING = (0.01, -0.01, 0.02, -0.02, 0.005, -0.005, 0.015, -0.015)  # a spread without a mean, over eight seeds


@pytest.fixture
def known(tmp_path: Path) -> Known:
    return Known(tmp_path / "runs" / LEDGER)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "recipes.py"


def gaining(gain: float, spread: float = 1.0, ablation: float = 0.0) -> Any:
    """A world in which the method is better by so much, the ablation by so much, and seeds swing; the default rate is best."""

    def world(what: str, factor: float, seed: int) -> float:
        ahead = gain if what == "mine" else ablation if what == "mine idea=0" else 0.0
        return 0.6 - 0.05 * (factor != 1.0) + (ahead + spread * SWING[seed % 8] if what != "grpo" else 0.0)

    return world


def counts(runs: list[Any]) -> dict[str, int]:
    """How many runs were of which kind of seeds."""
    return {
        "tuning": sum(run.seed in TUNING_SEEDS for run in runs),
        "first": sum(run.seed < FRESH and not run.again for run in runs),
        "fresh": sum(FRESH <= run.seed < TUNING_SEEDS[0] for run in runs),
        "again": sum(run.again == AGAIN for run in runs),
    }


# --- what is run --------------------------------------------------------------------------------------------------


def test_a_claim_takes_eight_seeds_and_eight_fresh_ones_of_every_arm(path, known):
    trial = trial_of(path, claim_of())
    runs = play([trial], known, gaining(0.1))
    assert counts(runs) == {"tuning": 3 * 3 * len(TUNING_SEEDS), "first": 3 * 8, "fresh": 3 * 8, "again": 1}
    claim = judged(trial, known)
    assert (claim["word"], claim["ablation"]) == ("ahead", "confirmed")
    assert claim["again"] == {"same": True} and claim["needs"] == [] and not failed(claim["gates"])
    assert [run["seed"] for run in claim["arms"]["method"]["runs"]] == [*range(8), *range(FRESH, FRESH + 8)]
    gap = claim["against"]["baseline"]
    assert gap["mean"] == pytest.approx(0.1) and (gap["first"], len(gap["differences"])) == (8, 16)
    assert claim["gain"] == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("gain", "spread", "word"),
    [(-0.1, 1.0, "behind"), (0.0, 0.1, "no difference"), (0.0, 6.0, "inconclusive")],
)
def test_the_other_words(path, known, gain, spread, word):
    trial = trial_of(path, claim_of())
    play([trial], known, gaining(gain, spread))
    claim = judged(trial, known)
    assert (claim["word"], claim["ablation"]) == (word, "")


def test_twelve_and_twelve_where_eight_and_eight_see_too_little(path, known):
    """GRPO gains 0.2: 15 % are 0.03, and the swing times 3, 0.0439, detects 0.0329 with 16 pairs."""
    trial = trial_of(path, claim_of())
    assert counts(play([trial], known, gaining(0.1, 3.0)))["first"] == 3 * 12
    gap = judged(trial, known)["against"]["baseline"]
    assert (gap["first"], len(gap["differences"])) == (12, 24)


def test_fresh_seeds_that_do_not_confirm(path, known):
    trial = trial_of(path, claim_of())
    play([trial], known, lambda what, at, seed: gaining(0.0 if FRESH <= seed < 2000 else 0.1)(what, at, seed))
    assert judged(trial, known)["word"] == "inconclusive"


def test_plain_grpo_stands_beside_another_baseline_on_the_first_seeds(path, known):
    trial = trial_of(path, claim_of(baseline="rloo"))
    assert list(trial.arms) == ["method", "baseline", "ablation", "plain"]
    runs = play(
        [trial], known, lambda what, at, seed: 0.6 - 0.05 * (at != 1) + 0.1 * SWING[seed % 8] * (what == "mine")
    )
    assert sorted(r.seed for r in runs if r.arm.what == "grpo" and r.seed not in TUNING_SEEDS) == [*range(8)]
    claim = judged(trial, known)
    assert len(claim["against"]["plain"]["differences"]) == 8 and len(claim["against"]["ablation"]["differences"]) == 16


# --- learning rates -----------------------------------------------------------------------------------------------


def test_every_arm_has_its_own_best_rate(path, known):
    trial = trial_of(path, claim_of())
    optimum = {"mine": 1 / 9, "grpo": 1.0, "mine idea=0": 9.0}

    def world(what: str, at: float, seed: int) -> float:
        off = abs(round(log(at / optimum[what], 3)))
        return 0.6 + 0.1 * (what == "mine") - 0.05 * off + 0.1 * SWING[seed % 8]

    runs = play([trial], known, world)
    assert trial.factors(known) == {"method": pytest.approx(1 / 9), "baseline": 1.0, "ablation": 9.0}
    tried = {what: {factor_of(r) for r in runs if r.seed in TUNING_SEEDS and r.arm.what == what} for what in optimum}
    assert tried["mine"] == {3.0, 1.0, 0.333, 0.111, 0.037}
    assert tried["mine idea=0"] == {0.333, 1.0, 3.0, 9.0, 27.0}
    rates = judged(trial, known)["rates"]["method"]
    assert rates["default"] == 0.1 and rates["factor"] == pytest.approx(1 / 9) and len(rates["scores"]) == 5


@pytest.mark.slow
def test_a_best_rate_at_the_edge_of_seven_fails_a_gate(path, known):
    trial = trial_of(path, claim_of())
    runs = play([trial], known, lambda what, at, seed: 0.6 - 0.01 * at + 0.1 * SWING[seed % 8] * (what == "mine"))
    assert counts(runs) == {"tuning": 3 * 7 * len(TUNING_SEEDS), "first": 3 * 8, "fresh": 0, "again": 1}
    assert [gate["gate"] for gate in failed(judged(trial, known)["gates"])] == ["rate"]


# --- gates --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("comes_to", "gate"),
    [
        ({"pass@1": 0.5, "start": 0.42}, "gain"),
        ({"pass@1": 0.6, "cut": 0.2}, "cut"),
        ({"pass@1": 0.0, "start": 0.0}, "chance"),
    ],
)
def test_a_gate_that_fails_ends_it_before_fresh_seeds(path, known, comes_to, gate):
    trial = trial_of(path, claim_of())

    def world(what: str, at: float, seed: int) -> dict[str, Any]:
        more = SWING[seed % 8] / 9 * (what != "grpo") - 0.05 * (at != 1.0)
        return {**comes_to, "pass@1": comes_to["pass@1"] + more}

    runs = play([trial], known, world)
    assert counts(runs)["fresh"] == 0 and counts(runs)["first"] == 24
    claim = judged(trial, known)
    assert gate in [each["gate"] for each in failed(claim["gates"])] and claim["word"] not in ("ahead", "behind")


@pytest.mark.parametrize(("tokens", "is_open"), [(4, False), (64, True)])
def test_solutions_that_do_not_fit(path, tokens, is_open):
    claim = claim_of(
        task="countdown:1", model="sprig-1.1", settings=f"prompts=2 tries=4 max_tokens={tokens}", ablation=""
    )
    arm = trial_of(path, claim).arms["method"]
    gate = solutions_fit(claim, arm)
    assert gate is not None and gate["open"] is is_open and f"fit {tokens} tokens (required: 95 %)" in gate["why"]
    assert solutions_fit(replace(claim, cuts=True), arm) is None


def test_a_screening_has_eight_seeds_no_word_and_the_settings_problem(path, known):
    trial = trial_of(path, claim_of())
    screening = replace(trial, tier="screening", setting=replace(setting_named("sparse"), chance=0.1))

    def world(what: str, at: float, seed: int) -> dict[str, Any]:
        return {"pass@1": gaining(0.1)(what, at, seed), "failure": {"all_wrong": 0.3 + 0.01 * seed}}

    runs = play([screening], known, world)
    assert counts(runs) == {"tuning": len(TUNING_SEEDS) * (5 + 3 + 3), "first": 24, "fresh": 0, "again": 1}, (
        "five rates of the baseline"
    )
    claim = judged(screening, known)
    assert "word" not in claim and claim["setting"] == "sparse" and claim["tier"] == "screening"
    (gate,) = failed(claim["gates"])
    assert gate["why"] == "the share of groups that are all wrong is 0.335 in the baseline (required: 0.5 to 1)"


# --- ablation -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ablation", "idea"), [(0.0, "confirmed"), (0.1, "not confirmed"), (0.2, "not confirmed")])
def test_whether_the_ablation_confirms_the_mechanism(path, known, ablation, idea):
    trial = trial_of(path, claim_of())
    world = gaining(0.1, ablation=ablation)
    play([trial], known, lambda what, at, seed: world(what, at, seed) + 0.1 * SWING[-1 - seed % 8] * (what == "mine"))
    assert judged(trial, known)["ablation"] == idea
    alone = trial_of(path, claim_of(ablation=""))
    play([alone], known, gaining(0.1))
    assert judged(alone, known)["ablation"] == "no ablation"


def test_a_mechanism_has_a_metric_of_its_own(path, known):
    trial = trial_of(path, claim_of(mechanism="length"))
    play(
        [trial],
        known,
        lambda what, at, seed: {"pass@1": gaining(0.1)(what, at, seed), "length": 8.0 + (what == "mine")},
    )
    told = judged(trial, known)["mechanism"]
    assert (told["metric"], told["mean"]) == ("length", pytest.approx(1.0))


def test_other_weights_from_nothing(path, known):
    trial = trial_of(path, claim_of())
    made = play([trial], known, gaining(0.1))
    (again,) = (run for run in made if run.again)
    known.add({**record(again, 0.7), "weights": "others"})
    assert judged(trial, known)["again"] == {"same": False}
    known.add({**record(again, 0.7, on="elsewhere")})
    del known.by_machine[machine()][again.key]
    assert judged(trial, known)["again"] is None, "another machine may well come to other weights"


# --- kinds of claims ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shorter", "better", "word"),
    [(2.0, 0.0, "ahead"), (2.0, -0.1, "behind"), (-2.0, 0.1, "behind"), (0.0, 0.1, "no difference")],
)
def test_cheaper(path, known, shorter, better, word):
    claim = claim_of(kind="cheaper", metric="length", better="lower", effect=0.5, keeps="pass@1", loss=0.02)
    trial = trial_of(path, claim)

    def world(what: str, at: float, seed: int) -> dict[str, float]:
        swing, ours = 0.1 * SWING[seed % 8], what != "grpo"
        return {
            "length": 8.0 - shorter * ours + swing * ours,
            "pass@1": 0.6 - 0.2 * (at != 1) + (better + swing) * ours,
        }

    play([trial], known, world)
    told = judged(trial, known)
    assert told["word"] == word
    assert told["against"]["baseline"]["mean"] == pytest.approx(shorter)
    assert told["quality"]["mean"] == pytest.approx(better)


@pytest.mark.parametrize(("score", "word"), [(0.8, "ahead"), (0.7, "no difference"), (0.6, "behind")])
def test_a_bound(path, known, score, word):
    trial = trial_of(path, claim_of(kind="bound", bound=0.7))
    assert list(trial.arms) == ["method"]
    play([trial], known, lambda what, at, seed: score - 0.05 * (at != 1) + 0.1 * SWING[seed % 8])
    told = judged(trial, known)
    assert told["word"] == word and told["against"]["baseline"]["mean"] == pytest.approx(score - 0.7)


@pytest.mark.parametrize(("gain", "word"), [(0.05, "ahead"), (0.0, "no difference"), (-0.05, "behind")])
def test_a_slope(path, known, gain, word):
    trial = trial_of(path, claim_of(kind="slope", along="tries=2,4,8", ablation=""))
    assert list(trial.arms) == ["method tries=2", "method tries=4", "method tries=8"]
    doublings = {"mine tries=2": 1, "mine tries=4": 2, "mine tries=8": 3}

    def world(what: str, at: float, seed: int) -> float:
        return 0.6 - 0.1 * (at != 1) + gain * doublings[what] + 0.1 * SWING[seed % 8] * doublings[what]

    play([trial], known, world)
    told = judged(trial, known)
    assert told["word"] == word and told["against"]["baseline"]["mean"] == pytest.approx(gain)


# --- machines -----------------------------------------------------------------------------------------------------


def test_the_pairs_of_a_seed_are_of_one_machine_and_seeds_may_be_of_several(path, known):
    trial, world = trial_of(path, claim_of()), gaining(0.1)
    made = play([trial], Known(path.parent / "other" / LEDGER), world)
    for run in made:
        known.add(record(run, world(run.arm.what, factor_of(run), run.seed), on="elsewhere"))
    assert trial.wanted(known) == [], "what another machine ran to its end counts"
    lost = next(run for run in made if run.seed == 3 and run.arm.what == "grpo")
    del known.by_machine["elsewhere"][lost.key]
    known.add(record(lost, 0.58))  # here, and alone: its pair is there
    wanted = trial.wanted(known)
    assert {run.seed for run in wanted} == {3} and lost.key not in {run.key for run in wanted} and len(wanted) == 2
    for run in wanted:
        known.add(record(run, 0.7 if run.arm.what == "mine" else 0.6))
    assert trial.wanted(known) == []
    assert judged(trial, known)["against"]["baseline"]["differences"][3] == pytest.approx(0.12)


def test_seeds_that_are_not_complete_say_nothing(path, known):
    """Interrupted after any run, an experiment tells what the seeds before came to."""
    trial, world, told = trial_of(path, claim_of()), gaining(0.1), []
    for i, run in enumerate(play([trial], Known(path.parent / "whole" / LEDGER), world)):
        known.add(record(run, world(run.arm.what, factor_of(run), run.seed)))
        if i % 6 == 5 and trial.is_told(known):
            claim = judged(trial, known)
            told.append(len(claim["against"]["baseline"]["differences"]))
            assert claim["word"] == "inconclusive" or told[-1] == 16
    assert told == [8] * 4 + [16], "18 runs tune, 24 are of the first seeds, and 24 more must all be there"


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


def test_a_trial_is_a_claims_unless_told(path):
    assert isinstance(trial := trial_of(path, claim_of()), Trial) and trial.tier == "registered"
