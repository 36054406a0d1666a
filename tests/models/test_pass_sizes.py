"""How many tokens are learned at once: by what a pass keeps for its gradients, counted or seen."""

from __future__ import annotations

import pytest
import torch
from scheduling import mostly_slow
from small import small_lm
from small_foreign import SHAPES, made

from guerdon import models
from guerdon.models import foreign_model
from guerdon.models.config import DecoderConfig

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore::guerdon.core.errors.Notice")


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU says how much it holds")
@pytest.mark.parametrize(("kept", "steps"), [(1 << 12, 8192), (1 << 18, 1024), ((1 << 18) + 1, 512), (1 << 24, 256)])
def test_a_pass_with_gradients_keeps_a_gigabyte_at_most_on_a_cpu(tmp_path, monkeypatch, kept, steps):
    model = small_lm(tmp_path / "model")
    model.start(0, {})
    monkeypatch.setattr(DecoderConfig, "kept_numbers", kept)
    assert model.steps_at_once == steps, "numbers of four bytes"


@pytest.mark.parametrize("kind", mostly_slow(SHAPES, "gpt_neox", "mamba"))
def test_what_a_pass_keeps_is_seen_and_grows_with_its_tokens_alone(tmp_path, kind):
    """On a GPU in bfloat16: there PyTorch has no attention of one kernel for grouped queries in float32, and keeps scores."""
    model = models.load(made(tmp_path / "model", kind))
    model.dtype = "bfloat16" if torch.cuda.is_available() else "float32"
    model.start(0, {})
    kept = model.kept_bytes
    assert kept > 0 and model.kept_bytes == kept
    of_rows = [foreign_model._seen_to_keep(model.weights, tokens) for tokens in (16, 128)]
    assert of_rows == pytest.approx([kept, kept], rel=0.05), "attention over a row of any length is one kernel"


def test_what_a_pass_keeps_beside_our_own_count(tmp_path):
    """Of one Llama: `transformers` keeps what norms are made of besides."""
    ours = small_lm(tmp_path / "model")
    ours.start(0, {})
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    assert 1.0 <= foreign_model._seen_to_keep(theirs, 32) / ours.kept_bytes <= 2.0


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU says how much it holds")
def test_a_pass_with_gradients_of_gpt2_keeps_a_gigabyte_at_most_on_a_cpu(tmp_path):
    """Of 124 million weights each token keeps 1.1 MB; the width does it, so one layer of twelve tells."""
    config = {"n_embd": 768, "n_layer": 1, "n_head": 12, "vocab_size": 320, "n_positions": 256}
    model = models.load(made(tmp_path / "model", "gpt2", **config))
    model.start(0, {})
    assert 1.0e6 < 12 * model.kept_bytes < 1.1e6
    assert model.steps_at_once == 8192
    model.kept *= 12
    assert model.steps_at_once == 512
