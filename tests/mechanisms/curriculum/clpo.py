"""CLPO: problems whose tries show them to be hard are simplified, middling ones reworded, and tried in the same step."""

from __future__ import annotations

import random
from math import exp, nan

import torch
from harness import Mechanism, Scripted, World, made
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.pack import pack
from guerdon.core.seeds import derive
from guerdon.recipes.curriculum.clpo.parts import eased_kl
from guerdon.recipes.curriculum.clpo.rewriting import by_rule, rewritten
from guerdon.tasks import load


def problem(prompt):
    if prompt.startswith("trace"):
        *program, printed = prompt.removeprefix("trace ").split("; ")
        return gd.Task(prompt, prompt, "4", "trace", 3, {"program": program, "print": printed[-1]})
    sources = [load(f"{prompt.split(' ')[0]}:{level}") for level in range(1, 7)]
    source, read = next((each, read) for each in sources if (read := each.read_problem(prompt)))
    return gd.Task(prompt, prompt, read.answer, source.name, 3, read.meta)


def new(prompt, how, seed=0):
    """The rewriting of a problem: its text, answer, what is stored with it, and its ask."""
    ask = rewritten(gd.Ask(problem(prompt), 3, prompt="in short", note={"mine": 1}), how, random.Random(seed))
    if ask is None:
        return None
    task = ask.task
    assert (ask.shown, task.id, task.level, ask.n) == (task.prompt, task.prompt, 3, 3) and ask.note["mine"] == 1
    return [task.prompt, task.answer, sorted(task.meta), ask.note["rewritten"], task.family]


def varied(prompt, seeds):
    return sorted({rewriting[0] for seed in range(seeds) if (rewriting := new(prompt, "vary", seed))})


PROMPTS = ["countdown 9 6 3 make 45", "countdown 5 7 2 make 25", "countdown 9 3 2 make 54", "countdown 4 7 6 make 70"]


def answer(rights):
    """So many tries at each problem are right, two at a rewritten one; None: they have no verdict."""
    most = dict(zip(PROMPTS, rights, strict=True))

    def says(ask, attempt):
        number = most.get(ask.shown, 2)
        return f"= {ask.task.answer}" if number and attempt < number else "= no"

    return says


def tried(*rights, step=0, rewrite=None, **knobs):
    """A step in which so many of four tries at each problem are right: who was asked, and the batch."""
    recipe = made("clpo", "countdown:1-6", **knobs)
    play = Scripted(answer(rights), step, 10)
    batch = pack(play([gd.Ask(problem(prompt), 4) for prompt in PROMPTS]))
    if rewrite is not None:
        recipe.stages[1].rewrite = rewrite
    for stage in recipe.stages[:-1]:
        batch = stage(batch, play)
        if stage is recipe.stages[0] and None in rights:
            value = batch["correct"].view(4, 4)
            value[[right is None for right in rights]] = nan
            batch = batch.with_cols(
                {"correct": Column("track", value.flatten(), value.flatten().isnan().to(torch.int8))}
            )
    return recipe, play, batch


def asked(*right, **knobs):
    """The rewritten problems that were tried, and how each was rewritten."""
    episodes = tried(*right, **knobs)[2].episodes[16::4]
    return [[e.ask.shown, e.ask.note["rewritten"]] for e in episodes]


def second(asks, how, play):
    """A rewriter that knows what to make of the second alone."""
    return [None, *(ask.but(prompt="again", note={"rewritten": how}) for ask in asks[1:])]


def credited(*right):
    """The rate of each ask, the advantage of its last try, and what is noted."""
    _, play, batch = tried(*right)
    last = batch.up(batch["advantage"], "track", by="mean").view(-1, 4)[:, -1]
    noted = [play.metrics[f"rewritten/{name}"] for name in ("hard", "medium", "asked", "rate", "useful")]
    return [batch["rate"].view(-1, 4)[:, 0].tolist(), (last / A).tolist(), noted]


def renamed():
    """Programs in other letters, told in a and b again."""
    rewritings = varied(TRACE, 12)
    assert len(rewritings) > 3 and TRACE not in rewritings
    back = [str.maketrans(each[6] + each[11], "ab") for each in rewritings]
    return sorted(
        {
            f"trace {each[6:].partition('; print ')[0].translate(to)}; print {each[-1].translate(to)}"
            for each, to in zip(rewritings, back, strict=True)
        }
    )


def drawn():
    """By rule, what is drawn depends on the place in the run, on what is asked for, and on the problem."""
    play, ask = Scripted(answer([0] * 4), 3, 10), gd.Ask(problem(PROMPTS[0]))
    play.seed = 5
    (here,) = by_rule(load("countdown:3"))([ask], "vary", play)
    return here.shown == rewritten(ask, "vary", random.Random(derive(5, 3, "vary", PROMPTS[0]))).shown


def held(rates, **knobs):
    """The KL over tracks whose problems have these rates; the first two share their first step."""
    tree = episode(segment([0]), segment([1], parent=0), segment([2], parent=0))
    batch = pack([tree, episode(segment([0, 0]), number=1)])
    column = Column("track", torch.tensor(rates), torch.tensor(rates).isnan().to(torch.int8))
    batch = batch.with_cols({"rate": column, "reference.logp": Column.full("step", torch.full((5,), -1.0))})
    logp = torch.tensor([-1.5, -1.2, -2.0, -1.0, -1.7])
    loss = made("clpo", "countdown:3", **knobs).stages.learners[0].loss
    (term,) = [each for each in loss.terms if isinstance(each, eased_kl)]
    return float(term(batch, {"logp": logp})[0])


