"""The syntaxes in which models write calls: a table of regular expressions, a row for each.

Between guillemets stand markers, as ``«<tool_call>»``. A marker that is a control token of the vocabulary is matched by
that token alone, never by text that says the same; ``Markers`` sees to it. Everything else is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from localspec.runtime.calls.arguments import ReadValue, gemma_object, json_value

_MARKER = re.compile("«(.+?)»")
_FIRST_STAND_IN = 0xD800
"""Of the surrogates, which no decoded text contains."""
_THINKING = ("<think>", "</think>")
_NAME = r"(?P<name>[\w.-]+)"


@dataclass(frozen=True, slots=True)
class CallSyntax:
    """A way to write calls. A call is ``begin``, its arguments and ``end``."""

    name: str
    """For people: the family of models that writes it."""
    begin: str
    """With a group ``name`` unless the name stands in the JSON object that follows."""
    end: str = ""
    argument: str | None = None
    """An argument, with the groups ``key`` and ``value``; None if all of them are one JSON object."""
    read: ReadValue = json_value
    """Reads what follows ``begin``, where ``argument`` is None."""
    quote: str = '"'
    """The marker around texts in arguments."""
    reasoning: tuple[str, str] = _THINKING
    """The markers around reasoning."""
    held: str = ""
    """A call as a constraint has it written, with NAME and ARGUMENTS; empty if nothing holds the arguments."""
    texts: tuple[str, ...] = ()
    """Texts that a call may begin with, beside the markers of ``begin``."""
    bare: bool = False
    """True if ``begin`` is no sign by itself: calls then name offered tools, and nothing else is in the reply."""

    @property
    def is_tagged(self) -> bool:
        """True if a value's end is a tag, which the value itself could say."""
        return self.argument is not None

    @property
    def markers(self) -> tuple[str, ...]:
        """Its markers, each once."""
        parts = (self.begin, self.end, self.argument or "")
        named = (found for part in parts for found in _MARKER.findall(part))
        quotes = () if self.quote == '"' else (self.quote,)
        return tuple(dict.fromkeys((*named, *self.reasoning, *quotes)))

    @property
    def heads(self) -> tuple[str, ...]:
        """The beginnings of calls, with markers between guillemets."""
        return (*self.texts, *(f"«{marker}»" for marker in dict.fromkeys(_MARKER.findall(self.begin))))


class Markers:
    """The markers of a syntax in one vocabulary. A stand-in of one character takes the place of a control token."""

    def __init__(self, controls: Iterable[str] = ()) -> None:
        """``controls`` are the markers that are control tokens."""
        self._stand_ins = {marker: chr(_FIRST_STAND_IN + i) for i, marker in enumerate(controls)}

    def written(self, marker: str) -> str:
        """The marker as it stands in a text to read."""
        return self._stand_ins.get(marker, marker)

    def in_text(self, head: str) -> str:
        """A text of the table with its markers as they stand in a text to read."""
        return _MARKER.sub(lambda found: self.written(found[1]), head)

    def compiled(self, pattern: str) -> re.Pattern[str]:
        """A pattern of the table for a text to read."""
        return re.compile(_MARKER.sub(lambda found: re.escape(self.written(found[1])), pattern), re.DOTALL)

    def has_stand_in(self, text: str) -> bool:
        """True if a control token is in ``text``."""
        return any(stand_in in text for stand_in in self._stand_ins.values())


