"""FSPO: users who want different answers are read from a few of their pairs, also users whom nobody trained on."""

from __future__ import annotations

from collections import Counter

from harness import Mechanism, World, made

import guerdon as gd
from guerdon.core.errors import UserError

USERS = 12
PROMPTS = ("one", "two", "three")


def row(user, prompt, better="a", worse="b"):
    return {"prompt": prompt, "chosen": better, "rejected": worse, "user": user}


def file(users=USERS):
    """Users of whom every other one wants a, the others b, at all prompts."""
    return [row(f"u{n}", prompt, *("ab" if n % 2 else "ba")) for n in range(users) for prompt in PROMPTS]


def recipe(rows=None, held_out=0.25, test=None, **knobs):
    source = gd.tasks.preferences(file() if rows is None else rows, held_out=held_out, test=test)
    return made("fspo", source, gd.models.tabular("ab", length=1), **{"shots": 1, **knobs})


def tasks(split="train", *rows, **knobs):
    source = recipe(*rows, **knobs).curriculum.task
    return [source.get(split, n) for n in range(source.size(split))]


def users(**knobs):
    both = [{task.meta["user"] for task in tasks(split, **knobs)} for split in ("train", "test")]
    return [sorted(names, key=lambda name: (len(name), name)) for names in both]


def unseen(shots):
    """How often a table that learned the training users' pairs has those of the others right; what it never saw it guesses."""
    votes = Counter()
    for task in tasks("train", shots=shots):
        votes[task.prompt] += 1 if task.meta["say"][0] == "a" else -1
    right = []
    for task in tasks("test", shots=shots):
        says = votes[task.prompt] * (1 if task.meta["say"][0] == "a" else -1)
        right.append(0.5 if says == 0 else float(says > 0))
    return sum(right) / len(right)


def refused(*args, **knobs):
    try:
        recipe(*args, **knobs)
    except UserError as error:
        return str(error)


def shown_itself(shots):
    """How many tasks show a pair of their own prompt, or of another user."""
    wrong = 0
    for task in tasks("train", shots=shots):
        *before, own = task.prompt.split("\n\n")
        asked = [each.partition("\n")[0] for each in before]
        said = [each.partition("preferred: ")[2][0] for each in before]
        wrong += own in asked or len({*asked}) < shots or {*said} != {task.meta["say"][0]}
    return wrong


TALK = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "one"}]

mechanism = Mechanism(
    "fspo",
    source="arXiv:2502.19312, abstract: a preference loss on a user's pairs with a few others of that user in context",
    numbers={
        "what a prompt is shown with": (
            lambda: (
                tasks("train", [row("u", "one"), row("u", "two", "x", "y"), row("v", "one"), row("v", "two")])[0].prompt
            ),
            "two\nThe user preferred: x\nto: y\n\none",
        ),
        "in a conversation": (
            lambda: [
                [message["content"] for message in task.view]
                for task in tasks("train", [row("u", TALK), row("u", "two"), row("v", "one"), row("v", "two")])[:1]
            ],
            [["Be kind.", "two\nThe user preferred: a\nto: b\n\none"]],
        ),
        "never itself, and never another user's": (lambda: [shown_itself(1), shown_itself(2)], [0, 0]),
        "another answer to its own prompt is not shown": (
            lambda: refused([row("u", "one"), row("u", "one", "c", "d"), row("v", "one"), row("v", "two")]),
            "data: user 'u' has 0 pairs of other prompts where 1 are shown: give users more rows, leave this one out, or"
            " show fewer (--set shots=...)",
        ),
        "users that are held out": (
            users,
            [[f"u{n}" for n in range(9)], ["u9", "u10", "u11"]],
        ),
        "a share that is no whole number of users": (lambda: users(held_out=0.2)[1], ["u9", "u10", "u11"]),
        "nearly all of them": (lambda: users(rows=file(2), held_out=0.9), [["u0"], ["u1"]]),
        "a share that is none": (lambda: users(held_out=0.0)[1], ["u11"]),
        "those of another file": (
            lambda: [users(rows=file(2), test=[row("w", f"{n}?") for n in range(2)])],
            [[["u0", "u1"], ["w"]]],
        ),
        "a user in both": (
            lambda: refused(file(2), test=[row("u1", f"{n}?") for n in range(2)]),
            "data: user 'u1' is also in the test: take one of them out",
        ),
        "all rows of a user": (lambda: [len(tasks("train")), len(tasks("test"))], [27, 9]),
        "one user": (
            lambda: refused([row("u", "one"), row("u", "two")]),
            "fspo needs two users or more, one to train on and one held out",
        ),
        "nobody": (
            lambda: (
                "row 2 names no user" in refused([row("u", "one"), {**row("u", "two"), "user": None}, row("v", "two")])
            ),
            True,
        ),
        "without any it is pooled DPO": (lambda: {task.prompt for task in tasks("train", shots=0)} == {*PROMPTS}, True),
        "the verdict of a row": (
            lambda: [recipe().curriculum.task.check(tasks()[0], text) for text in "abc"],
            [0.0, 1.0, None],
        ),
        "drawn and examined": (
            lambda: [
                (made_of := recipe()).exams[0].source is made_of.curriculum,
                len(made_of.curriculum.exam_asks(99, 1, None)),
                made_of.curriculum.task.together()[:2],
                made_of.curriculum.task.name,
            ],
            [True, 9, [range(1), range(1, 2)], "data"],
        ),
    },
    world=World(
        says="pairs of users whom nobody trained on are told from a pair of theirs, where pooled pairs say nothing",
        measure=lambda shots: unseen(shots),
        on={"shots": 1},
        off={"shots": 0},
        moves=0.3,
    ),
    equal={"after_others.get: derive(...) with row.key before 'shown'": "which others are shown is drawn by chance"},
)
