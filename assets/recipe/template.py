"""The chat template: how messages, tools, calls and results are written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from turns import Chat

END, SYSTEM, USER, ASSISTANT = "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"

# Without tools the layout is the one llama.cpp calls "phi3": its built-in formatter and this Jinja template give the same text.
# Tools, calls and results have the form of Hermes and Qwen models; a tool takes one short line, since the context is short.
CHAT_TEMPLATE = """\
{%- if tools -%}
{{- '<|system|>\\n' -}}
{%- if messages and messages[0]['role'] == 'system' -%}{{- (messages[0]['content'] | trim) + '\\n\\n' -}}{%- endif -%}
{{- '<tools>\\n' -}}
{%- for tool in tools -%}
{%- if tool.function -%}{%- set tool = tool.function -%}{%- endif -%}
{{- '{"name": ' + (tool.name | tojson) + ', "parameters": [' -}}
{%- if tool.parameters and tool.parameters.properties -%}
{%- for name in tool.parameters.properties -%}{{- (name | tojson) + ('' if loop.last else ', ') -}}{%- endfor -%}
{%- endif -%}
{{- '], "description": ' + ((tool.description or '') | tojson) + '}\\n' -}}
{%- endfor -%}
{{- '</tools><|end|>\\n' -}}
{%- endif -%}
{%- for message in messages -%}
{%- if message['role'] == 'tool' -%}
{{- ('<|user|>' if loop.first or messages[loop.index0 - 1]['role'] != 'tool' else '') + '\\n<tool_response>\\n' -}}
{{- ((message['content'] or '') | trim) + '\\n</tool_response>' -}}
{{- '<|end|>\\n' if loop.last or messages[loop.index0 + 1]['role'] != 'tool' else '' -}}
{%- elif not (tools and loop.first and message['role'] == 'system') -%}
{{- '<|' + message['role'] + '|>\\n' + ((message['content'] or '') | trim) -}}
{%- for call in message['tool_calls'] or [] -%}
{%- if call.function -%}{%- set call = call.function -%}{%- endif -%}
{{- '\\n' if message['content'] or not loop.first else '' -}}
{{- '<tool_call>\\n{"name": ' + (call.name | tojson) + ', "arguments": ' -}}
{{- call.arguments if call.arguments is string else call.arguments | tojson -}}
{{- '}\\n</tool_call>' -}}
{%- endfor -%}
{{- '<|end|>\\n' -}}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|assistant|>\\n' -}}{%- endif -%}
"""


@dataclass(frozen=True)
class Tool:
    """A tool as the template lists it: its name, the names of its parameters, and what it does."""

    name: str
    parameters: tuple[str, ...]
    description: str


def listed(system: str, tools: Sequence[Tool]) -> str:
    """A system message with the tools that a chat may call."""
    lines = [
        f'{{"name": {_json(tool.name)}, "parameters": {_json(tool.parameters)}, "description": {_json(tool.description)}}}'
        for tool in tools
    ]
    return "\n".join([*([system, ""] if system else []), "<tools>", *lines, "</tools>"])


def called(name: str, arguments: Mapping[str, str]) -> str:
    """A call of a tool, as the assistant writes it."""
    return f'<tool_call>\n{{"name": {_json(name)}, "arguments": {_json(arguments)}}}\n</tool_call>'


def responded(result: str) -> str:
    """The result of a call, as a turn of the reader's."""
    return f"<tool_response>\n{result}\n</tool_response>"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def render(chat: Chat, add_generation_prompt: bool = False) -> str:
    """The chat as the template writes it."""
    text = "".join(f"<|{message['role']}|>\n{message['content'].strip()}{END}\n" for message in chat)
    return text + (f"{ASSISTANT}\n" if add_generation_prompt else "")
