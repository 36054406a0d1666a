"""What every environment promises, as a check any author can run: `gd.check_env(my_env, my_task)`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from guerdon.core.arguments import check_arguments
from guerdon.core.episode import End, Episode
from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.core.part import label
from guerdon.core.play import Env
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Sampling, TaskSource, truth_of
from guerdon.engine.player import Player
from guerdon.envs.default_envs import default_env, demonstrated
from guerdon.envs.world_turns import Shows
from guerdon.models.scripted_model import Past, scripted
from guerdon.training.build import find_task
from guerdon.training.homes import silent
from guerdon.worlds.checking import check as check_world
from guerdon.worlds.lock_step import gym

Say = Callable[[Any, Past, int], str]
LONG = 4096  # bytes that a script may say at once
ENDLESS = 1000  # turns after which a running episode counts as endless
NONSENSE = ("", "?", "\x00\ud7ff \U0001f600", "7" * 300, "yes\nno\n" * 40, "{[<'\"", "= 0", "stop", "a b c d")


def check_env(
    env: Any, task: Any = None, *, gold: Say | Mapping[str, Say] | None = None, episodes: int = 20, seed: int = 0
) -> dict[str, int]:
    """Test an environment against the contract on the first training problems of a task; a broken promise is one clear line.

    An episode is the same when it is played again with the same seed, alone or among others, and when it is started again in
    its middle. The oracle policy reaches the goal; random text does not, breaks nothing and is not played
    for ever. An answer that was cut off ends CUT. What is recorded are JSON values.

    A `gd.worlds.gym` is checked as `gd.worlds.check` does: what is severe is refused, and its gold player must reach the goal.

    `env` may be a source of problems, or its name, that has an environment of its own. The oracle policy comes from the
    environment (`demonstrate`), or is `gold`, a script `say(view, past, seed)` as `gd.models.scripted` takes it, or one for
    each role. Returns what was checked.

    Args:
        env: the environment, or a source with one of its own.
        task: where problems come from.
        gold: script of an oracle policy, or one for each role; by default the environment's `demonstrate`.
        episodes: number of problems.
        seed: of sampling and of the environment.

    >>> import guerdon as gd
    >>> task = gd.tasks.load("chain:1")
    >>> answers = {task.get("train", i).prompt: task.solution(task.get("train", i)) for i in range(20)}
    >>> gd.check_env(gd.envs.single_turn(), task, gold=lambda view, past, seed: answers[view])
    {'episodes': 20, 'turns': 20, 'goals': 20, 'restarts': 20, 'nonsense': 20}
    """
    check_arguments("gd.check_env", check_env, locals())
    if isinstance(env, gym):
        return _check_world(env, episodes, seed)
    source, env = _subject(env, task)
    size = source.size("train")
    asks = [Ask(source.get("train", i)) for i in range(episodes if size is None else min(size, episodes))]
    checked = _Checked(source, env, gold, derive(seed, "check env"))
    shown = checked.gold_episodes(asks)
    counts = {"episodes": len(shown), "turns": sum(len(e.segments) for e in shown)}
    counts["goals"] = checked.hold_goals(shown)
    checked.hold_same(asks, shown)
    counts["restarts"] = checked.hold_restarts(shown)
    checked.hold_cut(asks)
    counts["nonsense"] = checked.hold_nonsense(asks)
    return counts


def _check_world(env: gym, episodes: int, seed: int) -> dict[str, int]:
    """The check of an environment of Gymnasium's kind; what was played by which player, and goals that gold reached."""
    report = check_world(env, episodes=episodes, seed=seed)
    for finding in report.findings:
        if finding.harm == "severe":
            raise UserError(finding.message)
    gold = next((each for each in report.players if each["player"] == "gold"), None)
    if gold is None or "success" not in gold:
        raise UserError(
            f"{report.name} has no gold player, or says of no episode whether it reached its goal: give it a method gold(), and"
            " info['success']"
        )
    return {
        "episodes": sum(each["episodes"] for each in report.players),
        "steps": round(sum(each["episodes"] * each["steps"] for each in report.players)),
        "goals": round(gold["episodes"] * gold["success"]),
    }


