"""Rewards that read a model of the run, on tables whose numbers are known and on a small language model."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from refusals import refusal
from small import small_lm, table
from strategies import episode
from tolerances import LM_TERMS, wandering

from guerdon import score_samples
from guerdon.core.column import Column, Reason
from guerdon.core.episode import End, Segment
from guerdon.core.errors import UserError
from guerdon.core.pack import pack
from guerdon.core.task import Sampling
from guerdon.engine.player import Player
from guerdon.models import value_head
from guerdon.models.frozen_copy import snapshot
from guerdon.models.language_model import lm
from guerdon.models.tables import tabular
from guerdon.rewards.asking.function import ask_all
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.algebra import blend
from guerdon.rewards.model.confidence import likelihood, low_entropy, self_certainty, span_mean
from guerdon.rewards.model.model_reading import sample_tokens
from guerdon.rewards.model.reward_models import implicit, outcome_model, process_model
from guerdon.rewards.stage.score_stages import score
from guerdon.training.loop import start

sys.path.append(str(Path(__file__).parent.parent / "resume"))
from everything import everything

NEAR = wandering(LM_TERMS, scale=8.0)  # values of a small model's head, read with a gradient and without


def turn(model, view, text, end=End.DONE, path=(), given=0, role="policy"):
    reply = model.teacher_force(view, text, path)
    kept = len(reply.actions) - (end is End.CUT and hasattr(model, "tokenizer"))
    parts = reply.context, reply.actions[:kept], reply.logp[:kept]
    return Segment(role, view, *parts, text, len(path) - 1, end=end, given=given)


def asked(reward, models, *tracks, batch=None):
    batch = batch or pack([episode(*track, number=i) for i, track in enumerate(tracks)])
    play = Player(models, {"policy": "policy"}, None, Sampling(), 0, 1)
    return ask_all([(reward, Samples.of_batch(batch, play, "policy"))])[0]


def values(outcomes):
    assert all(o.reason is Reason.VALUE for o in outcomes), outcomes
    return [o.value for o in outcomes]


# --- confidence -----------------------------------------------------------------------------------------------------


def test_likelihood_and_entropy_by_hand():
    policy = table(3, 1)
    tracks = [(turn(policy, "a", text),) for text in ("00", "01", "11")]
    three, one = math.log(3 / 4), math.log(1 / 4)
    found = values(asked(likelihood(), {"policy": policy}, *tracks))
    assert found == pytest.approx([three, (three + one) / 2, one], abs=1e-6)
    entropy = -(0.75 * three + 0.25 * one)
    assert values(asked(low_entropy(), {"policy": policy}, *tracks)) == pytest.approx([-entropy] * 3, abs=1e-6)


def test_given_actions_are_not_the_samples_own_and_what_took_no_step_does_not_apply():
    policy = table(3, 1)
    silent = Segment("policy", "a", policy.encode("a"), np.zeros(0), np.zeros(0))
    broken = turn(policy, "a", "00", end=End.FAILED)
    batch = pack(
        [
            episode(turn(policy, "a", "01", given=1)),
            episode(turn(policy, "a", "01", given=2), number=1),
            episode(silent, number=2),
            episode(broken, number=3),
            episode(turn(policy, "a", "00"), turn(policy, "b", "11", role="second"), number=4),
        ]
    )
    found = asked(likelihood(), {"policy": policy}, batch=batch)
    assert [o.reason for o in found] == [Reason.VALUE, Reason.NOT_APPLICABLE, Reason.NOT_APPLICABLE, Reason.VALUE]
    assert found[0].value == pytest.approx(math.log(1 / 4)) and found[3].value == pytest.approx(math.log(3 / 4))


def test_a_trunk_counts_for_each_of_its_branches():
    policy = table(3, 1)
    trunk = turn(policy, "a", "00")
    twigs = [turn(policy, "b", text, path=(trunk,)) for text in ("00", "11")]
    found = values(asked(likelihood(), {"policy": policy}, (trunk, *twigs)))
    assert found == pytest.approx([math.log(3 / 4), (math.log(3 / 4) + math.log(1 / 4)) / 2], abs=1e-6)


def test_what_was_read_already_is_not_read_again():
    policy = table(3, 1)
    batch = pack([episode(turn(policy, "a", "00")), episode(turn(policy, "a", "01"), number=1)])
    batch = batch.with_cols({"policy.logp": Column.full("step", torch.tensor([-1.0, -2.0, -3.0, -4.0]))})
    assert values(asked(likelihood(), {"policy": policy}, batch=batch)) == [-1.5, -3.5]


def test_self_certainty_is_the_mean_of_a_reading(tmp_path):
    policy = small_lm(tmp_path)
    tracks = [(turn(policy, "x + 4 = 9", text),) for text in ("so 5", "the answer is 357")]
    read = policy.read(pack([episode(*t, number=i) for i, t in enumerate(tracks)]), ["certainty"])["certainty"]
    first = len(tracks[0][0].actions)
    want = [float(read[:first].mean()), float(read[first:].mean())]
    assert values(asked(self_certainty(), {"policy": policy}, *tracks)) == pytest.approx(want, rel=1e-6)
    frozen = {"policy": policy, "old": snapshot("policy")}
    frozen["old"].start(0, frozen)
    assert values(asked(self_certainty("old"), frozen, *tracks)) == pytest.approx(want, rel=1e-6)


# --- parts of a text --------------------------------------------------------------------------------------------------


def read_as(model, text, given=0, **numbers):
    """A track of a text with a reading of the policy for each of its tokens."""
    batch = pack([episode(turn(model, "x", text, given=given))])
    columns = {f"policy.{name}": Column.full("step", torch.tensor(each)) for name, each in numbers.items()}
    return batch.with_cols(columns)


LETTERS = tabular(vocab="0123456789=+# \n<>t/", length=40)


@pytest.mark.parametrize(
    ("text", "knobs", "where"),
    [
        ("7+9=16\n= 16", {}, [9, 10]),
        ("= 16", {}, [2, 3]),
        ("7+9=16 ", {}, [4, 5]),  # without a mark, the last number
        ("7+9=16", {"fallback": False}, None),
        ("t", {}, None),
        ("#### 1 + 6", {}, [5]),
        ("#### 1 + 6", {"answer": "text"}, [5, 6, 7, 8, 9]),
        ("####", {}, None),
        ("79\n= 16", {"over": "before"}, [0, 1]),
        ("79\n= 16", {"over": "after"}, [5, 6]),
        ("79</t>16", {"over": "after", "marks": ("</t>",)}, [6, 7]),
        ("</t>16", {"over": "before", "marks": ("</t>",)}, None),
        ("7916", {"over": "before", "marks": ("</t>",)}, None),
    ],
)
def test_the_tokens_of_a_part_by_hand(text, knobs, where):
    LETTERS.start(0, {})
    size = len(turn(LETTERS, "x", text).actions)
    entropy = [0.5**n for n in range(size)]
    reward = span_mean("entropy", **knobs)
    (found,) = asked(reward, {"policy": LETTERS}, batch=read_as(LETTERS, text, entropy=entropy))
    if where is None:  # and a run in which it applies to none is told why
        assert found.reason is Reason.NOT_APPLICABLE and found.detail["why"]
    else:
        assert found.value == pytest.approx(sum(entropy[n] for n in where) / len(where))


def test_the_confidence_in_an_answer_is_a_mean_of_probabilities():
    LETTERS.start(0, {})
    text = "7+9=16\n= 16"
    size, answer = len(turn(LETTERS, "x", text).actions), [math.log(0.9), math.log(0.8)]
    for reasoning in (-0.5, -2.0):  # other log-probs of the reasoning change nothing
        logp = [reasoning] * 9 + answer + [-1.0] * (size - 11)
        (found,) = asked(span_mean(), {"policy": LETTERS}, batch=read_as(LETTERS, text, logp=logp))
        assert found.value == pytest.approx(0.85)
    (given,) = asked(span_mean("logp"), {"policy": LETTERS}, batch=read_as(LETTERS, text, given=10, logp=logp))
    assert given.value == pytest.approx(math.log(0.8))
    (all_given,) = asked(span_mean(), {"policy": LETTERS}, batch=read_as(LETTERS, text, given=11, logp=logp))
    assert all_given.reason is Reason.NOT_APPLICABLE


def test_parts_are_of_the_last_turn_and_continuations_belong_to_it():
    LETTERS.start(0, {})
    first = turn(LETTERS, "x", "= 1")
    second = turn(LETTERS, "y", "7", path=(first,))
    more = turn(LETTERS, "\n= ", "16", path=(first, second)).but(goes_on=True)
    batch = pack([episode(first, second, more)])
    entropy = torch.arange(batch.S, dtype=torch.float32)
    batch = batch.with_cols({"policy.entropy": Column.full("step", entropy)})
    start = len(first.actions) + len(second.actions)
    (found,) = asked(span_mean("entropy"), {"policy": LETTERS}, batch=batch)
    assert found.value == pytest.approx(start + 0.5)
    (before,) = asked(span_mean("entropy", over="before"), {"policy": LETTERS}, batch=batch)
    assert before.value == len(first.actions)


@pytest.mark.parametrize("text", ["so 357\nthe answer is 12", "na\u00efve \u65e5\u672c = 345\U0001f642"])
def test_every_character_is_spelled_by_the_tokens_of_its_place(tmp_path, text):
    policy = small_lm(tmp_path)
    batch = pack([episode(turn(policy, "x", text))])
    play = Player({"policy": policy}, {"policy": "policy"}, None, Sampling(), 0, 1)
    turned = sample_tokens(Samples.of_batch(batch, play, "policy"), play, "policy").spelled(0, "policy")
    assert turned.text == text and [place.step for place in turned.places] == list(range(batch.S))
    ends = [place.end for place in turned.places]
    assert [place.start for place in turned.places] == [0, *ends[:-1]] and ends[-1] == len(text)
    for place in turned.places:
        within = turned.within(place.start, place.end)
        assert (place.step in within) == (place.end > place.start)


def test_another_model_reads_the_part_in_its_own_tokens(tmp_path):
    policy, reader = table(3, 1), small_lm(tmp_path)
    models = {"policy": policy, "reader": reader}
    (found,) = asked(span_mean("logp", model="reader"), models, (turn(policy, "x", "01"),))
    own = turn(reader, "x", "01")
    logp = reader.read(pack([episode(own)]), ["logp"])["logp"][: len(own.actions) - 1]  # not the end of the turn
    assert found.value == pytest.approx(logp.mean().item(), abs=NEAR)


def test_what_is_refused_in_one_line(tmp_path):
    policy = table(1, 1)
    track = (turn(policy, "a", "00"),)
    with refusal(UserError):
        asked(self_certainty(), {"policy": policy}, track)
    with refusal(UserError):
        asked(likelihood("polcy"), {"policy": policy}, track)
    with refusal(UserError):
        score_samples(likelihood(), [{"completion": "00"}])
    with refusal(UserError):
        asked(outcome_model("policy"), {"policy": policy}, track)
    with refusal(UserError):
        span_mean(marks=())
    with pytest.raises(UserError, match="both are 'a'"):
        implicit("a", "a")


# --- implicit ---------------------------------------------------------------------------------------------------------


def test_the_implicit_reward_by_hand():
    models = {"policy": table(3, 1), "reference": table(1, 1)}
    tracks = [(turn(models["policy"], "a", text),) for text in ("00", "01")]
    up, down = 0.1 * math.log(1.5), 0.1 * math.log(0.5)
    assert values(asked(implicit(beta=0.1), models, *tracks)) == pytest.approx([2 * up, up + down], abs=1e-6)
    along = asked(implicit(beta=0.1, per="token"), models, *tracks)
    assert along[1].steps == pytest.approx((up, down), abs=1e-6)
    assert along[1].value == pytest.approx(up + down, abs=1e-6) and along[1].detail == {"ends": [1, 2]}


def test_the_implicit_reward_of_turns():
    models = {"policy": table(3, 1), "reference": table(1, 1)}
    first = turn(models["policy"], "a", "00")
    second = turn(models["policy"], "b", "11", path=(first,))
    (found,) = asked(implicit(beta=1.0, per="turn"), models, (first, second))
    assert found.steps == pytest.approx((2 * math.log(1.5), 2 * math.log(0.5)), abs=1e-6)
    assert found.detail == {"ends": [2, 4]}


def test_a_log_ratio_that_is_infinite_failed():
    models = {"policy": table(3, 1), "reference": table(1, 1)}
    batch = pack([episode(turn(models["policy"], "a", "00"))])
    batch = batch.with_cols({"reference.logp": Column.full("step", torch.tensor([-1.0, -math.inf]))})
    assert asked(implicit(), models, batch=batch)[0].reason is Reason.FAILED
    assert asked(implicit(per="token"), models, batch=batch)[0].reason is Reason.FAILED


def test_models_with_other_tokens_cannot_be_compared(tmp_path):
    models = {"policy": table(3, 1), "reference": small_lm(tmp_path)}
    with refusal(UserError):
        asked(implicit(), models, (turn(models["policy"], "a", "00"),))


# --- reward models ------------------------------------------------------------------------------------------------------

THREE = "so the sum\n\nis 12\nthe answer is 357"


def graded(tmp_path, weight=0.0, bias=0.5, **changes):
    small_lm(tmp_path, **changes)
    made = lm(source=str(tmp_path), value=True)
    made.start(0, {})
    head = value_head.head_of(made.decoder)
    with torch.no_grad():
        head.weight.copy_(weight * torch.linspace(-1, 1, len(head.weight)))
        head.bias.fill_(bias)
    return made


def test_an_outcome_model_by_hand(tmp_path):
    rm = graded(tmp_path, bias=0.5)
    tracks = [(turn(rm, "x", "so 5"),), (turn(rm, "x", "the sum", End.CUT),)]
    models = {"policy": rm, "rm": rm}
    assert values(asked(outcome_model(), models, *tracks)) == pytest.approx([0.5, 0.5])
    want = 1 / (1 + math.exp(-0.5))
    assert values(asked(outcome_model(squash=True), models, *tracks)) == pytest.approx([want, want])


def test_an_outcome_model_is_read_after_the_last_token(tmp_path):
    rm = graded(tmp_path, weight=1.0)
    track = (turn(rm, "x", "so 5"),)
    want = rm.read(pack([episode(*track)]), ["final"])["final"].item()
    assert values(asked(outcome_model(), {"policy": rm, "rm": rm}, track)) == pytest.approx([want], abs=NEAR)


@pytest.mark.parametrize(
    ("how", "want"), [("min", 0.6), ("product", 0.6**3), ("last", 0.6), ("mean", 0.6), ("sum", 1.8)]
)
def test_process_models_by_hand(tmp_path, how, want):
    prm = graded(tmp_path, bias=math.log(0.6 / 0.4))  # every step is right with probability 0.6, and there are three
    (found,) = asked(process_model(aggregate=how), {"policy": prm, "prm": prm}, (turn(prm, "x", THREE),))
    assert found.value == pytest.approx(want) and found.detail["along"] == pytest.approx([0.6] * 3)


def test_steps_end_where_their_lines_do(tmp_path):
    prm = graded(tmp_path, weight=1.0)
    track = (turn(prm, "x", THREE),)
    models = {"policy": prm, "prm": prm}
    (found,) = asked(process_model(aggregate="steps", squash=False), models, track)
    after = prm.read(pack([episode(*track)]), ["after"])["after"]
    ends = found.detail["ends"]
    assert ends[-1] == len(after)  # the end of the turn belongs to the last line
    said = [prm.decode(track[0].actions[a:b].tolist()) for a, b in zip([0, *ends], ends, strict=False)]
    assert said == ["so the sum\n\n", "is 12\n", "the answer is 357"]
    assert found.steps == pytest.approx([after[end - 1].item() for end in ends], abs=NEAR)
    (tokens,) = asked(process_model(steps="token", aggregate="steps", squash=False), models, track)
    assert tokens.steps == pytest.approx(after.tolist(), abs=NEAR)
    (turns,) = asked(process_model(steps="turn", aggregate="steps", squash=False), models, track)
    assert turns.steps == pytest.approx([after[-1].item()], abs=NEAR)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("\n\nso", ["\n\nso"]),
        ("so", ["so"]),
        ("so\n", ["so\n"]),
        ("a\n b\n\n\nc", ["a\n", " b\n\n\n", "c"]),
    ],
)
def test_lines_of_odd_texts(tmp_path, text, lines):
    prm = graded(tmp_path)
    track = (turn(prm, "x", text),)
    (found,) = asked(process_model(aggregate="steps"), {"policy": prm, "prm": prm}, track)
    ends = found.detail["ends"]
    assert [prm.decode(track[0].actions[a:b].tolist()) for a, b in zip([0, *ends], ends, strict=False)] == lines


def test_a_model_with_other_tokens_is_told_the_conversation_again(tmp_path):
    policy, rm = table(3, 1), graded(tmp_path / "rm", weight=1.0)
    first = turn(policy, "x + 4", "00")
    chain = (first, turn(policy, "go on", "11", path=(first,)))
    cut = (turn(policy, "x + 4", "01", End.CUT),)
    models = {"policy": policy, "rm": rm}
    found = values(asked(outcome_model(), models, chain, cut))
    own = turn(rm, "x + 4", "00")
    told = [(own, turn(rm, "go on", "11", path=(own,))), (turn(rm, "x + 4", "01", End.CUT),)]
    want = rm.read(pack([episode(*t, number=i) for i, t in enumerate(told)]), ["final"])["final"]
    assert found == pytest.approx(want.tolist(), abs=NEAR)


def test_steps_in_other_tokens_do_not_say_where_they_end(tmp_path):
    policy, prm = table(3, 1), graded(tmp_path, bias=0.0)
    (found,) = asked(process_model(aggregate="steps"), {"policy": policy, "prm": prm}, (turn(policy, "x", "01"),))
    assert found.steps == (0.5,) and found.detail is None


def test_what_is_too_long_for_a_reward_model_failed(tmp_path):
    policy, rm = table(3, 1), graded(tmp_path / "rm", max_positions=16)
    models = {"policy": policy, "rm": rm}
    found = asked(outcome_model(), models, (turn(policy, "x + 4 = 9 " * 9, "00"),), (turn(policy, "x", "00"),))
    assert [o.reason for o in found] == [Reason.FAILED, Reason.VALUE]
    assert found[0].detail["error"] == "ValueError: longer than the context of the model 'rm'"


# --- in a run -------------------------------------------------------------------------------------------------------------


def test_in_a_run_each_has_its_column_and_steps_lie_where_they_were_taken():
    recipe = everything.build({}, {"steps": 2})
    parts = {"sure": low_entropy("policy"), "moved": implicit("policy", "reference", beta=1.0, per="token")}
    recipe.models["reference"] = snapshot("policy")
    recipe.stages[1] = score(blend(**parts))
    recipe, play = start(recipe, seed=0, total=2)
    play.begin(0)
    batch = recipe.stages[1](pack(play(recipe.curriculum.draw(9, play))), play)
    entropy = batch.up(recipe.models["policy"].read(batch, ["entropy"])["entropy"].detach(), "track", by="mean")
    torch.testing.assert_close(batch["reward.sure"], -entropy)
    assert (batch["reward.moved"] == 0).all()  # the reference is a copy that was made just now
    with torch.no_grad():
        recipe.models["policy"].net.logits.add_(torch.arange(recipe.models["policy"].net.logits.shape[1]))
    again = recipe.stages[1](batch.without(*batch.cols), play)
    ratio = (
        recipe.models["policy"].read(again, ["logp"])["logp"] - recipe.models["reference"].read(again, ["logp"])["logp"]
    )
    torch.testing.assert_close(again["reward.moved_steps"], ratio.detach())
    torch.testing.assert_close(again["reward.moved"], again.up(ratio.detach(), "track"))
