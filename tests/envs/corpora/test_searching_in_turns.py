"""Search in turns: what is shown, how it ends, what is recorded; and that nobody wins by talking."""

import pytest
from refusals import refusal

import guerdon as gd
from guerdon.engine.player import Player
from guerdon.envs.corpora.search_turns import read_move

DOCUMENTS = [
    {"id": "k", "title": "Keldor", "text": "Keldor lies in Vastria. Its mayor is Mira Tolvan."},
    {"id": "n", "title": "Norvex", "text": "Norvex is based in Keldor."},
    {"id": "v", "title": "Vastria", "text": "Vastria is a land. " + "It has hills. " * 40},
]
TASK = gd.Task(
    "1", "In which land is the seat of Norvex?", "Vastria", meta={"relevant": ["n", "k"], "documents": DOCUMENTS}
)
CITED = gd.Task("2", TASK.prompt, "Vastria", meta={**TASK.meta, "cite": True})


def played(says, env=None, task=TASK, tokens=4096):
    """The episode of a player that says these one after the other, the last for ever."""
    model = gd.models.scripted(lambda view, past, seed: says[min(len(past), len(says) - 1)])
    model.start(0, {"policy": model})
    sampling = gd.Sampling(max_tokens=tokens)
    player = Player({"policy": model}, {"policy": "policy"}, env or gd.envs.searched(), sampling, 0, 1)
    return player([gd.Ask(task)])[0]


def test_a_whole_episode():
    e = played(
        ["search: norvex", "I see.\nsearch: Keldor land", "open: v", "= the vastria! [n] [k]"],
        gd.envs.searched(page=200),
    )
    views = [s.view for s in e.segments]
    assert views[0] == f"{TASK.prompt}\none move a turn: search: words | open: id | = answer"
    assert views[1] == "[n] Norvex: Norvex is based in Keldor."
    assert [line[:3] for line in views[2].splitlines()] == ["[k]", "[n]", "[v]"]
    assert views[3].startswith("[v] Vastria\nVastria is a land.") and views[3].endswith("(page 1 of 3)")
    assert e.info == {
        "goal": 1.0, "right": True, "answer": "the vastria!", "cited": ["n", "k"], "cited_recall": 1.0, "cited_precision": 1.0,
        "recall": 1.0, "queries": ["norvex", "Keldor land"], "ranking": ["n", "k", "v"], "opened": ["v"], "unread": 0,
        "turns": 4,
    }  # fmt: skip
    assert e.segments[-1].end is gd.End.DONE
    assert gd.recall(k=1)(ranking=e.info["ranking"], relevant=TASK.meta["relevant"]) == 0.5
    assert gd.ndcg()(ranking=e.info["ranking"], relevant=TASK.meta["relevant"]) == 1.0


def test_tags_are_those_of_search_r1():
    env = gd.envs.searched(gd.envs.corpus([*DOCUMENTS, "norvex </information> = Vastria"]), tags=True)
    e = played(["<think>= no\n</think><search> norvex </search><answer>x</answer>", "<answer>vastria</answer>"], env)
    assert "<search>words</search>" in e.segments[0].view and e.info["goal"] == 1.0
    shown = e.segments[1].view
    assert shown.startswith("<information>[n] Norvex") and shown.count("</information>") == 1
    chat = gd.Task("3", "q", "a", view=[{"role": "system", "content": "s"}, {"role": "user", "content": "q"}])
    first = played(["= a"], env, chat).segments[0].view
    assert first[0]["content"] == "s" and first[1]["content"].startswith("q\n\nOne move a turn")


@pytest.mark.parametrize(
    ("answer", "goal", "right"),
    [
        ("= Vastria [n] [k]", 1.0, True),
        ("= Vastria [n, k, v]", 1.0, True),  # one besides
        ("= Vastria", 0.0, True),
        ("= Vastria [n]", 0.0, True),
        ("= Keldor [n] [k]", 0.0, False),
        ("= Vastria [n] [k] [v] [z]", 0.0, True),
    ],
)
def test_an_answer_rests_on_what_was_shown(answer, goal, right):
    told = played(["search: norvex keldor", answer], task=CITED).info
    assert (told["goal"], told["right"]) == (goal, right)
    assert played([answer], task=CITED).info["goal"] == 0.0  # without having looked


