"""Architectures that run through `transformers`: the same answers as there, and the same promises as our own models."""

from __future__ import annotations

import importlib
import json
import warnings

import numpy as np
import pytest
import torch
from refusals import refusal
from scheduling import mostly_slow
from small import TEXTS, small_lm
from small_foreign import SHAPES, made
from strategies import episode
from tolerances import LM_TERMS, assert_rounded

import guerdon as gd
from guerdon import models
from guerdon.core.episode import End, Segment
from guerdon.core.errors import Notice, UserError
from guerdon.core.model import Request
from guerdon.core.pack import pack
from guerdon.core.task import Sampling
from guerdon.engine import answer
from guerdon.engine import foreign_sampler as sampling
from guerdon.models import foreign_model as module
from guerdon.models import huggingface
from guerdon.models.chat import Chat
from guerdon.models.foreign_model import foreign
from guerdon.models.frozen_copy import snapshot
from guerdon.models.probing import probe
from guerdon.models.tokenizer import train_tokenizer

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore::guerdon.core.errors.Notice")

VIEWS = ["the sum of 12 and 3", "sort [3, 1]", "x + 4 = 9 so x is what?", "the"]


@pytest.fixture(params=mostly_slow(SHAPES, "gpt_neox", "mamba"))
def model(request, tmp_path):
    return models.load(made(tmp_path / "model", request.param))


@pytest.fixture
def neox(tmp_path):
    return models.load(made(tmp_path / "model", "gpt_neox"))


def request(view="the sum", seed=0, path=(), given=(), **how):
    return Request(tuple(path), view, Sampling(**{"max_tokens": 12, **how}), seed, np.array(given, np.int64))


def segment(asked, reply, parent=-1, role="policy"):
    return Segment(
        role, asked.view, reply.context, reply.actions, reply.logp, reply.text, parent,
        sampling=asked.sampling, given=len(asked.given), end=reply.end,
    )  # fmt: skip


def batch_of(requests, replies):
    return pack([episode(segment(a, r), number=i) for i, (a, r) in enumerate(zip(requests, replies, strict=True))])


def agree(a, b, terms=LM_TERMS):
    assert a.actions.tolist() == b.actions.tolist() and (a.text, a.end) == (b.text, b.end)
    assert_rounded(torch.as_tensor(a.logp), torch.as_tensor(b.logp), terms)


# --- sampling ---------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(1, "model")
def test_greedy_is_what_transformers_generates(model):
    theirs = transformers.AutoModelForCausalLM.from_pretrained(model.source)
    for view, reply in zip(VIEWS, answer(model, [request(v, temperature=0.0) for v in VIEWS]), strict=True):
        seen = torch.tensor(model.encode(view))[None]
        made = theirs.generate(seen, attention_mask=torch.ones_like(seen), max_new_tokens=12, do_sample=False)
        assert made[0, seen.shape[1] :].tolist() == reply.actions.tolist()


@pytest.mark.sampled(1, "model")
def test_what_is_sampled_is_what_is_read(model):
    ways = ({}, {"temperature": 0.6}, {"top_k": 5}, {"top_p": 0.7, "temperature": 1.4}, {"min_p": 0.1})
    requests = [request(view, seed, **way) for seed, way in enumerate(ways) for view in VIEWS]
    for some in (requests[:8], requests):  # without and with distributions that are cut short
        batch = batch_of(some, answer(model, some))
        found = model.read(batch, ["logp", "entropy"])
        assert_rounded(found["logp"].detach(), batch.logp, LM_TERMS)
        assert (found["entropy"] >= 0).all() and found["logp"].requires_grad


def test_it_samples_and_reads_as_our_own_decoder_does(tmp_path):
    ours = small_lm(tmp_path)
    theirs = foreign(source=str(tmp_path))
    ways = ({}, {"temperature": 0.6}, {"top_k": 5}, {"top_p": 0.7}, {"max_tokens": 3}, {"stop": ("e", "1")})
    requests = [request(view, 10 * seed, **way) for seed, way in enumerate(ways) for view in VIEWS]
    replies = answer(ours, requests)
    for a, b in zip(replies, answer(theirs, requests), strict=True):
        agree(a, b)
    batch = batch_of(requests[:8], replies[:8])
    found = [m.read(batch, ["logp", "entropy"]) for m in (ours, theirs)]
    for name in found[0]:
        assert_rounded(found[0][name], found[1][name], LM_TERMS)
    for values in found:
        (values["logp"] - 0.3 * values["entropy"]).sum().backward()
    back = 3 * LM_TERMS + batch.S  # forward, back for inputs and for weights, and over all that was said
    assert_rounded(ours.net.embed.grad, theirs.net.model.embed_tokens.weight.grad, back)
    assert_rounded(ours.net.norm.grad, theirs.net.model.norm.weight.grad, back)


