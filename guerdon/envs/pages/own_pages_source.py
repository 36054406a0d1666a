"""Problems on a site of one's own: HTML files, what is asked for, and a check in Python.

Leaves out: reading HTML (`page_html.py`), the environment (`page_world.py`).
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.part import knob, live, part
from guerdon.core.task import Split, Task
from guerdon.envs.pages.page_html import site_from_html
from guerdon.envs.pages.page_world import Check, browsing
from guerdon.envs.world_turns import PlayedOut

GOAL = ("wanted", "answer", "plan")  # columns of a row that say what is to come of it, and how


@part
class own_pages(PlayedOut):
    """Problems on the HTML files of a folder. Each row has a `prompt`, and says what must come of it: `wanted`, the
    changes of the site's data by their place, `answer`, what must be stated; or `check_visit` says it, given a
    visit's `data`, `changes`, `answer`, `page`, `log` and `asked`, the row. `plan`, steps such as `["type", "name",
    "ann"]`, is what the gold player does. Rows with `"split": "test"` are held out; where none says so, the last
    fifth is.

    Args:
        folder: folder with the HTML files.
        rows: the problems.
        check_visit: function that checks a visit.
        most: the most turns of an episode.

    >>> import pathlib, tempfile
    >>> import guerdon as gd
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "index.html").write_text('<form id="ask"><input name="who"><button id="go">Go</button></form>')
    >>> rows = [{"prompt": f"Send {who}.", "wanted": {"ask.0.who": who}} for who in ("ann", "ben")]
    >>> player = gd.models.scripted(lambda view, past, seed: ["type 1 ben", "click 2", "stop"][len(past)])
    >>> source = gd.envs.own_pages(str(folder), rows)
    >>> gd.evaluate(player, task=source, env=source.home, tasks=1)["pass@1"]
    1.0
    """

    folder: str = knob(hashed=False)
    rows: list[dict[str, Any]]
    check_visit: Check | None = None
    most: int = knob(default=30, ge=1)
    site: dict[str, Any] | None = live()

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows):
            if not isinstance(row, Mapping) or not isinstance(row.get("prompt"), str):
                raise UserError(f'row {number} has no prompt: {{"prompt": "Send the form.", "wanted": {{...}}}}')
            if self.check_visit is None and not ("wanted" in row or "answer" in row):
                raise UserError(
                    f'row {number} says nothing of its goal: add "wanted" or "answer", or give check_visit='
                )
        if not self._numbers("train") or not self._numbers("test"):
            raise UserError("own_pages needs a row to train on and another to test on: give two rows or more")
        self.site = site_from_html(self.folder)

    @property
    def name(self) -> str:
        return "own_pages"

    @property
    def home(self) -> browsing:
        return browsing(most=self.most, check_visit=self.check_visit)

    def identity(self) -> str:
        return hashlib.blake2b(json.dumps(self.site, sort_keys=True).encode(), digest_size=8).hexdigest()

    def _numbers(self, split: Split) -> list[int]:
        count = len(self.rows)
        test = [n for n, row in enumerate(self.rows) if row.get("split") == "test"]
        test = test or list(range(count - max(1, count // 5), count))
        return test if split == "test" else [n for n in range(count) if n not in test]

    def size(self, split: Split) -> int | None:
        return len(self._numbers(split))

    def get(self, split: Split, index: int) -> Task:
        number = self._numbers(split)[index]
        row = copy.deepcopy(self.rows[number])
        goal = {name: row[name] for name in GOAL if name in row}
        meta = {"site": copy.deepcopy(self.site), "goal": goal, "asked": row}
        return Task(str(number), row["prompt"], str(row.get("answer", "")), self.name, meta=meta)
