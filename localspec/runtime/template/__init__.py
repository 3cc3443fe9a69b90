"""A model's chat template: from messages to the text it was trained to see.

Templates are Jinja programs out of downloaded files, so they run in Jinja's sandbox, with the helpers
that the Hugging Face libraries give them, within a budget. What they write says of each character whether it comes
from a message. Knows nothing of tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn

from localspec.base.errors import InputError
from localspec.runtime.messages import Message, Role
from localspec.runtime.template.marked_text import MarkedText

if TYPE_CHECKING:
    from jinja2 import Template

    from localspec.runtime.template.sandbox import TemplateSandbox

LONGEST_SOURCE = 256 * 1024
"""Characters of a template. The longest of those that come with llama.cpp has 17,000."""
_ANOTHER = "Send the text without a template (--raw), or choose another model."


class ChatTemplate:
    """A compiled template. Raises InputError if it is not valid Jinja."""

    def __init__(self, source: str, *, bos: str, eos: str, now: Callable[[], datetime] = datetime.now) -> None:
        self._sandbox = _sandbox(now)
        self._template = _compile(source, self._sandbox)
        self._words = {"bos_token": MarkedText.own(bos), "eos_token": MarkedText.own(eos)}

    def render(self, messages: Sequence[Message], check: Callable[[], None] = lambda: None) -> MarkedText:
        """The conversation, up to where the assistant begins to speak. What messages say is marked as input.

        Some templates know no system message: they refuse it, or pass it over. What it says then stands at the head of
        the first question, which is where their makers put it. Raises InputError with the template's own words
        if it refuses the conversation all the same, and if it does more work than a template needs. ``check`` is
        called now and then meanwhile, and may raise.
        """
        from jinja2 import TemplateError

        from localspec.runtime.template.budget import TooMuchWork

        try:
            return self._with_system(messages, check)
        except _Refusal as refusal:
            raise InputError(
                f"The model's chat template refuses this conversation: {_sentence(refusal)}",
                _hint(str(refusal), messages),
            ) from refusal
        except TooMuchWork as error:
            raise InputError(f"The model's chat template does too much work: {error}.", _ANOTHER) from error
        except RecursionError:
            raise InputError("The model's chat template calls itself without end.", _ANOTHER) from None
        except (TemplateError, *_RUNTIME_ERRORS) as error:
            raise InputError(
                f"The model's chat template fails on this conversation: {_sentence(error)}", _ANOTHER
            ) from error

    def _with_system(self, messages: Sequence[Message], check: Callable[[], None]) -> MarkedText:
        folded = _folded(messages)
        if folded is None:
            return self._render(messages, check)
        try:
            text = self._render(messages, check)
        except _Refusal as refusal:
            with suppress(_Refusal):
                return self._render(folded, check)
            raise refusal
        if messages[0].content.strip() in text:
            return text
        with suppress(_Refusal):
            return self._render(folded, check)
        return text

    def _render(self, messages: Sequence[Message], check: Callable[[], None]) -> MarkedText:
        from localspec.runtime.template.budget import Budget

        values = [
            {"role": MarkedText.own(str(message.role)), "content": _marked(message.content)} for message in messages
        ]
        words: dict[str, Any] = {"messages": values, "add_generation_prompt": True, **self._words}
        self._sandbox.budget = Budget(len(messages), sum(len(message.content) for message in messages), check)
        try:
            return self._written(tools=None, documents=None, **words)
        except _RUNTIME_ERRORS:
            # Some templates go through the tools without asking whether there are any.
            return self._written(**words)

    def _written(self, **words: Any) -> MarkedText:
        text = self._template.render(words)
        assert isinstance(text, MarkedText)
        return text


_RUNTIME_ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""The errors that a program in a template can run into."""


class _Refusal(Exception):
    """Raised by a template through ``raise_exception``."""


def _folded(messages: Sequence[Message]) -> list[Message] | None:
    """The conversation with what its system message says at the head of the first question; None if it has none."""
    if len(messages) < 2 or (messages[0].role, messages[1].role) != (Role.SYSTEM, Role.USER):
        return None
    text = MarkedText.given(f"{messages[0].content.strip()}\n\n") + _marked(messages[1].content)
    return [Message(Role.USER, text), *messages[2:]]


def _marked(content: str) -> MarkedText:
    """The text of a message, as input but for the places of its images."""
    return content if isinstance(content, MarkedText) else MarkedText.given(content)


def _sentence(error: Exception) -> str:
    text = str(error).strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _hint(refusal: str, messages: Sequence[Message]) -> str:
    if "system" in refusal.lower() and messages and messages[0].role == "system":
        return "Leave the system prompt out."
    return "Start a new chat, or send the text without a template (--raw)."


def _sandbox(now: Callable[[], datetime]) -> TemplateSandbox:
    from localspec.runtime.template.sandbox import TemplateSandbox

    sandbox = TemplateSandbox()
    sandbox.globals["raise_exception"] = _refuse
    sandbox.globals["strftime_now"] = lambda pattern: MarkedText.own(now().strftime(pattern))
    return sandbox


def _compile(source: str, sandbox: TemplateSandbox) -> Template:
    from jinja2 import TemplateSyntaxError

    if len(source) > LONGEST_SOURCE:
        raise InputError(
            f"The model's chat template has {len(source):,} characters; {LONGEST_SOURCE:,} are read.", _ANOTHER
        )
    try:
        return sandbox.from_string(source)
    except TemplateSyntaxError as error:
        raise InputError(f"The model's chat template cannot be read: {error}.", _ANOTHER) from error
    except (RecursionError, MemoryError, SyntaxError):  # the last two are Python's own, over the code made of it
        raise InputError("The model's chat template is nested too deeply.", _ANOTHER) from None


def _refuse(message: str) -> NoReturn:
    raise _Refusal(message)
