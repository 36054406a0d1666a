"""A run's seed and its noise apart: the same start, problems and exams, other tokens."""

from guerdon.core.budget import Budget
from guerdon.core.recipe import Claim
from guerdon.loop.proof.arms import make_arm
from guerdon.loop.proof.records import record_of
from guerdon.loop.record import Options
from guerdon.store.run import Run

CLAIM = Claim("nothing", task="parity:2", model="tabular", settings="prompts=4 tries=4 lr=0.3", budget=4, unit="steps")
OPTIONS = Options(rollouts_every=1, eval_tasks=16, eval_tries=1, eval_drawn=True, eval_whole=32)


def run(folder, noise):
    arm = make_arm("grpo", CLAIM, OPTIONS)
    assert run_job(RunJob(arm, 3, folder, "key", noise)) == ""
    return record_of(folder), Run(folder)


def test_noise_changes_what_is_said_and_nothing_else(tmp_path):
    plain, again, other = (run(tmp_path / name, noise) for name, noise in (("a", None), ("b", 3), ("c", 4)))
    assert plain[0]["weights"] == again[0]["weights"]  # where none is given, the seed is the noise too
    assert plain[0]["weights"] != other[0]["weights"]
    prompts = [[e.ask.shown for e in each[1].batch(0).episodes] for each in (plain, other)]
    assert prompts[0] == prompts[1]
    starts = [each[0]["points"][0]["result"] for each in (plain, other)]
    assert starts[0] == starts[1] and starts[0]["point"] == "start"
    assert Budget(4, "steps").amount == plain[0]["spent"]["steps"]


def test_noise_is_in_the_key(tmp_path):
    arm = make_arm("grpo", CLAIM, OPTIONS)
    assert len({arm.key(3), arm.key(3, 3), arm.key(3, 4)}) == 3
