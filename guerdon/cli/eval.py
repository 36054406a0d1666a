"""`guerdon eval`: held-out accuracy of a model or of a run's trained policy."""

from __future__ import annotations

import functools
from typing import Annotated, Any

import typer

from guerdon.cli.options import Environment, Json, Reward, Task, Trust, parse_settings, takes_data
from guerdon.cli.output import Output, percent, rate
from guerdon.cli.typed_names import refuse_typos
from guerdon.core.errors import UserError
from guerdon.core.part import set_knob
from guerdon.core.task import Sampling
from guerdon.runs.headline import plain

BestOf = Annotated[
    int | None,
    typer.Option("--best-of", metavar="N", min=1, help="How often the try with the highest --reward among N is right."),
]


Search = Annotated[
    str | None,
    typer.Option(
        "--search",
        metavar="NAME",
        help="Search for each answer: vote, beam, lookahead, mcts or revise; compared with plain sampling at equal tokens.",
    ),
]
Scorer = Annotated[
    str | None,
    typer.Option("--scorer", metavar="RUN", help="The scorer for --search: a finished run of process_reward_model."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KNOB=VALUE",
        help="A knob of the task, sampling, search or scorer: notes.form=ask, sampling.guides=MODEL:1; repeatable.",
    ),
]


@functools.partial(takes_data, test_alone=True)
def evaluate(
    model: Annotated[str, typer.Argument(metavar="MODEL|RUN", help="A model's name, its folder, or a finished run.")],
    task: Task = None,
    rows: Any = None,
    reward: Reward = None,
    env: Environment = None,
    best_of: BestOf = None,
    search: Search = None,
    scorer: Scorer = None,
    settings: Settings = None,
    k: Annotated[
        int | None,
        typer.Option("--k", metavar="N", min=1, help="Tries per task.  [default: 16; with --search: equal tokens]"),
    ] = None,
    tasks: Annotated[int, typer.Option("--tasks", metavar="N", min=1, help="Maximum number of held-out tasks.")] = 100,
    temperature: Annotated[
        float | None,
        typer.Option(
            "--temperature", metavar="T", min=0, help="Sampling temperature.  [default: 1; in an environment 0]"
        ),
    ] = None,
    greedy: Annotated[bool, typer.Option("--greedy", help="Temperature 0 and one try.")] = False,
    max_tokens: Annotated[
        int | None,
        typer.Option("--max-tokens", metavar="N", min=1, help="Maximum tokens of an answer.  [default: 256]"),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Random seed.")] = 0,
    trust: Trust = False,
    as_json: Json = False,
) -> int:
    """Held-out accuracy of a model or a run.

    Prints pass@1 and unbiased pass@k, each with a 95 % interval over tasks; with --reward also the mean reward on the
    same tries. A run is evaluated on its own task unless another is given; --test FILE alone means all its rows. Of a run
    that was stopped, the policy of its last checkpoint is evaluated.

    --best-of N prints best_of@N: how often the try with the highest --reward among N is right. It lies between pass@1
    (a random choice) and pass@N (an oracle's choice).

    In an environment of Gymnasium's kind, that of --env or of a run of ppo_control, whole episodes are played from --tasks
    held-out seeds with the likeliest actions: mean return and interquartile mean with 95 % bootstrap intervals, success where
    the environment tells it, and which share of the episodes is above each return. With --reward FILE.py:NAME they are paid by
    a reward of env steps, else by the run's, or by the environment.

    --search NAME searches for each answer line by line, guided by --scorer (docs/search.md). A table compares it with plain
    sampling, majority vote and best-of-N at equal cost: accuracy, and tokens per problem.
    """
    refuse_typos(task=task, model=model, reward=reward)
    from guerdon.training import api

    output = Output(as_json)
    _warn_of_damage(output, model)
    if (world := _world_of(model, env, reward, trust, task is not None or rows is not None)) is not None:
        _check_in_world({"--best-of": best_of, "--search": search, "--k": k, "--set": settings})
        drawn = 0.0 if greedy or temperature is None else temperature
        return _tell_world(output, model, world, {"tasks": tasks, "temperature": drawn, "seed": seed}, trust)
    given = task is not None or rows is not None
    task, rows = _asked_about(model, task, rows, trust)
    warmth = 1.0 if temperature is None else temperature
    sampling = Sampling(temperature=0.0 if greedy else warmth, max_tokens=max_tokens or Sampling().max_tokens)
    others = _set_sampling(sampling, parse_settings(settings))
    source, others = api.with_task_knobs(task, rows, others, {} if given else _settings_of(model))
    asked = {"task": source, "data": rows if source is task else None, "tasks": tasks}
    how: dict[str, Any] = {**asked, "seed": seed, "sampling": sampling, "trust": trust}
    if search is not None:
        _check_search(reward, best_of, greedy, sampling)
        return _tell_search(output, model, search, scorer, others, k, how)
    _check_no_search(scorer, others)
    if best_of is None:
        numbers = api.evaluate(model, reward=reward, tries=1 if greedy else k or 16, **how)
    else:
        _check_choice(reward, greedy)
        numbers = api.best_of(model, reward, n=best_of, **how)
    if not as_json:
        _tell(output, numbers)
    output.finish({"model": model, "temperature": sampling.temperature, "seed": seed, **numbers})
    return 0


def _world_of(model: str, env: str | None, reward: str | None, trust: bool, in_text: bool) -> dict[str, Any] | None:
    """The environment that was named, or else the run's own, and what pays there; None where problems `in_text` were."""
    from guerdon.training.world_exams import own_world

    if env is not None and in_text:
        raise UserError("--env is an environment, and --task and --data are problems in text: give one of them")
    if env is not None or in_text:
        return None if in_text else {"env": env, "reward": reward}
    own = own_world(model, trust)
    return None if own is None else {"env": own["env"], "reward": reward if reward is not None else own["reward"]}


def _check_in_world(given: dict[str, Any]) -> None:
    for name, value in given.items():
        if value is not None:
            raise UserError(f"{name} is for problems in text: in an environment leave it out")


def _tell_world(output: Output, model: str, world: dict[str, Any], how: dict[str, Any], trust: bool) -> int:
    """An exam of episodes."""
    from guerdon.training.world_exams import evaluate_in_world

    sampling = Sampling(temperature=how["temperature"])
    numbers = evaluate_in_world(
        model, world["env"], world["reward"], tasks=how["tasks"], sampling=sampling, seed=how["seed"], trust=trust
    )
    paid = f" paid by {world['reward']}" if world["reward"] is not None else ""
    output.say(f"{numbers['task']}: {numbers['episodes']} held-out episodes{paid}")
    rows = [
        (name.replace("_", " "), numbers[name], name) for name in ("return", "iqm", "env_return") if name in numbers
    ]
    shown = [
        (
            words,
            plain(value),
            *(plain(numbers[f"{key}_{e}"]) if f"{key}_{e}" in numbers else "" for e in ("low", "high")),
        )
        for words, value, key in rows
    ]
    if "success" in numbers:
        shown.append(("success", *(percent(numbers[f"success{e}"]) for e in ("", "_low", "_high"))))
    output.table(("", "value", "95 % from", "to"), shown)
    if len(numbers["profile"]) and numbers["profile"][0][0] < numbers["profile"][-1][0]:
        output.say("share of episodes above a return:")
        output.say("  " + "  ".join(f"{plain(at)} {percent(above)}" for at, above in numbers["profile"][::2]))
    if "failed" in numbers:
        output.say(f"warning: {percent(numbers['failed'])} of the episodes failed and are excluded")
    output.finish({"model": model, **world, "temperature": how["temperature"], "seed": how["seed"], **numbers})
    return 0


def _check_search(reward: str | None, best_of: int | None, greedy: bool, sampling: Sampling) -> None:
    if sampling.guides:
        raise UserError("a search is not guided by other models: remove --search or sampling.guides")
    if reward is not None or best_of is not None:
        raise UserError("--search uses --scorer RUN and already reports best-of-N: remove --reward and --best-of")
    if greedy:
        raise UserError("--greedy gives one candidate, so there is nothing to search: remove --greedy or --search")


def _set_sampling(sampling: Sampling, settings: dict[str, str]) -> dict[str, str]:
    """Set the knobs of sampling; the settings that are left are of a search."""
    left = {}
    for name, value in settings.items():
        part, _, own = name.partition(".")
        if part == "sampling":
            set_knob(sampling, own, value, text=True)
        else:
            left[name] = value
    return left


def _settings_of(model: str) -> dict[str, Any]:
    """The dotted settings that a run was trained with: those of its task are its own problems'."""
    from guerdon.runs.folder import RunFolder

    config = RunFolder(model).read_config()
    return {name: value for name, value in (config.get("settings") or {}).items() if "." in name}


def _check_no_search(scorer: str | None, settings: dict[str, str]) -> None:
    if scorer is not None:
        raise UserError("--scorer needs --search NAME")
    if settings:
        raise UserError(
            f"--set {next(iter(settings))} needs --search NAME; it is no knob of the task (guerdon show TASK) or of sampling"
        )


def _tell_search(
    output: Output,
    model: str,
    search: str,
    scorer: str | None,
    settings: dict[str, str],
    k: int | None,
    how: dict[str, Any],
) -> int:
    from guerdon.training.search_compared import search_by_name, searched

    env = search_by_name(search, settings, scorer)
    numbers = searched(model, env, scorer=scorer, tries=k, **how)
    output.say(f"{numbers['task']}: {numbers['tasks']} held-out tasks")
    rows = [(r["how"], rate({"": r["accuracy"], "_low": r["low"], "_high": r["high"]}, ""), f"{r['tokens']:.0f}")
            for r in numbers["rows"]]  # fmt: skip
    output.table(("", "accuracy (95 % interval)", "tokens a task"), rows)
    named = {"model": model, "search": search, "scorer": scorer, "seed": how["seed"]}
    output.finish({**named, "temperature": how["sampling"].temperature, **numbers})
    return 0


def _check_choice(reward: str | None, greedy: bool) -> None:
    if reward is None:
        raise UserError("--best-of N needs --reward R")
    if greedy:
        raise UserError("--greedy samples one answer, so there is nothing to choose from: remove --greedy or --best-of")


def _warn_of_damage(output: Output, model: str) -> None:
    from guerdon.runs.folder import RunFolder
    from guerdon.runs.run import damage_of

    damage = damage_of(RunFolder(model))
    if damage:
        output.say(f"warning: {model}: {damage}")


def _asked_about(
    model: str, task: str | None, rows: dict[str, Any] | None, trust: bool
) -> tuple[str | None, dict[str, Any] | None]:
    """The problems that were named, or else the run's own; a test of its own is read as the run's rows were."""
    if task is None and rows is None:
        return _own_task(model, trust)
    if rows is not None and rows.get("held_out") == 1.0:
        rows = {**_said_of_rows(model), **rows}
    return task, rows


def _own_task(model: str, trust: bool) -> tuple[str | None, dict[str, Any] | None]:
    """The task a run was trained for."""
    from guerdon.runs.folder import RunFolder
    from guerdon.training.catalog import find_recipe
    from guerdon.training.trust import check_trust

    folder = RunFolder(model)
    if not folder.exists():
        raise UserError("no task: give --task NAME or --data FILE")
    config = folder.read_config()
    if not config["plain"] or not (config["wish"]["task"] or config["data"]):
        raise UserError(f"{model} does not name the task it was trained for: give --task NAME or --data FILE")
    check_trust(model, config, trust, ["task", "check"])
    if config["data"] and find_recipe(config["recipe"]).needs.rows != "problems":
        raise UserError(
            f"{model} was trained on stored answers, and its file has no problems to solve: give --task or --data"
        )
    return config["wish"]["task"], config["data"]


def _said_of_rows(model: str) -> dict[str, Any]:
    """The row options of a run that was trained on rows: its own test set is read the same way."""
    from guerdon.runs.folder import RunFolder

    folder = RunFolder(model)
    config: dict[str, Any] = folder.read_config() if folder.exists() else {"plain": False}
    said: dict[str, Any] = (config["data"] or {}) if config["plain"] else {}
    own = {"path", "test", "held_out", *(["check"] if ".py" in str(said.get("check")) else [])}
    return {name: value for name, value in said.items() if name not in own}


def _tell(output: Output, numbers: dict[str, Any]) -> None:
    posed = f"{numbers['tasks']} held-out tasks" if "tasks" in numbers else "held-out tasks"
    output.say(f"{numbers['task']}: {posed}, {numbers['tries']} tries each")
    names = [n for n in numbers if n.startswith(("pass@", "best_of@")) and not n.endswith(("_low", "_high"))]
    if names:
        output.table(("", "rate (95 % interval)"), [(n, rate(numbers, n)) for n in names])
    if "reward" in numbers:
        around = f" ({numbers['reward_low']:.3f} to {numbers['reward_high']:.3f})" if "reward_low" in numbers else ""
        output.say(f"reward  {numbers['reward']:.3f}{around}")
    if numbers.get("reward_missing"):
        output.say(
            f"warning: {percent(numbers['reward_missing'])} of the tries have no reward and are excluded from its mean"
        )
    if numbers.get("missing"):
        output.say(
            f"warning: {percent(numbers['missing'])} of the tries could not be checked and are excluded from the rates"
        )
    if numbers.get("best_of_unscored"):
        output.say(f"warning: {percent(numbers['best_of_unscored'])} of the tasks had no scored try to choose from")
