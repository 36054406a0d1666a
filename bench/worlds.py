"""What reinforcement adds: GRPO from the built-in model in eight worlds, seed by seed, by the exams of proofs.

`python -m bench.worlds` runs what is missing and tells all that is known; `--tell` runs nothing; `--only sql python` runs some
of the worlds. Every run is a process, `--jobs` at a time, and is written to `records.jsonl` among the runs as soon as it ends;
one that was interrupted goes on. What is told comes from that file and from what was told before (`worlds_told.py`): runs that
stand in the figure's numbers are not made again. Leaves out: how it looks (`worlds_page.py`), how the game is trained
(`self_play.py`), other methods than GRPO (`compare.py`).
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.worlds_page import draw, renewed, table
from bench.worlds_told import Told, is_told, joined, told_in
from guerdon.core.errors import UserError
from guerdon.core.recipe import Claim
from guerdon.exams.tries import unpacked
from guerdon.models.shipped_models import version
from guerdon.prove.arms import Arm, make_arm
from guerdon.prove.jobs import RunJob
from guerdon.prove.known import Known
from guerdon.prove.proving import OPTIONS, How, run_trials
from guerdon.prove.records import Record, curve_of, mean_curve, score_of, start_of
from guerdon.prove.trial import WantedRun
from guerdon.runs.event_types import Evaluated
from guerdon.runs.run import Run
from guerdon.runs.whole_files import write_readable_json, write_text
from guerdon.training.build import versions
from guerdon.training.catalog import entries_in
from guerdon.training.record import Options

EDITION = "2"  # of these runs: another one makes all of them again
MODEL = "sprig"
SELF_PLAY = str(Path(__file__).with_name("self_play.py"))
TRIES = 16  # at a problem, of the model as it starts: what it can already do in some of them is there to be learned
AT_START = Options(rollouts_every=0, eval_tasks=64, eval_tries=TRIES, eval_drawn=True)
TRAINED, BEFORE = "trained", "before"  # a run, and the start's many tries
NAME = "worlds"
MICRO = 16384  # tokens of a pass: many runs share a GPU, and it changes no result


@dataclass(frozen=True)
class World:
    """A world that the model is trained in: 16 problems a step, 8 tries each."""

    title: str
    task: str
    max_tokens: int  # of a turn
    lr: float = 5e-5
    steps: int = 30
    more: str = ""  # settings of its own
    recipe: str = "grpo"

    @property
    def settings(self) -> str:
        return f"prompts=16 tries=8 lr={self.lr:g} max_tokens={self.max_tokens} learn.micro={MICRO} {self.more}".strip()

    def claim(self, model: str = "") -> Claim:
        """What the records of its runs are read by."""
        how: dict[str, Any] = {"task": self.task, "model": model, "settings": self.settings}
        return Claim(self.title, **how, budget=self.steps, unit="steps")

    def setting(self, model: str) -> dict[str, Any]:
        """All that decides its numbers, but for code and machine; `model` is the version."""
        return {
            "task": self.task, "recipe": self.recipe, "settings": self.settings, "steps": self.steps, "model": model
        }  # fmt: skip

    def arms(self, model: str, exam: Options, first: Options) -> dict[str, Arm]:
        """What is run with every seed: the training, and the model as it starts, with many tries."""
        claim, file = self.claim(model), "" if self.recipe == "grpo" else SELF_PLAY
        named = {TRAINED: (self.recipe, exam), BEFORE: (f"{self.recipe} steps=0", first)}
        beside = entries_in(file) if file else {}
        made = {kind: make_arm(text, claim, options, file, beside) for kind, (text, options) in named.items()}
        made[BEFORE] = replace(made[BEFORE], budget=None)
        return {kind: replace(arm, what=f"{self.task} {arm.what}") for kind, arm in made.items()}


WORLDS = {  # levels with room, and learning rates that one run of each learned by
    "calculator": World("calculator", "calculator/countdown:5", max_tokens=48, lr=1e-5),
    "interpreter": World("interpreter", "python/lists:7", max_tokens=112, lr=5e-5),
    "search": World("multi-hop search", "hops:7", max_tokens=32, lr=3e-5),
    "claims": World("claim verification", "claims:8", max_tokens=48, lr=5e-5),
    "sql": World("SQL", "text_to_sql:6", max_tokens=128, lr=5e-5, more="text_to_sql.checker=plain"),
    "python": World("Python functions", "functions:7", max_tokens=192, lr=3e-5, more="functions.checker=plain"),
    "pages": World("page actions", "forms:3", max_tokens=24, lr=3e-5),
    "game": World(
        "a game for two, by self-play", "nim:8", max_tokens=16, lr=1e-5, more="against=random", recipe="self_play"
    ),
}


# --- running ------------------------------------------------------------------------------------------------------


class WorldLedger(Known):
    """What runs came to, each under the name of its world, so that it can be told without building anything."""

    labels: Mapping[str, Mapping[str, Any]] = {}  # by the keys of runs

    def add(self, record: Record, ran: Iterable[str] = (), of: str = "") -> None:
        label = self.labels[record["key"]]
        super().add({**record, **label, "different": _different(self.ledger.parent / label["folder"])}, ran, of)

    @property
    def records(self) -> list[Record]:
        return [record for every in self.by_machine.values() for record in every.values()]


def _different(folder: Path) -> int:
    """How many different problems the last exam of a run had: a world may have fewer than are asked for."""
    return len(unpacked(Run(folder).events(Evaluated)[-1].problems[""]))


@dataclass(frozen=True)
class Field:
    """Worlds, the model that is trained in them, the seeds, and the exams."""

    worlds: Mapping[str, World]
    model: str = MODEL
    seeds: range = range(8)
    exam: Options = OPTIONS
    first: Options = AT_START

    def runs(self) -> dict[str, tuple[WantedRun, dict[str, Any]]]:
        """All that belongs to it, by key, with what the ledger is to say of it. A seed is run in all worlds before the next."""
        arms = {
            (name, kind): arm
            for name, world in self.worlds.items()
            for kind, arm in world.arms(self.model, self.exam, self.first).items()
        }
        every = {}
        for seed in self.seeds:
            for (name, kind), arm in arms.items():
                run = WantedRun(arm, seed)
                said = {"world": name, "kind": kind, "setting": self.worlds[name].setting(version(self.model))}
                every[run.key] = (run, {**said, "source": EDITION, "folder": run.folder})
        return every


@dataclass(frozen=True)
class _Rest:
    """The runs that are not known yet."""

    runs: Mapping[str, WantedRun]

    def wanted(self, known: Known) -> list[WantedRun]:
        return [run for key, run in self.runs.items() if known.get(key) is None]


def run_field(field: Field, how: How, earlier: Told | None = None) -> None:
    """Run what is missing: neither in the ledger nor told earlier, of this code and on such a machine."""
    how, here = how.from_here(), versions()
    missing = {
        key: (run, label)
        for key, (run, label) in field.runs().items()
        if not is_told(earlier or {}, label, run.seed, here)
    }
    ledger = WorldLedger.read(how.runs)
    assert isinstance(ledger, WorldLedger)
    ledger.labels = {key: label for key, (_, label) in missing.items()}
    run_trials([_Rest({key: run for key, (run, _) in missing.items()})], ledger, how, _progress)


def _progress(done: int, total: int, last: RunJob | None) -> None:
    print(f"{done} of {total}: {last.name if last else 'begin'}", flush=True)


# --- telling ------------------------------------------------------------------------------------------------------


def tell(
    records: Iterable[Record], worlds: Mapping[str, World], model: str, earlier: Told | None = None
) -> dict[str, Any]:
    """What a ledger's records of a model's version, and what was told earlier, say about worlds as they are set now. Of a world
    with fewer than two seeds nothing is told."""
    every = [record for record in records if "world" in record]
    told = {}
    for name, world in worlds.items():
        setting, mine = world.setting(model), None
        known = [r for r in every if r["world"] == name and r["setting"] == setting]
        trained = _alike([r for r in known if r["kind"] == TRAINED])
        if trained:
            source, machine = trained[0]["source"], trained[0]["machine"]
            before = [r for r in known if r["kind"] == BEFORE and (r["source"], r["machine"]) == (source, machine)]
            mine = {"title": world.title, **setting, **_measured(world, trained, before)}
        together = joined(mine, (earlier or {}).get(name), setting)
        if together is not None and len(together["runs"]) > 1:
            told[name] = together
    return {"comparison": NAME, "model": model, "worlds": told}


def _alike(records: Iterable[Record]) -> list[Record]:
    """Those of one code on one machine, seed after seed: where there are several, that which has most seeds, and is newest."""
    groups = defaultdict[tuple[str, str], dict[int, Record]](dict)
    for record in records:
        groups[record["source"], record["machine"]][record["seed"]] = record
    best = max(groups.values(), key=lambda g: (len(g), max(r["created"] for r in g.values())), default={})
    return [best[seed] for seed in sorted(best)]


def _measured(world: World, trained: list[Record], before: list[Record]) -> dict[str, Any]:
    claim = world.claim()
    curves = [curve_of(record, claim) for record in trained]
    runs = [
        {
            "seed": record["seed"],
            "start": start_of(record, claim.metric),
            "score": score_of(record, claim),
            "lengths": [record["points"][i]["result"]["length"] for i in (0, -1)],
            "exam": [record["points"][-1]["result"]["tasks"], record["different"]],
            "spent": record["spent"],
            "curve": curve,
            **{key: record[key] for key in ("created", "versions", "at_a_time", "weights")},
        }
        for record, curve in zip(trained, curves, strict=True)
    ]
    best = f"pass@{TRIES}"
    many = [{"seed": r["seed"], best: r["points"][0]["result"][best]} for r in sorted(before, key=lambda r: r["seed"])]
    return {"curve": mean_curve(curves), "before": many, "runs": runs, "source": trained[0]["source"]}


def publish(told: Mapping[str, Any], figures: Path, page: Path) -> None:
    """The numbers, the figure, and the page's table."""
    if not told["worlds"]:
        raise UserError(f"nothing is known of {told['model']} in any world: python -m bench.worlds")
    write_readable_json(figures / f"{NAME}.json", told)
    write_text(figures / f"{NAME}.svg", draw(told))
    write_text(page, renewed(page.read_text(encoding="utf-8"), told))
    print(table(told))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=WORLDS, default=list(WORLDS), help="run these worlds")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--runs", type=Path, default=Path("runs/worlds"))
    parser.add_argument("--jobs", type=int, default=0, help="runs at a time; 0: as many as the machine takes")
    parser.add_argument("--tell", action="store_true", help="run nothing")
    parser.add_argument(
        "--figures", type=Path, default=Path("docs/figures"), help="where worlds.json and worlds.svg go"
    )
    parser.add_argument("--page", type=Path, default=Path("docs/worlds_learned.md"))
    args = parser.parse_args()
    try:
        _run_and_tell(args)
    except UserError as error:
        sys.exit(f"worlds: {error}")


def _run_and_tell(args: argparse.Namespace) -> None:
    earlier = told_in(args.figures / f"{NAME}.json")
    try:
        if not args.tell:
            chosen = {name: WORLDS[name] for name in args.only}
            run_field(Field(chosen, args.model, range(args.seeds)), How(runs=args.runs, jobs=args.jobs), earlier)
    finally:  # a run that failed, or Ctrl-C, does not take away what the others came to
        records = WorldLedger.read(args.runs).records  # type: ignore[attr-defined]
        told = tell(records, WORLDS, version(args.model), earlier)
        if args.tell or told["worlds"]:
            publish(told, args.figures, args.page)


if __name__ == "__main__":
    main()
