"""A Hugging Face folder of any architecture, opened and written by `transformers`.

Nothing is fetched from a network, and no code that comes with a model is run.
A folder that is not whole is one clear line: that library would fill what is missing with random numbers.
Leaves out: what the model is then used for (`foreign_model.py`), its tokenizer and chat template (`huggingface.py`).
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

from guerdon.core.errors import UserError, require_extra
from guerdon.core.seeds import seed_torch
from guerdon.models import huggingface, value_head
from guerdon.models.architectures import LARGEST, MOST_LAYERS, shown
from guerdon.models.chat import Chat
from guerdon.models.plain_files import is_there, read_object

KERNELS = ("eager", "sdpa")  # ways to compute attention that come with the library: others it would fetch
ASKS_FOR_MORE = {  # what a config.json may ask that library for beside a model of a shape: refused wherever it stands
    "quantization_config": "weights that are stored quantised",
    "transformers_weights": "weights in a file of another name",
}
MOST_EXPERTS = 10_000
LENGTHS = ("max_position_embeddings", "max_seq_len", "max_sequence_length", "n_positions")  # what configs call it


def library(architecture: str) -> Any:
    """`transformers`, which this architecture needs."""
    try:
        return importlib.import_module("transformers")
    except ImportError as error:
        raise UserError(
            f"{architecture} is not among guerdon's own decoders, and {require_extra('transformers', 'hub')}"
        ) from error


def read_config(folder: Path) -> Any:
    """The config.json, as `transformers` parses it."""
    architecture = huggingface.architecture(folder)
    _refuse(read_object(folder / "config.json"), str(folder / "config.json"))
    huggingface.refuse_adapter(folder)  # that library would load it over the model it names, wherever that is
    transformers = library(architecture)
    known = importlib.import_module("transformers.models.auto.modeling_auto").MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    if architecture not in known and not any(architecture in _classes(known, kind) for kind in known):
        raise UserError(
            f"{folder}: {architecture} is no causal language model that transformers {transformers.__version__} has;"
            " use another model, or a newer transformers"
        )
    with _opening(transformers, folder / "config.json"):
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    if architecture not in (config.model_type, *_classes(known, config.model_type)):
        raise UserError(f"{folder / 'config.json'}: a {config.model_type} is no {architecture}: correct one of the two")
    return config


def _refuse(holder: Any, where: str) -> None:
    """Numbers of modules that would be made one by one, and whatever would be fetched: attention by the name of a kernel is."""
    for key, value in holder.items() if isinstance(holder, dict) else enumerate(holder):
        name = str(key)
        most = MOST_LAYERS if "layer" in name else MOST_EXPERTS if "expert" in name else LARGEST
        if isinstance(value, int | float) and not abs(value) <= most:
            raise UserError(f"{where}: {shown(name)} must be at most {most:g}, not {shown(value)}")
        if name.endswith(("attn_implementation", "experts_implementation")) and value not in (None, *KERNELS):
            raise UserError(f"{where}: {name} {shown(value)} is not fetched, nor needed: leave it out")
        if name in ASKS_FOR_MORE and value:
            raise UserError(f"{where}: {name}, {ASKS_FOR_MORE[name]}, is not supported: use a model without it")
        if isinstance(value, dict | list):
            _refuse(value, where)


def vocabulary(config: Any, where: Path) -> int:
    """How many tokens it has."""
    size = getattr(config.get_text_config(), "vocab_size", None)
    if not isinstance(size, int) or size < 1:
        raise UserError(f"{where / 'config.json'}: vocab_size must be a whole number from 1 up, not {shown(size)}")
    return size


def _classes(known: Any, kind: str) -> tuple[str, ...]:
    names = known.get(kind, ())
    return (names,) if isinstance(names, str) else tuple(names)


def longest(config: Any) -> int | None:
    """How many tokens the model can look at; None where its config knows no limit."""
    lengths = [getattr(config, name, None) for name in LENGTHS]
    return next((n for n in lengths if isinstance(n, int) and n > 0), None)


def read_net(folder: Path, config: Any, dtype: torch.dtype, size: int) -> nn.Module:
    """The model with the folder's weights, all of them; `size` is how many there should be."""
    transformers = library(huggingface.architecture(folder))
    stored = huggingface.Stored(folder)  # reports what is wrong with the files themselves
    if size > 2 * stored.numbers:
        raise UserError(f"{stored.path} holds {stored.numbers} numbers, config.json asks for {size}: they do not fit")
    with _opening(transformers, stored.path):
        net, report = transformers.AutoModelForCausalLM.from_pretrained(
            folder, config=config, dtype=dtype, local_files_only=True, trust_remote_code=False, use_safetensors=True,
            output_loading_info=True,
        )  # fmt: skip
    missing, spare = (sorted(map(str, report.get(key) or ())) for key in ("missing_keys", "unexpected_keys"))
    if missing:
        raise UserError(f"{stored.path} has no tensor {missing[0]}")
    spare = [name for name in spare if name in stored and _is_matrix(stored, name)]
    if spare:
        raise UserError(f"{stored.path} has a tensor that config.json does not describe: {spare[0]}")
    with _opening(transformers, stored.path):
        return _checked(net)