@pytest.mark.sampled(1, "model")
def test_a_reply_depends_on_its_request_alone(model):
    requests = [request(v, seed, max_tokens=3 + 5 * (seed % 3)) for seed in range(5) for v in VIEWS]
    together = answer(model, requests)
    model.rows = 6
    sampler, found = sampling.ForeignSampler(model), {}
    for ticket in range(10):
        sampler.add(ticket, requests[ticket])
    for _ in range(4):
        found.update(sampler.step())
    for ticket in range(10, 20):  # half of them join later
        sampler.add(ticket, requests[ticket])
    while sampler.busy:
        found.update(sampler.step())
        assert len(sampler.live) <= 6
    assert sampler.draws == {}
    for ticket, reply in enumerate(together):
        agree(found[ticket], reply)
    assert len({tuple(r.actions) for r in together}) > 8


@pytest.mark.slow
def test_row_by_row_it_is_the_same_to_the_last_bit(neox):
    neox.rows = 1
    requests = [request(v, seed) for seed, v in enumerate(VIEWS)]
    for one, reply in zip(requests, answer(neox, requests[::-1])[::-1], strict=True):
        agree(answer(neox, [one])[0], reply, terms=0)


@pytest.mark.sampled(1, "able")
@pytest.mark.parametrize("able", [(True, False), (False, True), (False, False)])
def test_what_an_architecture_cannot_do_changes_nothing(neox, monkeypatch, able):
    requests = [request(v, seed) for seed, v in enumerate(VIEWS)]
    expected = answer(neox, requests)
    monkeypatch.setattr(sampling, "able_of", lambda net: sampling.Able(*able))
    for a, b in zip(expected, answer(neox, requests), strict=True):
        agree(a, b)


def test_what_an_architecture_can_do_is_found_out(tmp_path, monkeypatch):
    nets = {kind: models.load(made(tmp_path / kind, kind)).net for kind in ("gpt_neox", "mamba", "rwkv")}
    assert [sampling.able_of(net).pad for net in nets.values()] == [True, True, False]
    forgets = models.load(made(tmp_path / "other", "gpt_neox", seed=1)).net
    monkeypatch.setattr(transformers.DynamicCache, "update", lambda self, k, v, *more, **rest: (k, v))
    assert sampling.able_of(forgets) == sampling.Able(pad=True, remember=False)


def test_how_a_turn_ends(neox):
    given = neox.teacher_force("", "so the").actions[:-1]
    replies = answer(
        neox,
        [
            request(given=given, seed=3),
            request(given=[5, neox.ends[0]]),
            request(given=[40] * 12),
            request(seed=1, max_tokens=1),
            *(request(seed=s, max_tokens=200) for s in range(8)),
        ],
    )
    assert replies[0].actions[: len(given)].tolist() == given.tolist() and np.isnan(replies[0].logp[: len(given)]).all()
    assert [(r.end, len(r.actions)) for r in replies[1:4]] == [(End.DONE, 2), (End.CUT, 24), (End.CUT, 1)]
    ended = [r for r in replies[4:] if r.end is End.DONE]
    assert ended and all(r.actions[-1] == neox.ends[0] and neox.ends[0] not in r.actions[:-1] for r in ended)
    full = answer(neox, [request("1" * 240, max_tokens=400, temperature=2.0)])[0]
    assert len(full.context) + len(full.actions) <= 256
    with refusal(UserError, "256"):
        answer(neox, [request("1" * 254)])


# --- reading ----------------------------------------------------------------------------------------------------------


def test_hidden_states_are_after_each_step_the_last_one_too(model):
    """As `transformers` gives them, for the architectures that show them."""
    theirs = transformers.AutoModelForCausalLM.from_pretrained(model.source)
    view, text = "the sum of 12 and 3", "so the answer"
    (found,) = probe(model, [((), view, text)], ["hidden", "logp"])
    tokens = torch.tensor([*model.encode(view), *model.teacher_force("", text).actions])[None]
    with torch.no_grad():
        expected = theirs.base_model(tokens).last_hidden_state[0, len(model.encode(view)) :]
    assert_rounded(found["hidden"], expected, LM_TERMS)
    with_others = probe(model, [((), "x", text), ((), view, text)], ["hidden", "logp"])[1]
    assert_rounded(with_others["hidden"], found["hidden"], LM_TERMS)
    (alone,) = probe(model, [((), view, text)], ["logp"])
    assert_rounded(alone["logp"], found["logp"], LM_TERMS)


