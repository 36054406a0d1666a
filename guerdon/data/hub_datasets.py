"""Data sets by the id they have on the Hugging Face hub, through the `datasets` library.

`hf:NAME`, `hf:NAME:SPLIT`, `hf:NAME:CONFIG:SPLIT`; without `hf:` where no such file is there.
"""

from __future__ import annotations

import importlib
import os
import re
import socket
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError, in_a_line, require_extra

PREFIX = "hf:"
ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}(?::[\w.-]{1,95}){0,2}")
FILES = (".jsonl", ".json", ".ndjson", ".csv", ".tsv", ".parquet", ".txt", ".gz", ".zst", ".zip", ".xlsx", ".arrow")
SECONDS = 5.0  # for the hub to answer
USUAL = ("default", "main", "all")  # default configurations


def is_hub_id(spec: str) -> bool:
    """Whether a word names a data set and no file that is there, or was meant to be."""
    if spec.startswith(PREFIX):
        return True
    if ID.fullmatch(spec) is None:
        return False
    path = Path(spec)
    return path.suffix.lower() not in FILES and not path.parent.is_dir()


def hub_rows(spec: str, name: str) -> Any:
    """The data set that a word names, as its library gives it."""
    dataset, *words = spec.removeprefix(PREFIX).split(":")
    if not dataset or len(words) > 2:
        raise UserError(f"{name}: a data set is called hf:NAME, hf:NAME:SPLIT or hf:NAME:CONFIG:SPLIT")
    try:
        import datasets
    except ImportError as error:
        raise UserError(
            f"{name} is not a file, and to read it as a data set, {require_extra('datasets', 'datasets')}"
        ) from error
    if not _is_hub_there():
        _use_cache_alone(datasets)
    try:
        config, split = _config_and_split(datasets, dataset, words)
        return datasets.load_dataset(dataset, config, split=split)
    except UserError as error:
        raise UserError(f"{name}: {error}") from error
    except Exception as error:  # of a library that raises what its libraries do
        raise UserError(_unreachable(dataset, name, error)) from error


def _is_hub_there() -> bool:
    """Whether the hub answers at all: its library asks five times over half a minute, and prints each."""
    if "https" in urllib.request.getproxies():  # which know names that this machine does not
        return True
    place = urllib.parse.urlsplit(os.environ.get("HF_ENDPOINT") or "https://huggingface.co")
    try:
        socket.create_connection((place.hostname or "", place.port or 443), timeout=SECONDS).close()
    except (OSError, ValueError):
        return False
    return True


def _use_cache_alone(datasets: Any) -> None:
    """What was fetched before is read, and the hub left alone."""
    hub: Any = importlib.import_module("huggingface_hub.constants")
    datasets.config.HF_HUB_OFFLINE = hub.HF_HUB_OFFLINE = True


def _config_and_split(datasets: Any, dataset: str, words: list[str]) -> tuple[str | None, str]:
    configs = list(datasets.get_dataset_config_names(dataset))
    if len(words) == 2:
        config, split = words
    elif words and words[0] in configs and words[0] not in ("train", "test", "validation"):
        config, split = words[0], ""
    else:
        config, split = "", words[0] if words else ""
    if not config:
        usual = [each for each in USUAL if each in configs]
        if len(configs) > 1 and not usual:
            raise UserError(
                f"it has several configurations ({', '.join(configs[:20])}): hf:{dataset}:{configs[0]}:train"
            )
        config = usual[0] if usual else configs[0]
    splits = list(datasets.get_dataset_split_names(dataset, config))
    split = split or ("train" if "train" in splits else splits[0])
    if split not in splits:
        raise UserError(f"it has no split {split!r}, but {', '.join(splits)}: hf:{dataset}:{config}:{splits[0]}")
    return config, split


def _unreachable(dataset: str, name: str, error: Exception) -> str:
    folder = dataset.rpartition("/")[2]
    return (
        f"cannot fetch {name} from the hub ({in_a_line(error)[:120]}): where the hub can be reached,"
        f" `hf download {dataset} --repo-type dataset --local-dir {folder}`, then give one of its files, --data {folder}/FILE"
    )
