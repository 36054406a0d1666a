"""Rules that compare the reward with the truth: divergence of proxy and truth, and their agreement inside groups.

Both need a truth (`--truth`), which scores the same rollouts and is never trained on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from guerdon.core.part import knob, part
from guerdon.watch.block_shifts import SHORTEST, Shift, from_zero, mean, shift, windows
from guerdon.watch.past_steps import PROBLEMS, TRUTH, Past
from guerdon.watch.rule_alarms import RuleAlarm, Scene

BEGINNING, BLOCK = 2, SHORTEST // 2  # steps at the start of a run, and at its end
LONG = 16  # steps in which a truth that does not follow may be reported
Values = Callable[[str], list[float]]  # of a number, in a block of steps
FIX = "read these rollouts, fix the reward (guerdon check), and"


def fix_from(step: int) -> str:
    """What to do about something that began at a step."""
    return f"{FIX} resume from before step {step}" if step > 0 else f"{FIX} start a new run"


@dataclass(frozen=True)
class Blocks:
    """Reward and truth in two blocks of steps: how each changed from one to the other, the mean spread of single tries in
    them, and the first and last step of either."""

    reward: Shift
    truth: Shift
    spread: float
    spread_of_truth: float
    steps: tuple[int, int, int, int]


def halves(past: Past, name: str, window: int) -> Shift | None:
    """From the first to the second half of the window that ends now."""
    half = window // 2
    return shift(past.last(name, half, skip=half), past.last(name, half))


def in_window(past: Past, window: int) -> Blocks | None:
    """The two halves of a window that ends now."""
    half, last = window // 2, past.steps[-1]
    steps = (last - window + 1, last - half, last - half + 1, last)
    return _blocks(past.proxy, lambda name: past.last(name, half, skip=half), lambda name: past.last(name, half), steps)


def at_the_ends(past: Past) -> Blocks | None:
    """The first and the last steps of the run; None where they overlap."""
    first, last = past.steps[-1] - past.count + 1, past.steps[-1]
    steps = (first, first + BLOCK - 1, last - BLOCK + 1, last)
    if not past.is_long(BLOCK):
        return None
    return _blocks(past.proxy, lambda name: past.first(name, BLOCK), lambda name: past.last(name, BLOCK), steps)


def from_the_start(past: Past) -> Blocks | None:
    """The first two steps of the run and its last six, for a truth may be gone after one update; None where they overlap,
    or where one of them has no result or no number of problems. So few steps say little about how much their means
    vary: that is taken from the spread of tries, as if all tries at a problem came out alike."""
    asked = (f"{past.proxy}/mean", f"{TRUTH}/mean", PROBLEMS)
    is_whole = all(len(past.first(n, BEGINNING)) + len(past.last(n, BLOCK)) == BEGINNING + BLOCK for n in asked)
    if past.count < BEGINNING + BLOCK or not is_whole:
        return None
    first, last = past.steps[-1] - past.count + 1, past.steps[-1]
    reward, truth = (_since_the_start(past, name) for name in (past.proxy, TRUTH))
    spread, of_truth = (mean(past.first(f"{name}/std", BEGINNING)) for name in (past.proxy, TRUTH))
    return Blocks(reward, truth, spread, of_truth, (first, first + BEGINNING - 1, last - BLOCK + 1, last))


def _since_the_start(past: Past, name: str) -> Shift:
    begun, late = past.first(f"{name}/mean", BEGINNING), past.last(f"{name}/mean", BLOCK)
    problems = [math.fsum(past.first(PROBLEMS, BEGINNING)), math.fsum(past.last(PROBLEMS, BLOCK))]
    spreads = [mean(past.first(f"{name}/std", BEGINNING)), mean(past.last(f"{name}/std", BLOCK))]
    error = math.sqrt(math.fsum(s**2 / n for s, n in zip(spreads, problems, strict=True)))
    return Shift(mean(begun), mean(late), error, max(1, round(problems[0]) - 1))


def _blocks(proxy: str, before: Values, after: Values, steps: tuple[int, int, int, int]) -> Blocks | None:
    """None where a block has too few values."""
    reward, truth = (shift(before(f"{name}/mean"), after(f"{name}/mean")) for name in (proxy, TRUTH))
    spread, of_truth = (mean([*before(f"{name}/std"), *after(f"{name}/std")]) for name in (proxy, TRUTH))
    return Blocks(reward, truth, spread, of_truth, steps) if reward and truth else None


@part
class proxy_gap:
    r"""The reward rises while the truth falls, or stays.

    Windows of 12, 16, 24, 32, ... up to `longest` steps that end now are each cut in the middle; the change from the first half
    to the second is compared with the spread of the steps' means (Student's t), as is that from the first six steps of the
    run to the last six. A truth that is gone after an update or two is low in all of these: the first two steps are compared
    with the last six by the spread of tries, as if those at a problem were one. With $\Delta_R, \Delta_T$ the changes of
    reward and truth, and $\sigma_R, \sigma_T$ the mean spread of single tries there, in some window, or since the start

    - *falls* (bad): $p(\Delta_R > 0)$ and $p(\Delta_T < 0)$ are each below $\alpha_{both}/m$, $\Delta_R \ge rise\,\sigma_R$ and
      $-\Delta_T \ge fall\,\sigma_T$, or since the start $gone\,\sigma_T$, with $m$ the number of looks;
    - *stays* (warn), in windows of at least 16 steps: $p(\Delta_R > 0) < \alpha/m$, $\Delta_R \ge 1.5\,rise\,\sigma_R$, and
      the truth has, with 95 % confidence, risen by less than the share `follows` of what the reward has, each in units of its
      own spread; not where the truth is within 5 % of `full`, for nothing is left to gain.

    That a proxy may keep rising while the truth falls is Gao et al. 2022 (arXiv:2210.10760). The thresholds are our own;
    `docs/watch.md` has their false alarms in simulated runs without a hack.
    """

    alpha: float = knob(default=0.001, gt=0.0, le=0.5)
    alpha_both: float = knob(default=0.005, gt=0.0, le=0.5)
    rise: float = knob(default=0.25, ge=0.0)
    fall: float = knob(default=0.1, ge=0.0)
    gone: float = knob(default=0.4, ge=0.0)
    follows: float = knob(default=0.25, ge=0.0, le=1.0)
    full: float = 1.0
    longest: int = knob(default=256, ge=SHORTEST)

    def __call__(self, past: Past) -> list[RuleAlarm]:
        if not past.proxy or not past.last(f"{TRUTH}/mean", 1):
            return []
        looks = [(from_the_start(past), self.gone, False), (at_the_ends(past), self.gone, False)]
        looks += [(in_window(past, n), self.fall, n >= LONG) for n in windows(past.count, self.longest)]
        there = [(seen, fall, may_stay) for seen, fall, may_stay in looks if seen is not None]
        sightings = [self._found(past.proxy, seen, len(there), fall, may_stay) for seen, fall, may_stay in there]
        return sorted(filter(None, sightings), key=_clearness)[:1]

    def _found(self, proxy: str, seen: Blocks, tests: int, fall: float, may_stay: bool) -> RuleAlarm | None:
        """The comparison of two blocks, corrected for their number, where a fall by `fall` spreads counts."""
        if seen.reward.by <= 0 or seen.reward.by < self.rise * seen.spread:
            return None
        reward, truth, chance = seen.reward, seen.truth, seen.reward.chance_of_rise()
        is_fall = -truth.by >= max(fall * seen.spread_of_truth, 1e-12)
        if is_fall and max(chance, truth.chance_of_fall()) < self.alpha_both / tests:
            return _sighting(proxy, seen, falls=True)
        may_rise = self.follows * reward.by / seen.spread * seen.spread_of_truth if seen.spread else 0.0
        stays = truth.at_most(0.95) < may_rise if seen.spread_of_truth else truth.by <= 0
        is_clear = may_stay and reward.by >= 1.5 * self.rise * seen.spread
        if chance < self.alpha / tests and is_clear and stays and truth.after < 0.95 * self.full:
            return _sighting(proxy, seen, falls=False)
        return None

    def clearest(self, scene: Scene, finding: RuleAlarm) -> Tensor:
        """Paid most for what is worth least, each in units of the step's spread."""
        return _standard(scene.column(scene.proxy)) - _standard(scene.column(TRUTH))