def test_turns_and_branches_are_read_as_they_were_sampled(neox):
    first = request("x + 4 = 9", seed=1, max_tokens=5)
    trunk = segment(first, answer(neox, [first])[0])
    asked = [request(view, seed=3 + i, path=(trunk,)) for i, view in enumerate(("go on", "or so?", "no"))]
    twigs = [segment(a, r, parent=0) for a, r in zip(asked, answer(neox, asked), strict=True)]
    other = segment(request("judge"), answer(neox, [request("judge")])[0], parent=1, role="judge")
    batch = pack([episode(trunk, *twigs, other), episode(trunk, number=1)])
    found = neox.read(batch, ["logp"])["logp"]
    assert_rounded(found, batch.logp, LM_TERMS)
    assert batch.K == 5 and len(found) == batch.S


@pytest.mark.sampled(1, "kind")
@pytest.mark.parametrize("kind", ["gpt_neox", "phi"])
def test_how_it_is_read_changes_nothing(tmp_path, monkeypatch, kind):
    model = models.load(made(tmp_path / "model", kind))
    requests = [request(v, seed, max_tokens=3 + 5 * seed) for seed in range(3) for v in VIEWS]
    batch = batch_of(requests, answer(model, requests))

    def gradients():
        model.net.zero_grad()
        found = model.read(batch, ["logp", "entropy"])
        (found["logp"] - 0.3 * found["entropy"]).mean().backward()
        return [found["logp"].detach(), *(p.grad for p in model.net.parameters())]

    whole = gradients()
    assert model.head_fits
    monkeypatch.setattr(module, "READ_TOKENS", 40)
    pieces = gradients()
    model.head_fits = False
    monkeypatch.setattr(module, "LOGITS", 40 * 320)
    for other in (pieces, gradients()):
        for a, b in zip(whole, other, strict=True):
            torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-3)


def test_nothing_to_read(neox):
    empty = pack([episode(Segment("policy", "x", neox.encode("x"), np.zeros(0), np.zeros(0)))])
    found = neox.read(empty, ["logp", "entropy"])
    assert len(found["logp"]) == len(found["entropy"]) == 0
    found["logp"].sum().backward()
    with refusal(UserError, "303", "256"):
        neox.read(pack([episode(segment(request("1" * 200), neox.teacher_force("1" * 200, "2" * 100)))]), ["logp"])


# --- the loop ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", mostly_slow(["gpt_neox", "granite"], "gpt_neox"))
def test_it_is_trained(tmp_path, kind):
    source = made(tmp_path / "model", kind)
    settings = {"prompts": 2, "tries": 3, "kl": 0.05, "sampling.max_tokens": 6}
    runs = [
        gd.train(
            "grpo", task="parity", model=models.load(source), steps=2, out=tmp_path / name, settings=settings,
            reward=length, options=gd.Options(eval_tasks=2, eval_tries=1),
        )
        for name in ("a", "b")
    ]  # fmt: skip
    assert runs[0].complete and runs[0].weights == runs[1].weights
    trained, again = runs[0].model(), models.load(str(tmp_path / "a" / "models" / "policy"))
    assert trained.identity() == again.identity() != models.load(source).identity()
    one, other = (answer(model, [request()])[0] for model in (trained, again))
    agree(one, other)  # weights are equal; where they lie in memory can decide the order of sums


def length(completion):
    return len(completion) / 10


def test_a_snapshot_keeps_its_weights(neox):
    table = {"policy": neox, "reference": snapshot("policy")}
    table["reference"].start(0, table)
    before = answer(neox, [request()])[0]
    with torch.no_grad():
        neox.net.get_output_embeddings().weight.mul_(3.0)
    agree(answer(table["reference"], [request()])[0], before, terms=0)
    assert answer(neox, [request()])[0].logp.tolist() != before.logp.tolist()


# --- folders ----------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(1, "model")
def test_save_and_load(model, tmp_path):
    models.save(model, tmp_path / "copy")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it was said when the model was first loaded
        loaded = models.load(str(tmp_path / "copy"))
    assert type(loaded) is foreign and loaded.identity() == model.identity()
    agree(answer(loaded, [request()])[0], answer(model, [request()])[0], terms=0)
    assert not list((tmp_path / "copy").glob("*.bin"))
    words = transformers.AutoTokenizer.from_pretrained(tmp_path / "copy")
    ids = words.apply_chat_template(
        [{"role": "user", "content": "x + 4"}], add_generation_prompt=True, return_dict=False
    )
    assert ids == model.encode("x + 4").tolist()
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "copy")
    for name, weight in theirs.state_dict().items():
        assert torch.equal(weight, model.net.state_dict()[name])


