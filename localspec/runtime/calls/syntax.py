"""The syntaxes in which models write calls: a table of regular expressions, a row for each.

Between guillemets stand markers, as ``«<tool_call>»``. A marker that is a control token of the vocabulary is matched by
that token alone, never by text that says the same; ``Markers`` sees to it. Everything else is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from localspec.runtime.calls.arguments import ReadValue, gemma_object, json_value, python_calls

_MARKER = re.compile("«(.+?)»")
_FIRST_STAND_IN = 0xD800
"""The first of the surrogates, which no decoded text contains."""
_THINKING = ("<think>", "</think>")
MESSAGE = "<|message|>"
"""The marker before the text of a message, in replies of gpt-oss and Muse, which are several messages."""
_NAME = r"(?P<name>[\w.-]+)"
_OBJECT = '{"name": "NAME", "arguments": ARGUMENTS}'


@dataclass(frozen=True, slots=True)
class CallSyntax:
    """A way to write calls. A call is ``begin``, its arguments and ``end``."""

    name: str
    """The family of models that writes it, to be shown."""
    begin: str
    """The pattern of the beginning, with a group ``name`` unless the name stands in the JSON object that follows."""
    end: str = ""
    argument: str | None = None
    """An argument, with the groups ``key`` and ``value``; None if all of them are one JSON object."""
    read: ReadValue = json_value
    """Reads what follows ``begin``, where ``argument`` is None."""
    quote: str = '"'
    """The marker around texts in arguments."""
    reasoning: tuple[str, str] = _THINKING
    """The markers around reasoning."""
    written: str = ""
    """An argument as a constraint has it written, as ``held``, with KEY and VALUE; empty if all are one JSON object."""
    as_text: str = ""
    """The same for a text, where that is another."""
    separator: str = ""
    """The text between two of them."""
    nests: str = ""
    """The marker before tags, where a list or an object is values between tags, those of a list between ``item``."""
    keyed: bool = False
    """True if an object's one key is the name of the tool, and its value the arguments."""
    held: tuple[str, ...] = ()
    """A call as a constraint has it written, in each way there is.

    NAME, ARGUMENTS, ID (of the call) and WORD (any) stand for themselves, ⏎ for a line end, a line end for white space
    or none."""
    around: tuple[str, str, str] = ("", "\n", "")
    """Texts that a constraint has written before the first call, between two, and after the last."""
    trigger: str = ""
    """A pattern at which the constraint begins, in its group, where no marker is sign enough; TOOLS are the names."""
    sign: str = ""
    """A text of prompts with tools by which a template shows that its model writes this, where it writes no calls."""
    texts: tuple[str, ...] = ()
    """Texts that a call may begin with, beside the markers of ``begin``; TOOLS is the name of any tool."""
    bare: bool = False
    """True if ``begin`` is no sign by itself: calls then name offered tools, and nothing else is in the reply."""

    @property
    def is_tagged(self) -> bool:
        """True if a value's end is a tag, which the value itself could say."""
        return self.argument is not None

    @property
    def written_text(self) -> str:
        """An argument that is a text, as ``written``."""
        return self.as_text or self.written

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


def unmarked(text: str) -> str:
    """A text of the table as it is written."""
    return _MARKER.sub(lambda found: found[1], text)


class Markers:
    """The markers of a syntax in one vocabulary. A stand-in of one character takes the place of a control token."""

    def __init__(self, controls: Iterable[str] = ()) -> None:
        """``controls`` are the markers that are control tokens."""
        self._stand_ins = {marker: chr(_FIRST_STAND_IN + i) for i, marker in enumerate(controls)}

    def written(self, marker: str) -> str:
        """The marker as it stands in a text to read."""
        return self._stand_ins.get(marker, marker)

    def in_place(self, text: str) -> str:
        """A text with stand-ins for the markers in it."""
        for marker, stand_in in self._stand_ins.items():
            text = text.replace(marker, stand_in)
        return text

    def in_text(self, head: str) -> str:
        """A text of the table with its markers as they stand in a text to read."""
        return _MARKER.sub(lambda found: self.written(found[1]), head)

    def compiled(self, pattern: str) -> re.Pattern[str]:
        """A pattern of the table for a text to read."""
        return re.compile(_MARKER.sub(lambda found: re.escape(self.written(found[1])), pattern), re.DOTALL)

    def without(self, text: str) -> str:
        """A text without the stand-ins in it."""
        return text.translate(dict.fromkeys(map(ord, self._stand_ins.values())))

    def has_stand_in(self, text: str) -> bool:
        """True if a control token is in ``text``."""
        return any(stand_in in text for stand_in in self._stand_ins.values())


