"""A second role acts on what the first did: what it is asked and told, how it is paid, and what comes back, by hand."""

from __future__ import annotations

import math

import pytest
import torch
from refusals import refusal
from strategies import episode, expanded, segment
from watching import Watched

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay
from guerdon.core.extra_play import play_more, play_scored
from guerdon.core.optim import sgd
from guerdon.core.pack import cat, pack
from guerdon.credit.group_relative import centre
from guerdon.envs.simple import single_turn
from guerdon.losses.policy import clipped
from guerdon.losses.reduce import reduce
from guerdon.models.tables import tabular
from guerdon.rewards.stage.score_stages import score, verified
from guerdon.select.second_roles import aggregate_followups, follow_up, followed, links


@gd.part
class ones:
    """Four problems; one is right."""

    name = "ones"

    def size(self, split):
        return 4

    def get(self, split, index):
        return gd.Task(str(index), f"problem {index}", "1", family="ones")

    def check(self, task, completion):
        return float(completion == "1")


@gd.part
class four:
    """All four, two tries each."""

    tries: int = 2

    def draw(self, n, play):
        return [gd.Ask(ones().get("train", i), self.tries) for i in range(n)]


def agrees(completion, correct):
    return float((completion == "1") == (correct == 1.0))


def verdict(completion):
    return float(completion == "1")


class Said(ExamplePlay):
    """A play in which every follower says what it is told to: one text for each try, in order."""

    def __init__(self, *texts):
        super().__init__()
        self.texts, self.asked = list(texts), []

    def __call__(self, asks, env=None, seats=None):
        first = len(self.asked)
        self.asked += asks
        found = []
        for number, ask in enumerate(asks, start=100 + first):
            for attempt in range(ask.n):
                text = self.texts.pop(0)
                said = segment([int(text)] if text else [], role=env.roles[0], text=text, view=ask.shown)
                found.append(episode(said, ask=ask, number=number, attempt=attempt))
        return found


