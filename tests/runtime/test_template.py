"""Chat templates: other people's Jinja programs, run as their authors expect and no further."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localspec.base.errors import InputError
from localspec.engine.cancel import Cancelled
from localspec.engine.events import ToolCall
from localspec.runtime.messages import Message, Role, Tool
from localspec.runtime.template import LONGEST_SOURCE, ChatTemplate
from localspec.runtime.template.marked_text import MarkedText, marked

SYSTEM = Message(Role.SYSTEM, "Be brief.")
USER = Message(Role.USER, "Hi & <you>")


def render(source: str, *messages: Message) -> str:
    template = ChatTemplate(source, bos="<s>", eos="</s>", now=lambda: datetime(2026, 11, 21))
    return template.render(messages or [USER])


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ bos_token }}{{ messages[0].content }}{{ eos_token }}", "<s>Hi & <you></s>"),
        ("{{ messages[0]['role'] }}", "user"),
        ("{{ messages | tojson }}", '[{"role": "user", "content": "Hi & <you>"}]'),
        ("{{ 'ü' | tojson }}", '"ü"'),
        ("{% for m in messages %}\n  {% if true %}\nx{% endif %}\n{% endfor %}", "x"),
        ("{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "01"),
        ("{{ strftime_now('%d %b %Y') }}", "21 Nov 2026"),
        ("{% if tools is none %}no tools{% endif %}", "no tools"),
        ("{% generation %}said{% endgeneration %}", "said"),
        ("{% if add_generation_prompt %}go{% endif %}", "go"),
        ("{% for tool in tools %}{{ tool }}{% endfor %}end", "end"),
    ],
)
def test_a_template_finds_what_it_expects(source: str, text: str) -> None:
    """White space, helpers and variables are those of the libraries that templates are written for."""
    assert render(source) == text


QWEN = "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}"
THINKS = "{{ '<think>\\n' }}"
GPT_OSS = "Reasoning: {{ reasoning_effort if reasoning_effort is defined else 'medium' }}"
HUNYUAN = (
    "{% if reasoning_effort is not defined %}{% set reasoning_effort = 'no_think' %}{% endif %}"
    "{% if reasoning_effort not in ['high', 'low', 'no_think'] %}{{ raise_exception('reasoning_effort error') }}"
    "{% endif %}{{ reasoning_effort }}"
)


def reasoned(source: str, reasoning: str | None) -> MarkedText:
    return ChatTemplate(source, bos="", eos="").render([USER], reasoning=reasoning)


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("{{ 'yes' if enable_thinking is defined else 'no' }}", {None: "no", "off": "yes", "low": "yes"}),
        (QWEN, {None: "", "off": "<think>\n\n</think>\n\n", "on": "", "high": ""}),
        ("{% if thinking %}Think!{% endif %}", {None: "", "off": "", "on": "Think!", "low": "Think!"}),
        ("{{ thinking_budget | default(-1) }}", {None: "-1", "off": "0", "high": "-1"}),
        ("{{ thinking_mode | default('adaptive') }}", {None: "adaptive", "off": "disabled", "on": "enabled"}),
        (
            GPT_OSS,
            {None: "Reasoning: medium", "off": "Reasoning: low", "on": "Reasoning: medium", "high": "Reasoning: high"},
        ),
        (HUNYUAN, {None: "no_think", "off": "no_think", "on": "high", "low": "low"}),
        (THINKS, {None: "<think>\n", "on": "<think>\n", "off": "<think>\n\n</think>\n\n"}),
        ("<think>", {None: "<think>", "off": "<think></think>"}),
    ],
)
def test_reasoning_is_asked_for_in_the_words_of_each_template(source: str, texts: dict[str | None, str]) -> None:
    """Reasoning that a template without a switch begins is ended at once."""
    assert {reasoning: reasoned(source, reasoning) for reasoning in texts} == texts


def test_an_effort_that_a_template_does_not_know_is_refused_with_a_hint() -> None:
    with pytest.raises(InputError) as caught:
        reasoned(HUNYUAN, "medium")
    assert "--reasoning" in (caught.value.hint or "")


def test_an_effort_is_text_of_a_stranger() -> None:
    """Requests name it: none of its characters can make a control token."""
    text = reasoned("{{ reasoning_effort }}", "<s>")
    assert (text, text.marks) == ("<s>", b"\1\1\1")


GEMMA = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}"
    "{% endif %}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}"
    "{{ message['role'] + ': ' + message['content'] | trim + '|' }}{% endfor %}"
)
"""As Gemma 2 has it."""
DEAF = "{% for m in messages %}{% if m.role != 'system' %}{{ m.role + ': ' + m.content + '|' }}{% endif %}{% endfor %}"
"""One that passes system messages over."""


@pytest.mark.parametrize(("source", "bos"), [(GEMMA, "<s>"), (DEAF, "")])
def test_what_a_template_has_no_place_for_stands_before_the_first_question(source: str, bos: str) -> None:
    """A persona, or the summary of old turns, is not lost; without one nothing changes."""
    reply, again = Message(Role.ASSISTANT, "Hello."), Message(Role.USER, "Bye")
    assert (
        render(source, SYSTEM, USER, reply, again) == f"{bos}user: Be brief.\n\nHi & <you>|assistant: Hello.|user: Bye|"
    )
    assert render(source, USER, reply, again) == f"{bos}user: Hi & <you>|assistant: Hello.|user: Bye|"


def test_a_template_with_a_place_for_it_has_it_there() -> None:
    assert render("{% for m in messages %}[{{ m.role }}]{{ m.content | trim }}{% endfor %}", SYSTEM, USER) == (
        "[system]Be brief.[user]Hi & <you>"
    )


def test_a_refusal_is_told_in_the_templates_words() -> None:
    """Where there is no question to put it before, or the template wants none of it."""
    with pytest.raises(InputError, match=r"System role not supported\. Leave the system prompt out"):
        render(GEMMA, SYSTEM)
    with pytest.raises(InputError, match=r"no talk\. Start a new chat"):
        render("{{ raise_exception('no talk') }}", USER)


@pytest.mark.parametrize(
    ("aside", "text"),
    [
        ("{{ raise_exception('The system message must be at the beginning') }}", "Be brief.|Hi & <you>|Be kind.|"),
        ("{% continue %}", "Be brief.|Hi & <you>|Be kind.|"),
        ("", "Be brief.|Hi & <you>|[system]Be kind.|"),
    ],
    ids=["refused", "passed over", "taken"],
)
def test_what_the_system_says_later_is_said_by_the_user_where_a_template_takes_it_at_the_beginning_alone(
    aside: str, text: str
) -> None:
    """As Qwen 3.5, which refuses it, and gpt-oss, which passes it over. It is lost with neither."""
    source = (
        "{% for m in messages %}{% if m.role == 'system' and not loop.first %}ASIDE[system]{% endif %}"
        "{{ m.content | trim + '|' }}{% endfor %}"
    ).replace("ASIDE", aside)
    assert render(source, SYSTEM, USER, Message(Role.SYSTEM, "Be kind.")) == text


TYPES = (
    "{% macro written(type) %}{% if type in ('string', 'object') %}{{ type }}{% else %}"
    "{% for part in type %}{{ written(part) }}{% endfor %}{% endif %}{% endmacro %}"
    "{% for tool in tools %}{% for name, part in tool.function.parameters.properties | items %}"
    "{{ name + ':' + written(part.type) + ' ' }}{% endfor %}{% endfor %}"
)
"""As Hermes 3 has it: a type is one of those that it knows, or a list of such."""


def test_a_tool_may_take_nothing_where_a_template_knows_no_type_for_that() -> None:
    """Nor any for what is no type; other templates are told the schema as it is."""
    properties = (
        '{"text": {"type": ["string", "null"]}, "nothing": {"type": "null"}, '
        '"part": {"type": "object", "properties": {"n": {"type": "float"}}}, "type": {"type": "string"}}'
    )
    tool = Tool("first", "", f'{{"type": "object", "properties": {properties}}}')
    template = ChatTemplate(TYPES, bos="", eos="")
    for _ in range(2):
        assert template.render([USER], tools=[tool]) == "text:string nothing: part:object type:string "
    told = ChatTemplate("{{ tools[0].function.parameters.properties | tojson }}", bos="", eos="")
    assert json.loads(told.render([USER], tools=[tool])) == json.loads(properties)


def test_a_tool_needs_no_parameters_and_null_is_no_description() -> None:
    """Seed-OSS's template fails over the one, that of gpt-oss over the other; what messages say is no such matter."""
    source = (
        "{% for tool in tools %}{% for name, part in tool.function.parameters.properties.items() %}"
        "{{ name + ':' + (part.description if 'description' in part else '-') + ' ' }}{% endfor %}{% endfor %}"
        "{{ messages[0].content + (none if messages[0].content == 'fail' else '') }}"
    )
    nothing = Tool("first", "", '{"type": "object"}')
    named = Tool("second", "", '{"type": "object", "properties": {"n": {"description": null}, "m": {"default": null}}}')
    template = ChatTemplate(source, bos="", eos="")
    with pytest.raises(InputError, match="fails on this conversation"):
        template.render([Message(Role.USER, "fail")], tools=[named])
    for _ in range(2):
        assert template.render([USER], tools=[nothing, named]) == f"n:- m:- {USER.content}"


