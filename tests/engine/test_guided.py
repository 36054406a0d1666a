"""Guided sampling: at every token the log-probs of other models are added to the logits of the model that acts."""

from __future__ import annotations

import atexit
import functools
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from refusals import refusal
from small import small_config, small_lm, table
from tolerances import decoder_terms, wandering

import guerdon as gd
from guerdon.core.episode import Segment
from guerdon.core.errors import UserError
from guerdon.core.model import Request, check_guides
from guerdon.core.seeds import Place
from guerdon.core.task import Ask, Sampling, Task
from guerdon.engine import answer
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.models.attention import Runs
from guerdon.models.sampling import distribution, guided

SHAPE = {"heads": 2, "kv_heads": 1, "head_width": 32}  # that the kernels of a GPU take
TERMS = decoder_terms(small_config(layers=3, **SHAPE), positions=64)  # of the deepest model, and what it is shown
NEAR = (
    1e-3 if torch.cuda.is_available() else wandering(TERMS, scale=20.0)
)  # logits, read token by token and all at once
PAGE = Path(__file__).parents[2] / "docs" / "guided_sampling.md"
SEEDS = Place(2, 0, 0).derive_each(20_000, 0)
VIEWS = ["the sum of 12 and 345", "x + 4", "sort the list", "x + 4"]


