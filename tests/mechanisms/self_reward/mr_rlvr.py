"""MR-RLVR: gaps and orders of worked solutions are paid in the first stage, right answers in the second."""

from __future__ import annotations

import asyncio

import torch
from harness import Later, Mechanism, World, made, said_texts

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.rewards.text.message_checks import gaps_filled, order_kept
from guerdon.tasks.worked_steps import WrittenSteps, cloze, pairs_in_order, shuffled

TASK = gd.tasks.load("chain:2")
GAPS, ORDER = cloze(TASK).get("train", 0), shuffled(TASK).get("train", 0)  # "= 7 5" and "= b c a"
ROWS = gd.tasks.rows(
    [{"question": f"{n}?", "solution": f"{n}+1=3\n\nso it is\n#### 3", "answer": "3"} for n in (2, 4, 6)]
)


def paid(*told, method="mr-rlvr", task=TASK, **knobs):
    """What texts are paid, each as a try at a problem, and their truth."""
    batch = said_texts(*((gd.Ask(problem), [text]) for problem, text in told))
    for stage in made(method, task, **knobs).stages.scores:
        batch = stage(batch, Later(0, 1))
    return [torch.nan_to_num(batch[name], nan=-9.0).tolist() for name in ("reward", "correct")[method == "grpo" :]]


def answer(task, source=TASK, right=True):
    return f"= {task.answer if right else '99'}"


def drawn(step, steps=10, n=3, **knobs):
    asks = made("mr-rlvr", TASK, **knobs).curriculum.draw(n, Later(step, steps))
    return [*(ask.task.kind for ask in asks), asks[0].n]


def shown(task=TASK, **knobs):
    """How many gaps and steps the first two problems have."""
    first, second = (ask.task for ask in made("mr-rlvr", task, **knobs).curriculum.draw(2, Later(0, 9)))
    return [len(first.meta["gaps"]), len(second.meta["shown"]), first.prompt.splitlines()[0]]


def later(task):
    """The verdict of a source that is asked in another thread."""
    outcome = made("mr-rlvr", TASK).stages.scores[-1].reward.leaves[-1]
    source = outcome.function.__closure__[0].cell_contents
    return asyncio.run(source.check_track_later(task, {"completion": answer(task)}))


def written(*steps):
    own = WrittenSteps(ROWS)
    return [own.steps(ROWS.get("train", 0)), own.first_wrong(ROWS.get("train", 0), steps)]


def refused(task):
    try:
        made("mr-rlvr", task)
    except UserError as error:
        return str(error)


def spread(method="mr-rlvr"):
    """Between tries that fill one gap of two and none, neither of them the whole."""
    half, none = paid(
        (GAPS, "= 7 99"), (GAPS, "= 98 99"), method=method, task=cloze(TASK) if method == "grpo" else TASK
    )[0]
    return half - none


PROBLEM = TASK.get("train", 3)
mechanism = Mechanism(
    "mr-rlvr",
    source="arXiv:2511.17473, abstract: masked-then-fill and step reordering by RL first, outcome rewards second",
    also=[gaps_filled, order_kept, pairs_in_order, WrittenSteps],
    numbers={
        "fillings": (
            lambda: paid((GAPS, "= 7 5"), (GAPS, "= 7 99"), (GAPS, "= 98 5"), (GAPS, "= 98 99"), (GAPS, "= 7")),
            [[1.0, 0.5, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]],
        ),
        "orders": (
            lambda: paid((ORDER, "= b c a"), (ORDER, "= a b c"), (ORDER, "= a c b"), (ORDER, "= b c")),
            [[1.0, 1 / 3, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]],
        ),
        "answers": (
            lambda: paid((PROBLEM, answer(PROBLEM)), (PROBLEM, "= 1234")),
            [[1.0, 0.0], [1.0, 0.0]],
        ),
        "a problem and its solution": (lambda: [later(PROBLEM), later(GAPS)], [1.0, None]),
        "the first stage": (lambda: drawn(0), ["cloze:chain:2", "shuffled:chain:2", "cloze:chain:2", 8]),
        "its end": (lambda: [drawn(step)[0] for step in (4, 5, 9)], ["cloze:chain:2", "chain:2", "chain:2"]),
        "another end": (
            lambda: [drawn(step, at=0.2, tries=3)[::3] for step in (1, 2)],
            [["cloze:chain:2", 3], ["chain:2", 3]],
        ),
        "gaps and steps": (lambda: shown(gaps=3, most=2), [3, 2, TASK.get("train", 0).prompt]),
        "rows": (
            lambda: paid((cloze(ROWS).get("train", 0), "= 2 3"), (shuffled(ROWS).get("train", 0), "= b a"), task=ROWS),
            [[1.0, 1.0], [1.0, 1.0]],
        ),
        "written steps": (
            lambda: [
                written("2+1=3", "so it is")[1],
                *written("2+1=3", "so"),
                written("2+1=3", "so it is", "4")[1],
                written()[1],
            ],
            [None, ["2+1=3", "so it is"], 1, 2, None],
        ),
        "a solution that ends on a step": (
            lambda: WrittenSteps(None).steps(gd.Task("a", "a", meta={"solution": "1+1=2\n2+1=3"})),
            ["1+1=2", "2+1=3"],
        ),
        "no solutions": (lambda: "--solution COL" in refused(gd.tasks.load("parity:2")), True),
        "the exam": (lambda: made("mr-rlvr", TASK).exams[0].source.name, "chain"),
    },
    world=World(
        says="a filling that is half right is told from one that is wrong, where the answer alone is not",
        measure=spread,
        off={"method": "grpo"},
        moves=0.4,
    ),
    equal={
        "pairs_in_order: a < b -> a <= b": "no two steps have the same place",
        "pairs_in_order: 1.0 -> 2.0": "a single step is never put in order",
        "WrittenSteps.first_wrong: itertools.zip_longest(...) with right before steps": "only whether they differ",
    },
)