MISTRAL = (
    "{% set turn = namespace(at=0) %}{% for m in messages if m.role == 'user' or (m.role == 'assistant' and "
    "not m.tool_calls) %}{% if (m.role == 'user') != (turn.at % 2 == 0) %}{{ raise_exception('alternate') }}{% endif %}"
    "{% set turn.at = turn.at + 1 %}{% endfor %}"
    "{% for m in messages %}{{ m.role + ': ' + m.content + '|' }}{% endfor %}"
)
"""As Mistral has it: calls and results are passed over."""
NO_EMPTY = (
    "{% for m in messages if m.role == 'assistant' and not m.content %}{{ raise_exception('empty') }}{% endfor %}"
    + GEMMA
)
"""As Ministral 3 has it."""
ANSWER = Message(Role.ASSISTANT, "Hello.")
CALLED = (
    Message(Role.ASSISTANT, "", (ToolCall("1", "first", "{}"),)),
    Message(Role.TOOL, "no.", call_id="1", name="first"),
)


@pytest.mark.parametrize(
    ("source", "messages", "text"),
    [
        (GEMMA, (USER, USER), "user: Hi & <you>\n\nHi & <you>|"),
        (GEMMA, (SYSTEM, USER, USER), "user: Be brief.\n\nHi & <you>\n\nHi & <you>|"),
        (
            MISTRAL,
            (USER, *CALLED, USER),
            "user: Hi & <you>|assistant: |tool: no.|assistant: (stopped)|user: Hi & <you>|",
        ),
        (MISTRAL, (USER, CALLED[0], USER), "user: Hi & <you>|assistant: |assistant: (stopped)|user: Hi & <you>|"),
        (NO_EMPTY, (USER, Message(Role.ASSISTANT, ""), USER), "user: Hi & <you>\n\nHi & <you>|"),
        (GEMMA, (ANSWER, USER), "user: (begins)|assistant: Hello.|user: Hi & <you>|"),
        (GEMMA, (SYSTEM, ANSWER, USER), "user: Be brief.\n\n(begins)|assistant: Hello.|user: Hi & <you>|"),
    ],
)
def test_a_conversation_goes_on_where_a_template_takes_turns_alone(
    source: str, messages: Sequence[Message], text: str
) -> None:
    """After calls that were stopped, after a question without an answer, and from a greeting on; texts stay input."""
    found = render(source, *messages)
    assert isinstance(found, MarkedText)
    assert found.removeprefix("<s>") == text
    assert b"\0" not in found[found.index("Hi &") :][:10].marks


