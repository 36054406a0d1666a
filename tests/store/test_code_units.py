"""What a unit's hash is made of, and which units belong to what ran."""

from __future__ import annotations

import textwrap

import pytest

from guerdon.evidence.code_units import SourceFile
from guerdon.evidence.identity import Code, Sources, changed, code_of, named


def digest(text, name="f"):
    unit = SourceFile(textwrap.dedent(text)).unit(name)
    assert unit is not None
    return unit.digest


FIRST = '''
def f(x, power=2):
    """What it is."""
    total: int = 0  # why
    for each in x:
        total += each**power
    return [total for _ in range(power)]
'''


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ("total", "summed"),
        ("each", "it"),
        ("total: int", "total"),
        ("What it is", "What it was"),
        ("# why", "# because"),
        ("(x, power=2)", "(x: list, power: int = 2) -> list"),
        ("for _ in", "for __ in"),
    ],
)
def test_names_that_mean_nothing_outside_do_not_count(then, now):
    assert digest(FIRST) == digest(FIRST.replace(then, now))


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ("+=", "-="),
        ("power=2", "power=3"),
        ("power", "exponent"),
        ("range(power)", "range(3)"),
        ("for each in x", "for x in x"),
    ],
)
def test_what_it_does_counts_and_so_do_parameters(then, now):
    assert digest(FIRST) != digest(FIRST.replace(then, now))


def test_a_local_in_a_nested_function_is_not_the_global_of_that_name():
    reads = "def f():\n    def g():\n        a = 1\n        return a\n    return {0}, g\n"
    assert digest(reads.format("a")) != digest(reads.format("b"))
    assert digest(reads.format("b")) == digest(
        reads.format("b").replace("a = 1", "c = 1").replace("return a", "return c")
    )
    swapped = "def f():\n    a = 1\n    b = 2\n    return a - b\n"
    assert digest(swapped) != digest(swapped.replace("a - b", "b - a"))
    assert digest(swapped) == digest(swapped.replace("a", "x").replace("b", "a").replace("x", "b"))


def test_a_claims_words_are_no_part_of_its_recipe():
    text = '@recipe("m", on=grpo, paper="arXiv:1", claim=Claim(says="more"))\ndef f(base):\n    return base\n'
    assert digest(text) == digest(text.replace("more", "less").replace("arXiv:1", "arXiv:2"))
    assert digest(text) != digest(text.replace("on=grpo", "on=ppo"))


@pytest.fixture
def house(tmp_path):
    """A package of two files, which is read and never imported."""
    root = tmp_path / "guerdon"
    (root / "core").mkdir(parents=True)
    (root / "__init__.py").touch()
    (root / "core" / "__init__.py").touch()
    (root / "core" / "sizes.py").write_text(SIZES)
    (root / "core" / "works.py").write_text(WORKS)
    return root


SIZES = '''
"""Sizes."""
import torch

BASE = 3
SIZE = doubled(BASE)
UNREAD = 7


def doubled(x):
    return 2 * x


@kernel
def multiply(a, b):
    return a * b * BASE


class Fused(torch.autograd.Function):
    def forward(ctx, x):
        return x + helped(x)

    def backward(ctx, x):
        return x - 1


class Box:
    """Holds."""

    limit: int = 4
    shown: str = "grey"

    def fit(self, x):
        return min(x, self.limit)

    def show(self):
        return self.shown
'''
WORKS = '''
"""Works."""
from guerdon.core import sizes
from guerdon.core.sizes import SIZE, Box, Fused, multiply


def work(x):
    box = Box()
    return multiply(box.fit(x), SIZE) + Fused.apply(x)


def unseen(x):
    return sizes.UNREAD
'''


def ran(house):
    return code_of(["core.works:work", "core.sizes:Box.fit"], Sources(house))


def test_what_ran_brings_the_constants_classes_and_kernels_that_it_reads(house):
    code = ran(house)
    assert set(code.units) == {
        "core.works:work", "core.sizes:Box", "core.sizes:Box.fit", "core.sizes:SIZE", "core.sizes:BASE", "core.sizes:doubled",
        "core.sizes:multiply", "core.sizes:Fused", "core.sizes:Fused.forward", "core.sizes:Fused.backward",
    }  # fmt: skip
    assert code_of(code.units, Sources(house)) == code  # nothing more follows from it
    assert changed(code, Sources(house)) == {}


