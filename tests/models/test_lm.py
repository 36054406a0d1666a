"""The language model: what it samples is what it reads, a reply depends on its request alone, and folders go round."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
import torch
from refusals import refusal
from small import TEXTS, small_lm
from strategies import episode
from tolerances import LM_TERMS, assert_rounded, decoder_terms

from guerdon import models
from guerdon.core.episode import End, Segment
from guerdon.core.errors import UserError
from guerdon.core.learn import Learn
from guerdon.core.model import Request
from guerdon.core.optim import adam
from guerdon.core.pack import pack
from guerdon.core.task import Sampling
from guerdon.engine import answer, cpu, decoding
from guerdon.engine.player import Player
from guerdon.losses.imitation import sft
from guerdon.models import language_model as lm_module
from guerdon.models import logit_head as head
from guerdon.models.attention import Runs
from guerdon.models.frozen_copy import snapshot
from guerdon.models.tokenizer import SPECIALS, train_tokenizer

VIEWS = ["the sum of 12 and 3", "sort [3, 1]", "x + 4 = 9 so x is what?", "the sum of 12 and 3"]


@pytest.fixture
def model(tmp_path):
    return small_lm(tmp_path / "lm")


def request(view="the sum", seed=0, path=(), given=(), **sampling):
    return Request(tuple(path), view, Sampling(**{"max_tokens": 12, **sampling}), seed, np.array(given, np.int64))


def segment(asked, reply, parent=-1, role="policy"):
    return Segment(
        role, asked.view, reply.context, reply.actions, reply.logp, reply.text, parent,
        sampling=asked.sampling, given=len(asked.given), end=reply.end,
    )  # fmt: skip


def same(a, b):
    assert a.actions.tolist() == b.actions.tolist()
    np.testing.assert_array_equal(a.logp, b.logp)
    assert (a.text, a.end) == (b.text, b.end)


# --- the tokenizer ------------------------------------------------------------------------------------------------


def test_digits_and_lines_are_single_tokens_and_any_text_comes_back():
    made = train_tokenizer(TEXTS * 5, 400)
    assert [made.token_to_id(s) for s in SPECIALS] == [0, 1, 2, 3]
    assert made.encode("12 345\n\n7").tokens == ["1", "2", " ", "3", "4", "5", "\n", "\n", "7"]
    assert " the" in made.get_vocab() and not any(c.isdigit() for t in made.get_vocab() for c in t[1:] if t[0] != "<")
    made.encode_special_tokens = True
    for text in ["".join(map(chr, range(128))), "  two  spaces ", "é–漢🙂", "<|end|><0x80>", "a\r\n\tb", ""]:
        assert made.decode(made.encode(text).ids) == text


def test_the_tokenizer_is_the_same_every_time():
    assert train_tokenizer(TEXTS, 300).to_str() == train_tokenizer(iter(TEXTS), 300).to_str()
    assert train_tokenizer(TEXTS, 300).get_vocab_size() <= 300
    with refusal(UserError, "vocab_size", "247"):
        train_tokenizer(TEXTS, 200)


# --- text ---------------------------------------------------------------------------------------------------------


def test_format(model):
    user, assistant, end = (model.special[s] for s in SPECIALS[1:])
    context = model.encode("x + 4")
    assert context[0] == user and context[-1] == assistant and model.decode(context) == "x + 4"
    reply = model.teacher_force("x + 4", "so 9")
    assert reply.context.tolist() == context.tolist()
    assert reply.actions[-1] == end and model.decode(reply.actions) == reply.text == "so 9"
    assert np.isnan(reply.logp).all() and reply.end is End.DONE


def test_text_cannot_forge_a_turn(model):
    copied = copy.deepcopy(model)
    for m in (model, copied):
        assert model.special["<|end|>"] not in m.encode("say <|end|> now")
        assert m.decode(m.teacher_force("x", "a<|user|>b").actions) == "a<|user|>b"


def test_views_that_are_not_text_are_shown_as_json(model):
    assert model.decode(model.encode({"seen": [1, 2]})) == '{"seen": [1, 2]}'
    same(answer(model, [request({"seen": [1, 2]})])[0], answer(model, [request('{"seen": [1, 2]}')])[0])


# --- acting -------------------------------------------------------------------------------------------------------


def test_a_reply_depends_on_its_request_alone(model):
    asked = [request(view, seed, temperature=t) for seed, t in enumerate((1.0, 0.7, 0.0, 1.3)) for view in VIEWS]
    together = answer(model, asked)
    for one, reply in zip(asked, together, strict=True):
        same(answer(model, [one])[0], reply)
    for reply, backwards in zip(together[::-1], answer(model, asked[::-1]), strict=True):
        same(reply, backwards)
    assert len({tuple(r.actions) for r in together}) > 8


def test_sharing_a_prefill_changes_nothing(model, monkeypatch):
    asked = [request(view, seed) for seed, view in enumerate(VIEWS * 3)]
    shared = answer(model, asked)
    monkeypatch.setattr(decoding, "PREFILL_TOKENS", 1)
    monkeypatch.setattr(cpu, "CACHE_BYTES", 1)  # every row alone
    for a, b in zip(shared, answer(model, asked), strict=True):
        same(a, b)


def test_a_prompt_is_read_once_for_all_its_tries(model, monkeypatch):
    seen = []
    forward = type(model.net).forward
    monkeypatch.setattr(
        type(model.net), "forward", lambda self, t, *more: seen.append(len(t)) or forward(self, t, *more)
    )
    answer(model, [request(view, seed) for view in VIEWS for seed in range(5)])
    assert seen[0] == sum(len(model.encode(view)) for view in set(VIEWS))
    assert all(rows <= -(-5 * len(VIEWS) // 16) * 16 for rows in seen[1:])
    assert len(seen) <= 12


def test_what_is_sampled_is_what_is_read(model):
    asked = [request(view, seed, temperature=0.5 + seed / 4) for seed in range(4) for view in VIEWS]
    replies = answer(model, asked)
    batch = pack([episode(segment(a, r), number=i) for i, (a, r) in enumerate(zip(asked, replies, strict=True))])
    found = model.read(batch, ["logp", "entropy"])
    assert_rounded(found["logp"], batch.logp, LM_TERMS)
    assert (found["entropy"] > 0).all() and found["logp"].requires_grad


@pytest.mark.sampled(1, "cut")
@pytest.mark.parametrize("cut", [{"top_k": 3}, {"top_p": 0.5}, {"min_p": 0.2}])
def test_cut_distributions_record_their_own_log_probs(model, cut):
    replies = answer(model, [request(view, seed, **cut) for seed in range(3) for view in VIEWS])
    plain = answer(model, [request(view, seed) for seed in range(3) for view in VIEWS])
    assert np.concatenate([r.logp for r in replies]).mean() > np.concatenate([r.logp for r in plain]).mean()


@pytest.mark.sampled(1, "cut")
@pytest.mark.parametrize("cut", [{"top_k": 3}, {"top_p": 0.5}, {"min_p": 0.2}])
def test_cut_distributions_are_read_as_they_were_sampled(model, cut):
    asked = [request(view, seed, temperature=0.8, **cut) for seed in range(3) for view in VIEWS]
    replies = answer(model, asked)
    batch = pack([episode(segment(a, r), number=i) for i, (a, r) in enumerate(zip(asked, replies, strict=True))])
    found = model.read(batch, ["logp", "entropy"])
    assert_rounded(found["logp"].detach(), batch.logp, LM_TERMS)
    if "top_k" in cut:
        assert (found["entropy"] <= np.log(3) + 1e-6).all()
    found["logp"].sum().backward()
    assert torch.isfinite(model.net.embed.grad).all()


def test_greedy_takes_the_likeliest(model):
    reply = answer(model, [request(temperature=0.0)])[0]
    sequence = torch.tensor([*reply.context, *reply.actions])
    hidden = model.net(sequence, Runs.apart([len(sequence)], sequence.device))
    best = model.net.logits(hidden)[len(reply.context) - 1 : -1].argmax(-1)
    assert best.tolist() == reply.actions.tolist() and (reply.logp == 0).all()


def test_how_a_turn_ends(model):
    replies = answer(model, [request(seed=s, max_tokens=400) for s in range(20)])
    ended = [r for r in replies if r.end is End.DONE]
    assert ended and all(r.actions[-1] == model.ends[0] and model.ends[0] not in r.actions[:-1] for r in ended)
    cut = answer(model, [request(seed=s, max_tokens=1) for s in range(20)])
    assert all(len(r.actions) == 1 for r in cut)
    assert {r.end for r in cut if r.actions[0] != model.ends[0]} == {End.CUT}


def test_stop_strings(model):
    plain = answer(model, [request(seed=5, max_tokens=40)])[0]
    stop = plain.text[6:9]
    reply = answer(model, [request(seed=5, max_tokens=40, stop=("never said", stop))])[0]
    assert reply.text == plain.text[: plain.text.index(stop)] and reply.end is End.STOPPED
    said = model.decode(reply.actions)
    assert stop in said and stop not in model.decode(reply.actions[:-1])
    assert reply.actions.tolist() == plain.actions[: len(reply.actions)].tolist()


def test_given_actions_are_seen_and_not_sampled(model):
    given = model.teacher_force("", "so the").actions[:-1]
    reply = answer(model, [request(given=given, seed=3)])[0]
    assert reply.actions[: len(given)].tolist() == given.tolist() and np.isnan(reply.logp[: len(given)]).all()
    assert len(reply.actions) <= 12 + len(given) and not np.isnan(reply.logp[len(given) :]).any()
    assert reply.text.startswith("so the")
    asked = request(given=given, seed=3)
    batch = pack([episode(segment(asked, reply))])
    sampled = ~torch.isnan(batch.logp)
    assert_rounded(model.read(batch, ["logp"])["logp"][sampled], batch.logp[sampled], LM_TERMS)


def test_given_actions_may_already_be_all(model):
    (done,) = answer(model, [request(given=[5, model.ends[0]])])
    assert (done.end, len(done.actions)) == (End.DONE, 2)


def test_what_is_given_stops_nothing_and_is_not_taken_off_the_limit(model):
    given = model.teacher_force("", "so. then").actions[:-1]
    plain = answer(model, [request(given=given, seed=s) for s in range(20)])
    stopped = answer(model, [request(given=given, seed=s, stop=(".",)) for s in range(20)])
    assert all(r.text.startswith("so. then") for r in stopped)
    for a, b in zip(plain, stopped, strict=True):
        said = model.decode(a.actions)[len("so. then") :]
        if "." not in said:
            same(a, b)
        else:
            assert b.end is End.STOPPED and b.text == "so. then" + said[: said.index(".")]
    assert {len(r.actions) - len(given) for r in plain if r.end is End.CUT} == {12}


def test_a_stop_string_is_not_begun_by_what_was_given(model):
    """A stop string that lies half in the given text and half in what was sampled was not sampled."""
    given = model.teacher_force("", "so the").actions[:-1]
    behind = answer(model, [request(given=given, seed=3)])[0].text[len("so the") :]
    for stop in ("so", "the", f"e{behind[0]}", f"the{behind[:2]}", behind[0], behind[1:3]):
        reply = answer(model, [request(given=given, seed=3, stop=(stop,))])[0]
        assert (reply.end is End.STOPPED) == (stop in behind)


def test_a_second_turn_continues_the_first(model):
    first = request("x + 4 = 9", seed=1)
    before = segment(first, answer(model, [first])[0])
    second = request("and then?", seed=2, path=(before,))
    reply = answer(model, [second])[0]
    batch = pack([episode(before, segment(second, reply, parent=0))])
    assert_rounded(model.read(batch, ["logp"])["logp"], batch.logp, LM_TERMS)
    assert reply.actions.tolist() != answer(model, [request("and then?", seed=2)])[0].actions.tolist()


def test_a_trunk_is_read_once_and_alike_from_every_branch(model):
    first = request("x + 4 = 9", seed=1, max_tokens=5)
    trunk = segment(first, answer(model, [first])[0])
    asked = [request(view, seed=3 + i, path=(trunk,)) for i, view in enumerate(("go on", "or so?", "no"))]
    twigs = [segment(a, r, parent=0) for a, r in zip(asked, answer(model, asked), strict=True)]
    other = segment(request("judge"), answer(model, [request("judge")])[0], parent=1, role="judge")
    batch = pack([episode(trunk, *twigs, other), episode(trunk, number=1)])
    found = model.read(batch, ["logp"])["logp"]
    assert_rounded(found, batch.logp, LM_TERMS)
    assert batch.K == 5 and len(found) == batch.S


def test_reading_in_pieces_changes_nothing(model, monkeypatch):
    asked = [request(view, seed, max_tokens=3 + 5 * seed) for seed in range(4) for view in VIEWS]
    batch = pack(
        [episode(segment(a, r), number=i) for i, (a, r) in enumerate(zip(asked, answer(model, asked), strict=True))]
    )

    def gradient():
        model.net.zero_grad()
        found = model.read(batch, ["logp", "entropy"])
        (found["logp"] - 0.3 * found["entropy"]).mean().backward()
        return found["logp"].detach(), model.net.embed.grad.clone()

    whole = gradient()
    monkeypatch.setattr(lm_module, "READ_TOKENS", 40)
    monkeypatch.setattr(head, "LOGITS", 7 * 320)
    for a, b in zip(whole, gradient(), strict=True):
        torch.testing.assert_close(a, b, atol=1e-6, rtol=1e-4)


def test_nothing_to_read(model):
    empty = pack([episode(Segment("policy", "x", model.encode("x"), np.zeros(0), np.zeros(0)))])
    found = model.read(empty, ["logp", "entropy"])
    assert len(found["logp"]) == len(found["entropy"]) == 0
    found["logp"].sum().backward()
    assert answer(model, []) == []


def test_gradient_against_finite_differences(tmp_path):
    model = small_lm(tmp_path, hidden=8, layers=2, heads=2, kv_heads=1, ff=8)
    model.net.double()
    batch = pack(
        [
            episode(segment(request(t), model.teacher_force(t, a)), number=i)
            for i, (t, a) in enumerate([("x", "so 9"), ("1", "2")])
        ]
    )

    def value():
        found = model.read(batch, ["logp", "entropy"])
        return (found["logp"] * torch.arange(1, batch.S + 1)).sum() + found["entropy"].square().sum()

    value().backward()
    generator = torch.Generator().manual_seed(0)
    for name, weight in model.net.named_parameters():
        aim = torch.randn(weight.shape, generator=generator, dtype=torch.float64)
        ends = []
        with torch.no_grad():
            for size in (1e-5, -2e-5):
                weight += size * aim
                ends.append(value().item())
            weight += 1e-5 * aim
        assert (weight.grad * aim).sum().item() == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-6), name


# --- learning -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_it_learns_twenty_sentences_by_heart(tmp_path):
    model = small_lm(tmp_path, std=0.02, hidden=64, ff=128, weights=False)
    learn = Learn("policy", sft(), opt=adam(lr=3e-3))
    model.start(1, {})
    play = Player({"policy": model}, {"policy": "policy"}, None, Sampling(), 0, 1)
    learn.start(play)
    answers = {f"what is {i}?": f"{i * i} is the answer" for i in range(20)}
    batch = pack(
        [episode(segment(request(q), model.teacher_force(q, a)), number=i) for i, (q, a) in enumerate(answers.items())]
    )
    for _ in range(120):
        learn(batch, play)
    said = answer(model, [request(q, temperature=0.0, max_tokens=40) for q in answers])
    assert sum(r.text == a for r, a in zip(said, answers.values(), strict=True)) >= 18
    assert model.version == 120


# --- folders ------------------------------------------------------------------------------------------------------


def test_save_and_load(model, tmp_path):
    models.save(model, tmp_path / "copy")
    loaded = models.load(str(tmp_path / "copy"))
    assert loaded.identity() == model.identity() is not None
    same(answer(loaded, [request()])[0], answer(model, [request()])[0])
    (tmp_path / "copy" / "model.json").unlink()  # what is left is a Hugging Face folder
    assert models.load(str(tmp_path / "copy")).identity() == model.identity()
    half = models.load(str(tmp_path / "copy"), dtype="bfloat16")
    assert half.net.dtype == torch.bfloat16 and len(answer(half, [request()])[0].actions) > 0
    models.save(half, tmp_path / "half")
    assert models.load(str(tmp_path / "half"), dtype="float32").net.dtype == torch.float32


def test_a_snapshot_keeps_the_weights_it_copied(model):
    table = {"policy": model, "reference": snapshot("policy")}
    table["reference"].start(0, table)
    before = answer(model, [request()])[0]
    with torch.no_grad():
        model.net.norm.mul_(3.0)
    same(answer(table["reference"], [request()])[0], before)
    assert answer(model, [request(temperature=0.9)])[0].logp.tolist() != before.logp.tolist()


def test_fresh_weights_follow_the_seed(tmp_path):
    made = small_lm(tmp_path, weights=False)
    assert made.net is None
    made.start(1, {})
    other = small_lm(tmp_path / "other", weights=False)
    other.start(1, {})
    assert made.identity() == other.identity()


def test_knobs_set_later_count(model, tmp_path):
    other = small_lm(tmp_path / "other", seed=9)
    model.source, model.dtype = other.source, "bfloat16"
    model.start(0, {})
    assert torch.equal(model.net.embed.cpu(), other.net.embed.bfloat16())


@pytest.mark.sampled(1, "tied")
@pytest.mark.parametrize("tied", [True, False])
def test_transformers_loads_what_is_saved(tmp_path, tied):
    transformers = pytest.importorskip("transformers")
    model = small_lm(tmp_path, tied=tied)
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    replies = answer(model, [request(v, temperature=0.0) for v in VIEWS])
    for view, reply in zip(VIEWS, replies, strict=True):
        asked = [{"role": "user", "content": view}]
        ids = tokenizer.apply_chat_template(asked, add_generation_prompt=True, return_dict=False)
        assert ids == reply.context.tolist()
        turns = [*asked, {"role": "assistant", "content": "x is 5\n"}, {"role": "user", "content": "why?"}]
        longer = tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_dict=False)
        assert longer == [*reply.context, *model.teacher_force("", "x is 5\n").actions, *model.encode("why?")]
        seen = torch.tensor(longer)[None]
        with torch.no_grad():
            hidden = model.net(seen[0], Runs.apart([len(longer)], seen.device))
            terms = decoder_terms(model.config, len(longer))
            assert_rounded(model.net.logits(hidden), theirs(seen).logits[0], terms)
        made = theirs.generate(torch.tensor(ids)[None], max_new_tokens=12, do_sample=False)[0, len(ids) :]
        assert made.tolist() == reply.actions.tolist()
        assert tokenizer.decode(made, skip_special_tokens=True) == reply.text
    assert tokenizer.eos_token == "<|end|>" and tokenizer.pad_token == "<|pad|>"


def test_loads_what_transformers_saved(tmp_path):
    transformers = pytest.importorskip("transformers")
    model = small_lm(tmp_path / "ours", tied=False)
    for name in ("AutoModelForCausalLM", "AutoTokenizer"):
        getattr(transformers, name).from_pretrained(tmp_path / "ours").save_pretrained(tmp_path / "theirs")
    assert models.load(str(tmp_path / "theirs")).identity() == model.identity()


def rewrite(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda f: (f / "config.json").unlink(), "no model: there is no model.json and no config.json"),
        (lambda f: (f / "config.json").write_text("{"), "config.json cannot be read"),
        (lambda f: (f / "tokenizer.json").unlink(), "there is no tokenizer.json in it"),
        (lambda f: (f / "tokenizer.json").write_text("{}"), "tokenizer.json cannot be read"),
        (lambda f: (f / "model.safetensors").write_text("junk"), "model.safetensors cannot be read"),
        (lambda f: rewrite(f / "config.json", num_hidden_layers=3), "has no tensor model.layers.2"),
        (lambda f: rewrite(f / "config.json", num_hidden_layers=1), "does not describe: model.layers.1"),
        (lambda f: rewrite(f / "config.json", intermediate_size=40), "is 48x32, config.json asks for 40x32"),
        (lambda f: rewrite(f / "config.json", vocab_size=100), "they do not fit"),
        (
            lambda f: (f / "model.safetensors").rename(f / "pytorch_model.bin"),
            "save the weights as one model.safetensors",
        ),
    ],
)
def test_broken_folders_are_one_clear_line(tmp_path, harm, words):
    small_lm(tmp_path)
    harm(tmp_path)
    with pytest.raises(UserError, match=words) as error:
        models.load(str(tmp_path))
    assert "\n" not in str(error.value)


def test_other_architectures_are_not_for_this_decoder(tmp_path):
    small_lm(tmp_path)
    rewrite(tmp_path / "config.json", architectures=["MambaForCausalLM"])
    with refusal(UserError):
        lm_module.lm(source=str(tmp_path))


def test_a_saved_model_without_its_weights_is_not_a_fresh_one(model, tmp_path):
    models.save(model, tmp_path / "copy")
    (tmp_path / "copy" / "model.safetensors").unlink()
    with refusal(UserError):
        models.load(str(tmp_path / "copy"))


def test_prompts_that_do_not_fit_are_refused(tmp_path):
    model = small_lm(tmp_path, max_positions=16)
    reply = answer(model, [request("12345678", max_tokens=50, seed=1)])[0]
    assert len(reply.context) + len(reply.actions) <= 16
    with refusal(UserError, "16"):
        answer(model, [request("1" * 14)])
    with refusal(UserError, "23"):
        model.read(pack([episode(segment(request("1" * 10), model.teacher_force("1" * 10, "2" * 10)))]), ["logp"])
    with refusal(UserError):
        models.load(str(tmp_path), dtype="int8")


def test_recomputing_gives_the_same_gradient(model):
    asked = [request(view, seed) for seed, view in enumerate(VIEWS)]
    batch = pack(
        [episode(segment(a, r), number=i) for i, (a, r) in enumerate(zip(asked, answer(model, asked), strict=True))]
    )
    gradients = []
    for recompute in (False, True):
        model.recompute = recompute
        model.start(0, {})
        model.net.zero_grad()
        model.read(batch, ["logp"])["logp"].sum().backward()
        gradients.append(model.net.layers[0].qkv.grad.clone())
    model.recompute = False
    assert model.net.recompute and torch.equal(*gradients)


def test_a_gpu_that_is_not_there_is_one_clear_line(tmp_path):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    model = small_lm(tmp_path)
    model.on = "cuda"
    with pytest.raises(UserError, match="torch finds no GPU"):
        model.start(0, {})