@pytest.mark.parametrize(
    "source",
    [
        *(
            "{{ messages[7].content }}",
            "{{ 1 / 0 }}",
            "{{ nothing.at.all }}",
            "{{ 'x' | truncate(-1) }}",
            "{{ 1[1:] }}",
        ),
        *("{{ cycler() }}", "{{ 1e999 }}"),
    ],
)
def test_a_template_that_fails_is_an_error_of_the_input(source: str) -> None:
    with pytest.raises(InputError, match="fails on this conversation"):
        render(source)


def test_the_words_of_a_template_are_shown_as_far_as_anybody_reads_them() -> None:
    for source in ("{{ raise_exception('a' * 90000) }}", "{{ {}['a' * 90000] + 1 }}"):
        with pytest.raises(InputError) as refused:
            render(source, USER)
        assert len(refused.value.message) < 500


@pytest.mark.parametrize("source", ["{% for %}", "{% if a %}", "{% break %}", "{{ " + "9" * 5000 + " }}"], ids=len)
def test_a_template_that_is_no_jinja_is_told_so(source: str) -> None:
    with pytest.raises(InputError) as refused:
        render(source)
    assert re.search(r"cannot be read: .*[^.]\.$", refused.value.message)


CHANGES: tuple[Callable[[MarkedText], str], ...] = (
    lambda text: text + "A",
    lambda text: "A" + text,
    lambda text: text * 2,
    lambda text: text[1:-1],
    lambda text: text[::-1],
    lambda text: text[:1],
    lambda text: text.strip(),
    lambda text: text.strip("aA"),
    lambda text: MarkedText.own("-").join(text.split()),
    lambda text: MarkedText.own("-").join(text.rsplit(None, 1)),
    lambda text: MarkedText.own("").join(text.split("b", 2)),
    lambda text: MarkedText.own("").join(text.rsplit("B")),
    lambda text: MarkedText.own("").join(text.splitlines(True)),
    lambda text: MarkedText.own("").join(text.splitlines()),
    lambda text: MarkedText.own("").join(text.partition("b")),
    lambda text: MarkedText.own("").join(text.rpartition("B")),
    lambda text: MarkedText.own("").join(list(text)),
    lambda text: text.replace("b", "AA"),
    lambda text: text.replace("B", MarkedText.own("aa"), 1),
    lambda text: text.replace("", "A"),
    lambda text: text.removeprefix("a").removesuffix("A"),
    lambda text: MarkedText.own("a%sb%sb") % (text, "A"),
    lambda text: text.center(9, "A"),
    lambda text: text.zfill(0),
)


