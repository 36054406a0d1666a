"""Problems that are played on pages: forms, menus, shops, tables and inboxes of eight levels, by numbers or with a cursor.

Leaves out: sites of one's own (`own_pages_source.py`), the environment (`page_world.py`).
"""

from __future__ import annotations

import abc
import random
from collections.abc import Callable

from guerdon.core.part import knob, part
from guerdon.core.seeds import derive
from guerdon.core.task import Split, Task
from guerdon.envs.pages.form_sites import Made, form_site
from guerdon.envs.pages.inbox_sites import inbox_site
from guerdon.envs.pages.menu_sites import menu_site
from guerdon.envs.pages.page_words import Words
from guerdon.envs.pages.page_world import browsing
from guerdon.envs.pages.shop_sites import shop_site
from guerdon.envs.pages.table_sites import table_site
from guerdon.envs.world_turns import PlayedOut

Maker = Callable[[random.Random, Words, int], Made]
MAKERS: dict[str, Maker] = {
    "forms": form_site, "inbox": inbox_site, "menus": menu_site, "shop": shop_site, "tables": table_site,
}  # fmt: skip


class PageSource(PlayedOut, abc.ABC):
    """What sources of page problems share: problem `index` of a split is always the same, and test sites are made of
    other people, things and places than training sites."""

    level: int

    @property
    def name(self) -> str:
        return f"{type(self).__name__}:{self.level}"

    @property
    def home(self) -> browsing:
        return browsing(most=20 + 5 * self.level)

    def size(self, split: Split) -> int | None:
        return None

    def get(self, split: Split, index: int) -> Task:
        family = type(self).__name__
        draw = random.Random(derive("pages", family, self.level, split, index))
        made = self.make(draw, Words.of(split))
        meta = {"site": made.site, "goal": made.goal}
        return Task(f"{split}-{index}", made.prompt, str(made.goal.get("answer") or ""), family, self.level, meta)

    def make(self, draw: random.Random, words: Words) -> Made:
        return MAKERS[type(self).__name__](draw, words, self.level)


@part
class forms(PageSource):
    """Fill in a form as instructed and send it; correct what it rejects. Level n has n controls; from level 5 on some
    must have a format that only an error names, from 6 on fields hold wrong values already, 7 and 8 have distractors.

    >>> import guerdon as gd
    >>> gd.envs.forms(level=2).get("train", 0).prompt
    'fill in and send the visit form: name kurt, colour yellow. leave everything else as it is.'
    """

    level: int = knob(default=1, ge=1, le=8)


@part
class menus(PageSource):
    """Choose a command in menus of menus (levels 1 to 3), or switch settings and save them (4 to 8).

    >>> import guerdon as gd
    >>> gd.envs.menus(level=1).get("train", 0).prompt
    'the document is holiday boot. choose view > paste in its menus.'
    """

    level: int = knob(default=1, ge=1, le=8)


@part
class shop(PageSource):
    """Find a product among 3 to 36, by search, filters and sorting, compare prices and stars, and buy it and nothing else.

    >>> import guerdon as gd
    >>> gd.envs.shop(level=5).get("train", 0).prompt
    'buy the cheapest box, and nothing else.'
    """

    level: int = knob(default=1, ge=1, le=8)


@part
class tables(PageSource):
    """Look something up in a table of 4 to 30 rows, over several pages, and answer.

    >>> import guerdon as gd
    >>> gd.envs.tables(level=4).get("train", 0).prompt
    'which has the least staff? stop with the answer.'
    """

    level: int = knob(default=1, ge=1, le=8)


@part
class inbox(PageSource):
    """Archive, star, delete, label or answer the right mail among 3 to 16. Some mails of levels 7 and 8 contain instructions
    to their reader.

    >>> import guerdon as gd
    >>> gd.envs.inbox(level=5).get("train", 0).prompt
    'answer the mail from vito about party with "that is fine".'
    """

    level: int = knob(default=1, ge=1, le=8)


@part
class cursor(PageSource):
    """Problems of all five kinds on a screen of characters, with a cursor and keys.

    >>> import guerdon as gd
    >>> gd.envs.cursor(level=1).home.view
    'screen'
    """

    level: int = knob(default=1, ge=1, le=8)

    @property
    def home(self) -> browsing:
        return browsing("screen", lines=20, most=40 + 15 * self.level)

    def make(self, draw: random.Random, words: Words) -> Made:
        return draw.choice(sorted(MAKERS.items()))[1](draw, words, self.level)
