"""The head of the report: what ran, how far it came, what it scored on held-out tasks, what went wrong."""

from __future__ import annotations

from typing import Any

from guerdon.store.report.charts import spark, whiskers
from guerdon.store.report.markup import Html, Style, el, free, join, key_of, show
from guerdon.store.report.metric_curves import Curve
from guerdon.store.report.numbers import Numbers
from guerdon.store.run import Run

ENDS = ("_low", "_high")  # of an interval


def header(run: Run, numbers: Numbers) -> Html:
    kind = run.status.partition(":")[0]
    top = el("div", el("h1", free(run.name)), free(run.status, class_=f"status {kind}"), class_="top")
    words = [free(w) for w in _about(run, numbers)]
    about = el("p", *(w for i, word in enumerate(words) for w in ((" · ", word) if i else (word,))), class_="of")
    versions = run.card.get("versions") or {}
    made_with = el("p", free(" · ".join(f"{k} {v}" for k, v in versions.items())), class_="versions")
    return el("header", top, about if words else "", el("dl", *_facts(run, numbers), class_="facts"), made_with)


def _about(run: Run, numbers: Numbers) -> list[str]:
    """The task, the model and the reward, as they were asked for; for a recipe made in Python, as its parts say."""
    wish: dict[str, Any] = run.card.get("wish") or {}
    knobs = (run.card.get("parts") or {}).get("knobs")
    models = knobs.get("models") if isinstance(knobs, dict) else None
    made = (
        [m["part"] for m in models.values() if isinstance(m, dict) and "part" in m] if isinstance(models, dict) else []
    )
    made_of = ", ".join(map(str, made))
    task = wish.get("task") or _examined_on(numbers)
    return [str(w) for w in (task, wish.get("model") or made_of, wish.get("reward")) if w]


def _examined_on(numbers: Numbers) -> str:
    """The task of the first exam."""
    named = (value for e in numbers.evaluations for name, value in e.items() if name.rpartition("/")[2] == "task")
    return str(next(named, ""))


def _facts(run: Run, numbers: Numbers) -> list[Html]:
    values = numbers.values
    facts: list[tuple[str, str]] = []
    if run.card.get("kind") != "study":
        steps = [_data(values, "run/steps_done", "count"), " of ", _data(values, "card/steps", "count")]
        facts += [("steps", join(steps)), ("episodes", _data(values, "run/episodes", "count"))]
    seconds = values["run/seconds"]
    unit, sign = ("seconds", "s") if seconds < 600 else ("minutes", "min") if seconds < 36000 else ("hours", "h")
    facts += [
        ("tokens", _data(values, "run/tokens", "count")),
        ("tokens read", _data(values, "run/read", "count")),
        ("updates", _data(values, "run/updates", "count")),
        ("time in steps", join([_data(values, f"run/{unit}", "number"), f" {sign}"])),
    ]
    facts.append(("seed", _seed(values)))
    facts.append(("started", free(str(run.card.get("created", "unknown")).replace("T", " ").rstrip("Z"))))
    weights = run.weights if run.folder.events.exists() else None
    codes = [("recipe hash", str(run.card.get("hash", ""))), ("weights", weights or "not final yet")]
    found = [el("div", el("dt", name), el("dd", value)) for name, value in facts]
    return found + [el("div", el("dt", name), free(text, "dd", class_="code")) for name, text in codes]


def _seed(values: dict[str, float]) -> Html:
    return el("data", str(values["card/seed"]), data_key="card/seed") if "card/seed" in values else el("span", "none")


def _data(values: dict[str, float], key: str, style: Style, class_: str | None = None) -> Html:
    if key not in values:
        return el("span", "none", class_="quiet")
    return el("data", show(values[key], style), data_key=key, class_=class_)


# --- held-out accuracy --------------------------------------------------------------------------------------------


def evaluations(numbers: Numbers) -> Html:
    """Pass rates before and after with their intervals, every evaluation between in a table; then what else exams measured."""
    if not numbers.evaluations:
        return Html("")
    last = len(numbers.evaluations) - 1
    rates = [n for n in numbers.evaluations[last] if n.startswith("pass@") and not n.endswith(ENDS)]
    return join([_accuracy(numbers, rates, last) if rates else "", _other_exams(numbers, last)])


def _accuracy(numbers: Numbers, rates: list[str], last: int) -> Html:
    values = numbers.values
    lead = el(
        "p",
        _data(values, key_of("eval", last, "tasks"), "count"), " held-out tasks, ",
        _data(values, key_of("eval", last, "tries"), "count"), " tries each, mean length ",
        _data(values, key_of("eval", last, "length"), "number"), "; ",
        _data(values, key_of("eval", last, "missing"), "share"), " could not be checked. Lines are ",
        free("95 %"), " intervals over tasks; the hollow dot is before training.",
        class_="lead",
    )  # fmt: skip
    tiles = el("div", *(_rate(numbers, name, last) for name in rates), class_="grid reward")
    between = _history(numbers, rates[0]) if last > 1 else Html("")
    return el("section", el("h2", "Held-out accuracy"), lead, tiles, between)


