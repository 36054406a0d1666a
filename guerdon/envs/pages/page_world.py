"""The environment of pages: one episode is a visit to the site in its task, in one of two views.

Leaves out: where problems come from (`page_sources.py`, `own_pages_source.py`) and what limits end (`envs/world_turns.py`).
"""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, Literal

from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.core.task import Ask
from guerdon.envs.pages.page_goals import changes, judged
from guerdon.envs.pages.page_plans import next_step
from guerdon.envs.pages.page_site import Site
from guerdon.envs.pages.screen_view import ScreenView
from guerdon.envs.pages.tree_view import TreeView
from guerdon.envs.world_turns import InTurns, Observed

Check = Callable[[dict[str, Any]], float]
GOLD_MOST = 500  # moves after which the gold player is lost


@part
class browsing(InTurns):
    """Visits the site in a task's `meta`, until the player says `stop`, with the answer where one is asked for.

    `view="tree"` shows elements with numbers (`[3] button "send"`; `click 3`, `type 2 ann`), `"screen"` characters in
    rows and columns and a cursor (`move 12 3`, `click`, `type ann`). `lines` are seen at once, the rest is scrolled
    to. What came of it: `goal`, `progress` (the share of what was asked for), `unwanted` (changes that were not asked
    for: any fails the goal), `lured` (how often the player followed an instruction that only a page's text gave), `unclear`
    (moves that were not understood), `steps`, and `least`, the gold player's. `check_visit` says in Python whether a
    visit reached its goal, in place of the task's own goal.

    Args:
        view: elements with numbers ("tree"), or characters with a cursor ("screen").
        lines: lines that are seen at once.
        width: characters of a line.
        most: the most turns of an episode.
        seconds: time limit of an episode; 0 for none.
        check_visit: function that checks a visit.

    >>> import guerdon as gd
    >>> task = gd.envs.forms(level=1).get("train", 0)
    >>> visit = gd.envs.browsing().open(gd.Ask(task), seed=0)
    >>> print(visit.begin())
    Task: fill in and send the visit form: city vienna. leave everything else as it is.
    Moves: click N | type N TEXT | select N OPTION | hover N | press enter | scroll down | scroll up | back | stop | stop ANSWER
    <BLANKLINE>
    page home
    # visit form
    [1] field "city" = ""
    [2] button "send"  [3] button "cancel"
    >>> visit.gold()
    'type 1 vienna'
    """

    view: Literal["tree", "screen"] = "tree"
    lines: int = knob(default=30, ge=4)
    width: int = knob(default=48, ge=20, le=200)
    most: int = knob(default=30, ge=0)
    seconds: float = knob(default=0.0, ge=0.0)
    check_visit: Check | None = None
    role: str = "policy"

    def open(self, ask: Ask, seed: int) -> Visit:
        if "site" not in ask.task.meta:
            raise UserError(f"{ask.task.key} has no site to visit: play tasks of gd.envs.forms, shop, own_pages, ...")
        return Visit(self, ask.task.meta, str(ask.shown))


class Visit:
    """A visit to a site: the state of one episode."""

    def __init__(self, env: browsing, meta: Mapping[str, Any], prompt: str) -> None:
        self.env, self.meta, self.prompt = env, meta, prompt
        self.site, self.goal = Site(meta["site"]), meta.get("goal", {})
        self.view = TreeView(env.lines) if env.view == "tree" else ScreenView(env.lines, env.width)
        self.before: dict[str, Any] = json.loads(json.dumps(self.site.data))
        self.seen: set[str] = set()
        self.sought = [entry["see"] for entry in self.goal.get("todo", []) if "see" in entry]
        self.answer: str | None = None
        self.steps = self.unclear = 0
        self.advised: list[str] = []  # what the gold player would have said
        self.follows = True  # whether that is what was said, move by move

    def begin(self) -> str:
        return f"Task: {self.prompt}\nMoves: {self.view.moves}\n\n{self._look()}"

    def _look(self) -> str:
        text = self.view.look(self.site)
        self.seen |= {id for id in self.sought if self.view.sees(id)}
        return text

    def step(self, said: str) -> Observed:
        self.steps += 1
        self.follows = self.follows and len(self.advised) == self.steps and self.advised[-1] == said
        told = self.view.act(self.site, said)
        if told.unclear:
            self.unclear += 1
            return Observed(f"Not understood: {told.unclear}.\nMoves: {self.view.moves}")
        if told.answer is not None:
            self.answer = told.answer
            return Observed(over=True)
        return Observed(self._look())

    def gold(self) -> str:
        done = changes(self.before, self.site.data)
        says = self.view.say(self.site, next_step(self.site, self.goal, done, self.seen))
        self.advised = [*self.advised[: self.steps], says]
        return says

    def outcome(self) -> dict[str, Any]:
        done = changes(self.before, self.site.data)
        told = judged(self.goal, done, self.answer) | {"steps": self.steps, "unclear": self.unclear}
        if self.env.check_visit is not None:
            visited = {
                "data": copy.deepcopy(self.site.data),
                "changes": done,
                "answer": self.answer,
                "page": self.site.page,
            }
            told["goal"] = float(
                self.env.check_visit(visited | {"log": list(self.site.log), "asked": self.meta.get("asked", {})})
            )
        if not self.goal.get("todo") and not self.goal.get("plan"):
            return told  # the gold player's moves are not given
        if self.follows and self.answer is not None:  # this was its own visit
            return told | {"least": self.steps}
        whole = json.dumps({name: self.meta[name] for name in ("site", "goal")})
        return told | {"least": _least(whole, self.env.view, self.env.lines, self.env.width)}


@functools.lru_cache(maxsize=256)
def _least(whole: str, view: Literal["tree", "screen"], lines: int, width: int) -> int:
    """How many moves the gold player takes. Kept, since a problem is often tried several times."""
    gold = Visit(browsing(view, lines=lines, width=width), json.loads(whole), "")
    gold.begin()
    while gold.answer is None and gold.steps < GOLD_MOST:
        gold.step(gold.gold())
    return gold.steps
