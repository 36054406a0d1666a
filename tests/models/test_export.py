"""Exported models as `transformers` and peft load them: the same logits, greedy texts and scores; and what is refused."""

from __future__ import annotations

import json
import shutil

import pytest
import torch
from command_line import command_line, refused
from refusals import refusal
from small import TEXTS, small_lm
from small_foreign import made, transformers

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.models import huggingface
from guerdon.models.chat import Chat
from guerdon.models.exports import export_scorer
from guerdon.models.probing import probe
from guerdon.models.tokenizer import train_tokenizer
from guerdon.results.model_card import train_command
from guerdon.training.api import answers

NOTHING = gd.Options(eval_tasks=0, rollouts_every=0)
ITEMS = [((), "2 + 3 = ?", "it is 5"), ((), "sort [3, 1]", "1 then 3\n"), ((), "x", "née")]
VLLM = {  # classes that vLLM's registry of text generation has, of those that are written here (its table of supported models)
    "LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM", "Gemma3ForCausalLM",
    "GPTNeoXForCausalLM", "GPT2LMHeadModel", "PhiForCausalLM", "OPTForCausalLM", "GraniteForCausalLM", "MambaForCausalLM",
}  # fmt: skip


def tokens_of(model, item):
    """All that a model reads of an item: what it is shown, what is said, the token that ends the turn."""
    path, view, text = item
    reply = model.teacher_force(view, text, path)
    return torch.tensor([[*reply.context.tolist(), *reply.actions.tolist()]]), len(reply.context)


def same_words(model, theirs):
    """Whether another library's model gives every token the log-prob that ours does."""
    for item, ours in zip(ITEMS, probe(model, ITEMS, ["logp"]), strict=True):
        tokens, shown = tokens_of(model, item)
        with torch.no_grad():
            logp = torch.log_softmax(theirs(tokens).logits[0].double(), -1)
        said = logp[shown - 1 : -1].gather(1, tokens[0, shown:, None])[:, 0]
        torch.testing.assert_close(said, ours["logp"].double(), atol=2e-4, rtol=1e-4)


def loaded(folder, kind="AutoModelForCausalLM"):
    net, report = getattr(transformers, kind).from_pretrained(folder, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"] and not report["mismatched_keys"]
    return net.eval()


@pytest.fixture(scope="module")
def sprig_run(tmp_path_factory):
    """One step that changes the weights, and an exam before and after it."""
    folder = tmp_path_factory.mktemp("export") / "run"
    how = {"prompts": 1, "tries": 2, "lr": 1e-3, "settings": {"sampling.max_tokens": 8}}
    options = gd.Options(eval_tasks=1, eval_tries=1)
    reward = gd.exact() + gd.length(4).weight(0.1)
    return gd.train(
        "grpo", task="chain:1", model="sprig", reward=reward, steps=1, seed=3, out=folder, options=options, **how
    )


@pytest.fixture(scope="module")
def lora_run(tmp_path_factory):
    """A small Llama with an adapter that is not zero."""
    place = tmp_path_factory.mktemp("lora")
    (place / "base").mkdir()
    small_lm(place / "base")
    model = gd.models.load(str(place / "base"), lora=4)
    model.start(0, {})
    with torch.no_grad():
        for name, weight in model.weights.named_parameters():
            if name.endswith(".B"):
                weight.normal_(0.0, 0.2, generator=torch.Generator().manual_seed(len(name)))
    return gd.train("grpo", task="parity", model=model, steps=0, out=place / "run", options=NOTHING)


# --- language models ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_sprig_is_the_same_model_in_transformers(sprig_run, tmp_path):
    written = gd.export(sprig_run, tmp_path / "out")
    assert written.architecture == "LlamaForCausalLM" and written.dtype == "float32" and written.notes == ()
    theirs, ours = loaded(tmp_path / "out"), sprig_run.model()
    assert theirs.dtype == torch.float32
    same_words(ours, theirs)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    tasks = [gd.tasks.load("chain:2").get("test", n) for n in range(2)]
    for task, said in zip(
        tasks, answers(ours, tasks, sampling=gd.Sampling(temperature=0.0, max_tokens=24)), strict=True
    ):
        shown = tokenizer.apply_chat_template(
            [{"role": "user", "content": task.prompt}],
            add_generation_prompt=True,
            return_tensors="pt",
            return_dict=True,
        )
        out = theirs.generate(**shown, max_new_tokens=24, do_sample=False)
        assert tokenizer.decode(out[0, shown["input_ids"].shape[1] :], skip_special_tokens=True) == said


def test_it_is_a_model_here_too(sprig_run, tmp_path):
    gd.export(sprig_run.path, tmp_path / "out")
    assert gd.models.load(str(tmp_path / "out")).identity() == sprig_run.model().identity()


def test_an_adapter_merged_and_alone(lora_run, tmp_path):
    peft = pytest.importorskip("peft")
    ours = gd.models.load(str(lora_run.folder.models / "policy"))
    ours.start(0, {})
    assert gd.export(lora_run, tmp_path / "merged").architecture == "LlamaForCausalLM"
    merged = loaded(tmp_path / "merged")
    same_words(ours, merged)
    assert not (tmp_path / "merged" / "adapter").exists()
    alone = gd.export(lora_run, tmp_path / "alone", adapter=True)
    assert alone.architecture == "PeftModel"
    assert alone.parameters == sum(w.numel() for n, w in ours.weights.named_parameters() if n.endswith((".A", ".B")))
    config = json.loads((tmp_path / "alone" / "adapter_config.json").read_text())
    base = transformers.AutoModelForCausalLM.from_pretrained(config["base_model_name_or_path"])
    adapted = peft.PeftModel.from_pretrained(base, tmp_path / "alone").eval()
    same_words(ours, adapted)
    files = {path.name for path in (tmp_path / "alone").iterdir()}
    assert {"adapter_model.safetensors", "tokenizer.json", "README.md"} <= files and "model.safetensors" not in files
    plain = gd.models.load(config["base_model_name_or_path"])
    tokens, _ = tokens_of(plain, ITEMS[0])
    with torch.no_grad(), adapted.disable_adapter():
        assert (adapted(tokens).logits - merged(tokens).logits).abs().max() > 0.1  # the adapter says something


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*is not among guerdon's own decoders")
def test_other_architectures_and_types(tmp_path):
    neox = made(tmp_path / "neox", "gpt_neox")
    run = gd.train("grpo", task="parity", model=neox, steps=0, out=tmp_path / "run", options=NOTHING)
    assert gd.export(run, tmp_path / "out").architecture == "GPTNeoXForCausalLM"
    ours = gd.models.load(str(tmp_path / "neox"))
    ours.start(0, {})
    same_words(ours, loaded(tmp_path / "out"))
    (tmp_path / "small").mkdir()
    small_lm(tmp_path / "small")
    half = gd.models.load(str(tmp_path / "small"), dtype="bfloat16")
    run = gd.train("grpo", task="parity", model=half, steps=0, out=tmp_path / "half", options=NOTHING)
    written = gd.export(run, tmp_path / "in_half")
    net = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "in_half", dtype="auto")
    assert written.dtype == "bfloat16" and net.dtype == torch.bfloat16


