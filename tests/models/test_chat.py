"""Chat templates: the same tokens as `transformers`, only what is new in a later turn, and text that forges nothing."""

from __future__ import annotations

import json

import numpy as np
import pytest
from refusals import refusal
from small import small_config
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from guerdon.core.episode import End, Segment
from guerdon.core.errors import UserError
from guerdon.core.model import Request
from guerdon.core.task import Ask, Sampling, Task
from guerdon.engine.seats import EpisodeSeats
from guerdon.models import huggingface
from guerdon.models.chat import Chat, Format
from guerdon.models.decoder import Decoder
from guerdon.models.huggingface import OWN
from guerdon.models.language_model import lm
from guerdon.models.tokenizer import train_tokenizer

SPECIALS = [
    "<s>", "</s>", "<|im_start|>", "<|im_end|>", "<start_of_turn>", "<end_of_turn>", "<|start_header_id|>",
    "<|end_header_id|>", "<|eot_id|>", "[INST]", "[/INST]",
]  # fmt: skip
CHATML = """{%- if messages[0]['role'] != 'system' %}
    {{- '<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}"""
GEMMA = """{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- set first_user_prefix = messages[0]['content'] + '\n\n' -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set first_user_prefix = "" -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("Conversation roles must alternate user/assistant/user/assistant/...") }}
    {%- endif -%}
    {%- set role = 'model' if message['role'] == 'assistant' else message['role'] -%}
    {{ '<start_of_turn>' + role + '\n' + (first_user_prefix if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'text' -%}{{ item['text'] | trim }}{%- endif -%}
        {%- endfor -%}
    {%- endif -%}
    {{ '<end_of_turn>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{ '<start_of_turn>model\n' }}
{%- endif -%}"""
LLAMA3 = """{{- bos_token }}
{%- for message in messages %}
    {%- if message.role == 'tool' %}
        {{- '<|start_header_id|>ipython<|end_header_id|>\n\n' }}
        {{- message.content | tojson }}
    {%- else %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim }}
    {%- endif %}
    {{- '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{%- endif %}"""
MISTRAL = """{%- if messages[0]['role'] == 'system' %}{% set system = messages[0]['content'] %}{% set rest = messages[1:] %}
{%- else %}{% set rest = messages %}{% endif %}{{ bos_token }}
{%- for message in rest %}{% if message['role'] == 'user' %}
{%- if loop.last and system is defined %}{{- '[INST] ' + system + '\n\n' + message['content'] + '[/INST]' }}
{%- else %}{{- '[INST] ' + message['content'] + '[/INST]' }}{% endif %}
{%- elif message['role'] == 'assistant' %}{{- ' ' + message['content'] + eos_token }}{% endif %}{% endfor %}"""
STRIPPING = """{% for m in messages %}{% if m.role == 'skip' %}{% continue %}{% endif %}{% generation %}
{{- '<|im_start|>' + m.role + '\n' + m.content.lstrip('\n') + '<|im_end|>\n' }}{% endgeneration %}{% endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"""
TEMPLATES = {"chatml": CHATML, "gemma": GEMMA, "llama3": LLAMA3, "mistral": MISTRAL, "stripping": STRIPPING}
ENDS = {
    "chatml": "<|im_end|>",
    "gemma": "<end_of_turn>",
    "llama3": "<|eot_id|>",
    "mistral": "</s>",
    "stripping": "<|im_end|>",
}
LEARNED = [
    "user\nhello there",
    "model\nhello  you\n\nassistant\nhelp",
    "system\nYou are a helpful assistant.",
    "why?\n",
] * 9


def byte_level():
    """Its merges cross from a template's text into what is put there: `\\nh` is one token."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        LEARNED, trainers.BpeTrainer(vocab_size=330, initial_alphabet=alphabet, show_progress=False)
    )
    made.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in SPECIALS])
    return made


def with_prefix():
    """As SentencePiece's: a space is put before the first word of a text, and only there."""
    trial = Tokenizer(models.BPE())
    trial.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    trial.train_from_iterator(LEARNED, trainers.BpeTrainer(vocab_size=60, show_progress=False))
    learned = json.loads(trial.to_str())["model"]
    names = ["<unk>", *(f"<0x{b:02X}>" for b in range(256)), *learned["vocab"]]
    vocab, merges = {name: i for i, name in enumerate(names)}, [tuple(pair) for pair in learned["merges"]]
    made = Tokenizer(models.BPE(vocab=vocab, merges=merges, byte_fallback=True, unk_token="<unk>"))
    made.pre_tokenizer = trial.pre_tokenizer
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    made.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in ["<unk>", *SPECIALS]])
    return made


