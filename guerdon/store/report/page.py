"""The page: what stands where. Numbers come from `Numbers` by key; words are escaped by `markup.el`."""

from __future__ import annotations

import base64
import hashlib
import json

from guerdon.store.folder import resume_command
from guerdon.store.report.charts import line_chart, spark
from guerdon.store.report.draws import BY_KIND, draws_section
from guerdon.store.report.examples import RANKS
from guerdon.store.report.header import evaluations, header, troubles
from guerdon.store.report.markup import Html, Style, el, free, join, key_of, show
from guerdon.store.report.numbers import Numbers
from guerdon.store.report.rollout_view import legend, rollout
from guerdon.store.report.style import CSS, SCRIPT
from guerdon.store.run import Run

POLICY = {  # by the last part of a metric's name
    "entropy": "Entropy",
    "loss": "Loss",
    "grad_norm": "Gradient norm",
    "lr": "Learning rate",
}
REWARD_LEAD = "Mean over the tracks of each step; the band is one standard deviation to either side."
PLAY = {"length": "Length", "tokens_per_second": "Tokens per second", "failed": "Share of failed episodes"}


def page(run: Run, numbers: Numbers) -> Html:
    """The whole document."""
    study = run.card.get("kind") == "study"
    drawn: list[str] = []
    body = [header(run, numbers), *_unfinished(run), troubles(numbers)]
    body += [_inner_runs(numbers), _result(numbers)] if study else [
        evaluations(numbers), *_charts(numbers, drawn), *draws_section(numbers), _examples(numbers), _all_metrics(numbers)
    ]  # fmt: skip
    body.append(_made_of(run))
    body.append(el("footer", "Every number on this page is read from the run folder beside it: events and rollouts."))
    title = " · ".join(x for x in (run.name, str((run.card.get("wish") or {}).get("task") or ""), "guerdon") if x)
    return join(
        [
            Html("<!doctype html>\n"),
            el("html", _head(title), el("body", el("main", *body), *_data(numbers, drawn)), lang="en"),
        ]
    )


def _head(title: str) -> Html:
    """Nothing may be loaded or run but the page's own style and script, whatever slipped into it."""
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("title", title, data_text=True),
        el("style", Html(CSS)),
    )


def _data(numbers: Numbers, drawn: list[str]) -> list[Html]:
    """The drawn curves in full precision, for the read-outs and for whoever wants them."""
    if not drawn:
        return []
    curves = {
        key_of(name): {
            "metric": c.metric,
            "step": c.steps,
            "value": c.value,
            **({"std": c.std} if c.std is not None else {}),
        }
        for name, c in numbers.curves.items()
        if name in drawn
    }
    inside = json.dumps(curves, allow_nan=False).replace("<", "\\u003c")  # a name must not close the block
    return [el("script", Html(inside), type="application/json", id="curves"), el("script", Html(SCRIPT))]


def _unfinished(run: Run) -> list[Html]:
    if run.status == "complete":
        return []
    command = resume_command(run.folder) if run.card.get("plain") else f"gd.train(recipe, resume={run.folder.named!r})"
    return [el("p", "Go on with this run: ", free(command, "code"), class_="note")]


# --- charts -----------------------------------------------------------------------------------------------------


def _charts(numbers: Numbers, drawn: list[str]) -> list[Html]:
    """Sections of charts; `drawn` collects the names of those shown."""
    curves = {n: c for n, c in numbers.curves.items() if not _twin(n, numbers) and not n.startswith(BY_KIND)}
    rewards = [n for n, c in curves.items() if c.std is not None and n.partition("@")[0] not in PLAY]
    rewards.sort(key=lambda n: RANKS.index(n.partition("@")[0]) if n.partition("@")[0] in RANKS else len(RANKS))
    policy = [n for n in curves if "/" in n and (_last(n) in POLICY or _last(n).startswith("kl"))]
    policy.sort(key=lambda n: (not _last(n).startswith("kl"), _last(n) != "entropy"))
    play = [n for n in curves if n.partition("@")[0] in PLAY or (_last(n) == "failed" and "/" in n)]
    play.sort(key=lambda n: list(PLAY).index(n.partition("@")[0]) if n.partition("@")[0] in PLAY else len(PLAY))
    sections = (
        ("Reward and its components", REWARD_LEAD, "reward", rewards),
        ("Policy", "What the updates did: how far it moved, how sure it has become.", "policy", policy),
        ("Rollouts", "How long they were, how fast they came, and what failed.", "play", play),
    )
    found = []
    for title, lead, tone, names in sections:
        if names:
            charts = [line_chart(curves[n], _title(n), len(drawn) + i, numbers.values) for i, n in enumerate(names)]
            drawn += names
            grid = el("div", *charts, class_=f"grid {tone}")
            found.append(el("section", el("h2", title), el("p", lead, class_="lead"), grid))
    return found


