"""Models by their id on the hub: out of a cache laid out as the hub's, from a hub on this machine, and from one that is not
there. Nothing here asks the network."""

from __future__ import annotations

import functools
import hashlib
import http.server
import json
import shutil
import threading

import pytest
from refusals import refusal
from small import small_lm

import guerdon as gd
from guerdon.core.errors import Notice, UserError
from guerdon.models import hub_models
from guerdon.rewards.asking import token_ids

NOWHERE = "http://127.0.0.1:9"  # where nobody listens
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hub") / "tiny"
    folder.mkdir()
    small_lm(folder)
    return folder


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """An empty cache, a hub that nobody answers for, an empty folder to be in."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    for name in ("HF_HUB_CACHE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_ENDPOINT", NOWHERE)
    token_ids._named.cache_clear()


def cached(home, model, name="me/tiny", without=()):
    """Put a model into a cache as the hub's library does: blobs by their hash, links to them, a branch that names a commit."""
    folder = home / "hub" / f"models--{name.replace('/', '--')}"
    snapshot = folder / "snapshots" / COMMIT
    for place in (snapshot, folder / "blobs", folder / "refs"):
        place.mkdir(parents=True)
    (folder / "refs" / "main").write_text(COMMIT)
    for file in model.iterdir():
        if file.name not in without:
            blob = folder / "blobs" / hashlib.sha256(file.name.encode()).hexdigest()
            shutil.copy(file, blob)
            (snapshot / file.name).symlink_to(f"../../blobs/{blob.name}")
    return snapshot


def test_a_model_in_the_cache_is_loaded_and_nobody_is_asked(tmp_path, model, monkeypatch):
    snapshot = cached(tmp_path / "home", model)
    monkeypatch.setattr(hub_models, "_fetched", lambda *a: pytest.fail("the hub was asked"))
    loaded = gd.models.load("me/tiny")
    assert loaded.source == str(snapshot) and loaded.identity() == gd.models.load(str(model)).identity()
    run = gd.train("grpo", task="successor", model="me/tiny", steps=0, out="run", options=gd.Options(eval_tasks=0))
    assert run.config["wish"]["model"] == "me/tiny"
    assert token_ids.ids_by("me/tiny")("4").tolist() == loaded.chat.tokens("4")


def test_the_cache_is_where_the_environment_says(tmp_path, model, monkeypatch):
    cached(tmp_path / "elsewhere", model)
    with pytest.raises(UserError, match="could not be fetched"):
        gd.models.load("me/tiny")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "elsewhere" / "hub"))
    assert gd.models.load("me/tiny").parameters > 0


