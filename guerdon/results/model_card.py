"""The model card of an exported model, a README.md as the hub has them: its origin, its results, and what they do not show.

All of it is read from the run folder.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from guerdon.models.exports import Exported
from guerdon.models.hub_models import is_hub_id
from guerdon.models.shipped_models import SHIPPED
from guerdon.runs.run import Run

LIMITS = (
    "One run with one seed. The intervals are about which problems were drawn for the exam, not about other seeds: another"
    " run of the same command with another `--seed` may come out better or worse.",
    "Held-out problems are of the kind it was trained on. Nothing here was measured on other tasks, other languages or other"
    " ways to ask.",
    "A policy learns what its reward rewards, which may differ from what was intended. Read the run's rollouts before you rely"
    " on it.",
    "Whether it is safe or fair, or gives away its training data, was not looked at.",
)


def model_card(run: Run, name: str, written: Exported, folder: str) -> str:
    """Markdown, with the head that the hub reads."""
    config = run.config
    base = str((config.get("wish") or {}).get("model") or "a model given as a Python object")
    is_scorer = "SequenceClassification" in written.architecture
    head = {"library_name": "peft" if written.architecture == "PeftModel" else "transformers"}
    head |= {"base_model": base} if is_hub_id(base) else {}
    head |= {"pipeline_tag": "text-classification" if is_scorer else "text-generation"}
    front = [*(f"{key}: {value}" for key, value in head.items()), "tags:", "- guerdon", "- reinforcement-learning"]
    facts = {
        "base model": f"{base}, which comes with guerdon" if base in SHIPPED else base,
        "recipe": _recipe(config),
        "problems": _problems(config),
        "reward": _reward(config),
        "trained for": _spent(run),
        "seed": str(config["seed"]),
        "weights": f"{written.parameters:,} of {written.architecture}, hash {run.weights} in the run",
        "made with": ", ".join(f"{key} {value}" for key, value in (config.get("versions") or {}).items()),
    }
    sections = [
        f"# {_line(Path(folder).resolve().name)}\n",
        f"{_sentence(run, name, base)}\n",
        *(f"- **{key}**: {_line(value)}" for key, value in facts.items() if value),
        *_results(run),
        "\n## The command that made it\n",
        f"```console\n$ {train_command(config)}\n```" if config["plain"] else "It was started from Python objects.",
        "\n## How to load it\n",
        f"```python\n{_loading(written, folder)}\n```",
        *(f"\n{_line(note)[:1].upper()}{_line(note)[1:]}." for note in written.notes),
        "\n## What this does not show\n",
        *(f"- {limit}" for limit in LIMITS),
    ]
    return "\n".join(["---", *front, "---", "", *sections]) + "\n"


def train_command(config: Mapping[str, Any]) -> str:
    """The command line that starts such a run again."""
    wish, data = config["wish"], config.get("data") or {}
    words = ["guerdon", "train", str(config["recipe"])]
    for flag in ("task", "model", "reward"):
        words += [f"--{flag}", str(wish[flag])] if wish.get(flag) else []
    for key, value in data.items():
        flag = "--data" if key == "path" else f"--{key.replace('_', '-')}"
        words += [flag] if value is True else [flag, str(value)] if value not in (None, False, "") else []
    for key, value in config["settings"].items():
        words += ["--set", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
    budget = config.get("budget")
    words += ["--budget", f"{budget['amount']:g}:{budget['unit']}"] if budget else ["--steps", str(config["steps"])]
    return shlex.join([*words, "--seed", str(config["seed"])])


def _sentence(run: Run, name: str, base: str) -> str:
    what = "policy" if name == "policy" else f"model {name!r}"
    return f"The {what} of a training run of {_line(run.name)} with guerdon, {run.progress}, that began with {_line(base)}."


def _recipe(config: Mapping[str, Any]) -> str:
    settings = ", ".join(f"{key}={value}" for key, value in config["settings"].items())
    return f"{config['recipe']}{f' with {settings}' if settings else ''}, hash {config['hash']}"


def _problems(config: Mapping[str, Any]) -> str:
    data = config.get("data")
    return f"rows of {data.get('path')}" if data else str(config["wish"].get("task") or "")


def _reward(config: Mapping[str, Any]) -> str:
    formulas = [f"`{each['formula']}` (version {each['version']})" for each in (config.get("rewards") or {}).values()]
    check = (config.get("data") or {}).get("check")
    who = f"`--check {check}`" if check else "the task's own checker"
    return "; ".join(formulas) or f"{who}: 1 for a right answer, 0 for a wrong one"


def _spent(run: Run) -> str:
    spent = run.spent
    units = [unit for unit in ("steps", "samples", "tokens", "updates") if spent.get(unit)]
    return ", ".join(f"{spent[unit]:,.0f} {unit if spent[unit] != 1 else unit[:-1]}" for unit in units)


def _results(run: Run) -> list[str]:
    """Held-out accuracy, before and after, with its interval."""
    rated = [each for each in run.evaluations if "pass@1" in each]
    if not rated:
        return ["\n## Results\n", "The run was not evaluated on held-out problems."]
    ends = rated[:1] if len(rated) == 1 else [rated[0], rated[-1]]
    rows = [
        f"| {_when(each['steps_done'])} | {_percent(each, 'pass@1')} | {_percent(each, 'pass@1_low')} to"
        f" {_percent(each, 'pass@1_high')} | {each.get('tasks')} | {each.get('tries')} |"
        for each in ends
    ]
    of = _line(str(ends[0].get("task") or ""))
    return [
        f"\n## Results\n\nAccuracy on held-out problems{f' of {of}' if of else ''}:\n",
        "| | accuracy | interval (95 %) | problems | tries at each |",
        "| --- | --- | --- | --- | --- |",
        *rows,
    ]


def _when(done: int) -> str:
    return f"after {done} step{'s' * (done != 1)}" if done else "before training"


def _percent(result: Mapping[str, Any], key: str) -> str:
    value = result.get(key)
    return f"{100 * value:.1f} %" if isinstance(value, int | float) else "?"


def _loading(written: Exported, folder: str) -> str:
    if written.architecture == "PeftModel":
        return (
            "from peft import PeftModel\nfrom transformers import AutoModelForCausalLM\n\n"
            f"model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(BASE_MODEL), {folder!r})"
        )
    kind = "AutoModelForSequenceClassification" if "Classification" in written.architecture else "AutoModelForCausalLM"
    return (
        f"from transformers import {kind}, AutoTokenizer\n\n"
        f"model = {kind}.from_pretrained({folder!r})\ntokenizer = AutoTokenizer.from_pretrained({folder!r})"
    )


def _line(text: str) -> str:
    """Words of a run in one line of Markdown, none of them a mark of it."""
    return " ".join(text.split()).replace("<", "&lt;").replace("|", "&#124;")