def tried(*texts, correct=None, tries=2):
    """Tries by role `policy`, so many an ask, with a column of what is right."""
    eps = [
        episode(segment([int(t)], text=t), name=str(n // tries), number=n // tries, attempt=n % tries)
        for n, t in enumerate(texts)
    ]
    value = torch.tensor([float(t == "1") for t in texts] if correct is None else correct)
    reason = torch.where(value.isnan(), int(Reason.FAILED), 0).to(torch.int8)
    return pack(eps).with_cols({"correct": Column("track", value, reason)})


def verifier(**knobs):
    knobs = {"tells": ("correct",), **knobs}
    return follow_up(single_turn("verifier"), "{prompt}: {attempt}?", [score(agrees, role="verifier")], **knobs)


# --- asking --------------------------------------------------------------------------------------------------------


def test_every_track_is_asked_about_with_what_its_reward_must_know():
    play = Said("1", "0", "1")
    batch = verifier()(tried("1", "0", "0"), play)
    assert [a.shown for a in play.asked] == ["prompt of 0: 1?", "prompt of 0: 0?", "prompt of 1: 0?"]
    assert [a.task.id for a in play.asked] == ["0", "0", "1"]
    assert play.asked[1].note == {"follows": [["0.0.1", 0, 1]], "attempt": "0", "correct": 0.0}
    assert play.metrics["verifier/asked"] == 3
    assert batch.roles == ("policy", "verifier") and batch.K == 6
    assert batch["reward"][3:].tolist() == [1.0, 1.0, 0.0]  # right that it is right, right that it is wrong, wrong
    assert batch.cols["reward"].reason[:3].tolist() == [Reason.NOT_APPLICABLE] * 3
    assert batch.cols["correct"].reason[3:].tolist() == [Reason.NOT_APPLICABLE] * 3
    assert [x.tolist() for x in followed(batch)] == [[3, 4, 5], [0, 1, 2]]


def test_what_failed_or_has_no_value_is_not_followed():
    broken = tried("1", "1", correct=[1.0, math.nan])
    failed = pack([episode(segment([1], text="1"), number=9, error="it broke")])
    play = Said("0")
    batch = verifier()(cat([broken, failed.with_cols({"correct": Column.full("track", torch.ones(1))})]), play)
    assert [a.note["follows"] for a in play.asked] == [[["0.0.0", 0, 1]]] and batch.K == 4


def test_a_column_is_given_also_where_nothing_is_followed():
    batch = verifier()(tried("1", correct=[math.nan]), Said())
    assert batch.cols["reward"].reason.tolist() == [Reason.NOT_APPLICABLE] and batch.K == 1
    assert verifier()(tried(), Said()).cols["reward"].value.tolist() == []


def test_a_function_shows_what_it_likes_or_nothing():
    def show(it):
        if it.text == "0":
            return None
        return {"said": [s.text for s in it.path], "right": it.columns["correct"], "of": it.prompt}

    play = Said("1", "1")
    follow_up(single_turn("critic"), show, tells=("correct",), tries=2)(tried("1", "0"), play)
    (ask,) = play.asked
    assert ask.shown == {"said": ["1"], "right": 1.0, "of": "prompt of 0"} and ask.n == 2


def test_a_function_may_make_the_whole_ask():
    own = gd.Ask(gd.Task("new", "another"), 3, seats={"critic": "old"}, note={"mine": 1})
    play = Said("1", "1", "1")
    follow_up(single_turn("critic"), lambda it: own)(tried("1"), play)
    assert play.asked == [own.but(note={"mine": 1, "follows": [["0.0.0", 0, 1]], "attempt": "1"})]


def test_one_question_about_all_tries_of_an_ask():
    play = Said("1", "0")
    show = "{prompt}\n{attempts}"
    sums_up = follow_up(single_turn("summariser"), show, per="ask", tells=("correct",))
    batch = sums_up(tried("1", "0", "0"), play)
    assert [a.shown for a in play.asked] == ["prompt of 0\n1\n\n0", "prompt of 1\n0"]
    assert play.asked[0].note == {
        "follows": [["0.0.0", 0, 1], ["0.0.1", 0, 1]],
        "attempts": ["1", "0"],
        "correct": [1.0, 0.0],
    }
    assert [x.tolist() for x in followed(batch)] == [[3, 3, 4], [0, 1, 2]]


def test_it_is_the_first_ones_table():
    """Seats go along, the start and the sampling do not."""
    ask = gd.Ask(gd.Task("t", "p"), 4, "asked so", gd.Sampling(top_k=1), seats={"policy": "b"}, note={"hint": 0.5})
    batch = pack([episode(segment([1], text="1"), ask=ask)])
    play = Said("1")
    how = gd.Sampling(max_tokens=1)
    follow_up(single_turn("critic"), "{prompt} {attempt}", sampling=how)(batch, play)
    (made,) = play.asked
    assert (made.prompt, made.seats, made.sampling, made.n, "hint" in made.note) == (
        "asked so 1",
        {"policy": "b"},
        how,
        1,
        False,
    )


def test_what_cannot_be_is_refused():
    with refusal(UserError, "follow_up.show"):
        follow_up(single_turn("critic"), "{prompt}")
    with refusal(UserError):
        follow_up(single_turn("critic"), 7)
    with refusal(UserError, "follow_up"):
        follow_up(single_turn("critic"), "{prompt}{attempt}", [centre()])
    with refusal(UserError):
        verifier(tells=("x",))(tried("1").put("x", "step", torch.ones(1)), Said())
    made = gd.Recipe({"policy": tabular()}, four(), single_turn(), [verified(ones()), verifier()])
    with refusal(UserError):
        made.check()


# --- the way back --------------------------------------------------------------------------------------------------


def test_what_followers_say_comes_back():
    ask = follow_up(single_turn("verifier"), "{prompt}{attempt}", [score(verdict, "verdict", "verifier")], tries=2)
    batch = aggregate_followups("verdict")(ask(tried("1", "0"), Said("1", "0", "0", "0")), ExamplePlay())
    assert batch["heard"][:2].tolist() == [0.5, 0.0]
    assert batch.cols["heard"].reason.tolist() == [0, 0, 1, 1, 1, 1]  # nobody follows the followers


def test_a_follower_that_broke_is_no_zero():
    ask = follow_up(single_turn("verifier"), "{prompt}{attempt}", [score(verdict, "verdict", "verifier")])
    batch = ask(tried("1", "0", "0"), Said("1", "0", "1"))
    broken = batch.cols["verdict"]
    value, reason = broken.value.clone(), broken.reason.clone()
    value[4], reason[4] = math.nan, int(Reason.TIMED_OUT)
    batch = aggregate_followups("verdict")(batch.with_cols({"verdict": Column("track", value, reason)}), ExamplePlay())
    assert batch.cols["heard"].reason[:3].tolist() == [Reason.VALUE, Reason.TIMED_OUT, Reason.VALUE]
    assert batch["heard"][[0, 2]].tolist() == [1.0, 1.0]


def test_links_outlive_selections_and_joins():
    """A tree with two tracks of which one was taken away before it was asked about."""
    whole = pack([episode(segment([1]), segment([0], parent=0, text="0"), segment([1], parent=0, text="1"))])
    half = whole.take(torch.tensor([False, True]))
    assert links(whole) == [["0.0.0", 1, 3], ["0.0.0", 2, 3]] and links(half) == [["0.0.0", 1, 2]]
    ask = follow_up(single_turn("critic"), "{prompt}{attempt}", [score(verdict, "verdict", "critic")])
    batch = ask(half, Said("1"))
    assert [x.tolist() for x in followed(batch)] == [[1], [0]]
    assert [x.tolist() for x in followed(batch.take(torch.tensor([True, False])))] == [[], []]
    asked = ask(whole, Said("1", "0"))
    lost = cat([asked.take(torch.tensor([False, True, True, True])), pack([])])  # its segments are numbered anew
    with refusal(UserError, "0.0.0"):
        followed(lost)


# --- with everything else --------------------------------------------------------------------------------------------


def test_a_tree_is_followed_as_the_chains_it_stands_for():
    trees = [
        episode(segment([1]), segment([0], parent=0, text="0"), segment([1, 2], parent=0, text="1"), number=n)
        for n in range(2)
    ]
    grads = []
    for eps in (trees, expanded(trees)):
        model = tabular("0123", rows=4096, spread=1.0)
        model.start(3, {})
        play = Said("1", "0", "1", "1")
        ask = follow_up(single_turn("verifier"), "{prompt}: {attempt}", [score(verdict, "verdict", "verifier")])
        batch = aggregate_followups("verdict")(ask(pack(eps), play), play)
        pay = torch.where(batch["heard"].isnan(), batch["verdict"], batch["heard"]).double() + 0.25
        x = model.read(batch, ["logp"])["logp"].double() * batch.down(pay, "track")
        loss = reduce(x, batch, "step") + reduce(x, batch, "constant", 3.0)
        loss.backward()
        grads.append((pay.tolist(), model.weights.logits.grad))
        assert [a.shown for a in play.asked] == ["prompt of t: 0", "prompt of t: 1"] * 2
    assert grads[0][0] == grads[1][0] == [1.25, 0.25, 1.25, 1.25, 1.25, 0.25, 1.25, 1.25]
    assert torch.allclose(grads[0][1], grads[1][1], rtol=1e-6, atol=1e-8)


def self_verification(micro=0, steps=4, verifier_model="policy"):
    """One table solves and verifies; both are learned from, each against its like."""
    ask = follow_up(
        single_turn("verifier"),
        "{prompt} {attempt}",
        [score(agrees, role="verifier")],
        tells=("correct",),
        tries=2,
    )
    stages = [verified(ones()), score(verdict), ask, aggregate_followups("reward", "trust"), centre(by="ask")]
    models = {name: tabular("01", length=1, rows=512) for name in sorted({"policy", verifier_model})}
    stages += [gd.Learn(name, clipped(), opt=sgd(lr=24.0), micro=micro) for name in sorted(models)]
    seats = {"policy": "policy", "verifier": verifier_model}
    return gd.Recipe(models, four(), single_turn(), stages, seats, prompts=4, steps=steps)


@pytest.mark.slow
def test_followers_are_played_counted_and_learned_from():
    seen = Watched(self_verification(), 16)
    for batch, row in zip(seen.batches, seen.rows, strict=True):
        assert row["verifier/asked"] == 8 and row["episodes"] == 8 + 16 == row["tokens"]
        assert batch.cols["reward"].missing.sum() == 0 and batch.cols["correct"].missing.sum() == 16
    first, last = (
        batch["reward"][batch.tracks_of(["verifier"])].mean() for batch in (seen.batches[0], seen.batches[-1])
    )
    assert last > first + 0.2  # it learned to verify, with the same weights that solve
    assert float(seen.batches[-1]["correct"].nanmean()) > 0.9


def test_a_verifier_of_its_own_learns_from_its_own_alone():
    seen = Watched(self_verification(verifier_model="critic"), 2)
    batch, play = seen.batches[-1], seen.play
    rows = {learn.model: learn.rows(batch, play) for learn in seen.recipe.stages if isinstance(learn, gd.Learn)}
    assert {name: (r.K, {r.roles[i] for i in r.role_K.tolist()}) for name, r in rows.items()} == {
        "policy": (8, {"policy"}),
        "critic": (16, {"verifier"}),
    }


def test_micro_batches_change_nothing():
    whole, small = (Watched(self_verification(micro=micro), 3) for micro in (0, 1))
    assert torch.allclose(whole.weights, small.weights, rtol=1e-6, atol=1e-8)
    assert [b["trust"].nan_to_num(-1).tolist() for b in whole.batches] == [
        b["trust"].nan_to_num(-1).tolist() for b in small.batches
    ]


def test_asking_more_says_where_the_new_asks_begin():
    play = Said("1", "0")
    batch, asked = play_more(tried("1", "0", "0"), [gd.Ask(gd.Task("0", "p"), 2)], [], play, single_turn())
    assert asked == 2 and batch.size("ask") == 3 and batch.ask[batch.leaf].tolist() == [0, 0, 1, 2, 2]
    assert batch["correct"][3:].isnan().all()
    assert play_scored([], [], play).K == 0
