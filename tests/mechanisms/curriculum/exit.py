"""ExIt: earlier attempts are starts of their own, asked again in proportion to how much the tries at them differ."""

from __future__ import annotations

import asyncio
from math import nan

import torch
from harness import Later, Mechanism, World, made
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.episode import End
from guerdon.core.pack import pack
from guerdon.core.seeds import derive
from guerdon.recipes.curriculum.exit.parts import revised


class At(Later):
    """A `play` whose random numbers follow its step."""

    def generator(self, *path):
        return torch.Generator().manual_seed(derive(self.step, *path))


def curriculum(source="countdown:3", **knobs):
    drawer = made("exit", source, **{"tries": 2, "template": "{prompt} < {attempt}", **knobs}).curriculum
    drawer.least = 1
    return drawer


def tried(asks, values, step, said="try", **fields):
    """The tries at asks, what each was worth and what it said."""
    episodes = [
        episode(segment(text=f"{said} {n}.{k}", **fields), ask=ask, number=n, attempt=k, step=step)
        for n, (ask, own) in enumerate(zip(asks, values, strict=True))
        for k in range(len(own))
    ]
    value = torch.tensor([x for own in values for x in own])
    return pack(episodes).with_cols({"correct": Column("track", value, value.isnan().to(torch.int8))})


def after(*steps, drawer=None, **knobs):
    """The curriculum after steps in which fresh problems were worth this."""
    drawer = drawer or curriculum(**knobs)
    for step, values in enumerate(steps):
        drawer.observe(tried([drawer._fresh(n, At(step, 9)) for n in range(len(values))], values, step), At(step, 9))
        drawer.drawn += len(values)
    return drawer


def buffer(*steps, **knobs):
    return [[each["variance"], each["depth"], each["attempt"][:5]] for each in after(*steps, **knobs).buffer.values()]


def joined(**fields):
    drawer = curriculum()
    drawer.observe(tried([drawer._fresh(0, At(0, 9))], [[0.0, 1.0]], 0, **fields), At(0, 9))
    return len(drawer.buffer)


def which(tries):
    """Which of so many tries joins at each of some steps: a matter of lot."""
    picked = set()
    for step in range(12):
        drawer = curriculum()
        values = [[float(k == 0) for k in range(tries)]]
        drawer.observe(tried([drawer._fresh(0, At(step, 20))], values, step), At(step, 20))
        picked |= {each["attempt"][-1] for each in drawer.buffer.values()}
    return sorted(picked)


def chained():
    """A history that is asked again has its own tries' variance; what joins from it is one deeper, of the same problem."""
    drawer = after([[0.0, 1.0]], share=1.0)
    (ask,) = drawer.draw(1, At(1, 9))
    drawer.observe(tried([ask], [[0.0, 0.0, 0.0, 1.0]], 1, "again"), At(1, 9))
    first, second = drawer.buffer.values()
    return [
        [
            ask.shown == f"{ask.task.prompt} < {first['attempt']}",
            ask.n,
            ask.note == {"history": next(iter(drawer.buffer)), "depth": 1},
        ],
        [[each["variance"], each["depth"], each["attempt"][:5]] for each in (first, second)],
        first["task"] == second["task"],
    ]


def drawn(values, n=4, step=3, **knobs):
    """The depths of what is drawn after a step with these values; fresh problems in turn."""
    drawer = after(values, **knobs)
    asks = drawer.draw(n, At(step, 9))
    fresh = [ask.task for ask in asks if not ask.note["depth"]]
    source = drawer.task
    begun = len(values)
    assert fresh == [source.get("train", begun + i) for i in range(len(fresh))] and drawer.drawn == begun + len(fresh)
    assert len({ask.note.get("history", id(ask)) for ask in asks}) == n  # none twice
    return [ask.note["depth"] for ask in asks]


def shares(**knobs):
    """How often, in 300 draws, each of two histories is asked, whose tries have variances 0.25 and 0.1875."""
    drawer, count = after([[0.0, 1.0], [0.0, 0.0, 0.0, 1.0]], share=1.0, **knobs), {}
    for _ in range(300):
        (ask,) = drawer.draw(1, At(3, 9))
        count[ask.note["history"]] = count.get(ask.note["history"], 0) + 1
    return count["0.0.0" if "0.0.0" in count else "0.0.1"] / 300


def waiting(least):
    """A curriculum with one history that is drawn from once there are `least`."""
    drawer = after([[0.0, 1.0], [1.0, 1.0]], share=1.0)
    drawer.least = least
    return drawer


def settled():
    """What is drawn once the tries at the one history do not differ any more, and an attempt at a problem from elsewhere."""
    drawer = after([[0.0, 1.0]], share=1.0)
    drawer.observe(tried(drawer.draw(1, At(1, 9)), [[1.0, 1.0]], 1), At(1, 9))
    drawn_next = drawer.draw(1, At(2, 9))[0].note
    drawer.observe(tried([gd.Ask(gd.Task("0", "q"))], [[0.0, 1.0]], 2), At(2, 9))
    return [drawn_next, [each["depth"] for each in drawer.buffer.values()]]


