"""Inappropriateness rewriting: alpha * appropriateness + (1 - alpha) * similarity; the first alone pays for an empty text."""

from __future__ import annotations

import functools

from harness import Mechanism, World, made, small_model

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.exams.example_sitting import example_sitting

TEXT = "Bring the key on Friday, idiot."
GOOD, SHORT, NOTHING = "Bring the key on Friday.", "On Friday.", ""
CLEAN = gd.reward(lambda completion: float("idiot" not in completion), isolate=False)
LETTERS = gd.reward(lambda completion: len(completion) / 100, isolate=False)
FORM = "Rewrite: {prompt}"
policy = functools.cache(small_model)


class texts:
    """A file's rows: a text to rewrite each, and nothing else but `meta`."""

    name = "mine"

    def __init__(self, view=None, **meta):
        self.view, self.meta = view, meta

    def get(self, split, index):
        return gd.Task(str(index), TEXT, "", meta=self.meta, view=self.view)

    def size(self, split):
        return 2

    def check(self, task, completion):
        return None


def recipe(source=None, reward=CLEAN, **knobs):
    return made("inappropriateness-rewriting", source or texts(), policy(), reward, **knobs)


def scored(*said, source=None, reward=CLEAN, **knobs):
    """What rewritings of the first text are paid."""
    built = recipe(source, reward, **knobs)
    task = built.curriculum.task.get("train", 0)
    given = {"task": task, "answer": task.answer, "prompt": task.prompt, "meta": task.meta, **task.meta}
    return list(gd.score_samples(built.stages[1].reward, [{"completion": each, **given} for each in said]).whole)


def on_notes(source, **knobs):
    """Notes bring their own classifier: what a right note, the draft and nothing are paid."""
    task = gd.tasks.notes(level=2, form="rewrite").get("train", 0)
    return scored(task.answer, task.meta["draft"], "", source=source, reward=None, **knobs)


def shown(source=None, **knobs):
    built = recipe(source, instruction=FORM, **knobs)
    tasks = [built.curriculum.task.get("train", 0), built.exams[0].source.get("test", 1)]
    return [(task.prompt, task.meta["draft"]) for task in tasks]


def stages(reward=CLEAN, source=None, **knobs):
    built = recipe(source, reward, **knobs)
    return [[type(stage).__name__ for stage in built.stages], built.stages[2].reward]


def measured(*said, reward=CLEAN, source=None, **knobs):
    """The numbers of the exam, but for similarity, which needs the text."""
    (exam,) = recipe(source, reward, **knobs).exams
    sitting = example_sitting([[each] for each in said])
    judges = {metric.name: metric for metric in exam.metrics[2:]}
    similar = judges.pop("similar").reward
    return [{name: metric(sitting)[name] for name, metric in judges.items()}, similar.name]


class unlabelled(texts):
    has_held_out_answers = False


def unanswered(source):
    """Whether the exam goes without knowing what is right."""
    return recipe(source).exams[0].goes_without_truth


def refused(act):
    try:
        act()
    except UserError as error:
        return str(error)
    return ""


def gain(**knobs):
    """How much more a rewriting is paid that keeps all facts than one that says nothing."""
    good, nothing = scored(GOOD, NOTHING, **knobs)
    return good - nothing


F1 = 2 * 4 / (5 + 4)  # four of five words, for "the" is none
notes = functools.partial(gd.tasks.notes, level=2)
mechanism = Mechanism(
    "inappropriateness-rewriting",
    source="arXiv:2406.03363; timonziegenbein/inappropriateness-mitigation at 8d4061d, trl_lora_new.py, 317: w a + (1 - w) s",
    numbers={
        "half of each": (lambda: scored(TEXT, GOOD, NOTHING), [0.5, 0.5 + F1 / 2, 0.5]),
        "other weights": (lambda: scored(TEXT, GOOD, NOTHING, alpha=0.4), [0.6, 0.4 + 0.6 * F1, 0.4]),
        "alone, the first is largest where all is deleted": (
            lambda: scored(TEXT, GOOD, NOTHING, alpha=1.0),
            [0.0, 1.0, 1.0],
        ),
        "similarity alone is largest for a copy": (lambda: scored(TEXT, SHORT, alpha=0.0), [1.0, 2 * 2 / (5 + 2)]),
        "another similarity": (lambda: scored(GOOD, similarity=LETTERS), [0.5 + len(GOOD) / 200]),
        "one by its name": (lambda: scored(GOOD, source=texts(draft="?"), similarity="exact", alpha=0.0), [0.0]),
        "of notes, by the words that a problem forbids": (
            lambda: [on_notes(notes(form="rewrite"), alpha=1.0), on_notes(notes(), alpha=1.0)],
            [[1.0, 0.0, 1.0]] * 2,
        ),
        "the text is shown within an instruction": (shown, [(FORM.format(prompt=TEXT), TEXT)] * 2),
        "a row that brings its text": (lambda: shown(texts(draft="The text.")), [(TEXT, "The text.")] * 2),
        "held-out judges": (
            lambda: [measured(GOOD, TEXT), measured(GOOD, TEXT, held_out=LETTERS)],
            [
                [{"appropriate": 0.5}, "kept_words"],
                [{"appropriate": 0.5, "held_out": (len(GOOD) + len(TEXT)) / 200}, "kept_words"],
            ],
        ),
        "without answers": (lambda: [unanswered(texts()), unanswered(unlabelled())], [False, True]),
        "of notes, any rude word": (
            lambda: measured("Come, lazy one.", "Come.", "Useless!", source=notes())[0]["held_out"],
            1 / 3,
        ),
        "composed": (
            lambda: [stages(), stages(kl=0.0), stages(None, notes())],
            [
                [["verified", "score", "kl_cost", "gae", "whiten", "Learn", "Learn"], "reward"],
                [["verified", "score", "gae", "whiten", "Learn", "Learn"], "reward"],
                [["verified", "score", "kl_cost", "gae", "whiten", "Learn", "Learn"], "reward"],
            ],
        ),
        "its penalty": (lambda: [recipe().stages[2].weight, recipe(kl=0.1).stages[2].weight], [0.001857, 0.1]),
        "who is asked": (lambda: recipe().curriculum.task.name, "mine"),
        "no share": (
            lambda: [refused(lambda: recipe(alpha=-0.1))[:26], refused(lambda: recipe(alpha=1.1))[:26]],
            ["alpha is a share from 0 to"] * 2,
        ),
        "messages": (
            lambda: refused(lambda: shown(texts(view=[{"role": "user", "content": "?"}])))[:44],
            "a text to rewrite is a text, and a row here ",
        ),
        "a template without a place": (
            lambda: refused(lambda: recipe(instruction="Rewrite."))[:35],
            "instruction must have {prompt} and ",
        ),
    },
    world=World(
        says="a rewriting that keeps all facts is paid more than one that deletes them",
        measure=gain,
        off={"alpha": 1.0},
        moves=0.4,
    ),
    equal={"kept_words.__call__: token_f1()(...) with draft before completion": "F1 is the same from either side"},
)
