"""Chat templates: other people's Jinja programs, run as their authors expect and no further."""

from __future__ import annotations

from datetime import datetime

import pytest

from localspec.chat import Message, Role
from localspec.errors import InputError
from localspec.template import ChatTemplate

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
    with pytest.raises(InputError, match=r"System role not supported\. Leave the system prompt out"):
        render(GEMMA, SYSTEM, Message(Role.ASSISTANT, "Hello."), USER)
    with pytest.raises(InputError, match=r"must alternate .*\. Start a new chat"):
        render(GEMMA, USER, USER)


@pytest.mark.parametrize("source", ["{{ messages[7].content }}", "{{ 1 / 0 }}", "{{ nothing.at.all }}"])
def test_a_template_that_fails_is_an_error_of_the_input(source: str) -> None:
    with pytest.raises(InputError, match="fails on this conversation"):
        render(source)


def test_a_template_that_is_no_jinja_is_told_so() -> None:
    with pytest.raises(InputError, match="cannot be read"):
        render("{% for %}")


@pytest.mark.parametrize("source", ["{{ ''.__class__.__mro__ }}", "{{ messages.append(1) }}"])
def test_a_template_cannot_leave_its_sandbox(source: str) -> None:
    """It comes out of a downloaded file: it may neither reach Python's insides nor change what it is given."""
    with pytest.raises(InputError):
        render(source)