SYNTAXES: Sequence[CallSyntax] = (
    CallSyntax(
        "Qwen3-Coder",
        begin=r"«<tool_call>»\s*<function=" + _NAME + r">\s*",
        argument=r"<parameter=(?P<key>[^>\s]+)>\n?(?P<value>.*?)\n?</parameter>\s*",
        end=r"</function>\s*«</tool_call>»",
    ),
    CallSyntax(
        "Seed",
        begin=r"«<seed:tool_call>»\s*<function=" + _NAME + r">\s*",
        argument=r"<parameter=(?P<key>[^>\s]+)>(?P<value>.*?)</parameter>\s*",
        end=r"</function>\s*«</seed:tool_call>»",
        reasoning=("<seed:think>", "</seed:think>"),
    ),
    CallSyntax(
        "GLM",
        begin=r"«<tool_call>»" + _NAME + r"\s*(?=«<arg_key>»|«</tool_call>»)",
        argument=r"«<arg_key>»(?P<key>.*?)«</arg_key>»\s*«<arg_value>»(?P<value>.*?)«</arg_value>»\s*",
        end="«</tool_call>»",
    ),
    CallSyntax(
        "DSML",
        begin=r"(?:<«｜DSML｜»\w+>\s*)?<«｜DSML｜»invoke name=\"" + _NAME + r"\">\s*",
        argument=r"<«｜DSML｜»parameter name=\"(?P<key>[^\"]+)\"[^>]*>(?P<value>.*?)</«｜DSML｜»parameter>\s*",
        end=r"</«｜DSML｜»invoke>(?:\s*</«｜DSML｜»\w+>)?",
        texts=("<«｜DSML｜»",),
    ),
    CallSyntax(
        "MiniMax",
        begin=r"(?:«<minimax:tool_call>»\s*)?<invoke name=\"" + _NAME + r"\">\s*",
        argument=r"<parameter name=\"(?P<key>[^\"]+)\">(?P<value>.*?)</parameter>\s*",
        end=r"</invoke>(?:\s*«</minimax:tool_call>»)?",
        texts=("<invoke name=",),
    ),
    CallSyntax(
        "Hermes",
        begin=r"«<tool_call>»\s*(?=\{)",
        end=r"\s*«</tool_call>»",
        held='«<tool_call>»\n{"name": "NAME", "arguments": ARGUMENTS}\n«</tool_call>»',
    ),
    CallSyntax("Apriel", begin=r"«<tool_calls>»\s*(?=[{\[])", end=r"\s*«</tool_calls>»"),
    CallSyntax("Nemotron", begin=r"«<TOOLCALL>»\s*(?=\[)", end=r"\s*«</TOOLCALL>»"),
    CallSyntax("Mistral", begin=r"«[TOOL_CALLS]»\s*(?=\[)"),
    CallSyntax(
        "Mistral with names",
        begin=r"«[TOOL_CALLS]»\s*" + _NAME + r"(?:«[CALL_ID]»\w+)?\s*«[ARGS]»\s*",
        reasoning=("[THINK]", "[/THINK]"),
        held="«[TOOL_CALLS]»NAME«[ARGS]»ARGUMENTS",
    ),
    CallSyntax(
        "DeepSeek",
        begin=r"(?:«<｜tool▁calls▁begin｜>»)?\s*«<｜tool▁call▁begin｜>»(?:function«<｜tool▁sep｜>»)?"
        + _NAME
        + r"(?:«<｜tool▁sep｜>»|\n```json\n)\s*",
        end=r"\s*(?:```)?«<｜tool▁call▁end｜>»(?:\s*«<｜tool▁calls▁end｜>»)?",
    ),
    CallSyntax(
        "gpt-oss",
        begin=r"(?:«<|end|>»)?(?:«<|start|>»assistant)?(?: to=functions\."
        + _NAME
        + r"«<|channel|>»(?:commentary|analysis)"
        r"|«<|channel|>»(?:commentary|analysis) to=functions\.(?P<later>[\w.-]+))"
        r"\s*(?:«<|constrain|>»)?(?:json)?\s*«<|message|>»\s*",
        end="(?:«<|call|>»)?",
        texts=(" to=functions.",),
    ),
    CallSyntax(
        "Gemma",
        begin="«<|tool_call>»call:" + _NAME + r"(?=\{)",
        end="«<tool_call|>»",
        read=gemma_object,
        quote='<|"|>',
        reasoning=("<|channel>", "<channel|>"),
    ),
    CallSyntax(
        "Command R",
        begin=r"«<|START_ACTION|>»\s*(?=\[)",
        end=r"\s*«<|END_ACTION|>»",
        reasoning=("<|START_THINKING|>", "<|END_THINKING|>"),
    ),
    CallSyntax("Functionary", begin="<function=" + _NAME + r">(?=\{)", end="</function>", texts=("<function=",)),
    CallSyntax("GigaChat", begin=r"«<|function_call|>»\s*(?=\{)"),
    CallSyntax(
        "Solar",
        begin=r"«<|tool_call:begin|>»\w+«<|tool_call:name|>»" + _NAME + r"«<|tool_call:args|>»\s*",
        end="«<|tool_call:end|>»",
    ),
    CallSyntax(
        "Llama 3",
        begin=r"(?:«<|python_tag|>»)?\s*(?=\{)",
        held='{"name": "NAME", "parameters": ARGUMENTS}',
        texts=("{",),
        bare=True,
    ),
)
"""Those with the more particular begin come first."""
HERMES = next(syntax for syntax in SYNTAXES if syntax.name == "Hermes")
