"""A model of a stranger's is loaded whole, or refused in one line: no code of its runs, nothing hangs, nothing is fetched.

Folders and GGUF files from anywhere: the sizes that they declare are compared with what they contain before memory is
allocated, and chat templates run in a sandbox with a budget for loops and growing texts. Not promised: that such a model
generates anything sensible, or that a tokenizer's own patterns are quick.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import Cli, command_line, refused
from safetensors.torch import load_file, save_file
from small import TEXTS, small_lm

from guerdon import models
from guerdon.core.errors import UserError
from guerdon.models import chat_template as bounds
from guerdon.models.chat import Chat, Format
from guerdon.models.tokenizer import train_tokenizer

pytestmark = pytest.mark.filterwarnings("ignore::guerdon.core.errors.Notice")

SAYS = "{{ messages[0].content }}"
GROWS = "{% set ns = namespace(x=X) %}{% for i in range(70) %}{% set ns.x = Y %}{% endfor %}{{ ns.x }}"
ENDLESS = "it never ends, or makes more text than a conversation can have"
TOO_MUCH = {
    "three loops": "{% for i in range(9999) %}" * 3 + "{% endfor %}" * 3,
    "a loop of 10**12": "{% for i in range(10**12) %}x{% endfor %}",
    "a macro that doubles": "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    "a loop inside itself": "{% for x in [1, 2] recursive %}{% if loop.depth < 90 %}{{ loop([1, 2]) }}{% endif %}{% endfor %}",
    "'a' * 10**12": "{{ 'a' * 10**12 }}",
    "10**12 * 'a'": "{{ 10**12 * 'a' }}",
    "[0] * 10**12": "{% set x = [0] * 10**12 %}",
    "10 ** 10**9": "{{ 10 ** (10**9) }}",
    "a text that doubles with +": GROWS.replace("X", "'a'").replace("Y", "ns.x + ns.x"),
    "a text that doubles with ~": GROWS.replace("X", "'a'").replace("Y", "ns.x ~ ns.x"),
    "a list that doubles": GROWS.replace("X", "[1]").replace("Y", "ns.x + ns.x"),
    "lists in lists": GROWS.replace("X", "[1]").replace("Y", "[ns.x, ns.x]"),
    "tuples in tuples": GROWS.replace("X", "1").replace("Y", "(ns.x, ns.x)"),
    "tables in tables": GROWS.replace("X", "1").replace("Y", "{'a': ns.x, 'b': ns.x}"),
    "tables made by a call": GROWS.replace("X", "1").replace("Y", "dict(a=ns.x, b=ns.x)"),
    "namespaces in each other": GROWS.replace("X", "1").replace("Y", "namespace(a=ns.x, b=ns.x)"),
    "a namespace in itself": "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}",
    "center": "{{ 'a'|center(10**12) }}",
    "center while it is read": "{% autoescape 'a'|center(10**10) %}{% endautoescape %}",
    "a block that is centred": "{% filter center(10**10) %}a{% endfilter %}",
    "ljust": "{{ 'a'.ljust(10**12) }}",
    "%9999999999d": "{{ '%9999999999d' % 1 }}",
    "{:9999999999}": "{{ '{:9999999999}'.format(1) }}",
    "{:>{}}": "{{ '{:>{}}'.format(1, 10**10) }}",
    "a long text in a format, often": "{% set b = 'a' * 1000000 %}{{ ('{0}' * 1000).format(b) }}",
    "%*d": "{{ '%*d' % (10**10, 1) }}",
    "a long text a million times": "{% set b = 'a' * 1000000 %}{{ b.replace('a', b) }}",
    "and as a filter": "{% set b = 'a' * 1000000 %}{{ b|replace('a', b) }}",
    "a long text between letters": "{% set b = 'a' * 1000000 %}{{ b.join(b) }}",
    "and between numbers": "{% set b = 'a' * 1000000 %}{{ range(99999)|map('string')|join(b) }}",
    "slices of nothing": "{{ [1]|slice(10**12)|list }}",
    "JSON far to the right": "{{ [1, [2]]|tojson(indent=10**10) }}",
    "10**9 digits": "{{ 1.5|round(10**9, 'ceil') }}",
    "a block of text": "{% set b = 'a' * 100000 %}{% set c %}{% for i in range(99999) %}{{ b }}{% endfor %}{% endset %}",
    "money from nowhere": "{% set z = [-10**9]|map('a toll')|list %}{% set b = 'a' * 10**8 %}",
}  # fmt: skip
WRONG = {
    "1 / 0": ("{{ 1 / 0 }}", "does not work: ZeroDivisionError: division by zero"),
    "divisibleby(0)": ("{% if 1 is divisibleby(0) %}{% endif %}", "does not work: ZeroDivisionError"),
    "a macro in itself": ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "does not work: RecursionError"),
    "20,000 brackets": ("{{ " + "(" * 20_000 + "1" + ")" * 20_000 + " }}", "cannot be read: RecursionError"),
    "50 loops in each other": ("{% for i in [1] %}" * 50 + "{% endfor %}" * 50, "cannot be read: SyntaxError"),
    "300,000 characters": ("x" * 300_000, "has 300025 characters: 262144 are the most"),
    "__class__": ("{{ ''.__class__.__mro__ }}", "does not work: access to attribute '__class__'"),
    "format": ("{{ '{0.__class__.__mro__}'.format(1) }}", "does not work: access to attribute '__class__' of 'int'"),
    "append": ("{{ messages.append(1) }}", "does not work: access to attribute 'append'"),
    "include": ("{% include '/etc/passwd' %}", "does not work: TypeError: no loader"),
    "chance": ("{{ [1, 2]|random }}", "cannot be read: No filter named 'random'"),
    "half a character": ("{{ '\ud800' }}", "tokenizer cannot read"),
    "what is not there": ("{{ x.y }}", "does not work: 'x' is undefined"),
}
CHANGED = [
    "{{ messages[0].content|upper }}",
    "{{ messages[0].content[:4] }}",
    "{{ messages[0].content|reverse }}",
    "{{ messages[0].content|replace('Slot', 'slot') }}",
    "tell me a story",
]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return command_line(tmp_path, monkeypatch, capsys)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return train_tokenizer(TEXTS, 320)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good") / "own"
    small_lm(folder)
    return folder


@pytest.fixture
def own(good: Path, tmp_path: Path) -> Path:
    """A small Llama in a folder, to be harmed."""
    return Path(shutil.copytree(good, tmp_path / "own"))


def one_line(path: Path | str, says: str = "") -> str:
    """What is said of a model that is refused."""
    with pytest.raises(UserError) as error:
        models.load(str(path))
    said = str(error.value)
    assert "\n" not in said and len(said) < 500 and says in said, said
    return said


def rewrite(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


# --- chat templates -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("template", TOO_MUCH.values(), ids=TOO_MUCH)
def test_a_template_without_end_is_ended(tokenizer, monkeypatch, template):
    """Loops in loops, macros that double, `'a' * 10**12`, texts and lists that double, lists in lists, widths of 10**12."""
    monkeypatch.setattr(bounds, "PURSE", bounds.PURSE // 30)  # the sooner it is empty; the whole one is emptied below
    with pytest.raises(UserError, match=ENDLESS):
        Chat(tokenizer, Format(SAYS + template, ends=(3,)))


@pytest.mark.parametrize(("template", "says"), WRONG.values(), ids=WRONG)
def test_a_template_that_does_not_work_says_so_when_it_is_loaded(tokenizer, template, says):
    """Divides by zero, calls itself, is nested 20,000 deep, reaches for `__class__`, includes files, asks for chance."""
    with pytest.raises(UserError) as error:
        Chat(tokenizer, Format(SAYS + template, ends=(3,)))
    assert says in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("template", CHANGED)
def test_a_template_that_alters_what_is_said_is_refused(tokenizer, template):
    """Upper case, the first four letters, backwards, other words, a text of its own in place of the task."""
    with pytest.raises(UserError, match="leaves out or changes what the user says: it would not see its task"):
        Chat(tokenizer, Format(template, ends=(3,)))


def test_templates_end_a_command_line_before_it_trains(cli, own):
    """`train` with a folder whose template never ends, divides by zero, or drops the task."""
    for template, says in (
        (SAYS + TOO_MUCH["three loops"], ENDLESS),
        (SAYS + "{{ 1 / 0 }}", "division by zero"),
        ("x", "see its task"),
    ):
        rewrite(own / "tokenizer_config.json", chat_template=template)
        refused(cli("train", "grpo", "--task", "parity", "--model", str(own), "--out", "run"), says)
        assert not Path("run").exists()


# --- files ----------------------------------------------------------------------------------------------------------------

FILES = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "generation_config.json", "model.json",
         "special_tokens_map.json", "chat_template.jinja", "model.safetensors.index.json"]  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_what_is_no_file_in_a_files_place_does_not_hang(own, name, tried):
    """A pipe, a folder, a link to itself, to nowhere and to /dev/zero in place of each file of a model."""
    places: list[Callable[[Path], Any]] = [
        os.mkfifo,
        Path.mkdir,
        lambda p: p.symlink_to(p.name),
        lambda p: p.symlink_to("nowhere"),
        lambda p: p.symlink_to("/dev/zero"),
    ]
    path = own / name
    if name == "model.safetensors.index.json":
        (own / "model.safetensors").unlink()
    path.unlink(missing_ok=True)
    for put in places:
        put(path)
        one_line(own, f"{name} is not a plain file")
        path.rmdir() if path.is_dir() else path.unlink()
        tried()


def test_files_of_no_sane_size_are_not_read(own, tried):
    """config.json and tokenizer.json of 1 TB, and names longer than a disk has."""
    for name in ("config.json", "tokenizer.json", "chat_template.jinja"):
        shutil.copy(own / "config.json", own / "kept")
        with open(own / name, "ab") as file:
            os.truncate(file.fileno(), 1 << 40)
        one_line(own, "are the most")
        shutil.copy(own / "kept", own / "config.json") if name == "config.json" else (own / name).unlink()
        if name == "tokenizer.json":
            train_tokenizer(TEXTS, 320).save(str(own / name))
        tried()
    one_line("x" * 5000, "File name too long")
    one_line("a\0b")


def test_a_tokenizer_whose_parts_are_something_else(own):
    """Their library repeats in its error what it did not understand, and stops at some of it with what is no Exception."""
    kept = (own / "tokenizer.json").read_text()
    inner = json.loads(kept)["model"]
    for part in ("version", "truncation", "padding", "added_tokens", "normalizer", "model"):
        (own / "tokenizer.json").write_text(kept)
        rewrite(own / "tokenizer.json", **{part: "x" * 10**5})
        one_line(own, "own/tokenizer.json cannot be read: ")
    for part in ("dropout", "continuing_subword_prefix", "merges", "vocab"):
        (own / "tokenizer.json").write_text(kept)
        rewrite(own / "tokenizer.json", model={**inner, part: "x" * 10**5})
        one_line(own, "own/tokenizer.json cannot be read: ")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json"])
def test_broken_text_files(own, name, tried):
    """Cut off, empty, binary, a list, 100,000 lists in each other, 10**5000, in place of each text file."""
    path = own / name
    whole = path.read_bytes()
    for text in (
        whole[: len(whole) // 2],
        b"",
        b"\xff\xfe\x00",
        b"[]",
        b"[" * 100_000,
        b'{"a": 1' + b"0" * 5000 + b"}",
        b"null",
    ):
        path.write_bytes(text)
        assert name in one_line(own)
        tried()


# --- config.json --------------------------------------------------------------------------------------------------------

ODD: list[Any] = [0, -1, 1.5, "12", None, [], {}, True, float("nan"), float("inf"), 2**31, 10**15, 10**400]


@pytest.mark.parametrize(
    "key", ["num_hidden_layers", "hidden_size", "num_attention_heads", "num_key_value_heads", "intermediate_size", "vocab_size",
            "max_position_embeddings", "head_dim", "rms_norm_eps", "rope_theta"],
)  # fmt: skip
@pytest.mark.parametrize("weights", [True, False])
def test_numbers_in_config_json_that_cannot_be(own, key, weights, tried):
    """0, -1, 1.5, text, lists, NaN, 2**31, 10**400 for every size, with weights and without."""
    if not weights:
        (own / "model.safetensors").unlink()
        (own / "model.json").unlink(missing_ok=True)
    may = {
        "rms_norm_eps": (1.5, 2**31, 10**15, True),
        "rope_theta": (1.5, 2**31, 10**15),
        "max_position_embeddings": (),
    }
    for value in ODD:
        if value is None or value in may.get(key, ()):
            continue
        rewrite_config(own, key, value)
        one_line(own)
        tried()


def rewrite_config(folder: Path, key: str, value: Any) -> None:
    kept = folder / "kept.json"
    if not kept.exists():
        shutil.copy(folder / "config.json", kept)
    (folder / "config.json").write_text(json.dumps({**json.loads(kept.read_text()), key: value}))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"num_hidden_layers": 10**9}, "num_hidden_layers must be a whole number from 1 to 2000, not 1000000000"),
        ({"num_hidden_layers": 1999}, "has no tensor model.layers.2"),
        ({"hidden_size": 2**30, "head_dim": 8}, "config.json asks for"),
        ({"num_attention_heads": 5}, "do not go with"),
        ({"num_key_value_heads": 3}, "do not go with"),
        ({"vocab_size": 64}, "the model only 64: they do not fit"),
        ({"vocab_size": 321}, "config.json asks for 321x32"),
        ({"tie_word_embeddings": "false"}, "tie_word_embeddings must be true or false"),
        ({"rope_scaling": {"rope_type": "yarn", "factor": "x"}}, "need a factor"),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": "x"}}, "cannot be understood"),
        ({"architectures": ["../../x"]}, "is no name of an architecture"),
        ({"architectures": [], "model_type": None}, "does not say what kind"),
        ({"quantization_config": {"bits": 4}}, "quantization_config"),
    ],
)  # fmt: skip
def test_configs_that_do_not_go_with_their_weights(own, changes, says):
    """A billion layers, widths beyond the weights, heads that do not divide, a vocabulary smaller than the tokenizer's."""
    rewrite(own / "config.json", **changes)
    one_line(own, says)