def _sighting(proxy: str, seen: Blocks, falls: bool) -> RuleAlarm:
    (first, before, middle, last), reward, truth = seen.steps, seen.reward, seen.truth
    how = "fell" if falls else "did not follow"
    numbers = {"reward_before": reward.before, "reward_after": reward.after, "truth_before": truth.before,
               "truth_after": truth.after, "window": float(last - first + 1)}  # fmt: skip
    numbers |= {"p_reward": reward.chance_of_rise(), "p_truth": truth.chance_of_fall()}
    return RuleAlarm(
        "bad" if falls else "warn",
        f"{proxy} rose from {reward.before:.3f} to {reward.after:.3f} while the truth {how}, {truth.before:.3f} to"
        f" {truth.after:.3f} (means of steps {first} to {before} and {middle} to {last})",
        fix_from(before + 1),
        numbers,
    )


def _standard(value: Tensor) -> Tensor:
    there = value[~torch.isnan(value)]
    spread = float(there.std(correction=0)) if len(there) else 0.0
    return (value - there.mean()) / spread if spread else value * 0.0


@part
class lost_agreement:
    r"""Inside groups the reward no longer likes what the truth likes.

    `watch/agreement` is the correlation of reward and truth over the tries of a step, both less the mean of their group: what a
    group-relative advantage is made of. *Wrong way* (bad): its mean over the last `block` steps is below 0 with
    $p < \alpha$, and below `wrong`. *Falling* (warn): in some window, cut in the middle, it fell by `fall` or more with
    $p < \alpha/m$. A proxy that correlates with the truth under the first policy and ceases to is how Laidlaw et al. 2024
    (arXiv:2403.03185) define reward hacking; the thresholds are our own.
    """

    alpha: float = knob(default=0.001, gt=0.0, le=0.5)
    fall: float = knob(default=0.3, ge=0.0)
    wrong: float = knob(default=-0.1, le=0.0)
    block: int = knob(default=8, ge=3)
    longest: int = knob(default=256, ge=SHORTEST)

    def __call__(self, past: Past) -> list[RuleAlarm]:
        name = "watch/agreement"
        late = past.last(name, self.block)
        if len(late) < max(3, self.block // 2):
            return []
        wrong = from_zero(late)
        if wrong is not None and wrong.after < self.wrong and wrong.chance_of_fall() < self.alpha:
            message = (
                f"inside groups {past.proxy} prefers what the truth holds for worse: their correlation is {wrong.after:.2f}"
                f" over the last {min(self.block, past.count)} steps"
            )
            return [RuleAlarm("bad", message, fix_from(past.steps[-1] - self.block + 1), {"agreement": wrong.after})]
        lengths = [*windows(past.count, self.longest)]
        for window in lengths:
            change = halves(past, name, window)
            if change is not None and change.by <= -self.fall and change.chance_of_fall() < self.alpha / len(lengths):
                message = (
                    f"inside groups the correlation of {past.proxy} and truth fell from {change.before:.2f} to"
                    f" {change.after:.2f} within {window} steps"
                )
                numbers = {"agreement_before": change.before, "agreement_after": change.after, "window": float(window)}
                return [RuleAlarm("warn", message, fix_from(past.steps[-1] - window // 2 + 1), numbers)]
        return []

    def clearest(self, scene: Scene, finding: RuleAlarm) -> Tensor:
        """Paid more than their group and worth less, or the other way round."""
        return -scene.within(scene.proxy) * scene.within(TRUTH)


def _clearness(sighting: RuleAlarm) -> tuple[str, float]:
    """ "bad" before "warn", then the clearest."""
    return sighting.severity, sighting.numbers["p_reward"] * sighting.numbers["p_truth"]
