"""What an environment noted of an episode as a reward: whether it was handed in, how many moves were understood.

Leaves out: what an environment pays (`stage/environment_pay.py`), what it calls the goal (`stage/score_stages.py`, `checker`).
"""

from __future__ import annotations

from typing import Any

from guerdon.core.episode import Episode
from guerdon.core.part import part
from guerdon.rewards.asking.function import Leaf


@part
class episode_fact(Leaf):
    """The number or the bool that an episode's `info` has under `fact`; of a list a number a turn, and they add up. A text
    counts 1 unless it is empty: of the kinds of moves that `gd.envs.repairs` notes, those that it understood. An episode
    without the fact is *not applicable*.

    >>> import guerdon as gd
    >>> noted = {"submitted": True, "edits": 2, "moves": ["run", "", "submit"]}
    >>> sample = {"episode": gd.Episode(gd.Ask(gd.Task("1", "")), (), info=noted)}
    >>> [gd.score_samples(gd.rewards.episode_fact(name), [sample]).whole for name in noted]
    [[1.0], [2.0], [2.0]]
    """

    fact: str

    @property
    def name(self) -> str:
        return self.fact

    def __call__(self, episode: Episode) -> Any:
        noted = episode.info.get(self.fact)
        if isinstance(noted, list | tuple):
            return [_number(each) for each in noted] or 0.0
        return None if noted is None else _number(noted)


def _number(noted: Any) -> float:
    return float(bool(noted)) if isinstance(noted, str) else float(noted)
