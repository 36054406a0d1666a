"""Fin-PRM: lines labelled by what they lead to and by the rules of the domain, whole answers also by the facts they state."""

from __future__ import annotations

from math import e, nan

import torch
from harness import Mechanism, World, made, small_model
from pools import HandRun
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.recipes.process import scored_uses
from guerdon.recipes.process.fin_prm import known_labels, stated

FAMILY = gd.tasks.load("chain:2")
TASK = FAMILY.get("train", 0)
FACTS = FAMILY.solution(TASK).split("\n")  # two steps and the answer


def column(level, values):
    value = torch.tensor(values)
    return Column(level, value, torch.where(value.isnan(), int(Reason.NOT_APPLICABLE), 0).to(torch.int8))


def labels(texts, importance, accuracy, correct=(), **knobs):
    """Labels of steps and of answers; below each answer hangs what a judge said, right (9) by what nobody asks."""
    n = len(importance) // len(texts)
    segments = [(segment([0] * n, text=text), segment((), role="judge", parent=0, text=FACTS[0])) for text in texts]
    batch = pack([episode(*pair, ask=gd.Ask(TASK), attempt=i) for i, pair in enumerate(segments)])
    batch = batch.with_cols({"importance": column("step", importance), "accuracy": column("step", accuracy)})
    right = [each for one in correct or [nan] * len(texts) for each in (one, 9.0)]
    stage = next(each for each in recipe(**knobs).stages if isinstance(each, known_labels))
    made_of = stage(batch.with_cols({"correct": column("track", right)}), ExamplePlay())
    assert made_of["whole"][1::2].tolist() == [9.0] * len(texts)
    return [made_of["labels"], made_of["whole"][::2]]


def recipe(**knobs):
    return made("fin-prm", "chain:2", small_model(), **knobs)


def composed(made_of):
    drawn = [made_of.sampling, made_of.curriculum.tries, made_of.prompts, made_of.steps, made_of.seats]
    return [
        *map(repr, [*made_of.stages, drawn, list(made_of.models), made_of.models["prm"].value]),
        *map(repr, made_of.exams),
    ]


def studied(**knobs):
    """The runs of a study: how the scorer is taught, then the stages, models and drawing of the last run."""
    run = HandRun()
    recipe(**{**KNOBS, **knobs}).body(run, 0)
    *teaching, (last, budget) = run.trained
    drawn = [last.sampling, last.curriculum.tries, last.prompts, last.seats]
    models = {name: each for name, each in last.models.items() if name == "prm"}
    exams = [repr(exam) for exam in last.exams]
    return [
        [[len(t.stages), t.exams, repr(b)] for t, b in teaching],
        *map(repr, [*last.stages, drawn, models, budget]),
        exams,
    ]


def by_any(use):
    """How many runs there are, and the learner and the models of the last, where tries are taken by lot."""
    run, model = HandRun(), small_model()
    study = scored_uses.used(use, recipe(), FAMILY, model, share=0.3, whole=1.0, lr=0.2, by="any")
    study.body(run, 0)
    last, _ = run.trained[-1]
    return [len(run.trained), repr(last.stages.learners[0]), list(last.models)]


def of_facts(**knobs):
    """How much better a wrong answer is labelled that states three needed facts of four than one that states none."""
    _, (some, none) = labels(["\n".join([*FACTS[:3], "= 9"]), "1+1=3\n= 9"], [nan] * 4, [nan] * 4, (0.0, 0.0), **knobs)
    return float(some - none)


def mixed(a, b):
    return (a * e**a + b * e**b) / (e**a + e**b)


KNOBS = {"rollouts": 3, "coverage": 0.5, "whole": 0.5, "prompts": 3, "tries": 5, "lr": 0.1, "temperature": 0.5}
KNOBS |= {"max_tokens": 7, "exam_tasks": 9, "steps": 11, "policy_lr": 0.2, "share": 0.3}
LINES = "process_model(aggregate='steps')"
RANK = "blended(terms={'process_model': process_model(aggregate='mean'), 'process_model_2': "
RANK += "weighted(reward=process_model(aggregate='last'), by=0.5)})"
FARM = f"Exam(source={{}}, metrics=[farmed(reward={LINES})], name='steps', tasks=64, tries=1)"
CHAIN, TRUTH = "chain(level=2)", "verified(task=chain(level=2))"
DRAWN = "[Sampling(temperature=0.5, max_tokens=7), 5, 3, {{'policy': '{}'}}]"
TAUGHT = [[5, [], "Budget(amount=11, unit='steps')"]]
PAID = "{'correct': weighted(reward=reward(function=correct, isolate=False), by=0.7), 'blend': weighted(reward="

