"""A second role acts on what a first did in this step: a verifier, critic, reviser, teacher, opponent or summariser.

`follow_up` asks and joins: what the second role does is stored, paid and learned from like anything else.
`aggregate_followups` goes back: the mean of a column over the followers, as a column of the tracks that they follow.
What is asked goes through `play`, so it counts in the run's budget.
Leaves out: asking the same again (`filters.py`, `hints.py`), and judges, which are rewards and never learn (`judges`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.episode import Episode, Segment
from guerdon.core.errors import UserError
from guerdon.core.extra_play import check_scores, means, play_more
from guerdon.core.field_columns import ColumnField, FieldColumns, Gives, Needs
from guerdon.core.pack import places
from guerdon.core.part import knob, label, part
from guerdon.core.placeholders import check_template
from guerdon.core.play import Play
from guerdon.core.task import Ask, Sampling

FOLLOWS = "follows"  # in an ask's note: the tracks it follows, each as `links` names it


@dataclass(frozen=True)
class Tried:
    """A track that may be followed, as a `show` function sees it."""

    episode: Episode
    path: tuple[Segment, ...]  # its own turns, first to last
    columns: dict[str, float]  # those that are shown
    link: list[Any]  # its name, for asks that follow it

    @property
    def prompt(self) -> Any:
        return self.episode.ask.shown

    @property
    def text(self) -> str:
        """Its last text."""
        return self.path[-1].text


@part
class follow_up(FieldColumns):
    """For each track of role `of`, an ask about it, played in `env`, scored with `scores` and added to the batch.

    `show` is what is shown: a template with `{prompt}` and `{attempt}`, or a function of a `Tried` that returns text, another
    view, an `Ask` (where its seats, sampling or start differ too) or None, where there is nothing to ask. The task is the
    first one's, `tries` and `sampling` are the new ask's own. `per="ask"` asks once about all tries of an ask: the template
    has `{prompt}` and `{attempts}`, the function gets a list.

    Rewards of the followers see what the ask notes as arguments: `attempt`, the text, and every column that `tells`
    names (`per="ask"`: `attempts`, and lists). So the reward of a verifier is a plain function of `completion` and `correct`,
    and learning to verify a `Learn` of the model in that seat.

    A track that failed, or has no value in a column that is shown, is not followed: its follower could not be
    scored. The new tracks are of the roles of `env`, which need seats; columns of the first are *not applicable* to
    them, and the other way round, but for columns that both are given. Compare tries `by="ask"`: followers of one task
    answer different questions. Notes `ROLE/asked`, ROLE being the first of `env`.

    Args:
        env: environment of the new asks.
        show: a template, or a function of what was tried.
        scores: stages that score them.
        of: role that is followed.
        per: one ask for each track, or for all tries of an ask.
        tries: tries at each new ask.
        tells: columns that rewards of the followers see.
        sampling: how models sample; the run's where it is None.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> class Run(ExamplePlay):
    ...     def __call__(self, asks, env=None, seats=None):
    ...         print(env.roles, [ask.shown for ask in asks], asks[1].note)
    ...         return []
    >>> verify = gd.select.follow_up(gd.envs.single_turn("verifier"), "{prompt}{attempt} right?", tells=("reward",))
    >>> batch = verify(example_tries([[1.0, None, 0.0]]), Run())  # what has no reward is not asked about
    ('verifier',) [' right?', ' right?'] {'follows': [['0.0.2', 0, 1]], 'attempt': '', 'reward': 0.0}
    """

    env: Any
    show: Any
    scores: Annotated[list[Any], ColumnField("gives")] = knob(factory=list)
    of: str = "policy"
    per: Literal["track", "ask"] = "track"
    tries: int = knob(default=1, ge=1)
    tells: Annotated[tuple[str, ...], ColumnField("needs")] = ()
    sampling: Sampling | None = None

    def __post_init__(self) -> None:
        check_scores(self.scores, label(self))
        self.tells = tuple(self.tells)
        if isinstance(self.show, str):
            check_template("follow_up.show", self.show, "prompt", "attempt" if self.per == "track" else "attempts")
        elif not callable(self.show):
            raise UserError(f"follow_up.show is a template or a function of what was tried, not {self.show!r}")

    def __call__(self, batch: Batch, play: Play) -> Batch:
        asks = [ask for tried in self._groups(batch) if (ask := self._ask(tried)) is not None]
        play.log(**{f"{self.env.roles[0]}/asked": float(len(asks))})
        return play_more(batch, asks, self.scores, play, self.env)[0]

    def _groups(self, batch: Batch) -> list[list[Tried]]:
        """The tracks that are asked about, together or each alone."""
        wanted = batch.tracks_of([self.of]) & ~batch.failed_K
        for name in self.tells:
            wanted &= ~batch.track_column(name, "follow_up").missing
        name_K, ask_K, episode_K = links(batch), batch.ask[batch.leaf].tolist(), batch.episode[batch.leaf].tolist()
        place_K = torch.split(batch.place[batch.path_seg], torch.bincount(batch.path_track).tolist())
        groups: dict[int, list[Tried]] = {}
        for k in torch.nonzero(wanted).flatten().tolist():
            episode, columns = batch.episodes[episode_K[k]], {name: float(batch[name][k]) for name in self.tells}
            path = tuple(episode.segments[i] for i in place_K[k].tolist())
            groups.setdefault(k if self.per == "track" else ask_K[k], []).append(
                Tried(episode, path, columns, name_K[k])
            )
        return list(groups.values())

    def _ask(self, tried: Sequence[Tried]) -> Ask | None:
        shown = self._shown(tried)
        if shown is None:
            return None
        texts, columns = [t.text for t in tried], {name: [t.columns[name] for t in tried] for name in self.tells}
        note: dict[str, Any] = {FOLLOWS: [t.link for t in tried]}
        if self.per == "track":
            note |= {"attempt": texts[0], **{name: values[0] for name, values in columns.items()}}
        else:
            note |= {"attempts": texts, **columns}
        if isinstance(shown, Ask):
            return shown.but(note={**shown.note, **note})
        words = isinstance(shown, str)
        return tried[0].episode.ask.but(
            n=self.tries,
            prompt=shown if words else None,
            view=None if words else shown,
            sampling=self.sampling,
            prefix=None,
            note=note,
        )

    def _shown(self, tried: Sequence[Tried]) -> Any:
        if not isinstance(self.show, str):
            return self.show(tried[0] if self.per == "track" else list(tried))
        if self.per == "track":
            return self.show.format(prompt=tried[0].prompt, attempt=tried[0].text)
        return self.show.format(prompt=tried[0].prompt, attempts="\n\n".join(t.text for t in tried))


@part(was="heard")
class aggregate_followups(FieldColumns):
    """Column `gives_to` of a track is the mean of `column` over the tracks that follow it (`follow_up`): a verifier's score,
    how often a reviser corrected it, what it lost to an opponent.

    A follower of several tracks counts for each. Where no follower has a value there is none: *not applicable* if there is
    no follower, else the worst of their reasons.

    Args:
        column: column of the followers.
        gives_to: column of the mean.

    >>> import guerdon as gd
    >>> gd.select.aggregate_followups("verdict").needs, gd.select.aggregate_followups("verdict").gives
    (('verdict',), ('heard',))
    """

    column: Needs
    gives_to: Gives = "heard"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column = batch.track_column(self.column, "aggregate_followups")
        late, early = followed(batch)
        value, worst = means(column, late, early, batch.K, Reason.NOT_APPLICABLE)
        reason = torch.where(torch.isnan(value), worst, 0.0).to(torch.int8)
        return batch.with_cols({self.gives_to: Column("track", value, reason)})


def links(batch: Batch) -> list[list[Any]]:
    """[K] each track by a name that outlives the batch: its episode's key, the number of its last segment there once the
    batch is joined with others, and how many segments there were."""
    place, size = places(batch), torch.bincount(batch.episode, minlength=len(batch.episodes)).tolist()
    ends = zip(batch.episode[batch.leaf].tolist(), batch.leaf.tolist(), strict=True)
    return [[batch.episodes[e].key, place[g], size[e]] for e, g in ends]


def followed(batch: Batch) -> tuple[Tensor, Tensor]:
    """[F] twice: a track that follows another, and the other, where both are in the batch."""
    track = {(e.key, p): k for k, (e, p) in enumerate(_ends(batch))}
    size = {episode.key: len(episode.segments) for episode in batch.episodes}
    late, early = [], []
    for k, (episode, _) in enumerate(_ends(batch)):
        for key, place, segments in episode.ask.note.get(FOLLOWS, ()):
            if size.get(key, segments) < segments:
                raise UserError(f"what follows episode {key} is unknown because tracks of it were removed: ask before")
            if (key, place) in track:
                late.append(k)
                early.append(track[key, place])
    return torch.tensor(late, dtype=torch.long), torch.tensor(early, dtype=torch.long)


def _ends(batch: Batch) -> list[tuple[Episode, int]]:
    """[K] each track's episode, and the number of its last segment there."""
    rows = zip(batch.episode[batch.leaf].tolist(), batch.place[batch.leaf].tolist(), strict=True)
    return [(batch.episodes[e], place) for e, place in rows]
