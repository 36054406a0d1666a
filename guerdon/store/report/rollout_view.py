"""A track as people read it: what was shown, what was said, each step coloured by its advantage, its columns beside it."""

from __future__ import annotations

from guerdon.core.episode import End
from guerdon.store.report.examples import STEPS_SHOWN, Entry, Example, Piece
from guerdon.store.report.markup import Html, Style, el, free, join, key_of, show

REASONS = {"NOT_APPLICABLE": "not applicable", "FAILED": "failed", "TIMED_OUT": "timed out", "VALUE": "no value"}
ENDS = {
    End.DONE: "ended by itself",
    End.CUT: "cut short by a limit",
    End.FAILED: "failed",
    End.STOPPED: "stopped at a stop string",
}


def rollout(example: Example, values: dict[str, float]) -> Html:
    """The card of one track."""
    head = el(
        "header",
        el("span", free(example.label), class_="rank"),
        *([free(example.role, class_="role")] if example.role else []),
        el("span", ENDS[example.pieces[-1].segment.end], class_="quiet"),
        el("span", _value(values, key_of(example.group, example.track, "length"), "count"), " steps", class_="quiet"),
    )
    said = [turn for piece in example.pieces for turn in _turn(example, piece, values)]
    answer = example.episode.task.answer
    if answer:
        said.append(
            el("p", el("span", "expected", class_="who"), free(answer, "span", class_="said plain", dir="auto"))
        )
    if "error" in example.episode.info:
        said.append(_error("the environment broke", str(example.episode.info["error"])))
    rows = [row for entry in example.entries for row in _rows(entry, values)]
    beside = el("table", el("tbody", *rows), class_="columns") if rows else Html("")
    return el("article", head, el("div", el("div", *said, class_="talk"), beside, class_="body"), class_="rollout")


def legend(group: str, values: dict[str, float]) -> Html:
    """What the colours mean, with the batch's largest advantage at both ends."""
    key = key_of(group, "largest")
    if key not in values:
        return el("p", "This batch has no advantages: nothing is coloured.", class_="quiet legend")
    number = el("data", show(values[key]), data_key=key)
    return el(
        "p",
        el("span", "advantage", class_="quiet"),
        el("span", "−", number),
        el("span", "", class_="ramp", role="img", aria_label="red below zero, green above, grey without a value"),
        el("span", "+", number),
        el("span", el("span", "∙", class_="t none"), " no value", class_="quiet"),
        class_="legend",
    )


def _turn(example: Example, piece: Piece, values: dict[str, float]) -> list[Html]:
    shown = el("p", el("span", "shown", class_="who"), free(piece.view, class_="said plain", dir="auto"))
    steps = _characters(example, piece, values) if piece.chars else _as_one(example, piece, values)
    return [shown, el("div", el("span", "said", class_="who"), el("div", steps, class_="said"), class_="turn")]


def _characters(example: Example, piece: Piece, values: dict[str, float]) -> Html:
    """One coloured character a step, an end mark for the end action; a long tail is coloured as one."""
    rows = piece.rows[:STEPS_SHOWN]
    signs = [*piece.text, el("span", "∎", class_="end-mark")][: len(rows)]
    steps = [_step(example, row, sign, values) for row, sign in zip(rows, signs, strict=True)]
    rest = _block(example, piece, "rest", piece.text[STEPS_SHOWN:], values) if len(piece.rows) > STEPS_SHOWN else ""
    return el("div", *steps, rest, class_="text", dir="auto", data_text=True)


def _as_one(example: Example, piece: Piece, values: dict[str, float]) -> Html:
    """The text by its mean advantage, and under it a strip with one cell a step."""
    text = el("div", _block(example, piece, "whole", piece.text, values), class_="text", dir="auto", data_text=True)
    cells = [_step(example, row, "", values) for row in piece.rows[:STEPS_SHOWN]]
    more = key_of(example.group, "rest", f"steps@{piece.rows.start}")
    tail = el("p", "and ", _value(values, more, "count"), " steps more", class_="quiet") if more in values else ""
    return join([text, el("div", *cells, class_="strip"), tail])


def _step(example: Example, row: int, sign: str, values: dict[str, float]) -> Html:
    keys = [key_of(example.group, "row", f"{name}@{row}") for name in ("advantage", "logp")]
    return _coloured(example, keys, sign, "", values)


def _block(example: Example, piece: Piece, what: str, text: str, values: dict[str, float]) -> Html:
    keys = [key_of(example.group, what, f"{name}@{piece.rows.start}") for name in ("advantage", "logp")]
    return _coloured(example, keys, text, "mean ", values)


def _coloured(example: Example, keys: list[str], sign: str, lead: str, values: dict[str, float]) -> Html:
    """A stretch of text in the colour of its advantage, with its advantage and log-prob to be read on pointing at it."""
    largest = values.get(key_of(example.group, "largest"), 0.0)
    number = values.get(keys[0])
    kind = "none" if number is None else "pos" if number > 0 else "neg" if number < 0 else "nil"
    depth = abs(number) / largest if number and largest else 0.0
    styles: tuple[Style, ...] = ("signed", "number")
    words = [
        f"{lead}{name} {show(values[key], style) if key in values else 'none'}"
        for name, key, style in zip(("advantage", "log-prob"), keys, styles, strict=True)
    ]
    return el(
        "span",
        sign,
        class_=f"t {kind}",
        style=f"--a:{0.12 + 0.58 * depth:.2f}" if depth else None,
        title=", ".join(words),
        data_title_keys=" ".join(k for k in keys if k in values) or None,
    )


def _rows(entry: Entry, values: dict[str, float]) -> list[Html]:
    """A column's name and number, or why it has none; the exception and the detail on lines of their own."""
    if entry.key is not None:
        said = _value(values, entry.key, "number")
    else:
        said = el("span", REASONS[entry.reason], class_=f"reason {entry.reason.lower().replace('_', '-')}")
    found = [el("tr", free(entry.name, "th", scope="row"), el("td", said))]
    if entry.error:
        found.append(el("tr", el("td", _error("", entry.error), colspan=2)))
    if entry.detail:
        found.append(el("tr", free(entry.detail, "td", class_="detail", colspan=2)))
    return found


def _error(lead: str, error: str) -> Html:
    """The exception's last line, the whole of it when opened."""
    line = (error.strip().splitlines() or ["no message"])[-1]
    head = el("summary", f"{lead}: " if lead else "", free(line))
    return el("details", head, free(error.strip(), "pre"), class_="error")


def _value(values: dict[str, float], key: str, style: Style) -> Html:
    return el("data", show(values[key], style), data_key=key)