def plain():
    """As Gemma's: spaces become a letter."""
    made = byte_level()
    made.normalizer = normalizers.Replace(" ", "_")
    return made


TOKENIZERS = {"byte level": byte_level, "with a prefix": with_prefix, "normalised": plain}
NAMES = {"bos_token": "<s>", "eos_token": "</s>"}
VIEWS = [
    "hello there",
    "  two  spaces around \n",
    "help\nme\n\n",
    "",
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}],
    [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "why?"}],
]


def chat_of(template="chatml", tokenizer=byte_level, **more):
    return Chat(tokenizer(), Format(TEMPLATES.get(template, template), NAMES, **more))


def reference(chat):
    transformers = pytest.importorskip("transformers")
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=chat.tokenizer, **NAMES)
    made.chat_template = chat.format.template

    def encode(view):
        messages = view if isinstance(view, list) else [{"role": "user", "content": view}]
        return made.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)

    return encode


def said(chat, view, text, path=(), ended=True):
    """A turn of a conversation in which the model said `text`."""
    actions = chat.tokens(text) + ([chat.ends[0]] if ended else [])
    context = chat.encode(view, path)
    end = End.DONE if ended else End.CUT
    return Segment("policy", view, np.array(context), np.array(actions), np.zeros(len(actions)), text, end=end)


# --- the same tokens ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=TOKENIZERS)
@pytest.mark.parametrize("template", TEMPLATES)
def test_a_first_turn_is_as_in_transformers(template, tokenizer):
    chat = chat_of(template, tokenizer)
    expected = reference(chat)
    for view in VIEWS:
        assert list(chat.encode(view)) == expected(view), view
        assert list(chat.encode(view)) == expected(view), view  # out of memory


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_end_of_a_turn_is_found_in_the_template(template):
    chat = chat_of(template, ends=(1,))
    assert chat.ends == (chat.special[ENDS[template]], 1)


@pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=TOKENIZERS)
@pytest.mark.parametrize("template", ["chatml", "gemma", "llama3", "stripping"])
def test_later_turns_add_up_to_the_whole_conversation(template, tokenizer):
    chat = chat_of(template, tokenizer)
    expected = reference(chat)
    first = said(chat, "hello", "help")
    second = said(chat, "why?", "you are there", (first,))
    third = chat.encode("hello  again", (first, second))
    turns = [first.context, first.actions, second.context, second.actions, third]
    messages = [
        {"role": "user", "content": "hello"}, {"role": "assistant", "content": "help"},
        {"role": "user", "content": "why?"}, {"role": "assistant", "content": "you are there"},
        {"role": "user", "content": "hello  again"},
    ]  # fmt: skip
    whole = expected(messages)
    assert whole[-len(third) :] == list(third)
    if tokenizer is not with_prefix:  # which puts a space before what is said
        text = chat.tokenizer.decode([n for turn in turns for n in turn], skip_special_tokens=False)
        assert text == chat.tokenizer.decode(whole, skip_special_tokens=False)


def test_a_later_turn_that_is_asked_for_again_is_made_once(monkeypatch):
    """Whether it fits, and then to be read; another path or another view is another turn."""
    chat = chat_of("chatml")
    first, same = (said(chat, "2+2", "4") for _ in range(2))
    made = []
    monkeypatch.setattr(chat, "_encode", lambda view, path: made.append((view, path)) or (len(made),))
    turns = [("3+3", [first]), ("3+3", [first]), ("3+4", [first]), ("3+4", [same]), ("3+3", [first])]
    assert [chat.encode(*turn) for turn in turns] == [(1,), (1,), (2,), (3,), (4,)]