def _subject(env: Any, task: Any) -> tuple[TaskSource, Env]:
    """The problems and where they are played."""
    if task is None:
        source: Any = find_task(env)
        home = default_env(source)
        if home is None:
            raise UserError(f"{label(source)} has no environment: give one and a task, gd.check_env(env, task)")
        return source, home
    source = find_task(task)
    for name in ("roles", "play"):
        if not hasattr(env, name):
            raise UserError(f"{label(env)} is not an environment: it has no `{name}` (docs/environments.md)")
    return source, env


class _Checked:
    """One environment under test, and scripts for those who play in it."""

    def __init__(self, source: TaskSource, env: Env, gold: Say | Mapping[str, Say] | None, seed: int) -> None:
        self.source, self.env, self.gold, self.seed = source, env, gold, seed
        if gold is None and not isinstance(env, Shows):
            raise UserError(
                f"{label(env)} has no demonstrations: give gold=say, a script say(view, past, seed) that reaches the goal"
            )

    def gold_episodes(self, asks: Sequence[Ask], first: int = 0) -> list[Episode]:
        """Asks number `first` and following, played by those who know everything."""
        if self.gold is None:
            return self._play(asks, demonstrated(self.env), dict.fromkeys(self.env.roles, silent), first=first)
        says = self.gold if isinstance(self.gold, Mapping) else dict.fromkeys(self.env.roles, self.gold)
        for role in self.env.roles:
            if role not in says:
                fix = f"gold={{{role!r}: say}}"
                raise UserError(f"{label(self.env)} has a role {role!r} that gold has no script for: {fix}")
        return self._play(asks, self.env, dict(says), first=first)

    def hold_goals(self, shown: Sequence[Episode]) -> int:
        for e in shown:
            where = _where(self.env, e)
            if e.failed:
                raise UserError(f"{where}: it failed while the oracle policy played: {_broke(e)}")
            if not e.segments:
                raise UserError(f"{where}: nobody acted")
            _hold_json(e, where)
            for s in e.segments:
                if s.reward is not None and s.reward != s.reward:
                    raise UserError(f"{where}: it paid NaN; pay a finite number, or nothing")
            truth = self._truth(e)
            if truth is None:
                raise UserError(
                    f"{where}: it does not say whether the goal was reached: check_track, or goal= in the info"
                )
            if truth != 1.0:
                raise UserError(f"{where}: the oracle policy reaches {truth:g}, not 1 (info {e.info})")
        return len(shown)

    def hold_same(self, asks: Sequence[Ask], shown: Sequence[Episode]) -> None:
        """Played again, and backwards one at a time: what an episode leaves behind in its environment shows there."""
        again = self.gold_episodes(asks)
        for one, other in zip(shown, again, strict=True):
            if not one.same(other):
                raise UserError(
                    f"{_where(self.env, one)}: played again with the same seed it goes otherwise{_first(one, other)}"
                )
        for number in reversed(range(len(asks))):
            alone = self.gold_episodes([asks[number]], first=number)[0]
            if not shown[number].same(alone):
                raise UserError(
                    f"{_where(self.env, shown[number])}: played alone it goes otherwise than among others"
                    f"{_first(shown[number], alone)}: episodes share something"
                )

    def hold_restarts(self, shown: Sequence[Episode]) -> int:
        """Started again before its last turn, from the record of what was played until then."""
        count = 0
        for e in shown:
            at = max(i for i, s in enumerate(e.segments) if len(s.actions) or s.text)
            says = {s.role: _recited(e, s.role) for s in e.segments}
            again = self._play(
                [Ask(e.task, prefix=e.prefix(at, 0))], self.env, {**dict.fromkeys(self.env.roles, silent), **says}
            )[0]
            if again.failed or [s.text for s in again.segments] != [s.text for s in e.segments]:
                raise UserError(
                    f"{_where(self.env, e)}: restarted before its last turn it gives another result"
                    f" ({_broke(again) if again.failed else 'other words'}): draw all that is random from seats.seed"
                )
            count += 1
        return count

    def hold_cut(self, asks: Sequence[Ask]) -> None:
        """An answer that ran out of tokens is not an answer."""
        cut = self._play(asks[:4], self.env, dict.fromkeys(self.env.roles, lambda *_: "x" * 64), most=1)
        for e in cut:
            if e.failed:
                raise UserError(f"{_where(self.env, e)}: an answer that was cut off broke it: {_broke(e)}")
            if all(s.end is not End.CUT for s in e.segments):
                raise UserError(f"{_where(self.env, e)}: an answer was cut off, and no segment ends CUT")

    def hold_nonsense(self, asks: Sequence[Ask]) -> int:
        """Every text gets an answer, does not reach the goal, and the episode ends."""
        said = self._play(asks, self.env, dict.fromkeys(self.env.roles, _nonsense))
        self._play(asks[:2], self.env, dict.fromkeys(self.env.roles, _mute))
        for e in said:
            if e.failed:
                raise UserError(
                    f"{_where(self.env, e)}: words that it does not understand broke it ({_broke(e)}): answer them"
                )
            _hold_json(e, _where(self.env, e))
        won = [e for e in said if self._truth(e) == 1.0]
        if said and len(won) > len(said) // 2:
            raise UserError(f"{_where(self.env, won[0])}: random text reaches the goal in {len(won)} of {len(said)}")
        return len(said)

    def _play(
        self, asks: Sequence[Ask], env: Env, says: Mapping[str, Say], most: int = LONG, first: int = 0
    ) -> list[Episode]:
        models: dict[str, Model] = {role: scripted(say) for role, say in says.items()}
        for model in models.values():
            model.start(0, models)
        player = Player(models, {role: role for role in models}, env, Sampling(max_tokens=most), self.seed, 1)
        player.asked = first  # an episode's seed follows from its number
        return player(asks)

    def _truth(self, e: Episode) -> float | None:
        role = "policy" if "policy" in self.env.roles else self.env.roles[0]
        mine = [s for s in e.segments if s.role == role]
        said = next((s for s in reversed(mine) if len(s.actions) or s.text), mine[-1] if mine else None)
        text = "" if said is None else said.text
        track = {
            "completion": text,
            "episode": e,
            "role": role,
            "made": None if said is None else said.made,
            "path": mine,
        }
        return truth_of(self.source, e.task, track)


