"""An environment of drafts: an answer is shown again to be revised, and only the last revision is scored and learned from."""

from __future__ import annotations

from guerdon.core.episode import Episode
from guerdon.core.part import knob, part
from guerdon.core.placeholders import check_template
from guerdon.core.play import Seats
from guerdon.core.task import Ask


@part
class revised:
    """The problem is answered, and the answer shown again `times` times to be revised, each time by itself, as `template`
    writes it. Everything but the last answer is said by `draft`, so that the last alone is the `role`'s, and what is scored.

    >>> revised("{prompt}\\n{attempt}", times=2).roles
    ('draft', 'policy')
    """

    template: str
    times: int = knob(default=1, ge=0)
    role: str = "policy"
    draft: str = "draft"

    def __post_init__(self) -> None:
        check_template("revised.template", self.template, "prompt", "attempt")

    @property
    def roles(self) -> tuple[str, ...]:
        return (self.draft, self.role)

    async def play(self, ask: Ask, seats: Seats) -> Episode:
        view = ask.shown
        for _ in range(self.times):
            draft = await seats[self.draft].act(view, fresh=True)
            view = self.template.format(prompt=ask.shown, attempt=draft.text)
        await seats[self.role].act(view, fresh=True)
        return seats.episode()