def _other_exams(numbers: Numbers, last: int) -> Html:
    """The numbers of named exams, and of the other one those that are no accuracy: first, last and on the way."""
    values, rows = numbers.values, []
    told = ("steps_done", "tasks", "tries", "length", "missing")
    for name in numbers.evaluations[last]:
        key = key_of("eval", last, name)
        if key not in values or name in told or name.startswith("pass@") or name.endswith(ENDS):
            continue
        found = [values.get(key_of("eval", i, name)) for i in range(last + 1)]
        done = [int(e["steps_done"]) for e in numbers.evaluations]
        line = spark(Curve(name, name, done, found, None, last + 1)) if last else ""
        ends = (key_of("eval", 0, name), key, *(key_of("eval", last, f"{name}{end}") for end in ENDS))
        cells = [el("td", _data(values, end, "number") if end in values else "") for end in ends]
        rows.append(el("tr", free(name, "th", scope="row"), el("td", line), *cells))
    if not rows:
        return Html("")
    names = ("number", "", "first", "last", "from", "to")
    head = el("thead", el("tr", *(el("th", n, scope="col") for n in names)))
    table = el("table", head, el("tbody", *rows), class_="list narrow reward")
    return el("section", el("h2", "Exams"), el("div", table, class_="wide"))


def _rate(numbers: Numbers, name: str, last: int) -> Html:
    """One pass rate as a tile: before, after, and both on a line from none to all."""
    values = numbers.values
    key = key_of("eval", last, name)
    after = _data(values, key, "share")
    first = _data(values, key_of("eval", 0, name), "share", "was")
    change = [first, el("span", " → ", class_="was"), after] if last else [after]
    rows = [r for i, kind in ((0, "was"), (last, "is")) for r in _row(values, i, name, "is" if not last else kind)]
    said = [el("div", "before " if last else "so far ", *_between(values, 0, name), class_="quiet")]
    said += [el("div", "after ", *_between(values, last, name), class_="quiet")] if last else []
    return el(
        "div",
        el("div", free(name), class_="name"),
        el("div", *change, class_="change"),
        whiskers(rows[: 1 if not last else 2]),
        el("div", el("span", "none solved"), el("span", "all solved"), class_="ends"),
        *said,
        class_="tile",
    )


def _row(values: dict[str, float], i: int, name: str, kind: str) -> list[tuple[str, float, float, float]]:
    keys = [key_of("eval", i, n) for n in (name, f"{name}_low", f"{name}_high")]
    if any(k not in values for k in keys):
        return []
    value, low, high = (values[k] for k in keys)
    return [(kind, value, low, high)]


def _between(values: dict[str, float], i: int, name: str) -> list[str]:
    low, high = key_of("eval", i, f"{name}_low"), key_of("eval", i, f"{name}_high")
    return ["between ", _data(values, low, "share"), " and ", _data(values, high, "share")]


def _history(numbers: Numbers, name: str) -> Html:
    """Every evaluation on a line of its own."""
    rows = []
    for i in range(len(numbers.evaluations)):
        keys = [key_of("eval", i, n) for n in (name, f"{name}_low", f"{name}_high")]
        cells = [el("td", _data(numbers.values, k, "share")) for k in keys]
        steps = el("td", _data(numbers.values, key_of("eval", i, "steps_done"), "count"))
        rows.append(el("tr", steps, *cells, el("td", whiskers(_row(numbers.values, i, name, "is")))))
    names = ("steps done", free(name), "from", "to", "")
    head = el("thead", el("tr", *(el("th", n, scope="col") for n in names)))
    table = el("table", head, el("tbody", *rows), class_="list narrow reward")
    return el("div", el("h3", "While it trained"), el("div", table, class_="wide"))


# --- what went wrong ----------------------------------------------------------------------------------------------


def troubles(numbers: Numbers) -> Html:
    """Scores that failed or timed out, with the exception; then the run's own warnings."""
    said = []
    for missing in numbers.missing:
        counts = {n: key_of("missing", missing.column, n) for n in ("failed", "timed_out", "of", "steps")}
        lead = [
            free(missing.column), ": ", _data(numbers.values, counts["failed"], "count"), " failed and ",
            _data(numbers.values, counts["timed_out"], "count"), " timed out, of ",
            _data(numbers.values, counts["of"], "count"), " in ", _data(numbers.values, counts["steps"], "count"),
            " steps. None of them became a number.",
        ]  # fmt: skip
        line = (missing.first.strip().splitlines() or [""])[-1]
        why = (
            el("details", el("summary", free(line)), free(missing.first.strip(), "pre"), class_="error") if line else ""
        )
        said.append(el("div", *lead, why, class_="note bad"))
    said += [el("p", lead, free(text), class_="note") for lead, text in numbers.notes]
    return join(said)
