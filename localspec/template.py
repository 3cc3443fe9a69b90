"""A model's chat template: from messages to the text it was trained to see.

Templates are Jinja programs out of downloaded files, so they run in Jinja's sandbox, with the helpers
that the Hugging Face libraries give them. Knows nothing of tokens.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn

from localspec.chat import Message, Role
from localspec.errors import InputError

if TYPE_CHECKING:
    from jinja2 import Template


class ChatTemplate:
    """A compiled template. Raises InputError if it is not valid Jinja."""

    def __init__(self, source: str, *, bos: str, eos: str, now: Callable[[], datetime] = datetime.now) -> None:
        self._template = _compile(source, now)
        self._words = {"bos_token": bos, "eos_token": eos}

    def render(self, messages: Sequence[Message]) -> str:
        """The conversation, up to where the assistant begins to speak.

        Some templates know no system message: they refuse it, or pass it over. What it says then stands at the head of
        the first question, which is where their makers put it. Raises InputError with the template's own words
        if it refuses the conversation all the same.
        """
        from jinja2 import TemplateError

        try:
            return self._with_system(messages)
        except _Refusal as refusal:
            raise InputError(
                f"The model's chat template refuses this conversation: {_sentence(refusal)}",
                _hint(str(refusal), messages),
            ) from refusal
        except (TemplateError, *_RUNTIME_ERRORS) as error:
            raise InputError(
                f"The model's chat template fails on this conversation: {_sentence(error)}",
                "Send the text without a template (--raw), or choose another model.",
            ) from error

    def _with_system(self, messages: Sequence[Message]) -> str:
        folded = _folded(messages)
        if folded is None:
            return self._render(messages)
        try:
            text = self._render(messages)
        except _Refusal as refusal:
            with suppress(_Refusal):
                return self._render(folded)
            raise refusal
        if messages[0].content.strip() in text:
            return text
        with suppress(_Refusal):
            return self._render(folded)
        return text

    def _render(self, said: Sequence[Message]) -> str:
        messages = [{"role": str(message.role), "content": message.content} for message in said]
        words: dict[str, Any] = {"messages": messages, "add_generation_prompt": True, **self._words}
        try:
            return self._template.render(tools=None, documents=None, **words)
        except _RUNTIME_ERRORS:
            # Some templates go through the tools without asking whether there are any.
            return self._template.render(words)


_RUNTIME_ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What a program in a template can run into."""


class _Refusal(Exception):
    """Raised by a template through ``raise_exception``."""


def _folded(messages: Sequence[Message]) -> list[Message] | None:
    """The conversation with what its system message says at the head of the first question; None if it has none."""
    if len(messages) < 2 or (messages[0].role, messages[1].role) != (Role.SYSTEM, Role.USER):
        return None
    text = f"{messages[0].content.strip()}\n\n{messages[1].content}"
    return [Message(Role.USER, text), *messages[2:]]


def _sentence(error: Exception) -> str:
    text = str(error).strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _hint(refusal: str, messages: Sequence[Message]) -> str:
    if "system" in refusal.lower() and messages and messages[0].role == "system":
        return "Leave the system prompt out."
    return "Start a new chat, or send the text without a template (--raw)."


def _compile(source: str, now: Callable[[], datetime]) -> Template:
    from jinja2 import TemplateSyntaxError
    from jinja2.ext import loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _generation_extension()]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda pattern: now().strftime(pattern)
    try:
        return environment.from_string(source)
    except TemplateSyntaxError as error:
        raise InputError(
            f"The model's chat template cannot be read: {error}.",
            "Send the text without a template (--raw), or choose another model.",
        ) from error


def _refuse(message: str) -> NoReturn:
    raise _Refusal(message)


def _to_json(value: Any, **options: Any) -> str:
    """Unlike Jinja's own filter, without escapes for HTML: models were not trained on those."""
    options.setdefault("ensure_ascii", False)
    return json.dumps(value, **options)


def _generation_extension() -> Any:
    """The tag ``generation``, which marks what training counts; here it is only what it encloses."""
    from jinja2.ext import Extension

    class Generation(Extension):
        tags = {"generation"}  # noqa: RUF012 -- as Jinja declares it

        def parse(self, parser: Any) -> Any:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    return Generation