def test_a_model_without_weights_is_held_against_the_memory_there_is(own):
    """2,000 layers of width 2**16, and no weights: 10**14 numbers that would be drawn."""
    (own / "model.safetensors").unlink()
    rewrite(own / "config.json", num_hidden_layers=2000, hidden_size=2**16, intermediate_size=2**18, head_dim=2**14)
    one_line(own, "this machine has")


def test_a_token_beyond_the_vocabulary(own):
    """A tokenizer of few tokens whose last has the number 10**6."""
    found = json.loads((own / "tokenizer.json").read_text())
    name = list(found["model"]["vocab"])[-1]
    found["model"]["vocab"][name] = 10**6
    (own / "tokenizer.json").write_text(json.dumps(found))
    one_line(own, "has 1000001 tokens, the model only 320: they do not fit")


# --- weights ------------------------------------------------------------------------------------------------------------


def tensors(header: Any, data: bytes = b"", size: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + data


ENTRY = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 8,
        tensors({}, size=2**63),
        tensors({}, size=99_999_999),
        tensors({"a": ENTRY}),
        tensors({"a": ENTRY}, b"\0" * 4),
        tensors({"a": {**ENTRY, "data_offsets": [0, 2**62]}}, b"\0" * 8),
        tensors({"a": {**ENTRY, "data_offsets": [8, 0]}}, b"\0" * 8),
        tensors({"a": {**ENTRY, "shape": [2**40]}}, b"\0" * 8),
        tensors({"a": {**ENTRY, "shape": [2**63, 2**63]}}, b"\0" * 8),
        tensors({"a": {**ENTRY, "shape": [-2]}}, b"\0" * 8),
        tensors({"a": {**ENTRY, "dtype": "F99"}}, b"\0" * 8),
        tensors({"a": ENTRY, "b": ENTRY}, b"\0" * 8),
        tensors({"a": ENTRY, "b": {**ENTRY, "data_offsets": [4, 12]}}, b"\0" * 12),
        tensors(b'{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, "a": 1}', b"\0" * 8),
        tensors(b"[" * 100_000),
        tensors({"a": ENTRY}, b"\0" * 8),
        tensors({"a": {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]}}, b"\0" * 8),
    ],
    ids=["empty", "no header", "2**63 bytes of header", "100 MB of it", "no data", "half of it", "offsets beyond the file",
         "backwards", "a shape too large", "one that overflows", "a negative one", "an unknown type", "two in one place",
         "overlapping", "a key twice", "deep lists", "other tensors", "whole numbers"],
)  # fmt: skip
def test_safetensors_whose_header_lies(own, content, tried):
    """Lengths of 2**63, offsets beyond the file or overlapping, shapes that overflow, keys twice, deep lists, other types."""
    (own / "model.safetensors").write_bytes(content)
    assert "model.safetensors" in one_line(own)
    tried()


