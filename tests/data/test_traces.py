"""Traces of tools: read, written and read again; refused with their line where they are malformed; scored and learned from."""

from __future__ import annotations

import copy
import json

import jsonschema
import pytest
from tool_players import call, played

import guerdon as gd
from guerdon.cli.main import main
from guerdon.data.trace_files import trace_rows
from guerdon.tasks.source_facts import facts_of


def add(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b


def asks(id: str, name: str, arguments: str) -> dict:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def trace(n: int = 3) -> dict:
    return {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": f"2+{n}, and 1+1?", "name": "ann"},
            {
                "role": "assistant",
                "content": "I add.",
                "tool_calls": [asks("a", "add", f'{{"a":2, "b":{n}}}'), asks("b", "add", '{"a": 1, "b": 1}')],
            },
            {"role": "tool", "tool_call_id": "b", "content": "2"},
            {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": f"{2 + n}"}]},
            {"role": "assistant", "content": f"It is {2 + n}, and 2."},
            {"role": "user", "content": "Thanks."},
            {"role": "assistant", "content": None, "tool_calls": [asks("c", "adieu", "{")]},
            {"role": "tool", "tool_call_id": "c", "content": "no such tool"},
        ],
        "tools": [gd.tool(add).schema],
        "answer": str(2 + n),
        "source": {"agent": "mine", "é": 1.5},
    }


def test_a_trace_is_an_episode():
    (episode,) = gd.read_traces([trace()])
    assert (episode.task.prompt, episode.task.answer) == ("2+3, and 1+1?", "5")
    assert episode.task.meta == {"source": {"agent": "mine", "é": 1.5}}
    assert [s.end.value for s in episode.segments] == ["done", "done", "done", "cut"]
    assert episode.segments[0].text == (
        'I add.\n<tool_call>\n{"name": "add", "arguments": {"a": 2, "b": 3}}\n</tool_call>\n'
        '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 1}}\n</tool_call>'
    )
    assert episode.segments[1].text == "It is 5, and 2."
    info = episode.info
    assert (info["answered"], info["calls"], info["errors"]) == (False, 3, {"malformed": 1})
    assert [(each["turn"], each["name"], each["result"]) for each in info["called"]] == [
        (0, "add", "5"),
        (0, "add", "2"),
        (2, "adieu", "no such tool"),
    ]


def test_what_is_read_is_written_as_it_was(tmp_path):
    rows = [trace(3), trace(4), {"messages": [*trace(5)["messages"][:2], {"role": "assistant", "content": "?"}]}]
    file = tmp_path / "traces.jsonl"
    assert gd.write_traces(gd.read_traces(rows), file) == 3
    written = [json.loads(line) for line in file.read_text().splitlines()]
    assert written == rows
    again, before = gd.read_traces(file), gd.read_traces(rows)
    assert all(a.info == b.info for a, b in zip(again, before, strict=True))
    assert all(
        a.same(b) for x, y in zip(again, before, strict=True) for a, b in zip(x.segments, y.segments, strict=True)
    )


OPENAI = {  # of a request's `messages`, from the reference of OpenAI's chat interface
    "type": "array",
    "items": {
        "oneOf": [
            {
                "properties": {"role": {"enum": ["system", "developer", "user"]}, "content": {"type": "string"}},
                "required": ["role", "content"],
            },
            {
                "properties": {
                    "role": {"const": "assistant"},
                    "content": {"type": ["string", "null"]},
                    "tool_calls": {
                        "type": "array",
                        "minItems": 1,
                        "items": {
                            "properties": {
                                "id": {"type": "string"},
                                "type": {"const": "function"},
                                "function": {
                                    "properties": {"name": {"type": "string"}, "arguments": {"type": "string"}},
                                    "required": ["name", "arguments"],
                                    "additionalProperties": False,
                                },
                            },
                            "required": ["id", "type", "function"],
                            "additionalProperties": False,
                        },
                    },
                },
                "required": ["role", "content"],
                "additionalProperties": False,
            },
            {
                "properties": {
                    "role": {"const": "tool"},
                    "content": {"type": "string"},
                    "tool_call_id": {"type": "string"},
                },
                "required": ["role", "content", "tool_call_id"],
                "additionalProperties": False,
            },
        ]
    },
}


def test_what_was_played_is_written_as_openais_interface_takes_it(tmp_path):
    env = gd.envs.tool_turns([add], most=4)
    says = [
        f"I add. {call('add', a=2, b=3)}",
        f"{call('add', a=1)}{call('odd')}",
        "<tool_call>?</tool_call>",
        "It is 5.",
    ]
    (row,) = trace_rows([played(env, says, gd.Task("1", "2+3?", "5", meta={"n": 1}))])
    jsonschema.validate(row["messages"], OPENAI)
    assert [m["role"] for m in row["messages"]] == [
        *("user", "assistant", "tool", "assistant", "tool", "tool", "assistant", "user", "assistant")
    ]
    assert (row["messages"][1]["content"], row["answer"], row["n"]) == ("I add.", "5", 1)
    assert row["messages"][4]["content"] == "error: add: b is missing: it must be a whole number"
    assert (row["tools"], row["messages"][0]["content"]) == ([gd.tool(add).schema], "2+3?")
    gd.write_traces([played(env, says), played(env, says[:1])], tmp_path / "out.jsonl")
    finished, cut = gd.read_traces(tmp_path / "out.jsonl")
    assert (finished.info["answered"], cut.info["answered"], cut.info["calls"]) == (True, False, 4)
    assert finished.segments[0].text == f"I add.\n{call('add', a=2, b=3)}"


def but(**changes):
    row = trace()
    for path, value in changes.items():
        target = row
        *way, last = [int(part) if part.isdigit() else part for part in path.split("__")]
        for part in way:
            target = target[part]
        if value is None and last != "content":
            del target[last]
        else:
            target[last] = value
    return row


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"text": "x"}, "no messages"),
        (but(messages=[]), "no messages"),
        (but(messages__1__role="function"), "message 2 has the role 'function'"),
        (but(messages__1=7), "message 2 is not an object"),
        (but(messages__1__content=None), "message 2 has no content"),
        (but(messages__5__content=None), "message 6 has no content"),
        (but(messages__1__content=[{"type": "image_url"}]), "message 2 has a part that is not text (image_url)"),
        (but(messages__3__tool_call_id="z"), "message 4 answers 'z', which is not an open call"),
        (but(messages__3__tool_call_id="a"), "message 5 answers 'a', which is not an open call"),
        (but(messages__3__tool_call_id=None), "message 4 is a tool's and has no tool_call_id"),
        (but(messages__3=None), "message 5 comes before 'b' is answered"),
        (but(messages__2__tool_calls__1__id="a"), "message 3 has two calls with one id"),
        (but(messages__2__tool_calls__0__function=None), 'message 3: a call is {"id"'),
        (but(messages__2__tool_calls__0__function__arguments=3), "message 3: the arguments of add are not text"),
        (but(messages__1__tool_calls=[asks("q", "add", "{}")]), "message 2 calls tools, and is not the assistant's"),
        (but(messages__5__function_call={}), "message 6 has function_call, which tool_calls took the place of"),
        (but(messages=trace()["messages"][:2]), "the assistant says nothing in it"),
        (but(messages__1__role="system"), "the user does not speak before"),
        (but(tools={}), "tools is not a list"),
        (but(tools__0__function=None), "a tool is {"),
    ],
)
def test_malformed_lines_are_refused_with_their_numbers(row, why, tmp_path):
    file = tmp_path / "traces.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in (trace(), row, trace())))
    with pytest.raises(gd.UserError) as refused:
        gd.read_traces(file)
    assert f"traces.jsonl, line 2: {why}" in str(refused.value)
    with pytest.raises(gd.UserError) as refused:
        gd.tasks.traces(str(file)).open()
    assert f"traces.jsonl, line 2: {why}" in str(refused.value)


