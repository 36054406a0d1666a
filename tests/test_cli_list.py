"""`list` and `show` on a screen: a summary that fits, tables that fit, what a search finds, what knobs do."""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path

import pytest
from command_line import SMALL, Cli, command_line, refused

import guerdon as gd
from guerdon.cli import knob_words, shelves
from guerdon.cli.fitted_tables import TableColumn, fitted, in_lines, shortened
from guerdon.cli.list import KINDS, _has_words
from guerdon.core.part import part
from guerdon.training.catalog import find_recipe, listings

sys.path.append(str(Path(__file__).parent / "promises"))
from terminal import on_a_terminal


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return command_line(tmp_path, monkeypatch, capsys)


def screen_of(monkeypatch: pytest.MonkeyPatch, columns: int, *words: str) -> list[str]:
    """What stands on a terminal of a width, effects taken off."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    code, screen = on_a_terminal(monkeypatch, *words)
    assert code == 0, screen
    return re.sub(r"\x1b\[[0-9;]*m", "", screen).replace("\r", "").splitlines()


# --- tables ---------------------------------------------------------------------------------------------------------


def test_a_table_keeps_what_matters_most() -> None:
    columns = [TableColumn("name"), TableColumn("year", 2), TableColumn("about", 1, 8), TableColumn("empty", 0)]
    rows = [["a-long-name", "2026", "what it does in words", ""]]
    assert fitted(columns, rows, 99) == (["name", "year", "about"], [["a-long-name", "2026", "what it does in words"]])
    assert fitted(columns, rows, 27) == (["name", "year", "about"], [["a-long-name", "2026", "what it…"]])
    assert fitted(columns, rows, 26) == (["name", "about"], [["a-long-name", "what it does…"]])
    assert fitted(columns, rows, 20) == (["name", "year"], [["a-long-name", "2026"]])
    assert fitted(columns, rows, 15) == (["name"], [["a-long-name"]])
    assert fitted(columns, rows, 5) == (["name"], [["a-lo…"]])
    for width in range(1, 60):
        (row,) = fitted(columns, rows, width)[1]
        assert sum(map(len, row)) + 2 * (len(row) - 1) <= width


def test_where_a_text_is_cut() -> None:
    text = "0.6 -> 90.3 % accuracy"
    assert [shortened(text, 16, cut) for cut in ("end", "words", "bare")] == [f"{text[:15]}…", text[:13], text[:16]]
    assert shortened(text, 9, "middle") == "0.6…racy" and shortened(text, 99, "middle") == text
    assert in_lines(["one", "two", "three"], 99) == ["one, two, three"]
    assert in_lines(["one", "two", "three"], 11, 2) == ["one, two,", "three"]
    assert in_lines([], 10) == [""]


# --- list -----------------------------------------------------------------------------------------------------------


def test_the_summary_fits_a_screen(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = screen_of(monkeypatch, 80, "list")
    assert len(lines) <= 40 and max(map(len, lines)) <= 80
    assert f"recipes{len(listings()):>5}" in lines and any("none in runs/" in line for line in lines)
    house = next(i for i, line in enumerate(lines) if line.startswith("  house"))
    assert "grpo" in lines[house] + lines[house + 1]  # the names of a family have two lines


def test_names_read_off_files_are_those_of_the_modules() -> None:
    from guerdon.rewards.asking.by_name import shelf

    by_folder: dict[str, list[str]] = {}
    for each in shelves.parts():
        by_folder.setdefault(each.folder, []).append(each.name)
    assert shelves.part_names() == {folder: sorted(names) for folder, names in sorted(by_folder.items())}
    assert shelves.reward_names() == sorted(shelf())
    assert "recipes/dr_saf" in by_folder and "recipes/sft" in by_folder


@pytest.mark.slow
@pytest.mark.parametrize("width", [80, 40])
def test_every_table_fits(cli: Cli, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    for kind in ("recipes", "tasks", "models", "rewards", "parts"):
        lines = screen_of(monkeypatch, width, "list", kind)
        assert max(map(len, lines)) <= width and len(lines) > 5, kind


def test_runs_fit_and_a_pipe_gets_them_whole(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for out in ("runs/a-run-with-a-rather-long-name-001", "runs/b"):
        words = ("train", "grpo", "--task", "parity", *SMALL, "--steps", "1", "--reward", "my.py:right", "--out", out)
        assert cli(*words, "--json").code == 0
    for width in (80, 40):
        lines = screen_of(monkeypatch, width, "list", "runs")
        assert max(map(len, lines)) <= width and len(lines) == 3
        assert lines[1].startswith("a-run-w") and "-001" in lines[1] and "%" in lines[1]
    titles = screen_of(monkeypatch, 80, "list", "runs")[0].split()
    assert titles == ["runs/", "task", "model", "reward", "seed", "date", "result"]
    whole = cli("list", "runs").out.splitlines()
    assert "runs/a-run-with-a-rather-long-name-001" in whole[1] and "accuracy" in whole[1] and "status" in whole[0]
    first, second = cli("list", "runs", "--json").json["runs"]
    assert first["date"] <= second["date"] and first["seed"] == 0 and first["model"] == "tabular"
    assert first["result"].endswith("accuracy") and first["reward"] == "my.py:right"


def test_a_family_and_a_search(cli: Cli) -> None:
    parts = cli("list", "parts", "--family", "credit", "--json").json["parts"]
    assert {p["folder"] for p in parts} == {"credit"} and len(parts) > 10
    wrong = cli("list", "parts", "--family", "credits")
    assert wrong.code == 2 and "did you mean 'credit'?" in wrong.err
    found = cli("list", "--search", "Overlong DAPO", "--json").json
    assert [r["recipe"] for r in found["recipes"]] == ["dapo"] and "overlong" in [r["reward"] for r in found["rewards"]]
    assert found["tasks"] == []
    assert cli("list", "recipes", "--search", "no-such-word").out == "nothing found\n"


def test_a_search_is_by_words_in_any_form() -> None:
    row = {"recipe": "x", "about": "Learns curricula by revision of policies, cited in GRPO."}
    found = {"learning", "curriculum", "revise", "revisions", "policy", "Learned revision", "grpo"}
    assert {asked for asked in found if _has_words(row, asked)} == found
    assert not any(_has_words(row, asked) for asked in ("vision", "lear x y", "earns", "rpo", "ted", "in g"))


def test_recipes_at_80_columns_are_name_needs_result_and_paper(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    longest = max(listings(), key=len)
    told = {"recipe": longest, "needs": "answers, kinds", "result": "ahead, on sprig-1.1", "paper": "2504.09710"}
    told |= {
        "about": "what it does in a sentence",
        "family": "curriculum",
        "claim": "it is better",
        "stale": "made before",
    }
    columns = KINDS["recipes"].columns
    titles, (row,) = fitted(columns, [[told[column.title] for column in columns]], 80)
    assert titles == ["recipe", "needs", "result", "paper"]
    assert row == [longest, "answers, kinds", "ahead, on…", "2504.09710"]
    matrix = screen_of(monkeypatch, 80, "list", "recipes", "--usable")
    assert max(map(len, matrix)) <= 80 and matrix[0].split()[:4] == ["recipe", "answers", "pairs", "steps"]


# --- show -----------------------------------------------------------------------------------------------------------


def test_every_knob_of_a_house_recipe_is_told() -> None:
    for name, listing in listings().items():
        if listing.family == "house":
            entry = find_recipe(name)
            words = knob_words.recipe_knobs(entry.functions, entry.knobs())
            assert all(words.values()), f"{name}: {[knob for knob, said in words.items() if not said]}"


def test_words_beside_a_knob() -> None:
    def made(
        task,
        lr: float = 0.1,  # ours
        # two lines
        # above it
        odd: int = 3,
        told: bool = False,
        mute: int = 0,
    ):
        """A recipe. With `told=True` it says so."""

    words = knob_words.recipe_knobs([made], ["lr", "odd", "told", "mute"])
    said = ["learning rate (ours)", "two lines above it", "With `told=True` it says so", ""]
    assert [*words.values()] == said
    lines = knob_words.lines({"lr": "0.1", "teacher": ""}, {"lr": "learning rate", "teacher": "a model " * 5}, 40)
    assert lines[0] == "  lr = 0.1           learning rate" and lines[1].startswith("  teacher, required  a model")
    assert max(map(len, lines)) <= 40


def test_show_tells_of_a_part_and_of_a_reward(cli: Cli) -> None:
    said = cli("show", "centre")
    assert said.code == 0 and said.out.startswith("centre  (credit)  guerdon.credit.group_relative\n")
    assert re.search(r"^  std = True +divide by the group's deviation", said.out, re.MULTILINE)
    found = cli("show", "exact", "--json").json["parts"]
    assert [p["folder"] for p in found] == ["rewards"] and "ignore case" in found[0]["knob_words"]["casefold"]
    both = {p["folder"] for p in cli("show", "best_of_k", "--json").json["parts"]}
    assert {p["folder"] for p in cli("show", "credit.best_of_k", "--json").json["parts"]} == {"credit"} <= both
    wrong = cli("show", "centr")
    assert wrong.code == 2 and wrong.err == "guerdon: unknown recipe, part or reward 'centr': did you mean 'centre'?\n"


@pytest.mark.parametrize(
    ("name", "kind", "following"),
    [
        ("sparse", "settings", "guerdon prove RECIPE --setting sparse"),
        ("sprig-2", "models", "guerdon eval sprig-2 --task TASK"),
    ],
)
def test_show_tells_of_what_has_only_a_row(cli: Cli, name: str, kind: str, following: str) -> None:
    (row,) = [each for each in cli("list", kind, "--json").json[kind] if name in each.values()]
    assert cli("show", name, "--json").json == {**row, "next": following}
    said = cli("show", name)
    assert said.code == 0 and row["about"] in said.out and said.out.endswith(f"  {following}\n")
    assert "did you mean 'smollm2'?" in cli("show", "smolm2").err


WORLDS = """
import guerdon as gd
from guerdon.recipes.house.grpo import grpo


