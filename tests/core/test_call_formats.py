"""Tool calls as text: what is written is read back, and what models were taught is what is written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import guerdon as gd
from guerdon.data.call_formats import CALL_FORMATS, MOST, CallFormat, ToolCall, ToolTurn, calls_in
from guerdon.models.chat import Format

TOOLS = [gd.tool(gd.envs.calculator).schema]
TEXT = st.text('a1+{}[]<>/"\\\n é\u2028😀;:=', max_size=20)


@pytest.mark.parametrize("name", CALL_FORMATS)
@given(
    st.lists(TEXT.map(str.strip).filter(bool).filter(lambda text: len(text.splitlines()) == 1), min_size=1, max_size=3)
)
def test_calls_are_read_as_they_were_written(name, given):
    way = CALL_FORMATS[name]
    turn = ToolTurn("", tuple(ToolCall("calculator", {"expression": text}) for text in given))
    if name == "hermes" and any("</tool_call>" in text for text in given):
        return
    assert way.read(way.write(turn), TOOLS) == turn


@pytest.mark.parametrize("name", CALL_FORMATS)
@given(TEXT)
def test_words_without_a_call_are_the_answer(name, text):
    way = CALL_FORMATS[name]
    if not text.lstrip().startswith(("{", "[", "call")):
        assert way.read(text, TOOLS) == ToolTurn(text)


def test_words_beside_calls_are_kept_apart():
    hermes = CALL_FORMATS["hermes"]
    turn = ToolTurn("Let me see.", (ToolCall("calculator", {"expression": "1+1"}),))
    said = hermes.write(turn)
    assert said == 'Let me see.\n<tool_call>\n{"name": "calculator", "arguments": {"expression": "1+1"}}\n</tool_call>'
    assert hermes.read(said, TOOLS) == turn
    listed = (
        '<tool_call>[{"name": "calculator", "arguments": {"expression": "1+1"}}]</tool_call>'  # as SmolLM2 writes it
    )
    assert hermes.read(listed, TOOLS).calls == turn.calls
    assert calls_in('{"name": "calculator", "arguments": "{\\"expression\\": \\"1+1\\"}"}') == [*turn.calls]


def test_llama_answers_in_json_are_answers():
    llama = CALL_FORMATS["llama"]
    assert llama.read('{"answer": 5}', TOOLS) == ToolTurn('{"answer": 5}')
    assert llama.read('<|python_tag|>{"name": "calculator", "parameters": {}}', TOOLS).calls[0].name == "calculator"
    (broken,) = llama.read('{"name": "calculator", "parameters": {', TOOLS).calls
    assert broken.fault.startswith("the call is not JSON")


def test_tools_are_told_of_as_qwen_and_llama_were_taught():
    """Qwen 2.5's as its own chat template writes it for this tool, taken from what a server sent to the model."""
    tool = {
        "type": "function",
        "function": {"name": "run", "description": "Run python", "parameters": {"type": "object"}},
    }
    talk = [{"role": "system", "content": "You are a Search Agent."}, {"role": "user", "content": "Compute 17*23."}]
    system, user = CALL_FORMATS["hermes"].opening(talk, [tool])
    assert user == talk[1]
    assert system["content"] == (
        "You are a Search Agent.\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are"
        " provided with function signatures within <tools></tools> XML tags:\n<tools>\n"
        '{"type": "function", "function": {"name": "run", "description": "Run python", "parameters": {"type": "object"}}}\n'
        "</tools>\n\nFor each function call, return a json object with function name and arguments within"
        " <tool_call></tool_call> XML tags:\n<tool_call>\n"
        '{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
    )
    told = CALL_FORMATS["llama"].opening(talk, [tool])
    assert told[0] == talk[0]
    assert told[1]["content"].endswith('"type": "object"\n        }\n    }\n}\n\nCompute 17*23.')


@pytest.mark.parametrize(
    ("template", "name"),
    [
        (None, "hermes"),
        ("{{ messages[0].content }}", "hermes"),
        ("{% if tools %}<tool_call>{% endif %}", "hermes"),
        ("<|start_header_id|>ipython<|end_header_id|>", "llama"),
        ("{{ raise_exception('the roles are user and assistant') }}", "sprig"),
    ],
)
def test_a_template_tells_the_format(template, name):
    from guerdon.models.chat import Chat

    assert Chat.calls.fget(type("", (), {"format": Format(template)})()) == name
    assert gd.models.load("sprig").calls == "sprig"


@pytest.mark.parametrize("form", [kind() for kind in CallFormat.__subclasses__()], ids=lambda form: form.name)
def test_a_reply_of_500_calls_is_read_up_to_a_number_of_them(form):
    """However they are written: behind each other, and in one list."""
    schema = {"name": "add", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}}
    tools = [{"type": "function", "function": schema}]
    said = form.write(ToolTurn("", tuple(ToolCall("add", {"text": "1"}) for _ in range(500))))
    assert len(form.read(said, tools).calls) == MOST
    listed = json.dumps([{"name": "add", "arguments": {"text": "1"}}] * 500)
    assert len(form.read(f"<tool_call>{listed}</tool_call>", tools).calls) <= MOST
    assert len(form.read(listed, tools).calls) <= MOST