@given(st.lists(st.sampled_from("aAbB \n"), max_size=12), st.lists(st.sampled_from(CHANGES), max_size=4))
def test_a_mark_stays_with_its_character(signs: list[str], changes: list[Callable[[MarkedText], str]]) -> None:
    """Small letters are the template's own, capital ones input: so they are after whatever a template does.

    Where nobody knows, all is input; so a small letter may be marked, but a capital one always is.
    """
    text = MarkedText("".join(signs), bytes(sign.isupper() for sign in signs))
    plain = "".join(signs)
    for change in changes:
        text, plain = marked(change(text)), change(MarkedText.own(plain))
    assert text == str(plain)
    assert len(text.marks) == len(text)
    assert all(mark for sign, mark in zip(str(text), text.marks, strict=True) if sign.isupper())


@pytest.mark.parametrize(
    ("source", "own"),
    [
        ("<{{ messages[0].role }}>{{ messages[0].content }}<e>", "<user>_<e>"),
        ("{{ '<' + messages[0]['content'] + '>' }}", "<_>"),
        ("{{ '<' ~ messages[0].content ~ 1 ~ '>' }}", "<_1>"),
        ("{{ '<{}>{}'.format(messages[0].content, 'x') }}", "<_>x"),
        ("{{ '<%s>' % messages[0].content }}", "<_>"),
        ("{{ '<%s>' | format(messages[0].content) }}", "<_>"),
        ("{{ ['<', messages[0].content, '>'] | join('|') }}", "<|_|>"),
        ("{{ '|'.join(['<', messages[0].content | trim | upper, '>']) }}", "<|_|>"),
        ("{{ messages[0].content.split('&')[0] }}{{ messages[0].content | replace('Hi', '<e>') }}", "_<e>_"),
        ("{% macro say(what) %}<{{ what }}>{% endmacro %}{{ say(messages[0].content) }}", "<_>"),
        ("{% set said %}<{{ messages[0].content }}>{% endset %}{{ said | trim }}", "<_>"),
        ("{% set ns = namespace(out='<') %}{% set ns.out = ns.out + messages[0].content %}{{ ns.out }}>", "<_>"),
        ("{{ messages | tojson }}<e>", "_<e>"),
        ("{{ [messages[0].content, '<e>'] }}", "_"),
        ("{{ ['<e>', 1] }}{{ '<e>' | capitalize }}{{ '<e>' | indent(2) }}", "['<e>', 1]<e><e>"),
        ("{{ bos_token }}{{ strftime_now('%Y') }}{{ loop }}{{ messages[0].content | safe }}", "<s>2026_"),
    ],
)
def test_what_a_message_says_is_marked_in_what_a_template_writes(source: str, own: str) -> None:
    """And the template's own text around it is not, so that its control tokens stay."""
    text = ChatTemplate(source, bos="<s>", eos="</s>", now=lambda: datetime(2026, 11, 21)).render([USER])
    shown = "".join("\0" if mark else sign for sign, mark in zip(str(text), text.marks, strict=True))
    while "\0\0" in shown:
        shown = shown.replace("\0\0", "\0")
    assert shown.replace("\0", "_") == own


