"""SCIR: verdicts and implicit rewards of one policy are pulled together, and pairs on which they differ are not learned."""

from __future__ import annotations

from math import exp, log

import torch
from harness import Mechanism, Scripted, World, made, said_texts, small_model

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.episode import End
from guerdon.core.learn import row_groups
from guerdon.core.pack import pack, unpack
from guerdon.core.task import Prefix
from guerdon.recipes.house.pair_verdicts import compared, comparisons, log_preferences, own_verdicts, stopped

MODEL = small_model()
TASKS = ("p", ["u", "v", "w"]), ("q", ["x", "x"]), ("r", ["y", "z", "s", "t"])  # compared: u v, y z, s t
ODDS = [2.0, -1.0, 0.5, 1.5, -3.0, 1.0]  # that the one shown first is better, of each comparison in both orders
NOW, START = [-1.0, -3.0, -5.0, -1.0, -1.0, -4.0, -1.0, -4.0, -6.0], [-2.0] * 5 + [-2.5] * 4
BETA = 0.5
MARGINS = [BETA * 2.0, BETA * -3.0, BETA * 2.0]  # of u over v, y over z, s over t
A, B = "policy.next: a", "policy.next: b"


class Speaks(Scripted):
    """Replies that come to their verdict, but where what is asked has `mute` in it."""

    def __init__(self, mute):
        super().__init__(lambda ask, attempt: f"{ask.shown[-1]} it is\n=")
        self.mute, self.seen, self.asked = mute, [], len(TASKS)

    def __call__(self, asks, env=None, seats=None):
        self.seen += asks
        ends = [End.CUT if self.mute and self.mute in ask.shown else End.STOPPED for ask in asks]
        each = zip(super().__call__(asks, env, seats), ends, strict=True)
        return [episode.but(segments=(episode.segments[0].but(end=end),)) for episode, end in each]


def through(mute="", odds=ODDS, now=NOW, failed=None, tasks=TASKS, **knobs):
    """The recipe, its play, and the batch with its pairs."""
    built, play = made("scir", model=MODEL, **{"beta": BETA, **knobs}), Speaks(mute)
    episodes = list(unpack(said_texts(*tasks)))
    if failed is not None:
        episodes[failed] = episodes[failed].but(segments=(episodes[failed].segments[0].but(end=End.FAILED),))
    tries = pack(episodes)
    batch = built.stages[1](tries, play)
    first = torch.tensor([0.0] * tries.K + odds[: batch.K - tries.K])
    batch = batch.put(A, "track", first - 1.0).put(B, "track", torch.full((batch.K,), -1.0))
    for name, each in (("policy.logp", now), ("reference.logp", START)):
        steps = torch.tensor([*each[: tries.S], *[-9.0] * (batch.S - tries.S)])
        batch = batch.with_cols({name: Column.full("step", steps)})
    return built, play, built.stages[2](batch, play)


def asked(**knobs):
    """Which two are shown, how, to whom, and what is logged."""
    _, play, batch = through(**knobs)
    first, last = play.seen[0], batch.episodes[-1]
    shown = [ask.shown.split("\n")[3::2] for ask in play.seen]
    how = [
        first.n,
        first.sampling.temperature,
        first.sampling.stop,
        first.sampling.max_tokens,
        first.prefix,
        first.view,
    ]
    logged = [play.metrics.get(f"judge/{name}") for name in ("asked", "unreadable")]
    return [shown, how, last.segments[0].role, first.shown.split("\n")[:3], logged]


def asked_nothing():
    _, play, _ = through(tasks=[("p", ["u"])])
    return [play.metrics.get(f"judge/{name}") for name in ("asked", "unreadable")]


def paired(**knobs):
    """The better and the worse of each pair, how many count in a mean, and what is logged."""
    _, play, batch = through(**knobs)
    ends = [[batch.texts[k] for k in side.tolist()] for side in (batch.pairs.better, batch.pairs.worse)]
    names = ("compared", "pairs", "agreement", "verdict_sure", "implied_sure")
    return [*ends, batch.count.pairs, [play.metrics.get(name) for name in names]]


def learned(built, play, batch, logp, first):
    """Of each group of rows of the loss: its tracks, its pairs, its value, and its metrics."""
    keep, found = torch.zeros(batch.K, dtype=torch.bool), []
    keep[comparisons(batch).flatten()] = True
    for rows, loss in row_groups(built.stages.learners[0].loss):
        mine = rows(batch, play) if rows else batch
        k = keep if rows else torch.ones_like(keep)
        value, noted = loss(mine, {"logp": logp[k[batch.seg]], "next: a": first[k], "next: b": mine[B]})
        found.append([mine.K, mine.count.pairs, value, {n: float(x) for n, x in noted.items() if "/" in n}])
    return found


