"""What the benchmark found, as a table: seconds by part of the step, memory, the ratio, and how near the machine's limits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.arm import ARMS
from bench.configs import Config
from bench.quiet import is_quiet
from bench.work import Shape, decode_bytes, decode_operations, learn_operations

PARTS = ("generate", "score", "learn", "other", "total")
WIDTH = 110  # a table with wrapped numbers cannot be read
Spread = dict[str, float]  # median, min, max


def show(result: dict[str, Any], model: Path) -> dict[str, Any]:
    """Print the table; the numbers in it, to be kept."""
    found = summary(result, model)
    console = Console(width=max(WIDTH, Console().width))
    console.print(table(result, found))
    ratio = found["ratio"]
    console.print(
        f"TRL's step takes {ratio['median']:.2f} times as long as Guerdon's "
        f"({ratio['min']:.2f} to {ratio['max']:.2f} over {len(result['rounds'])} rounds)"
    )
    console.print(
        f"{found['shared_steps']} of the steps that count had to share the machine; {len(result['disturbed'])} rounds "
        "that did were played again"
    )
    machine = found["hardware"]
    console.print(
        f"{machine['device']}, {machine['threads']} threads: copies {machine['copy'] / 1e9:.1f} GB/s, "
        f"multiplies {machine['matmul'] / 1e12:.2f} TFLOP/s in {result['config']['dtype']}"
    )
    return found


def summary(result: dict[str, Any], model: Path) -> dict[str, Any]:
    machine = best_machine([found["hardware"] for found in (*result["rounds"], *result["disturbed"])])
    arms = {arm: arm_summary(arm, result, machine, Shape.of(model)) for arm in ARMS}
    ratios = [_typical(found["trl"]) / _typical(found["guerdon"]) for found in result["rounds"]]
    steps = [step for found in result["rounds"] for arm in ARMS for step in found[arm]["steps"]]
    shared = sum(not is_quiet(step["others"]) for step in steps)
    return {**arms, "ratio": spread(ratios), "ratio_by_round": ratios, "shared_steps": shared, "hardware": machine}


def best_machine(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The limits of the machine: the best it ever did."""
    return {**found[0], **{limit: max(one[limit] for one in found) for limit in ("copy", "matmul")}}


def arm_summary(arm: str, result: dict[str, Any], machine: dict[str, Any], shape: Shape) -> dict[str, Any]:
    """An arm over all rounds. Shares of the machine's limits are by the median time of the part."""
    config = Config(**result["config"])
    reports = [found[arm] for found in result["rounds"]]
    steps = [step for report in reports for step in report["steps"]]
    seconds = {part: spread([step[part] for step in steps]) for part in PARTS}
    prompt = reports[0]["prompt_tokens"]
    generate, learn = seconds["generate"]["median"], seconds["learn"]["median"]
    return {
        "seconds": seconds,
        "tokens_per_second": config.tokens / seconds["total"]["median"],
        "cores_busy": spread([step["cpu"] / step["total"] for step in steps]),
        "cores_of_others": spread([step["others"] for step in steps]),
        "peak_bytes": spread([report["peak_bytes"] for report in reports]),
        "decode_of_copy": decode_bytes(shape, config, prompt) / generate / machine["copy"],
        "decode_of_matmul": decode_operations(shape, config, prompt) / generate / machine["matmul"],
        "learn_of_matmul": learn_operations(shape, config, prompt) / learn / machine["matmul"],
    }


def table(result: dict[str, Any], found: dict[str, Any]) -> Table:
    config = Config(**result["config"])
    made = Table(
        title=f"{result['name']}: {config.model} in {config.dtype}, {config.prompts} x {config.tries} rollouts of "
        f"{config.new_tokens} tokens; median (min to max) of {len(result['rounds'])} x {result['steps']} steps"
    )
    trl, ours = found["trl"], found["guerdon"]
    for heading in (
        "",
        f"TRL {result['versions']['trl']}",
        f"Guerdon {result['versions']['guerdon']}",
        "TRL / Guerdon",
    ):
        made.add_column(heading, justify="left" if not heading else "right")
    for part in PARTS:
        times = [arm["seconds"][part] for arm in (trl, ours)]
        made.add_row(f"{part}, s", *(_shown(t) for t in times), f"{times[0]['median'] / times[1]['median']:.2f}")
    made.add_section()
    memory = [arm["peak_bytes"] for arm in (trl, ours)]
    made.add_row(
        "peak memory, GB", *(_shown(m, 1e9) for m in memory), f"{memory[0]['median'] / memory[1]['median']:.2f}"
    )
    made.add_row("tokens a second", *(f"{arm['tokens_per_second']:,.0f}" for arm in (trl, ours)))
    made.add_row("cores busy", *(_shown(arm["cores_busy"]) for arm in (trl, ours)))
    made.add_row("cores in other hands", *(_shown(arm["cores_of_others"]) for arm in (trl, ours)))
    for label, name in (
        ("generate, of copy bandwidth", "decode_of_copy"),
        ("generate, of matmul rate", "decode_of_matmul"),
        ("learn, of matmul rate", "learn_of_matmul"),
    ):
        made.add_row(label, *(f"{arm[name]:.1%}" for arm in (trl, ours)))
    return made


def spread(values: Sequence[float]) -> Spread:
    return {"median": median(values), "min": min(values), "max": max(values)}


def _typical(report: dict[str, Any]) -> float:
    return median(step["total"] for step in report["steps"])


def _shown(found: Spread, unit: float = 1.0) -> str:
    low, middle, high = (found[name] / unit for name in ("min", "median", "max"))
    digits = 3 if middle < 10 else 1
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"
