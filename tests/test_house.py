"""The house rules that a machine can hold: who may import whom, and how large rooms may be."""

from __future__ import annotations

import ast
import doctest
import functools
import graphlib
import importlib
import itertools
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from source_trees import tree

from guerdon.cli.shelves import WANT_EXTRAS
from guerdon.core.lazy import places_of
from guerdon.core.part import PARTS, label
from guerdon.training.catalog import listings, part_modules

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "guerdon"

# folder: the folders it may import from, besides itself. The shape of the house, drawn in docs/architecture.md.
MAY_IMPORT = {
    "core": set(),
    "text": set(),
    "network": {"core"},
    "data": {"core"},
    "sandbox": {"core"},
    "tasks": {"core", "data", "text", "workers", "sandbox"},  # workers: for checks that may hang
    "envs": {"core", "data", "tasks", "sandbox", "workers"},  # data: of corpora; workers: for tools that may crash
    "search": {"core", "text", "tasks", "envs"},  # tasks: wordings of roles
    "worlds": {"core"},
    "models": {"core"},
    "workers": {"core"},
    "rewards": {"core", "data", "text", "tasks", "models", "workers", "sandbox"},  # models: to probe them
    "exams": {"core", "rewards", "tasks"},
    "bridges": {"core", "text", "rewards", "workers", "network", "worlds"},
    "curricula": {"core", "data", "models"},  # likewise
    "select": {"core"},
    "credit": {"core"},
    "losses": {"core"},
    "studies": {"core"},
    "engine": {"core", "models"},
    "runs": {"core"},
    "display": {"core", "runs"},  # reads run folders; a notebook asks it for `core`'s classes through `core/lazy.py`
    "evidence": {"core", "runs", "display"},  # display: to draw
    "judges": {"core", "text", "rewards", "models", "engine", "tasks", "runs", "network"},
    "watch": {"core", "runs"},
    "training": {
        "core",
        "engine",
        "models",
        "tasks",
        "envs",
        "rewards",
        "credit",
        "exams",
        "search",
        "watch",
        "worlds",
        "runs",
        "display",
        "evidence",  # for the identity of what ran
    },
    "results": {
        "core",
        "data",
        "models",
        "rewards",
        "exams",
        "runs",
        "display",
        "select",  # for which tries make a pair
    },
    "scale": {"core", "engine", "models", "runs", "evidence", "training"},
    "prove": {"core", "engine", "models", "rewards", "exams", "workers", "runs", "evidence", "training"},
    "recipes": {
        "core",
        "data",
        "text",
        "tasks",
        "envs",
        "models",
        "rewards",
        "curricula",
        "select",
        "credit",
        "losses",
        "studies",
        "exams",
        "search",
        "judges",
        "audits",
        "worlds",
    },
    "audits": {
        "core",
        "data",
        "text",
        "tasks",
        "envs",
        "models",
        "rewards",
        "exams",
        "losses",  # for its estimates of KL
        "engine",
        "judges",
        "bridges",
        "runs",
        "display",
        "training",
        "network",
    },
    "studio": {
        "core",
        "runs",
        "display",
        "results",
        "evidence",
        "training",  # to replay
        "rewards",
        "models",
        "workers",
        "watch",
        "network",
    },
    "cli": {
        "core",
        "data",
        "training",
        "worlds",
        "prove",
        "results",
        "evidence",
        "runs",
        "display",
        "models",
        "tasks",
        "rewards",
        "bridges",
        "studio",
        "network",
        "sandbox",
        "audits",
    },
}
LIGHT = {
    "core",
    "models",
    "credit",
    "losses",
    "engine",
    "text",
    "training",
}  # need torch, numpy, safetensors, tokenizers and no more
LIGHT_LIBRARIES = {"torch", "numpy", "safetensors", "tokenizers"}