def loss(**knobs):
    built, play, batch = through(**knobs)
    return [[k, p, float(v), n] for k, p, v, n in learned(built, play, batch, batch["policy.logp"], batch[A])]


def two_minds(penalty=1.0):
    """How far the probabilities of the third pair, on which both disagree, are apart after learning."""
    built, play, batch = through(penalty=penalty)
    weights = [batch[name].double().clone().requires_grad_() for name in ("policy.logp", A)]
    for _ in range(12):
        value = sum(each for _, _, each, _ in learned(built, play, batch, *weights))
        pulls = torch.autograd.grad(value, weights, allow_unused=True)
        moved = [w if pull is None else w - 3 * pull for w, pull in zip(weights, pulls, strict=True)]
        weights = [w.detach().requires_grad_() for w in moved]
    rows = comparisons(batch)[2:]
    yes, _ = log_preferences(rows, weights[1], batch[B].double())
    gain = BETA * (weights[0] - batch["reference.logp"])[:9]
    return abs(float(yes.exp().detach()) - sigma(float((gain[7] - gain[8]).detach())))


def together():
    """The micro-batches of the comparisons' rows, and what their losses add up to."""
    built, play, batch = through()
    (_, _), (rows, term) = row_groups(built.stages.learners[0].loss)
    parts = rows(batch, play).split(1, term.together)
    values = [term(m, {"logp": m["policy.logp"], "next: a": m[A], "next: b": m[B]})[0] for m in parts]
    return [[m.K for m in parts], float(sum(values))]


def worded():
    """Of tries at an ask with a view and a start: what the judge is asked in another wording."""
    ask = gd.Ask(gd.Task("p", "p"), n=3, view="seen", prefix=Prefix("x", 0, 1))
    play = Speaks("")
    own_verdicts("{question}: {first} or {second}?", "Better:", (" A", " B"), 9)(said_texts((ask, ["u", "v"])), play)
    first = play.seen[0]
    return [first.shown, first.n, first.view, first.prefix, first.sampling.max_tokens, first.sampling.stop]


def again():
    """Verdicts are not compared; those of another role are none."""
    built, play, batch = through()
    built.stages[1](batch, play)
    episodes = list(unpack(batch))
    episodes[-1] = episodes[-1].but(segments=(episodes[-1].segments[0].but(role="third"),))
    return [play.metrics["judge/asked"], len(comparisons(pack(episodes)))]


def selected():
    """The pairs of the penalty's rows."""
    _, play, batch = through()
    mine = compared()(batch, play)
    return [[mine.texts[k] for k in side.tolist()] for side in (mine.pairs.better, mine.pairs.worse)]


def composed(**knobs):
    built = made("scir", model=MODEL, **knobs)
    return [*(repr(stage) for stage in built.stages), built.seats, repr(built.models["reference"])]


def sigma(z):
    return 1 / (1 + exp(-z))


def entropy(p):
    return -p * log(p) - (1 - p) * log(1 - p)


def apart(p, q):
    return ((p - q) * log(p / q) + (q - p) * log((1 - p) / (1 - q))) / 2


P = [(sigma(ODDS[2 * n]) + sigma(-ODDS[2 * n + 1])) / 2 for n in range(3)]
Q = [sigma(z) for z in MARGINS]
APART = sum(map(apart, P, Q)) / 3
UNSURE = sum(map(entropy, [*P, *Q])) / 6
SURE = [sum(max(p, 1 - p) for p in each) / 3 for each in (P, Q)]
EQUAL = [z for margin in MARGINS for z in (margin, -margin)]
DPO = -(log(Q[0]) + log(1 - Q[1])) / 2
NOTED = {"consistency/divergence": APART, "consistency/agreement": 2 / 3}
TIED, AGAINST = [2.0, -1.0, 0.5, 0.5, -3.0, 1.0], [-2.0, 1.0, 0.5, 1.5 - 3.0, -3.0, 1.0]
SHOWN = [["u", "v"], ["v", "u"], ["y", "z"], ["z", "y"], ["s", "t"], ["t", "s"]]
HOW = [1, 0.0, ("\n=",), 256, None, None]
VERDICTS = repr(own_verdicts())

