"""A model's chat template: from messages to the text it was trained to see.

Templates are Jinja programs out of downloaded files, so they run in Jinja's sandbox, with the helpers
that the Hugging Face libraries give them, within a budget. What they write says of each character whether it comes
from a message. Knows nothing of tokens.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from localspec.base.errors import InputError
from localspec.runtime.messages import OFF, Message, Role, Tool
from localspec.runtime.reasoning import ending
from localspec.runtime.template.marked_text import MarkedText
from localspec.runtime.template.values import (
    USUAL,
    CallShape,
    GivenList,
    functions_text,
    given,
    message_value,
    reasoning_values,
    tool_value,
)

if TYPE_CHECKING:
    from jinja2 import Template

    from localspec.runtime.template.sandbox import TemplateSandbox

LONGEST_SOURCE = 128 * 1024
"""Characters of a template. The longest of those that come with llama.cpp has 17,000.

Compiling takes a time that grows with the square of the conditions in it: some seconds at most for one as long as this.
"""
_LONGEST_DATE = 256
"""Characters of a date's format: the C library takes hundreds of times the room."""
_SHOWN = 300
"""The longest words of a template that are shown."""
_ANOTHER = "Send the text without a template (--raw), or choose another model."


class ChatTemplate:
    """A compiled template. Raises InputError if it is not valid Jinja."""

    def __init__(self, source: str, *, bos: str, eos: str, now: Callable[[], datetime] = datetime.now) -> None:
        self._sandbox = _sandbox(now)
        self._source = source
        self._template = _compile(source, self._sandbox)
        self._words = {"bos_token": MarkedText.own(bos), "eos_token": MarkedText.own(eos)}
        self._takes_functions = re.search(r"\btools\b", source) is None
        """True for a template that can know tools only as Firefunction's does: by a text, beside one with the date."""
        self._now = now
        self._plain_schemas = False
        """True once the template failed over the schema of a tool."""

    def render(
        self,
        messages: Sequence[Message],
        check: Callable[[], None] = lambda: None,
        *,
        tools: Sequence[Tool] = (),
        shape: CallShape = USUAL,
        begins_reply: bool = True,
        reasoning: str | None = None,
    ) -> MarkedText:
        """The conversation, up to where the assistant begins to speak. What messages and tools say is marked as input.

        Some templates know no system message, or none but the first: they refuse it, or pass it over. What it says then
        stands at the head of the first question, which is where their makers put it, or in a message of the user. Some
        refuse two questions in a row, or one behind the result of a call: see ``_in_turns``. Raises InputError with the
        template's own words if it refuses the conversation all the same, and if it does more work than a template
        needs. ``check`` is called now and then meanwhile, and may raise. ``shape`` is that of calls. Without
        ``begins_reply`` the text ends with the last message. ``reasoning`` is as in ``ReplyOptions``; where it is
        off, reasoning that the template begins all the same is ended at once.
        """
        from jinja2 import TemplateError

        from localspec.runtime.template.budget import TooMuchWork

        try:
            render = partial(
                self._render, check=check, tools=tools, shape=shape, begins_reply=begins_reply, reasoning=reasoning
            )
            text = self._with_system(messages, render)
        except _Refusal as refusal:
            raise InputError(
                f"The model's chat template refuses this conversation: {_sentence(str(refusal))}",
                _hint(str(refusal), messages),
            ) from refusal
        except TooMuchWork as error:
            raise InputError(f"The model's chat template does too much work: {error}.", _ANOTHER) from error
        except RecursionError:
            raise InputError("The model's chat template calls itself without end.", _ANOTHER) from None
        except (TemplateError, *_RUNTIME_ERRORS) as error:
            raise InputError(
                f"The model's chat template fails on this conversation: {_sentence(str(error))}", _ANOTHER
            ) from error
        return text + MarkedText.own(ending(text)) if reasoning == OFF else text

    def _with_system(
        self, messages: Sequence[Message], render: Callable[[Sequence[Message]], MarkedText]
    ) -> MarkedText:
        """The first of ``_ways`` whose text has all system messages, else the first that is not refused."""
        by_system = [message.content.strip() for message in messages if message.role is Role.SYSTEM]
        refusal: _Refusal | None = None
        first: MarkedText | None = None
        for way in _ways(messages):
            try:
                text = render(way)
            except _Refusal as error:
                refusal = refusal or error
                continue
            if all(said in text for said in by_system):
                return text
            first = text if first is None else first
        if first is None and refusal is not None:
            raise refusal
        assert first is not None
        return first

    def _render(
        self,
        messages: Sequence[Message],
        *,
        check: Callable[[], None],
        tools: Sequence[Tool],
        shape: CallShape,
        begins_reply: bool,
        reasoning: str | None,
    ) -> MarkedText:
        from jinja2 import UndefinedError

        from localspec.runtime.template.budget import Budget

        values = GivenList(message_value(message, shape) for message in messages)
        listed = _listed(tools, plain=self._plain_schemas)
        words: dict[str, Any] = {"messages": values, "add_generation_prompt": begins_reply, **self._words}
        words |= reasoning_values(reasoning, self._source)
        if self._takes_functions:
            words |= {"functions": functions_text(tools), "datetime": MarkedText.own(f"{self._now():%Y-%m-%d}")}
        self._sandbox.budget = Budget(len(messages) + len(tools), _characters_n(messages, tools), check)
        try:
            return self._written(tools=listed or None, documents=None, **words)
        except (UndefinedError, *_RUNTIME_ERRORS) as error:
            if tools and not self._plain_schemas:
                # As Hermes 3's over a type that it does not know, and Seed-OSS's over a tool without parameters.
                text = self._written(tools=_listed(tools, plain=True), documents=None, **words)
                self._plain_schemas = True
                return text
            if tools or not isinstance(error, _RUNTIME_ERRORS):
                raise
            # Some templates go through the tools without asking whether there are any.
            return self._written(**words)

    def _written(self, **words: Any) -> MarkedText:
        text = self._template.render(words)
        assert isinstance(text, MarkedText)
        return text


