"""``GET /openapi.json``: OpenAI's endpoints as a page in OpenAPI 3.1. A test holds it to the fields that are read."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from localspec import __version__
from localspec.config.kinds import LARGEST_WHOLE, Number
from localspec.config.table import find_key
from localspec.server.embeddings import MOST_TEXTS
from localspec.server.failures import STATUSES
from localspec.server.fields import LARGEST, LARGEST_ID, LARGEST_SEED
from localspec.server.openai.messages import LONGEST_NAME
from localspec.server.openai.options import EFFORT, EFFORTS, MOST_ALTERNATIVES, MOST_PROMPTS, MOST_REPLIES, SWITCHES
from localspec.server.sampling import ALL, COUNTS, LARGEST_BIAS, NUMBERS, ZEROS
from localspec.server.service import Service

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_SAID: Schema = {"type": "string", "minLength": 1}
_FLAG: Schema = {"type": ["boolean", "null"]}
_OBJECT: Schema = {"type": ["object", "null"]}
_TEXTS: Schema = {"anyOf": [{"type": ["string", "null"]}, {"type": "array", "items": _TEXT}]}
_SOME_TEXT: Schema = {"type": ["string", "null"]}


def _whole(least: int, most: int) -> Schema:
    return {"type": ["integer", "null"], "minimum": least, "maximum": most}


def _form(**properties: Schema) -> Schema:
    """An object that must have these properties."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def _nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _options(**properties: Schema) -> Schema:
    """An object that may have these properties, or null."""
    return {"type": ["object", "null"], "properties": properties}


def _list_of(schema: Schema, most: int | None = None) -> Schema:
    return {"type": "array", "minItems": 1, "items": schema} | ({"maxItems": most} if most else {})


_ID: Schema = {"type": "integer", "minimum": 0, "maximum": LARGEST_ID}
_LIMIT = _whole(-1, LARGEST) | {"not": {"const": 0}, "description": "The most tokens of a reply; -1 for no limit."}
_PARAMETERS: Schema = {"type": ["object", "null"], "description": "A JSON Schema."}
_NAME: Schema = {"type": "string", "pattern": f"^[A-Za-z0-9_.-]{{1,{LONGEST_NAME}}}$"}
_FUNCTION: Schema = {
    "type": "object",
    "properties": {"name": _NAME, "description": _SOME_TEXT, "parameters": _PARAMETERS},
    "required": ["name"],
}
_FLAT_FUNCTION: Schema = {
    "type": "object",
    "properties": {"type": {"const": "function"}, **_FUNCTION["properties"]},
    "required": ["type", "name"],
}
_OTHER_TOOL = _form(type={"type": "string", "not": {"enum": ["function", "namespace"]}})
_NO_FUNCTION = _form(type={"type": "string", "not": {"const": "function"}})
_NAMESPACE: Schema = {
    "type": "object",
    "properties": {
        "type": {"const": "namespace"},
        "name": _NAME,
        "tools": _nullable({"type": "array", "items": {"anyOf": [_FLAT_FUNCTION, _NO_FUNCTION]}}),
    },
    "required": ["type", "name"],
}
_WITH_FUNCTION = _form(type={"const": "namespace"}, tools={"contains": _FLAT_FUNCTION})
_CHOICE: Schema = {"enum": ["auto", "none", "required", None]}
_NAMED_CHOICE: Schema = _form(type={"const": "function"}, function=_form(name=_TEXT))
_MODE: Schema = {"enum": ["auto", "required"]}
_ALLOWED: Schema = _form(mode=_MODE, tools=_list_of(_NAMED_CHOICE))
_TEXT_PART = _form(type={"const": "text"}, text=_TEXT)
_DATA_URL: Schema = {"type": "string", "pattern": "^data:image/[^,]*;base64,"}
_IMAGE_PART = _form(type={"const": "image_url"}, image_url=_form(url=_DATA_URL))
_FILE_PART = _form(type={"const": "file"}, file=_form(file_data=_TEXT))
_CALL = _form(id=_TEXT, function=_form(name=_TEXT, arguments=_TEXT))
_MESSAGE: Schema = {
    "anyOf": [
        _form(role={"enum": ["system", "developer", "assistant"]}, content={"anyOf": [_TEXT, _list_of(_TEXT_PART)]}),
        _form(role={"const": "assistant"}, content={"type": "null"}),
        _form(
            role={"const": "user"},
            content={"anyOf": [_TEXT, _list_of({"anyOf": [_TEXT_PART, _IMAGE_PART, _FILE_PART]})]},
        ),
        _form(role={"const": "assistant"}, tool_calls=_list_of(_CALL)),
        _form(role={"const": "assistant"}, reasoning_content=_SAID),
        _form(role={"const": "assistant"}, refusal=_SAID),
        _form(role={"const": "tool"}, tool_call_id=_TEXT, content={"anyOf": [_TEXT, _list_of(_TEXT_PART)]}),
    ]
}
_INPUT_PART = _form(type={"enum": ["input_text", "output_text"]}, text=_TEXT)
_ITEM: Schema = {
    "anyOf": [
        _form(
            role={"enum": ["system", "developer", "user", "assistant"]},
            content={"anyOf": [_TEXT, _list_of(_INPUT_PART)]},
        ),
        _form(type={"const": "function_call"}, call_id=_TEXT, name=_TEXT, arguments=_TEXT),
        _form(type={"const": "custom_tool_call"}, call_id=_TEXT, name=_TEXT, input=_TEXT),
        _form(type={"enum": ["function_call_output", "custom_tool_call_output"]}, call_id=_TEXT, output=_TEXT),
        _form(type={"const": "web_search_call"}),
        _form(type={"const": "reasoning"}, content=_list_of(_form(type={"const": "reasoning_text"}, text=_TEXT))),
    ]
}