mechanism = Mechanism(
    "fin-prm",
    source="arXiv:2508.15202: r_step = sum of softmax(r_k) r_k; outcome and |K_y| / |K_x|, how they are weighed being ours",
    also=[scored_uses],
    numbers={
        "a step's label": (
            lambda: labels(
                ["", "\n".join(FACTS)],
                [1.0, 0.5, nan, 0.2, 0.0, 0.3, 1.0, 1.0],
                [1.0, 1.0, nan, 1.0, 0.0, nan, 1.0, 0.0],
                (1.0, 0.0),
            ),
            [[1.0, mixed(0.5, 1.0), nan, nan, 0.0, 0.3, 1.0, nan], [0.75, 0.25]],
        ),
        "half of a whole answer's": (
            lambda: labels([FACTS[1]], [nan], [1.0], (1.0,), coverage=0.5),
            [[nan], [0.5 + 0.125]],
        ),
        "of an answer that nobody checked": (lambda: labels(["x"], [nan], [nan]), [[nan], [nan]]),
        "facts in any order": (
            lambda: [
                stated(*each) for each in (("b\n a\nc", "a\n\nb "), ("b", "a\nb\nc"), ("", "a"), ("a", ""), ("a", "a"))
            ],
            [1.0, 1 / 3, 0.0, 0.0, 1.0],
        ),
        "the highest counts most": (
            lambda: scored_uses.softly_mixed(torch.tensor([1.0, nan, 0.0])),
            mixed(1.0, 0.0),
        ),
        "composed": (
            lambda: composed(recipe(**KNOBS)),
            [
                *(TRUTH, f"line_labels(task={CHAIN}, gives_to='accuracy')"),
                f"monte_carlo_labels(score={TRUTH}, tries=3, soft=True, gives_to='importance')",
                f"known_labels(task={CHAIN}, coverage=0.5)",
                "Learn(model='prm', loss=total(terms=[step_labels(), outcome(target='whole', kind='logistic', weight=0.5)]),"
                " opt=adam(lr=0.1))",
                "[Sampling(temperature=0.5, max_tokens=7), 5, 3, 11, {'policy': 'author'}]",
                *("['prm', 'author']", "True"),
                f"Exam(source={CHAIN}, metrics=[accuracy(), best_of(reward={RANK})], name='choice', tasks=9, tries=4)",
                f"Exam(source={CHAIN}, metrics=[sound(), judged_steps(reward={LINES}), farmed(reward={LINES})],"
                " env=single_turn(), name='steps', tasks=128, tries=1)",
            ],
        ),
        "taught on another domain": (
            lambda: [composed(recipe(taught_on="addition:1"))[at].split("task=")[1][:8] for at in (0, 1, 3)],
            ["addition"] * 3,
        ),
        "of lines alone, by squares": (
            lambda: [
                repr(scored_uses.taught_at_both(kind, weight)) for kind, weight in (("logistic", 0.0), ("square", 0.5))
            ],
            ["step_labels()", "total(terms=[step_values(), whole_value(weight=0.5)])"],
        ),
        "where lines are not judged": (
            lambda: repr(scored_uses.scorer_exams(FAMILY, 1.0, 9, judged=False)[1]),
            FARM.format(CHAIN),
        ),
        "in a policy's reward": (
            lambda: studied(use="mix"),
            [
                *(TAUGHT, TRUTH, f"score(reward=blended(terms={PAID}{RANK}, by=0.3)}}))", "centre()"),
                "Learn(model='policy', loss=clipped(), opt=adam(lr=0.2))",
                *(DRAWN.format("policy"), "{'prm': 'prm 1'}", "'all of it'", [f"Exam(source={CHAIN})"]),
            ],
        ),
        "imitating any tries, which no scorer chooses": (
            lambda: [by_any("select"), by_any("mix")[0]],
            [
                [
                    1,
                    "Learn(model='policy', loss=sft(), on=top_share(column='', share=0.3), opt=adam(lr=0.2))",
                    ["policy", "author"],
                ],
                2,
            ],
        ),
        "in choosing tries to imitate": (
            lambda: studied(use="select"),
            [
                *(TAUGHT, TRUTH, f"score(reward={RANK})"),
                "Learn(model='policy', loss=sft(), on=top_share(share=0.3), opt=adam(lr=0.2))",
                *(DRAWN.format("author"), "{'prm': 'prm 1'}", "'all of it'"),
                [f"Exam(source={CHAIN}, seats={{'policy': 'policy'}})"],
            ],
        ),
    },
    world=World(
        says="no try finds the answer: one that states three facts of four is labelled better than one that states none",
        measure=of_facts,
        off={"coverage": 0.0},
        moves=0.15,
    ),
    equal={
        "known_labels.__call__: -1 -> 1": "two rows of numbers are stacked along their second axis, which is the last",
        "known_labels.__call__: ends[-1:] shuffled": "the last line is one",
    },
)
