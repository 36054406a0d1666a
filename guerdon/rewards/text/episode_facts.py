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
    """The number or the bool that an episode's `info` has under `fact`; a list of them is a number a turn, and they add up. An
    episode without it is *not applicable*.

    >>> import guerdon as gd
    >>> noted = {"submitted": True, "understood": [True, False, True]}
    >>> sample = {"episode": gd.Episode(gd.Ask(gd.Task("1", "")), (), info=noted)}
    >>> [gd.score_samples(gd.rewards.episode_fact(name), [sample]).whole for name in noted]
    [[1.0], [2.0]]
    """

    fact: str

    @property
    def name(self) -> str:
        return self.fact

    def __call__(self, episode: Episode) -> Any:
        noted = episode.info.get(self.fact)
        if isinstance(noted, list | tuple):
            return [float(each) for each in noted] or 0.0
        return None if noted is None else float(noted)
