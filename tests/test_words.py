"""Words that are out: the README, the docs, every `--help`, message, docstring and comment use the field's terms."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from source_trees import tree
from typer.main import get_command

from guerdon.cli.main import app

ROOT = Path(__file__).parent.parent
OUT = {  # pattern: what to write
    r"\btokens (said|read)\b": "tokens generated, tokens processed",
    r"\bread/s\b": "processed/s",
    r"\b(both|all|it|they|which|that|runs?|was|were|is|are) sat\b|\bsits? (an?|the|no|its) exam|\bsat (no|an?|the|other|it) ": (
        "evaluated on"
    ),
    r"\btold apart\b|\btells? (them|it|two|right|rewards|answers|samples) apart\b|\bnot tell (them|it) apart\b": (
        "distinguished; no significant difference"
    ),
    r"\bby its idea\b": "confirmed by ablation",
    r"\bwhere \d[\d.]* counts\b": "minimum effect 0.02",
    r"\b(is|are|was|were) begun again\b": "restarted",
    r"\bbegins? anew\b|\b(made|makes?|drawn|drawing|scored|written|writes?|starts?|read) anew\b": "regenerated, restarted",
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\b(one )?who knows everything\b": "an oracle policy",
    r"\bplay(s|ed|ing)? on from\b|\bplaying on\b": "rollouts, Monte Carlo labels",
    r"\bwhat published methods come to\b": "results",
    r"\bfrom what is known\b": "from stored runs",
    r"\bpowers of ten\b": "log scale",
    r"^Told: ": "Note:",
    r"\btrying is dear\b": "sampling is expensive",
    r"\b(held|hold|holds|holding) (\S+ ){0,4}against\b": "test on, compare with",
    r"\bwhose truth is known\b": "with known labels",
    r"\blooks on\b(?! ahead)": "is logged, not used for training",
    r"\bwhat the tries are worth\b": "the rewards",
    r"\bby signs alone\b": "sign test",
    r"\bas many seeds as the rule gives\b": "inconclusive at the maximum number of seeds",
    r"\bbrings its own task\b": "has a fixed task",
    r"\b(is|are) (gone|going) on with\b|\bgo on with( it)?:": "resume",
    r"\b(trains?|trained|runs?) (\S+ ){0,3}once more\b": "rerun",
    r"\bput(s)? \S+ in (\S+ ){1,3}mouth\b|\bin the \S+'s mouth\b": "teacher-force",
    r"\bwhoever\b": "a noun",
    r"\bnobody learns from\b|\blearned from by nobody\b": "is not trained on",
    r"\bcosts next to nothing\b": "is cheap",
    r"(?<!there )\bis no (file|number|list|text|folder|object|JSON|environment|regular expression)\b": "is not a",
    r"\b(come|comes|came) to the same\b": "gives the same result",
}
IN_CODE = {  # out of docstrings and comments too
    r"\banew\b": "again",
    r"\b(?<!may )(some|no|every|any)body('s)?\b": "a user; the passive",
    r"\bonce more\b(?! code)": "again",
    r"\bwhat (\S+ ){1,5}(comes?|came) to\b": "the result of",
    r"\b(comes?|came) to (nothing|an end|one)\b": "ends, has no effect",
    r"\b(go|goes|went|going) on\b": "continue, resume, keep",
    r"\bstands? for\b": "is, means",
    r"\bplay(s|ed)? on\b(?! pages)": "rollouts, is continued",
    r"\bunless (it is |they are )?told(?! to)\b|\btold otherwise\b": "by default",
    r"\b(told|tells?) of\b": "reports, receives, describes",
    r"\b(hears?|heard|hearing)\b": "receives, is called with",
    r"\blearn(s|ed)? (\S+ ){1,3}by heart\b": "memorise, overfit",
    r"\blacks?\b": "has no, is missing",
    r"\b(is|was|were|are) begun\b": "started",
    r"\bcannot be told\b|\bas far as (it|they|that) can be told\b": "is unknown",
    r"\blooks? on\b": "observes; there is a display",
    r"(?<!there )\b(is|are) no (number|text|game|opponent|query|program|answer|part|call|list|damage)\b": "is not a",
    r"\bkept apart\b|\bdrawn (again )?apart\b": "separate",
}
CODE = re.compile(r"^```(python|json|csv).*?^```|`[^`\n]+`", re.DOTALL | re.MULTILINE)
OTHERS = ("sandbox/", "recipes/", "evidence/proof_files")  # to be reworded
PROMPTS = ("envs/", "tasks/", "judges/wording.py", "recipes/")  # texts that models read, which are part of a task


def pages() -> list[str]:
    places = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [path.relative_to(ROOT).as_posix() for path in places]


def out_in(text: str, out: dict[str, str] = OUT) -> list[str]:
    """What of a text is out, with what to write instead."""
    hits = [
        (match[0].strip(), better) for words, better in out.items() for match in re.finditer(words, text, re.I | re.M)
    ]
    return [f"{words!r}: {better}" for words, better in hits]


@pytest.mark.parametrize("page", pages())
def test_pages(page):
    text = CODE.sub("", (ROOT / page).read_text())
    assert out_in(text) == []


def helps(command: Any, name: str) -> Iterator[tuple[str, str]]:
    """Every help text of a command and of those below it."""
    yield name, f"{command.help or ''}\n{command.epilog or ''}"
    for param in command.params:
        yield f"{name} {param.name}", getattr(param, "help", None) or ""
    for below, each in getattr(command, "commands", {}).items():
        yield from helps(each, f"{name} {below}")


def test_help():
    assert {name: bad for name, text in helps(get_command(app), "guerdon") if (bad := out_in(text))} == {}


def messages(path: Path) -> Iterator[str]:
    """The texts of a file that people may read: those that are raised, warned of or printed; not docstrings."""
    for node in ast.walk(tree(path)):
        name = getattr(getattr(node, "func", None), "id", "") or getattr(getattr(node, "func", None), "attr", "")
        if isinstance(node, ast.Call) and (name in SAYS or name.endswith(("Error", "Stopped"))):
            for each in ast.walk(node):
                if isinstance(each, ast.JoinedStr):
                    yield "".join(v.value if isinstance(v, ast.Constant) else "{}" for v in each.values)
                elif isinstance(each, ast.Constant) and isinstance(each.value, str):
                    yield each.value


SAYS = {"say", "warn", "pairs", "print", "Option", "Argument", "Damaged", "GpuFull", "BadRow", "Missing"}


def test_messages():
    assert bad_places(messages, PROMPTS, OUT) == {}


def test_docstrings_and_comments():
    assert bad_places(prose, OTHERS, OUT | IN_CODE) == {}


def bad_places(
    texts: Callable[[Path], Iterable[str]], but: tuple[str, ...], out: dict[str, str]
) -> dict[str, list[str]]:
    """What is out in the texts of each file of the package."""
    places = {path.relative_to(ROOT / "guerdon").as_posix(): path for path in (ROOT / "guerdon").rglob("*.py")}
    found = {
        place: out_in("\n".join(texts(path)), out)
        for place, path in sorted(places.items())
        if not place.startswith(but)
    }
    return {place: bad for place, bad in found.items() if bad}


def prose(path: Path) -> Iterator[str]:
    """The docstrings of a file, each on one line without code and examples, and its comments."""
    strings: dict[int, list[tuple[int, int]]] = {}  # by line: from which byte to which
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            words = (ast.get_docstring(node) or "").partition(">>>")[0]
            yield " ".join(CODE.sub("`...`", words).split())
        elif isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
        ):
            first, last = node.lineno, node.end_lineno or node.lineno
            for line in range(first, last + 1):
                ends = node.end_col_offset if line == last else None
                strings.setdefault(line, []).append((node.col_offset if line == first else 0, ends or sys.maxsize))
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        signs = (sign.start() for sign in re.finditer(b"#", line))
        outside = (at for at in signs if not any(start <= at < end for start, end in strings.get(number, ())))
        if (at := next(outside, None)) is not None:
            yield CODE.sub("`...`", line[at:].decode())


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("36,937 tokens said", 1),
        ("they are not told apart", 1),
        ("runs that sat the same exam", 1),
        ("the cat sat", 0),
        ("hold it against answers whose truth is known", 2),
        ("a proposal against the plan", 0),
        ("mend: read one answer", 1),
        ("a recommended setting", 0),
        ("played by one who knows everything", 1),
    ],
)
def test_the_patterns_are_precise(text, count):
    assert len(out_in(text)) == count