def test_an_index_that_points_elsewhere(own, tmp_path, tried):
    """Shards named `../../etc/passwd`, an absolute path, `..`, nothing, a number; one missing; a tensor in two files."""
    weights = load_file(own / "model.safetensors")
    (own / "model.safetensors").rename(own / "a.safetensors")
    names = dict.fromkeys(weights, "a.safetensors")
    for shard in ("../../etc/passwd", "/etc/passwd", "..", "", ".", 7, None, "gone.safetensors", "a/../a.safetensors"):
        (own / "model.safetensors.index.json").write_text(
            json.dumps({"weight_map": {**names, next(iter(names)): shard}})
        )
        one_line(own)
        tried()
    first = next(iter(weights))
    save_file({first: weights[first] + 1}, own / "b.safetensors")
    (own / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {**names, first: "b.safetensors"}}))
    one_line(own, f"has the tensor {first}, which another file has too")


def test_types_and_shapes_of_weights(own, tried):
    """A matrix of whole numbers, of another shape, one too few, one too many."""
    weights = load_file(own / "model.safetensors")
    name = "model.norm.weight"
    for change, says in (
        ({name: weights[name].long()}, "is stored as I64"),
        ({name: torch.zeros(31)}, "model.norm.weight is 31, config.json asks for 32"),
        ({name: torch.zeros(32, 1)}, "model.norm.weight is 32x1"),
        ({"model.spare.weight": torch.zeros(1)}, "does not describe: model.spare.weight"),
    ):
        save_file({**weights, **change}, own / "model.safetensors")
        one_line(own, says)
        tried()