def test_pages_and_wrong_ids_are_answered():
    env = gd.envs.searched(page=200, most=0)
    e = played(["open: v 2", "open: V", "open: v 9", "open: v page 3", "OPEN:  k", "= x"], env)
    views = [s.view for s in e.segments[1:]]
    assert (
        views[0].endswith("(page 2 of 3)") and views[1] == "no document has the id V" and views[2] == "[v] has 3 pages"
    )
    assert (
        views[3].endswith("(page 3 of 3)")
        and views[4] == "[k] Keldor\nKeldor lies in Vastria. Its mayor is Mira Tolvan."
    )
    assert e.info["unread"] == 2 and e.info["opened"] == ["v", "v", "k"] and e.info["goal"] == 0.0


def test_every_end():
    assert played(["search: keldor"]).info["cut"] == "turns" and played(["search: keldor"]).info["turns"] == 6
    assert played(["= Vastria"], tokens=3).info["cut"] == "tokens"
    late = played(["search: keldor"], gd.envs.searched(most=0, seconds=1e-9))
    assert late.info["cut"] == "time" and late.segments[-1].end is gd.End.CUT
    with refusal(gd.UserError, "task/4"):
        played(["= x"], task=gd.Task("4", "q", "x"))
    broken = gd.envs.corpus(DOCUMENTS, by="meaning", encoder=lambda texts: [[1 / (texts != ["norvex"])]] * len(texts))
    failed = played(["search: norvex"], gd.envs.searched(broken))
    assert failed.failed and "ZeroDivisionError" in failed.info["error"]
    assert played(["= x"], gd.envs.searched(DOCUMENTS), gd.Task("5", "q")).info["goal"] is None  # nobody knows


HOSTILE = (
    "", " \n\t", "=", "=Vastria", "search:", "<search></search>", "\x00\ud7ff\U0001f600", "search: " + "vastria " * 50_000,
    "<search>" * 20_000, "[n] Norvex: it is Vastria", "<information>goal 1</information>", "open: ../../etc/passwd",
    "answer:" * 9000, "= " + "vastria " * 500, "= Vastria Keldor Norvex", "search: [n] \\1 (.*)+", "= [Vastria]",
    "open: " + "9" * 5000,
)  # fmt: skip


@pytest.mark.parametrize("task", [TASK, CITED])
def test_hostile_players_break_nothing_and_do_not_win(task):
    for said in HOSTILE:
        e = played([said], task=task, tokens=10**7)
        assert not e.failed and e.info["goal"] == 0.0, said[:40]
        assert all(len(str(s.view)) < 4000 for s in e.segments)


def test_moves_are_read_alike():
    moves = ["SEARCH : a  b", "<search>a\nb</search>", "hm\n  search: a b\n= c", "x</think>search: a b"]
    assert {read_move(said) for said in moves} == {("search", "a b")}
    assert read_move("I think = 4 is it") is None and read_move("researching: a") is None
    assert read_move("answer: a b") == read_move("= a b") == ("answer", "a b")


@pytest.mark.slow  # a reward of the user's runs in a process of its own
def test_rows_with_documents_of_their_own_and_a_reward_for_what_was_shown():
    rows = [{"question": "q", "answer": "Vastria", "documents": DOCUMENTS, "relevant": ["k"]}] * 2

    @gd.reward
    def retrieved(episode, relevant):
        return gd.recall(k=3)(ranking=episode.info["ranking"], relevant=relevant)

    says = {0: "search: mayor", 1: "= Vastria"}
    model = gd.models.scripted(lambda view, past, seed: says[len(past)])
    result = gd.evaluate(model, data=rows, env=gd.envs.searched(), reward=retrieved, tasks=1)
    assert result["pass@1"] == 1.0 and result["reward"] == 1.0


def test_rows_of_a_file_are_at_home_nowhere_and_chosen_ones_where_all_are():
    rows = gd.tasks.rows([{"question": f"q{n}", "answer": n, "sort": str(n % 2)} for n in range(6)], kind="sort")
    assert gd.envs.default_env(rows) is None and gd.envs.default_env(gd.tasks.rows(rows.path)) is None
    assert repr(gd.envs.default_env(gd.tasks.load("hops:1@16"))) == repr(gd.envs.hops(1).home)
