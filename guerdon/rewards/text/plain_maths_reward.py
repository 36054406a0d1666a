"""The reward of a formula by a checker that needs no package, for machines where Math-Verify cannot go.

Leaves out: reading and comparing formulas (`tasks/field/plain_formula.py`), Math-Verify (`maths` in `answers.py`).
"""

from __future__ import annotations

from guerdon.core.part import part
from guerdon.rewards.asking.function import Leaf
from guerdon.tasks.field.plain_formula import plainly_equal


@part
class plain_maths(Leaf):
    r"""1 if the completion's formula equals the answer's, else 0: `gd.maths` without a package.

    Both are worked out at three places of their variables, so that equal formulas are found equal whatever their form:
    fractions, roots, powers, functions; also sets, tuples and intervals. The formula is what the last \boxed holds, else what
    follows "####", "<answer>" or "Answer:", else the last between dollars, else the last number. It takes no time to speak of,
    and so needs no worker. Where it differs from Math-Verify: docs/field_tasks.md.

    >>> import guerdon as gd
    >>> same = gd.plain_maths()
    >>> same(r"so it is $\boxed{\frac{2}{4}}$", r"\frac{1}{2}"), same(r"$\boxed{\{2, 1\}}$", r"\{1, 2\}"), same("$x$", "x+1")
    (1.0, 1.0, 0.0)
    """

    def __call__(self, completion: str, answer: str = "") -> float | None:
        return plainly_equal(completion, answer)