def test_rewards_see_turns_calls_and_results():
    def honest(episode, turns, completion, answer, source) -> float:
        assert (len(turns), source["agent"]) == (3, "mine")
        return float(episode.info["called"][0]["result"] == answer)

    changed = copy.deepcopy(trace())
    changed["messages"][4]["content"] = "6"
    assert gd.score_traces([trace(), changed], honest).whole == [1.0, 0.0]


def test_every_turn_of_the_assistants_is_learned_in_the_models_own_format():
    rows = [trace(n) for n in range(10)]
    source = gd.tasks.traces(rows, held_out=0.2)
    assert (source.size("train"), source.size("test")) == (24, 6)
    third = source.get("train", 2)
    assert [message["role"] for message in third.view] == [
        *("system", "user", "assistant", "user", "assistant", "user"),
    ]
    assert third.view[3]["content"] == ("<tool_response>\n2\n</tool_response>\n<tool_response>\n2\n</tool_response>")
    first = source.get("train", 0)
    assert source.check(first, first.answer.replace("I add.", "So.")) == 1.0
    assert source.check(first, first.answer.replace("2", "3")) == source.check(first, "It is 5.") == 0.0
    second = source.get("train", 1)
    assert (source.check(second, " It is 2, and 2."), source.check(second, "It is 3.")) == (1.0, 0.0)
    assert {source.get("test", i).meta["asked"] for i in range(6)} == {f"2+{n}, and 1+1?\nThanks." for n in (8, 9)}
    llama = gd.tasks.traces(rows, format="llama").get("train", 1).view
    assert llama[-1] == {"role": "ipython", "content": "2"}