def _format(**schema: Schema) -> Schema:
    """The format of a reply; a JSON Schema stands in the field that is named here."""
    kinds = [_form(type={"enum": ["text", "json_object"]}), _form(type={"const": "json_schema"}, **schema)]
    return _nullable({"anyOf": kinds})


_BIAS: Schema = {
    "anyOf": [{"type": "number", "minimum": -LARGEST_BIAS, "maximum": LARGEST_BIAS}, {"const": False}],
}
_BIASES: Schema = {
    "anyOf": [
        {"type": "object", "propertyNames": {"pattern": "^[0-9]{1,9}$"}, "additionalProperties": _BIAS},
        {"type": "array", "items": {"type": "array", "prefixItems": [_ID, _BIAS], "minItems": 2, "maxItems": 2}},
        {"type": "null"},
    ],
    "description": "Token ids, each with what is added to its score; false rules it out.",
}


def _sampler(name: str, kind: object) -> Schema:
    """A number of sampling, with the range and the sentence of its setting."""
    setting = find_key(name)
    assert setting is not None
    assert isinstance(setting.kind, Number)
    least = ALL if name in COUNTS else max(setting.kind.least, -LARGEST_WHOLE)
    return {
        "type": ["integer" if kind == "int" else "number", "null"],
        "exclusiveMinimum" if setting.kind.above and name not in ZEROS else "minimum": least,
        "maximum": min(setting.kind.most, LARGEST_WHOLE),
        "description": f"{setting.description} {ALL} is all." if name in COUNTS else setting.description,
    }


