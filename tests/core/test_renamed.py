"""Names of earlier versions: each still works, says the new one, and changes no hash."""

from __future__ import annotations

import importlib
import warnings

import pytest

import guerdon as gd
from guerdon.core.part import describe, find_part, fingerprint, knob, part, set_knob
from guerdon.core.renamed import GONE_WITH, MODULES, NAMES, Renamed
from guerdon.models.scripted_model import scripted


@pytest.mark.parametrize("old", NAMES)
def test_an_old_public_name_is_the_new_one(old):
    package, _, name = old.rpartition(".")
    with warnings.catch_warnings(action="ignore", category=Renamed):  # of the module
        module = importlib.import_module(package)
    with pytest.warns(Renamed, match=rf"^{old} is now {MODULES.get(package, package)}\.{NAMES[old]}; {GONE_WITH} "):
        assert getattr(module, name) is getattr(module, NAMES[old])


def test_a_name_that_never_was_is_refused():
    with pytest.raises(AttributeError, match="has no attribute 'overheard'"):
        _ = gd.select.overheard
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("guerdon.core.alone")


@part(name="cut_off")
class before:
    """A part as it was called."""

    least: float = 0.5


@part(was="cut_off")
class threshold:
    """The same part, renamed, with a renamed knob."""

    minimum: float = knob(default=0.5, was="least")


@part
class pair:
    """What holds parts."""

    first: object = None
    second: object = None


def hashed(x):
    return {name: each for name, each in describe(x).items() if name != "source"}


def test_a_renamed_part_has_its_new_name_and_its_old_hash():
    assert repr(threshold(minimum=0.25)) == "threshold(minimum=0.25)"
    assert hashed(threshold(minimum=0.25)) == hashed(before(0.25)) != hashed(threshold())


def test_old_names_of_parts_and_knobs_are_understood():
    root = pair(threshold(), threshold())
    set_knob(root, "threshold_2.minimum", "0.75", text=True)
    with pytest.warns(Renamed, match=r"^cut_off is now threshold"):
        assert find_part(root, "cut_off") is root.first
    with pytest.warns(Renamed):
        set_knob(root, "cut_off_2.least", "0.25", text=True)
    with pytest.warns(Renamed, match=r"^threshold\.least is now minimum"):
        assert (root.first.least, root.second.minimum) == (0.5, 0.25)
    with pytest.warns(Renamed, match=r"^threshold\.least is now minimum"):
        assert threshold(least=0.125).minimum == 0.125
    with pytest.warns(Renamed):
        root.first.least = 1.0
    assert root.first.minimum == 1.0


def test_parts_that_were_renamed_keep_their_hashes():
    """As they were under their old names."""
    assert fingerprint(gd.select.aggregate_followups("verdict")) == "eacdf4f95ee99e66"
    assert fingerprint(gd.envs.dataset_env()) == "516ec0196cd5f1f2"
    assert fingerprint(gd.search.value_scorer("prm", reduce_steps="last")) == "ef9ad6bd4dac72f8"
    assert fingerprint(gd.credit.teacher_log_ratio()) == "0d373f7141690742"


def test_a_model_that_has_the_old_method_is_asked_by_it():
    with pytest.warns(Renamed, match=r"recite is now teacher_force"):

        class own(scripted):
            def recite(self, view, text, path=()):
                return super().teacher_force(view, text.upper(), path)

    assert own(lambda view, past, seed: "").teacher_force("", "a").text == "A"


def test_the_old_method_of_a_seat_and_of_a_model_is_the_new_one():
    with pytest.warns(Renamed, match=r"^scripted\.recite is now teacher_force"):
        assert scripted(lambda view, past, seed: "").recite("", "a").text == "a"
