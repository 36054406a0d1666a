"""The `guerdon` command: its verbs, and how mistakes end.

A mistake of the user's is one line and an exit code; anything else that escapes is a bug of ours and keeps its traceback.
Verbs import what they need when they run, so that `--help` and `list recipes` never wait for torch.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

import guerdon
from guerdon.cli.advise import advise
from guerdon.cli.audit import audits, check
from guerdon.cli.compare_runs import compare
from guerdon.cli.demo import demo
from guerdon.cli.doctor import doctor
from guerdon.cli.eval import evaluate
from guerdon.cli.export import export
from guerdon.cli.list import list_names
from guerdon.cli.models import models
from guerdon.cli.options import examples
from guerdon.cli.output import print_json
from guerdon.cli.prove import prove
from guerdon.cli.replay import replay
from guerdon.cli.serve import serve
from guerdon.cli.show import show
from guerdon.cli.streams import lasting_streams
from guerdon.cli.train import INTERRUPTED, InGroups, train
from guerdon.cli.view import view
from guerdon.core.errors import CtrlC, InputNote, Notice, RunStopped, UserError, ended_by, take_ctrl_c, unknown
from guerdon.core.renamed import Renamed

KEEPING = {
    "train",
    "prove",
    "serve",
    "view",
    "demo",
    "export",
    "models",
}  # verbs that do more than print: what they did stays, even if their output is not read
LOST = 1  # the output of another verb could not be written
ELSEWHERE = {  # flags of other trainers, and what to type here
    **dict.fromkeys(("--lr", "--learning-rate"), "the learning rate is --set lr=2e-5"),
    **dict.fromkeys(
        ("--epochs", "--num-epochs", "--num-train-epochs"),
        "a run's length is --steps N; passes over each batch are --set learn.epochs=N",
    ),
    **dict.fromkeys(
        ("--batch-size", "--train-batch-size", "--per-device-train-batch-size"),
        "a step has --set prompts=N problems and --set tries=N answers to each",
    ),
    **dict.fromkeys(
        ("--gradient-accumulation-steps", "--micro-batch-size"),
        "passes are cut to fit memory; --set learn.micro=N sets their rows and changes no result",
    ),
    **dict.fromkeys(("--group-size", "--num-generations", "--n-samples"), "answers to each problem are --set tries=N"),
    **dict.fromkeys(("--beta", "--kl", "--kl-coef"), "the weight of the KL penalty is --set kl=0.04"),
    **dict.fromkeys(
        ("--max-completion-length", "--max-new-tokens", "--max-tokens"), "answers are limited by --set max_tokens=N"
    ),
    "--temperature": "the sampling temperature is --set temperature=1.0",
    "--max-steps": "a run's length is --steps N",
    **dict.fromkeys(("--dataset", "--dataset-name", "--train-file"), "problems of your own are --data FILE"),
    **dict.fromkeys(("--model-name", "--model-name-or-path"), "the model is --model NAME|DIR"),
    **dict.fromkeys(("--reward-func", "--reward-funcs", "--reward-fn"), "the reward is --reward FILE.py:NAME"),
    **dict.fromkeys(("--output", "--output-dir"), "the run's folder is --out DIR"),
    "--report-to": "a logger is --log NAME",
    "--resume-from-checkpoint": "a run is resumed by --resume DIR",
    "--eval-steps": "evaluations are set by --eval-every N",
    "--save-steps": "checkpoints are set by --save-every N",
    **dict.fromkeys(("--lora", "--lora-r", "--use-peft"), "an adapter is --set lm.lora=RANK"),
}
LONGEST = 4000  # characters of a line that refuses something

# typer carries its own copy of click in newer versions: this is whichever class it raises when a command line is wrong
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


class Verbs(TyperGroup):
    """The group of verbs; an unknown one is refused the way every unknown name is."""

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order of use: groups of verbs would else come last."""
        names = super().list_commands(ctx)
        return sorted(names, key=lambda name: names.index("check") + 0.5 if name == "audit" else names.index(name))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.commands:
            raise unknown("verb", args[0], self.commands)
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=Verbs,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(
    invoke_without_command=True,
    epilog=examples(
        "guerdon doctor                                             check the installation",
        "guerdon demo                                               see a language model learn, in three minutes",
        "guerdon list                                               a summary of what there is",
        "guerdon advise                                             which method fits your data and your problem",
        "guerdon show grpo                                          what a recipe is made of",
        "guerdon check my.py:right --task trace:3                   test a reward before you train on it",
        "guerdon audit my.py:right --task trace:3                   find out what it pays for, and how to fix it",
        "guerdon train grpo --task successor --model tabular        train; the run goes to runs/",
        "guerdon eval runs/grpo-successor-001                       held-out accuracy of the trained model",
    ),
)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> int:
    """Guerdon: reward engineering in reinforcement learning.

    Write a reward, test it, train with it, watch it. `guerdon VERB --help` explains a verb by examples.
    """
    if version:
        print(f"guerdon {guerdon.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
    return 0


app.command(
    "check",
    epilog=examples(
        "guerdon check my.py:right --task trace:3",
        "guerdon check my.py:right --data sums.jsonl --prompt question --answer result",
        "guerdon check my.py:right --task trace:3 --model sprig     also on a model's answers",
        "guerdon check numeric --task chain:2 --problems 50 --json",
        "guerdon check --env CartPole-v1                            an environment",
        "guerdon check my.py:r --env my_env.py:make                 and a reward of its steps",
    ),
)(check)
app.add_typer(audits, name="audit")
app.command(
    "train",
    cls=InGroups,
    epilog=examples(
        "guerdon train grpo --task successor --model tabular --steps 200",
        "guerdon train grpo --task countdown:2 --steps 20           with sprig, the shipped model",
        "guerdon train grpo --task successor:2 --model tabular --set lr=0.05 --set learn.clip=0.5",
        "guerdon train grpo --data sums.jsonl --prompt question --answer result --model tabular",
        "guerdon train grpo --data my.csv --test test.csv --check number --system 'Be brief.' --model sprig",
        "guerdon train grpo --task successor --model tabular --reward my.py:brief --seed 3 --out runs/brief",
        "guerdon train grpo --task countdown:2 --model sprig --reward runs/reward_model-countdown-2-001",
        "guerdon train ./mine.py --task successor --model tabular --json",
        "guerdon train grpo --task countdown:4 --model sprig --dry-run",
        "guerdon train ppo_control --env desk:reach                 control; --reward my.py:r pays for env steps",
        "guerdon train --resume runs/grpo-successor-001",
        "guerdon train --again runs/grpo-successor-001 --set lr=0.5 --seed 1",
    ),
)(train)
app.command(
    "eval",
    epilog=examples(
        "guerdon eval runs/grpo-successor-001                       on the task it was trained for",
        "guerdon eval tabular --task successor:2 --k 4 --tasks 200",
        "guerdon eval runs/grpo-successor-001 --data sums.jsonl --prompt question --answer result --greedy",
        "guerdon eval sprig --task countdown:2 --best-of 4 --reward runs/reward_model-countdown-2-001",
        "guerdon eval sprig --task equation:6 --search beam --scorer runs/process_reward_model-equation-6-001",
        "guerdon eval sprig --test test.csv --reward my.py:brief    all rows of a file, with the mean reward",
        "guerdon eval runs/ppo_control-001 --tasks 200              episodes in the environment it was trained in",
    ),
)(evaluate)
app.command(
    "list",
    epilog=examples(
        "guerdon list                           a summary of everything",
        "guerdon list recipes --family house    one line each",
        "guerdon list parts --family credit     what recipes are made of",
        "guerdon list recipes --for sparse      methods for a problem, by what was measured",
        'guerdon list --search "length penalty"',
        "guerdon list runs --json               everything, for programs",
    ),
)(list_names)
app.add_typer(models, name="models")
app.command(
    "advise",
    epilog=examples(
        "guerdon advise                                             asks what you have and what goes wrong",
        "guerdon advise --data my.csv --problem sparse --model smollm2",
        "guerdon advise --have preferences --json",
    ),
)(advise)
app.command(
    "show",
    epilog=examples(
        "guerdon show grpo",
        "guerdon show grpo --task parity --model tabular --set kl=0.04",
        "guerdon show ./mine.py",
        "guerdon show centre                    a part or a reward, and what its knobs do",
        "guerdon show runs/grpo-successor-001",
    ),
)(show)
app.command(
    "compare",
    epilog=examples(
        "guerdon compare runs/grpo-trace-001 runs/grpo-trace-002    the second against the first",
        "guerdon compare runs/plain-* runs/brief-*                  seeds of one recipe are pooled",
        "guerdon compare runs/a runs/b --metric pass@4 --html compared.html",
        'guerdon compare runs/a runs/b --prompt "chain 8 +7" --step 40',
    ),
)(compare)
app.command(
    "prove",
    epilog=examples(
        "guerdon prove dump                          its claim, by the rule: evidence/dump.json and a page",
        "guerdon prove dump sec --quick              a look in minutes, on a laptop",
        "guerdon prove ./mine.py --task countdown:3  a recipe of your own",
        "guerdon prove --family curriculum --jobs 8",
        "guerdon prove --calibrate                   how often does an arm seem better than itself?",
    ),
)(prove)
app.command(
    "replay",
    epilog=examples(
        "guerdon replay runs/grpo-successor-001 --reward my.py:brief",
        "guerdon replay runs/grpo-successor-001 --reward my.py:brief --step 0 --step 50 --top 20",
        "guerdon replay runs/grpo-successor-001 --reward my.py:brief --column correct --json",
    ),
)(replay)
app.command(
    "serve",
    epilog=examples(
        "guerdon serve exact                                        a built-in reward, on http://127.0.0.1:8000",
        "guerdon serve my.py:formula --port 9000",
        "GUERDON_TOKEN=... guerdon serve my.py:formula --host 0.0.0.0 --queue 1000",
        "guerdon serve my.py:brief --tokenizer sprig                counts tokens for gd.length and others",
        "guerdon serve my.py:formula --missing 0                    for OpenRLHF: http://any:TOKEN@HOST:8000/get_reward",
    ),
)(serve)
app.command(
    "view",
    epilog=examples(
        "guerdon view                                               every run in runs/, on http://127.0.0.1:7380",
        "guerdon view runs/grpo-countdown-001 runs/grpo-countdown-002",
        "guerdon view /mnt/runs --port 9000 --open",
    ),
)(view)
app.command(
    "export",
    epilog=examples(
        "guerdon export runs/grpo-countdown-001 my-model            merged, with a model card",
        "guerdon export runs/grpo-countdown-001 my-lora --adapter   the LoRA adapter alone",
        "guerdon export runs/reward_model-001 my-rm --name rm       a scorer, as a sequence classifier",
    ),
)(export)
app.command("demo", epilog=examples("guerdon demo", "guerdon demo --task countdown:4 --steps 40"))(demo)
app.command("doctor", epilog=examples("guerdon doctor", "guerdon doctor --json"))(doctor)


def main(args: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit code."""
    words = list(sys.argv[1:] if args is None else args)
    with lasting_streams() as out:
        code = _run(words)
    return LOST if code == 0 and out.lost and not KEEPING.intersection(words[:1]) else code


def _run(words: list[str]) -> int:
    as_json = "--json" in words
    try:
        with warnings.catch_warnings(), _ctrl_c():
            warnings.showwarning = _noticed(warnings.showwarning)
            code = _command().main(words, prog_name="guerdon", standalone_mode=False)
    except UserError as error:  # a class of a user's own may claim to be none
        code = _refuse(str(error), error.exit_code or RunStopped.exit_code, as_json)
    except UsageError as error:
        code = _refuse(_usage(error), UserError.exit_code, as_json)
    except typer.Abort as error:
        pressed = isinstance(error.__cause__, CtrlC)
        code = INTERRUPTED if pressed else _refuse("unexpected end of input", RunStopped.exit_code, as_json)
    return int(code or 0)


def _ended_by_itself(verb: Callable[..., int]) -> Callable[..., int]:
    """A verb that alone decides how it ends: any other end (`sys.exit` in a user's file, a typer exit raised there, a
    KeyboardInterrupt without Ctrl-C) is an error with its line and an exit code other than 0."""

    @functools.wraps(verb)
    def run(*args: Any, **options: Any) -> int:
        try:
            return verb(*args, **options)
        except BaseException as error:
            stopped = ended_by(error)
            if stopped is None:  # reported already, a bug of ours, or the user's own Ctrl-C
                raise
            raise stopped from error

    return run


for _verb in (*app.registered_commands, *audits.registered_commands, *models.registered_commands):
    assert _verb.callback is not None
    _verb.callback = _ended_by_itself(_verb.callback)


@functools.cache
def _command() -> Any:
    """All verbs with their options, once for all lines that a process runs."""
    return get_command(app)


@contextmanager
def _ctrl_c() -> Iterator[None]:
    """While a verb runs, the user's Ctrl-C is distinguished from a KeyboardInterrupt that code raises."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:  # what this process was started to ignore stays ignored
        signal.signal(signal.SIGINT, take_ctrl_c)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _noticed(plain: Callable[..., None]) -> Callable[..., None]:
    """Shows our own notices as one line without a place in the code, each once; other warnings as before."""
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, (Notice, Renamed)):
            line = f"{'' if issubclass(category, InputNote) else 'warning: '}{message}"
            if line not in shown:
                shown.add(line)
                print(line, file=sys.stderr, flush=True)
        else:
            plain(message, category, *where, **more)

    return show


def _refuse(message: str, code: int, as_json: bool) -> int:
    line = " ".join(message.split("\n"))
    if len(line) > LONGEST:  # a value that is quoted may be of any length; what to do about it stands at the end
        line = f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}"
    print(f"guerdon: {line}", file=sys.stderr, flush=True)
    if as_json:
        print_json({"error": line, "exit_code": code})
    return code


def _usage(error: Any) -> str:
    """Typer's errors about a command line, in our words."""
    context = error.ctx
    wrong = getattr(error, "option_name", None)
    if wrong is not None and "No such option" in error.message:
        allowed = [o for p in context.command.get_params(context) for o in p.opts if o.startswith("--")]
        elsewhere = ELSEWHERE.get(wrong.casefold().replace("_", "-"))
        if elsewhere and "--set" in allowed:
            return f"unknown option {wrong!r}: {elsewhere}"
        return str(unknown("option", wrong, allowed))
    message = str(error.format_message()).rstrip(".")
    help_line = f" (see {context.command_path} --help)" if context is not None else ""
    return message[:1].lower() + message[1:] + help_line


def program() -> int:
    """The program itself: a bug of ours, too, is reported in text without terminal effects. Threads of torch's, which is not
    loaded yet, wait for each other asleep: beside another busy program those that ask in a loop slow each other several times
    over."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    sys.excepthook = _told
    return main()


def _told(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    with lasting_streams():
        traceback.print_exception(kind, error, trace)


if __name__ == "__main__":
    sys.exit(program())
