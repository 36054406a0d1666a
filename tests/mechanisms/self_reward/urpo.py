"""URPO: checked problems, lists to rank and open problems in one batch, each paid in its own way."""

from __future__ import annotations

import torch
from harness import Mechanism, Scripted, World, made, said_texts

import guerdon as gd
from guerdon.curricula.plain import EpochSampler
from guerdon.tasks.judging.lists_to_rank import LISTED, order_agreement, ranked_lists, ranked_rows

FAMILY = gd.tasks.load("chain:1")
ROWS = [{"question": f"{n}+1", "completions": ["good", "fair", "bad"], "ratings": [3, 2, 1]} for n in range(4)]
PAIRS = [{"question": f"{n}+1", "chosen": "good", "rejected": "bad"} for n in range(4)]
NAN = float("nan")
BEST = {"good": 3, "fair": 2, "bad": 1, "worst": 0}


@gd.part
class referee(gd.Answerer):
    """Puts the answers in a question in order, and says nothing where it is asked about `silent`."""

    in_role = False

    def plays_roles(self, models):
        return self.in_role

    async def answer(self, questions, models):
        return [gd.JudgeAnswer("?" if "silent" in q.messages[0][1] else self.order(q)) for q in questions]

    def order(self, question):
        text = question.messages[0][1]
        if self.in_role:
            first, second = text.partition("\na\n")[2].split("\nb\n")
            return f"= {'a' if BEST[first] > BEST[second] else 'b'}"
        listed = [each.partition(">\n")[2].partition("\n<")[0] for each in text.split("<answer ")[1:]]
        order = sorted(range(len(listed)), key=lambda i: -BEST.get(listed[i], 0))
        return f"Verdict: {' > '.join(str(i + 1) for i in order)}"


@gd.part
class role_player(referee):
    """The same, which compares two in sprig's role."""

    in_role = True


def recipe(name="urpo", rows=None, in_role=False, **knobs):
    built = made(name, FAMILY, **{**({"ranked": rows} if rows else {}), **knobs})
    if name == "urpo":
        own = built.stages[1].reward
        own.pairs.by = own.lists.by = role_player() if in_role else referee()
        built.stages[2].lists.form = "" if in_role else LISTED
    return built


def task(number, answer):
    return gd.Ask(gd.Task(str(number), f"{number}+1", answer, "chain", number, {}))


class Ranks(Scripted):
    """The policy says these orders of every list, in turn."""

    def __init__(self, *orders):
        super().__init__(lambda ask, attempt: orders[attempt % len(orders)])
        self.shown, self.ids = [], []

    def __call__(self, asks, env=None, seats=None):
        self.ids += [ask.task.id for ask in asks]
        self.shown += [(ask.n, ask.task.answer) for ask in asks]
        return super().__call__(asks, env, seats)


def batch(*texts, correct=None):
    """Tries at a problem with an answer and at one without, whose correctness is known for the first."""
    value = torch.tensor(correct or [1.0, 0.0] + [float("nan")] * len(texts))
    made_of = said_texts((task(1, "2"), ["2", "3"]), (task(2, ""), texts))
    reason = value.isnan().to(torch.int8)
    return made_of.with_cols({"correct": gd.Column("track", value.nan_to_num(float("nan")), reason)})


def paid(*texts, orders=("Verdict: 1 > 2 > 3",), step=False, correct=None, **knobs):
    """What is paid of tries at both problems and at lists, the kinds, and the shares in advantages."""
    built, play = recipe(**{"lists": 1, "tries": 2, "rows": ROWS, **knobs}), Ranks(*orders)
    whole, kinds = batch(*texts, correct=correct), []
    for stage in built.stages[1:-1]:
        whole = stage(whole, play)
        kinds = whole["kind"].tolist() if "kind" in whole.cols else kinds
    assert "kind" not in whole.cols  # or its mean would be logged
    shares = [play.metrics[f"advantage/{kind}"] for kind in ("checked", "open", "ranked")]
    return [whole["reward"].tolist(), kinds, shares, play.shown]


def lists(rows, form=LISTED, **knobs):
    listed = ranked_lists(ranked_rows(rows), form=form, **knobs).get("train", 1)
    shown = [each.partition(">\n")[2].partition("\n<")[0] for each in listed.prompt.split("<answer ")[1:]]
    return [shown or listed.prompt.splitlines()[3::2], listed.meta["worth"], listed.answer]


def best_open(name="urpo", **knobs):
    """The advantage of the best of three tries at a problem without an answer, by the stages of a recipe."""
    built, play = (
        recipe(name, **({"lists": 1, "tries": 2, "rows": ROWS} if name == "urpo" else {}), **knobs),
        Ranks("?"),
    )
    whole = batch("bad", "good", "fair")
    for stage in built.stages[1:-1]:
        whole = stage(whole, play)
    return float(whole.up(whole["advantage"], "track")[3].nan_to_num(0.0)) / len("good")


def composed(**knobs):
    built = made("urpo", FAMILY, **knobs)
    own, asked, exam = built.stages[1].reward, built.stages[2], built.exams[-1]
    ways = [asked.count, asked.tries, asked.lists.count, exam.name, exam.tasks, exam.tries, own.unchecked]
    ways += [own.pairs.name, own.lists.name, own.lists.prompt == LISTED]
    return [own.lists.by.name, own.pairs.against, sorted(built.models), built.seats, *ways]


def stated(*orders):
    """What lists of three pay for orders."""
    return paid("good", "bad", tries=len(orders), orders=[f"Verdict: {order}" for order in orders])[0][4:]


