"""The first prompt of a run as the model saw it, token by token: the chat template's own words, a system prompt, the question.

The tokens are those of the stored rollouts, spelled by the tokenizer that lies with the trained model.
A run that has not ended has none yet, and the section notes that.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from guerdon.core.episode import Segment
from guerdon.display.report.examples import StoredBatch
from guerdon.runs.run import Run

TOKENS_SHOWN = 1000
LARGEST = 256 << 20  # bytes of a file that is read


def prompting(run: Run, batches: Sequence[StoredBatch]) -> dict[str, Any] | None:
    """What a model was shown first, in the first stored batch; None where that holds no language model's tokens. `tokens` are
    texts with their tones: special ones stand out, and of two neighbours one is shaded; none where no tokenizer is there."""
    segment = next((s for b in batches if not b.is_fault for e in b.batch.episodes for s in e.segments[:1]), None)
    role = "" if segment is None else segment.role
    models = run.config.get("models")
    name = _model_of(run.config, role)
    if segment is None or not isinstance(models, dict) or name not in models or segment.context.ndim != 1:
        return None
    folder = run.folder.models / name
    return {
        "role": role,
        "size": len(segment.context),
        "tokens": _spelled(folder / "tokenizer.json", segment),
        "system": _system(segment.view),
        "template": _template(folder),
    }


def _model_of(config: dict[str, Any], role: str) -> str:
    """Which of the run's models plays a role; a plain name, for it becomes a folder's."""
    try:
        name = str(config["parts"]["knobs"]["seats"].get(role, role))
    except (KeyError, TypeError, AttributeError):
        name = role
    return name if Path(name).name == name else ""


def _spelled(path: Path, segment: Segment) -> list[tuple[str, str]]:
    """The text of each of the first tokens, as it stands after the one before it: some tokenizers drop a text's first space."""
    text = _read(path)
    try:
        tokenizer = Tokenizer.from_str(text)
    except Exception:  # noqa: BLE001  of a file that is not there or damaged; `tokenizers` has no narrower kind
        return []
    special = {n for n, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    ids: list[int] = segment.context[:TOKENS_SHOWN].tolist()
    tokens: list[tuple[str, str]] = []
    for n, token in enumerate(ids):
        before = tokenizer.decode(ids[max(0, n - 1) : n], skip_special_tokens=False)
        both = tokenizer.decode(ids[max(0, n - 1) : n + 1], skip_special_tokens=False)
        tone = "special" if token in special else "odd" if n % 2 else "even"
        tokens.append((both.removeprefix(before), tone))
    return tokens


def _system(view: Any) -> str:
    """The text of a view's system message."""
    messages = view if isinstance(view, list) else []
    said = [m.get("content") for m in messages if isinstance(m, dict) and m.get("role") == "system"]
    return "\n".join(text if isinstance(text, str) else json.dumps(text) for text in said)


def _template(folder: Path) -> str:
    own = _read(folder / "chat_template.jinja")
    try:
        template = own or json.loads(_read(folder / "tokenizer_config.json") or "{}").get("chat_template")
    except (ValueError, AttributeError, RecursionError):
        return ""
    return template if isinstance(template, str) else ""


def _read(path: Path) -> str:
    """A plain file of a run folder; nothing of what is none: a folder may come from anywhere."""
    try:
        return path.read_text(encoding="utf-8") if path.is_file() and path.stat().st_size <= LARGEST else ""
    except (OSError, ValueError):
        return ""