@functools.cache
def models():
    """Three language models of the same tokens, the last deeper than the others."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    place = Path(folder.name)
    made = {
        "policy": small_lm(place / "a", seed=0, **SHAPE),
        "arm": small_lm(place / "b", seed=1, **SHAPE),
        "other": small_lm(place / "c", seed=2, layers=3, **SHAPE),
    }
    for model in made.values():
        model.start(0, {})
    return made


def asked(how, views=VIEWS):
    return [Request((), view, how, seed) for seed, view in enumerate(views)]


class Whole:
    """A `Memory` of one row that is read at once, with nothing kept."""

    def __init__(self, tokens, device):
        self.runs = Runs.of([tokens], [-1], device)

    def rotations(self, net):
        return self.runs.rotations(net)

    def attend(self, layer, qkv, turn, scale, window):
        return self.runs.attention(*turn(qkv), scale, window)


def logits_after(model, reply):
    """[T, V] of a language model before each token that was said."""
    tokens, net = torch.tensor([*reply.context, *reply.actions]), model.decoder
    with torch.no_grad():
        hidden = net(tokens.to(net.device), Whole(len(tokens), net.device), net.layer_weights())
        return net.logits(hidden)[len(reply.context) - 1 : -1].float().cpu()


@pytest.mark.sampled(1, "how")
@pytest.mark.parametrize(
    "how",
    [
        Sampling(max_tokens=12, guides=(("arm", 1.0),)),
        Sampling(max_tokens=12, temperature=0.7, guides=(("arm", 0.5), ("other", -0.3))),
        Sampling(max_tokens=12, top_p=0.8, guides=(("other", 2.0),)),
    ],
    ids=["one", "two, tempered", "cut"],
)
def test_the_recorded_log_probs_are_of_the_mixture(how):
    for reply in answer(models()["policy"], asked(how), models()):
        own = logits_after(models()["policy"], reply)
        guides = [(logits_after(models()[name], reply), weight) for name, weight in how.guides]
        mixture = distribution(guided(own, guides), [how] * len(own))
        expected = mixture.gather(1, torch.from_numpy(reply.actions)[:, None])[:, 0]
        np.testing.assert_allclose(reply.logp, expected.numpy(), atol=NEAR)


def test_the_mixture_by_hand():
    own, other = torch.tensor([[1.0, 2.0, 0.5]]), torch.tensor([[0.2, 0.3, 0.5]]).log()
    mixed = distribution(guided(own, [(other + 3.0, 2.0)]), [Sampling(temperature=0.5)])
    expected = (own + 2 * other) / 0.5
    torch.testing.assert_close(mixed, expected.log_softmax(-1))


def test_a_token_that_one_vocabulary_lacks_is_never_drawn():
    narrow, wide = torch.zeros(1, 3), torch.zeros(1, 5)
    assert guided(narrow, [(wide, 1.0)]).shape == (1, 3)
    for weight in (1.0, -1.0):
        mixed = distribution(guided(wide, [(narrow, weight)]), [Sampling()]).exp()
        torch.testing.assert_close(mixed, torch.tensor([[1 / 3, 1 / 3, 1 / 3, 0.0, 0.0]]))


def test_the_best_token_of_the_mixture_is_taken_at_temperature_0():
    how = Sampling(max_tokens=8, temperature=0.0, guides=(("arm", 1.5),))
    for reply in answer(models()["policy"], asked(how), models()):
        mixed = logits_after(models()["policy"], reply) + 1.5 * logits_after(models()["arm"], reply).log_softmax(-1)
        assert mixed.argmax(-1).tolist() == reply.actions.tolist()


def test_without_weight_it_is_the_model_itself_to_the_bit():
    how = Sampling(max_tokens=20)
    plain = answer(models()["policy"], asked(how))
    zero = answer(models()["policy"], asked(how.but(guides=(("arm", 0.0),))), models())
    for one, other in zip(plain, zero, strict=True):
        assert one.actions.tobytes() == other.actions.tobytes() and one.logp.tobytes() == other.logp.tobytes()


def test_a_model_that_guides_itself_is_as_if_colder():
    """log p is proportional to (1 + w) log p: temperature 1 / (1 + w), by the same draws."""
    itself = answer(models()["policy"], asked(Sampling(max_tokens=20, guides=(("policy", 1.0),))), models())
    colder = answer(models()["policy"], asked(Sampling(max_tokens=20, temperature=0.5)))
    for one, other in zip(itself, colder, strict=True):
        np.testing.assert_array_equal(one.actions, other.actions)
        np.testing.assert_allclose(one.logp, other.logp, atol=NEAR)


def test_a_sample_does_not_depend_on_its_company():
    how = Sampling(max_tokens=16, guides=(("arm", 0.7),))
    requests = asked(how, VIEWS * 5)
    together = answer(models()["policy"], requests, models())
    for number in (0, 3, 17):
        (alone,) = answer(models()["policy"], [requests[number]], models())
        assert alone.actions.tobytes() == together[number].actions.tobytes()
        assert alone.logp.tobytes() == together[number].logp.tobytes()


def test_a_next_turn_is_guided_by_all_that_was_said():
    how = Sampling(max_tokens=6, guides=(("arm", 1.0),))
    for go_on in (False, True):
        (first,) = answer(models()["policy"], asked(how.but(max_tokens=3), VIEWS[:1]), models())
        path = (Segment("policy", VIEWS[0], first.context, first.actions, first.logp),)
        (then,) = answer(models()["policy"], [Request(path, "and 9", how, 5, go_on=go_on)], models())
        whole = gd.core.model.Reply(
            np.concatenate([first.context, first.actions, then.context]), then.actions, then.logp, ""
        )
        mixed = logits_after(models()["policy"], whole) + logits_after(models()["arm"], whole).log_softmax(-1)
        expected = mixed.log_softmax(-1).gather(1, torch.from_numpy(then.actions)[:, None])[:, 0]
        np.testing.assert_allclose(then.logp, expected.numpy(), atol=NEAR)


def test_turns_of_one_play_are_guided_too_and_unguided_ones_beside_them_are_as_ever():
    def played(*hows):
        play = Player(models(), {"policy": "policy"}, single_turn(), Sampling(max_tokens=9), 3, 10)
        tasks = [Task(str(number), view) for number, view in enumerate(VIEWS)]
        return play([Ask(each, 2, sampling=how) for each, how in zip(tasks, hows, strict=True)])

    how = Sampling(max_tokens=9, guides=(("arm", 1.0),))
    mixed, plain = played(how, None, None, how), played(None, None, None, None)
    for n, (one, other) in enumerate(zip(mixed, plain, strict=True)):
        same = one.segments[0].logp.tobytes() == other.segments[0].logp.tobytes()
        assert same == (2 <= n < 6)
    assert [episode.segments[0].sampling.guides for episode in mixed[:3]] == [how.guides, how.guides, ()]


@pytest.mark.parametrize("of", ["snapshot", "tables"])
def test_what_stands_in_for_a_model_guides_as_that_one(of):
    if of == "tables":
        own, other = table(1, 3), table(4, 1)
    else:
        own, other = models()["policy"], models()["arm"]
    reference = gd.models.snapshot("arm")
    reference.start(0, {"arm": other})
    how = Sampling(max_tokens=4, guides=(("arm", 1.0),))
    there = {"arm": other, "reference": reference}
    direct = answer(own, asked(how), there)
    through = answer(own, asked(how.but(guides=(("reference", 1.0),))), there)
    assert [r.actions.tolist() for r in direct] == [r.actions.tolist() for r in through]


def off_by(replies):
    """How far the shares of what was said are from the recorded probabilities, at most."""
    counted = Counter(reply.actions.tobytes() for reply in replies)
    recorded = {reply.actions.tobytes(): float(np.exp(reply.logp.sum())) for reply in replies}
    return max(abs(counted[said] / len(replies) - p) for said, p in recorded.items())


@pytest.mark.slow
def test_20000_guided_samples_of_a_table_come_as_often_as_recorded():
    """The policy has odds 1:3, its guide 4:1; with weight 0.5 the mixture's are 2:3. One standard error is 0.003."""
    how = Sampling(max_tokens=2, guides=(("arm", 0.5),))
    replies = answer(table(1, 3), [Request((), "", how, seed) for seed in SEEDS], {"arm": table(4, 1)})
    recorded = {reply.text: float(np.exp(reply.logp.sum())) for reply in replies}
    assert recorded == pytest.approx({"00": 0.16, "01": 0.24, "10": 0.24, "11": 0.36}, abs=1e-5)
    assert off_by(replies) < 0.005


