"""An exam of tries that tests write themselves: a model recites each, so that it has tokens and lines."""

from __future__ import annotations

from dataclasses import replace

from guerdon.core.episode import End
from guerdon.core.pack import pack
from guerdon.core.task import Ask, Sampling
from guerdon.engine.player import Player
from guerdon.envs.contrasting import side_by_side
from guerdon.exams.exam import TRUTH, Exam, Sitting
from guerdon.rewards.stage.score_stages import verified


def told_sitting(task, tries, cut=(), **models):
    """`tries` are pairs of a problem and texts for it, which the model `policy` recites; the texts in `cut` were cut short."""
    play = Player(models, {"policy": "policy"}, side_by_side(tries=0), Sampling(), 0, 1)
    episodes = play([Ask(problem, note={"say": list(texts)}) for problem, texts in tries])
    if cut:
        episodes = [_cut(episode, cut) for episode in episodes]
    return Sitting(Exam(task), verified(task, TRUTH)(pack(episodes), play), play, 1)


def _cut(episode, texts):
    return replace(episode, segments=tuple(s.but(end=End.CUT) if s.text in texts else s for s in episode.segments))
