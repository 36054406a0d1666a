"""A reward's version: the same for the same code in any process, another when body, knobs, parts or held values change."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path

import pytest

import guerdon as gd
from guerdon.core.user_file import find_in_file
from guerdon.rewards.stage.score_stages import score

sys.path.append(str(Path(__file__).parent.parent / "resume"))
from everything import everything

FILE = '''
import guerdon as gd

LIMIT = 3

@gd.reward
def brief(completion):
    """Short is good."""
    return float(len(completion) < LIMIT)

formula = gd.blend(brief=brief, right=gd.numeric(relative=0.1).weight(0.5)).gated_by(lambda completion: True)
'''
SAY = "import sys; from guerdon.core.user_file import find_in_file; print(find_in_file(sys.argv[1], 'reward').version)"


def of(path, text=FILE):
    path.write_text(text)
    return find_in_file(f"{path}:formula", "reward").version


@pytest.mark.slow
def test_it_is_the_same_in_every_process(tmp_path):
    path = tmp_path / "mine.py"
    first = of(path)
    said = subprocess.run([sys.executable, "-c", SAY, f"{path}:formula"], capture_output=True, text=True, check=True)
    assert len(first) == 12 and first == said.stdout.strip()


@pytest.mark.sampled(4, "old")
@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("len(completion) < LIMIT", "len(completion) <= LIMIT", False),
        ("relative=0.1", "relative=0.2", False),
        ("weight(0.5)", "weight(0.6)", False),
        ("numeric(relative=0.1)", "exact()", False),
        ("brief=brief", "short=brief", False),
        (".gated_by", ".vetoed_by", False),
        ("@gd.reward", "@gd.reward(timeout=3)", False),
        ("Short is good.", "Shorter is better.", True),
        ("    return float(", "    # why not\n\n    return  float( ", True),
    ],
)
def test_what_changes_it(tmp_path, old, new, same):
    assert (of(tmp_path / "new.py", FILE.replace(old, new)) == of(tmp_path / "old.py")) is same


def test_values_that_a_function_holds_count():
    def at_least(limit):
        return gd.reward(lambda completion: float(len(completion) >= limit))

    assert at_least(3).version == at_least(3).version != at_least(4).version
    both = [gd.reward(functools.partial(max, n)).version for n in (1, 1, 2)]
    assert both[0] == both[1] != both[2]


@gd.part
class asked_of(gd.rewards.Leaf):
    """A reward that knows its task."""

    task: object

    def __call__(self, completion):
        return 1.0


def test_a_reward_that_holds_a_mixture_of_tasks_has_one():
    """A mixture has `sources` as rewards have, and is none."""
    versions = [asked_of(gd.tasks.load(name)).version for name in ("chain:1-2", "chain:1-2", "chain:1-3", "chain:1")]
    assert versions[0] == versions[1] and len(set(versions)) == 3


def test_what_was_written_at_a_prompt_has_one_too():
    def made(text):
        scope = {}
        exec(text, scope)
        return gd.reward(scope["f"]).version

    one = "def f(completion):\n    return 1.0\n"
    assert made(one) == made(f"# first\n{one}") != made(one.replace("1.0", "2.0"))


class lowered:
    """Called like a function."""

    def __init__(self, by):
        self.by = by

    def __call__(self, completion):
        return -self.by


def test_objects_count_by_class_and_values():
    assert gd.reward(lowered(1)).version == gd.reward(lowered(1)).version != gd.reward(lowered(2)).version


def brief(completion):
    return -float(len(completion))


def test_a_run_and_its_replay_know_the_version(tmp_path):
    def made(weight):
        recipe = everything.build({}, {"steps": 1})
        recipe.stages[1] = score(gd.blend(brief=gd.reward(brief).weight(weight)))
        return recipe

    run = gd.train(made(0.5), seed=0, out=tmp_path / "a", options=gd.Options(eval_tasks=0))
    (stored,) = run.config["rewards"].values()
    formula = made(0.5).stages[1].reward
    assert stored == {"formula": "0.5 * brief", "version": formula.version}
    again = gd.replay(run, reward=formula)
    assert again.version == again.old_version == formula.version and again.total["flips"] == 0
    other = gd.replay(run, reward=made(-0.5).stages[1].reward)
    assert other.version != other.old_version == formula.version
