"""MEL: of a right and a wrong try the policy writes where they part, and learns what it wrote where that is verified."""

from __future__ import annotations

import torch
from harness import Mechanism, Scripted, World, made
from strategies import episode, segment

import guerdon as gd
from guerdon.core.learn import row_groups
from guerdon.core.optim import sgd
from guerdon.core.pack import pack
from guerdon.recipes.policy.mel import PLAIN

FAMILY = gd.tasks.load("chain:2")
TASKS = FIRST, SECOND = [FAMILY.get("train", i) for i in range(2)]
RIGHT = FAMILY.solution(FIRST)
WRONG = "5*2=10\n10-3=6\n6-2=4\n= 4"  # of chain 5 *2 -3 -2: line 2 is wrong
LATER = "5*2=10\n10-3=7\n7-2=4\n= 4"  # line 3
TRIES = (RIGHT, WRONG, LATER), (FAMILY.solution(SECOND),) * 2
VOCAB = "".join(sorted({*"".join(map(chr, range(32, 127)))} | {"\n"}))


def table():
    model = gd.models.tabular(VOCAB, length=999, rows=512)
    model.start(0, {})
    return model


def tried(model, ask, text, role, number, attempt):
    reply = model.teacher_force(ask.shown, text)
    logp = [-2.0] * len(reply.actions)
    turn = segment(reply.actions, role=role, view=ask.shown, context=reply.context, logp=logp, text=text)
    return episode(turn, ask=ask, number=number, attempt=attempt)


class Written(Scripted):
    """The policy writes these experiences, and with one in sight answers by whether it says `good`."""

    def __init__(self, model, texts):
        super().__init__(lambda ask, attempt: None, policy=model)
        self.seats = dict.fromkeys(("policy", "experience", "replay"), "policy")
        self.texts, self.asked_for = texts, []

    def __call__(self, asks, env=None, seats=None):
        self.asked_for += [(env.roles[0], ask.n, ask.shown) for ask in asks]
        made_of = []
        for ask in asks:
            self.asked += 1
            for attempt in range(ask.n):
                text = self.texts[attempt]
                if env.roles[0] == "replay":
                    text = RIGHT if "good" in ask.shown else WRONG
                made_of.append(tried(self.models["policy"], ask, text, env.roles[0], 100 + self.asked, attempt))
        return made_of


def stepped(*texts, wording="", tries=TRIES, **knobs):
    """The batch after all stages but the learner, the learner, the play and its policy."""
    model = table()
    recipe, play = (
        made("mel", FAMILY, table(), **{"experiences": len(texts), "tries": 4, **knobs}),
        Written(model, texts),
    )
    batch = pack(
        [
            tried(model, gd.Ask(task, len(said)), text, "policy", n, attempt)
            for n, (task, said) in enumerate(zip(TASKS, tries, strict=False))
            for attempt, text in enumerate(said)
        ]
    )
    *stages, learn = recipe.stages
    for stage in stages:
        if wording and type(stage).__name__ == "follow_up" and hasattr(stage.show, "wording"):
            stage.show.wording = wording
        batch = stage(batch, play)
    return batch, learn, play, model


def asked(*texts, **knobs):
    return stepped(*texts, **knobs)[2].asked_for


def learned(*texts, **knobs):
    """What each term learns from, by its texts, and what is counted."""
    batch, learn, play, _ = stepped(*texts, **knobs)
    terms = [learn.rows(batch, play, rows, loss) for rows, loss in row_groups(learn.loss, learn.on)]
    counts = [play.metrics.get(f"experience/{what}") for what in ("asked", "kept", "left_out")]
    return [[term.texts for term in terms], counts]


def nll(*texts, **knobs):
    """The experiences' loss when each of their tokens has a log-prob of -1 divided by its track's length."""
    batch, learn, play, _ = stepped(*texts, **knobs)
    (_, _), (rows, loss) = row_groups(learn.loss, learn.on)
    mine = learn.rows(batch, play, rows, loss)
    size = mine.down(mine.up(torch.ones(mine.S), to="track"), of="track")
    return float(loss(mine, {"logp": -size})[0])


