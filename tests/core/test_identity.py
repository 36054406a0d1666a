"""What a hash and a source are made of: changed defaults and changed code count, new knobs, comments and names do not."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from guerdon.core.part import describe, find_part, fingerprint, knob, part, set_knob
from guerdon.core.recipe import Study, recipe
from guerdon.core.syntax import syntax
from guerdon.rewards.formula.reward import Reward
from guerdon.rewards.formula.versions import version_of
from guerdon.rewards.text.task_checks import true_lines
from guerdon.tasks import load
from guerdon.tasks.families.tiny import successor
from guerdon.training.build import RunRequest, build
from guerdon.training.catalog import find_recipe, listings

HASHES = Path(__file__).parent / "house_hashes.json"


# --- hashes -------------------------------------------------------------------------------------------------------


def two(first, second):
    """Two classes of one name."""
    first.__name__ = second.__name__ = "thing"
    return part(first), part(second)


def test_a_new_knob_at_its_default_is_not_in_the_hash_and_elsewhere_it_is():
    class before:
        rate: float = 0.5

    class after:
        rate: float = 0.5
        power: float = knob(default=2.0, absent=2.0)
        inner: list = knob(factory=list, absent=[])

    old, new = (describe(cls()) for cls in two(before, after))
    assert {**old, "source": 0} == {**new, "source": 0} == {"part": "thing", "knobs": {"rate": 0.5}, "source": 0}
    assert describe(after(power=3.0))["knobs"] == {"rate": 0.5, "power": 3.0}
    assert describe(after(inner=[1]))["knobs"] == {"rate": 0.5, "inner": [1]}


def test_a_knob_as_hash_stands_as_the_hash_of_its_value():
    class holds:
        task: object = knob(as_hash=True)
        rate: float = 0.5

    held = part(holds)(load("chain:1-2"))
    assert describe(held)["knobs"] == {"task": fingerprint(load("chain:1-2")), "rate": 0.5}
    assert describe(part(holds)(load("chain:1-3")))["knobs"] != describe(held)["knobs"]


def test_the_exact_lines_of_a_task_keep_their_hash():
    """As it was when the part said it itself; registered claims have it."""
    assert "meant" not in vars(true_lines)
    assert fingerprint(true_lines(load("equation:2"))) == "da4c051d27b5ffcc"
    assert fingerprint(true_lines(load("equation:6-7"), wrong=-1.0)) == "ed312fba54f1ceb0"


def test_a_changed_default_changes_the_hash():
    class before:
        power: float = knob(default=2.0, absent=2.0)

    class after:
        power: float = knob(default=4.0, absent=2.0)

    old, new = two(before, after)
    assert describe(old())["knobs"] == {} and describe(new())["knobs"] == {"power": 4.0}
    assert describe(old(power=4.0))["knobs"] == describe(new())["knobs"]


def test_a_new_knob_of_a_study_at_its_default_is_not_in_the_hash():
    def before(task, *, size: int = 3):
        return Study(body)

    def after(task, *, size: int = 3, power: float = 2.0):
        return Study(body)

    old = recipe("thing")(before)
    new = recipe("thing", absent={"power": 2.0})(after)
    assert new(successor()).hash == old(successor()).hash == new(successor(), power=2).hash
    assert new(successor(), power=3.0).hash != old(successor()).hash != new(successor(), size=4).hash


def body(run, seed):
    return {}


@part
class centred:
    """A part as it was called."""

    std: bool = True


@part(name="centred", aliases=("centered", "middle"))
class renamed:
    """The same with another class name."""

    std: bool = True


@part
class holder:
    """What holds parts."""

    first: object = None
    second: object = None


def test_a_renamed_part_keeps_its_name_and_hears_to_others():
    assert {**describe(centred()), "source": 0} == {**describe(renamed()), "source": 0}
    assert repr(renamed(std=False)) == "centred(std=False)"
    root = holder(renamed(), renamed())
    set_knob(root, "centred.std", "false", text=True)
    set_knob(root, "middle_2.std", "false", text=True)
    assert (root.first.std, root.second.std) == (False, False)
    assert find_part(root, "centered") is root.first


def test_what_is_made_on_a_named_part_has_its_own_name():
    class below(renamed):
        pass

    assert describe(part(below)())["part"] == "below"


@part
class paid(Reward):
    """A reward that grew a knob."""

    fold: float = knob(default=1.0, absent=1.0)

    @property
    def sources(self):
        return ()


def test_a_rewards_version_has_no_absent_knobs():
    told = {"part": "paid", "source": [], "knobs": {}, "identity": None}
    assert version_of(paid()) == hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]
    assert version_of(paid(fold=2.0)) != version_of(paid())


SETTINGS = {"distill": {"teacher": "sprig-1"}}


def house_hashes():
    """Every house recipe's hash, on a task and a model that stay as they are."""
    house = sorted(name for name, listing in listings().items() if listing.family == "house")
    hashes = {}
    for name in house:
        given = () if find_recipe(name).needs.world else ("countdown:2", "sprig-1")
        hashes[name] = build(RunRequest(name, *given, settings=SETTINGS.get(name, {}))).recipe.hash
    return hashes


MEND = """
The hash of a house recipe has changed, and with it that of every run and all evidence of it. If it was not meant:
a knob that joined a part says `absent=` the value that means "as before" (core/part.py: knob), a part that was renamed
says so, `@part(was="old")`. If it was (a default changed, a part was added): python tests/core/test_identity.py
"""


def test_house_recipes_have_the_hashes_they_had():
    kept = json.loads(HASHES.read_text())
    now = house_hashes()
    assert {n: h for n, h in now.items() if kept.get(n) != h} == {} and set(now) == set(kept), MEND


# --- sources ------------------------------------------------------------------------------------------------------


def test_syntax_counts_and_comments_docstrings_and_layout_do_not():
    a = '"""Says."""\ndef f(x):\n    """Says."""\n    # why\n    return {"a": 1, **x}\n'
    b = "def f( x ):\n    return {'a': 1,\n            **x}\n"
    assert syntax(a) == syntax(b)
    assert syntax(b) != syntax(b.replace("1", "2")) != syntax(b.replace("1", "1.0"))
    assert syntax("x = None") != syntax("x = 0") != syntax("x = False")
    assert syntax("    def f(): pass") == syntax("def f(): pass")  # indented as methods are
    assert syntax("  lambda x: x,  ") != syntax("  lambda x: x + 1,  ")


def test_a_studys_hash_has_its_recipe_and_its_settings_and_not_the_text_of_its_body():
    def studied(rate: float = 0.5) -> Study:
        return Study(lambda run, seed: {"rate": rate})

    def rewritten(rate: float = 0.5) -> Study:
        def body(run, seed):
            return {"rate": rate}

        return Study(body)

    for function in (studied, rewritten):
        function.__module__ = "guerdon.recipes.mine"  # as those of the package are
    one, other, third = (recipe(name)(fn)() for name, fn in (("a", studied), ("a", rewritten), ("b", studied)))
    assert one.hash == other.hash != third.hash and recipe("a")(studied)(rate=0.25).hash != one.hash
    studied.__module__ = "mine"  # a user's is told by its text
    assert recipe("a")(studied)().hash != one.hash


if __name__ == "__main__":
    HASHES.write_text(json.dumps(house_hashes(), indent=1) + "\n")
    sys.stdout.write(f"wrote {HASHES}\n")
