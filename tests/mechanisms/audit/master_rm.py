"""Master-RM: a judge with a reference is also taught to say no to answers that are cut after their first line."""

from __future__ import annotations

import random

from harness import Mechanism, World, made, small_model

import guerdon as gd
from guerdon.exams.example_sitting import example_sitting
from guerdon.recipes.audit.master_rm import (
    KEYS,
    OPENERS,
    cut,
    false_positives,
    judged_candidates,
    keyed,
    opened,
)
from guerdon.tasks.role_wordings import REFERENCED

CHAIN = gd.tasks.load("chain:2")
MIXED = gd.tasks.load("chain:1+addition:1")
NO = "? -\n= no"


def items(number=60, source=CHAIN, part=judged_candidates, split="train", **knobs):
    """Tasks of a judge, with the problem, the reference and the candidate of each."""
    tasks = [part(source, **knobs).get(split, i) for i in range(number)]
    return [(task, source.get(split, i), *task.prompt.split("\n", 3)[1:]) for i, task in enumerate(tasks)]


def in_plain_words(problem, reference, candidate, reply):
    """What a model is shown that does not know sprig's roles, what it should say, and whether two replies are right."""
    source = judged_candidates(CHAIN, wording=REFERENCED.plain)
    task = source.asked(gd.Task("0", problem, reference), candidate, reply, "of")
    return [task.prompt, task.answer, source.check(task, "It is not.\n**Verdict:** No."), source.check(task, "= yes")]


def right_items(**knobs):
    """Whether verdicts are the checker's, and all else the problem's; how often they are yes or begin with an opener."""
    every = items(**knobs)
    same = [
        [problem, reference] == [base.prompt, f"reference {base.answer}"]
        and task.answer.split("\n")[-1] == ("= yes" if CHAIN.check(base, candidate) == 1.0 else "= no")
        and [task.id, task.level, task.meta, task.family]
        == [base.id, base.level, base.meta, judged_candidates(CHAIN).name]
        for task, base, problem, reference, candidate in every
    ]
    yes = sum(task.answer.endswith("= yes") for task, *_ in every) / len(every)
    opens = sum(candidate.startswith(OPENERS) for *_, candidate in every) / len(every)
    return [all(same), 0.35 < yes < 0.65, 0.35 < opens < 0.65]


def cut_share(cuts):
    """How often an item is cut, and whether it is the same but for that."""
    both = list(zip(items(100), items(100, cuts=cuts), strict=True))
    shorter = [(a, b) for a, b in both if a != b]
    same = all(b[0].answer == NO and b[4] == a[4].split("\n")[0] for a, b in shorter)
    return [len(shorter) / len(both), same]


def keys():
    every = items(150, part=keyed, split="test")
    kinds = {key: kind for kind, some in KEYS.items() for key in some}
    same = [
        task.family == kinds[key] and task.id == base.id and task.level == base.level for task, base, _, _, key in every
    ]
    return [all(same), {task.answer for task, *_ in every} == {NO}, {key for *_, key in every} == set(kinds)]


def said_yes(*replies, kinds=("symbols", "symbols", "openers")):
    sitting = example_sitting([[reply] for reply in replies], answer="no")
    for episode, kind in zip(sitting.batch.episodes, kinds, strict=True):
        object.__setattr__(episode.ask.task, "family", kind)
    return false_positives()(sitting)


def composed(**knobs):
    made_of = made("master-rm", "chain:2", small_model(), **knobs)
    return [
        repr(made_of.curriculum),
        made_of.prompts,
        made_of.steps,
        repr(made_of.stages.learners[0].opt),
        *map(repr, made_of.exams),
    ]


def taught_no(**knobs):
    """Of what a judge learns from, the share that has no answer in it and is a no."""
    source = made("master-rm", "chain:2", small_model(), **knobs).curriculum.task
    tasks = [source.get("train", i) for i in range(200)]
    return sum("= " not in task.prompt.split("\n", 3)[3] and task.answer == NO for task in tasks) / len(tasks)


def checked():
    """A judge is right if it says the verdict, whatever it says before."""
    source, (task, *_) = judged_candidates(CHAIN), items(1)[0]  # a right one
    replies = ["= yes", "so\n= yes", "= no", "well"]
    return [
        [source.check(task, each), source.check_track(task, {"completion": each})] for each in replies
    ], source.solution(task)


