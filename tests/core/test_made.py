"""What is not text: pictures in views, observations as contexts, what actions made, pay by the action, seeded dice."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from refusals import refusal
from small import small_lm
from strategies import episode, segment, task

from guerdon.core.arrays import digest, dumps, equal, loads
from guerdon.core.episode import End
from guerdon.core.errors import UserError
from guerdon.core.model import Request
from guerdon.core.pack import cat, pack, unpack
from guerdon.core.part import part
from guerdon.core.task import Ask, Sampling
from guerdon.display.text import view_text
from guerdon.engine.batching import answer
from guerdon.engine.player import Player
from guerdon.models.tables import tabular
from guerdon.models.token_rows import rows
from guerdon.runs.rollout_files import read_batch, write_batch

RED, BLUE = np.zeros((2, 2, 3), np.uint8), np.full((2, 2, 3), 255, np.uint8)


def test_values_with_arrays_come_back_to_the_last_bit():
    value = {"text": "look", "pictures": [RED, {"x": np.array([0.1, np.nan], np.float32)}], "n": [1, None]}
    assert equal(loads(dumps(value)), value)
    assert not equal(loads(dumps(value)), {**value, "pictures": [BLUE, value["pictures"][1]]})
    assert not equal(RED, RED.astype(np.int64))
    assert loads(dumps({"__array__": 1})) == {"__array__": 1}
    with pytest.raises(TypeError, match="set"):
        dumps({1})


def test_a_person_reads_small_arrays_by_their_numbers_and_large_ones_by_their_shape():
    assert view_text("text") == "text"
    assert view_text([np.zeros((5, 5, 3), np.uint8), "corner?"]) == '["uint8 5 x 5 x 3", "corner?"]'
    assert view_text(np.array([0.123456, -1.0], np.float32)) == "[0.1235, -1.0]"


def test_a_digest_tells_pictures_apart_and_text_has_none():
    assert digest("text") == digest(["a", {"b": 1}]) == ""
    assert digest([RED]) == digest({"any": RED.copy()}) != digest([BLUE])
    assert digest(RED) != digest(RED.reshape(4, 3))


def test_float_contexts_are_carried_and_never_become_whole_numbers(tmp_path):
    ep = episode(segment([1, 2], context=[0.5, -0.25], view=[0.5, -0.25]), segment([3], context=[1e-9], parent=0))
    batch = pack([ep])
    assert batch.context.tolist() == pytest.approx([0.5, -0.25, 1e-9])
    assert batch.context.dtype == torch.float32
    assert unpack(batch)[0].same(ep)
    write_batch(tmp_path / "b.parquet", batch)
    assert read_batch(tmp_path / "b.parquet").same(batch)
    with refusal(UserError):
        pack([ep, episode(segment([1], context=[4]))])
    with pytest.raises(UserError, match="flatten it"):
        segment([1], context=[[0.5], [0.25]])


def test_what_was_made_and_paid_is_stored_exactly(tmp_path):
    ep = episode(segment([1, 2], made={"picture": BLUE}, rewards=[0.1, -3.0], view=["see", RED]))
    ep = ep.but(seed=12345678901234, ask=Ask(task("a"), view=[RED, "?"], seats={"policy": "other"}))
    batch = cat([pack([ep]), pack([episode(segment([3]), number=1)])])
    write_batch(tmp_path / "b.parquet", batch)
    again = read_batch(tmp_path / "b.parquet")
    assert again.same(batch)
    assert not ep.same(ep.but(seed=1))
    assert not ep.same(ep.but(ask=ep.ask.but(view=[BLUE, "?"])))
    assert not ep.same(ep.but(segments=(ep.segments[0].but(made=None),)))
    with refusal(UserError, "1", "2"):
        segment([1, 2], rewards=[1.0])


def test_equal_tokens_under_different_pictures_share_no_memory(tmp_path):
    """Placeholders are equal; what the model would see there is not."""
    model = small_lm(tmp_path)
    model.start(0, {})
    batch = pack([episode(segment([7, 8], context=[1, 2], view=view), number=n) for n, view in enumerate(("a", "b"))])
    shown = pack(
        [episode(segment([7, 8], context=[1, 2], view=[view]), number=n) for n, view in enumerate((RED, BLUE))]
    )
    assert [len(row.token) for row in rows(batch, 100, torch.device("cpu"))] == [4]  # the prompt once, a token of each
    assert [len(row.token) for row in rows(shown, 100, torch.device("cpu"))] == [6]
    asked = [model.token_request(Request((), "x", Sampling(max_tokens=3), seed)) for seed in (1, 1)]
    assert asked[0].pictures == asked[1].pictures == ("",)
    assert len(answer(model, [Request((), "x", Sampling(max_tokens=3), seed) for seed in (1, 2)])) == 2


def test_a_table_tells_large_pictures_apart():
    model = tabular()
    one = np.zeros((64, 64), np.uint8)
    other = one.copy()
    other[30, 30] = 1  # where numpy's own text has dots
    assert not np.array_equal(model.encode(one), model.encode(other))


@part
class wanders:
    """Moves at random, pays each action and stops at a limit; the policy has no say in where it goes."""

    roles = ("policy",)

    async def play(self, ask, seats):
        dice = random.Random(seats.seed)
        for _ in range(2):
            await seats["policy"].act(f"at {dice.randrange(1000)}")
            seats.reward(policy=[1.0, 2.0, 3.0])
        seats.reward(policy=[0.5, 0.5, 0.5])
        seats.cut(policy=f"at {dice.randrange(1000)}")
        return seats.episode()


def wanderer(seed=0):
    model = tabular(vocab="0123", length=3, spread=1.0)
    model.start(1, {})
    return Player({"policy": model}, {"policy": "policy"}, wanders(), Sampling(), seed, 1)


def test_dice_are_another_for_every_episode_and_the_same_again():
    first, again, other = (
        wanderer()([Ask(task("a"), 3)]),
        wanderer()([Ask(task("a"), 3)]),
        wanderer(1)([Ask(task("a"), 3)]),
    )
    views = [[s.view for s in ep.segments] for ep in first]
    assert views == [[s.view for s in ep.segments] for ep in again]
    assert len({str(v) for v in views}) == 3
    assert views != [[s.view for s in ep.segments] for ep in other]


def test_a_restart_throws_the_same_dice():
    play = wanderer()
    (ep,) = play([Ask(task("a"))])
    (again,) = play([Ask(task("a"), prefix=ep.prefix(1, 1))])
    assert [s.view for s in again.segments] == [s.view for s in ep.segments]
    assert again.seed == ep.seed
    assert again.segments[1].given == 1


def test_pay_by_the_action_adds_up_and_a_cut_episode_has_a_final_view():
    (ep,) = wanderer()([Ask(task("a"))])
    assert ep.segments[0].rewards.tolist() == [1.0, 2.0, 3.0]
    assert ep.segments[1].rewards.tolist() == [1.5, 2.5, 3.5]
    last = ep.segments[2]
    assert (last.end, len(last.actions), last.parent) == (End.CUT, 0, 1)
    assert last.view.startswith("at ")
    batch = pack([ep])
    assert batch.K == 1
