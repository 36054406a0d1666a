"""A model's own comparisons of tries as tracks of the batch, whose verdicts have a probability that it can learn through.

A judge is a reward, and no gradient goes through it. Here the policy is shown two tries and says what it says up to where
its verdict stands. The reading `next:TOKEN` there is the log-prob of each verdict: a column of the policy, or live in a loss.
Left out: what is made of the verdicts, and judges of other models (`judges/compare.py`). No recipe.
"""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from guerdon.core.batch import ENDS, Batch, Pairs
from guerdon.core.episode import End
from guerdon.core.extra_play import play_more
from guerdon.core.model import NEXT
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.core.task import Ask, Sampling
from guerdon.core.wordings import by_model
from guerdon.envs.simple import single_turn
from guerdon.select.pairs import valued_groups
from guerdon.select.second_roles import FOLLOWS, followed, links
from guerdon.tasks.role_wordings import ROLE_WORDINGS

ROLE = "judge"
PREFER = ROLE_WORDINGS["prefer"]


@part
class own_verdicts:
    r"""The model in the seat `judge` compares tries: the first at each task with the second, the third with the fourth, and so
    on, each two in both orders. What it says becomes a track of the role `judge`, up to `stop`, after which its verdict stands.

    The verdict is not sampled. After the track the model has a log-prob for each of `verdicts`, "the first is better" and "the
    second is", by the readings `next:TOKEN` (`reads`): columns `policy.next:TOKEN`, or live in a loss over the rows that
    `compared` selects, so that it can be learned through. $p = \frac12[\sigma(l_{12}) + \sigma(-l_{21})]$ with $l$ the
    difference of the two log-probs in each order. A reply that does not come to its verdict is none, and a comparison without
    both replies is in no mean. Two equal texts are not compared. Logs `judge/asked` and `judge/unreadable`, a share.

    *Biased* as the model's own opinion is: nothing says that it is true. Swapped orders: Zheng et al. 2023, arXiv:2306.05685.

    Args:
        wording: how two tries are shown, with {question}, {first} and {second}.
        stop: what a reply says right before its verdict.
        verdicts: the tokens that say that the first and the second is better.
        max_tokens: the most tokens before the verdict.

    >>> own_verdicts().reads  # sprig's
    ('next: a', 'next: b')
    """

    wording: str = PREFER.knob(joined=False)
    stop: str = by_model("\n=", "Better:")
    verdicts: tuple[str, str] = by_model((" a", " b"), (" A", " B"))
    max_tokens: int = knob(default=256, ge=1)

    shelf = "select"
    needs = gives = ()

    @property
    def reads(self) -> tuple[str, str]:
        """The readings of both verdicts."""
        first, second = self.verdicts
        return f"{NEXT}{first}", f"{NEXT}{second}"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        wanted, texts, names = batch.tracks_of(["policy"]) & ~batch.failed_K, batch.texts, links(batch)
        both = [
            pair
            for tracks in valued_groups(batch, "task", (~wanted).tolist())
            for pair in list(pairwise(tracks))[::2]
            if texts[pair[0]] != texts[pair[1]]
        ]
        asks = [
            self._ask(batch, [texts[k] for k in order], [names[k] for k in order], order[0])
            for pair in both
            for order in (pair, pair[::-1])
        ]
        joined, _ = play_more(batch, asks, [], play, single_turn(ROLE))
        play.log(**{f"{ROLE}/asked": float(len(asks))})
        unread = len(asks) - int((stopped(joined) & joined.tracks_of([ROLE])).sum()) if asks else 0
        play.log(**{f"{ROLE}/unreadable": unread / len(asks)} if asks else {})
        return joined

    def _ask(self, batch: Batch, texts: list[str], names: list[list[object]], track: int) -> Ask:
        """The question which of two tries is better."""
        ask = batch.episodes[int(batch.episode[batch.leaf[track]])].ask
        shown = self.wording.format(question=ask.shown, first=texts[0], second=texts[1])
        sampling = Sampling(temperature=0.0, max_tokens=self.max_tokens, stop=(self.stop,))
        return ask.but(n=1, prompt=shown, view=None, prefix=None, sampling=sampling, note={FOLLOWS: names})


@part
class compared:
    """A selection: the tries whose comparison by `own_verdicts` came to a verdict in both orders, with its tracks; each two are
    a pair of the batch, in the order in which they stand, and those that it had are not.

    >>> compared().needs
    ()
    """

    needs = ()

    def __call__(self, batch: Batch, play: Play) -> Batch:
        rows = comparisons(batch)
        keep = torch.zeros(batch.K, dtype=torch.bool)
        keep[rows.flatten()] = True
        return dataclasses.replace(batch, pairs=Pairs.of(rows[:, 0], rows[:, 1])).take(keep)


def comparisons(batch: Batch) -> Tensor:
    """[P, 4] the tracks of each comparison that came to both verdicts: one try, the other, the verdict where the one was shown
    first, and that where the other was."""
    shown: dict[int, list[int]] = {}
    for late, early in zip(*(each.tolist() for each in followed(batch)), strict=True):
        shown.setdefault(late, []).append(early)
    whole = (stopped(batch) & batch.tracks_of([ROLE])).tolist()
    verdict = {tuple(tries): k for k, tries in shown.items() if whole[k]}
    rows = [(i, j, k, verdict[j, i]) for (i, j), k in verdict.items() if i < j and (j, i) in verdict]
    return torch.tensor(rows, dtype=torch.long).reshape(-1, 4)


def stopped(batch: Batch) -> Tensor:
    """[K] tracks that came to a stop string."""
    return batch.end[batch.leaf] == ENDS.index(End.STOPPED)


def log_preferences(rows: Tensor, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    r"""[P] twice: $\log p$ and $\log(1-p)$ that the one try of each comparison is better, from the log-probs [K] that the first
    and that the second shown is.

    >>> rows = torch.tensor([[0, 1, 2, 3]])
    >>> [round(float(x.exp()), 3) for x in log_preferences(rows, torch.zeros(4), torch.tensor([0.0, 0.0, -1.0, 1.0]))]
    [0.731, 0.269]
    """
    odds = first - second
    there, back = odds[rows[:, 2]], -odds[rows[:, 3]]
    yes, no = (torch.logaddexp(logsigmoid(s * there), logsigmoid(s * back)) for s in (1.0, -1.0))
    half = torch.log(torch.tensor(2.0, dtype=yes.dtype, device=yes.device))
    return yes - half, no - half
