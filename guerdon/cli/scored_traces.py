"""What a reward gives to the conversations of a file: the part of `guerdon replay` that needs no run."""

from __future__ import annotations

from typing import Any

from guerdon.cli.output import Output
from guerdon.cli.streams import shown
from guerdon.core.errors import UserError

WIDTH = 60  # characters that are shown of the last text


def replay_traces(output: Output, path: str, reward: str, top: int, alone: bool = True) -> int:
    """Score the traces of a file and report the results. `alone`: no option is about a run."""
    from guerdon.data.trace_files import read_traces
    from guerdon.results.run_traces import score_traces

    if not alone:
        raise UserError(f"{path} is a file of traces, without steps or columns: remove --step and --column")
    episodes = read_traces(path)
    scores = score_traces(episodes, reward)
    rows: list[dict[str, Any]] = [
        {
            "trace": episode.task.id,
            "reward": value,
            "calls": episode.info["calls"],
            "errors": sum(episode.info["errors"].values()),
            "said": next((s.text for s in reversed(episode.segments) if s.text), ""),
        }
        for episode, value in zip(episodes, scores.whole, strict=True)
    ]
    if not output.as_json:
        _tell(output, path, reward, scores, rows, top)
    output.finish({"traces": path, "reward": reward, "means": scores.means, "scores": rows})
    return 0


def _tell(output: Output, path: str, reward: str, scores: Any, rows: list[dict[str, Any]], top: int) -> None:
    scored = [row for row in rows if row["reward"] is not None]
    calls, errors = (sum(row[name] for row in rows) for name in ("calls", "errors"))
    told = {
        "traces": f"{path}: {len(rows):,} conversations, {calls:,} calls, {errors:,} of them errors",
        "reward": reward,
        "scored": f"{len(scored):,}, mean {scores.means['reward']:.4g}" if scored else "none",
        **{name: f"mean {mean:.4g}" for name, mean in scores.means.items() if name != "reward"},
        "broke": scores.broken_in_words(reward) or "",
    }
    output.pairs({name: text for name, text in told.items() if text})
    worst = sorted(scored, key=lambda row: row["reward"])[:top]
    if worst:
        output.say(f"the {len(worst)} with the lowest reward:")
        output.table(
            ("trace", "reward", "calls", "errors", "last message"),
            [
                (
                    r["trace"],
                    f"{r['reward']:.4g}",
                    f"{r['calls']}",
                    f"{r['errors']}",
                    shown(" ".join(r["said"][:WIDTH].split())),
                )
                for r in worst
            ],
        )


def _line(text: str) -> str:
    return shown(" ".join(text[:WIDTH].split()))