@pytest.mark.slow
def test_20000_guided_samples_of_a_language_model_come_as_often_as_recorded():
    how = Sampling(max_tokens=1, temperature=4.0, guides=(("arm", 1.0),))  # no token has much: errors are small
    replies = answer(models()["policy"], [Request((), "x + 4", how, seed) for seed in SEEDS], models())
    assert off_by(replies) < 0.005


def test_what_guides_read_is_counted():
    play = Player(models(), {"policy": "policy"}, single_turn(), Sampling(max_tokens=5), 3, 10)
    (episode,) = play([Ask(Task("a", "x + 4"))])
    plain = play.counts()["read"]
    play.begin(1)
    (episode,) = play([Ask(Task("a", "x + 4"), sampling=Sampling(max_tokens=5, guides=(("arm", 1.0),)))])
    said = len(episode.segments[0].actions)
    assert play.counts()["read"] == 2 * plain + said - 1
    assert play.counts()["tokens"] == said


# --- refused ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given, said",
    [
        ("arm", "Sampling.guides are models by name, each with a weight"),
        ((("arm", "much"),), "each with a weight"),
        ((("arm", float("nan")),), "each with a weight"),
        ("arm:1,arm:2", "name a model twice"),
        (3, "each with a weight"),
    ],
)
def test_guides_are_names_with_weights(given, said):
    with pytest.raises(UserError, match=said):
        Sampling(guides=given)


def test_guides_are_read_from_a_command_line():
    assert Sampling(guides="arm:0.5,runs/a:b:-1").guides == (("arm", 0.5), ("runs/a:b", -1.0))
    assert Sampling(guides=[["arm", 1]]) == Sampling(guides=(("arm", 1.0),)) != Sampling()
    assert hash(Sampling(guides=[["arm", 1]])) == hash(Sampling(guides="arm:1"))


@pytest.mark.parametrize(
    "guide, said",
    [
        ("nobody", "unknown model that guides 'nobody'"),
        ("a table", "'policy' is a lm and 'a table' a tabular: sampling.guides need two language models"),
        ("sprig", "'sprig' cannot guide 'policy': their tokenizers differ"),
    ],
)
def test_who_cannot_guide_is_refused_in_one_line(guide, said):
    there = {**models(), "a table": table(1, 1), "sprig": gd.models.load("sprig")}
    with pytest.raises(UserError, match=said) as refused:
        check_guides(Sampling(guides=((guide, 1.0),)), there, ["policy"])
    assert "\n" not in str(refused.value)


def test_a_model_that_cannot_be_guided_is_refused_when_it_is_asked_at_the_latest():
    cannot = gd.models.scripted(lambda view, past, seed: "y")
    play = Player({"policy": cannot}, {"policy": "policy"}, single_turn(), Sampling(guides="policy:1"), 0, 1)
    with refusal(UserError):
        play([Ask(Task("a", "x"))])


def test_tables_with_and_without_an_end_differ():
    with pytest.raises(UserError, match="tokenizers differ"):
        check_guides(
            Sampling(guides="b:1"), {"a": gd.models.tabular("01", length=2), "b": gd.models.tabular("01")}, ["a"]
        )


