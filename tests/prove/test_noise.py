"""A run's seed and its noise apart: the same start, problems and exams, other tokens."""

from guerdon.core.recipe import Claim, Recipe
from guerdon.prove.arms import make_arm
from guerdon.prove.records import record_of
from guerdon.runs.folder import RunFolder
from guerdon.runs.run import Run
from guerdon.training.build import config_of
from guerdon.training.loop import run_recipe
from guerdon.training.record import Options

CLAIM = Claim("nothing", task="parity:2", model="tabular", settings="prompts=4 tries=4 lr=0.3", budget=4, unit="steps")
OPTIONS = Options(rollouts_every=1, eval_tasks=16, eval_tries=1, eval_drawn=True, eval_whole=32)


def run(path, noise):
    arm, folder = make_arm("grpo", CLAIM, OPTIONS), RunFolder(path)
    built = arm.build()
    assert isinstance(built.recipe, Recipe)
    apart = {} if noise is None else {"noise": noise}
    folder.create({**config_of(built, arm.request, 3, 4, OPTIONS), **apart, "at_a_time": 1})
    run_recipe(built.recipe, folder, OPTIONS, 3, 4)
    return record_of(path), Run(path)


def test_noise_changes_what_is_sampled_and_nothing_else(tmp_path):
    plain, again, other = (run(tmp_path / name, noise) for name, noise in (("a", None), ("b", 3), ("c", 4)))
    assert plain[0]["weights"] == again[0]["weights"]  # where none is given, the seed is the noise too
    assert plain[0]["weights"] != other[0]["weights"]
    prompts = [[e.ask.shown for e in each[1].batch(0).episodes] for each in (plain, other)]
    assert prompts[0] == prompts[1]
    starts = [each[0]["points"][0]["result"] for each in (plain, other)]
    assert starts[0] == starts[1] and starts[0]["point"] == "start"
    assert plain[0]["spent"]["steps"] == 4