def test_what_vllm_asks_of_a_folder(sprig_run, tmp_path):
    """It can not be run here: the class is one it has, weights are safetensors, and the tokenizer is transformers' own."""
    gd.export(sprig_run, tmp_path / "out")
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert set(config["architectures"]) <= VLLM and config["torch_dtype"] == "float32" and "auto_map" not in config
    assert config["max_position_embeddings"] > 0 and config["eos_token_id"] is not None
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    assert tokenizer.chat_template and tokenizer.eos_token and len(tokenizer) <= config["vocab_size"]
    assert (
        json.loads((tmp_path / "out" / "generation_config.json").read_text())["eos_token_id"] == config["eos_token_id"]
    )


def test_weights_in_several_files(tmp_path):
    (tmp_path / "one").mkdir()
    model = small_lm(tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "many")
    (tmp_path / "many" / "model.safetensors").unlink()
    huggingface.write_tensors(tmp_path / "many", huggingface.to_hub(model.decoder), most=20_000)
    shards = sorted((tmp_path / "many").glob("model-*.safetensors"))
    assert len(shards) > 2 and shards[0].name == f"model-00001-of-{len(shards):05d}.safetensors"
    index = json.loads((tmp_path / "many" / "model.safetensors.index.json").read_text())
    assert set(index["weight_map"].values()) == {path.name for path in shards}
    assert index["metadata"]["total_size"] == sum(t.nbytes for t in huggingface.to_hub(model.decoder).values())
    biggest = max(t.nbytes for t in huggingface.to_hub(model.decoder).values())
    assert all(path.stat().st_size <= max(20_000, biggest) + 4096 for path in shards)
    same_words(model, loaded(tmp_path / "many"))
    assert gd.models.load(str(tmp_path / "many")).identity() == model.identity()


# --- scorers --------------------------------------------------------------------------------------------------------------


def scorer_of(source, bias=0.0, **head):
    """A model with a head that says something."""
    model = gd.models.load(str(source), value=gd.models.head(**head))
    model.start(0, {})
    with torch.no_grad():
        for name, weight in model.weights.value_head.named_parameters():
            weight.normal_(
                0.0, 0.3, generator=torch.Generator().manual_seed(1)
            ) if "bias" not in name else weight.fill_(bias)
    return model