mechanism = Mechanism(
    "scir",
    source="arXiv:2502.08922, abstract: verdicts and implicit rewards, an inconsistency penalty, DPO where they agree",
    also=[own_verdicts, compared, comparisons, stopped, log_preferences],
    equal={
        "agreed_pairs.__call__: mind > 0 -> mind >= 0": "those of no mind are no pairs",
        "agreed_pairs.__call__: mind > 0 -> mind >= 0 (2)": "those of no mind are no pairs",
        "own_verdicts.__call__: order[0] shuffled": "both are tries at one task",
        "comparisons: i < j -> i <= j": "no try is compared with itself",
        "log_preferences: torch.logaddexp(...) with logsigmoid(s * back) before logsigmoid(s * there)": "it is a sum",
    },
    numbers={
        "who is compared": (asked, [SHOWN, HOW, "judge", ["prefer", "p", "a"], [6.0, 0.0]]),
        "a failed try leaves its place to the next": (
            lambda: asked(failed=1)[0][:2],
            [["u", "w"], ["w", "u"]],
        ),
        "one reply without a verdict": (
            lambda: [asked(mute="a\nz")[-1], paired(mute="a\nz")[3][0]],
            [[6.0, 1 / 6], 2.0],
        ),
        "nothing to compare": (
            lambda: [paired(tasks=[("p", ["u"])]), asked_nothing()],
            [[[], [], 0, [0.0, 0.0, None, None, None]], [0.0, None]],
        ),
        "pairs are those on which both agree": (
            paired,
            [["u", "z"], ["v", "y"], 2, [3.0, 2.0, 2 / 3, *SURE]],
        ),
        "or all of which the verdict prefers one": (
            lambda: paired(agree=False, odds=TIED),
            [["u", "t"], ["v", "s"], 2, [3.0, 2.0, 1 / 3, (P[0] + 0.5 + 1 - P[2]) / 3, SURE[1]]],
        ),
        "a reward of a half prefers none": (lambda: paired(now=START)[2:], [0, [3.0, 0.0, 0.0, SURE[0], 0.5]]),
        "none is learned where they disagree": (
            lambda: [paired(odds=AGAINST)[:3], loss(odds=AGAINST)[0][1:3]],
            [[[], [], 0], [0, 0.0]],
        ),
        "nothing is where both are of no mind": (
            lambda: [
                paired(odds=TIED, now=[*NOW[:6], -4.0, *NOW[7:]])[2],
                loss(odds=TIED)[1][3]["consistency/agreement"],
            ],
            [1, 1 / 3],
        ),
        "verdicts are no tries": (again, [6.0, 2]),
        "pairs of the penalty": (selected, [["u", "y", "s"], ["v", "z", "t"]]),
        "another wording": (worded, ["seen: u or v?", 1, None, None, 9, ("Better:",)]),
        "both terms": (
            lambda: loss(penalty=0.5, entropy=0.2),
            [[15, 2, DPO, {}], [12, 3, 0.5 * (APART + 0.2 * UNSURE), NOTED]],
        ),
        "two equal probabilities cost nothing": (
            lambda: loss(odds=EQUAL, entropy=0.0)[1][2:],
            [0.0, {"consistency/divergence": 0.0, "consistency/agreement": 1.0}],
        ),
        "micro-batches keep comparisons whole": (together, [[4, 8], APART + 0.1 * UNSURE]),
        "composed": (
            lambda: composed(beta=0.3),
            [
                "verified(task=parity())",
                VERDICTS,
                f"agreed_pairs(verdicts={VERDICTS}, beta=0.3)",
                "Learn(model='policy', loss=total(terms=[dpo(beta=0.3), on(rows=compared(), loss=consistency(verdicts="
                f"{VERDICTS}, beta=0.3), name='consistency')]), opt=adam(lr=2e-05))",
                {"policy": "policy", "judge": "policy"},
                "snapshot(of='policy')",
            ],
        ),
        "without a penalty, and with an earlier model": (
            lambda: [composed(penalty=0.0)[3][:40], composed(reference=gd.models.tabular("01"))[-1]],
            ["Learn(model='policy', loss=dpo(), opt=ad", "tabular(vocab='01')"],
        ),
    },
    world=World(
        says="where both are of two minds, the penalty brings their probabilities together",
        measure=two_minds,
        off={"penalty": 0.0},
        moves=-0.4,
    ),
)