# --- what a folder points to ----------------------------------------------------------------------------------------------


def test_a_saved_model_names_places_in_its_own_folder_alone(own, tried):
    """model.json whose source is `..`, an absolute path, whose model is the folder itself, whose knobs are none."""
    models.save(models.load(str(own)), own)
    config = json.loads((own / "model.json").read_text())
    for change in (
        {"knobs": {**config["knobs"], "source": "../own"}},
        {"knobs": {**config["knobs"], "source": "/etc"}},
        {"knobs": {**config["knobs"], "adapter": "../adapter"}},
        {"knobs": {**config["knobs"], "source": 7}},
        {"knobs": {**config["knobs"], "lora": "many"}},
        {"knobs": {"rows": 4}},
        {"knobs": [1]},
        {"model": str(own)},
        {"model": "."},
        {"model": ["lm"]},
        {"model": None},
    ):
        (own / "model.json").write_text(json.dumps({**config, **change}))
        one_line(own)
        tried()


def adapter(folder: Path, **config: Any) -> Path:
    folder.mkdir()
    said = {"peft_type": "LORA", "lora_alpha": 8, "r": 2, "base_model_name_or_path": "/etc/passwd", **config}
    (folder / "adapter_config.json").write_text(json.dumps(said))
    name = "base_model.model.model.layers.0.self_attn.q_proj.lora_{}.weight"
    save_file(
        {name.format("A"): torch.ones(2, 32), name.format("B"): torch.ones(32, 2)}, folder / "adapter_model.safetensors"
    )
    return folder


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"lora_alpha": float("nan")}, "lora_alpha must be a number, not nan"),
        ({"lora_alpha": 10**400}, "lora_alpha must be a number"),
        ({"lora_alpha": "8"}, "lora_alpha must be a number, not '8'"),
        ({"alpha_pattern": [1]}, "alpha_pattern must be a dictionary"),
        ({"alpha_pattern": {"(": 1}}, "the pattern '(' is none"),
        ({"alpha_pattern": {"(a|a)*(.+)+x": 1}}, "without repeated groups"),
        ({"peft_type": ["LORA"]}, "describes no LoRA adapter"),
    ],
)
def test_an_adapters_config(own, tmp_path, config, says):
    """An alpha that is not a number, patterns that are invalid or never finish; the model it names is never opened."""
    with pytest.raises(UserError) as error:
        models.load(str(own), adapter=str(adapter(tmp_path / "adapter", **config)))
    assert says in str(error.value)
    assert models.load(str(own), adapter=str(adapter(tmp_path / "fine"))).is_adapted


