"""What is asked wrongly in Python ends as on the command line: a `UserError` in one line that says the mend."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import refusal

import guerdon as gd
from guerdon.core.arguments import admits, check_arguments

TRAIN = {"task": "successor", "model": "tabular"}


class Odd:
    def __repr__(self) -> str:
        return "Odd()"


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"task": "sucessor"}, "unknown task 'sucessor': did you mean 'successor'?"),
        ({"task": 3}, "a task is a name or a source of problems (name, size, get, check), not 3"),
        ({"model": "tabulr"}, "unknown model 'tabulr': did you mean 'tabular'?"),
        ({"model": Odd()}, "a model is a name, a folder or a model (guerdon list models), not Odd()"),
        ({"reward": 5}, "a reward is a function, not 5"),
        ({"lr": "fast"}, "grpo.lr must be float, not 'fast'"),
        ({"promts": 3}, "unknown knob of grpo 'promts': did you mean 'prompts'?"),
        ({"settings": {"learn.clp": 1}}, "unknown knob of learn 'clp': did you mean 'clip'?"),
        ({"settings": 3}, "gd.train: settings must be a dictionary, not 3"),
        ({"steps": -1}, "--steps must be at least 0, not -1"),
        ({"steps": "many"}, "gd.train: steps must be a whole number, not 'many'"),
        ({"steps": 2.5}, "gd.train: steps must be a whole number, not 2.5"),
        ({"steps": True}, "gd.train: steps must be a whole number, not True"),
        ({"seed": np.int64(3)}, "gd.train: seed must be a whole number, not np.int64(3): seed=int(seed)"),
        ({"budget": 5}, 'gd.train: budget must be text or Budget(...), not 5: budget="400000"'),
        (
            {"options": {"save_every": 5}},
            "gd.train: options must be Options(...), not {'save_every': 5}: options=gd.Options(save_every=5)",
        ),
        ({"out": 3}, "gd.train: out must be a path, not 3"),
        ({"resume": 3}, "gd.train: resume must be a path, not 3"),
        ({"listeners": 3}, "gd.train: listeners must be a list, not 3"),
        ({"progress": "yes"}, "gd.train: progress must be True or False, not 'yes'"),
        ({"task": None, "data": {"pth": "x"}}, "data={...} needs its path, {'path': 'my.csv'}; it has pth"),
    ],
)
def test_train(given, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(gd.UserError) as raised:
        gd.train("grpo", **{**TRAIN, **given})
    assert str(raised.value).replace("not 3)", "not np.int64(3)") == line
    assert not list(tmp_path.iterdir())  # nothing was begun


@pytest.mark.parametrize("data", [3, b"x"])
def test_data_of_a_wrong_kind(data):
    with pytest.raises(gd.UserError, match="data"):
        gd.train("grpo", model="tabular", data=data)


@pytest.mark.parametrize("recipe", [3, Odd(), lambda task, model: None])
def test_what_is_no_recipe(recipe):
    with pytest.raises(
        gd.UserError, match=r"a recipe is a name, a file, a Recipe or a function with @gd.recipe\(...\)"
    ):
        gd.train(recipe, **TRAIN)


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: gd.evaluate(3, task="successor"), "a model is a name, a folder or a model"),
        (lambda: gd.evaluate("tabular", task=3), "a task is a name or a source of problems"),
        (lambda: gd.evaluate("tabular", task="successor", tasks="x"), "gd.evaluate: tasks must be a whole number"),
        (
            lambda: gd.evaluate("tabular", exam=3),
            r"gd.evaluate: exam must be Exam\(...\) or a list, not 3: exam=gd.Exam",
        ),
        (
            lambda: gd.evaluate("tabular", task="successor", sampling={"temperature": 1}),
            r"sampling must be Sampling\(...\), not .*: sampling=gd.Sampling\(temperature=1\)",
        ),
        (lambda: gd.best_of("tabular", gd.exact(), task="successor", n="x"), "gd.best_of: n must be a whole number"),
        (lambda: gd.best_of("tabular", 5, task="successor"), "a reward is a function, not 5"),
        (lambda: gd.replay(3, gd.exact()), r"gd.replay: run must be a path or Run\(...\), not 3"),
        (lambda: gd.replay("x", gd.exact(), steps=3), r"gd.replay: steps must be a list, not 3: steps=\[0, 1\]"),
        (lambda: gd.Run(3), "a run is named by its folder, not 3"),
        (lambda: gd.tasks.load(3), 'gd.tasks.load: name must be text, not 3: name="countdown:4"'),
    ],
)
def test_the_rest_of_the_front_door(call, line):
    with pytest.raises(gd.UserError, match=line) as raised:
        call()
    assert "\n" not in str(raised.value)


def test_a_run_in_place_of_a_model(tmp_path):
    run = gd.train("grpo", **TRAIN, steps=0, out=tmp_path / "run", options=gd.Options(eval_tasks=0))
    with refusal(gd.UserError):
        gd.evaluate(run, task="successor")


def test_a_notebook_shows_the_line_alone():
    assert gd.UserError("what, and how")._render_traceback_() == ["UserError: what, and how"]
    assert gd.RunStopped("why")._render_traceback_() == ["RunStopped: why"]


def test_a_misspelt_name_of_the_package_is_mended_by_python():
    with pytest.raises(AttributeError, match="module 'guerdon' has no attribute 'trian'") as raised:
        _ = gd.trian
    assert raised.value.name == "trian" and raised.value.obj is gd  # from which Python says: did you mean 'train'?


def test_annotations_that_say_no_class_admit_anything():
    def call(a: int | None, b: list[int] | str, c, d: "Unheard"): ...  # noqa: F821, UP037

    check_arguments("call", call, {"a": None, "b": [1], "c": 3, "d": 4, "local": 5})
    assert admits(int | None, 3) and not admits(int | None, True) and not admits(list[int] | str, 3)
