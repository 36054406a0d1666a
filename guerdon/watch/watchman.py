"""The watchman: receives every step, evaluates every rule, and raises an alarm when one begins to hold.

An alarm is raised once, and again after the rule was quiet for a while or where it has become worse. What rules find depends on
the numbers of the steps alone, so a run resumed from a checkpoint gets its past again and then raises the same alarms as an
unbroken run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError, unknown
from guerdon.core.part import is_part, knobs, label
from guerdon.runs.event_types import Alarmed, Event, StepDone
from guerdon.watch.gap_rules import lost_agreement, proxy_gap
from guerdon.watch.past_steps import Past
from guerdon.watch.policy_rules import entropy_collapse, far_from_start, off_policy
from guerdon.watch.reward_rules import dominant_part, flat_groups, rising_failures, spread_collapse
from guerdon.watch.rule_alarms import SEVERITIES, Rule, RuleAlarm, Scene
from guerdon.watch.text_rules import identical_tries, length_drift, repeated_text

QUIET = 10  # steps in which a rule finds nothing before it may raise the same alarm again
RULES: dict[str, Any] = {
    label(rule): rule
    for rule in (
        *(proxy_gap, lost_agreement, dominant_part, spread_collapse, entropy_collapse, length_drift, repeated_text),
        *(identical_tries, rising_failures, flat_groups, off_policy, far_from_start),
    )
}


class Watchman:
    """Watches one run by some rules, all of them by default."""

    def __init__(self, rules: Sequence[Rule] | None = None) -> None:
        self.rules = [made() for made in RULES.values()] if rules is None else [*rules]
        self.past = Past()
        self.holding: dict[tuple[str, str], tuple[int, int]] = {}  # by rule and subject: last step, worst severity

    def hear(self, events: Iterable[Event], before: int) -> None:
        """The steps of a run before the one at which it resumes: their alarms were raised then."""
        for event in events:
            if isinstance(event, StepDone) and event.step < before:
                self.take(event.step, event.metrics)

    def take(self, step: int, metrics: Mapping[str, Any], batch: Batch | None = None) -> list[Alarmed]:
        """A step is done: the alarms that it raises, the worst first, with the rollouts that show them, of the `batch` that was
        played in it."""
        self.past.add(step, metrics)
        raised = []
        for rule in self.rules:
            for finding in rule(self.past):
                if self._is_news(step, label(rule), finding):
                    raised.append((rule, finding))
        scene = Scene(batch.to("cpu")) if raised and batch is not None else None
        alarms = [_alarm(step, rule, finding, scene) for rule, finding in raised]
        return sorted(alarms, key=lambda alarm: SEVERITIES.index(alarm.severity))

    def _is_news(self, step: int, rule: str, finding: RuleAlarm) -> bool:
        rank = SEVERITIES.index(finding.severity)
        last, worst = self.holding.get((rule, finding.about), (step - QUIET - 1, len(SEVERITIES)))
        is_over = step - last > QUIET
        self.holding[rule, finding.about] = (step, rank if is_over else min(rank, worst))
        return is_over or rank < worst


def _alarm(step: int, rule: Rule, finding: RuleAlarm, scene: Scene | None) -> Alarmed:
    shown = [] if scene is None or scene.batch.K == 0 else scene.rollouts(rule.clearest(scene, finding))
    return Alarmed(
        step,
        rule=label(rule),
        severity=finding.severity,
        about=finding.about,
        message=finding.message,
        fix=finding.fix,
        numbers=dict(finding.numbers),
        rollouts=shown,
    )


def check_rules(rules: Any) -> None:
    """Refuse what is not a list of rules."""
    for rule in rules if isinstance(rules, list | tuple) else [rules]:
        if not is_part(rule) or label(rule) not in RULES:
            raise UserError(f"watch is True, False or rules of guerdon.watch ({', '.join(RULES)}), not {rule!r}")


def rules_to_config(rules: Sequence[Rule]) -> list[dict[str, Any]]:
    """Rules as a run.json holds them."""
    return [{"rule": label(rule), **knobs(rule)} for rule in rules]


def rules_of_config(written: Sequence[Mapping[str, Any]]) -> tuple[Rule, ...]:
    for each in written:
        if not isinstance(each, Mapping) or each.get("rule") not in RULES:
            raise unknown("rule in run.json", str(each.get("rule") if isinstance(each, Mapping) else each), RULES)
    return tuple(RULES[each["rule"]](**{k: v for k, v in each.items() if k != "rule"}) for each in written)