def test_the_end_of_a_turn_is_said_once():
    chat = chat_of("gemma")
    end = chat.special["<end_of_turn>"]
    done, cut = said(chat, "hello", "help"), said(chat, "hello", "help", ended=False)
    after_done, after_cut = chat.encode("why?", (done,)), chat.encode("why?", (cut,))
    assert after_cut == (end, *after_done) and after_done.count(end) == 1
    assert chat.tokenizer.decode(after_done, skip_special_tokens=False).startswith("\n<start_of_turn>user\nwhy?")


def test_another_end_token_ends_a_turn_too():
    chat = chat_of("gemma", ends=(byte_level().token_to_id("</s>"),))
    done = said(chat, "hello", "help")
    other = done.but(actions=np.array([*done.actions[:-1], chat.special["</s>"]]))
    assert chat.encode("why?", (other,)) == chat.encode("why?", (done,))


def test_a_template_that_repeats_earlier_words_gets_them():
    """Mistral's puts the system's words before the last user's."""
    chat = chat_of("mistral")
    view = [{"role": "system", "content": "Be <s> brief."}, {"role": "user", "content": "hello"}]
    later = chat.encode("why?", (said(chat, view, "help"),))
    assert chat.tokenizer.decode(later, skip_special_tokens=False) == "[INST] Be <s> brief.\n\nwhy?[/INST]"


def test_own_format():
    chat = Chat(train_tokenizer(LEARNED, 320), OWN)
    pad, user, assistant, end = range(4)
    assert chat.ends == (end,) and chat.special["<|pad|>"] == pad
    assert list(chat.encode("why?")) == [user, *chat.tokens("why?"), assistant]
    assert list(chat.encode("why?", (said(chat, "a", "b"),))) == [user, *chat.tokens("why?"), assistant]
    assert list(chat.encode({"seen": [1, 2]})) == [user, *chat.tokens('{"seen": [1, 2]}'), assistant]
    assert list(chat.encode([1, 2])) == [user, *chat.tokens("[1, 2]"), assistant]
    assert list(chat.encode([{"role": "user"}])) == [user, *chat.tokens('[{"role": "user"}]'), assistant]


# --- forging ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=TOKENIZERS)
@pytest.mark.parametrize("template", TEMPLATES)
def test_text_never_makes_a_special_token(template, tokenizer):
    chat = chat_of(template, tokenizer)
    harmless = [n for n in chat.encode("QQ") if n in chat.special.values()]
    for special in SPECIALS:
        for text in (special, f"a{special}b", f"a {special}{special}\n", special[1:], special[:-1] + special):
            found = chat.encode(text)
            assert [n for n in found if n in chat.special.values()] == harmless, (special, text)
            assert special not in text or special.replace("_", " ") in chat.tokenizer.decode(found).replace("_", " ")
            assert not set(chat.tokens(text)) & set(chat.special.values())


def test_text_and_template_together_make_no_special_token():
    """`<|im_` in the template and `end|>` in the view."""
    chat = chat_of("{% for m in messages %}<|im_{{ m.content }}<|im_end|>{% endfor %}")
    assert chat.encode("end|>").count(chat.special["<|im_end|>"]) == 1


def test_marks_in_a_view_are_text():
    chat = chat_of("chatml")
    assert "QxSlot0xQ QxSlot7xQ" in chat.tokenizer.decode(chat.encode("QxSlot0xQ QxSlot7xQ"))


def test_forging_in_other_places_of_a_message():
    """Tool calls hold text too; a role or a key with a special token in it is refused."""
    chat = chat_of(
        "{% for m in messages %}<|im_start|>{{ m.role }}{{ m.calls | default | tojson }}{{ m.content }}<|im_end|>{% endfor %}",
        ends=(1,),
    )
    call = [{"name": "a<|im_end|>", "arguments": {"x": "<|im_start|>\n"}}]
    found = chat.encode([{"role": "user", "content": "c", "calls": call}])
    assert found.count(chat.special["<|im_end|>"]) == 1 and found.count(chat.special["<|im_start|>"]) == 1
    assert json.dumps(call) in chat.tokenizer.decode(found)
    for bad in (
        {"role": "user<|im_end|>", "content": "c"},
        {"role": "user", "content": "c", "calls": {"<|im_end|>": 1}},
    ):
        with refusal(UserError):
            chat.encode([bad])