def of_a_mixture():
    return [task.answer.split("\n")[-1] == ("= yes" if MIXED.check(base, candidate) == 1 else "= no")
            for task, base, _, _, candidate in items(12, MIXED)]  # fmt: skip


SOURCE, HOW = "source=chain(level=2)", "env=single_turn(), sampling=Sampling(temperature=0.0, max_tokens=7)"
KNOBS = {"cuts": 0.2, "right": 0.4, "prompts": 3, "lr": 0.1, "max_tokens": 7, "exam_tasks": 9, "steps": 11}

mechanism = Mechanism(
    "master-rm",
    source="arXiv:2507.08794, section 3: first sentences labelled NO, 20,000 of 180,000; the ten keys of its table 1",
    numbers={
        "what a judge is shown": (
            lambda: [
                judged_candidates(CHAIN).asked(gd.Task("0", "7 +5", "12"), "= 12", "= yes", "of").prompt,
                *in_plain_words("7 +5", "12", "= 13", "7+5=12 +\n= no"),
            ],
            [
                "verify\n7 +5\nreference 12\n= 12",
                REFERENCED.plain.format(question="7 +5", reference="12", answer="= 13"),
                *("Verdict: no", 1.0, 0.0),
            ],
        ),
        "the first line": (lambda: [cut("Let us see.\n7+5=12\n= 12"), cut(":")], ["Let us see.", ":"]),
        "every other one has an opener": (
            lambda: (
                [opened("= 1", random.Random(seed)).split("\n")[-1] for seed in range(9)]
                + sorted({opened("= 1", random.Random(seed)).split("\n")[0] for seed in range(99)})
            ),
            ["= 1"] * 9 + sorted([*OPENERS, "= 1"]),
        ),
        "verdicts are the checker's": (right_items, [True, True, True]),
        "of a mixture": (of_a_mixture, [True] * 12),
        "all right, or none": (
            lambda: [{task.answer[-3:] for task, *_ in items(9, right=share)} for share in (1.0, 0.0)],
            [{"yes"}, {" no"}],
        ),
        "what a judge is right by": (
            checked,
            [[[1, 1], [1, 1], [0, 0], [0, 0]], "5*2=10 +\n10-3=7 +\n7-2=5 +\n= 5 +\n= yes"],
        ),
        "the ten keys": (keys, [True, True, True]),
        "none is cut, some, all": (
            lambda: [cut_share(0.0), 0.2 < cut_share(0.3)[0] < 0.4, cut_share(0.3)[1], cut_share(1.0)],
            [[0.0, True], True, True, [1.0, True]],
        ),
        "false positives": (
            lambda: said_yes("= yes", "= no", "well"),
            {
                "false_positives": 1 / 3,
                "false_positives_openers": 0.0,
                "false_positives_symbols": 1 / 2,
                "unread": 1 / 3,
            },
        ),
        "composed": (
            lambda: composed(**KNOBS),
            [
                f"worked(task=judged_candidates({SOURCE}, cuts=0.2, right=0.4), tries=1)",
                *(3, 11, "adam(lr=0.1)"),
                f"Exam(source=judged_candidates({SOURCE}), metrics=[accuracy()], {HOW}, name='judge', tasks=9, tries=1)",
                f"Exam(source=keyed({SOURCE}), metrics=[false_positives()], {HOW}, name='keys', tasks=9, tries=1)",
                f"Exam(source=judged_candidates({SOURCE}, cuts=1.0), metrics=[false_positives()], {HOW}, name='cut', "
                "tasks=9, tries=1)",
            ],
        ),
    },
    world=World(
        says="whoever learns from whole candidates never sees one that says nothing: cut ones are what it is told no to",
        measure=taught_no,
        off={"cuts": 0.0},
        moves=0.07,
    ),
    equal={
        "opened: draw.random() < 0.5 -> draw.random() >= 0.5": "the other half, by the same lot",
        "opened: draw.random() < 0.5 -> draw.random() <= 0.5": "a lot is never just that",
        "judged_candidates.get: draw.random() < self.right -> draw.random() <= self.right": "a lot is never just that",
        "judged_candidates.get: draw.random() < self.cuts -> draw.random() <= self.cuts": "a lot is never just that",
        "keyed.get: derive(...) with base.prompt before 'keyed'": "other keys by lot",
    },
)