def learns(**knobs):
    """The losses, the models, what is compared, and the bounds."""
    recipe = made("clpo", "countdown:3", **knobs)
    loss, again = recipe.stages.learners[0].loss, recipe.stages[1]
    terms = [type(each).__name__ for each in getattr(loss, "terms", [loss])]
    return [terms, [*recipe.models], recipe.stages.credit[0].by, again.hard, again.medium]


def useful(**knobs):
    """The share of asks whose tries differ, where two problems are never solved, and all are in simpler words now and then."""
    return tried(0, 0, 4, 4, **knobs)[1].metrics["rewritten/useful"]


def k3(gap):
    return exp(gap) - 1 - gap


A = 0.5 / ((1 / 3) ** 0.5 + 1e-4)  # two of four are right
TRACE, SHORTER = "trace a=3; b=4; b=a+2; a+=b; b-=1; print b", "trace a=3; b=5; a+=b; b-=1; print b"
MIXED = "''.join(draw.sample(trace.LETTERS, len(trace.LETTERS)))"
mechanism = Mechanism(
    "clpo",
    source="csuking/CLPO@cb77b569, verl/trainer/ppo/ray_trainer.py, lines 256 to 265 (rate <= hard, hard < rate <= medium);"
    " arXiv:2509.25004 for what is done with them",
    numbers={
        "the first step of a countdown done": (
            lambda: [new("countdown 3 7 18 make 33", "simplify"), new("countdown 3 7 make 10", "simplify")],
            [["countdown 3 11 make 33", "11*3", ["moves", "numbers", "target"], "simplify", "countdown"], None],
        ),
        "of a program": (lambda: new(TRACE, "simplify"), [SHORTER, "4", ["print", "program"], "simplify", "trace"]),
        "none that is done, begins with a condition, or is below 0": (
            lambda: [
                new(f"trace a=1; b=2; {each}; print b", "simplify")
                for each in ("b+=a", "if a>b: a+=b; b+=a", "a-=b; b+=a")
            ],
            [None] * 3,
        ),
        "one at 0": (
            lambda: new("trace a=2; b=2; a-=b; b+=a; print b", "simplify")[0],
            "trace a=0; b=2; b+=a; print b",
        ),
        "of a chain; none below 1, and none that is held out": (
            lambda: [
                new(f"chain {each}", "simplify") for each in ("6 +5 *3 -4", "2 -1 +9 *3", "1 -5 +9", "7 +5 *3 -4")
            ],
            [
                ["chain 11 *3 -4", "29", ["ops", "start"], "simplify", "chain"],
                ["chain 1 +9 *3", "30", ["ops", "start"], "simplify", "chain"],
                None,
                None,
            ],
        ),
        "another order": (
            lambda: [varied("countdown 5 5 7 make 10", 16), varied("countdown 5 5 make 10", 2)],
            [["countdown 5 7 5 make 10", "countdown 7 5 5 make 10"], []],
        ),
        "other letters": (lambda: [renamed(), varied("chain 6 +5 *3 -4", 2)], [[TRACE], []]),
        "drawn": (drawn, True),
        "up to a quarter simplified, up to three quarters varied": (
            lambda: [each[1] for each in asked(0, 1, 3, 4)],
            ["simplify", "simplify", "vary"],
        ),
        "what they are": (lambda: asked(0, 4, 4, 4), [["countdown 3 15 make 45", "simplify"]]),
        "other bounds": (lambda: [each[1] for each in asked(1, 2, 3, 4, hard=0.5, medium=0.6)], ["simplify"] * 2),
        "without a verdict it is left alone": (lambda: asked(None, 4, 4, 4), []),
        "some without a rewriting": (
            lambda: asked(0, 4, 0, 4, rewrite=second),
            [["again", "simplify"]],
        ),
        "rates, advantages, notes": (
            lambda: credited(0, 2, 4, 4),
            [[0.0, 0.5, 1.0, 1.0, 0.5, 0.5], [0.0, -1.0, 0.0, 0.0, -1.0, -1.0], [0.25, 0.25, 2, 0.5, 0.5]],
        ),
        "a KL in proportion to the rate": (
            lambda: held([0.25, 1.0, nan]),
            0.01 * (0.25 * (k3(0.5) + k3(0.2)) / 2 + (k3(0.5) + k3(1.0)) / 2) / 3,
        ),
        "another weight": (lambda: held([0.0, 0.0, 0.5], eased=0.1), 0.1 * 0.5 * k3(0.7) / 2 / 3),
        "composed": (learns, [["clipped", "eased_kl"], ["policy", "reference"], "ask", 0.25, 0.75]),
        "without the KL": (
            lambda: learns(eased=0.0, hard=0.1, medium=0.2),
            [["clipped"], ["policy"], "ask", 0.1, 0.2],
        ),
    },
    world=World(
        says="two of four problems are never solved and two always: simpler ones are solved now and then",
        measure=useful,
        off={"hard": -1.0, "medium": -1.0},
        moves=0.3,
    ),
    equal={
        "simpler_countdown: countdown.take(...) with b before a": "both are taken",
        f"varied_trace: str.maketrans(...) with {MIXED} before trace.LETTERS": "another order of letters, drawn as evenly",
    },
)