def same_scores(model, folder, bias=0.0):
    theirs = loaded(folder, "AutoModelForSequenceClassification")
    final = [each["final"].double() for each in probe(model, ITEMS, ["final"])]
    rows = [tokens_of(model, item)[0][0] for item in ITEMS]
    with torch.no_grad():
        alone = [theirs(row[None]).logits[0].double() for row in rows]
        padded = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=theirs.config.pad_token_id)
        together = theirs(padded, attention_mask=(padded != theirs.config.pad_token_id).long()).logits.double()
    for ours, one, other in zip(final, alone, together, strict=True):
        torch.testing.assert_close(one + bias, ours.reshape(-1), atol=2e-4, rtol=1e-4)
        torch.testing.assert_close(other + bias, ours.reshape(-1), atol=2e-4, rtol=1e-4)
    return theirs


SIZES = {
    "vocab_size": 320, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 8, "intermediate_size": 48, "max_position_embeddings": 256, "initializer_range": 0.3,
}  # fmt: skip


@pytest.mark.sampled(2, "kind")
@pytest.mark.parametrize("kind", ["llama", "mistral", "qwen2", "qwen3", "gemma3_text"])
def test_a_scorer_is_a_sequence_classifier(tmp_path, kind):
    """Read at the token that ends the turn, alone and in a padded batch, and named as transformers names it."""
    config = transformers.AutoConfig.for_model(kind, **SIZES, bos_token_id=1, eos_token_id=3, pad_token_id=0)
    torch.manual_seed(0)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path / "source")
    huggingface.write_chat(tmp_path / "source", Chat(train_tokenizer(TEXTS, 320), huggingface.OWN), 256)
    model = scorer_of(tmp_path / "source")
    (tmp_path / "out").mkdir()
    written = export_scorer(model, tmp_path / "out")
    assert written.notes == () and written.architecture == type(same_scores(model, tmp_path / "out")).__name__


def test_several_numbers_and_a_bias(tmp_path):
    (tmp_path / "source").mkdir()
    small_lm(tmp_path / "source")
    model = scorer_of(tmp_path / "source", bias=0.25, outputs=2)
    (tmp_path / "out").mkdir()
    (note,) = export_scorer(model, tmp_path / "out").notes
    assert (
        note == "its scores are lower there by the head's bias, 0.25, 0.25, for which transformers has no place: add it"
    )
    theirs = same_scores(model, tmp_path / "out", bias=0.25)
    assert theirs.config.id2label == {0: "score_0", 1: "score_1"}


def test_a_padding_token_that_ends_turns_is_not_padded_with(tmp_path):
    """It would be passed over, and the score read before the end."""
    (tmp_path / "source").mkdir()
    small_lm(tmp_path / "source")
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        words = json.loads((tmp_path / "source" / name).read_text())
        (tmp_path / "source" / name).write_text(json.dumps(words | {"pad_token": "<|end|>"}))
    model = scorer_of(tmp_path / "source")
    (tmp_path / "out").mkdir()
    assert export_scorer(model, tmp_path / "out").notes == ()
    assert same_scores(model, tmp_path / "out").config.pad_token_id not in model.ends


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*is not among guerdon's own decoders")
def test_scorers_of_other_architectures(tmp_path):
    model = scorer_of(made(tmp_path / "neox", "gpt_neox"))
    (tmp_path / "out").mkdir()
    assert export_scorer(model, tmp_path / "out").architecture == "GPTNeoXForSequenceClassification"
    same_scores(model, tmp_path / "out")
    with pytest.raises(UserError, match=r"transformers .* has no sequence classifier for granite"):
        export_scorer(scorer_of(made(tmp_path / "granite", "granite")), tmp_path / "out")
    with pytest.raises(UserError, match="a hidden layer, which no sequence classifier"):
        export_scorer(scorer_of(tmp_path / "neox", width=4), tmp_path / "out")


def test_a_reward_model_of_a_run(tmp_path):
    (tmp_path / "lm").mkdir()
    small_lm(tmp_path / "lm")
    how = {"steps": 3, "prompts": 2, "tries": 0, "lr": 0.05}
    run = gd.train(
        "reward_model", task="chain:1", model=str(tmp_path / "lm"), out=tmp_path / "run", options=NOTHING, **how
    )
    written = gd.export(run, tmp_path / "out", name="rm")
    bias = run.model("rm").weights.value_head.bias.item()
    assert written.architecture == "LlamaForSequenceClassification" and f"{bias:.3f}"[:5] in written.notes[0]
    same_scores(run.model("rm"), tmp_path / "out", bias)
    card = (tmp_path / "out" / "README.md").read_text()
    assert "pipeline_tag: text-classification" in card and "AutoModelForSequenceClassification" in card
    assert "Its scores are lower there by the head's bias" in card
    with refusal(UserError):
        gd.export(run, tmp_path / "alone", name="rm", adapter=True)


# --- the card, the command line, refusals ---------------------------------------------------------------------------------