def spoken(n: int) -> dict:
    """As sprig would: a chain of one step."""
    messages = [
        {"role": "user", "content": f"chain {n} +3 *2"},
        {"role": "assistant", "content": None, "tool_calls": [asks("a", "calculator", f'{{"expression": "{n}+3"}}')]},
        {"role": "tool", "tool_call_id": "a", "content": f"{n + 3}"},
        {"role": "assistant", "content": f"= {n + 3}"},
    ]
    return {"messages": messages, "tools": [gd.tool(gd.envs.calculator).schema]}


def test_traces_have_what_sft_needs():
    assert facts_of(gd.tasks.traces([spoken(n) for n in range(4)])) == {"answers", "solutions", "finite"}


@pytest.mark.slow
def test_sft_learns_from_a_file_of_traces(tmp_path, capsys):
    file = tmp_path / "traces.jsonl"
    file.write_text("".join(json.dumps(spoken(n)) + "\n" for n in range(8)))
    run = gd.train(
        "sft",
        data=str(file),
        model="sprig-1.1",
        steps=1,
        prompts=3,
        out=tmp_path / "run",
        options=gd.Options(eval_tasks=0),
    )
    episodes = run.batch(0).episodes
    assert {e.segments[0].text for e in episodes} <= {
        *(f"call {n}+3" for n in range(8)),
        *(f"= {n + 3}" for n in range(8)),
    }
    assert all(
        e.ask.shown[0]["content"].startswith("tool\nchain") if isinstance(e.ask.shown, list) else True for e in episodes
    )
    assert run.model().calls == "sprig"
    assert main(["export", str(tmp_path / "run"), "--traces", str(tmp_path / "out.jsonl")]) == 0
    assert "3 conversations" in capsys.readouterr().out
    assert len(gd.read_traces(tmp_path / "out.jsonl")) == 3


def test_what_can_be_read_once_alone_is_left_to_others():
    from guerdon.training.build import find_task

    once = ({"question": f"{n}+1?", "answer": n + 1} for n in range(10))
    assert find_task(None, once).size("train") == 9
    assert type(find_task(None, [trace(n) for n in range(3)])).__name__ == "traces"
    with pytest.raises(gd.UserError, match="cannot read --data"):
        find_task(None, __file__ + "x")


def test_replay_scores_a_file_of_traces(tmp_path, capsys):
    file, reward = tmp_path / "traces.jsonl", tmp_path / "my.py"
    file.write_text("".join(json.dumps(trace(n)) + "\n" for n in (3, 4)))
    reward.write_text("def five(answer) -> float:\n    return float(answer == '5')\n")
    assert main(["replay", str(file), "--reward", f"{reward}:five", "--json"]) == 0
    told = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert [(row["trace"], row["reward"], row["calls"], row["errors"]) for row in told["scores"]] == [
        ("1", 1.0, 3, 1),
        ("2", 0.0, 3, 1),
    ]
    assert main(["replay", str(file), "--reward", f"{reward}:five", "--step", "1"]) == 2
    assert "remove --step and --column" in capsys.readouterr().err
