"""What `train` prints before it trains: what changed since an earlier run (`--again`), what a run would take (`--dry-run`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from guerdon.cli.output import Output
from guerdon.core.errors import UserError

if TYPE_CHECKING:
    from guerdon.training.api import Ready
    from guerdon.training.record import Options
    from guerdon.training.rehearsal import Rehearsal
    from guerdon.training.train_request import Origin, TrainRequest

MIB = 2**20
CUT = 400  # characters of a prompt, and of its answer
MINUTE, HOUR = 60, 3600


def name_model(output: Output, request: dict[str, Any]) -> None:
    """Where none was named, the model that comes with the package, with a line about it."""
    from guerdon.training.default_model import about_default, default_model

    wanted = request["recipe"], request["task"], request["data"]
    if request["recipe"] and request["model"] is None and (model := default_model(*wanted)):
        request["model"] = model
        output.say(about_default(model))


def tell_again(output: Output, request: dict[str, Any], options: Options | None) -> None:
    """What differs from the run that is rerun."""
    if output.as_json or request["resume"] is not None:
        return
    _, origin = _asked(request, options)
    assert origin is not None
    if origin.done:
        output.say(f"extends {origin.run}: starts after its step {origin.done}, from its weights and states")
        return
    if not origin.changes:
        output.say(f"rerun of {origin.run}, nothing changed")
        return
    output.say(f"rerun of {origin.run}, changed:")
    output.pairs({f"  {name}": f"{_said(then)} -> {_said(now)}" for name, (then, now) in origin.changes.items()})


def _said(value: Any) -> str:
    return "none" if value is None or value == "" else str(value)


def _asked(request: dict[str, Any], options: Options | None) -> tuple[TrainRequest, Origin | None]:
    from guerdon.runs.folder import RunFolder
    from guerdon.training.build import RunRequest
    from guerdon.training.train_request import TrainRequest, rerun

    names = ("recipe", "task", "model", "reward", "data", "settings", "text")
    run = RunRequest(**{name: request[name] for name in names})
    wanted = TrainRequest.of(run, request["steps"], request["budget"], request["seed"], options)
    if request["again"] is None:
        return wanted, None
    return rerun(RunFolder(request["again"]), wanted, request["trust"])


def tell_dry_run(output: Output, request: dict[str, Any], options: Options | None) -> int:
    """Try all that can be tried without writing anything, and print what the run would take."""
    from guerdon.runs.whole_files import absolute
    from guerdon.training.api import prepare
    from guerdon.training.rehearsal import rehearse

    if request["resume"] is not None:
        raise UserError("--dry-run is for a new run: remove --resume or --dry-run")
    here = absolute("")
    ready: Ready = prepare(*_asked(request, options))
    told = rehearse(ready, request["out"], here)
    if not output.as_json:
        _tell(output, told)
    output.finish({"dry_run": True, **told.to_dict()})
    return 0


def _tell(output: Output, told: Rehearsal) -> None:
    head = {
        "dry run": "nothing is written",
        "recipe": f"{told.recipe}, hash {told.config['hash']}",
        "would go to": told.out,
    }
    if told.study:
        output.pairs({**head, "steps": "a study decides at run time which runs it has: none was tried"})
        return
    output.pairs(head)
    _tell_prompts(output, told)
    output.say()
    lines = {
        **(_of_worlds(told) if told.env_steps else _of_text(told)),
        "time": _time(told),
        "exams": f"{told.exams} of {told.exam_tries:,} tries each" if told.exams else "none",
        "memory": _memory(told),
        "rewards": "\n".join(map(_reward, told.rewards)),
        "judges": "\n".join(_judge(told, each) for each in told.judges),
        "failed": "\n".join(told.failures),
    }
    output.pairs({name: words for name, words in lines.items() if words})


def _of_worlds(told: Rehearsal) -> dict[str, str]:
    return {
        "worlds": f"{told.rollouts:,} tries a step",
        "env steps": f"{told.env_steps:,.0f} a step{_times(told, told.env_steps)}",
    }


def _of_text(told: Rehearsal) -> dict[str, str]:
    return {
        "longest prompt": _longest(told),
        "rollouts": f"{told.rollouts:,} a step ({told.asks} prompts){_times(told, told.rollouts)}",
        "tokens": _tokens(told),
    }


def _tell_prompts(output: Output, told: Rehearsal) -> None:
    for number, prompt in enumerate(told.prompts, start=1):
        output.say()
        output.say(f"prompt {number}, {prompt.tokens:,} tokens, as {prompt.role} sees it")
        for line in _cut(prompt.text):
            output.say(f"  | {line}")
        output.say(f"{'demonstration' if told.recited else 'answer now'}, {prompt.said_tokens:,} tokens")
        for line in _cut(prompt.said):
            output.say(f"  | {line}")


def _cut(text: str) -> list[str]:
    return (text if len(text) <= CUT else f"{text[:CUT]} ... {len(text) - CUT:,} characters more").split("\n")


def _longest(told: Rehearsal) -> str:
    if told.longest is None:
        return "none drawn"
    among = f" among {told.searched:,}" if told.searched else ""
    words = f"{told.longest:,} tokens{among}; at most {told.max_tokens:,} are sampled" + (
        " a turn" if told.turns > 1 else ""
    )
    if told.context is None:
        return words
    room = told.context - told.longest
    if room < told.max_tokens:
        return f"{words}; the context is {told.context:,}: answers are cut after {max(0, room):,}"
    return f"{words}; the context is {told.context:,}: it fits"


def _times(told: Rehearsal, each: float) -> str:
    return f", {each * told.steps:,.0f} in {told.steps:,} steps" if told.steps is not None else ""


def _tokens(told: Rehearsal) -> str:
    seen = "the last step tried" if told.measured else f"{told.sample['tries']:.0f} tries"
    turns = f" with {told.turns} turns" if told.turns > 1 else ""
    if told.recited:
        return (
            f"about {told.step_tokens:,.0f} a step{_times(told, told.step_tokens)}, demonstrations, not sampled;"
            f" measured on {seen}"
        )
    return (
        f"at most {told.most_tokens:,} a step{_times(told, told.most_tokens)}{turns}\n"
        f"about {told.step_tokens:,.0f} a step{_times(told, told.step_tokens)}, measured on {seen}"
    )


def _time(told: Rehearsal) -> str:
    step = f"{told.step_seconds:.2g} s a step"
    if told.measured:
        how = "the second of two real steps" if len(told.measured) == 2 else "one real step"
        step += f" ({how}, discarded; {told.measured[-1].sampling:.2g} s of it sampling)"
    whole = f"{told.bound} {duration(told.seconds)}" if told.seconds is not None else "unknown: the budget decides"
    timed = told.exams and told.seconds is not None
    exams = f", {duration(told.exam_seconds)} of it in exams" if timed else ""
    exams = ", without exams" if timed and told.env_steps else exams
    return "\n".join(filter(None, [f"{whole}{exams}", step, told.not_tried]))


def duration(seconds: float) -> str:
    """A time in words.

    >>> duration(42), duration(90), duration(9000)
    ('42 s', '1.5 min', '2.5 h')
    """
    if seconds < MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / MINUTE:.1f} min" if seconds < HOUR else f"{seconds / HOUR:.1f} h"


def _memory(told: Rehearsal) -> str:
    parts = ", ".join(f"{name} {_bytes(size)}" for name, size in told.memory.items())
    needed, here = sum(told.memory.values()), told.machine
    lines = [f"{_bytes(needed)} at most: {parts}"] if parts else []
    lines.append(
        f"this process has used {_bytes(here['peak'])} so far; {here['device']} has {_bytes(here['total'])},"
        f" {_bytes(here['free'])} free"
    )
    if needed > here["total"]:
        lines.append("not enough memory: use fewer tries, a smaller max_tokens, or --set lm.lora=16")
    return "\n".join(lines)


def _bytes(size: float) -> str:
    return f"{size / MIB:,.1f} MiB" if size < 1024 * MIB else f"{size / 1024 / MIB:,.1f} GiB"


def _reward(row: dict[str, Any]) -> str:
    terms = [f"{t['name']}({', '.join(t['arguments'])})" for t in row["terms"]]
    given = f"; calls {', '.join(terms)}, all arguments available" if terms else ""
    return f"{row['column']} = {row['formula']}{given}"


def _judge(told: Rehearsal, each: dict[str, Any]) -> str:
    words = f"{each['judge']}: {each['calls']:,.0f} questions a step{_times(told, each['calls'])}"
    if not each["cost"]:
        return f"{words}; no price given"
    whole = f", {each['cost'] * told.steps:,.2f} in all" if told.steps is not None else ""
    return f"{words}; at most {each['cost']:,.4f} a step{whole}, at its prices, less with cache hits"