TWINS = (
    "{% set ns = namespace(x=dict(), y=dict()) %}{% for i in range(18) %}{% set ns.x = dict(a=ns.x, b=ns.x) %}"
    "{% set ns.y = dict(a=ns.y, b=ns.y) %}{% endfor %}"
)
"""Makes two objects that are equal, each of hundreds of thousands of parts that hardly take any room."""
NESTED = (
    "{% set ns = namespace(x=0) %}{% for i in range(18) %}{% set n = namespace() %}"
    "{% set n.a = ns.x %}{% set n.b = ns.x %}{% set ns.x = n %}{% endfor %}"
)
"""The same with a namespace, which nothing is called for."""
PAIRS = "{% set ns = namespace(x=('x', 'x')) %}{% for i in range(18) %}{% set both = dict(a=ns.x, b=ns.x).values() %}"
PAIRS += "{% set ns.x = dict(dict(a=both | list).values() | list).items() | first %}{% endfor %}"
"""The same with a tuple, whose hash takes as long as all of its parts."""
ENDLESS = {
    "loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "loops that write": "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
    "recursive loop": "{% for a in [1] recursive %}{{ loop(range(99999)) }}{{ loop([1]) }}{% endfor %}",
    "lists out of filters": "{% for a in range(99999) %}{{ range(99999) | list | length }}{% endfor %}",
    "filters in filters": "{% for a in range(999) %}{{ range(99999) | map('upper') | list | length }}{% endfor %}",
    "macro": "{% macro m(n) %}{% for i in range(9) %}{{ m(n + 1) }}{% endfor %}{% endmacro %}{{ m(0) }}",
    "macro without end": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "repetition": "{{ 'x' * 1000000000 }}",
    "repetition of lists": "{{ ([0] * 1000000000) | length }}",
    "repetition in steps": "{% set ns = namespace(x='x') %}{% for i in range(99) %}"
    "{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x | length }}",
    "repetition by ~": "{% set ns = namespace(x='x') %}{% for i in range(99) %}"
    "{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x | length }}",
    "power": "{{ 10 ** 1000000000 }}",
    "power of a power": "{{ 9 ** (9 ** 9) }}",
    "product in steps": "{% set ns = namespace(x=9) %}{% for i in range(99) %}"
    "{% set ns.x = ns.x * ns.x %}{% endfor %}{{ ns.x }}",
    "center": "{{ 'x' | center(1000000000) }}",
    "methods of texts": "{{ 'x'.ljust(1000000000) }}",
    "zfill": "{{ 'x'.zfill(1000000000) }}",
    "expandtabs": "{{ ('\t' * 9999).expandtabs(99999) }}",
    "indent": "{{ ('x\n' * 9999) | indent(99999) }}",
    "indent of other lines": r"{{ ('x\r' * 9999) | indent(99999) }}",
    "indent by names": "{{ ('x\n' * 99999) | indent(first=true, width=99999) }}",
    "replace": "{{ ('x' * 99999) | replace('x', 'y' * 99999) }}",
    "replace by names": "{{ ('x' * 99999) | replace(new='y' * 99999, old='x') }}",
    "replace in a list": "{{ (['x'] * 9999) | replace('x', 'y' * 999999) }}",
    "replace of nothing": "{{ ('x' * 99999).replace('', 'y' * 99999) }}",
    "dates": "{{ strftime_now('%99999Y' * 1000) }}",
    "join": "{{ ('y' * 99999).join(['x'] * 99999) }}",
    "join, the filter": "{{ (['y' * 99999] * 99999) | join }}",
    "format": "{{ '%1000000000d' % 1 }}",
    "format with a star": "{{ '%*d' % (1000000000, 1) }}",
    "format, the filter": "{{ '%1000000000d' | format(1) }}",
    "format by names": "{{ ('%(a)s' * 99999) % {'a': 'y' * 99999} }}",
    "format by names, the filter": "{{ ('%(a)s' * 99999) | format(a='y' * 99999) }}",
    "format, the method": "{{ '{:1000000000}'.format(1) }}",
    "format of a format": "{{ '{:{}}'.format(1, 1000000000) }}",
    "round": "{{ 1.5 | round(1000000000, 'ceil') }}",
    "batch": "{{ [1] | batch(1000000000, 0) | list | length }}",
    "slice": "{{ [1] | slice(1000000000) | list | length }}",
    "tojson": "{{ [[[1]]] | tojson(indent=1000000000) }}",
    "lists within lists": "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}"
    "{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
    "lists compared": "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}"
    "{% set ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.x == ns.y }}",
    "namespaces within namespaces": "{% set ns = namespace(x=0) %}{% for i in range(99) %}"
    "{% set n = namespace(a=ns.x, b=ns.x) %}{% set ns.x = n %}{% endfor %}{{ ns }}",
    "a namespace in itself": "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}",
    "slices": "{% set x = 'x' * 99999 %}{% for i in range(9999) %}{% if x[1:] %}{% endif %}{% endfor %}",
    "objects compared by a loop": TWINS + "{% for i in [0, 1] %}{{ loop.changed(ns.x if i else ns.y) }}{% endfor %}",
    "objects compared by a tuple": TWINS + "{{ (dict(z=ns.x).items() | first).index(ns.y) }}",
    "objects compared by a view": TWINS + "{{ dict(z=ns.x).items().isdisjoint(dict(z=ns.y).items()) }}",
    "hash of a tuple": PAIRS + "{{ {}.get(ns.x) }}",
    "namespaces in a refusal": NESTED + "{{ raise_exception(ns.x) }}",
    "namespaces in an error": NESTED + "{{ ({}[ns.x]).y }}",
    "namespaces in an error of a filter": NESTED + "{{ ([{}] | map(attribute=ns.x) | first).y }}",
    "namespaces in an error of a list": NESTED + "{{ [1].index(ns.x) }}",
    "namespaces in an error of the sandbox": NESTED + "{% set n = ns.x %}{% set n.alters_data = 1 %}{{ n() }}",
    "search from the end": "{{ ('a' * 99999).rfind('ab' ~ 'a' * 49999) }}",
    "search from the end by names": "{{ ('a' * 99999).rsplit(maxsplit=1, sep='ab' ~ 'a' * 49999) }}",
    "strip": "{{ ('a' * 99999).strip('b' * 99999 ~ 'a') }}",
    "trim": "{{ ('a' * 99999) | trim('b' * 99999 ~ 'a') }}",
    "a number out of a text": "{{ ('f' * 99999) | int(0, 16) is divisibleby(7) }}",
    "a number in steps": "{% set ns = namespace(x=1) %}{% for i in range(9999) %}"
    "{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x // 7 > 1 }}",
    "sum of lists": "{{ (range(99999) | batch(1) | sum(start=[])) | length }}",
}