@gd.part
class echo:
    \"\"\"Repeat the prompt.

    Args:
        loud: in capitals.
    \"\"\"

    loud: bool = True
    roles = ("policy",)

    async def play(self, ask, seats):
        said = await seats["policy"].act(ask.shown.upper() if self.loud else ask.shown)
        return seats.episode(goal=float(bool(said.text)))

    async def demonstrate(self, ask, seats):
        seats["policy"].teacher_force(ask.shown, ask.shown)
        return seats.episode(goal=1.0)


quiet = echo(loud=False)


class mute:
    roles = ("policy",)

    def __init__(self, words):
        self.words = words

    async def play(self, ask, seats):
        return seats.episode(goal=0.0)


silent = mute("")


@gd.recipe("plain")
def plain(task, model):
    return grpo(task, model)
"""


def test_show_tells_of_an_environment_in_a_file(cli: Cli) -> None:
    Path("worlds.py").write_text(WORLDS)
    said = cli("show", "worlds.py:echo").out
    assert "environment echo, roles policy" in said and "Repeat the prompt." in said
    assert "  loud = True  in capitals" in said and "guerdon show worlds.py:echo --task NAME" in said
    problem = gd.tasks.load("chain:1").get("test", 0).prompt
    found = cli("show", "worlds.py:quiet", "--task", "chain:1", "--json").json
    assert found["turns"] == [{"role": "policy", "view": problem, "said": problem}] and found["roles"] == ["policy"]
    assert "has no `demonstrate`" in cli("show", "worlds.py:silent", "--task", "chain:1").out
    refused(cli("show", "worlds.py:mute"), "worlds.py:mute cannot be made with its defaults", "words")
    refused(cli("show", "worlds.py:ecko"), "unknown recipe or environment in worlds.py 'ecko': did you mean 'echo'?")
    assert cli("show", "worlds.py:plain", "--task", "chain:1", "--model", "tabular").out.startswith("plain")


def test_show_plays_an_environment_on_its_own_problems(cli: Cli) -> None:
    example = Path(__file__).parent.parent / "examples" / "guessing.py"
    said = cli("show", f"{example}:numbers").out
    assert "numbers: environment numbers, roles policy" in said and "  most = 7" in said
    assert "guess a number from 1 to 100" in said and "goal 1.0, turns 1" in said


def test_a_part_tells_its_comment_before_its_docstring() -> None:
    @part
    class noted:
        """Adds `much`. And `more`."""

        much: int = 1  # how much
        more: int = 2

    assert knob_words.part_knobs(noted, ["much", "more"]) == {"much": "how much", "more": "And `more`"}


def test_the_help_of_train_is_in_groups_at_80_columns(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = cli("train", "--help").out.partition("Examples:")[0].splitlines()
    heads = [line.removesuffix(":") for line in lines if re.fullmatch(r"[A-Z][a-z ]+:", line)]
    assert heads == ["Arguments", "What to train", "Your data", "Length", "Keeping", "Watching", "Other"]
    assert max(map(len, lines)) <= 80
    of_group = {head: lines[lines.index(f"{head}:") + 1 :] for head in heads}
    told = {
        head: [line.split()[0].rstrip(",") for line in itertools.takewhile(bool, rest) if line.startswith("  -")]
        for head, rest in of_group.items()
    }
    assert told["What to train"] == ["--task", "--model", "--reward", "--env", "--set"] and told["Other"] == ["-h"]
    assert told["Length"] == ["--steps", "--budget", "--seed", "--workers"] and "--data" in told["Your data"]
