"""Names that earlier versions had. Each works for one version more, with a line that names the new one.

Public names and modules are in the tables here. A part declares `@part(was="old")`, a knob `knob(was="old")`, a method
`old = OldName("new")`.
`import guerdon` reads this file, so it imports very little.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

GONE_WITH = "0.4"  # the version that knows the new names alone

NAMES = {
    "guerdon.core.along.Along": "Reduction",
    "guerdon.core.along.HOW": "REDUCTIONS",
    "guerdon.core.errors.Told": "InputNote",
    "guerdon.credit.liking": "teacher_log_ratio",
    "guerdon.curricula.apart": "validation_problems",
    "guerdon.curricula.laps.Laps": "EpochSampler",
    "guerdon.curricula.recitals": "dataset_rows",
    "guerdon.envs.home_of": "default_env",
    "guerdon.envs.recital": "dataset_env",
    "guerdon.loop.once_more.once_more": "rerun",
    "guerdon.rewards.lines_played_on": "monte_carlo_labels",
    "guerdon.rewards.step_standing": "step_zscores",
    "guerdon.search.chosen_way": "chosen_path",
    "guerdon.search.grown": "sampled_tree",
    "guerdon.search.headed": "value_scorer",
    "guerdon.search.played_out": "monte_carlo_scorer",
    "guerdon.select.heard": "aggregate_followups",
    "guerdon.step_standing": "step_zscores",
    "guerdon.watch.sightings.Sighting": "RuleAlarm",
}
MOVED = {  # a module: those that it was before, or that went into it
    "cli.show": "cli.show_task cli.show_part",
    "core.gradient_passes": "core.exact core.pass_sizes",
    "core.task": "core.silent_tracks",
    "engine.batching": "engine.sampler",
    "audits.adversary.attack": "audits.adversary.attacking",
    "audits.auditing": "audits.reward.auditing loop.checking",
    "audits.contamination.probe": "audits.contamination.contamination_probe audits.contamination.separation",
    "audits.distances.mdp": "audits.distances.finite_mdp",
    "audits.distances.metrics": "audits.distances.canonical audits.distances.regret"
    " audits.distances.reward_distances audits.distances.sampled_rewards",
    "audits.distances.shaping": "audits.distances.paid_paths",
    "audits.scores.scoring": "audits.scores.scores_audit",
    "core.recipe": "core.idle_knobs",
    "core.statistics": "exams.statistics",
    "core.step_reductions": "core.along",
    "credit.baselines": "credit.batch_relative",
    "credit.group_relative": "credit.groups",
    "credit.mix": "credit.partial credit.teacher",
    "credit.restart_values": "credit.greedy",
    "credit.returns": "credit.sums",
    "credit.tree": "credit.prefix_tree",
    "curricula.bandits": "curricula.choosers curricula.signals",
    "curricula.demonstrations": "curricula.rows_to_recite curricula.solutions_to_recite",
    "curricula.plain": "curricula.laps curricula.sequences",
    "display.html": "core.html",
    "display.notebook": "core.batch_summary core.recipe_page loop.replay_page store.run_page",
    "display.reading.ask_groups": "studio.reading.ask_groups",
    "display.reading.episode_view": "studio.reading.episode_view",
    "display.reading.opened_steps": "studio.reading.opened_steps",
    "display.reading.token_pieces": "studio.reading.token_pieces",
    "display.reading.track_scores": "studio.reading.track_scores",
    "display.report": "store.report",
    "display.report.examples": "store.report.examples",
    "display.report.page": "store.report.page",
    "display.report.prompting": "store.report.prompting",
    "display.run.alarms": "studio.runs.alarms",
    "display.run.curve_titles": "store.report.chart_sections",
    "display.run.curves": "studio.runs.run_curves",
    "display.run.draws": "store.report.draws",
    "display.run.flow": "studio.runs.flow",
    "display.run.metric_curves": "store.report.metric_curves",
    "display.svg": "store.svg",
    "display.text": "store.report.rollout_view store.report.shown_numbers store.report.troubles store.report.views",
    "envs.default_envs": "envs.at_home",
    "envs.pages.page_site": "envs.pages.page_forms",
    "evidence.brief": "store.evidence_brief",
    "evidence.figure": "store.evidence_figure",
    "evidence.index": "store.evidence_index",
    "evidence.packed": "store.packed_evidence",
    "evidence.page": "store.evidence_page",
    "evidence.proof_files": "store.evidence",
    "evidence.words": "store.evidence_words",
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
    "models.chat": "models.encoded_turn",
    "models.logit_head": "models.top models.certainty",
    "recipes.audit.master_rm": "recipes.audit.master_rm.parts recipes.audit.master_rm.recipe",
    "recipes.audit.plan_rewardbench": "recipes.audit.plan_rewardbench.parts recipes.audit.plan_rewardbench.recipe",
    "recipes.audit.starc": "recipes.audit.starc.parts recipes.audit.starc.recipe",
    "recipes.code.reflexicoder": "recipes.code.reflexicoder.parts recipes.code.reflexicoder.recipe",
    "recipes.code.rest_rl": "recipes.code.rest_rl.parts recipes.code.rest_rl.recipe"
    " recipes.code.rest_rl.value_decoding",
    "recipes.curriculum.curricula_in_federated_learning": "recipes.curriculum.curricula_in_federated_learning.parts"
    " recipes.curriculum.curricula_in_federated_learning.recipe",
    "recipes.curriculum.curriculum_designer": "recipes.curriculum.curriculum_designer.parts"
    " recipes.curriculum.curriculum_designer.recipe",
    "recipes.curriculum.cyclical_curriculum_learning": "recipes.curriculum.cyclical_curriculum_learning.parts"
    " recipes.curriculum.cyclical_curriculum_learning.recipe",
    "recipes.curriculum.hbpo": "recipes.curriculum.hbpo.parts recipes.curriculum.hbpo.recipe",
    "recipes.curriculum.multi_domain_rlvr_study": "recipes.curriculum.multi_domain_rlvr_study.parts"
    " recipes.curriculum.multi_domain_rlvr_study.recipe",
    "recipes.curriculum.simplerl_zoo": "recipes.curriculum.simplerl_zoo.parts recipes.curriculum.simplerl_zoo.recipe",
    "recipes.process.fin_prm": "recipes.process.fin_prm.parts recipes.process.fin_prm.recipe",
    "recipes.process.intro": "recipes.process.intro.parts recipes.process.intro.recipe",
    "recipes.process.prime": "recipes.process.prime.parts recipes.process.prime.recipe",
    "recipes.process.rrm": "recipes.process.rrm.parts recipes.process.rrm.recipe",
    "recipes.process.t_reg": "recipes.process.t_reg.parts recipes.process.t_reg.recipe",
    "rewards.asking.calls": "rewards.asking.boxed_calls rewards.asking.own_loop",
    "rewards.formula.algebra": "rewards.formula.gates rewards.formula.metric_weight rewards.formula.rarity",
    "rewards.formula.scores": "rewards.asking.outcomes rewards.formula.where",
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
    "tasks.judging.judge_roles": "tasks.judging.closer_roles",
    "text.answers": "core.answer_text core.answer_votes",
    "training.api": "loop.going_on",
    "training.build": "loop.rows_in_words",
    "training.loop": "loop.training",
    "training.readings": "loop.text_rewards",
    "training.rehearsal": "loop.memory_needs",
    "training.resume": "loop.trained",
    "training.train_request": "loop.once_more loop.reruns",
    "watch.rule_alarms": "watch.sightings",
}
ROOMS = {  # modules that went from a room to another under their own names
    "core data": "call_formats",
    "loop envs": "gold_turns",
    "loop results": "exporting model_card run_traces",
    "loop runs": "early_rollouts",
    "loop training": "api build catalog default_model env_contract evaluate homes host onlooker readings record rehearsal"
    " remembering replay_credit replaying resume rollouts save_beside search_compared study"
    " train_request trust truth_column what_ran",
    "loop.compare results.compare": "as_page as_text comparison differences prompts run_arms settings words",
    "loop.proof prove": "arms claim_gates claim_results detached estimate failure_modes jobs judges known pilots proving"
    " records register rehearsing remaking setting_suite simulation student trial tuning verdict",
    "store evidence": "code_units identity record_files verdict_file",
    "store runs": "belonging checkpoint checksums end_notes event_types events folder headline label_files labels listeners"
    " loggers never_applied rollout_columns rollout_files rollout_table run run_config summary whole_files",
}
MODULES = {f"guerdon.{old}": f"guerdon.{new}" for new, many in MOVED.items() for old in many.split()}
for way, many in ROOMS.items():
    before, now = (f"guerdon.{room}" for room in way.split())
    MODULES.update({f"{before}.{name}": f"{now}.{name}" for name in many.split()})
PACKAGES = {name.rpartition(".")[0] for name in MODULES}  # some of which are gone with their modules
FILES = PACKAGES & set(MODULES.values())  # packages that are one file now


def current_module(module: str) -> str:
    """Where a module that is gone, such as `core.along`, is now: by the table, or the one file that a method's folder became.

    >>> current_module("core.along"), current_module("recipes.process.intro.parts"), current_module("core.gone")
    ('core.step_reductions', 'recipes.process.intro', 'core.gone')
    """
    new = MODULES.get(f"guerdon.{module}")
    if new is not None:
        return new.removeprefix("guerdon.")
    folder, _, last = module.rpartition(".")
    return folder if folder.startswith("recipes.") and last in ("recipe", "parts") else module


class Renamed(FutureWarning):
    """An old name was used. The command line prints it as one line."""


def say_renamed(old: str, new: str) -> None:
    warnings.warn(f"{old} is now {new}; {GONE_WITH} will not know the old name", Renamed, stacklevel=4)


def new_name(package: str, name: str) -> str:
    """What a public name of a package is called now: itself, unless it was renamed."""
    new = NAMES.get(f"{package}.{name}")
    if new is not None:
        say_renamed(f"{package}.{name}", f"{MODULES.get(package, package)}.{new}")
    return new or name


def old_names(module: str) -> Callable[[str], object]:
    """`__getattr__` of a module that has renamed what it holds."""

    def load(name: str) -> object:
        new = new_name(module, name)
        if new == name:
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        return getattr(sys.modules[module], new)

    return load


class OldName:
    """A method or a field of a class under the name it had: `recite = OldName("teacher_force")`."""

    def __init__(self, new: str, old: str = "") -> None:
        self.new, self.old = new, old

    def __set_name__(self, owner: type, name: str) -> None:
        self.old = name

    def __get__(self, x: object, owner: type) -> object:
        say_renamed(f"{owner.__name__}.{self.old}", self.new)
        return getattr(owner if x is None else x, self.new)

    def __set__(self, x: object, value: object) -> None:
        say_renamed(f"{type(x).__name__}.{self.old}", self.new)
        setattr(x, self.new, value)


class _FilesOfPackages:
    """Finds files that were packages; asked first, so that what was in the package can be asked for by its old name."""

    @classmethod
    def find_spec(cls, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name in FILES else None
        if spec is not None and spec.submodule_search_locations is None:
            spec.submodule_search_locations = []
        return spec


class _OldModules:
    """Finds modules, and packages that are gone, by their old names; asked after everything else."""

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name not in MODULES and name not in PACKAGES:
            return None
        return ModuleSpec(name, cls(), is_package=name in PACKAGES)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """A plain one."""

    def exec_module(self, module: ModuleType) -> None:
        new = MODULES.get(module.__name__)
        if new is None:
            return
        say_renamed(module.__name__, new)
        there = vars(importlib.import_module(new))
        vars(module).update({name: value for name, value in there.items() if not name.startswith("__")})
        module.__getattr__ = old_names(module.__name__)  # type: ignore[method-assign]


def find_old_modules() -> None:
    if _OldModules not in sys.meta_path:
        sys.meta_path[:] = [_FilesOfPackages, *sys.meta_path, _OldModules]