@pytest.mark.parametrize(
    "shapes",
    [((0, 32), (32, 0)), ((2, 31), (32, 2)), ((2, 32), (32, 3)), ((2, 32, 1), (32, 2)), ((70_000, 32), (32, 70_000)), ((), ())],
)  # fmt: skip
def test_an_adapters_tensors(own, tmp_path, shapes):
    """Rank 0, rank 70,000, shapes of another model, a tensor of whole numbers, a layer that is not there."""
    folder = adapter(tmp_path / "adapter")
    for layer, dtype in ((0, torch.float32), (0, torch.int64), (10**12, torch.float32)):
        name = f"base_model.model.model.layers.{layer}.self_attn.q_proj.lora_"
        a, b = (torch.zeros(shape, dtype=dtype) for shape in shapes)
        save_file({f"{name}A.weight": a, f"{name}B.weight": b}, folder / "adapter_model.safetensors")
        with pytest.raises(UserError, match=r"adapter_model\.safetensors"):
            models.load(str(own), adapter=str(folder))


def test_an_adapter_inside_a_models_folder_is_refused(own):
    """adapter_config.json beside config.json: other libraries would load another model, wherever it says."""
    shutil.copytree(adapter(own.parent / "adapter"), own, dirs_exist_ok=True)
    one_line(own, "holds an adapter beside its config.json")
    one_line(own.parent / "adapter", "there is no model.json and no config.json in it, only an adapter")


