"""Which algorithm is which combination: the chart of the reference.

Read off the house recipes as they are built. Written by hand is `NAMED` alone, the algorithms that have no recipe in the
house; each of those is built too, so a formula that no longer can be is found out.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterable, Mapping
from typing import Any

from guerdon.core.learn import Learn
from guerdon.core.part import describe, is_part, label, walk
from guerdon.core.recipe import Recipe
from guerdon.training.build import RunRequest, build
from guerdon.training.catalog import find_recipe, listings
from pages.prose import linked, row

Built = dict[str, list[tuple[dict[str, str], Recipe]]]  # a recipe's name: the knobs that were set, and what came of it
METHODS = "methods"  # where the site has the pages of recipes
STAND_IN: dict[str, Any] = {
    "task": "countdown",
    "model": "sprig",
}  # it has worked solutions, near-misses and ways to search; it can grow a head
VARIANTS: dict[str, list[dict[str, str]]] = {  # what a knob makes another algorithm of
    "dapo": [{}, {"overlong": "leave_out"}],
    "distill": [{"teacher": "sprig"}],
    "grpo": [{}, {"kl": "0.04"}],
    "ppo": [{}, {"kl": "0.05"}],
    "reinforce_pp": [{}, {"baseline": "true"}],
    "rloo": [{}, {"kl": "0.05"}],
}
PAID = "correct"  # the column that is learned from where no reward is given
SILENT = {"teacher"}  # knobs that a recipe cannot do without and that say nothing about it
NAMED = [  # algorithms without a recipe in the house: credit, loss, and what the two do not say
    ("GRPO with process rewards", 'centre("process", gives_to="standard"), reward_to_go("standard", gives_to="advantage")', "clipped()", "`process` applies only to the ends of steps"),
    ("GDPO", 'separately(("correct", "style")), whiten()', "clipped()", ""),
    ("GiGPO", 'centre(gives_to="among_tries"), mixed(("among_tries", "among_steps"))', "clipped()", "a step advantage among similar states needs your own stage"),
    ("OPO", "weighted_baseline()", "", ""),
    ("PKPO", "best_of_k()", "", ""),
    ("SPIRAL", "role_baseline()", "", "self-play: both seats on one policy"),
    ("VinePPO", "restarts(score)", "", "`score` is the stage that scores the tries"),
    ("tree search, siblings compared", 'centre(by="parent")', "", "or `prefix_gain()`"),
    ("SPO-tree", 'prefix_gain(mean="child", once=True)', 'clipped(mean="step")', "a tree by `search.sampled_tree`, trained on where steps are `unlikely`"),
    ("SPO-chain", "restarts(score, every=5, below=0.9)", 'clipped(mean="step")', "likewise"),
    ("TEMPO", "branch_gain()", "clipped()", ""),
    ("attention-based credit", 'redistribute(weights="attention"), reward_to_go()', "", "the weights are a column that a stage reads from a reward model"),
    ("unbiased turn-level credit", 'reward_to_go(per="turn"), turn_baseline()', "", ""),
    ("PPO with a clipped critic", "gae(), whiten()", 'value(clip=0.2, old="critic.value")', "the critic's loss; the policy's is PPO's"),
    ("dual-clip PPO", "gae(), whiten()", 'clipped(dual=3.0, mean="step")', ""),
    ("truncated importance sampling", "", "clipped(old=truncated(3.0))", '`level="track"` for whole tracks'),
    ("masked importance sampling", "", "clipped(old=masked(0.5, 3.0))", '`level="track"` for whole tracks'),
    ("negative-sample reinforcement (W-REINFORCE)", "", "by_sign(clipped(), positive=0.1)", ""),
    ("advantage-weighted regression", "", "advantage_weighted()", ""),
    ("cDPO", "", "dpo(smoothing=0.1)", "or soft labels in the pairs"),
    ("IPO", "", 'dpo(link="square", per="step")', "TRL's form; the paper's formula is `per=\"track\"`"),
    ("SLiC (hinge)", "", 'dpo(1.0, link="hinge")', ""),
    ("SimPO", "", 'dpo(2.0, to="", per="step", margin=1.0)', ""),
    ("robust DPO", "", "dpo(flips=0.1)", "flips: the share of labels that are"),
    ("EXO", "", 'dpo(link="reverse", smoothing=0.001)', "for two answers"),
    ("DiscoPOP", "", 'dpo(link="discopop")', ""),
    ("APO", "", 'anchored("apo_zero")', "or apo_down"),
    ("NCA", "", 'anchored("nca")', "for two answers"),
    ("BCO", "", 'anchored("bco")', "without its shift"),
    ("SPPO", "", 'anchored("sppo")', "with hard labels"),
    ("ODPO", "", "dpo(offset=1.0)", "with margins in the pairs"),
    ("LiPO-lambda", "", "list_ranking(adapt=0.0)", "lists are the tracks of an episode"),
    ("CPO", "", 'dpo(to="") + better_nll()', ""),
    ("ORPO", "", "odds_ratio(0.1) + better_nll()", ""),
    ("outcome verifier", "", 'outcome("correct", kind="logistic")', "a model with a value head"),
    ("implicit PRM, PRIME's", "", "implicit_outcome(0.05)", "the log-ratio of a step is then a process reward"),
    ("on-policy distillation from sampled tokens", "", 'kl(1.0, to="teacher", kind="k2")', 'or in the reward, `kl_cost(1.0, to="teacher")`'),
    ("GKD: forward, reverse, Jensen-Shannon", "", "distilled(0.0), distilled(1.0), distilled(0.5)", "off-policy on teacher-forced tracks, on-policy on the student's own"),
]  # fmt: skip


def house() -> list[str]:
    return sorted(name for name, listing in listings().items() if listing.family == "house")


def built_recipes() -> Built:
    """Every house recipe as it comes and with the knobs of `VARIANTS`, for a task and a model that stand in."""
    found: Built = {}
    for name in house():
        entry = find_recipe(name)
        given = {slot: value for slot, value in STAND_IN.items() if slot in entry.parameters()}  # control has its own
        for settings in VARIANTS.get(name, [{}]):
            made = build(RunRequest(entry, **given, settings=settings, text=True)).recipe
            assert isinstance(made, Recipe), f"{name} is a study: the chart shows compositions"
            found.setdefault(name, []).append((settings, made))
    return found


def chart_page(recipes: Built, parts: Mapping[str, type]) -> str:
    lines = ["# Which algorithm is which combination", ""]
    lines += [
        "The first table is generated from the house recipes, with default knobs unless stated.",
        "",
    ]
    lines += ["## House recipes", ""]
    lines += [
        "| recipe | paper | credit | loss | trained on | updates | what else |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, made in recipes.items():
        for settings, recipe in made:
            lines.append(recipe_row(name, settings, recipe))
    lines += [
        "",
        "The task's own checker always scores the tries too; without a reward, that score is the reward, and its"
        " column `correct` is not repeated above. *Updates*: optimiser steps on one batch of tries.",
        "",
    ]
    lines += [
        "## Others",
        "",
        "Combinations without a house recipe; each formula below is built when this page is generated. An empty cell: any choice works. Papers: on the parts' pages.",
        "",
    ]
    lines += ["| algorithm | credit | loss | what else |", "| --- | --- | --- | --- |"]
    names: dict[str, Any] = dict(parts)
    names["score"] = types.SimpleNamespace(needs=(), gives=("reward",))
    for algorithm, credit, loss, note in NAMED:
        for formula in filter(None, (credit, loss)):
            eval(formula, dict(names))
        lines.append(row([algorithm, *(f"`{half}`" if half else "" for half in (credit, loss)), note]))
    return "\n".join(lines) + "\n"


def recipe_row(name: str, settings: Mapping[str, str], recipe: Recipe) -> str:
    knobs_set = {k: v for k, v in settings.items() if k not in SILENT}
    title = f"[{name}](../{METHODS}/{name}.md)" + "".join(f", `{k}={v}`" for k, v in knobs_set.items())
    learners = [s for s in recipe.stages if isinstance(s, Learn)]
    scores = [s for s in recipe.stages if folder_of(s) == "rewards"]
    given = {
        id(x)
        for x in (
            recipe.curriculum,
            *(e.source for e in recipe.exams),
            *scores,
            *(p for s in scores for _, p in walk(s)),
        )
    }
    others = [s for s in recipe.stages if s not in learners and s not in scores]
    chosen = [s for s in others if folder_of(s) == "select"]
    credit = [s for s in others if s not in chosen]
    kept = [f for learner in learners for f in getattr(learner.on, "filters", [learner.on]) if f is not None]

    def said(stages: Iterable[Any]) -> str:
        return ", ".join(f"`{formula(s, given)}`" for s in stages)

    losses = [("" if x.model == "policy" else f"{x.model}: ") + f"`{formula(x.loss, given)}`" for x in learners]
    updates = sorted({learner.updates * learner.epochs for learner in learners})
    return row(
        [
            title,
            linked(listings()[name].paper),
            said(credit),
            "; ".join(losses),
            said([*chosen, *kept]),
            ", ".join(map(str, updates)),
            else_of(recipe, scores, given),
        ]
    )


def else_of(recipe: Recipe, scores: Iterable[Any], given: set[int]) -> str:
    """Where problems, tries, rewards or models are not what most recipes have."""
    found = []
    if label(recipe.curriculum) != "uniform":
        found.append(f"asks `{formula(recipe.curriculum, given)}`")
    if label(recipe.env) != "single_turn":
        found.append(f"plays `{formula(recipe.env, given)}`")
    found += [f"scores `{formula(s, set())}`" for s in scores if label(s) != "verified"]
    others = [name for name in recipe.models if name not in ("policy", "reference")]
    if others:
        found.append(f"models {', '.join(f'`{name}`' for name in others)}")
    return "; ".join(found)


def folder_of(stage: Any) -> str:
    return type(stage).__module__.split(".")[1]


def formula(x: Any, given: set[int]) -> str:
    """A part as a user would write it, without what the recipe's user gives: the task, the curriculum, the scores."""
    if isinstance(x, list | tuple):
        inner = ", ".join(formula(v, given) for v in x)
        return f"[{inner}]" if isinstance(x, list) else f"({inner})"
    if isinstance(x, dict):
        return "{" + ", ".join(f"{k}: {formula(v, given)}" for k, v in x.items()) + "}"
    if not is_part(x):
        return f"{x:g}" if isinstance(x, float) else getattr(x, "__name__", None) or repr(x).replace("'", '"')
    if label(x) == "total":
        return " + ".join(formula(term, given) for term in x.terms)
    shown = []
    for f in dataclasses.fields(x):
        value = getattr(x, f.name)
        if (
            not f.init
            or f.name in ("task", "curriculum", "scores")
            or (f.name in ("reward", "column") and value == PAID)
        ):
            continue
        usual = f.default_factory() if f.default_factory is not dataclasses.MISSING else f.default
        if id(value) in given:
            shown.append(label(value))
        elif usual is dataclasses.MISSING or describe(value) != describe(usual):
            shown.append(f"{f.name}={formula(value, given)}")
    return f"{label(x)}({', '.join(shown)})"
