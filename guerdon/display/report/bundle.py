"""The page's scripts and styles as they go into one file: modules joined into one script, without a build tool.

Every module becomes a function that gives what it exports, in the order in which modules need each other. The scripts are ours
and formatted by prettier, so imports and exports are the statements that begin a line.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

PAGE = Path(__file__).parent.parent / "page"
AT = "/page/"  # where the studio serves it
IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?function |const |class |let )", re.MULTILINE)
EXPORTED = re.compile(r"^export (?:async )?(?:function|const|class|let) (\w+)", re.MULTILINE)
FOREIGN = re.compile(r"^(?:import|export)\b.*|\bimport\(.*|</script.*|<!--.*", re.MULTILINE)
STYLES = ("base", "parts", "runs", "rollouts", "reading", "report")


def bundled_script(entry: str) -> str:
    """A module of the page, and all that it needs, as one script.

    >>> bundled_script("numbers.js").splitlines()[:2]
    ['"use strict";', 'const numbers_js = (() => {']
    """
    return _joined(entry, PAGE)


@functools.cache
def _joined(entry: str, folder: Path) -> str:
    order: list[str] = []
    _collect(entry, order, ())
    return '"use strict";\n' + "\n".join(map(_as_function, order)) + "\n"


def _collect(name: str, order: list[str], above: tuple[str, ...]) -> None:
    """A module after all that it imports."""
    assert name not in above, f"modules that import each other: {' -> '.join((*above, name))}"
    if name not in order:
        for _, source in IMPORT.findall(_text(name)):
            _collect(source.removeprefix(AT), order, (*above, name))
        order.append(name)


def _text(name: str) -> str:
    return (PAGE / name).read_text(encoding="utf-8")


def _as_function(name: str) -> str:
    text = _text(name)
    names = EXPORTED.findall(text)
    text = EXPORT.sub("", IMPORT.sub(_imported, text))
    rest = FOREIGN.search(text)
    assert rest is None, f"{name}: this cannot stand in one script: {rest[0]}"
    return f"const {_variable(name)} = (() => {{\n{text}return {{ {', '.join(names)} }};\n}})();"


def _imported(statement: re.Match[str]) -> str:
    names = re.sub(r"(\w+) as (\w+)", r"\1: \2", " ".join(statement[1].split()))
    return f"const {{ {names} }} = {_variable(statement[2].removeprefix(AT))};\n"


def _variable(name: str) -> str:
    """
    >>> _variable("runs/run_head.js")
    'runs__run_head_js'
    """
    return re.sub(r"\W", "_", name.replace("/", "__"))


@functools.cache
def bundled_style() -> str:
    return "".join((PAGE / "style" / f"{name}.css").read_text(encoding="utf-8") for name in STYLES)