SYNTAXES: Sequence[CallSyntax] = (
    CallSyntax(
        "Qwen3-Coder",
        # Its models forget the first marker now and then, and never the last.
        begin=r"(?:«<tool_call>»\s*|(?=<function=(?:(?!<function=).)*</function>\s*«</tool_call>»))"
        r"<function=" + _NAME + r">\s*",
        argument=r"<parameter=(?P<key>[^>\s]+)>\n?(?P<value>.*?)\n?</parameter>\s*",
        end=r"</function>\s*«</tool_call>»",
        texts=("<function=",),
        held=("«<tool_call>»\n<function=NAME>\nARGUMENTS</function>\n«</tool_call>»",),
        written="<parameter=KEY>⏎VALUE⏎</parameter>\n",
    ),
    CallSyntax(
        "Seed",
        begin=r"«<seed:tool_call>»\s*<function=" + _NAME + r">\s*",
        argument=r"<parameter=(?P<key>[^>\s]+)>(?P<value>.*?)</parameter>\s*",
        end=r"</function>\s*«</seed:tool_call>»",
        reasoning=("<seed:think>", "</seed:think>"),
        held=("«<seed:tool_call>»\n<function=NAME>\nARGUMENTS</function>\n«</seed:tool_call>»",),
        written="<parameter=KEY>VALUE</parameter>\n",
    ),
    CallSyntax(
        "GLM",
        begin=r"«<tool_call>»" + _NAME + r"\s*(?=«<arg_key>»|«</tool_call>»)",
        argument=r"«<arg_key>»(?P<key>.*?)«</arg_key>»\s*«<arg_value>»(?P<value>.*?)«</arg_value>»\s*",
        end="«</tool_call>»",
        held=("«<tool_call>»NAME\nARGUMENTS«</tool_call>»",),
        written="«<arg_key>»KEY«</arg_key>»\n«<arg_value>»VALUE«</arg_value>»\n",
    ),
    CallSyntax(
        "DSML",
        begin=r"(?:<«｜DSML｜»\w+>\s*)?<«｜DSML｜»invoke name=\"" + _NAME + r"\">\s*",
        argument=r"<«｜DSML｜»parameter name=\"(?P<key>[^\"]+)\"[^>]*>(?P<value>.*?)</«｜DSML｜»parameter>\s*",
        end=r"</«｜DSML｜»invoke>(?:\s*</«｜DSML｜»\w+>)?",
        texts=("<«｜DSML｜»",),
        held=('<«｜DSML｜»invoke name="NAME">\nARGUMENTS</«｜DSML｜»invoke>',),
        around=("<«｜DSML｜»WORD_calls>\n", "\n", "\n</«｜DSML｜»WORD_calls>"),
        written='<«｜DSML｜»parameter name="KEY" string="false">VALUE</«｜DSML｜»parameter>\n',
        as_text='<«｜DSML｜»parameter name="KEY" string="true">VALUE</«｜DSML｜»parameter>\n',
    ),
    CallSyntax(
        "MiniMax",
        begin=r"(?:«<minimax:tool_call>»\s*)?<invoke name=\"" + _NAME + r"\">\s*",
        argument=r"<parameter name=\"(?P<key>[^\"]+)\">(?P<value>.*?)</parameter>\s*",
        end=r"</invoke>(?:\s*«</minimax:tool_call>»)?",
        texts=("<invoke name=",),
        held=('<invoke name="NAME">\nARGUMENTS</invoke>',),
        around=("«<minimax:tool_call>»\n", "\n", "\n«</minimax:tool_call>»"),
        written='<parameter name="KEY">VALUE</parameter>\n',
    ),
    CallSyntax(
        "Hermes",
        begin=r"«<tool_call>»\s*(?=\{)",
        end=r"\s*«</tool_call>»",
        held=(f"«<tool_call>»\n{_OBJECT}\n«</tool_call>»",),
    ),
    CallSyntax(
        "Apriel",
        begin=r"«<tool_calls>»\s*(?=\[)",
        end=r"\s*«</tool_calls>»",
        held=(_OBJECT,),
        around=("«<tool_calls>»[\n", ", ", "\n]«</tool_calls>»"),
    ),
    CallSyntax(
        "MiniMax-M1",
        begin=r"«<tool_calls>»\s*(?=\{)",
        end=r"\s*«</tool_calls>»",
        held=(f"«<tool_calls>»\n{_OBJECT}\n«</tool_calls>»",),
    ),
    CallSyntax(
        "Nemotron",
        begin=r"«<TOOLCALL>»\s*(?=\[)",
        end=r"\s*«</TOOLCALL>»",
        held=(_OBJECT,),
        around=("«<TOOLCALL>»[\n", ", ", "\n]«</TOOLCALL>»"),
    ),
    CallSyntax(
        "Mistral",
        begin=r"«[TOOL_CALLS]»\s*(?=\[)",
        held=(_OBJECT, '{"name": "NAME", "arguments": ARGUMENTS, "id": "ID"}'),
        around=("«[TOOL_CALLS]»[\n", ", ", "\n]"),
    ),
    CallSyntax(
        "Mistral with names",
        begin=r"«[TOOL_CALLS]»\s*" + _NAME + r"(?:«[CALL_ID]»\w+)?\s*«[ARGS]»\s*",
        reasoning=("[THINK]", "[/THINK]"),
        held=("«[TOOL_CALLS]»NAME«[ARGS]»ARGUMENTS", "«[TOOL_CALLS]»NAME«[CALL_ID]»ID«[ARGS]»ARGUMENTS"),
    ),
    CallSyntax(
        "DeepSeek",
        begin=r"(?:«<｜tool▁calls▁begin｜>»\s*)?«<｜tool▁call▁begin｜>»(?:function«<｜tool▁sep｜>»)?"
        + _NAME
        + r"(?:«<｜tool▁sep｜>»|\n```json\n)\s*",
        end=r"\s*(?:```)?\s*«<｜tool▁call▁end｜>»(?:\s*«<｜tool▁calls▁end｜>»)?",
        held=(
            "«<｜tool▁call▁begin｜>»NAME«<｜tool▁sep｜>»ARGUMENTS«<｜tool▁call▁end｜>»",
            "«<｜tool▁call▁begin｜>»function«<｜tool▁sep｜>»NAME⏎```json⏎ARGUMENTS⏎```\n«<｜tool▁call▁end｜>»",
        ),
        around=("«<｜tool▁calls▁begin｜>»", "\n", "«<｜tool▁calls▁end｜>»"),
    ),
    CallSyntax(
        "Kimi",
        begin=r"(?:«<|tool_calls_section_begin|>»\s*)?«<|tool_call_begin|>»\s*(?:functions\.)?"
        + _NAME
        + r"(?::\d+)?\s*«<|tool_call_argument_begin|>»\s*",
        end=r"\s*«<|tool_call_end|>»(?:\s*«<|tool_calls_section_end|>»)?",
        held=("«<|tool_call_begin|>»functions.NAME:ID«<|tool_call_argument_begin|>»ARGUMENTS«<|tool_call_end|>»",),
        around=("«<|tool_calls_section_begin|>»", "\n", "«<|tool_calls_section_end|>»"),
    ),
    CallSyntax(
        "Kimi K3",
        begin=r"(?:«<|open|>»tools«<|sep|>»\s*)?«<|open|>»call tool=\"" + _NAME + r"\"[^<>]*?«<|sep|>»\s*",
        argument=r"«<|open|>»argument key=\"(?P<key>[^\"]+)\"[^<>]*?«<|sep|>»"
        r"(?P<value>.*?)«<|close|>»argument«<|sep|>»\s*",
        end=r"«<|close|>»call«<|sep|>»(?:\s*«<|close|>»tools«<|sep|>»"
        r"(?:«<|close|>»message«<|sep|>»(?:«<|end_of_msg|>»)?)?)?",
        reasoning=("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
        held=('«<|open|>»call tool="NAME" index="ID"«<|sep|>»ARGUMENTS«<|close|>»call«<|sep|>»',),
        around=("«<|open|>»tools«<|sep|>»", "\n", "«<|close|>»tools«<|sep|>»«<|close|>»message«<|sep|>»"),
        written='«<|open|>»argument key="KEY" type="WORD"«<|sep|>»VALUE«<|close|>»argument«<|sep|>»\n',
        as_text='«<|open|>»argument key="KEY" type="string"«<|sep|>»VALUE«<|close|>»argument«<|sep|>»\n',
        trigger=r"(<\|open\|>tools)",
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
        held=(
            " to=functions.NAME «<|constrain|>»json«<|message|>»ARGUMENTS",
            " to=functions.NAME«<|constrain|>»json«<|message|>»ARGUMENTS",
            " to=functions.NAME«<|message|>»ARGUMENTS",
            " to=functions.NAME«<|channel|>»commentary «<|constrain|>»json«<|message|>»ARGUMENTS",
            " to=functions.NAME«<|channel|>»commentary json«<|message|>»ARGUMENTS",
        ),
        around=("", "\n", "«<|call|>»"),
        # The text comes first, so that a long reply is searched quickly; then what stands before its 14 characters.
        trigger=r"( to=functions\.)(?:(?<=\A.{14})|(?<=<\|start\|>assistant.{14})"
        r"|(?<=<\|channel\|>commentary.{14})|(?<=<\|channel\|>analysis.{14}))",
    ),
    CallSyntax(
        "Gemma",
        begin="«<|tool_call>»call:" + _NAME + r"(?=\{)",
        end="«<tool_call|>»",
        read=gemma_object,
        held=("«<|tool_call>»call:NAME{ARGUMENTS}«<tool_call|>»",),
        written="KEY:VALUE",
        as_text='KEY:«<|"|>»VALUE«<|"|>»',
        separator=",",
        quote='<|"|>',
        reasoning=("<|channel>", "<channel|>"),
    ),
    CallSyntax(
        "Command R",
        begin=r"«<|START_ACTION|>»\s*(?=\[)",
        end=r"\s*«<|END_ACTION|>»",
        reasoning=("<|START_THINKING|>", "<|END_THINKING|>"),
        held=(
            '{"tool_call_id": "ID", "tool_name": "NAME", "parameters": ARGUMENTS}',
            '{"tool_name": "NAME", "parameters": ARGUMENTS}',
        ),
        around=("«<|START_ACTION|>»[\n", ",\n", "\n]«<|END_ACTION|>»"),
    ),
    CallSyntax(
        "Functionary",
        begin="<function=" + _NAME + r">(?=\{)",
        end="</function>",
        held=("<function=NAME>ARGUMENTS</function>",),
        texts=("<function=",),
    ),
    CallSyntax(
        "Functionary 3.2",
        begin=r"(?:\A|>>>)(?!all\n)" + _NAME + r"\n(?=\{)",
        held=("NAME⏎ARGUMENTS",),
        around=("", ">>>", ""),
        trigger=r"(?:\A|>>>)((?:TOOLS)\n)",
        texts=(">>>", "TOOLS\n"),
    ),
    CallSyntax(
        "Firefunction",
        begin=r"«functools»\s*(?=\[)",
        held=(_OBJECT,),
        around=("«functools»[\n", ", ", "\n]"),
    ),
    CallSyntax(
        "GigaChat",
        begin=r"«<|function_call|>»\s*(?=\{)",
        held=(f"«<|function_call|>»{_OBJECT}",),
    ),
    CallSyntax(
        "GigaChat 3",
        begin=r"(?:«<|message_sep|>»\s*)?function call«<|role_sep|>»\s*(?=\{)",
        end=r"(?:\s*«<|message_sep|>»\s*)?",
        texts=("function call«<|role_sep|>»",),
        held=(f"function call«<|role_sep|>»\n{_OBJECT}",),
        around=("«<|message_sep|>»\n", "\n", "«<|message_sep|>»"),
        trigger=r"(<\|message_sep\|>\s*function call<\|role_sep\|>)",
    ),
    CallSyntax(
        "Apertus",
        begin=r"«<|tools_prefix|>»\s*(?=\[)",
        end=r"\s*«<|tools_suffix|>»",
        reasoning=("<|inner_prefix|>", "<|inner_suffix|>"),
        keyed=True,
        held=('{"NAME": ARGUMENTS}',),
        around=("«<|tools_prefix|>»[\n", ", ", "\n]«<|tools_suffix|>»"),
    ),
    CallSyntax(
        "Granite",
        begin=r"«<|tool_call|>»\s*(?=\[)",
        held=(_OBJECT,),
        around=("«<|tool_call|>»[\n", ", ", "\n]"),
        sign="respond only with <|tool_call|> followed by a JSON list",
    ),
    CallSyntax(
        "LFM2",
        begin=r"«<|tool_call_start|>»\s*(?=\[)",
        end=r"\s*«<|tool_call_end|>»",
        read=python_calls,
        held=("NAME(ARGUMENTS)",),
        written="KEY=VALUE",
        separator=", ",
        around=("«<|tool_call_start|>»[", ", ", "]«<|tool_call_end|>»"),
        sign="List of tools: ",
    ),
    CallSyntax(
        "MiniMax-M3",
        begin=r"(?:«]<]minimax[>[»<tool_call>\s*)?«]<]minimax[>[»<invoke name=\"" + _NAME + r"\">\s*",
        argument=r"«]<]minimax[>[»<(?P<key>[^<>/\s]+)>(?P<value>.*?)«]<]minimax[>[»</(?P=key)>\s*",
        end=r"«]<]minimax[>[»</invoke>(?:\s*«]<]minimax[>[»</tool_call>)?",
        reasoning=("<mm:think>", "</mm:think>"),
        held=('«]<]minimax[>[»<invoke name="NAME">\nARGUMENTS«]<]minimax[>[»</invoke>',),
        around=("«]<]minimax[>[»<tool_call>\n", "\n", "\n«]<]minimax[>[»</tool_call>"),
        written="«]<]minimax[>[»<KEY>VALUE«]<]minimax[>[»</KEY>\n",
        nests="]<]minimax[>[",
    ),
    CallSyntax(
        "Muse",
        begin=r"(?:«<|eom|>»)?(?:«<|start|>»assistant)? ?to=[\w.-]+«<|message|>»\s*"
        r"<atem:function_calls>\s*<atem:invoke name=\"" + _NAME + r"\">\s*",
        argument=r"<atem:parameter name=\"(?P<key>[^\"]+)\">(?P<value>.*?)</atem:parameter>\s*",
        end=r"</atem:invoke>\s*</atem:function_calls>",
        reasoning=("to=self<|message|>", "<|eom|>"),
        texts=(" to=",),
        held=(
            ' to=NAME«<|message|>»<atem:function_calls>\n<atem:invoke name="NAME">\n'
            "ARGUMENTS</atem:invoke>\n</atem:function_calls>",
        ),
        around=("", "«<|eom|>»«<|start|>»assistant", ""),
        written='<atem:parameter name="KEY">VALUE</atem:parameter>\n',
        trigger=r"\A(?:\s*to=self<\|message\|>.*?<\|eom\|>|(?!\s*to=self<\|message\|>))"
        r"(?:.*?(?:\n|<\|start\|>assistant))?"
        r"( to=(?:TOOLS)<\|message\|><atem:function_calls>)(?=[ \n\t]{0,8}\Z)",
    ),
    CallSyntax(
        "MiniCPM",
        begin=r"<function name=\"" + _NAME + r"\">\s*",
        argument=r"<param name=\"(?P<key>[^\"]+)\">(?P<quoted><!\[CDATA\[)?(?P<value>.*?)(?(quoted)\]\]>)</param>\s*",
        end="</function>",
        texts=("<function name=",),
        held=('<function name="NAME">\nARGUMENTS</function>',),
        written='<param name="KEY">VALUE</param>\n',
        as_text='<param name="KEY"><![CDATA[VALUE]]></param>\n',
    ),
    CallSyntax(
        "Hunyuan",
        begin=r"(?:«<tool_calls:opensource>»\s*)?«<tool_call:opensource>»" + _NAME + r"\s*«<tool_sep:opensource>»\s*",
        argument=r"«<arg_key:opensource>»(?P<key>.*?)«</arg_key:opensource>»\s*"
        r"«<arg_value:opensource>»(?P<value>.*?)«</arg_value:opensource>»\s*",
        end=r"«</tool_call:opensource>»(?:\s*«</tool_calls:opensource>»(?:«<｜hy_eos:opensource｜>»)?)?",
        reasoning=("<think:opensource>", "</think:opensource>"),
        held=("«<tool_call:opensource>»NAME\n«<tool_sep:opensource>»\nARGUMENTS«</tool_call:opensource>»",),
        around=("«<tool_calls:opensource>»\n", "\n", "\n«</tool_calls:opensource>»"),
        written="«<arg_key:opensource>»KEY«</arg_key:opensource>»\n"
        "«<arg_value:opensource>»VALUE«</arg_value:opensource>»\n",
    ),
    CallSyntax(
        "Solar",
        begin=r"(?:«<|end|>»)?(?:«<|begin|>»assistant)?(?:«<|tool_calls|>»)?"
        r"«<|tool_call:begin|>»\w+«<|tool_call:name|>»" + _NAME + r"«<|tool_call:args|>»\s*",
        end="«<|tool_call:end|>»",
        reasoning=("<|think|>", "<|end|>"),
        held=("«<|tool_call:begin|>»ID«<|tool_call:name|>»NAME«<|tool_call:args|>»ARGUMENTS«<|tool_call:end|>»",),
    ),
    CallSyntax(
        "Llama 3",
        begin=r"(?:«<|python_tag|>»)?\s*(?=\{)",
        held=('{"name": "NAME", "parameters": ARGUMENTS}',),
        texts=("{",),
        bare=True,
    ),
)
"""Those with the more particular begin come first."""
HERMES = next(syntax for syntax in SYNTAXES if syntax.name == "Hermes")
