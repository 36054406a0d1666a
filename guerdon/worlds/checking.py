"""The check of an environment, and of a reward of its steps, before anything is trained: `guerdon check --env`.

Random, constant and gold players play it: does it repeat under its seed, do its episodes end as Gymnasium says, is all that it
shows and pays finite, and what do players earn that do nothing for it. A gold player is the environment's own method `gold()`,
which gives the action of an oracle policy now, as `step` takes it.
Leaves out: environments of text (`gd.check_env`), and what a trained policy finds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Literal

import numpy as np

from guerdon.core.errors import UserError, in_a_line
from guerdon.core.seeds import derive
from guerdon.core.statistics import spearman
from guerdon.worlds.gymnasium_world import NotFinite, SomeWorld, open_world
from guerdon.worlds.lock_step import gym
from guerdon.worlds.spaces import Row
from guerdon.worlds.step_rewards import as_step_reward, step_reward

CHOICES = 8  # constant players of a choice, at most
LIMIT = 1000  # steps of an episode that is played for a check
ENOUGH = 3  # episodes of one length that tell a time limit
Player = Callable[[SomeWorld, np.random.Generator], Any]
Harm = Literal["severe", "note"]


@dataclass(frozen=True)
class Finding:
    """What a check found: of which kind, how bad, and a line that says where and what to do."""

    kind: str
    harm: Harm
    message: str


@dataclass
class Played:
    """An episode of a check: N steps, and the view before the first."""

    seed: int
    rows: list[Row]
    actions: list[Any] = field(default_factory=list)
    pays: list[float] = field(default_factory=list)  # of the environment
    given: list[float] = field(default_factory=list)  # of the reward
    parts: dict[str, float] = field(default_factory=dict)
    over: bool = False
    cut: bool = False
    success: bool | None = None

    @property
    def env_return(self) -> float:
        return math.fsum(self.pays)

    @property
    def earned(self) -> float:
        return math.fsum(self.given)


@dataclass
class WorldReport:
    """What a check found, and what players earned.

    Args:
        name: of the environment.
        reward: name of the reward of env steps; empty where the environment pays.
        findings: what was found.
        players: what each player earned, by name.
        agreement: rank correlation of the reward's returns with the environment's own; None where there is none.

    >>> import guerdon as gd
    >>> report = gd.worlds.check("CartPole-v1", episodes=4)
    >>> report.ok, [player["player"] for player in report.players]
    (True, ['random', 'always 0', 'always 1'])
    """

    name: str
    reward: str
    findings: list[Finding] = field(default_factory=list)
    players: list[dict[str, Any]] = field(default_factory=list)
    agreement: float | None = None  # rank correlation of the reward's returns with the environment's own

    @property
    def ok(self) -> bool:
        return all(finding.harm != "severe" for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        said = [vars(finding) for finding in self.findings]
        about = {"env": self.name, "reward": self.reward or None, "ok": self.ok}
        return {**about, "findings": said, "players": self.players, "agreement": self.agreement}


def check(env: Any, reward: Any = None, *, episodes: int = 8, limit: int = 0, seed: int = 0) -> WorldReport:
    """Check an environment of Gymnasium's kind, and a reward of its steps.

    Severe are: an environment that does not repeat under its seed, or raises; views and pay that are not finite; flags that are
    none; a time limit told as `terminated`; a player that does nothing for it and earns as much as the gold player; a reward
    that ranks episodes against the environment's own return.

    Args:
        env: a Gymnasium id, FILE.py:NAME of a function that makes one, such a function, or a `gd.worlds.gym`.
        reward: a reward of env steps, as `gd.worlds.step_reward` describes; the environment's own where it is None.
        episodes: episodes of each player.
        limit: steps after which an episode is cut; 0: 1,000.
        seed: of the episodes and of the random player.

    >>> import guerdon as gd
    >>> def nothing_but_angle(next_observation):
    ...     return -abs(next_observation[2])
    >>> report = gd.worlds.check("CartPole-v1", nothing_but_angle)
    >>> [finding.message for finding in report.findings]
    ['nothing_but_angle ranks episodes against the environment: rank correlation -0.49 with its return over 24 episodes']
    """
    if isinstance(env, gym):
        env, options, paid_by = env.env, env.options, as_step_reward(reward) or env.reward
    else:
        options, paid_by = {}, as_step_reward(reward)
    world, fresh = (open_world(env, options, watched=True) for _ in range(2))
    report = WorldReport(world.name, paid_by.name if paid_by is not None else "")
    checked = _Check(world, fresh, paid_by, report, episodes, seed, limit or LIMIT)
    try:
        checked.run()
    finally:
        world.close()
        fresh.close()
    return report


class _Broken(Exception):
    """What is found ends the check: more of it would say the same."""


@dataclass
class _Check:
    world: SomeWorld
    fresh: SomeWorld
    paid_by: step_reward | None
    report: WorldReport
    episodes: int
    seed: int
    limit: int

    def found(self, kind: str, harm: Harm, message: str) -> None:
        self.report.findings.append(Finding(kind, harm, message))

    def run(self) -> None:
        played: dict[str, list[Played]] = {}
        try:
            for name, player in self.players():
                played[name] = [self.play(self.world, player, seed) for seed in self.seeds]
                self.report.players.append(self.told(name, played[name]))
                if name == "random":
                    self.hold_repeats(played[name])
        except _Broken:
            return
        self.hold_ends([each for of_one in played.values() for each in of_one])
        self.hold_varied(played)
        self.hold_gold(played)
        if self.paid_by is not None:
            self.hold_agreement([each for of_one in played.values() for each in of_one])

    @property
    def seeds(self) -> list[int]:
        return [derive(self.seed, "check", i) % 2**31 for i in range(self.episodes)]

    def players(self) -> Iterator[tuple[str, Player]]:
        yield "random", _random
        choices = self.world.actions.choices
        if self.world.actions.moves:
            zeros = np.zeros(self.world.actions.moves, np.float32)
            yield "still", _always(zeros)
        elif len(choices) == 1:
            for k in range(min(choices[0], CHOICES)):
                yield f"always {k}", _always(np.int64(k))
        else:
            yield "always 0", _always(np.zeros(len(choices), np.int64))
        if hasattr(_own(self.world), "gold"):
            yield "gold", lambda world, dice: taken(world, _own(world).gold())

    # --- playing ------------------------------------------------------------------------------------------------------

    def play(self, world: SomeWorld, player: Player, seed: int) -> Played:
        dice = np.random.default_rng([self.seed, seed])
        try:
            episode = Played(seed, [world.reset(seed)])
            while not (episode.over or episode.cut or len(episode.actions) == self.limit):
                action = player(world, dice)
                row, pay, episode.over, episode.cut = world.step(action)
                episode.actions.append(action)
                episode.rows.append(row)
                self.hold_finite(world, row)
                episode.pays.append(pay)
                episode.given.append(self.given(world, episode))
        except _Broken:
            raise
        except (UserError, NotFinite) as error:
            self.found("pay" if isinstance(error, NotFinite) else "contract", "severe", str(error))
            raise _Broken from error
        except Exception as error:
            where = f"step {world.steps}" if world.steps else "reset"
            self.found("raises", "severe", f"{world.name}: {where} of seed {seed} raised {in_a_line(error)}")
            raise _Broken from error
        episode.success = world.success
        return episode

    def given(self, world: SomeWorld, episode: Played) -> float:
        """What the reward pays for the last step, the same when it is asked again."""
        if self.paid_by is None:
            return float(world.did[3])
        paid, again = self.paid_by.pay_each([world.did]), self.paid_by.pay_each([world.did])
        where = f"step {world.steps} of seed {world.seed}"
        if paid.why:
            raise NotFinite(paid.told(0, world.name, where))
        if paid.total[0] != again.total[0]:
            self.found(
                "repeats",
                "severe",
                f"{self.report.reward} does not repeat: asked twice about {where} it gives {paid.total[0]:g} and"
                f" {again.total[0]:g}",
            )
            raise _Broken
        for name, value in paid.each()[0].items():
            episode.parts[name] = episode.parts.get(name, 0.0) + value
        return float(paid.total[0])

    def hold_finite(self, world: SomeWorld, row: Row) -> None:
        if not np.isfinite(row).all():
            at = int(np.flatnonzero(~np.isfinite(row))[0])
            raise NotFinite(
                f"{world.name}: the view is {row[at]:g} at step {world.steps} of seed {world.seed}, number {at}"
            )
        if any(finding.kind == "space" for finding in self.report.findings):
            return
        if not world.env.observation_space.contains(world.seen):
            self.found(
                "space",
                "note",
                f"{world.name}: step {world.steps} of seed {world.seed} shows what is outside its observation_space (other"
                " bounds, shape or dtype); actors read it all the same",
            )

    # --- what is held ---------------------------------------------------------------------------------------------------

    def hold_repeats(self, played: Sequence[Played]) -> None:
        """Each seed and its actions again: in another instance in another order, and in this one, after others."""
        for episode in reversed(played[: max(1, self.episodes // 2)]):
            self.hold_same(self.fresh, episode)
        self.hold_same(self.world, played[0])

    def hold_same(self, world: SomeWorld, episode: Played) -> None:
        actions = iter(episode.actions)
        again = self.play(world, lambda world, dice: next(actions, episode.actions[-1]), episode.seed)
        told = _difference(episode, again)
        if told:
            self.found(
                "repeats",
                "severe",
                f"{self.report.name} does not repeat under its seed: {told}; draw all that is random from self.np_random, which"
                " reset(seed=...) seeds, and let reset undo all that an episode changes",
            )
            raise _Broken

    def hold_ends(self, played: Sequence[Played]) -> None:
        name = self.report.name
        endless = [each for each in played if not (each.over or each.cut)]
        if endless:
            self.found(
                "ends",
                "note",
                f"{name}: {len(endless)} of {len(played)} episodes did not end in {self.limit:,} steps: register it with"
                " max_episode_steps, or train with --set limit=N",
            )
        over = [each for each in played if each.over]
        lengths = {len(each.actions) for each in over}
        alike = len(over) == len(played) >= ENOUGH and len(lengths) == 1 and lengths != {1}
        if alike and not _shows_time(over):
            self.found(
                "ends",
                "severe",
                f"{name}: all {len(over)} episodes are `terminated` at step {lengths.pop()}, whatever is done, and no view"
                " shows the time: a time limit is `truncated`, else the value of what comes after it is learned as 0",
            )
        cut = [each for each in played if each.cut]
        early = sorted({len(each.actions) for each in cut})
        if len(cut) >= ENOUGH and len(early) > 1 and not over:
            self.found(
                "ends",
                "severe",
                f"{name}: no episode is `terminated`, and {len(cut)} are `truncated` after {early[0]} to {early[-1]} steps: an"
                " end that follows from what was done (a fall, a goal) is `terminated`, a time limit `truncated`",
            )

    def hold_varied(self, played: Mapping[str, Sequence[Played]]) -> None:
        """Seeds that change nothing, and pay that tells no player from another."""
        whose = self.report.reward or self.report.name
        for name, of_one in played.items():
            if name != "random" and len(of_one) > 1 and not any(_difference(of_one[0], each) for each in of_one[1:]):
                self.found(
                    "seeds",
                    "note",
                    f"{self.report.name}: the player {name!r} plays the same episode at every seed: held-out seeds are one"
                    " episode",
                )
                break
        earned = {each.earned for of_one in played.values() for each in of_one}
        if len(earned) == 1:
            self.found(
                "sparse",
                "note",
                f"{whose}: every episode of every player earns {earned.pop():g}: nothing is learned until a policy meets"
                " what is paid otherwise",
            )

    def hold_gold(self, played: Mapping[str, Sequence[Played]]) -> None:
        """Players that earn as much as the gold player and reach the goal less often, or earn more, where no goal is
        known; and a gold player that does not reach its goal."""
        if "gold" not in played:
            return
        earned = {name: fmean(each.earned for each in of_one) for name, of_one in played.items()}
        reached = {name: _share(each.success for each in of_one) for name, of_one in played.items()}
        goals, gold = reached.pop("gold"), earned.pop("gold")
        if goals is not None and goals < 1:
            self.found(
                "gold", "severe", f"{self.report.name}: its gold player reaches the goal in {goals:.0%} of its episodes"
            )
        best = max(earned, key=lambda name: earned[name])
        lower = goals is not None and (reached[best] or 0.0) < goals
        if earned[best] > gold or (lower and earned[best] == gold):
            self.found(
                "hack",
                "severe",
                f"{self.report.reward or self.report.name}: the player {best!r} earns {earned[best]:.4g}, the gold player"
                f" {gold:.4g}: it pays as much for something else as for the goal",
            )

    def hold_agreement(self, played: Sequence[Played]) -> None:
        own, mine = [each.env_return for each in played], [each.earned for each in played]
        agreement = spearman(own, mine)
        self.report.agreement = None if math.isnan(agreement) else agreement
        if agreement < 0:
            self.found(
                "against",
                "severe",
                f"{self.report.reward} ranks episodes against the environment: rank correlation {agreement:.2f} with its return"
                f" over {len(played)} episodes",
            )

    def told(self, name: str, played: Sequence[Played]) -> dict[str, Any]:
        reached = _share(each.success for each in played)
        own = {"env_return": fmean(each.env_return for each in played)} if self.paid_by is not None else {}
        parts = dict.fromkeys(part for each in played for part in each.parts)
        return {
            "player": name,
            "episodes": len(played),
            "return": fmean(each.earned for each in played),
            "low": min(each.earned for each in played),
            "high": max(each.earned for each in played),
            **own,
            "steps": fmean(len(each.actions) for each in played),
            **({"success": reached} if reached is not None else {}),
            **(
                {"parts": {p: fmean(each.parts.get(p, 0.0) for each in played) for p in parts}}
                if len(parts) > 1
                else {}
            ),
        }


def _share(reached: Iterable[bool | None]) -> float | None:
    """How often a goal was reached, where that is known."""
    known = [each for each in reached if each is not None]
    return fmean(known) if known else None


def _own(world: SomeWorld) -> Any:
    """The environment without what is wrapped around it."""
    return getattr(world.env, "unwrapped", world.env)


def _always(action: Any) -> Player:
    return lambda world, dice: action


def _random(world: SomeWorld, dice: np.random.Generator) -> Any:
    """Uniform among choices and within bounds; a normal number where a move has none."""
    choices, space = world.actions.choices, world.env.action_space
    if choices:
        chosen = dice.integers(0, choices)
        return chosen[0] if len(choices) == 1 else chosen
    low, high = space.low.reshape(-1), space.high.reshape(-1)
    bounded = np.isfinite(low) & np.isfinite(high)
    inside = dice.uniform(np.where(bounded, low, 0.0), np.where(bounded, high, 1.0))
    return np.where(bounded, inside, dice.standard_normal(len(low))).astype(np.float32)


def taken(world: SomeWorld, action: Any) -> Any:
    """An action as `step` takes it, as actors give it."""
    start = np.asarray(getattr(world.env.action_space, "start", 0))
    row = np.asarray(action) - start if world.actions.choices else np.asarray(action, np.float32)
    row = row.reshape(-1)
    return row[0] if len(world.actions.choices) == 1 else row


def _difference(one: Played, other: Played) -> str:
    """Where two episodes of a seed part, in words."""
    for t, (a, b) in enumerate(zip(one.rows, other.rows, strict=False)):
        if not np.array_equal(a, b):
            return (
                f"seed {one.seed} shows something else after {t} actions" if t else f"seed {one.seed} begins otherwise"
            )
    for t, (pay, again) in enumerate(zip(one.pays, other.pays, strict=False), 1):
        if pay != again:
            return f"step {t} of seed {one.seed} pays {pay:g}, and {again:g} when it is played again"
    if (len(one.rows), one.over, one.cut) != (len(other.rows), other.over, other.cut):
        return f"an episode of seed {one.seed} ends otherwise after the same actions"
    return ""


def _shows_time(played: Sequence[Played]) -> bool:
    """Whether some number of the views grows or shrinks from step to step, the same in every episode."""
    rows = np.stack([np.stack(each.rows) for each in played])
    same = (rows == rows[:1]).all((0, 1))
    change = np.diff(rows[0], axis=0)
    return bool((same & ((change > 0).all(0) | (change < 0).all(0))).any())