def halves():
    """The share of histories among 20 draws of 10 asks, of which there is enough."""
    drawer = after([[0.0, 1.0]] * 12)
    return [
        round(sum(a.note["depth"] > 0 for _ in range(20) for a in drawer.draw(10, At(3, 9))) / 200, 1),
        drawer.asked,
    ]


class Seat:
    """Says the letters of its name, one more each time; keeps what it is shown."""

    def __init__(self, name):
        self.name, self.views = name, []

    async def act(self, view, fresh=False):
        assert fresh
        self.views.append(view)
        return segment(text=self.name * len(self.views))


class Seats(dict):
    def episode(self):
        return [self["d"].views, self["p"].views]


def chain(times):
    env = revised("{prompt}|{attempt}", times=times, role="p", draft="d")
    return asyncio.run(env.play(gd.Ask(gd.Task("0", "q")), Seats(d=Seat("d"), p=Seat("p"))))


def composed(**knobs):
    recipe = made("exit", "countdown:3", **knobs)
    drawer, (exam,) = recipe.curriculum, recipe.exams
    return [
        [drawer.tries, drawer.share, drawer.power, drawer.keep, drawer.task.name],
        [exam.env.times, exam.env.template == drawer.template, dict(exam.seats), exam.source is drawer.task],
        recipe.stages.credit[0].by,
    ]


def spread(**knobs):
    """The mean variance of the histories that are asked: of ten, two differ much, the others little."""
    drawer = after([[0.0, 1.0]] * 2 + [[0.0] * 40 + [1.0]] * 8, share=1.0, **knobs)
    picked = [ask.note["history"] for _ in range(10) for ask in drawer.draw(2, At(3, 9))]
    return sum(drawer.buffer[name]["variance"] for name in picked) / len(picked)


SHARE = "torch.rand(n, generator=dice) {} play.at(self.share)"

mechanism = Mechanism(
    "exit",
    source="arXiv:2509.04575: histories drawn by the variance of their groups' returns, a new one from each group that varies",
    numbers={
        "one of each ask whose tries differ joins, with their variance": (
            lambda: buffer([[0.0, 1.0], [1.0, 1.0], [0.0, 0.0, 0.0, 1.0], [0.0, nan]]),
            [[0.25, 1, "try 0"], [0.1875, 1, "try 2"]],
        ),
        "any of them": (lambda: which(3), ["0", "1", "2"]),
        "a history asked again": (
            chained,
            [[True, 2, True], [[0.1875, 1, "try 0"], [0.1875, 2, "again"]], True],
        ),
        "the largest variances are kept, of equals the latest": (
            lambda: buffer([[0.0, 1.0], [0.0, 0.0, 0.0, 1.0], [0.0, 1.0]], [[0.0, 1.0], [0.0] * 7 + [1.0]], keep=2),
            [[0.25, 1, "try 2"], [0.25, 1, "try 0"]],
        ),
        "cut short, stopped, too long": (
            lambda: (
                [joined(end=end) for end in (End.CUT, End.STOPPED, End.DONE)]
                + [joined(said="x" * length) for length in (996, 997)]
            ),
            [0, 1, 1, 1, 0],
        ),
        "histories first, then problems": (lambda: drawn([[0.0, 1.0]], share=1.0), [1, 0, 0, 0]),
        "none while they are too few": (
            lambda: [ask.note for ask in waiting(2).draw(2, At(3, 9))],
            [{"depth": 0}] * 2,
        ),
        "as soon as there are enough": (lambda: len(waiting(1).draw(1, At(3, 9))[0].note), 2),
        "none without any variance": (lambda: drawn([[1.0, 1.0]], n=2, share=1.0), [0, 0]),
        "none whose tries are all right by now": (settled, [{"depth": 0}, [1, 1]]),
        "in proportion to their variance": (lambda: round(shares(), 1), 0.6),
        "by a power": (lambda: [round(shares(power=9.0), 1), round(shares(power=0.0), 1)], [0.9, 0.5]),
        "half of the asks": (halves, [0.5, 200]),
        "a chain of revisions, of which the last is the policy's": (
            lambda: [chain(2), chain(0)],
            [[["q", "q|d"], ["q|dd"]], [[], ["q"]]],
        ),
        "composed": (
            composed,
            [[8, 0.5, 1.0, 256, "countdown"], [4, True, {"draft": "policy", "policy": "policy"}, True], "ask"],
        ),
        "with other knobs": (
            lambda: composed(tries=3, share=0.1, power=2.0, keep=5, times=1)[:2],
            [[3, 0.1, 2.0, 5, "countdown"], [1, True, {"draft": "policy", "policy": "policy"}, True]],
        ),
    },
    world=World(
        says="tries at some histories differ much, at most they hardly do: the first are asked more often",
        measure=spread,
        off={"power": 0.0},
        moves=0.05,
    ),
    equal={
        f"histories.draw: {SHARE.format('<')} -> {SHARE.format('<=')}": "no random number is just that share",
        "histories._fresh: self.laps.source is not self.task -> self.laps.source is self.task": "made anew they are the same",
    },
)
