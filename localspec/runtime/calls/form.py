"""The form that a chat template has for calls, found by rendering a call and reading it back.

Where a template has no form that LocalSpec knows, calls are asked for in the syntax of Hermes models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product

from localspec.base.errors import InputError, LocalSpecError
from localspec.engine.events import ToolCall
from localspec.gguf import GgufHeader, read_header
from localspec.models.pairs import Pair
from localspec.runtime.calls.reading import CallReader
from localspec.runtime.calls.syntax import HERMES, SYNTAXES, CallSyntax
from localspec.runtime.messages import Message, Role, Tool
from localspec.runtime.template import ChatTemplate
from localspec.runtime.template.values import USUAL, CallShape

_KNOWN_N = 16
_QUESTION, _ANSWER = Message(Role.USER, "Which of the two?"), "An answer."
_SCHEMA = '{"type": "object", "properties": {"text": {"type": "string"}, "number": {"type": "integer"}}}'
_ARGUMENTS = {"text": 'a <b> "c"\nd', "number": 7}
_TEXT = '{"text": "a <b> \\"c\\"\\nd", "number": 7}'
_TOOLS = (Tool("first_probe", "A probe.", _SCHEMA), Tool("second_probe", "A probe.", _SCHEMA))
_CALLS = (ToolCall("probe0001", "first_probe", _TEXT), ToolCall("probe0002", "second_probe", _TEXT))
_SAMPLE = (Tool("NAME", "", "{}"), ToolCall("sample001", "NAME", '{"ARGUMENT": "VALUE"}'))
_HERMES_SAMPLE = '<tool_call>\n{"name": "NAME", "arguments": {"ARGUMENT": "VALUE"}}\n</tool_call>'


@dataclass(frozen=True, slots=True)
class CallForm:
    """A template's way with tools."""

    syntax: CallSyntax
    writes_calls: bool = True
    """True if the template writes calls; otherwise their text is put into ordinary messages."""
    lists_tools: bool = True
    """True if the template tells the model of the tools; otherwise the system message does."""
    shape: CallShape = USUAL
    """The shape in which the template takes calls."""
    parallel: bool = True
    """True if a message may make several calls."""
    says_first: bool = True
    """True if the template writes a message's own text before its calls."""
    sample: str = _HERMES_SAMPLE
    """A call as the model writes one."""

    @property
    def in_words(self) -> str:
        """The form in a few words, as "Hermes"."""
        if not self.writes_calls and not self.lists_tools:
            return f"by a description, as {HERMES.name} models do; its chat template has no syntax that LocalSpec knows"
        listed = "" if self.lists_tools else ", by a description, since its chat template lists no tools"
        return self.syntax.name + listed


DESCRIBED = CallForm(HERMES, writes_calls=False, lists_tools=False)


@lru_cache(_KNOWN_N)
def call_form(source: str, bos: str = "", eos: str = "") -> CallForm:
    """The form that the chat template with this Jinja source has; ``DESCRIBED`` if it has none."""
    try:
        probe = _Probe(ChatTemplate(source, bos=bos, eos=eos))
    except InputError:
        return DESCRIBED
    shapes = product((False, True), repeat=2) if probe.takes_any else ()
    for as_text, as_none in shapes:
        if form := probe.form(CallShape(arguments_as_text=as_text, empty_as_none=as_none)):
            return form
    return probe.signed() or DESCRIBED


def tool_template(default: str, special: str | None, bos: str = "", eos: str = "") -> str:
    """The template for conversations with tools: the ``special`` one of a file, if its form of calls is known."""
    return special if special and call_form(special, bos, eos) != DESCRIBED else default


def form_of(header: GgufHeader) -> CallForm | None:
    """The form of a model's calls; None for one without a chat template."""
    default = header.chat_template
    return call_form(tool_template(default, header.tool_template)) if default else None


def calls_in_words(header: GgufHeader) -> str:
    """The form of a model's calls in a few words, as "Hermes"; empty for one without a chat template."""
    form = form_of(header)
    return form.in_words if form else ""


def calls_of(pair: Pair) -> str:
    """As ``calls_in_words``, of a pair's target; empty if its file is not here or cannot be read."""
    try:
        return calls_in_words(read_header(pair.files().target))
    except LocalSpecError:
        return ""


class _Probe:
    """A template that is tried with calls."""

    def __init__(self, template: ChatTemplate) -> None:
        self._template = template
        self._before = self._rendered(_QUESTION, begins_reply=True)
        answered = self._rendered(_QUESTION, Message(Role.ASSISTANT, _ANSWER))
        self._after = answered.rpartition(_ANSWER)[2]
        self.takes_any = bool(self._before or answered)
        """False for a template that fails over a question and over an answer, be it after much work."""

    def form(self, shape: CallShape) -> CallForm | None:
        """The form, if a call that the template writes in this shape can be read."""
        written = partial(self._written, shape)
        one = written(_CALLS[:1])
        syntax = next((each for each in SYNTAXES if _reads_back(each, one, 1)), None)
        if syntax is None:
            return None
        said = written(_CALLS[:1], _ANSWER)
        sample = written(_SAMPLE[1:])
        (found,) = CallReader(syntax, _SAMPLE[:1]).read(sample).calls or (None,)
        return CallForm(
            syntax,
            lists_tools=_TOOLS[0].name in self._before,
            shape=shape,
            parallel=_reads_back(syntax, written(_CALLS), len(_CALLS)),
            says_first=said.find(_ANSWER) < said.find(_CALLS[0].name),
            sample=sample[found.start : found.end] if found else one,
        )

    def signed(self) -> CallForm | None:
        """The form of a template that lists tools and writes no calls, if its prompt says which its model writes."""
        if _TOOLS[0].name not in self._before:
            return None
        syntax = next((each for each in SYNTAXES if each.sign and each.sign in self._before), None)
        return CallForm(syntax, writes_calls=False) if syntax else None

    def _written(self, shape: CallShape, calls: Sequence[ToolCall], said: str = "") -> str:
        """The template's text for an assistant's message alone; empty if it refuses the message."""
        written = self._rendered(_QUESTION, Message(Role.ASSISTANT, said, tuple(calls)), shape=shape)
        if self._before and written.startswith(self._before):
            written = written[len(self._before) :]
        else:
            written = written.rpartition(_QUESTION.content)[2]
        return written.removesuffix(self._after)

    def _rendered(self, *messages: Message, shape: CallShape = USUAL, begins_reply: bool = False) -> str:
        try:
            return self._template.render(messages, tools=_TOOLS, shape=shape, begins_reply=begins_reply)
        except InputError:
            return ""


def _reads_back(syntax: CallSyntax, written: str, calls_n: int) -> bool:
    """True if the first probes are read from what a template wrote for them."""
    read = CallReader(syntax, _TOOLS).read(written)
    return [(call.name, call.arguments) for call in read.calls] == [
        (each.name, _ARGUMENTS) for each in _CALLS[:calls_n]
    ]