_SHARED: dict[str, Schema] = {
    "model": {**_SOME_TEXT, "description": "The id of a pair; the server's own if it is missing."},
    "stream": _FLAG,
    "seed": _whole(-LARGEST_SEED, LARGEST_SEED),
    "stop": _TEXTS,
    "ignore_eos": {**_FLAG, "description": "With true, the tokens that end a reply are ruled out."},
    "logit_bias": _BIASES,
    "dry_sequence_breakers": _TEXTS,
    "response_format": _format(json_schema=_form(schema={"type": "object"})),
    "json_schema": {**_OBJECT, "description": "A JSON Schema that the reply fits."},
    "grammar": {**_SOME_TEXT, "description": "GBNF, or Lark after a line with %llguidance."},
    "localspec": {
        **_options(origins=_FLAG),
        "description": "With origins true, each part of the answer tells where its tokens came from.",
    },
    **{name: _sampler(name, kind) for name, kind in NUMBERS.items()},
}
_CHOICES: dict[str, Schema] = {
    "n": _whole(1, MOST_REPLIES),
    "n_predict": _LIMIT,
    "max_tokens": _LIMIT,
    "stream_options": _options(include_usage=_FLAG),
}
_EFFORT: Schema = {"enum": [*EFFORTS, None]}
CHAT: dict[str, Schema] = {
    "messages": _list_of(_MESSAGE),
    **_SHARED,
    **_CHOICES,
    "max_completion_tokens": _LIMIT,
    "reasoning_effort": _EFFORT,
    "chat_template_kwargs": {
        "type": ["object", "null"],
        "properties": {EFFORT: _EFFORT, **dict.fromkeys(SWITCHES, _FLAG)},
        "additionalProperties": False,
        "description": "The switches of reasoning that the templates of models have.",
    },
    "logprobs": _FLAG,
    "top_logprobs": _whole(0, MOST_ALTERNATIVES),
    "tools": _nullable({"type": "array", "items": _form(type={"const": "function"}, function=_FUNCTION)}),
    "tool_choice": {"anyOf": [_CHOICE, _NAMED_CHOICE, _form(type={"const": "allowed_tools"}, allowed_tools=_ALLOWED)]},
    "parallel_tool_calls": _FLAG,
}
"""The fields of ``/v1/chat/completions``."""
TEXT: dict[str, Schema] = {
    "prompt": {"anyOf": [_SAID, _list_of(_SAID, MOST_PROMPTS), _list_of(_ID), _list_of(_list_of(_ID), MOST_PROMPTS)]},
    **_SHARED,
    **_CHOICES,
    "suffix": {**_SOME_TEXT, "description": "The text after a gap, where the model can fill one."},
    "echo": _FLAG,
    "logprobs": {"anyOf": [_whole(0, MOST_ALTERNATIVES), {"const": False}]},
    "best_of": {**_whole(1, MOST_REPLIES), "description": "The same as n."},
}
"""The fields of ``/v1/completions``."""
RESPONSE: dict[str, Schema] = {
    "input": {"anyOf": [_TEXT, _list_of(_ITEM)]},
    **_SHARED,
    "instructions": _SOME_TEXT,
    "max_output_tokens": _LIMIT,
    "reasoning": _options(effort=_EFFORT),
    "metadata": _OBJECT,
    "text": _options(format=_format(schema={"type": "object"})),
    "tools": {
        "anyOf": [
            {"type": "array", "items": _FLAT_FUNCTION},
            {
                "type": "array",
                "items": {"anyOf": [_FLAT_FUNCTION, _NAMESPACE, _OTHER_TOOL]},
                "contains": {"anyOf": [_FLAT_FUNCTION, _WITH_FUNCTION]},
            },
            {"type": "null"},
        ],
        "description": "Functions, also in namespaces; tools of other kinds beside them are left out.",
    },
    "tool_choice": {
        "anyOf": [
            _CHOICE,
            _form(type=_TEXT, name=_TEXT),
            _form(type={"const": "allowed_tools"}, mode=_MODE, tools=_list_of(_form(type=_TEXT, name=_TEXT))),
        ]
    },
    "parallel_tool_calls": _FLAG,
}
"""The fields of ``/v1/responses``."""
INPUT_TOKENS: dict[str, Schema] = {
    name: RESPONSE[name]
    for name in ("input", "model", "instructions", "reasoning", "tools", "tool_choice", "parallel_tool_calls")
}
"""The fields of ``/v1/responses/input_tokens``."""
EMBEDDINGS: dict[str, Schema] = {
    "input": {"anyOf": [_TEXT, _list_of(_TEXT, MOST_TEXTS)]},
    "model": {**_SOME_TEXT, "description": "The file of an embedding model; the smallest if there is none so named."},
    "encoding_format": {"enum": ["float", "base64", None]},
    "dimensions": {**_whole(1, LARGEST), "description": "Those that the model's embeddings have."},
}
"""The fields of ``/v1/embeddings``."""

POSTS: tuple[tuple[str, str, dict[str, Schema]], ...] = (
    ("/v1/chat/completions", "Reply to a conversation.", CHAT),
    ("/v1/completions", "Go on with a text.", TEXT),
    ("/v1/responses", "Reply to a conversation; nothing is stored.", RESPONSE),
    ("/v1/responses/input_tokens", "Count the tokens of a conversation.", INPUT_TOKENS),
    ("/v1/embeddings", "Give the embeddings of texts.", EMBEDDINGS),
)
"""Path, sentence and fields of each; the first field must be there."""


async def openapi_page(service: Service, request: Request) -> Response:
    """The page."""
    paths = {path: {"post": _post(about, fields)} for path, about, fields in POSTS}
    name = {"name": "model", "in": "path", "required": True, "schema": _TEXT}
    paths["/v1/models"] = {"get": {"summary": "List the pairs.", "responses": _answers()}}
    paths["/v1/models/{model}"] = {"get": {"summary": "Show a pair.", "parameters": [name], "responses": _answers()}}
    return JSONResponse(
        {
            "openapi": "3.1.0",
            "info": {"title": "LocalSpec", "version": __version__, "summary": "OpenAI's API over local pairs."},
            "paths": paths,
            "components": {"schemas": {"Error": _form(error=_form(message=_TEXT, type=_TEXT))}},
        }
    )


def _post(about: str, fields: dict[str, Schema]) -> Schema:
    body = {"type": "object", "properties": fields, "required": [next(iter(fields))]}
    content = {"application/json": {"schema": body}}
    return {
        "summary": about,
        "requestBody": {"required": True, "content": content},
        "responses": _answers("text/event-stream") if "stream" in fields else _answers(),
    }


def _answers(*more: str) -> Schema:
    """The answers of an endpoint, by status; ``more`` are further types of the good one."""
    failed = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    good = {"application/json": {"schema": {"type": "object"}}, **{kind: {} for kind in more}}
    statuses = sorted({401, 405, 413, 500, *STATUSES.values()})
    return {
        "200": {"description": "The answer.", "content": good},
        **{f"{int(status)}": {"description": "A sentence in error.message.", "content": failed} for status in statuses},
    }