GUESTS = {  # a place that may use one library more, and how it comes there
    "models/kernels": {"triton"},  # with torch, where there is a GPU
    "models/chat_template.py": {"jinja2"},  # with torch
    "models/gguf.py": {"gguf", "transformers"},  # an extra, asked for when such a file is opened
    "models/hub_models.py": {"huggingface_hub"},  # the same, when a model is named by its id there
    "models/foreign_files.py": {"transformers"},  # an extra, asked for when an architecture needs it
}

LONGEST_METHOD = 150
LONG_METHODS = {  # a published method: its lines, with its own parts and without imports; no name and no line may be added
    "sycophancy-to-subterfuge": 446,
    "mrmbench": 317,
    "ledex": 313,
    "scope": 283,
    "auto-cei": 277,
    "clpo": 256,
    "dr-saf": 243,
    "tp-grpo-thought": 236,
    "reasonflux-prm": 227,
    "what-srms-reward": 220,
    "regret-preference-model": 219,
    "sws": 207,
    "amft": 203,
    "oreal": 193,
    "reward-consistency-contrast-instructions": 193,
    "exit": 190,
    "masa": 180,
    "plan-rewardbench": 179,
    "biprm": 161,
}
LONG_FILES: dict[str, str] = {}  # file: why it is over 600 lines
ALIKE = {"rewards.reward"}  # a task's check is called like a function of somebody's, by which its runs are known
LONGEST_PATH = 8  # rooms on the longest way down from one to another that it imports
LONG_FUNCTIONS = {  # file:function: why it is over 60 lines
    "cli/prove.py:prove": "half of it is its flags; the rest is a line or two for each mode",
}
MANY_KNOBS = {
    "Learn": "what an update is made of: rows, loss, optimiser, and how passes, shares, micro-batches and the norm are cut",
    "Options": "what a run keeps, and when and how it is examined: each is one flag or one rule of a proof",
    "rows": "what a file of somebody's needs to be said of it: each is one flag, and most are guessed",
    "Exam": "a recipe in small: each field is one of the places an exam can differ from training in",
    "Recipe": "the composition itself: each field is one of the places a method can differ in",
    "dpo": "a formula that many papers vary in one place each: each knob is one of them",
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    """All of a file's syntax, gone through once for every test here."""
    return list(ast.walk(tree(path)))


def imported(nodes: Iterable[ast.AST], where: str) -> set[str]:
    """What import statements among the nodes bring, as dotted names."""
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{where}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@functools.cache
def imports(path: Path) -> set[str]:
    """Every module a file imports, wherever in it."""
    return imported(nodes(path), str(path))


def imports_of_examples(path: Path) -> set[str]:
    """What the examples in a file's docstrings import."""
    if ">>>" not in path.read_text():
        return set()
    holders = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    docstrings = [ast.get_docstring(node) or "" for node in nodes(path) if isinstance(node, holders)]
    lines = [example.source for text in docstrings for example in doctest.DocTestParser().get_examples(text)]
    return imported((node for line in lines for node in ast.walk(ast.parse(line))), str(path))


@pytest.mark.parametrize("folder", sorted(MAY_IMPORT))
def test_imports_go_one_way(folder):
    """Examples in docstrings import what their folder may, or go in by the front door, `import guerdon as gd`."""
    allowed = MAY_IMPORT[folder] | {folder}
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        for name in imports(path) | imports_of_examples(path):
            if name.startswith("guerdon.") and (PACKAGE / name.split(".")[1]).is_dir():
                may = f"{folder} may use {sorted(allowed)}"
                assert name.split(".")[1] in allowed, f"{path.relative_to(ROOT)} imports {name}; {may}"


@functools.cache
def module_named(name: str) -> str:
    """The module that a dotted name is, or is in, or that the front door it stands at fetches it from."""
    parent, _, last = name.rpartition(".")
    for module in (name, parent):
        place = ROOT.joinpath(*module.split("."))
        if place.with_suffix(".py").is_file() or (module == name and (place / "__init__.py").is_file()):
            return module
    importlib.import_module(parent)
    return places_of(parent).get(last, (parent, ""))[0] if (place / "__init__.pyi").is_file() else parent


def test_the_page_of_the_architecture_is_true():
    """A newcomer reads it first: its list of rooms is the rule above, its loop the code, and its files are there."""
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text()
    fences = re.findall(r"^```(\w*)\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    rooms = [line.split("  ")[0].split(", ") for line in fences[0][1].splitlines()]
    assert sorted(itertools.chain.from_iterable(rooms)) == sorted(MAY_IMPORT)
    above: set[str] = set()
    for room in itertools.chain.from_iterable(rooms):
        assert MAY_IMPORT[room] <= above, f"{room} may import {sorted(MAY_IMPORT[room] - above)}, which stand below it"
        above.add(room)
    told = next(text for language, text in fences if language == "python")
    loop = ast.unparse(ast.parse((PACKAGE / "training" / "loop.py").read_text())).splitlines()
    lines = [line.strip() for line in ast.unparse(ast.parse(told)).splitlines()]
    assert not set(lines) - {line.strip() for line in loop}
    named = re.findall(r"`([\w/]+/[\w/]+\.(?:py|txt|js|pyi))`", page)
    assert [name for name in named if not (PACKAGE / name).exists() and not (ROOT / name).exists()] == []
    assert len(page.split()) <= 2500


def is_for_types(test: ast.expr) -> bool:
    return (getattr(test, "id", "") or getattr(test, "attr", "")) == "TYPE_CHECKING"


@functools.cache
def imports_at_run_time(path: Path) -> set[str]:
    guards = [node for node in nodes(path) if isinstance(node, ast.If) and is_for_types(node.test)]
    for_types = {below for guard in guards for below in ast.walk(guard)}
    return imported((node for node in nodes(path) if node not in for_types), str(path))


def test_no_import_circles():
    """Nor such as an import inside a function hides; what only a type checker reads does not count."""
    graph = {}
    for path in modules():
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        names = imports_at_run_time(path)
        graph[module] = {module_named(name) for name in names if name.startswith("guerdon.")} - {module}
    graphlib.TopologicalSorter(graph).prepare()  # a circle is a CycleError that lists it


def test_no_two_test_files_share_a_name():
    """pytest imports them by their bare names: the second would hide the first."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert not {name for name in names if names.count(name) > 1}


def test_every_folder_has_its_rule():
    folders = {p.parent.name for p in PACKAGE.glob("*/*.py")}
    assert folders == set(MAY_IMPORT)


def test_nothing_outside_recipes_imports_a_recipe():
    for path in modules():
        if "recipes" not in path.relative_to(PACKAGE).parts:
            assert not any(name.startswith("guerdon.recipes") for name in imports(path)), path


def test_nothing_outside_recipes_branches_on_a_recipes_name():
    names = set(listings())
    for path in modules():
        if "recipes" not in path.relative_to(PACKAGE).parts:
            for node in nodes(path):
                compared = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
                compared += [node.value] if isinstance(node, ast.MatchValue) else []
                said = {c.value for part in compared for c in ast.walk(part) if isinstance(c, ast.Constant)}
                assert not {s for s in said if isinstance(s, str)} & names, f"{path}:{node.lineno}"


def test_light_folders_need_light_libraries():
    for folder in LIGHT:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            heavy = {n.split(".")[0] for n in imports(path)} - sys.stdlib_module_names - LIGHT_LIBRARIES - {"guerdon"}
            place = path.relative_to(PACKAGE)
            heavy -= GUESTS.get(str(place), set()) | GUESTS.get(str(place.parent), set())
            assert not heavy, f"{path.relative_to(ROOT)} imports {heavy}"


def test_parts_are_listed_without_the_extras():
    """`guerdon list parts` imports all modules but a few: those begin without optional libraries, the few have no part."""
    needed = {"cloudpickle", "jinja2", "numpy", "pyarrow", "rich", "safetensors", "tokenizers", "torch", "typer"}
    needed |= {"markupsafe", "click"}  # jinja2's and typer's own
    for path in modules():
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if module.startswith(WANT_EXTRAS):
            assert not any(mark == "part" for node in nodes(path) for mark in marks_of(node)), f"{module} has a part"
            continue
        first = {name.split(".")[0] for name in imported(iter(tree(path).body), str(path))}
        assert not first - sys.stdlib_module_names - needed - {"guerdon"}, f"{module} begins with {first}"


def marks_of(node: ast.AST) -> list[str]:
    """The names of its decorators."""
    return [getattr(getattr(mark, "func", mark), "id", "") for mark in getattr(node, "decorator_list", [])]


def test_rooms_are_small():
    long_files, long_functions = {}, {}
    for path in modules():
        text, name = path.read_text(), str(path.relative_to(PACKAGE))
        if text.count("\n") > 600:
            long_files[name] = text.count("\n")
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                doc = node.body[0] if ast.get_docstring(node) else None
                lines = (node.end_lineno or 0) - node.lineno + 1
                lines -= (doc.end_lineno or 0) - doc.lineno + 1 if doc else 0
                if lines > 60:
                    long_functions[f"{name}:{node.name}"] = lines
    assert set(long_files) == set(LONG_FILES), f"over 600 lines: {long_files}; explain in LONG_FILES or make two rooms"
    assert set(long_functions) == set(LONG_FUNCTIONS), f"over 60 lines without the docstring: {long_functions}"


def lines_of_methods() -> dict[str, int]:
    """Of each published method, the lines of its file, or of all files in its folder, but for imports, needs and helps."""
    lines: Counter[str] = Counter()
    for listing in listings().values():
        place = ROOT.joinpath(*listing.module.split("."))
        files = sorted(place.parent.glob("*.py")) if place.name == "recipe" else [place.with_suffix(".py")]
        for path in files:
            heads = [node for node in tree(path).body if isinstance(node, ast.Import | ast.ImportFrom)]
            of_heads = sum((node.end_lineno or 0) - node.lineno + 1 for node in heads)
            text = path.read_text()
            lines[listing.name] += text.count("\n") - of_heads - len(re.findall(r"\n    (?:needs|helps)=", text))
    return dict(lines)


def test_methods_are_short():
    """A method with its parts is 150 lines at most. The longer ones of today are listed and may only become shorter."""
    lines = lines_of_methods()
    assert set(LONG_METHODS) <= set(lines)
    long = {name: n for name, n in lines.items() if n > LONGEST_METHOD and n > LONG_METHODS.get(name, 0)}
    assert not long, f"over {LONGEST_METHOD} lines besides imports, or longer than in LONG_METHODS: {long}"
    short = {name: lines[name] for name, listed in LONG_METHODS.items() if lines[name] < listed}
    assert not short, f"shorter than in LONG_METHODS: write the new numbers there, and drop those of up to 150: {short}"
    assert all(n > LONGEST_METHOD for n in LONG_METHODS.values())


def test_a_recipes_own_stages_say_what_they_do():
    """Those of a shelf are known by their folder; one that said nothing would be missing from `stages.credit`."""
    from guerdon.core.learn import Learn

    for name in {*part_modules(), *(listing.module for listing in listings().values())}:
        importlib.import_module(name)
    for place, cls in PARTS.items():
        is_stage = hasattr(cls, "needs") and hasattr(cls, "gives") and not hasattr(cls, "wants")  # which losses have
        if place.startswith("guerdon.recipes.") and is_stage and not issubclass(cls, Learn):
            assert getattr(cls, "shelf", ""), f'{place}: add `shelf = "credit"` ("scores", "select", ...)'


def test_parts_have_few_knobs_and_a_docstring():
    for path in modules():
        for node in nodes(path):
            if isinstance(node, ast.ClassDef) and "part" in marks_of(node):
                fields = [n for n in node.body if isinstance(n, ast.AnnAssign) and not _is_hidden(n)]
                assert len(fields) <= 8 or node.name in MANY_KNOBS, f"{node.name} has {len(fields)} knobs"
                assert ast.get_docstring(node), f"part {node.name} in {path.name} says nothing about itself"


def _is_hidden(node: ast.AnnAssign) -> bool:
    """State, live fields and class constants are no knobs."""
    made_by = getattr(getattr(node.value, "func", None), "id", "")
    return made_by in ("state", "live") or "ClassVar" in ast.unparse(node.annotation)


def test_every_file_says_what_it_does():
    for path in modules():
        text = path.read_text()
        assert not text.strip() or ast.get_docstring(tree(path)), f"{path.relative_to(ROOT)} opens without a docstring"


def test_import_is_fast_and_leaves_torch_alone():
    code = (
        "import sys, guerdon; assert 'torch' not in sys.modules and 'numpy' not in sys.modules; print(len(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    bare = subprocess.run([sys.executable, "-c", "import sys; print(len(sys.modules))"], capture_output=True, text=True)
    assert int(done.stdout) - int(bare.stdout) < 10  # nothing heavy came along


def test_every_public_name_loads():
    import guerdon

    for name in guerdon.__all__:
        assert getattr(guerdon, name) is not None
    with pytest.raises(AttributeError):
        _ = guerdon.no_such_name


def test_no_two_parts_share_a_label():
    """In one room: labels are what hashes are made of, and what `--set` names. Classes and modules may share their names."""
    for name in part_modules():
        importlib.import_module(name)
    places: dict[str, list[str]] = {}
    for place, cls in PARTS.items():
        if place.startswith("guerdon."):
            places.setdefault(f"{place.split('.')[1]}.{label(cls)}", []).append(place)
    assert {name for name, where in places.items() if len(where) > 1} == ALIKE


def rooms_below() -> dict[str, set[str]]:
    """What each room imports, wherever in a file; what only a type checker reads does not count."""
    below: dict[str, set[str]] = {room: set() for room in MAY_IMPORT}
    for path in modules():
        room = path.relative_to(PACKAGE).parts[0]
        if room in below:
            names = {name.split(".")[1] for name in imports_at_run_time(path) if name.startswith("guerdon.")}
            below[room] |= (names & set(MAY_IMPORT)) - {room}
    return below


def test_no_way_down_is_long_and_none_leads_up():
    """A reader who goes from a room to what it stands on meets at most so many others."""
    below = rooms_below()
    ordered = list(graphlib.TopologicalSorter(below).static_order())  # a circle is a CycleError that lists it
    longest: dict[str, tuple[str, ...]] = {}
    for room in ordered:
        longest[room] = (room, *max((longest[each] for each in below[room]), key=len, default=()))
    path = max(longest.values(), key=len)
    assert len(path) <= LONGEST_PATH, " -> ".join(path)


def test_no_module_has_the_name_of_a_part_in_it():
    """`from guerdon.credit import centre` must be the part."""
    for path in modules():
        for node in tree(path).body:
            marks = [getattr(getattr(d, "func", d), "id", "") for d in getattr(node, "decorator_list", [])]
            assert "part" not in marks or node.name != path.stem, f"{path.relative_to(ROOT)} holds the part {node.name}"


def test_local_names_say_what_they_hold():
    for path in modules():
        for node in nodes(path):
            is_stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == "found"
            is_taken = isinstance(node, ast.arg) and node.arg == "found"
            assert not is_stored and not is_taken, f"{path.relative_to(ROOT)}:{node.lineno}: found what?"


def test_files_that_are_referred_to_exist():
    """A bare `file.py` is of the same folder; any other is named with its folder."""
    for path in modules():
        for name in re.findall(r"`([\w/]+\.py)`", path.read_text()):
            starts = [path.parent] if "/" not in name else [path.parent, path.parent.parent, PACKAGE, ROOT]
            assert any((start / name).is_file() for start in starts), f"{path.relative_to(ROOT)} refers to {name}"