def _nonsense(view: Any, past: Past, seed: int) -> str:
    return NONSENSE[(seed + len(past)) % len(NONSENSE)]


def _mute(view: Any, past: Past, seed: int) -> str:
    """Says nothing, for ever."""
    if len(past) >= ENDLESS:
        raise UserError(f"an empty answer is asked again {ENDLESS} times and more: bound the episode (most=...)")
    return ""


def _recited(e: Episode, role: str) -> Say:
    """The script of a role that says what it said."""
    texts = [s.text for s in e.segments if s.role == role]
    return lambda view, past, seed: texts[min(len(past), len(texts) - 1)]


def _where(env: Env, e: Episode) -> str:
    return f"{label(env)}, {e.task.key}"


def _broke(e: Episode) -> str:
    """What broke an episode, in a line."""
    return str(e.info["error"]).splitlines()[-1]


def _first(one: Episode, other: Episode) -> str:
    """Where two episodes part, in words."""
    if one.info != other.info:
        return f" (info {one.info} and {other.info})"
    for i, (a, b) in enumerate(zip(one.segments, other.segments, strict=False)):
        if not a.same(b):
            return f" (turn {i}: {a.role} is shown {str(a.view)[:60]!r} and {str(b.view)[:60]!r})"
    return f" ({len(one.segments)} and {len(other.segments)} turns)"


def _hold_json(e: Episode, where: str) -> None:
    for name, value in (("info", e.info), ("the task's meta", e.task.meta)):
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise UserError(f"{where}: {name} cannot be kept as JSON: {error}") from error