@pytest.mark.parametrize(
    ("then", "now", "units"),
    [
        ("a * b * BASE", "a * b + BASE", ["core.sizes:multiply"]),
        ("BASE = 3", "BASE = 4", ["core.sizes:BASE"]),
        ("return 2 * x", "return 3 * x", ["core.sizes:doubled"]),
        ("limit: int = 4", "limit: int = 5", ["core.sizes:Box"]),
        ("return x - 1", "return x - 2", ["core.sizes:Fused.backward"]),
        ("class Box:", "class Box(dict):", ["core.sizes:Box"]),
        ("    def show", "    def __len__(self):\n        return 0\n\n    def show", ["core.sizes:Box"]),
        ("UNREAD = 7", "UNREAD = 8", []),
        ('"grey"', '"green"', []),
        ("return self.shown", "return str(self.shown)", []),
        ("    def show", "    def hidden(self):\n        return 0\n\n    def show", []),
        ("import torch", "import torch\nimport json", []),
    ],
)
def test_a_change_counts_where_what_ran_can_see_it(house, then, now, units):
    code, path = ran(house), house / "core" / "sizes.py"
    path.write_text(path.read_text().replace(then, now))
    assert list(changed(code, Sources(house))) == units


def test_a_name_that_comes_from_elsewhere_is_another_unit(house):
    code = ran(house)
    (house / "core" / "others.py").write_text("SIZE = 1\n")
    path = house / "core" / "works.py"
    path.write_text(
        path.read_text().replace("import SIZE, Box", "import Box") + "\nfrom guerdon.core.others import SIZE\n"
    )
    assert "core.others:SIZE" in changed(code, Sources(house))


def test_a_unit_that_is_gone_has_changed(house):
    code = ran(house)
    (house / "core" / "works.py").unlink()
    assert changed(code, Sources(house))["core.works:work"] == (code.units["core.works:work"], "")


OLD, NEW = "core.along", "core.step_reductions"  # a move that the table of old names tells of


def moved(house, change=lambda text: text, left=""):
    """The code of a run before its sizes moved to another module, perhaps with a change, and what is compared after."""
    old, new, works = (house / "core" / f"{name}.py" for name in ("along", "step_reductions", "works"))
    (house / "core" / "sizes.py").rename(old)
    works.write_text(
        works.read_text().replace("import sizes", "import along").replace("core.sizes", OLD).replace("sizes.", "along.")
    )
    code = code_of(["core.works:work", f"{OLD}:Box.fit"], Sources(house))
    assert f"{OLD}:multiply" in code.units and changed(code, Sources(house)) == {}
    new.write_text(change(old.read_text()))
    if left:
        old.write_text(left)
    else:
        old.unlink()
    works.write_text(works.read_text().replace(f"from {'guerdon.core'} import along", "").replace(OLD, NEW))
    return code


def test_a_module_that_moved_has_not_changed(house):
    assert changed(moved(house), Sources(house)) == {}


def test_a_function_that_changed_as_it_moved_has_changed(house):
    code = moved(house, lambda text: text.replace("a * b * BASE", "a * b + BASE"))
    assert list(changed(code, Sources(house))) == [f"{NEW}:multiply"]


def test_a_method_whose_folder_became_one_file_has_not_changed(house):
    folder = house / "recipes" / "process" / "mine"
    folder.mkdir(parents=True)
    (folder / "parts.py").write_text("def half(x):\n    return x / 2\n")
    code = code_of(["recipes.process.mine.parts:half"], Sources(house))
    (folder / "parts.py").rename(folder.with_suffix(".py"))
    folder.rmdir()
    assert changed(code, Sources(house)) == {}
    folder.with_suffix(".py").write_text("def half(x):\n    return x // 2\n")
    assert list(changed(code, Sources(house))) == ["recipes.process.mine:half"]


def test_a_module_in_the_place_of_one_that_moved_is_no_longer_it(house):
    code = moved(house, left="SIZE = 1\n")
    assert f"{OLD}:multiply" in changed(code, Sources(house)), "it is not there: its unit is gone"


def test_a_program_for_another_process_counts_whole(house):
    (house / "core" / "child.py").write_text("def main():\n    return 1\n")
    (house / "core" / "begins.py").write_text(
        'BEGIN = "from guerdon.core.child import main; main()"\n\ndef go():\n    return BEGIN\n'
    )
    code = code_of(["core.begins:go"], Sources(house))
    assert set(code.units) == {"core.begins:go", "core.begins:BEGIN", "core.child:*"}
    (house / "core" / "child.py").write_text("import os\n\ndef main():\n    return 2\n")
    assert list(changed(code, Sources(house))) == ["core.child:*"]


def test_units_for_a_person():
    assert named(["losses.reduce:reduce", "mine.py:f"]) == "losses/reduce.py reduce, mine.py f"
    assert named([f"a.b:f{i}" for i in range(5)]) == "a/b.py f0, a/b.py f1, a/b.py f2 and 2 more"
    assert Code({"a:b": "1"}).id == Code({"a:b": "1"}, {"a": "2"}).id != Code({"a:b": "2"}).id
