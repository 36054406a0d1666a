"""Which method `guerdon advise` names: twenty questions that were written down with their right answers before it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import Cli, command_line, refused
from refusals import refusal

from guerdon.core.errors import UserError
from guerdon.core.problems import PROBLEMS
from guerdon.core.recipe import recipe
from guerdon.core.user_file import load_file
from guerdon.training.advice import advise, for_problem, have_of, measured
from guerdon.training.catalog import find_recipe, listings

ROOT = Path(__file__).parent.parent
QUESTIONS = json.loads(Path(__file__).with_name("advise_questions.json").read_text())


class Typed(io.StringIO):
    """A terminal on which this is typed."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("asked", QUESTIONS, ids=[str(n + 1) for n in range(len(QUESTIONS))])
def test_one_of_the_first_three_is_right(asked: dict[str, Any]) -> None:
    columns = asked.get("columns", [])
    have = asked.get("have") or [have_of(columns)]
    names = [each.recipe.name for each in advise(have, asked.get("problem"), asked["model"], columns=columns)]
    assert {*names[:3]} & {*asked["right"]}, f"{asked['question']} {names[:8]}, not {asked['right']}"


def test_the_questions_are_twenty_and_name_recipes() -> None:
    assert len(QUESTIONS) == 20
    assert {name for asked in QUESTIONS for name in asked["right"]} <= {*listings()}


# --- the table ------------------------------------------------------------------------------------------------------


def test_what_a_recipe_helps_with_is_its_own() -> None:
    """Read from its text as its module says it, and not inherited: dapo's children would be for sparse rewards."""
    for name in ("dapo", "verpo", "distill", "t-reg"):
        assert listings()[name].helps == find_recipe(name).helps, name
    made = recipe("mine", on=find_recipe("dapo"))(lambda base: base)
    assert made.helps == () and made.needs == find_recipe("dapo").needs
    with refusal(UserError):
        recipe("mine", helps=("sprase",))(lambda task, model: None)  # type: ignore[arg-type,return-value]


def test_every_problem_has_methods_and_no_fixed_world() -> None:
    for problem in PROBLEMS:
        assert for_problem(problem)
        assert not any(each.recipe.needs.world for each in for_problem(problem))


def test_the_order_is_measured_then_not_measured_then_behind() -> None:
    names = [each.recipe.name for each in advise(["answers"], "long-answers")]
    assert names == ["grpo", "dapo", "dr_grpo", "pear", "sar", "dr-saf", "hbpo", "curriculum-grpo"]
    verpo, shaf = measured("verpo"), measured("dr-saf", "long-answers")
    assert verpo is not None and verpo.low == pytest.approx(0.0339 / 0.02, abs=0.005)
    assert verpo.word == "ahead, on sprig-2" and verpo.numbers == "pass@1 +0.0487 (+0.0339 to +0.0634)"
    assert shaf is not None and (shaf.lost, shaf.baseline) == ("pass@1", "grpo")
    assert measured("dpo") is None


def test_of_several_claims_the_one_that_is_behind_counts() -> None:
    """One problem alone is inconclusive against no training, and behind its set."""
    one = measured("one-shot-rlvr")
    assert one is not None and one.word.startswith("behind")


def test_what_stands_in_for_a_need_was_not_measured() -> None:
    """rrm is ahead with a task's own step checker; with a grader in its place nothing was measured."""
    (rrm,) = [each for each in advise(["answers"], "unsound-steps") if each.recipe.name == "rrm"]
    assert (rrm.measured, rrm.replaced, "--set grader=..." in rrm.command) == (None, ("step_checker",), True)
    (grpo,) = [each for each in advise(["judge"], "noisy-judge") if each.recipe.name == "grpo"]
    assert grpo.result == "not measured"
    assert grpo.command == "guerdon train grpo --data prompts.csv --answer none --reward judge.py:judge --model sprig"


def test_a_method_in_roles_is_for_any_model_and_one_in_our_decoder_is_not() -> None:
    names = {m: [each.recipe.name for each in advise(["tests"], "sparse", m)] for m in ("sprig", "a/folder")}
    assert "reflexicoder" in names["sprig"] and "reflexicoder" in names["a/folder"]
    assert "intro" in names["sprig"] and "intro" not in names["a/folder"]


