"""Roles in two wordings: sprig's as it was trained, plain language for other models, and one of a user's own."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from command_line import Cli, command_line, refused
from own_worlds import given, write_chat_model, write_worlds
from small import small_lm

import guerdon as gd
from guerdon.cli.output import Output
from guerdon.cli.progress import numbers
from guerdon.cli.show import _tell_roles
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay
from guerdon.core.part import walk
from guerdon.core.wordings import asked_roles, fit_wordings, set_wording, unfilled, with_places
from guerdon.models.model_facts import knows_roles
from guerdon.recipes.audit.master_rm import judged_candidates
from guerdon.recipes.curriculum.masa.parts import asked_first, with_forecasts
from guerdon.runs.event_types import StepDone
from guerdon.tasks.field.reflections import explained_lines, has_program, read_debugged, read_reflections
from guerdon.tasks.role_wordings import ROLE_WORDINGS
from guerdon.training.build import RunRequest, build

pytestmark = pytest.mark.filterwarnings("ignore::guerdon.core.errors.Notice")  # it runs through transformers
CHAT, SPRIG = (
    SimpleNamespace(chat=SimpleNamespace(calls="hermes")),
    SimpleNamespace(chat=SimpleNamespace(calls="sprig")),
)
OWN = "Here is one:\n{answer}\nThe question was: {question}\nBetter?"
TEXTS = dict.fromkeys(("question", "answer", "first", "second", "failure", "kind", "level", "example"), "x")
BLOCK = "```python\n{}\n```"


# --- the wordings -------------------------------------------------------------------------------------------------


def test_sprig_is_asked_as_it_was_trained():
    """Its weights know these words: they must not change."""
    assert {name: each.sprig.format(**TEXTS) for name, each in ROLE_WORDINGS.items()} == {
        "verify": "verify\nx\nx",
        "score": "score\nx\nx",
        "prefer": "prefer\nx\na\nx\nb\nx",
        "critique": "critique\nx\nx",
        "revise": "revise\nx\nx",
        "reflect": "reflect\nx",
        "explain": "debug\nx\nx\nx",
        "fix": "fix\nx\nx\nx",
        "forecast": "rate\nx",
        "propose": "propose x x",
    }


@pytest.mark.parametrize("name", ROLE_WORDINGS)
def test_a_wording_has_its_fields_and_says_how_the_reply_ends(name):
    each = ROLE_WORDINGS[name]
    same = {field: field for field in each.fields}
    assert with_places(each.plain, same, name) == each.plain
    assert each.sprig.format(**TEXTS) != each.sprig
    assert name not in each.plain.split("\n")[0].split()  # no control word
    if each.form:
        assert each.form.partition(":")[0] in each.plain


@pytest.mark.parametrize(
    ("name", "said"),
    [("verify", "no"), ("score", 4), ("prefer", "b"), ("critique", 2), ("critique", "none"), ("forecast", 0)],
)
def test_what_a_form_says_is_read_from_it(name, said):
    wording = ROLE_WORDINGS[name]
    assert wording.read(f"Let us see.\n{wording.reply(said)}") == said and wording.read("Hm.") is None


# --- which one counts ---------------------------------------------------------------------------------------------


def test_who_knows_sprigs_roles(tmp_path):
    assert knows_roles(SPRIG) and knows_roles(gd.models.tabular()) and not knows_roles(CHAT)
    assert knows_roles(gd.models.load("sprig")) and knows_roles(small_lm(tmp_path / "model"))


@pytest.fixture
def worlds(made_once) -> Path:
    return made_once("own worlds", write_worlds)


@pytest.fixture
def chat(made_once) -> str:
    pytest.importorskip("transformers")
    return str(made_once("own chat model", write_chat_model))


ASKING = [
    ("reflexicoder", "programs", {}, "reflect"),
    ("ledex", "programs", {}, "explain"),
    ("exit", "answers", {}, "revise"),
    ("masa", "answers", {}, "forecast"),
    ("master-rm", "answers", {}, "verify"),
    ("tp-grpo-thought", "answers", {"judge": "sprig"}, "critique"),
]


@pytest.mark.sampled(2, "name")
@pytest.mark.parametrize(("name", "form", "knobs", "role"), ASKING)
def test_each_model_is_asked_in_words_that_it_knows(name, form, knobs, role, worlds, chat):
    def values(model):
        made = build(RunRequest(name, model=model, settings=knobs, **given(worlds, form))).recipe
        held = [
            getattr(part, f) for _, part in walk(made) for f in ("wording", "template", "explain") if hasattr(part, f)
        ]
        return made, [text for text in held if isinstance(text, str) and "{" in text]

    sprig, theirs = values("sprig")
    other, plain = values(chat)
    head = {"forecast": "rate", "explain": "debug", "critique": "verify"}.get(role, role)
    assert theirs and all(text.startswith(f"{head}\n{{") for text in theirs)
    assert plain and not any(text.startswith(f"{head}\n") for text in plain)
    assert role in asked_roles(sprig) and asked_roles(sprig) == asked_roles(other)
    assert sprig.but(models=other.models).hash != other.hash


def test_a_chat_model_sees_plain_language(worlds, chat):
    recipe = build(RunRequest("reflexicoder", model=chat, **given(worlds, "programs"))).recipe
    (ask,) = recipe.curriculum.draw(1, ExamplePlay())
    assert ask.shown.startswith("f(x) ") and ask.shown.endswith('end with one line, "Verdict: ok".')
    assert recipe.curriculum.task.asked(ask.task).prompt == ask.shown.split("\n")[0]


def test_words_of_ones_own_are_kept_whatever_the_model():
    made = judged_candidates(gd.tasks.load("chain:1"), wording="{question}{reference}{answer}?")
    fit_wordings(made, knows_roles=False)
    assert made.wording == "{question}{reference}{answer}?"


def test_forecasts_begin_as_they_are_asked_for_and_unread_ones_are_left_out():
    stage = asked_first(None, None)
    joined = with_forecasts(stage)
    before = (joined.unread, stage.start)
    fit_wordings([stage, joined], knows_roles=False)
    assert before == ("zero", "= ") and (joined.unread, stage.start) == ("left_out", "Forecast: ")


def test_a_conversation_keeps_its_other_messages():
    talk = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "write f"}]
    source = SimpleNamespace(get=lambda split, index: gd.Task("0", "write f", "f", view=talk))
    asked = gd.tasks.reflecting(source, wording="{question} Twice.").get("train", 0)
    assert (asked.prompt, [m["content"] for m in asked.view]) == ("write f Twice.", ["Be brief.", "write f Twice."])


# --- tasks in a role ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "role", [name for name in ROLE_WORDINGS if name not in ("reflect", "explain", "fix", "forecast")]
)
def test_a_task_in_a_role_is_the_same_in_plain_language(role):
    source = gd.tasks.load(f"{role}/chain:2")
    before = [source.get("train", n) for n in range(12)]
    fit_wordings(source, knows_roles=False)
    after = [source.get("train", n) for n in range(12)]
    for old, new in zip(before, after, strict=True):
        assert old.prompt.startswith(role) and not new.prompt.startswith(role)
        assert source.check(new, new.answer) == 1.0 and source.check(new, "Hm.") == 0.0
        assert (old.id, old.level, old.meta) == (new.id, new.level, new.meta)
    if role == "verify":
        assert [task.answer.split(" ")[-1] for task in after] == [task.answer.split(" ")[-1] for task in before]


def test_a_problem_that_was_shown_is_not_a_new_one():
    source = gd.tasks.load("propose/chain:2")
    fit_wordings(source, knows_roles=False)
    task = source.get("train", 0)
    shown = next(line for line in task.prompt.split("\n") if line.startswith("chain "))
    assert source.check(task, f"Problem: {shown}") == 0.0 and source.check(task, "Problem: chain 3 *4 -5 +1") == 1.0


# --- programs in prose --------------------------------------------------------------------------------------------

ONE, TWO = "def f(x):\n    return x", "import math\n\ndef f(x):\n    return -x"


def test_programs_in_blocks_and_what_is_said_between_them():
    reply = (
        f"Here it is.\n{BLOCK.format(ONE)}\nIt should be\nnegative.\n{BLOCK.format(TWO)}\nNow it is.\n\n**Verdict:** ok"
    )
    read = read_reflections(reply)
    assert (
        read.programs == (ONE, TWO) and read.said == ("It should be negative.",) and read.is_whole and read.final == TWO
    )
    assert not read_reflections(reply.removesuffix("ok")).is_whole
    assert not read_reflections(f"{BLOCK.format(ONE)}\n{BLOCK.format(TWO)}\nVerdict: ok").is_whole  # nothing said
    assert not read_reflections(f"{BLOCK.format('')}\nVerdict: ok").is_whole
    assert read_reflections(f"```python\n{ONE}").programs == (ONE,)  # cut short


def test_a_first_block_may_lack_its_opening():
    reply = f"{ONE}\n```\nIt is positive.\n{BLOCK.format(TWO)}\nVerdict: ok"
    read = read_reflections(reply)
    assert read.programs == (ONE, TWO) and read.said == ("It is positive.",) and read.is_whole
    assert read_debugged(f"{ONE}\n```\nDone.") == ("", ONE) and explained_lines(reply) == 0


@pytest.mark.parametrize("end", ["ok", "Verdict: ok", "My final verdict is **OK**.", "Verdict: okay\nGood luck!"])
def test_a_program_stands(end):
    assert read_reflections(f"{BLOCK.format(ONE)}\n{end}").is_whole


def test_what_is_wrong_stands_above_the_program():
    reply = f"It returns x.\n\nIt should not.\n{BLOCK.format(TWO)}\nDone."
    assert read_debugged(reply) == ("It returns x. It should not.", TWO) and explained_lines(reply) == 2
    assert [explained_lines(text) for text in ("? no\ndef f", "def f", BLOCK.format(ONE))] == [1, 0, 0]
    assert [has_program(text) for text in (reply, ONE, "I cannot.")] == [True, True, False]


# --- what cannot be read ------------------------------------------------------------------------------------------


def counted(part, *texts, family="of"):
    play = ExamplePlay()
    part.observe(SimpleNamespace(texts=texts, asks=[gd.Ask(gd.Task("0", "", family=family))] * len(texts)), play)
    return {name.removeprefix("roles/"): number for name, number in play.metrics.items()}


def test_replies_that_cannot_be_read_are_counted_but_for_sprigs():
    reflecting, verify = gd.tasks.load("reflecting:functions:1"), gd.tasks.load("verify/chain:1")
    texts = ("Verdict: ok", ONE, BLOCK.format(ONE), "Verdict: yes")
    assert counted(reflecting, *texts) == {} == counted(verify, *texts, family="verify/chain")
    fit_wordings([reflecting, verify], knows_roles=False)
    assert counted(reflecting, *texts) == {"reflect/asked": 4.0, "reflect/unreadable": 2.0}
    assert counted(verify, *texts, family="verify/chain") == {"verify/asked": 4.0, "verify/unreadable": 3.0}
    assert counted(verify, *texts) == {"verify/asked": 0.0, "verify/unreadable": 0.0}  # answers to other problems


@pytest.mark.parametrize("explain", [True, False])
def test_programs_that_are_put_right_are_counted_in_the_role_that_was_asked(explain):
    source = gd.tasks.debugged(gd.tasks.load("functions:1"))
    fit_wordings(source, knows_roles=False)
    assert counted(source, "I cannot.") == {}  # nothing was asked
    shown = source.shown_again(source.get("train", 0), "def f(x): pass", "f(1) gives None", explain)
    role = "explain" if explain else "fix"
    assert "Here it fails: f(1) gives None" in shown and ("what is wrong" in shown) is explain
    assert counted(source, "I cannot.", ONE) == {f"{role}/asked": 2.0, f"{role}/unreadable": 1.0}


def test_counts_are_shown(tmp_path, monkeypatch, capsys):
    cli = command_line(tmp_path, monkeypatch, capsys)
    knobs = {
        "roles.forecast": "How often?\n{question}",
        "asked_first.start": "",
        "prompts": 2,
        "tries": 2,
        "meta_tries": 3,
    }
    model = gd.models.tabular("0128x", length=1)
    run = gd.train("masa", task="parity@4", model=model, steps=2, out="run", options=gd.Options(eval_tasks=0), **knobs)
    (lost, asked), metrics = run.unreadable["forecast"], run.metrics.to_pylist()
    assert asked == 2 * 2 * 3 and lost == sum(row["roles/forecast/unreadable"] for row in metrics)
    assert f"{lost} of 12 replies in the role forecast" in cli("show", "run").out
    assert cli("show", "run", "--json").json["unreadable"] == {"forecast": {"unreadable": lost, "asked": 12}}


def test_a_line_of_progress_has_them():
    done = StepDone(0, metrics={"roles/verify/asked": 8.0, "roles/verify/unreadable": 5.0, "roles/fix/asked": 1.0})
    assert done.unreadable == {"verify": (5, 8), "fix": (0, 1)}
    assert numbers(done) == "5 of 8 verify replies unreadable"


# --- a wording of one's own ---------------------------------------------------------------------------------------


def test_a_file_replaces_a_wording_wherever_it_is_asked(tmp_path):
    (tmp_path / "mine.txt").write_text(OWN + "\n")
    request = RunRequest("exit", "chain:1", "sprig", settings={"roles.revise": str(tmp_path / "mine.txt")}, text=True)
    recipe, as_it_is = build(request).recipe, build(RunRequest("exit", "chain:1", "sprig")).recipe
    told = OWN.replace("{answer}", "{attempt}").replace("{question}", "{prompt}")
    assert recipe.curriculum.template == recipe.exams[0].env.template == told
    assert recipe.hash != as_it_is.hash == as_it_is.but().hash
    assert as_it_is.but(**{"roles.revise": OWN}).hash == recipe.hash  # text, and from Python


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{question} {anwser}", "roles.revise has {anwser}, which is none of its fields {question}, {answer}: use"),
        (
            "{question}",
            "roles.revise has no {answer}: its fields are {question}, {answer}, and it must have all of them",
        ),
        ("{question} {answer} {", "roles.revise cannot be read"),
    ],
)
def test_a_wording_with_other_fields_is_refused_in_a_line(text, line):
    made = build(RunRequest("exit", "chain:1", "sprig")).recipe
    with pytest.raises(UserError) as refusal:
        set_wording(made, "revise", text)
    assert str(refusal.value).startswith(line) and "\n" not in str(refusal.value)


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return command_line(tmp_path, monkeypatch, capsys)


def test_mistakes_on_the_command_line(cli):
    Path("mine.txt").write_text("Is {answer} right?")
    train = ("train", "exit", "--task", "chain:1", "--model", "sprig", "--steps", "1")
    refused(cli(*train, "--set", "roles.revise=mine.txt"), "roles.revise has no {question}")
    refused(cli(*train, "--set", "roles.revise=none.txt"), "roles.revise: none.txt cannot be read as a text file")
    refused(cli(*train, "--set", "roles.revize=mine.txt"), "unknown role that the recipe asks a model in 'revize'")
    grpo = ("train", "grpo", "--task", "chain:1", "--model", "sprig")
    refused(
        cli(*grpo, "--set", "roles.verify=mine.txt"), "roles.verify: nothing here asks a model in a role; leave it out"
    )
    assert not Path("runs").exists()


def test_roles_are_listed_and_shown(cli):
    rows = {row["role"]: row for row in cli("list", "roles", "--json").json["roles"]}
    assert rows["verify"]["fields"] == "{question} {answer}" and rows["verify"]["ends on"] == "Verdict: ..."
    assert set(rows) == set(ROLE_WORDINGS)
    shown = cli("show", "roles.verify").out
    assert ROLE_WORDINGS["verify"].plain in shown and "verify\n{question}\n{answer}" in shown
    refused(cli("show", "roles.verfiy"), "unknown role 'verfiy': did you mean 'verify'?")


@pytest.mark.parametrize(("name", "shown"), [("exit", "  revise: {question}, {answer}"), ("grpo", "")])
def test_show_says_which_roles_a_recipe_asks(name, shown, capsys):
    _tell_roles(Output(False), build(RunRequest(name, "chain:1", "sprig")).recipe)
    said = capsys.readouterr().out
    assert said.splitlines()[2:] == [shown] and "roles that it asks a model in" in said if shown else said == ""


def test_a_text_without_its_wording():
    assert unfilled("reflect\n{question}", "reflect\n2+2") == "2+2" and unfilled("reflect\n{question}", "2+2") is None
    assert unfilled("{q} or {q}?", "ab or ab?") == "ab" and unfilled("{q} or {q}?", "ab or cd?") is None
    assert unfilled("{{}} {q}", "{} x") == "x" and unfilled("none", "none") is None
