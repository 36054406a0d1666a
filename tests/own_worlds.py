"""Data and models that a user might bring, small, and how far a recipe gets with them."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import guerdon as gd
from guerdon.core.recipe import Recipe, RecipeEntry
from guerdon.core.seeds import seed_globals
from guerdon.core.task import Ask
from guerdon.models import huggingface
from guerdon.models.chat import Chat, Format
from guerdon.models.tokenizer import train_tokenizer
from guerdon.runs.folder import RunFolder
from guerdon.runs.run import Run
from guerdon.training.api import prepare
from guerdon.training.build import RunRequest
from guerdon.training.catalog import find_recipe
from guerdon.training.loop import start
from guerdon.training.record import Options
from guerdon.training.study import StudyRun
from guerdon.training.train_request import TrainRequest

ROWS = 40
SMALL = {"prompts": 2, "tries": 4, "max_tokens": 16, "steps": 1, "exam_tasks": 2}  # of the knobs that a recipe has
DOUBLING = Path(__file__).parent.parent / "examples" / "doubling.py"
SHOP = '''
import guerdon as gd

CRATES = {"pears": 12, "plums": 3, "figs": 7, "limes": 9}


@gd.tool
def stock(fruit: str) -> int:
    """How many crates of a fruit there are."""
    return CRATES[fruit]


def shop():
    """Crates of two fruits."""
    asked = [(a, b) for a in CRATES for b in CRATES]
    rows = [{"question": f"How many crates of {a} and {b}?", "answer": CRATES[a] + CRATES[b]} for a, b in asked]
    return gd.envs.with_tools(gd.tasks.rows(rows, check_by="number"), [stock, gd.envs.calculator])
'''
CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def write_worlds(folder: Path) -> None:
    """A file, or a module, for each form of `training/usable.py`."""
    numbers = range(ROWS)
    lines = [f"What is {n} + {2 * n + 1}?,{3 * n + 1}" for n in numbers]
    (folder / "answers.csv").write_text("\n".join(["question,answer", *lines]) + "\n")
    _write(
        folder / "pairs.jsonl",
        [{"prompt": f"What is {n} + 1?", "chosen": f"= {n + 1}", "rejected": f"= {n}"} for n in numbers],
    )
    _write(
        folder / "steps.jsonl",
        [
            {
                "prompt": f"{n}+1+1=",
                "completions": [f"{n}+1={n + 1}", f"= {n + 2 + n % 2}"],
                "labels": [True, n % 2 == 0],
            }
            for n in numbers
        ],
    )
    _write(folder / "programs.jsonl", [_program(n, "+-"[n % 2]) for n in numbers])
    (folder / "shop.py").write_text(SHOP)
    shutil.copy(DOUBLING, folder / "doubling.py")


def _program(n: int, sign: str) -> dict[str, Any]:
    tests = [f"assert f({k}) == {k + n if sign == '+' else k - n}" for k in range(3)]
    word = {"+": "adds", "-": "takes"}[sign]
    return {"text": f"f(x) {word} {n}.", "code": f"def f(x):\n return x {sign} {n}", "sort": word, "test_list": tests}


def _write(file: Path, rows: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def given(folder: Path, form: str) -> dict[str, Any]:
    """What `gd.train` is given for a form of data."""
    columns = {"prompt": "text", "answer": "code", "solution": "code", "kind": "sort", "check": "python"}
    ways: dict[str, dict[str, Any]] = {
        "answers": {"data": str(folder / "answers.csv")},
        "pairs": {"data": str(folder / "pairs.jsonl")},
        "steps": {"data": str(folder / "steps.jsonl")},
        "programs": {"data": {"path": str(folder / "programs.jsonl"), **columns}},
        "tools": {"task": f"{folder / 'shop.py'}:shop"},
        "family": {"task": f"{folder / 'doubling.py'}:doubling:3"},
    }
    return ways[form]


def write_chat_model(folder: Path) -> None:
    """A random model with a chat template that runs through `transformers`."""
    import torch
    import transformers
    from small import TEXTS
    from tokenizers import AddedToken

    words = {"vocab_size": 330, "bos_token_id": 1, "eos_token_id": 3, "pad_token_id": 0}
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
    config = transformers.AutoConfig.for_model("gpt_neox", max_position_embeddings=1024, **words, **sizes)
    torch.manual_seed(0)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    tokenizer = train_tokenizer(TEXTS, 320)
    tokenizer.add_special_tokens([AddedToken(word, special=True) for word in ("<|im_start|>", "<|im_end|>")])
    names = {"eos_token": "<|im_end|>", "pad_token": "<|pad|>"}
    huggingface.write_chat(folder, Chat(tokenizer, Format(CHATML, names, extra=("<|im_start|>",))), 1024)


class Reached(BaseException):
    """A study got as far as its first prompts."""


class FirstPrompts(StudyRun):
    """A study's run that shows the first prompts of whatever comes first, and goes no further."""

    def train(self, recipe: Recipe, **_: Any) -> Any:
        first_prompts(recipe.but(prompts=2))
        raise Reached

    def play(self, recipe: Recipe, asks: Any) -> Any:
        super().play(recipe, asks[:1])
        raise Reached

    def eval(self, model: Any, task: Any, **_: Any) -> Any:
        assert getattr(task, "source", task).get("test", 0)
        raise Reached


def first_prompts(recipe: Recipe) -> None:
    """Draw the first asks and have one of them played."""
    recipe, play = start(recipe, 0, 1)
    seed_globals(play.noise, 0)
    asks: list[Ask] = recipe.curriculum.draw(recipe.prompts, play)
    assert play([ask.but(n=1) for ask in asks[:1]])


def request_of(entry: RecipeEntry, model: str, world: dict[str, Any]) -> RunRequest:
    own = {**entry.knobs()}
    if entry.name in WITHOUT:
        own = {name: value for name, value in own.items() if name not in WITHOUT[entry.name]}
    small = {name: size for name, size in SMALL.items() if isinstance(own.get(name), int)}
    slot = {"model": model} if "model" in entry.parameters() else {}
    return RunRequest(entry.name, settings=small, **slot, **world)


WITHOUT = {
    "spo": ("tries",),
    "biprm": ("tries",),
    "tpo": ("tries",),
}  # knobs that they have from another recipe and do not use


def rehearsed(name: str, model: str, world: dict[str, Any], folder: Path) -> None:
    """As far as the first prompts; what `train` refuses is refused."""
    ready = prepare(TrainRequest.of(request_of(find_recipe(name), model, world), None, None, 0, Options(eval_tasks=2)))
    if isinstance(ready.built.recipe, Recipe):
        first_prompts(ready.built.recipe)
        return
    study = RunFolder(folder / "study")
    study.create(ready.config)
    try:
        ready.built.recipe.body(FirstPrompts(study, ready.options, 0, log=None), 0)  # type: ignore[arg-type]
    except Reached:
        return
    raise AssertionError(f"the study {name} trained nothing")


def trained(name: str, model: str, world: dict[str, Any], folder: Path, **knobs: Any) -> Run | None:
    """A real step; of a study the first prompts."""
    request = request_of(find_recipe(name), model, world)
    request = dataclasses.replace(request, settings={**request.settings, **knobs})
    ready = prepare(TrainRequest.of(request, None, None, 0, Options(eval_tasks=2)))
    if not isinstance(ready.built.recipe, Recipe):
        return rehearsed(name, model, world, folder)
    slots = {"task": request.task, "data": request.data, "model": request.model}
    told = {"settings": dict(request.settings), "options": Options(eval_tasks=2), "progress": False}
    return gd.train(name, **slots, **told, out=str(folder / "run"))