# --- what templates do to texts -------------------------------------------------------------------------------------------


def test_texts_are_stripped_as_the_template_does():
    trimmed, lines, whole = chat_of("gemma"), chat_of("stripping"), chat_of("chatml")
    assert trimmed.encode(" \n\thello \n") == trimmed.encode("hello")
    assert lines.encode("\n\nhello ") == lines.encode("hello ") != lines.encode("hello")
    assert lines.encode(" \nhello") != lines.encode("hello")
    assert whole.encode(" hello") != whole.encode("hello")


def test_text_that_a_template_writes_as_json():
    chat = chat_of("llama3")
    expected = reference(chat)
    call = [{"role": "user", "content": "hello"}, {"role": "tool", "content": 'a "quoted"\nline\twith é'}]
    assert list(chat.encode(call)) == expected(call)


def test_contents_in_parts():
    chat = chat_of("gemma")
    expected = reference(chat)
    view = [{"role": "user", "content": [{"type": "text", "text": " hello "}, {"type": "text", "text": "you"}]}]
    assert list(chat.encode(view)) == expected(view)


def test_what_a_template_refuses_is_one_clear_line():
    chat = chat_of("gemma")
    twice = [{"role": "user", "content": "hello"}, {"role": "user", "content": "you"}]
    with refusal(UserError):
        chat.encode(twice)
    with refusal(UserError):
        chat_of("{% for %}")
    with refusal(UserError, "7"):
        chat_of("{{ messages[7].content + 1 }}", ends=(1,))
    with refusal(UserError):
        deaf = chat_of("{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}", ends=(1,))
        deaf.encode("b", (said(deaf, "a", "c"),))


def test_templates_are_not_trusted():
    with refusal(UserError, "__class__"):
        chat_of("{{ messages.__class__.__mro__ }}", ends=(1,))


# --- without a template ---------------------------------------------------------------------------------------------------


def test_a_base_model_reads_the_text_as_it_is():
    chat = Chat(byte_level(), Format(None, NAMES, ends=(7,), starts=True))
    assert chat.ends == (7,)
    assert list(chat.encode("hello </s>")) == [chat.special["<s>"], *chat.tokens("hello </s>")]
    assert list(chat.encode("hello", (said(chat, "a", "b"),))) == chat.tokens("hello")
    assert list(chat.encode({"a": 1}))[1:] == chat.tokens('{"a": 1}')
    assert list(chat.encode([{"role": "system", "content": "a"}, {"role": "user", "content": "b"}]))[1:] == chat.tokens(
        "a\n\nb"
    )
    assert list(Chat(byte_level(), Format(None, NAMES, ends=(7,))).encode("hello")) == chat.tokens("hello")


def test_truncation_and_padding_of_a_file_are_not_obeyed():
    tokenizer = byte_level()
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=9)
    assert len(Chat(tokenizer, Format(None, ends=(7,))).encode("abcdefgz" * 3)) == 24


# --- in a model -----------------------------------------------------------------------------------------------------------


def test_a_model_knows_its_past_when_it_recites(tmp_path):
    format = Format(CHATML, NAMES, ends=(7,))
    huggingface.write(tmp_path, Decoder(small_config(vocab=400)).reset(0), byte_level(), format)
    model = lm(source=str(tmp_path))
    seats = EpisodeSeats(
        Ask(Task("t", "hello")), {"policy": "policy"}, {"policy": model}, Sampling(), (0, 0, 0, 0), None, None
    )
    first = seats["policy"].teacher_force("hello", "help")
    second = seats["policy"].teacher_force("why?", "you")
    assert model.tokenizer.decode(first.context.tolist(), skip_special_tokens=False).startswith("<|im_start|>system")
    assert second.context.tolist() == model.encode("why?", (first,)).tolist() != model.encode("why?").tolist()
    asked = model.token_request(Request((first,), "why?", Sampling(), 0))
    assert asked.context.tolist() == second.context.tolist()
    assert asked.prompt == (*first.context, *first.actions, *second.context)
    assert first.actions[-1] == model.ends[0] == model.special["<|im_end|>"] and model.ends[1] == 7
