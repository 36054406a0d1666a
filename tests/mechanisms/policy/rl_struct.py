"""RL-Struct: validity, form, keys, values and length of a JSON object are paid by themselves, and add up."""

from __future__ import annotations

from harness import Mechanism, World, made, paid

import guerdon as gd
from guerdon.core.errors import UserError

NAMES = ("validity", "form", "structure", "content", "brief")
ANSWER = '{"name": "Ada", "age": 36, "city": "Paris"}'
FORMS = gd.tasks.json_forms(level=1)
WHOLE = ANSWER
TRIES = {
    "right": WHOLE,
    "among words": f"It is {WHOLE}.",
    "a key missing": '{"name": "Ada", "age": 36}',
    "a key too many": '{"name": "Ada", "age": 36, "city": "Paris", "note": "none"}',
    "wrong type": '{"name": "Ada", "age": "36", "city": "Paris"}',
    "cut": '{"name": "Ada", "age": 36',
    "two of them": f"{WHOLE} {WHOLE}",
}


def scored(text, answer=ANSWER, **knobs):
    """The whole, and each part as it is logged."""
    reward = made("rl-struct", FORMS, **knobs).stages.scores[-1].reward
    scores = gd.score_samples(reward, [{"completion": text, "answer": answer}])
    return [
        scores.whole[0],
        *(scores.parts[name][0] for name in NAMES),
    ]


def parts():
    """Of each try the parts, unweighed."""
    made_of = dict.fromkeys(NAMES, 1.0)
    return {what: [round(x, 6) for x in scored(text, **made_of)[1:]] for what, text in TRIES.items()}


def sums():
    """Whether the parts add up to the whole, for every try."""
    weights = (0.2, 0.1, 0.2, 0.4, 0.1)
    return [
        abs(scored(text)[0] - sum(w * part for w, part in zip(weights, scored(text)[1:], strict=True))) < 1e-6
        for text in TRIES.values()
    ]


def refused(task, **slots):
    try:
        made("rl-struct", task, **slots)
    except UserError as error:
        return str(error).partition(",")[0]


def apart(method="rl-struct"):
    """How many worths the tries to one problem have, none of which is right: what a group of failures can learn from."""
    tries = [text for what, text in TRIES.items() if what not in ("right", "among words")]
    recipe = made(method, FORMS)
    samples = [{"completion": text, "answer": ANSWER} for text in tries]
    worth = paid(recipe, samples) if method == "rl-struct" else [float(text == ANSWER) for text in tries]
    return len({round(each, 6) for each in worth})


F1 = {"a key missing": 4 / 5, "a key too many": 6 / 7, "wrong type": 4 / 6}
mechanism = Mechanism(
    "rl-struct",
    source="arXiv:2512.00319, abstract: structural integrity, format correctness, content accuracy, validity, weighed",
    numbers={
        "each part of planted objects": (
            parts,
            {
                "right": [1.0, 1.0, 1.0, 1.0, 1.0],
                "among words": [1.0, 0.0, 1.0, 1.0, 1.0],
                "a key missing": [1.0, 1.0, 2 / 3, F1["a key missing"], 1.0],
                "a key too many": [1.0, 1.0, 3 / 4, F1["a key too many"], 1.0],
                "wrong type": [1.0, 1.0, 1.0, F1["wrong type"], 1.0],
                "cut": [0.0, 0.0, 0.0, 0.0, 1.0],
                "two of them": [0.0, 0.0, 0.0, 0.0, 1.0],
            },
        ),
        "the parts are the whole": (sums, [True] * len(TRIES)),
        "other weights": (
            lambda: (
                [scored(WHOLE, **{**dict.fromkeys(NAMES, 0.0), name: 3.0})[0] for name in NAMES]
                + [scored(TRIES["a key missing"], validity=5.0, form=4.0, structure=3.0, content=2.0, brief=1.0)[0]]
            ),
            [3.0] * 5 + [5 + 4 + 3 * 2 / 3 + 2 * 4 / 5 + 1],
        ),
        "a length": (lambda: [scored("a " * n, words=4, brief=1.0)[5] for n in (4, 6, 8)], [1.0, 0.5, 0.0]),
        "objects of one key, and of none": (lambda: [scored(x, x)[3] for x in ('{"a": 1}', "{}")], [1.0, 0.0]),
        "answers that are none": (lambda: refused("parity:1"), "rl-struct needs answers that are JSON objects"),
        "a reward that is given": (lambda: refused(FORMS, reward=gd.exact()), "rl-struct has its own reward"),
        "composed": (
            lambda: [type(stage).__name__ for stage in made("rl-struct", FORMS).stages],
            ["verified", "score", "centre", "Learn"],
        ),
    },
    world=World(
        says="objects that are wrong in different ways are paid differently, where all or nothing pays all alike",
        measure=apart,
        off={"method": "grpo"},
        moves=2.0,
    ),
)
