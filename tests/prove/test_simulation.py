"""Simulated proofs: the rule keeps to its limits, and each world is decided by the functions that decide real proofs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from guerdon.cli.main import main
from guerdon.prove.simulation import WORLDS, SimulatedWorld, proof, recorded, simulate, table, unmet

PAGE = Path(__file__).parent.parent.parent / "docs" / "evidence" / "simulation.json"


def test_every_gate_ends_a_proof_of_its_world():
    rows = {row["expects"]: row for row in simulate(20, [w for w in WORLDS if w.expects.startswith("gate ")])}
    gates = {"differ", "chance", "rate", "problem", "updates", "gain"}
    assert {name.removeprefix("gate ") for name in rows} == gates
    assert all(row["gates"] == {name.removeprefix("gate "): 1.0} for name, row in rows.items())
    assert all(row["words"] == {} for row in rows.values()), "a failed gate leaves no word"


def test_a_large_effect_is_found_and_no_effect_is_not():
    large, none = simulate(60, [SimulatedWorld("large", "ahead", effect=0.03), SimulatedWorld("none", "no ahead")])
    assert large["words"] == {"ahead": 1.0} and large["confirmed"] == 1.0
    assert none["words"].get("ahead", 0.0) <= 1 / 60
    assert unmet([large, {**none, "words": {"ahead": 0.01}}]) == ""
    assert unmet([{**large, "words": {"ahead": 0.7}}, {**none, "words": {"ahead": 0.02}}]) == "large; none"


def test_a_proof_is_the_same_again_and_worlds_do_not_depend_on_each_other():
    draws = [proof(WORLDS[1], np.random.default_rng(7)) for _ in range(2)]
    assert draws[0] == draws[1]
    assert simulate(10, WORLDS[:2])[0] == simulate(10, WORLDS[:1])[0]


def test_recorded_pairs_are_drawn_from():
    (row,) = recorded([{"arm": "grpo", "differences": [0.05, 0.06], "claim": {"effect": 0.02, "task": "t"}}], proofs=10)
    assert row["words"] == {"ahead": 1.0} and "2 recorded pairs" in row["world"]


def test_the_published_table_is_of_these_worlds_and_keeps_to_the_limits():
    rows = json.loads(PAGE.read_text())["worlds"]
    assert [row["world"] for row in rows[: len(WORLDS)]] == [world.name for world in WORLDS]
    assert all(row["proofs"] == 2000 for row in rows) and unmet(rows) == ""
    assert table(rows).count("\n") == 1 + len(rows)


@pytest.mark.slow
def test_the_published_table_comes_out_again():
    rows = json.loads(PAGE.read_text())["worlds"]
    assert simulate() == rows[: len(WORLDS)]


@pytest.mark.slow
def test_the_command(capsys):
    assert main(["prove", "--calibrate", "--quick"]) == 0
    out = capsys.readouterr().out
    assert "| an arm against itself |" in out and "recorded pairs" in out
