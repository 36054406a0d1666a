"""A turn that goes on, and readings for an environment: `seat.act(view, go_on=True)` and `seat.read`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from refusals import refusal
from small import small_lm
from strategies import task
from tolerances import assert_rounded, decoder_terms

from guerdon import models
from guerdon.core.episode import End
from guerdon.core.errors import UserError
from guerdon.core.pack import pack
from guerdon.core.part import part
from guerdon.core.task import Ask, Sampling
from guerdon.engine import cpu
from guerdon.engine.player import Player
from guerdon.models import value_head
from guerdon.models.frozen_copy import snapshot
from guerdon.models.language_model import lm
from guerdon.models.probing import probe
from guerdon.models.tables import tabular
from guerdon.rewards.asking.samples import text_of, turns_of

ASKS = [Ask(task(n), 2) for n in "abc"]
# float32 rounds otherwise on a GPU: there a plain turn is read 1.7e-5 from what was sampled, and 1.4e-5 from a CPU's reading


def near(model, found, expected):
    """Log-probs up to the rounding of the model's sums; a table's is over ten choices."""
    config = getattr(model, "config", None)
    assert_rounded(found, expected, decoder_terms(config, 64) if config else 10)


@part
class stretches:
    """One turn in so many stretches, `between` put in before each but the first."""

    count: int = 1
    between: str = ""
    after: Any = None
    roles = ("policy",)

    async def play(self, ask, seats):
        s = await seats["policy"].act(ask.shown)
        for _ in range(self.count - 1):
            if s.end in (End.CUT, End.STOPPED):
                s = await seats["policy"].act(self.between, go_on=True)
        if self.after is not None:
            await seats["policy"].act(self.after)
        return seats.episode()


def table(**knobs):
    return tabular(**{"vocab": "0123456789", "spread": 1.5, **knobs})


def played(model, env, asks=ASKS, **how):
    model.start(1, {})
    return Player({"policy": model}, {"policy": "policy"}, env, Sampling(**how), 0, 10)(asks)


def numbers(model, episodes):
    with torch.no_grad():
        found = model.read(pack(episodes), ["logp", "entropy"])
    return found["logp"].cpu(), found["entropy"].cpu()


@pytest.fixture(params=["table", "fixed", "small", "sprig"])
def model(request, tmp_path):
    if request.param in ("table", "fixed"):
        return table(length=9 if request.param == "fixed" else 0)
    return small_lm(tmp_path / "lm") if request.param == "small" else models.load("sprig-1.1")


@pytest.mark.sampled(2, "model")
def test_a_turn_that_goes_on_is_a_turn_that_never_stopped(model):
    whole = played(model, stretches(), temperature=0.0, max_tokens=8)
    halves = played(model, stretches(count=2), temperature=0.0, max_tokens=4)
    assert any(len(e.segments) == 2 for e in halves)
    for one, two in zip(whole, halves, strict=True):
        assert np.concatenate([s.actions for s in two.segments]).tolist() == one.segments[0].actions.tolist()
        assert two.segments[-1].end is one.segments[0].end
        assert [text_of(turn) for turn in turns_of(two.segments)] == [one.segments[0].text]
    for a, b in zip(numbers(model, whole), numbers(model, halves), strict=True):
        near(model, a, b)


def test_what_is_sampled_in_a_turn_that_goes_on_is_what_is_read(model):
    found = played(model, stretches(count=3, between="12"), max_tokens=2)
    batch = pack(found)
    assert len(found) < batch.G and len(found) == batch.K
    near(model, numbers(model, found)[0], batch.logp)


@pytest.mark.skipif(
    torch.cuda.is_available(), reason="looks at how a CPU reads; pages are held to it in test_cuda_decoding"
)
def test_only_the_last_token_is_read_to_go_on(tmp_path, monkeypatch):
    model = small_lm(tmp_path / "lm")
    read = []
    plain = cpu.CpuDecoding.read
    monkeypatch.setattr(
        cpu.CpuDecoding, "read", lambda self, some: read.append([len(p.tokens) for p in some]) or plain(self, some)
    )
    (found,) = played(model, stretches(count=3), [Ask(task("a"))], max_tokens=4, temperature=0.0)
    assert len(found.segments) == 3 and read == [[len(found.segments[0].context)], [1], [1]]
    assert [len(s.context) for s in found.segments[1:]] == [0, 0]


def test_a_fixed_length_counts_the_whole_turn():
    found = played(table(length=5), stretches(count=3), max_tokens=2)
    assert {tuple(len(s.actions) for s in e.segments) for e in found} == {(2, 2, 1)}
    assert {tuple(s.end for s in e.segments) for e in found} == {(End.CUT, End.CUT, End.DONE)}


def test_text_stands_in_the_turn_as_it_is(tmp_path):
    model = small_lm(tmp_path / "lm")
    found = played(model, stretches(count=2, between="so the <|end|>", after="and?"), max_tokens=3)
    gone = [e for e in found if len(e.segments) == 3]
    assert gone
    for e in gone:
        first, more, last = e.segments
        assert more.goes_on and more.context.tolist() == model.chat.tokens("so the <|end|>")
        joined = first.but(actions=np.concatenate([first.actions, more.context, more.actions]),
                           logp=np.zeros(len(first.actions) + len(more.context) + len(more.actions)))  # fmt: skip
        assert not last.goes_on and last.context.tolist() == model.encode("and?", (joined,)).tolist()
        assert text_of(turns_of(e.segments)[0]) == first.text + "so the <|end|>" + more.text


def test_a_stop_string_lets_an_environment_put_something_in():
    """A tool: whatever the table says up to 7 is answered with 00, in the same turn."""
    found = played(table(), stretches(count=4, between="00"), max_tokens=40, stop=("7",))
    used = [e for e in found if len(e.segments) > 1]
    assert used and all(s.end is End.STOPPED for e in used for s in e.segments[:-1])
    assert all(s.text + "7" == table().decode(s.actions) for e in used for s in e.segments[:-1])
    assert {s.end for e in found for s in e.segments[-1:]} <= {End.DONE, End.STOPPED}


def test_a_turn_that_is_over_does_not_go_on():
    @part
    class always:
        """Goes on whatever happened."""

        roles = ("policy",)

        async def play(self, ask, seats):
            await seats["policy"].act("x")
            await seats["policy"].act("", go_on=True)
            return seats.episode()

    @part
    class early(always):
        """Goes on before anything happened."""

        async def play(self, ask, seats):
            await seats["policy"].act("x", go_on=True)
            return seats.episode()

    with refusal(UserError):
        played(table(length=3), always())
    with refusal(UserError):
        played(table(length=3), early())


def test_a_restart_goes_on_as_before():
    first = played(table(length=9), stretches(count=3), max_tokens=3)
    model = table(length=9)
    model.start(1, {})
    play = Player({"policy": model}, {"policy": "policy"}, stretches(count=3), Sampling(max_tokens=3), 0, 10)
    again = play([Ask(e.task, 1, prefix=e.prefix(1, 2)) for e in first])
    for old, new in zip(first, again, strict=True):
        assert [s.goes_on for s in new.segments] == [False, True, True]
        assert new.segments[1].actions[:2].tolist() == old.segments[1].actions[:2].tolist()
        assert [s.given for s in new.segments] == [3, 2, 0]
        assert sum(len(s.actions) for s in new.segments) == 9


# --- readings for an environment ------------------------------------------------------------------------------------------


@part
class reading:
    """Acts, has something read, and tells."""

    want: Any = "final"
    text: Any = None
    turns: int = 2
    roles = ("policy",)

    async def play(self, ask, seats):
        seen = []
        for turn in range(self.turns):
            await seats["policy"].act(f"{ask.shown} {turn}")
            found = await seats["policy"].read(self.want, text=self.text)
            seen.append({name: x.tolist() for name, x in found.items()})
        return seats.episode(seen=seen)


def valued(folder, **changes):
    small_lm(folder, **changes)
    made = lm(source=str(folder), value=True)
    made.start(0, {})
    with torch.no_grad():
        value_head.head_of(made.decoder).weight.copy_(torch.linspace(-1, 1, made.config.hidden))
    return made


def test_an_environment_is_told_what_the_head_says(tmp_path):
    model = valued(tmp_path / "lm")
    found = played(model, reading(), max_tokens=4)
    for e in found:
        with torch.no_grad():
            last = model.read(pack([e]), ["final"])["final"]
            first = model.read(pack([e.but(segments=e.segments[:1])]), ["final"])["final"]
        seen = [each["final"] for each in e.info["seen"]]
        assert seen == pytest.approx([float(first), float(last)], abs=1e-5)


def test_a_text_is_read_where_the_role_stopped():
    model = table(length=6)
    found = played(model, reading(want=["logp", "entropy"], text="42", turns=1), max_tokens=4)
    for e in found:
        (told,) = probe(model, [(e.segments, None, "42")], ["logp", "entropy"])
        assert e.info["seen"] == [{name: x.tolist() for name, x in told.items()}]
        assert len(e.info["seen"][0]["logp"]) == 2


def test_readings_of_many_episodes_are_one_pass_and_are_counted(tmp_path, monkeypatch):
    model = valued(tmp_path / "lm")
    passes = []
    read = lm.read
    monkeypatch.setattr(lm, "read", lambda self, batch, want: passes.append(batch.K) or read(self, batch, want))
    play = Player({"policy": model}, {"policy": "policy"}, reading(turns=1), Sampling(max_tokens=1), 0, 10)
    play(ASKS)
    assert passes == [6] and play.calls == 12


def test_another_model_of_the_run_is_asked_by_its_name(tmp_path):
    model, critic = small_lm(tmp_path / "lm"), valued(tmp_path / "critic", seed=7)
    model.start(0, {})
    table = {"policy": model, "critic": critic, "old": snapshot("critic")}
    table["old"].start(0, table)
    want = ["critic.final", "old.final", "logp"]
    play = Player(table, {"policy": "policy"}, reading(want=want, turns=1), Sampling(max_tokens=4), 0, 10)
    for e in play(ASKS):
        (told,) = probe(critic, [(e.segments, None, None)], ["final"])
        (seen,) = e.info["seen"]
        assert seen["critic.final"] == seen["old.final"] == pytest.approx(float(told["final"]), abs=1e-5)
        assert seen["logp"] == []


def test_what_cannot_be_read_stops_the_run(tmp_path):
    with refusal(UserError):
        played(table(), reading())
    with refusal(UserError):
        played(table(), reading(want="critik.final"))
    with refusal(UserError):
        played(valued(tmp_path / "lm", max_positions=32), reading(text="so the " * 20), max_tokens=2)


# --- what a limit cuts off ------------------------------------------------------------------------------------------


@part
class shows_much:
    """One turn, and then a view of so many words that nobody may answer."""

    words: int = 1
    roles = ("policy",)

    async def play(self, ask, seats):
        await seats["policy"].act(ask.shown)
        seats.cut(policy="so " * self.words)
        return seats.episode()


@pytest.mark.parametrize("words", [1, 200])
def test_a_view_that_does_not_fit_is_kept_as_far_as_it_fits(tmp_path, words):
    """A track that is longer than the context could be neither read nor learned from."""
    model = valued(tmp_path / "lm", max_positions=48)
    episodes = played(model, shows_much(words=words), max_tokens=4)
    for e in episodes:
        first, last = e.segments
        whole = len(model.encode("so " * words, [first]))
        room = 48 - len(first.context) - len(first.actions)
        assert (len(last.context), last.end, last.view) == (min(room, whole), End.CUT, "so " * words)
    seen = model.read(pack(episodes), ["logp", "final"])
    assert torch.isfinite(seen["final"]).all() and len(seen["final"]) == len(episodes)


def test_a_view_that_nothing_of_fits_leaves_a_track_that_is_read(tmp_path):
    """The turn took all the room there is."""
    model = valued(tmp_path / "lm", max_positions=12)
    episodes = played(model, shows_much(words=9), max_tokens=64)
    full = [e for e in episodes if len(e.segments[0].context) + len(e.segments[0].actions) == 12]
    assert full and all(len(e.segments[1].context) == 0 for e in full)
    assert torch.isfinite(model.read(pack(full), ["logp", "final"])["final"]).all()
