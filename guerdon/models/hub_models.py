"""Models by the id they have on the Hugging Face hub: ORG/NAME.

One that was downloaded before is taken from the hub's cache, offline; one that was not is fetched into it.
Where the hub can not be reached, a line shows how to bring the model here, and nothing waits for long.
Leaves out: what is in a model's folder (`huggingface.py`).
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from guerdon.core.errors import Notice, UserError, in_a_line, require_extra
from guerdon.models.plain_files import INDEX, WEIGHTS, is_there, read_object

ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
PATIENCE = 10.0  # seconds in which the hub must have answered what it has under a name
TEXTS = ("*.json", "*.jinja")
TRUE = ("1", "ON", "YES", "TRUE")


def is_hub_id(name: str) -> bool:
    """Whether a name is of the form that models have on the hub, and of nothing that is here."""
    return ID.fullmatch(name) is not None and not Path(name).exists() and not Path(name).parent.is_dir()


def hub_folder(name: str, weights: bool = True) -> Path:
    """The folder of a model by its id: out of the hub's cache, else fetched. Without `weights` its text files will do."""
    kept = _kept(name)
    if kept is not None and _is_whole(kept, weights):
        return kept
    if any(os.environ.get(switch, "").upper() in TRUE for switch in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")):
        raise UserError(f"{name} is not in {_cache()}, and HF_HUB_OFFLINE forbids to fetch it: {_by_hand(name)}")
    try:
        library: Any = importlib.import_module("huggingface_hub")
    except ImportError as error:
        raise UserError(
            f"{name} is not a folder here, and to fetch it from the hub, {require_extra('huggingface_hub', 'hub')}"
        ) from error
    return _fetched(library, name, weights)


def kept_ids() -> list[str]:
    """The models that the hub's cache has, by their ids."""
    folders = _cache().glob("models--*--*")
    return sorted("/".join(folder.name.split("--")[1:3]) for folder in folders if folder.is_dir())


def _cache() -> Path:
    """Where the hub's library keeps what it fetched, as that library finds it."""
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    return Path(os.environ.get("HF_HUB_CACHE") or Path(home, "hub")).expanduser()


def _kept(name: str) -> Path | None:
    """The snapshot of a model's main branch in the cache, whole or not."""
    folder = _cache() / f"models--{name.replace('/', '--')}"
    try:
        return folder / "snapshots" / (folder / "refs" / "main").read_text().strip()
    except (OSError, ValueError):
        return None


def _is_whole(folder: Path, weights: bool) -> bool:
    """Whether what is needed of a model is in a folder: other programs may have fetched a part of it alone."""
    if not is_there(folder / "tokenizer.json") or not is_there(folder / "config.json"):
        return False
    if not weights or is_there(folder / WEIGHTS):
        return True
    named = read_object(folder / INDEX).get("weight_map") if is_there(folder / INDEX) else None
    return isinstance(named, dict) and all(is_there(folder / str(file)) for file in {*named.values()})


def _by_hand(name: str) -> str:
    folder = name.rpartition("/")[2]
    return f"where the hub can be reached, `hf download {name} --local-dir {folder}`, then --model {folder}"


def _fetched(library: Any, name: str, weights: bool) -> Path:
    endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    try:
        about = _in_time(lambda: library.HfApi(endpoint=endpoint).model_info(name, timeout=PATIENCE / 2))
        files = _wanted([each.rfilename for each in about.siblings], weights)
        if weights:
            warnings.warn(f"fetching {name} from {endpoint} into {_cache()}", Notice, stacklevel=5)
        if not sys.stderr.isatty():
            library.utils.disable_progress_bars()
        where = {"cache_dir": _cache(), "endpoint": endpoint, "etag_timeout": PATIENCE / 2}
        folder = Path(library.snapshot_download(name, allow_patterns=files, **where))
    except Exception as error:  # that library raises what its libraries do
        raise UserError(_why_not(library, name, endpoint, error)) from error
    if not _is_whole(folder, weights):
        raise UserError(f"{name} has no config.json, tokenizer.json and {WEIGHTS} on the hub: choose a model that does")
    return folder


def _in_time(ask: Callable[[], Any]) -> Any:
    """The result of a call within a time limit: looking up a host's name may take minutes, whatever limit a library has."""
    said: list[Any] = []
    broke: list[Exception] = []

    def run() -> None:
        try:
            said.append(ask())
        except Exception as error:  # noqa: BLE001  raised where it is waited for
            broke.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    if broke:
        raise broke[0]
    if not said:
        raise TimeoutError(f"no answer in {PATIENCE:g} s")
    return said[0]


def _wanted(files: Sequence[str], weights: bool) -> list[str]:
    """What of a model's files is read here: weights as safetensors, once, and texts; not what lies in folders of their own."""
    top = [file for file in files if "/" not in file]
    texts = [file for file in top if any(Path(file).match(pattern) for pattern in TEXTS) and file != INDEX]
    if not weights:
        return texts
    return texts + [file for file in top if file == INDEX or re.fullmatch(r"model[\w.-]*\.safetensors", file)]


def _why_not(library: Any, name: str, endpoint: str, error: Exception) -> str:
    known = library.errors
    if isinstance(error, known.GatedRepoError):
        return f"{name} is gated: accept its terms at {endpoint}/{name}, then `hf auth login`"
    if isinstance(error, known.RepositoryNotFoundError):
        return (
            f"there is no folder {name} here and no such model at {endpoint}: check the spelling;"
            " one that is private needs `hf auth login`"
        )
    why = in_a_line(error)[:120]
    return f"{name} is not on this machine and could not be fetched from {endpoint} ({why}): {_by_hand(name)}"