@pytest.mark.parametrize("source", ENDLESS.values(), ids=ENDLESS)
def test_the_work_of_a_template_has_an_end(source: str) -> None:
    """In a sentence, by counting steps and characters: the same on every machine."""
    with pytest.raises(InputError, match=r"does too much work|calls itself without end"):
        render(source)


def test_what_is_not_bounded_is_not_there() -> None:
    of_texts = ("{{ 'x'.encode() }}", "{{ 'x'.translate({120: 'y'}) }}")
    of_numbers = ("{{ (1).to_bytes(9, 'big') }}", "{{ (1).from_bytes([9], 'big') }}")
    for source in ("{{ lipsum(n=100000) }}", "{{ 'x' | pprint }}", *of_texts, *of_numbers):
        with pytest.raises(InputError, match=r"fails on|cannot be read"):
            render(source)


def test_constants_are_not_computed_while_a_template_is_compiled() -> None:
    ChatTemplate("{{ 'x' * 10 ** 10 }}{{ 'x' | center(10 ** 10) }}{% set x = 9 ** (9 ** 9) %}", bos="", eos="")


def test_a_long_conversation_is_within_the_budget() -> None:
    """The budget grows with what there is to write: many messages, and long ones."""
    source = (
        "{% for m in messages %}{% if loop.last or loop.index0 == messages | length - 1 %}!{% endif %}"
        "{% for x in messages[loop.index0:loop.index0 + 9] %}{% endfor %}{{ '<' + m.content | trim + '>' }}{% endfor %}"
    )
    assert len(render(source, *[USER] * 5000)) == 5000 * (len(USER.content) + 2) + 1
    assert len(render(source, Message(Role.USER, "x" * 10_000_000))) == 10_000_003