def test_grpo_comes_first_where_nothing_tells_methods_apart() -> None:
    assert advise(["judge"])[0].recipe.name == "grpo"
    names = [each.recipe.name for each in advise(["nothing"])]
    assert names.index("distill") < names.index("mm-upt") < names.index("grpo"), (
        "grpo takes a reward in place of answers"
    )


def test_programs_have_the_columns_that_their_file_has() -> None:
    def command(*columns: str) -> str:
        (grpo,) = [each for each in advise(["tests"], "sparse", columns=columns) if each.recipe.name == "grpo"]
        return grpo.command.removeprefix("guerdon train grpo --data programs.jsonl ").removesuffix(" --model sprig")

    assert command() == command("text", "code", "test_list") == "--prompt text --answer code --check python"
    assert command("prompt", "test", "entry_point") == "--check python"
    assert command("words", "code", "test_list") == "--prompt COL --answer code --check python"


def test_columns_say_what_there_is() -> None:
    rows = ["question", "answer", "Subject"]
    commands = {each.recipe.name: each.command for each in advise(["answers"], None, "sprig", "a b.csv", rows)}
    assert commands["dump"] == "guerdon train dump --data 'a b.csv' --kind Subject --model sprig"
    assert "amft" not in commands or "--set hint.solution=..." in commands["amft"]
    assert have_of(["text", "code", "test_list"]) == "tests" and have_of(["prompt", "completion", "label"]) == "labels"
    assert have_of(["prompt", "completions", "labels"]) == "step-labels"


# --- the verb -------------------------------------------------------------------------------------------------------


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return command_line(tmp_path, monkeypatch, capsys)


def test_it_fits_a_screen_and_its_commands_are_whole(cli: Cli) -> None:
    said = cli("advise", "--have", "answers,judge", "--problem", "hacking", "--model", "a/folder")
    assert said.code == 0 and max(map(len, said.out.splitlines())) <= 80
    assert "1. g-ra\n   measured  ahead, on sprig-2: completion" in said.out
    whole = " ".join(said.out.replace("\\\n", " ").split())
    assert "guerdon train clip-delta-prm-reward --data my.csv --model a/folder" in whole
    assert said.out.count("\n   run ") == 5


def test_it_reads_what_a_file_has(cli: Cli) -> None:
    Path("pairs.jsonl").write_text('{"prompt": "1+1=", "chosen": "2", "rejected": "3"}\n')
    found = cli("advise", "--data", "pairs.jsonl", "--json").json
    assert found["have"] == ["preferences"]
    first = found["methods"][0]
    assert (first["recipe"], first["command"]) == ("dpo", "guerdon train dpo --data pairs.jsonl --model sprig")
    said = cli("advise", "--data", "pairs.jsonl", "--problem", "sparse")
    assert said.out.startswith("No method for sparse trains on preferences; these train on it:\n1. dpo\n")


def test_mistakes_are_a_line_with_the_nearest_word(cli: Cli) -> None:
    refused(cli("advise", "--have", "anwsers"), "did you mean 'answers'")
    refused(cli("advise", "--have", "answers", "--problem", "spare"), "did you mean 'sparse'")
    refused(cli("advise", "--problem", "sparse"), "--have", "--data FILE")
    refused(cli("advise", "--data", "none.csv"), "none.csv")
    refused(cli("list", "recipes", "--for", "hackin"), "did you mean 'hacking'")
    refused(cli("list", "tasks", "--for", "hacking"), "guerdon list recipes --for hacking")


def test_on_a_terminal_it_asks(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    """By number, by word, and Enter for sprig."""
    monkeypatch.setattr("sys.stdin", Typed("2\nlong-answers\n\n"))
    said = cli("advise")
    assert "No method for long-answers trains on preferences" in said.out and "--model sprig" in said.out


def test_list_has_the_same_order(cli: Cli) -> None:
    rows = cli("list", "--for", "unsound-steps", "--json").json["recipes"]
    assert [row["recipe"] for row in rows] == [each.recipe.name for each in for_problem("unsound-steps")]


def test_it_needs_no_torch() -> None:
    lines = ["import sys; from guerdon.cli.main import main", "main(['advise', '--have', 'answers'])"]
    lines.append("assert 'torch' not in sys.modules")
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True, capture_output=True)


def test_the_page_is_what_the_table_says() -> None:
    script = load_file(str(ROOT / "scripts" / "document_methods.py"), "script")
    assert script.page() == (ROOT / "docs" / "methods.md").read_text()