# --- through transformers -----------------------------------------------------------------------------------------------


@pytest.fixture
def gpt2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that runs through `transformers`, in a place without a network."""
    from small_foreign import made

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("something was fetched")

    folder = Path(made(tmp_path / "gpt2", "gpt2"))
    monkeypatch.setattr(socket.socket, "connect", refuse)
    return folder


EVIL = "import pathlib\npathlib.Path({!r}).write_text('ran')\nclass Evil: pass\n"


def test_code_that_comes_with_a_model_never_runs(gpt2, tmp_path, monkeypatch, tried):
    """`auto_map` to a file in the folder and to another repository; setup.py, conftest.py and pickled weights beside it."""
    ran = tmp_path / "ran"
    monkeypatch.chdir(gpt2)
    for name in (
        "evil.py",
        "modeling_gpt2.py",
        "configuration_gpt2.py",
        "tokenization_gpt2.py",
        "conftest.py",
        "sitecustomize.py",
    ):
        (gpt2 / name).write_text(EVIL.format(str(ran)))
    kept = (gpt2 / "config.json").read_text()
    for where in ("evil.Evil", "someone/else--evil.Evil"):
        names = ("AutoConfig", "AutoModelForCausalLM", "AutoTokenizer", "AutoModel")
        (gpt2 / "config.json").write_text(json.dumps({**json.loads(kept), "auto_map": dict.fromkeys(names, where)}))
        rewrite(gpt2 / "tokenizer_config.json", auto_map={"AutoTokenizer": [where, where]})
        assert models.load(str(gpt2)).parameters > 0  # the library's own classes, as if nothing had been said
        rewrite(gpt2 / "config.json", architectures=["Evil"], model_type="evil")
        one_line(gpt2, "Evil is no causal language model")
        tried(2)
    assert not ran.exists() and "evil" not in sys.modules


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"_attn_implementation": "kernels-community/flash-attn"}, "is not fetched, nor needed: leave it out"),
        ({"attn_implementation": "flash_attention_2"}, "is not fetched, nor needed: leave it out"),
        ({"text_config": {"attn_implementation": {"": "someone/kernel"}}}, "is not fetched, nor needed"),
        ({"quantization_config": {"quant_method": "bitsandbytes"}}, "quantised"),
        ({"transformers_weights": "../other.safetensors"}, "weights in a file of another name"),
        ({"n_layer": 10**9}, "'n_layer' must be at most 2000, not 1000000000"),
        ({"n_layer": 10**400}, "'n_layer' must be at most 2000"),
        ({"n_layer": -1}, ""),
        ({"n_layer": "two"}, ""),
        ({"n_embd": 2**30}, ""),
        ({"n_embd": 10**30}, ""),
        ({"n_head": 5}, ""),
        ({"n_head": 0}, ""),
        ({"vocab_size": 2**40}, ""),
        ({"vocab_size": -5}, ""),
        ({"vocab_size": "x"}, ""),
        ({"vocab_size": None}, ""),
        ({"n_positions": 2**40}, ""),
        ({"activation_function": "__import__"}, ""),
    ],
)  # fmt: skip
def test_configs_for_transformers(gpt2, changes, says):
    """Names of kernels to fetch, weights elsewhere, a billion layers, negative and huge sizes, text for numbers."""
    rewrite(gpt2 / "config.json", **changes)
    one_line(gpt2, says)


def test_an_adapter_in_a_folder_for_transformers(gpt2):
    """adapter_config.json that names /etc, a repository, or the folder itself as the model to load in its place."""
    for place in ("/etc", "someone/else", str(gpt2)):
        (gpt2 / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "base_model_name_or_path": place}))
        one_line(gpt2, "holds an adapter beside its config.json")


# --- GGUF ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    from small_gguf import net_of, write

    return Path(write(tmp_path_factory.mktemp("gguf") / "small.gguf", net_of())).read_bytes()


def text(said: str) -> bytes:
    return struct.pack("<Q", len(said)) + said.encode()


def head(values: int, tensors: int = 0, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, values)


def listed(kind: int, count: int) -> bytes:
    return head(1) + text("a") + struct.pack("<IIQ", 9, kind, count)


def tensor(*shape: int, kind: int = 0, offset: int = 0) -> bytes:
    return head(0, 1) + text("a") + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset) + b"\0" * 64


LIES = {
    "nothing": b"",
    "the name alone": b"GGUF",
    "another format": b"PK\3\4" + b"\0" * 60,
    "version 99": head(0, version=99) + b"\0" * 64,
    "2**63 values": head(2**63) + b"\0" * 64,
    "2**63 tensors": head(0, 2**63) + b"\0" * 64,
    "a key of 2**62 bytes": head(1) + struct.pack("<Q", 2**62) + b"\0" * 64,
    "a text of 2**62 bytes": head(1) + text("a") + struct.pack("<IQ", 8, 2**62) + b"\0" * 64,
    "a value of type 77": head(1) + text("a") + struct.pack("<I", 77) + b"\0" * 64,
    "a list of 2**60 texts": listed(8, 2**60) + b"\0" * 64,
    "a list of 2**60 numbers": listed(10, 2**60) + b"\0" * 64,
    "a list of type 77": listed(77, 1) + b"\0" * 64,
    "lists in lists": listed(9, 1) + struct.pack("<IQ", 9, 1) * 20 + b"\0" * 64,
    "a tensor of 2**62 numbers": tensor(2**62),
    "one that overflows": tensor(2**40, 2**40),
    "one of nothing": tensor(0),
    "one of 9 dimensions": tensor(*[1] * 9),
    "one of an unknown type": tensor(4, kind=999),
    "one beyond the file": tensor(4, offset=2**60),
}


@pytest.mark.parametrize("content", LIES.values(), ids=LIES)
def test_a_gguf_file_that_lies(tmp_path, whole, content):
    """2**63 values, texts of 2**62 bytes, lists in lists, unknown types, tensors of 2**62 numbers or beyond the file."""
    path = tmp_path / "small.gguf"
    path.write_bytes(content)
    one_line(path, "small.gguf cannot be")


def test_a_gguf_file_that_is_cut_off_anywhere(tmp_path, whole, tried):
    """The first bytes of a good file, at forty places; a pipe, a folder and a link to itself in its place."""
    path = tmp_path / "small.gguf"
    for share in range(40):
        path.write_bytes(whole[: len(whole) * share // 40])
        one_line(path)
        tried()
    path.unlink()
    for put in (os.mkfifo, Path.mkdir, lambda p: p.symlink_to(p.name)):
        put(path)
        one_line(path)
        path.rmdir() if path.is_dir() else path.unlink()
        tried()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"llama.block_count\x04\0\0\0\x02\0\0\0", b"llama.block_count\x04\0\0\0\xff\xff\xff\xff"),
        (b"llama.attention.head_count\x04\0\0\0\x04", b"llama.attention.head_count\x04\0\0\0\0"),
        (b"llama.attention.head_count_kv\x04\0\0\0\x02", b"llama.attention.head_count_kv\x04\0\0\0\x03"),
        (b"llama.embedding_length\x04\0\0\0\x20", b"llama.embedding_length\x04\0\0\0\x21"),
        (b"llama.embedding_length\x04", b"llama.embedding_length\x06"),
        (b"tokenizer.ggml.eos_token_id\x04\0\0\0\x02\0\0\0", b"tokenizer.ggml.eos_token_id\x04\0\0\0\xff\xff\xff\xff"),
        (b"general.architecture", b"general.architecturE"),
        (b"tokenizer.ggml.tokens", b"tokenizer.ggml.tokenz"),
        (b"tokenizer.ggml.model\x08\0\0\0\x04\0\0\0\0\0\0\0gpt2", b"tokenizer.ggml.model\x08\0\0\0\x04\0\0\0\0\0\0\0gpt\xff"),
        (b"token_embd.weight\x02", b"token_embd.weight\x01"),
        (b"{% endfor %}", b"{% endfoR %}"),
    ],
    ids=["4 billion layers", "no heads", "3 key heads", "another width", "a width that is a float", "an end that is no token",
         "no architecture", "no tokens", "bytes that are not text", "a matrix of one dimension", "a broken template"],
)  # fmt: skip
def test_values_of_a_gguf_file_that_cannot_be(tmp_path, whole, old, new):
    """Billions of layers, no heads, a width that is a float, an end token beyond the vocabulary, bytes that are not text."""
    assert whole.count(old) >= 1
    path = tmp_path / "small.gguf"
    path.write_bytes(whole.replace(old, new))
    one_line(path)