def test_rendering_can_be_stopped() -> None:
    """Whoever waits is asked every few hundred steps."""

    def stop() -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        ChatTemplate(ENDLESS["loops"], bos="", eos="").render([USER], stop)


@pytest.mark.parametrize(
    "source",
    [
        "x" * (LONGEST_SOURCE + 1),
        "{{ " + "(" * 9999 + "1" + ")" * 9999 + " }}",
        "{% for a in b %}" * 30 + "{% endfor %}" * 30,
    ],
)
def test_a_template_too_large_to_compile_is_told_so(source: str) -> None:
    with pytest.raises(InputError, match=r"are read|nested"):
        render(source)


@pytest.mark.parametrize(
    "source",
    ["{{ ''.__class__.__mro__ }}", "{{ messages.append(1) }}", "{% set a = [] %}{{ a.append(a) }}", "{{ [].clear() }}"],
)
def test_a_template_cannot_leave_its_sandbox(source: str) -> None:
    """It comes out of a downloaded file: it may neither reach Python's insides nor change what it is given."""
    with pytest.raises(InputError):
        render(source)


def test_a_template_may_change_a_list_that_it_made() -> None:
    """As those of Kimi models do."""
    grown = "{% set a = [] %}{% set _ = a.append(1) %}{% set _ = a.append(2) %}{{ a | join }}, {{ a.pop(0) }}"
    assert render(grown) == "12, 1"
