"""Modules by the paths of 0.2: an import from an old path works for one more version, with a line that names the new one.

Leaves out: names that are offered by a front door (`gd.credit.centre`), which never say where they stand.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from types import ModuleType
from typing import Any

OLD = {  # the path now: the paths before
    "audits.adversary.attack": "audits.adversary.attacking",
    "audits.auditing": "audits.reward.auditing loop.checking",
    "audits.contamination.probe": "audits.contamination.contamination_probe",
    "audits.distances.mdp": "audits.distances.finite_mdp",
    "audits.distances.metrics": "audits.distances.regret audits.distances.reward_distances"
    " audits.distances.sampled_rewards",
    "audits.distances.shaping": "audits.distances.paid_paths",
    "audits.scores.scoring": "audits.scores.scores_audit",
    "credit.baselines": "credit.batch_relative",
    "credit.group_relative": "credit.groups",
    "credit.mix": "credit.partial credit.teacher",
    "credit.restart_values": "credit.greedy",
    "credit.returns": "credit.sums",
    "credit.tree": "credit.prefix_tree",
    "curricula.bandits": "curricula.choosers curricula.signals",
    "curricula.demonstrations": "curricula.rows_to_recite curricula.solutions_to_recite",
    "curricula.plain": "curricula.laps curricula.sequences",
    "exams.rates": "exams.answer_costs",
    "exams.rewards_given": "exams.games",
    "exams.scorers": "exams.measures exams.recited_answers",
    "exams.tries": "exams.tried_problems",
    "judges.answerer": "judges.spending",
    "judges.judging": "judges.wording",
    "losses.imitation": "losses.degrees losses.row_weights",
    "losses.pair": "losses.ranking",
    "losses.penalties": "losses.kl_in_reward",
    "losses.policy": "losses.old_policy losses.spread",
    "rewards.asking.calls": "rewards.asking.boxed_calls rewards.asking.own_loop",
    "rewards.formula.algebra": "rewards.formula.gates rewards.formula.metric_weight rewards.formula.rarity",
    "rewards.formula.scores": "rewards.formula.where",
    "rewards.model.confidence": "rewards.model.perplexity",
    "rewards.model.reward_models": "rewards.model.both_directions rewards.model.implicit_reward",
    "rewards.stage.placing": "rewards.stage.environment_pay",
    "rewards.stage.step_labels": "rewards.stage.labels_in_rows rewards.stage.line_marks"
    " rewards.stage.rollout_labels rewards.stage.step_truth",
    "rewards.text.overlap": "rewards.text.code_overlap rewards.text.extracting",
    "rewards.text.programs": "rewards.text.passed_tests rewards.text.program_reward",
    "rewards.text.queries": "rewards.text.sql_partial_rewards rewards.text.sql_reward",
    "rewards.text.task_checks": "rewards.text.episode_facts rewards.text.exact_lines"
    " rewards.text.form_reward rewards.text.plain_maths_reward",
    "search.line_tree": "search.chosen_tracks",
    "search.whole_answers": "search.revising search.voting",
    "select.filters": "select.again select.shares select.step_filters",
    "select.pairs": "select.sibling_pairs",
}
MOVED = {f"guerdon.{old}": f"guerdon.{now}" for now, many in OLD.items() for old in many.split()}
GONE = {path.rpartition(".")[0] for path in MOVED}  # packages that may have gone with them


class _OldPaths:
    """Finds modules that nobody else does, by the paths that they had."""

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in MOVED and name not in GONE:
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, cls(), is_package=name in GONE)  # type: ignore[arg-type]

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        now = MOVED.get(module.__name__)
        if now is None:
            return
        say_renamed(module.__name__, now)
        there = vars(importlib.import_module(now))
        vars(module).update({name: value for name, value in there.items() if not name.startswith("__")})


def say_renamed(old: str, now: str) -> None:
    """The line about an old name, at the line that used it."""
    from guerdon.core.errors import Notice

    warnings.warn(f"{old} is {now} now; the old name goes with the next version", Notice, stacklevel=3)


def keep_old_paths() -> None:
    """Once for a process."""
    if _OldPaths not in sys.meta_path:
        sys.meta_path.append(_OldPaths)