def checks(*replies):
    listed = gd.Task("0", "", meta={"worth": [1.0, 0.0]})
    return [ranked_lists(FAMILY, form=LISTED).check(listed, reply) for reply in replies]


def varied(orders):
    """The shares in advantages where all tries at problems are worth the same."""
    return paid("good", "good", correct=[1.0, 1.0, NAN, NAN], orders=orders)[2]


def made_up():
    """A family's list: the worth of its answers, by the lines before the first wrong one, and the order."""
    listed = ranked_lists(FAMILY, form=LISTED).get("train", 0)
    return [listed.meta["worth"], listed.answer, FAMILY.get("train", 0).prompt in listed.prompt]


def drawn_on(count, steps):
    """Whether the lists of some steps are the next ones of an epoch."""
    built, play = recipe(rows=ROWS, lists=count, tries=2), Ranks("?")
    play.seed = 5
    for _ in range(steps):
        built.stages[2](batch("good", "bad"), play)
    laps = EpochSampler(built.stages[2].lists)
    return [play.ids == [laps.task(i, 5).id for i in range(count * steps)], len(play.ids)]


def marked():
    """The first number and the length of the mark around a listed answer."""
    prompt = ranked_lists(ranked_rows(ROWS), form=LISTED).get("train", 1).prompt
    number, _, mark = prompt.partition("<answer ")[2].partition(">")[0].partition(" ")
    return [number, len(mark)]


SEATS = {"policy": "policy", "referee": "policy"}
OPEN = [[1.0, 0.0, 1.0, 0.0, 0.5, 1.0, 1.0], [0, 0, 1, 1, 1, 2, 2]]
mechanism = Mechanism(
    "urpo",
    source="arXiv:2507.17515, abstract and summaries: rule, Kendall's tau of a stated order, own ranking; one GRPO batch",
    also=[ranked_lists, ranked_rows, order_agreement],
    numbers={
        "each kind in its own way": (lambda: paid("good", "bad", "fair")[:2], OPEN),
        "orders": (lambda: stated("1 > 3 > 2", "3 > 2 > 1", "2", "1 > 1 > 2"), [1 / 3, -1.0, -1.0, -1.0]),
        "in sprig's roles": (
            lambda: paid("good", "bad", in_role=True, orders=("= a", "= b", "= c"), tries=3)[0],
            [1.0, 0.0, 1.0, 0.0, 1.0, -1.0, -1.0],
        ),
        "a judge that says nothing": (lambda: paid("good", "silent")[0][2:4], [NAN, NAN]),
        "open though it is known": (
            lambda: paid("good", "bad", correct=[1.0, 0.0, 0.0, 1.0], unchecked=("chain:1",))[1],
            [1, 1, 0, 0, 2, 2],
        ),
        "closed where it is known": (lambda: paid("good", "bad", correct=[1.0, 0.0, 0.0, 1.0])[1], [0, 0, 0, 0, 2, 2]),
        "shares of two kinds": (lambda: paid("good", "bad")[2], [0.5, 0.5, 0.0]),
        "shares of the third": (lambda: varied(("?", "Verdict: 1 > 2 > 3")), [0, 0, 1]),
        "no advantage": (lambda: varied(("?",)), [0, 0, 0]),
        "asked so often": (lambda: paid("good", "bad", tries=3)[3], [[3, "Verdict: 1 > 2 > 3"]]),
        "no lists": (lambda: paid("good", "bad", lists=0)[1], [0, 0, 1, 1]),
        "lists of rows": (lambda: lists(ROWS), [["good", "bad", "fair"], [3.0, 1.0, 2.0], "Verdict: 1 > 3 > 2"]),
        "shorter ones": (lambda: lists(ROWS, count=2), [["good", "bad"], [3.0, 1.0], "Verdict: 1 > 2"]),
        "pairs": (lambda: lists(PAIRS), [["bad", "good"], [0, 1], "Verdict: 2 > 1"]),
        "pairs for sprig": (lambda: lists(PAIRS, form=""), [["bad", "good"], [0, 1], "= b"]),
        "marks": (marked, ["1", 8]),
        "beside a task without steps": (lambda: made("urpo", ranked=ROWS).exams[-1].name, "referee"),
        "lists of a family": (made_up, [[1.0, 2 / 3, 1 / 3], "Verdict: 1 > 2 > 3", True]),
        "lists one after the other": (lambda: drawn_on(1, 3), [True, 3]),
        "several lists": (lambda: drawn_on(3, 1), [True, 3]),
        "what replies come to": (lambda: checks("= a", "= b", "?", "Verdict: 1 > 2"), [1.0, 0.0, 0.0, 1.0]),
        "composed": (
            composed,
            [
                "policy",
                2,
                ["policy"],
                {"policy": "policy", "referee": "policy"},
                4,
                8,
                3,
                "referee",
                32,
                1,
                (),
                "own",
                "own",
                True,
            ],
        ),
        "with a frozen referee": (
            lambda: composed(referee="start", size=4, lists=2, tries=3)[:7],
            ["reference", 2, ["policy", "reference"], SEATS, 2, 3, 4],
        ),
    },
    equal={
        "shares.__call__: 1.0 -> 2.0": "nothing is a share of nothing",
        "ranked_rows.tasks_of: 0 -> 1": "how many ties there were is told to people",
        "order_agreement: kendall(...) with [order.index(i + 1) for i in range(len(worth))] before [-each for each in worth]": (
            "tau is that of either with the other"
        ),
    },
    world=World(
        says="at a problem without an answer the try that the policy ranks first is reinforced",
        measure=best_open,
        off={"name": "grpo"},
        moves=0.5,
    ),
)