def _twin(name: str, numbers: Numbers) -> bool:
    """Whether a role's curve is the common one over again, as when only that role is scored."""
    role = name.rpartition("@")[2].removesuffix("/failed")
    common = numbers.curves.get(name.replace(f"@{role}", "", 1)) if "@" in name else None
    return common is not None and common.value == numbers.curves[name].value


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def _title(name: str) -> str:
    """A known metric in words; any other by its own name."""
    last = _last(name)
    if "/" in name and last.startswith("kl"):
        other = last.removeprefix("kl").lstrip("_")
        return "KL to the sampling policy" if other == "old" else join(["KL to ", free(other)]) if other else "KL"
    if "/" in name and last == "failed":
        return join(["Failed: ", free(name.removesuffix("/failed"))])
    return POLICY.get(last, name) if "/" in name else PLAY.get(name, name)


def _all_metrics(numbers: Numbers) -> Html:
    """Every metric in a table, folded away."""
    if not numbers.curves:
        return Html("")
    names = ("metric", "", "first", "last", "lowest", "highest", "steps with a value")
    rows = []
    for name, curve in sorted(numbers.curves.items()):
        ends = [key_of("curve", f"{curve.metric}@{curve.steps[i]}") for i in (curve.valued[0], curve.valued[-1])]
        keys = [*ends, key_of("least", name), key_of("most", name)]
        cells = [*(_cell(numbers, key) for key in keys), _cell(numbers, key_of("count", name), "count")]
        rows.append(el("tr", free(curve.metric, "th", scope="row"), el("td", spark(curve)), *cells))
    head = el("thead", el("tr", *(el("th", n, scope="col") for n in names)))
    table = el("div", el("table", head, el("tbody", *rows), class_="list"), class_="wide")
    return el("details", el("summary", "All metrics"), table, class_="more play")


def _cell(numbers: Numbers, key: str, style: Style = "number") -> Html:
    if key not in numbers.values:
        return el("td", el("span", "none", class_="quiet"))
    return el("td", el("data", show(numbers.values[key], style), data_key=key))


# --- rollouts, parts, studies ---------------------------------------------------------------------------------


def _examples(numbers: Numbers) -> Html:
    """Tracks of the first and last stored step, each batch with its own scale of colours."""
    lead = "Each step in the colour of its advantage: green was reinforced, red pushed down. Point at one to read it."
    if not numbers.examples:
        lead = "No rollouts are stored in this run."
    found = [el("h2", "Example rollouts"), el("p", lead, class_="lead")]
    for group in dict.fromkeys(e.group for e in numbers.examples):
        mine = [e for e in numbers.examples if e.group == group]
        key = key_of(group, "step")
        words = "The batch that broke step " if mine[0].stored == "faults" else "Step "
        found += [
            el("h3", words, el("data", show(numbers.values[key], "count"), data_key=key)),
            legend(group, numbers.values),
        ]
        found += [rollout(e, numbers.values) for e in mine]
    return el("section", *found)


def _made_of(run: Run) -> Html:
    """What the run was made of, as its card says it."""
    card = {k: v for k, v in run.card.items() if k in ("settings", "data", "options", "parts")}
    text = json.dumps(card, indent=2, ensure_ascii=False)
    return el("details", el("summary", "What it was made of"), free(text, "pre"), class_="more")


def _inner_runs(numbers: Numbers) -> Html:
    """A study's runs, each with a way to its own report."""
    if not numbers.inner:
        return el("p", "This study has no runs yet.", class_="lead")
    rows = []
    for inner in numbers.inner:
        keys = [key_of("inner", inner.folder, n) for n in ("seed", "steps_done", "steps")]
        shares = [key_of("inner", inner.folder, n) for n in ("before", "after")]
        link = el("a", inner.folder, href=f"inner/{inner.folder}/report.html", data_text=True)
        cells = [*(_cell(numbers, k, "count") for k in keys), *(_cell(numbers, k, "share") for k in shares)]
        rows.append(el("tr", el("td", link), el("td", free(inner.name)), *cells, el("td", free(inner.status))))
    names = ("run", "recipe", "seed", "steps done", "of", "held-out before", "after", "status")
    head = el("thead", el("tr", *(el("th", n, scope="col") for n in names)))
    table = el("div", el("table", head, el("tbody", *rows), class_="list"), class_="wide")
    return el("section", el("h2", "Runs of this study"), table)


def _result(numbers: Numbers) -> Html:
    """What a study's body returned, leaf by leaf."""
    rows = []
    for name, value in numbers.result:
        key = key_of("result", name)
        words = value if isinstance(value, str) else json.dumps(value)
        cell = _cell(numbers, key) if key in numbers.values else el("td", free(words))
        rows.append(el("tr", free(name, "th", scope="row"), cell))
    return (
        el("section", el("h2", "Result"), el("table", el("tbody", *rows), class_="list narrow")) if rows else Html("")
    )