def test_the_card_says_where_it_comes_from(sprig_run, tmp_path):
    gd.export(sprig_run, tmp_path / "a model")
    card = (tmp_path / "a model" / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: transformers\npipeline_tag: text-generation\ntags:\n- guerdon\n")
    for words in (
        "# a model\n",
        "- **reward**: `exact + 0.1 * length` (version ",
        "- **trained for**: 1 step, 2 samples, ",
        "- **seed**: 3\n",
        f"hash {sprig_run.weights} in the run",
        "It was started from Python objects.",
        "| before training | ",
        "| after 1 step | ",
        "One run with one seed.",
        f"guerdon {gd.__version__}",
    ):
        assert words in card, words
    before = sprig_run.evaluations[0]
    low, high = (f"{100 * before[f'pass@1_{end}']:.1f} %" for end in ("low", "high"))
    assert f"| before training | {100 * before['pass@1']:.1f} % | {low} to {high} | 1 | 1 |" in card


def test_words_of_a_run_are_no_markup_in_its_card(sprig_run, tmp_path):
    run = gd.Run(sprig_run.path)
    run.config["wish"]["task"] = "a|b\n# <script>"
    gd.export(run, tmp_path / "out")
    assert "- **problems**: a&#124;b # &lt;script>\n" in (tmp_path / "out" / "README.md").read_text()


def test_the_command_starts_such_a_run_again():
    config = {"recipe": "./my recipe.py", "wish": {"task": None, "model": "sprig", "reward": "my.py:right"}, "seed": 2}
    config |= {"data": {"path": "a b.jsonl", "prompt": "q", "answer": "a", "kind": "", "skip_bad": True}, "steps": 9}
    config |= {"settings": {"lr": "1e-3", "learn.clip": 0.5}, "budget": None}
    line = "guerdon train './my recipe.py' --model sprig --reward my.py:right --data 'a b.jsonl' --prompt q --answer a"
    assert train_command(config) == f"{line} --skip-bad --set lr=1e-3 --set learn.clip=0.5 --steps 9 --seed 2"
    config["budget"] = {"amount": 400000.0, "unit": "tokens"}
    assert train_command(config).endswith("--budget 400000:tokens --seed 2")


def test_the_command_line(sprig_run, tmp_path, monkeypatch, capsys):
    cli, run = command_line(tmp_path, monkeypatch, capsys), str(sprig_run.path)
    done = cli("export", run, "out")
    assert (
        done.code == 0 and "LlamaForCausalLM, 6,164,736 weights in float32" in done.out and "out/README.md" in done.out
    )
    refused(cli("export", run, "out"), "out is not empty: choose another folder, or --force")
    (tmp_path / "out" / "mine.txt").write_text("kept")
    (tmp_path / "out" / "model-00001-of-00002.safetensors").write_text("of an earlier export")
    said = json.loads(cli("export", run, "out", "--force", "--json").out)
    assert said["architecture"] == "LlamaForCausalLM" and said["parameters"] == 6164736 and said["folder"] == "out"
    assert sorted(said["files"]) == sorted(path.name for path in (tmp_path / "out").iterdir())
    assert "mine.txt" in said["files"] and "model-00001-of-00002.safetensors" not in said["files"]
    loaded(tmp_path / "out")
    refused(cli("export", run, "two", "--adapter"), "has no adapter, all of its weights were trained: remove --adapter")
    refused(cli("export", run, "two", "--name", "polcy"), "did you mean 'policy'?")
    refused(cli("export", run, f"{run}/inside"), "is inside the exported run")
    refused(cli("export", run, "out/mine.txt"), "is a file, not a folder")
    refused(cli("export", "nowhere", "two"), "nowhere is not a run folder")
    refused(cli("export", run), "no destination: give a folder for the model, or --traces FILE")
    assert not (tmp_path / "two").exists()  # nothing is left of what was refused


def test_runs_that_have_nothing_to_export(tmp_path):
    table = gd.train("grpo", task="parity", model="tabular", steps=0, out=tmp_path / "table", options=NOTHING)
    with pytest.raises(UserError, match="a tabular model is not a language model"):
        gd.export(table, tmp_path / "out")
    lines = table.folder.events.read_text().splitlines(keepends=True)
    table.folder.events.write_text("".join(line for line in lines if '"Ended"' not in line))
    with pytest.raises(UserError, match=r"is unfinished: finish the run first, guerdon train --resume"):
        gd.export(table, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_damaged_model_is_not_exported(lora_run, tmp_path):
    shutil.copytree(lora_run.path, tmp_path / "run")
    weights = tmp_path / "run" / "models" / "policy" / "adapter" / "adapter_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"oops")
    with pytest.raises(UserError, match=r"models/policy is damaged"):
        gd.export(tmp_path / "run", tmp_path / "out")
