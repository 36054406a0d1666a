"""An answer, shown to the model again to be done better."""

from __future__ import annotations

from typing import Any

from guerdon.core.episode import Episode
from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.core.play import Seats, seats_alone
from guerdon.core.task import Ask
from guerdon.search.line_tree import Keep, LineTree, OneRole, best, view_of


@part
class revise(OneRole):
    """An answer, then `rounds` revisions, each of the one before it, which is shown in `template` (sequential revisions, Snell
    et al. 2024, arXiv:2408.03314; Self-Refine, Madaan et al. 2023, arXiv:2303.17651, without its feedback).

    The answer is the last, or with a `scorer` the one that it likes best, which it reads as an answer to what was asked. The
    template is the form that sprig knows; for another model write what it would understand, with `{prompt}` and `{answer}` in
    it. Each revision is a track of its own that was shown the template alone. It helps a model that can tell what is wrong
    with an answer, and harms one that changes right ones. `keep` and the limits are as in `beam`.

    >>> import guerdon as gd
    >>> gd.search.revise(rounds=2, template="{prompt} You said: {answer} Is that right? Answer again.").rounds
    2
    """

    rounds: int = knob(default=1, ge=1)
    template: str = "revise\n{prompt}\n{answer}"
    scorer: Any = None
    keep: Keep = "tree"
    role: str = "policy"

    def __post_init__(self) -> None:
        for name in ("{prompt}", "{answer}"):
            if name not in self.template:
                raise UserError(f"the template of revise shows no {name}: write it where that stands")

    @seats_alone
    async def play(self, ask: Ask, seats: Seats) -> Episode:
        tree = LineTree(seats, self.role, ask)
        answers = await tree.grow([None], whole=True)
        for _ in range(self.rounds):
            told = self.template.format(prompt=ask.shown, answer=answers[-1].text)
            answers += await tree.grow([None], whole=True, view=view_of(ask.shown, told))
        chosen = answers[-1]
        if self.scorer is not None:
            chosen = best(answers, await self.scorer.texts(tree, [line.text for line in answers]))
        return tree.episode(chosen, self.keep)