def rise(text="= 2", **knobs):
    """How much likelier an experience is after an update with rate 1 where `text` and `= 1` were written."""
    batch, learn, play, model = stepped(text, "= 1", **knobs)
    learn.opt, learn.clip = sgd(lr=1.0), 0.0
    learn.start(play)
    prompt = play.asked_for[0][2]
    row = pack([tried(model, gd.Ask(gd.Task("0", prompt)), text, "policy", 0, 0)])

    def likely():
        return float(model.read(row, ["logp"])["logp"].detach().sum())

    before = likely()
    learn(batch, play)
    return likely() - before


def numbered(text):
    return "\n".join(f"{n}. {line}" for n, line in enumerate(text.split("\n"), 1))


SAID = [RIGHT, WRONG, LATER, *TRIES[1]]
SHOWN = f"critique\n{FIRST.prompt}\n{WRONG}"
REPLAYED = f"{FIRST.prompt}\n\nThis was learned from an earlier mistake:\n"
mechanism = Mechanism(
    "mel",
    source="arXiv:2602.10224, eq. 2 to 10: J_GRPO + E[1/|M| sum log pi(M | I, x, y+, y-)] over verified experiences",
    numbers={
        "a pair of a problem that has both": (lambda: asked("= 2", "= 1"), [["experience", 2, SHOWN]]),
        "in words": (
            lambda: asked("Line 2. First wrong line: 2", wording=PLAIN)[0][2],
            PLAIN.format(question=FIRST.prompt, right=numbered(RIGHT), wrong=numbered(WRONG)),
        ),
        "no pair without a right try": (lambda: asked("= 2", tries=[(WRONG, LATER)]), []),
        "those that name the first wrong line": (
            lambda: learned("= 2", "= 1", "= none", "?", "I see. First wrong line: 2"),
            [[SAID, ["= 2", "I see. First wrong line: 2"]], [1.0, 2.0, 3.0]],
        ),
        "of the first wrong try": (
            lambda: learned("= 2", "= 3", tries=[(LATER, WRONG, RIGHT)])[0][1],
            ["= 3"],
        ),
        "by replay": (
            lambda: [
                learned("good {1}", "= 2", check="replay"),
                [each[2] for each in asked("good {1}", "= 2", check="replay")[1:]],
            ],
            [[[SAID, ["good {1}"]], [1.0, 1.0, 1.0]], [REPLAYED + "good {1}", REPLAYED + "= 2"]],
        ),
        "all": (lambda: learned("= 2", "?", check="none"), [[SAID, ["= 2", "?"]], [1.0, None, None]]),
        "the mean over tokens, then over experiences": (
            lambda: nll("= 2", "See line 2. = 9\n= 2", learned=0.5),
            0.5 * (3 + 19) / 2,
        ),
        "with weight 1": (lambda: nll("= 2"), 3.0),
        "one text": (lambda: made("mel", FAMILY, table()).stages[2].tries, 1),
        "the term": (lambda: made("mel", FAMILY, table()).stages.learners[0].loss.terms[1].title, "experience"),
        "the seats": (
            lambda: [sorted(made("mel", FAMILY, table(), check=check).seats) for check in ("best", "replay")],
            [["experience", "policy"], ["experience", "policy", "replay"]],
        ),
        "lines that cannot be checked": (
            lambda: [type(stage).__name__ for stage in made("mel", model=table()).stages[2:]],
            ["follow_up", "follow_up", "aggregate_followups", "Learn"],
        ),
    },
    equal={"contrast.__call__: tried[0] shuffled": "tries of one ask have one problem"},
    world=World(
        says="an experience that names the first wrong line becomes likelier to its prompt",
        measure=rise,
        off={"learned": 0.0},
        moves=0.1,
    ),
)