def test_fresh_weights_follow_the_seed(tmp_path):
    source = made(tmp_path, "gpt2")
    (tmp_path / "model.safetensors").unlink()
    before = torch.random.get_rng_state()
    one, same, other = (models.load(source) for _ in range(3))
    for seed, made_now in ((1, one), (1, same), (2, other)):
        assert made_now.net is None
        made_now.start(seed, {})
    assert one.identity() == same.identity() != other.identity()
    assert torch.equal(before, torch.random.get_rng_state())


def test_half_precision(tmp_path):
    model = models.load(made(tmp_path, "gpt_neox"), dtype="bfloat16")
    requests = [request(v) for v in VIEWS]
    batch = batch_of(requests, answer(model, requests))
    assert model.net.dtype == torch.bfloat16
    assert torch.allclose(model.read(batch, ["logp"])["logp"].float(), batch.logp, atol=0.3)
    model.dtype = "float32"
    model.start(0, {})
    assert model.net.dtype == torch.float32


def test_it_says_that_it_is_slower(tmp_path):
    source = made(tmp_path, "gpt2")
    with pytest.warns(Notice, match="GPT2LMHeadModel is not among guerdon's own decoders: it runs through trans"):
        models.load(source)
    (tmp_path / "model.safetensors").unlink()
    with pytest.warns(Notice, match="holds no weights: the model starts from random ones"):
        models.load(source)


def rewrite(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda f: (f / "config.json").write_text("{"), "config.json cannot be read"),
        (lambda f: (f / "config.json").write_text("{}"), "does not say what kind of model it is"),
        (lambda f: (f / "tokenizer.json").unlink(), "there is no tokenizer.json in it"),
        (lambda f: (f / "model.safetensors").write_text("junk"), "model.safetensors cannot be read"),
        (lambda f: (f / "model.safetensors").rename(f / "pytorch_model.bin"), "save the weights as one model.safe"),
        (lambda f: rewrite(f / "config.json", architectures=["NoSuchLM"]), "NoSuchLM is no causal language model"),
        (lambda f: rewrite(f / "config.json", architectures=["BertModel"]), "BertModel is no causal language model"),
        (lambda f: rewrite(f / "config.json", architectures=["OPTForCausalLM"]), "a gpt2 is no OPTForCausalLM"),
        (lambda f: rewrite(f / "config.json", n_layer="two"), "config.json cannot be opened by transformers"),
        (lambda f: rewrite(f / "config.json", n_layer=3), "has no tensor transformer.h.2"),
        (lambda f: rewrite(f / "config.json", n_layer=1), "config.json does not describe: .*h.1"),
        (lambda f: rewrite(f / "config.json", n_embd=48), "model.safetensors cannot be opened by transformers"),
        (lambda f: rewrite(f / "config.json", vocab_size=100), "they do not fit; take the tokenizer.json that came"),
    ],
)
def test_broken_folders_are_one_clear_line(tmp_path, harm, words):
    made(tmp_path, "gpt2")
    harm(tmp_path)
    with pytest.raises(UserError, match=words) as error:
        models.load(str(tmp_path))
    assert "\n" not in str(error.value) and len(str(error.value)) < 400


def test_a_model_that_looks_ahead_is_refused(tmp_path):
    config = transformers.XLNetConfig(vocab_size=320, d_model=16, n_layer=1, n_head=2, d_inner=16, eos_token_id=3)
    transformers.XLNetLMHeadModel(config).save_pretrained(tmp_path)
    huggingface.write_chat(tmp_path, Chat(train_tokenizer(TEXTS, 320), huggingface.OWN), 256)
    with refusal(UserError):
        models.load(str(tmp_path))


def test_without_the_library(tmp_path, monkeypatch):
    source = made(tmp_path, "gpt2")
    plain = importlib.import_module

    def absent(name, *more):
        if name == "transformers":
            raise ImportError(name)
        return plain(name, *more)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(UserError) as error:
        models.load(source)
    assert str(error.value) == (
        "GPT2LMHeadModel is not among guerdon's own decoders, and transformers is not installed:"
        " pip install 'guerdon[hub]'"
    )