def test_a_prompt_that_a_guide_cannot_hold_is_refused(tmp_path):
    short = small_lm(tmp_path, max_positions=16, **SHAPE)
    short.start(0, {})
    how = Sampling(max_tokens=64, guides=(("short", 1.0),))
    (reply,) = answer(models()["policy"], [Request((), "x", how, 0)], {"short": short})
    assert len(reply.context) + len(reply.actions) <= 16
    with refusal(UserError, "16"):
        answer(models()["policy"], [Request((), "x " * 20, how, 0)], {"short": short})


# --- in a run -----------------------------------------------------------------------------------------------------------


def learning(loss, *before, **sampling):
    source = gd.tasks.load("parity")
    tables = {"policy": gd.models.tabular("01", length=1), "arm": gd.models.tabular("01", length=1, spread=1.0)}
    stages = [gd.rewards.verified(source), *before, gd.credit.centre("correct"), gd.Learn("policy", loss)]
    return gd.Recipe(
        tables,
        gd.curricula.uniform(source, tries=2),
        single_turn(),
        stages,
        sampling=Sampling(**sampling),
        prompts=2,
        steps=1,
    )


def plain_policy_gradient():
    @gd.losses.loss()
    def plain(logp, old, advantage):
        return -torch.exp(logp - old) * advantage

    return plain()


@pytest.mark.parametrize("loss", [gd.losses.clipped(), gd.losses.reweighted(), plain_policy_gradient()])
def test_a_ratio_to_the_mixture_is_refused(loss):
    learning(loss).check()
    learning(loss, guides="arm:0").check()
    with refusal(UserError) as refused:
        learning(loss, guides="arm:1").check()
    assert "\n" not in str(refused.value) and ("old=truncated()" in str(refused.value)) == hasattr(loss, "old")


def test_a_cost_by_the_log_probs_of_sampling_is_refused():
    recipe = learning(gd.losses.sft(), gd.losses.kl_cost(reward="correct", gives_to="paid"), guides="arm:1")
    recipe.models["reference"] = gd.models.snapshot("policy")
    with refusal(UserError, "kl_cost"):
        recipe.check()


@pytest.mark.parametrize("loss", [gd.losses.sft(), gd.losses.clipped(old=gd.losses.truncated(2.0))])
def test_losses_that_do_without_it_learn_from_guided_tries(loss, tmp_path):
    run = gd.train(learning(loss, guides="arm:1"), seed=0, out=tmp_path)
    assert run.path


def test_tries_that_an_ask_guides_are_refused_as_they_are_learned_from(tmp_path):
    recipe = learning(gd.losses.clipped())

    @gd.part
    class guiding:
        inner: Any

        def draw(self, count, play):
            return [ask.but(sampling=Sampling(guides="arm:1")) for ask in self.inner.draw(count, play)]

    recipe.curriculum = guiding(recipe.curriculum)
    with refusal(UserError):
        gd.train(recipe, seed=0, out=tmp_path)


def test_the_truncated_weight_is_that_of_the_policy_over_the_mixture():
    """Recorded by a guided table: odds 2:3, the policy's 1:3."""
    replies = answer(
        table(1, 3),
        [Request((), "", Sampling(max_tokens=1, guides="arm:0.5"), s) for s in range(9)],
        {"arm": table(4, 1)},
    )
    ratio = {r.text: 0.25 * (1 + 2 * int(r.text)) / float(np.exp(r.logp[0])) for r in replies}
    assert ratio == pytest.approx({"0": 0.25 / 0.4, "1": 0.75 / 0.6}, abs=1e-5)


@pytest.mark.slow
def test_the_example_of_its_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    known: dict[str, Any] = {}
    exec(code, known)
    assert known["guided"]["pass@1"] > known["plain"]["pass@1"] + 0.1


def test_an_exam_can_be_guided_and_checks_its_guides():
    recipe = learning(gd.losses.clipped())
    recipe.exams = [gd.Exam(gd.tasks.load("parity"), sampling=Sampling(guides="arm:1"))]
    recipe.check()
    recipe.exams = [gd.Exam(gd.tasks.load("parity"), sampling=Sampling(guides="nobody:1"))]
    with refusal(UserError):
        recipe.check()
