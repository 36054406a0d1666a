"""Reward models that an earlier run trained, named by their folder: the same numbers as in a run, in all places that score."""

from __future__ import annotations

import json
import shutil

import pytest
import torch
from killing import killed_at
from refusals import refusal
from small import small_lm

import guerdon as gd
from guerdon.bridges.trl import for_trl
from guerdon.core.errors import UserError
from guerdon.core.manifest import Damaged
from guerdon.core.pack import pack
from guerdon.core.part import describe
from guerdon.core.task import Sampling
from guerdon.engine.player import Player
from guerdon.envs.contrasting import side_by_side
from guerdon.models import save
from guerdon.models.language_model import lm
from guerdon.rewards.asking.by_name import find_reward
from guerdon.rewards.asking.function import ask_all
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.model.reward_models import outcome_model, process_model
from guerdon.tasks.families.chained_arithmetic import chain

SMALL = {"prompts": 2, "tries": 1, "max_tokens": 6, "exam_tasks": 2, "steps": 1, "lr": 1e-3}
POLICY = {"prompts": 2, "tries": 2, "max_tokens": 6, "steps": 2, "lr": 1e-3}
QUIET = gd.Options(eval_tasks=0, save_every=1)
SAYS = ["3*4=12\n12-5=7\n= 7", "3*4=13\n13-5=8\n= 8", "so\n= 1"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a small model, `lm`, and a finished run of each kind: `rm`, `prm` and `policy`."""
    folder = tmp_path_factory.mktemp("runs")
    model = small_lm(folder / "lm")
    for name, out in (("reward_model", "rm"), ("process_reward_model", "prm")):
        gd.train(name, task="chain:1", model=str(folder / "lm"), out=folder / out, options=QUIET, **SMALL)
    gd.train("grpo", task=chain(level=1), model=model, out=folder / "policy", options=QUIET, **POLICY | {"steps": 1})
    return folder


def in_a_run(reward, models, policy):
    """What a reward says of SAYS at one problem, told in a run."""
    play = Player({"policy": policy, **models}, {"policy": "policy"}, side_by_side(), Sampling(max_tokens=6), 0, 1)
    batch = pack(play([gd.Ask(chain(level=1).get("test", 0), note={"say": SAYS})]))
    (outcomes,) = ask_all([(reward, Samples.of_batch(batch, play, "policy"))])
    return outcomes, play


def started(folder):
    model = gd.models.load(str(folder))
    model.start(0, {})
    return model


@pytest.fixture
def samples():
    prompt = chain(level=1).get("test", 0).prompt
    return [{"prompt": prompt, "completion": said} for said in SAYS]


def test_a_folder_says_what_the_model_says_in_a_run(place, samples):
    rm, prm, policy = started(place / "rm/models/rm"), started(place / "prm/models/prm"), started(place / "lm")
    for inside, outside, models in (
        (outcome_model("rm"), outcome_model(str(place / "rm")), {"rm": rm}),
        (outcome_model("rm", squash=True), outcome_model(str(place / "rm/models/rm"), squash=True), {"rm": rm}),
        (process_model("prm"), process_model(str(place / "prm")), {"prm": prm}),
        (process_model("prm", aggregate="steps"), process_model(str(place / "prm"), aggregate="steps"), {"prm": prm}),
    ):
        known, _ = in_a_run(inside, models, policy)
        here, _ = in_a_run(outside, {}, policy)  # the folder, within a run
        alone = gd.score_samples(outside, samples)  # and without one
        want = [outcome.value for outcome in known]
        assert len({*want}) == 3
        assert [outcome.value for outcome in here] == pytest.approx(want, abs=1e-5)
        assert [outcome.steps for outcome in here] == [outcome.steps for outcome in known]
        assert alone.whole == pytest.approx(want, abs=1e-5)


def test_a_conversation_is_read_whole(place, samples):
    """Three messages before the last one are other words to the model than the last of them alone."""
    reward = outcome_model(str(place / "rm"))
    talk = [{"role": "user", "content": "x + 4 = 9"}, {"role": "assistant", "content": "so 5"}]
    asked = [*talk, {"role": "user", "content": samples[0]["prompt"]}]
    (whole,) = for_trl(reward)(prompts=[asked], completions=[[{"role": "assistant", "content": SAYS[0]}]])
    (last,) = for_trl(str(place / "rm"))(prompts=[samples[0]["prompt"]], completions=[SAYS[0]])
    model = started(place / "rm/models/rm")
    (read,) = gd.models.probe(model, [((), asked, SAYS[0])], ["final"])
    assert whole == pytest.approx(float(read["final"]), abs=1e-5) and last != pytest.approx(whole, abs=1e-5)
    assert last == pytest.approx(gd.score_samples(reward, samples[:1]).whole[0], abs=1e-6)


def test_what_it_reads_is_spent_by_the_run_that_asks(place):
    policy = started(place / "lm")
    _, inside = in_a_run(outcome_model("rm"), {"rm": started(place / "rm/models/rm")}, policy)
    _, outside = in_a_run(outcome_model(str(place / "rm")), {}, policy)
    assert inside.meter.read == outside.meter.read > 0


def test_names_find_a_run_a_model_and_say_what_is_none(place, monkeypatch):
    monkeypatch.chdir(place)
    assert repr(find_reward("rm")) == "outcome_model(model='./rm')"
    assert repr(find_reward("prm/models/prm")) == "process_model(model='prm/models/prm')"
    assert isinstance(find_reward(str(place / "prm")), process_model)
    for spec, said in (
        (
            "policy",
            "policy is a run of grpo, which trained a policy and no reward model: train one with guerdon train rew",
        ),
        ("lm", "lm is a model without a value head, so it gives text and no scores: train one with"),
        ("runs/gone", "runs/gone is not there: a trained reward model is the folder of its run, or its own"),
        ("exat", "unknown reward 'exat': did you mean 'exact'"),
    ):
        with pytest.raises(UserError) as raised:
            find_reward(spec)
        assert said in str(raised.value) and "\n" not in str(raised.value)
    (place / "empty").mkdir(exist_ok=True)
    with refusal(UserError):
        find_reward("empty")
    unfinished = place / "unfinished"
    unfinished.mkdir()
    shutil.copy(place / "rm" / "run.json", unfinished)
    with refusal(UserError, "--resume"):
        find_reward("unfinished")
    with refusal(UserError):
        gd.score_samples(outcome_model("rm"), [{"prompt": "", "completion": ""}])
    with refusal(UserError):
        gd.score_samples(find_reward("rm"), [{"completion": "= 7"}])


def test_weights_are_what_it_is_and_not_where_it_lies(place, tmp_path, samples):
    shutil.copytree(place / "rm" / "models" / "rm", tmp_path / "copy")
    reward, copied = outcome_model(str(place / "rm")), outcome_model(str(tmp_path / "copy"))
    assert describe(reward) == describe(copied) and reward.version == copied.version
    assert describe(outcome_model("rm"))["knobs"]["model"] == "rm"  # as it was before folders were taken
    other = lm(source=str(place / "lm"), value=True)
    other.start(0, {})
    before = gd.score_samples(copied, samples).whole
    with torch.no_grad():
        other.net.value_head.weight.fill_(0.1)
    shutil.rmtree(tmp_path / "copy")
    save(other, tmp_path / "copy")  # what lies there is another model now: nothing of the first is remembered
    assert describe(reward) != describe(copied) and gd.score_samples(copied, samples).whole != before


def test_a_damaged_one_is_refused(place, tmp_path, samples):
    shutil.copytree(place / "rm" / "models" / "rm", tmp_path / "rm")
    head = tmp_path / "rm" / "value_head.safetensors"
    data = bytearray(head.read_bytes())
    data[-1] ^= 1
    head.write_bytes(data)
    with pytest.raises(Damaged, match=r"value_head.safetensors does not match its hash"):
        gd.score_samples(outcome_model(str(tmp_path / "rm")), samples)


@pytest.mark.slow
def test_a_run_that_learns_from_it_resumes_exactly_and_misses_it_when_it_is_gone(place, tmp_path):
    shutil.copytree(place / "rm", tmp_path / "rm")
    how = {"task": "chain:1", "model": str(place / "lm"), "reward": str(tmp_path / "rm"), "options": QUIET, **POLICY}
    whole = gd.train("grpo", out=tmp_path / "whole", **how)
    for out in ("broken", "alone"):
        with killed_at(1):
            gd.train("grpo", out=tmp_path / out, **how)
    again = gd.train(resume=tmp_path / "broken")
    assert again.weights == whole.weights
    assert again.metrics.drop_columns(["seconds"]) == whole.metrics.drop_columns(["seconds"])
    kept = gd.replay(whole, reward=str(tmp_path / "rm"))  # the same reward again: the same numbers
    assert kept.total["scored"] == 8 and kept.version == kept.old_version
    (tmp_path / "rm/models/rm/checksums.json").unlink()
    other = lm(source=str(place / "lm"), value=True)
    other.start(0, {})
    save(other, tmp_path / "rm/models/rm")
    with refusal(UserError):
        gd.train(resume=tmp_path / "alone")
    shutil.rmtree(tmp_path / "rm")
    with refusal(UserError):
        gd.train(resume=tmp_path / "alone")


def test_it_chooses_among_tries_at_the_command_line(place, capsys):
    from guerdon.cli.main import main

    words = ["eval", str(place / "lm"), "--task", "chain:1", "--tasks", "3", "--max-tokens", "4"]
    assert main([*words, "--best-of", "2", "--reward", str(place / "rm"), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (shown["tasks"], shown["tries"], shown["best_of_unscored"]) == (3, 2, 0.0) and "best_of@2_low" in shown
    assert main([*words, "--best-of", "2", "--reward", str(place / "rm")]) == 0
    assert "best_of@2  " in capsys.readouterr().out
    for more, said in (
        (["--best-of", "2"], "--best-of N needs --reward R"),
        (["--best-of", "2", "--reward", "exact", "--greedy"], "--greedy samples one answer"),
    ):
        assert main([*words, *more]) == 2
        assert said in capsys.readouterr().err
    assert main([*words, "--best-of", "2", "--reward", str(place / "policy")]) == 2
    assert "trained a policy and no reward model" in capsys.readouterr().err


# --- reward models of others ------------------------------------------------------------------------------------------


@pytest.mark.slow  # the library takes seconds to begin
def test_a_sequence_classifier_is_asked_as_its_library_asks_it(tmp_path):
    transformers = pytest.importorskip("transformers")
    small_lm(tmp_path / "lm")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "lm" / "tokenizer.json"))
    tokenizer.chat_template = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    sizes = {
        "vocab_size": 320,
        "hidden_size": 16,
        "intermediate_size": 24,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    torch.manual_seed(0)
    config = transformers.LlamaConfig(**sizes, num_labels=1, max_position_embeddings=200, pad_token_id=0)
    model = transformers.LlamaForSequenceClassification(config).eval()
    model.save_pretrained(tmp_path / "theirs")
    tokenizer.save_pretrained(tmp_path / "theirs")
    reward = find_reward(str(tmp_path / "theirs"))
    assert repr(reward) == f"classifier(folder={str(tmp_path / 'theirs')!r})"
    samples = [{"prompt": "x + 4 = 9", "completion": said} for said in ("so 5", "so 6", "the sum of 12", "5 " * 200)]
    scored = gd.score_samples(reward, samples)
    for sample, value in zip(samples[:3], scored.whole, strict=False):
        text = f"user: x + 4 = 9\nassistant: {sample['completion']}\n"
        with torch.no_grad():
            want = model(**tokenizer(text, return_tensors="pt", return_token_type_ids=False)).logits.item()
        assert value == pytest.approx(want, abs=1e-6)
    assert (
        len({*scored.whole[:3]}) == 3 and scored.whole[3] is None and "longer than the 200 tokens" in scored.in_words(3)
    )
    policy = started(tmp_path / "lm")
    play = Player({"policy": policy}, {"policy": "policy"}, side_by_side(), Sampling(max_tokens=6), 0, 1)
    batch = pack(play([gd.Ask(gd.Task("1", "x + 4 = 9"), note={"say": ["so 5", "so 6"]})]))
    (outcomes,) = ask_all([(reward, Samples.of_batch(batch, play, "policy"))])
    assert [each.value for each in outcomes] == pytest.approx(scored.whole[:2], abs=1e-6)
    before = describe(reward)
    (tmp_path / "theirs" / "config.json").write_text(json.dumps({**json.loads(config.to_json_string()), "x": 1}))
    assert describe(reward) != before
    with pytest.raises(UserError, match="lm holds no sequence classifier"):
        gd.score_samples(gd.classifier(str(tmp_path / "lm")), samples)