_STOPPED, _BEGUN = "(stopped)", "(begins)"
"""The answer that stands in for one to calls or results which the model never answered, and the question for one that
an answer without any begins with."""
_RUNTIME_ERRORS = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError),
    *(NameError, RuntimeError, TypeError, ValueError),
)
"""The errors that a program in a template can run into."""


class _Refusal(Exception):
    """Raised by a template through ``raise_exception``."""


def _listed(tools: Sequence[Tool], *, plain: bool) -> GivenList:
    return GivenList(tool_value(tool, plain=plain) for tool in tools)


def _characters_n(messages: Sequence[Message], tools: Sequence[Tool]) -> int:
    called_n = sum(len(call.name) + len(call.arguments) for message in messages for call in message.calls)
    described_n = sum(len(tool.description) + len(tool.parameters) for tool in tools)
    return sum(len(message.content) for message in messages) + called_n + described_n


def _ways(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """The conversation, as it is and then in the forms that templates take which refuse it or pass over a part."""
    yield messages
    known, asides = [list(messages)], _with_asides(messages)
    for way in (asides, _folded(messages), _folded(asides), turns := _in_turns(asides), _folded(turns)):
        if list(way) not in known:
            known.append(list(way))
            yield way


def _with_asides(messages: Sequence[Message]) -> list[Message]:
    """The conversation with later system messages as messages of the user."""
    later = (replace(each, role=Role.USER) if each.role is Role.SYSTEM else each for each in messages[1:])
    return [*messages[:1], *later]


def _folded(messages: Sequence[Message]) -> Sequence[Message]:
    """The conversation with what its first system message says at the head of the first question."""
    if len(messages) < 2 or (messages[0].role, messages[1].role) != (Role.SYSTEM, Role.USER):
        return messages
    text = MarkedText.given(f"{messages[0].content.strip()}\n\n") + given(messages[1].content)
    return [Message(Role.USER, text), *messages[2:]]


def _in_turns(messages: Sequence[Message]) -> list[Message]:
    """The conversation with questions and answers by turns.

    Questions in a row are merged, empty answers left out. A question is put before an answer that begins, an answer
    between calls or their results and a question. Some templates take no other: after calls that were stopped, they
    would refuse the conversation for good.
    """
    found: list[Message] = []
    for message in messages:
        before = found[-1] if found else Message(Role.SYSTEM, "")
        if message.role is Role.ASSISTANT:
            if not message.content.strip() and not message.calls:
                continue
            if before.role is Role.SYSTEM:
                found.append(Message(Role.USER, _BEGUN))
        elif message.role is Role.USER and before.role is Role.USER:
            text = given(found.pop().content) + MarkedText.given("\n\n") + given(message.content)
            message = Message(Role.USER, text)
        elif message.role is Role.USER and (before.role is Role.TOOL or before.calls):
            found.append(Message(Role.ASSISTANT, _STOPPED))
        found.append(message)
    return found


def _sentence(text: str) -> str:
    """The words of an error, which may be the template's, and so of any length."""
    text = text.strip()
    text = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def _hint(refusal: str, messages: Sequence[Message]) -> str:
    if "system" in refusal.lower() and messages and messages[0].role == "system":
        return "Leave the system prompt out."
    if "effort" in refusal.lower():
        return "Choose another --reasoning, or leave it out."
    return "Start a new chat, or send the text without a template (--raw)."


def _sandbox(now: Callable[[], datetime]) -> TemplateSandbox:
    from localspec.runtime.template.sandbox import TemplateSandbox

    sandbox = TemplateSandbox()
    sandbox.globals["raise_exception"] = _refuse
    sandbox.globals["strftime_now"] = partial(_date, now)
    return sandbox


def _compile(source: str, sandbox: TemplateSandbox) -> Template:
    from jinja2 import TemplateSyntaxError

    if len(source) > LONGEST_SOURCE:
        raise InputError(
            f"The model's chat template has {len(source):,} characters; {LONGEST_SOURCE:,} are read.", _ANOTHER
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # of the code that Jinja makes of a nonsensical template
            return sandbox.from_string(source)
    except (RecursionError, MemoryError):  # the latter is Python's own, over the code made of it
        raise InputError("The model's chat template is nested too deeply.", _ANOTHER) from None
    except (TemplateSyntaxError, SyntaxError, ValueError) as error:  # the last two over that code, and long numbers
        why = str(error.msg if isinstance(error, SyntaxError) else error)
        raise InputError(f"The model's chat template cannot be read: {_sentence(why)}", _ANOTHER) from error


def _date(now: Callable[[], datetime], pattern: str) -> MarkedText:
    from localspec.runtime.template.budget import TooMuchWork

    if len(pattern) > _LONGEST_DATE:
        raise TooMuchWork("it asks for a date in too many words")
    return MarkedText.own(now().strftime(pattern))


def _refuse(message: str) -> NoReturn:
    raise _Refusal(message)