@pytest.mark.parametrize("without", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_part_of_a_model_in_the_cache_is_no_model(tmp_path, model, without):
    """Without its weights it would begin with random ones."""
    cached(tmp_path / "home", model, without=[without])
    with pytest.raises(UserError, match=f"me/tiny is not on this machine and could not be fetched from {NOWHERE}"):
        gd.models.load("me/tiny")
    if without == "model.safetensors":
        assert len(token_ids.ids_by("me/tiny")("4")) == 1  # which needs none


def test_a_hub_that_can_not_be_reached_is_a_line_with_the_way_round():
    with pytest.raises(UserError) as error:
        gd.models.load("HuggingFaceTB/SmolLM2-135M-Instruct")
    line = str(error.value)
    assert "\n" not in line and "HuggingFaceTB/SmolLM2-135M-Instruct is not on this machine" in line
    assert "`hf download HuggingFaceTB/SmolLM2-135M-Instruct --local-dir SmolLM2-135M-Instruct`" in line
    assert line.endswith("then --model SmolLM2-135M-Instruct")


def test_one_that_never_answers_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(hub_models, "PATIENCE", 0.05)
    gate = threading.Event()
    with pytest.raises(TimeoutError, match=r"no answer in 0\.05 s"):
        hub_models._in_time(gate.wait)
    gate.set()


def test_offline_is_offline(monkeypatch):
    monkeypatch.setattr(hub_models, "_fetched", lambda *a: pytest.fail("the hub was asked"))
    for switch in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        with monkeypatch.context() as patch:
            patch.setenv(switch, "1")
            with pytest.raises(UserError, match=r"HF_HUB_OFFLINE forbids to fetch it: .*hf download me/tiny"):
                gd.models.load("me/tiny")


def test_without_the_library(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    with refusal(UserError):
        gd.models.load("me/tiny")


def test_names_that_are_neither(tmp_path, model):
    cached(tmp_path / "home", model, "HuggingFaceTB/SmolLM2-135M-Instruct")
    shutil.copytree(model, "tiny-llama")
    for wrong, words in (
        ("sprg", "unknown model 'sprg': did you mean 'sprig'?"),
        ("SmolLM2-135M-Instruct", "did you mean 'HuggingFaceTB/SmolLM2-135M-Instruct'?"),
        ("tiny-lama", "did you mean './tiny-llama'?"),
        (
            "no/such/folder",
            "no/such/folder is not there: a model is a folder, a .gguf file, ORG/NAME on the hub, or one of",
        ),
        ("./me/tiny", "./me/tiny is not there"),
    ):
        with pytest.raises(UserError) as error:
            gd.models.load(wrong)
        assert words in str(error.value)
    (tmp_path / "here" / "me").mkdir()  # a folder's name: a path was meant
    with refusal(UserError):
        gd.models.load("me/tiny")


# --- a hub on this machine ------------------------------------------------------------------------------------------------


class Hub(http.server.BaseHTTPRequestHandler):
    """What of the hub's protocol a download needs: what a model has, and its files."""

    def __init__(self, folder, asked, *args):
        self.folder, self.asked = folder, asked
        super().__init__(*args)

    def do_HEAD(self):
        self.reply()

    def do_GET(self):
        self.reply()

    def reply(self):
        path = self.path.partition("?")[0]
        self.asked.append((self.command, path))
        names = [file.name for file in self.folder.iterdir()]
        names += ["onnx/model.onnx", "pytorch_model.bin", "original/model.safetensors"]
        if path.startswith("/api/models/me/tiny/tree/"):
            self.send_json([{"type": "file", "path": name, "oid": name, "size": 1} for name in names])
        elif path.startswith("/api/models/me/tiny"):
            files = [{"rfilename": name} for name in names]
            self.send_json({"id": "me/tiny", "modelId": "me/tiny", "sha": COMMIT, "siblings": files})
        elif path.startswith(f"/me/tiny/resolve/{COMMIT}/"):
            self.send((self.folder / path.rpartition("/")[2]).read_bytes())
        else:
            gated = path.endswith("/me/gated")
            self.send_response(403 if gated else 404)
            self.send_header("X-Error-Code", "GatedRepo" if gated else "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

    def send_json(self, value):
        self.send(json.dumps(value).encode())

    def send(self, content):
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *args):
        pass


@pytest.fixture
def hub(model, monkeypatch):
    pytest.importorskip("huggingface_hub")
    asked: list = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Hub, model, asked))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
    yield asked
    server.shutdown()
    server.server_close()


def test_a_model_is_fetched_once_and_only_what_is_read(hub, model, tmp_path):
    with pytest.warns(Notice, match=f"fetching me/tiny from http://127.0.0.1:.* into {tmp_path / 'home' / 'hub'}"):
        loaded = gd.models.load("me/tiny")
    assert loaded.identity() == gd.models.load(str(model)).identity()
    names = {path.rpartition("/")[2] for command, path in hub if command == "GET" and "/resolve/" in path}
    assert names == {file.name for file in model.iterdir()}  # none of onnx, of pickles, of other folders
    hub.clear()
    assert gd.models.load("me/tiny").source == loaded.source and hub == []


def test_a_tokenizer_is_fetched_without_the_weights(hub):
    assert len(token_ids.ids_by("me/tiny")("4")) == 1
    assert not any("safetensors" in path for _, path in hub)


def test_what_the_hub_does_not_give_is_said(hub):
    with refusal(UserError):
        gd.models.load("me/tinny")
    with refusal(UserError):
        gd.models.load("me/gated")
