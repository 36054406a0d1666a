"""Token ids of texts, by whatever is named as a tokenizer."""

import shutil
import types

import numpy as np
import pytest
from tokenizers import Tokenizer

import guerdon as gd
from guerdon.models.shipped_models import SHIPPED
from guerdon.rewards.asking import token_ids
from guerdon.rewards.asking.token_ids import ids_by

TEXTS = ("", "chain 5 -3 *4", "<|end|> is no end here", "née\n42")


@pytest.fixture(scope="module")
def sprig():
    return gd.models.load("sprig")


def forms(sprig, folder):
    """The same tokenizer in every form that is taken."""
    file = folder / "tokenizer.json"
    shutil.copy(SHIPPED["sprig"] / "tokenizer.json", file)  # alone: no weights, no config
    library = Tokenizer.from_file(str(file))
    return {
        "name": "sprig",
        "folder": str(folder),
        "path": folder,
        "file": str(file),
        "model": sprig,
        "tokenizers": library,
        "fast": types.SimpleNamespace(backend_tokenizer=library),
        "processor": types.SimpleNamespace(tokenizer=types.SimpleNamespace(backend_tokenizer=library)),
        "function": lambda text: sprig.chat.tokens(text),
    }


def test_every_form_gives_the_ids_a_model_would_say(sprig, tmp_path):
    for form, tokenizer in forms(sprig, tmp_path).items():
        ids = ids_by(tokenizer)
        for text in TEXTS:
            said = sprig.teacher_force("go", text).actions
            assert ids(text).dtype == np.int64
            assert ids(text).tolist() == said[:-1].tolist(), (form, text)  # but for the token that ends what is said


def test_a_tokenizer_of_transformers(sprig):
    transformers = pytest.importorskip("transformers")
    ids = ids_by(transformers.AutoTokenizer.from_pretrained(SHIPPED["sprig"]))
    assert [ids(text).tolist() for text in TEXTS] == [sprig.chat.tokens(text) for text in TEXTS]


def test_one_that_has_only_encode():
    class slow:
        def encode(self, text, add_special_tokens=True):
            return [1] * add_special_tokens + [ord(c) for c in text]

    assert ids_by(slow())("ab").tolist() == [97, 98]


def test_the_one_given_is_left_as_it_was(tmp_path):
    library = Tokenizer.from_file(str(SHIPPED["sprig"] / "tokenizer.json"))
    library.enable_truncation(2)
    assert len(ids_by(library)("1 2 3 4 5")) > 2
    assert len(library.encode("1 2 3 4 5").ids) == 2


def test_a_name_is_read_once_and_never_its_weights(monkeypatch):
    token_ids._named.cache_clear()
    monkeypatch.setattr(token_ids, "load", lambda name: pytest.fail("the weights were loaded"))
    first = ids_by("sprig")
    monkeypatch.setattr(token_ids, "read_tokenizer", lambda path: pytest.fail("the file was read again"))
    assert ids_by("sprig") is first


@pytest.mark.parametrize(
    "tokenizer, words",
    [
        ("sprigg", "unknown model 'sprigg': did you mean 'sprig'"),
        ("no/such/folder", "no/such/folder is not there"),
        ("tabular", "a tabular model has no tokenizer: name a model's name or folder"),
        (3, "a tokenizer is a model's name or folder, a tokenizer.json, .* not 3"),
    ],
)
def test_what_is_none_is_refused_in_a_line(tokenizer, words):
    with pytest.raises(gd.UserError, match=words):
        ids_by(tokenizer)


def test_a_broken_one_is_refused_in_a_line(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(gd.UserError, match=r"tokenizer.json cannot be read: "):
        ids_by(str(tmp_path))
    with pytest.raises(gd.UserError, match="the tokenizer cannot read 'a': TypeError"):
        ids_by(lambda text: 1)("a")
    with pytest.raises(gd.UserError, match=r"gave an array of shape \(1, 1\) for a text"):
        ids_by(lambda text: [[1]])("a")