def _is_matrix(stored: huggingface.Stored, name: str) -> bool:
    """Whether it is a weight: old files also hold masks and the angles of positions, which nothing misses."""
    piece = stored.files[name].get_slice(name)
    return piece.get_dtype() in huggingface.FLOATS and len(piece.get_shape()) > 1


def fresh_net(config: Any, dtype: torch.dtype, seed: int) -> nn.Module:
    """The model with weights made from a seed."""
    transformers = library(str(config.model_type))
    with torch.random.fork_rng(), _opening(transformers, Path("config.json")):
        seed_torch(seed)
        net = transformers.AutoModelForCausalLM.from_config(config, dtype=dtype, trust_remote_code=False)
        return _checked(net)


def _checked(net: Any) -> nn.Module:
    """Some architectures that the library lists as causal look ahead unless their config.json forbids it."""
    assert isinstance(net, nn.Module)
    net.eval()
    with torch.no_grad():
        one, other = net(torch.tensor([[1, 2, 3, 4], [1, 2, 3, 5]]), use_cache=False).logits[:, :3]
    if not torch.allclose(one, other, rtol=0, atol=1e-3 * float(one.float().std())):
        raise UserError(f"{type(net).__name__} looks at tokens that are yet to come, so it cannot be sampled from")
    return net


def count(config: Any) -> int:
    """How many weights such a model has, without making them."""
    transformers = library(str(config.model_type))
    with torch.device("meta"), _opening(transformers, Path("config.json")):
        net = transformers.AutoModelForCausalLM.from_config(config, trust_remote_code=False)
    return sum(weight.numel() for weight in net.parameters())


def write(folder: Path, net: Any, chat: Chat) -> None:
    """A folder that `transformers` loads, chat format and all; without the value head, which is none of its business."""
    folder.mkdir(parents=True, exist_ok=True)
    transformers = library(type(net).__name__)
    with _quiet(transformers):
        words = {name: x for name, x in net.state_dict().items() if not name.startswith(f"{value_head.NAME}.")}
        net.save_pretrained(folder, state_dict=words, max_shard_size=huggingface.SHARD)
    path = folder / "generation_config.json"
    generation = read_object(path) if is_there(path) else {}
    huggingface.write_chat(folder, chat, longest(net.config), **generation)


@contextlib.contextmanager
def _opening(transformers: Any, path: Path) -> Iterator[None]:
    """What that library finds wrong with a file, in one line."""
    try:
        with _quiet(transformers):
            yield
    except UserError:
        raise
    except Exception as error:  # it raises whatever its parts raise
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        raise UserError(
            f"{path} cannot be opened by transformers {transformers.__version__}: {lines[0][:200]}"
        ) from error


@contextlib.contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """Without its progress bars and reports: we report what matters in them."""
    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
