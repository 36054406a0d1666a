"""The settings suite: judges whose fault is known, failure modes measured on planted batches, arms, and what pilots come to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import guerdon as gd
from guerdon.cli.main import main
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.core.recipe import Screening
from guerdon.loop.catalog import find_recipe
from guerdon.loop.proof.arms import BASELINE, PLAIN, arms_in_setting
from guerdon.loop.proof.failure_modes import MEASURES, failure_mode
from guerdon.loop.proof.gates import failed
from guerdon.loop.proof.jobs import RunJob, run_job
from guerdon.loop.proof.judges import judge_of
from guerdon.loop.proof.pilots import identity, is_frozen, piloted
from guerdon.loop.proof.proving import OPTIONS, How, trials_of
from guerdon.loop.proof.records import record_of
from guerdon.loop.proof.settings import FALL, SUITE, setting_named
