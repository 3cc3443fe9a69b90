"""The options of a reply, from the fields that OpenAI's APIs share."""

from __future__ import annotations

from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from localspec.base.errors import UsageError
from localspec.engine.settings import Sampling
from localspec.runtime.messages import OFF, ON, ReplyOptions, Role
from localspec.server.failures import InvalidFieldError
from localspec.server.fields import LARGEST, Fields
from localspec.server.sampling import held_to_grammar, held_to_schema, sampling_of
from localspec.server.service import Service

MOST_REPLIES = 16
"""The most replies to one request."""
MOST_PROMPTS = 128
"""The most prompts of one request, and the most replies to all of them."""
MOST_ALTERNATIVES = 20
MOST_CHARACTERS = 1_000_000
"""The most characters of a text that is tokenized for an answer that is no reply."""
MOST_STOPS = 128
"""The most stop strings: each is looked for in every token of the reply."""
EFFORT, SWITCHES = "reasoning_effort", ("enable_thinking", "thinking")
"""The variables of templates about reasoning that a request may set."""
EFFORTS = {"none": OFF, "minimal": "low", "low": "low", "medium": "medium"} | dict.fromkeys(
    ("high", "xhigh", "max"), "high"
)
"""OpenAI's words for the effort of reasoning, each with ours."""
_FORMS = ("response_format", "json_schema", "grammar")


def pair_of(service: Service, fields: Fields) -> str:
    """The id of the pair that answers a request: its field ``model`` may have any name. Raises InvalidFieldError."""
    return service.answering(fields.text("model", ""))


def check_length(*texts: str) -> None:
    """Raise InvalidFieldError for texts that are too long to be tokenized for an answer that is no reply."""
    if sum(map(len, texts)) > MOST_CHARACTERS:
        message = f"More than {MOST_CHARACTERS:,} characters are not tokenized at once: replies would wait for it."
        raise InvalidFieldError(message, "Send the text in parts.")


async def options_of(fields: Fields, base: ReplyOptions, *limits: str) -> ReplyOptions:
    """``base`` with what a request says of sampling, length, seed and form.

    ``limits`` are the names of the field for the most tokens; the first that is there counts. Raises LocalSpecError.
    """
    given = [_limit(fields, name) for name in limits if fields.has(name)]
    max_tokens = given[0] if given else base.max_tokens
    stop = stops_of(fields, "stop", base)
    sampling = await _formed(fields, sampling_of(fields, base.sampling))
    seed, ignore_end = fields.seed(base.seed), fields.flag("ignore_eos", default=base.ignore_end)
    return replace(base, sampling=sampling, max_tokens=max_tokens, stop=stop, seed=seed, ignore_end=ignore_end)


def _limit(fields: Fields, name: str) -> int | None:
    """The most tokens of a reply; None for -1, llama-server's word for no limit."""
    with suppress(InvalidFieldError):
        limit = fields.whole(name) or 0
        if limit >= 1 or limit == -1:
            return None if limit == -1 else limit
    return fields.refuse(name, f"a whole number from 1 to {LARGEST}, or -1 for no limit")


def stops_of(fields: Fields, name: str, base: ReplyOptions) -> tuple[str, ...]:
    """The stop strings in a field, those of ``base`` if it is missing. Raises InvalidFieldError."""
    if not fields.has(name):
        return base.stop
    stops = tuple(filter(None, fields.texts(name)))
    return stops if len(stops) <= MOST_STOPS else fields.refuse(name, f"a list of at most {MOST_STOPS} texts")


def alternatives(fields: Fields, name: str) -> int | None:
    """The number of likely tokens to tell beside each; None if the field is missing. Raises InvalidFieldError."""
    top_n = fields.whole(name)
    if top_n is not None and not 0 <= top_n <= MOST_ALTERNATIVES:
        fields.refuse(name, f"a whole number from 0 to {MOST_ALTERNATIVES}")
    return top_n


def chat_alternatives(fields: Fields) -> int | None:
    """As ``alternatives``, from the two fields of chats; None unless ``logprobs`` is true. Raises InvalidFieldError."""
    top_n = alternatives(fields, "top_logprobs") or 0
    return top_n if fields.flag("logprobs") else None


def reply_count(fields: Fields, name: str = "n") -> int:
    """The number of replies that are asked for. Raises InvalidFieldError."""
    count = fields.whole(name)
    if count is None:
        return 1
    return count if 1 <= count <= MOST_REPLIES else fields.refuse(name, f"a whole number from 1 to {MOST_REPLIES}")


def seeded(options: ReplyOptions, index: int) -> ReplyOptions:
    """The options of one of several replies: each has the next seed."""
    return options if options.seed is None or not index else replace(options, seed=(options.seed + index) % 2**64)


async def _formed(fields: Fields, sampling: Sampling) -> Sampling:
    """The sampling with the form that a reply is held to, if there is one."""
    named = [name for name in _FORMS if not _is_free(name, fields.raw(name))]
    if len(named) > 1:
        raise InvalidFieldError(
            f"{' and '.join(named)} both say what the reply must be.", "Leave one of them out.", param=named[0]
        )
    match named:
        case ["response_format"]:
            format_ = fields.object("response_format") or fields.refuse("response_format", "an object")
            return await held_to_format(sampling, format_)
        case ["json_schema"]:
            schema = fields.object("json_schema") or fields.refuse("json_schema", "a JSON Schema")
            return await _about("json_schema", held_to_schema(sampling, schema.values))
        case ["grammar"]:
            return await _about("grammar", held_to_grammar(sampling, fields.text("grammar")))
    return sampling


def _is_free(name: str, form: Any) -> bool:
    """True for a value of one of ``_FORMS`` that holds a reply to nothing."""
    if name == "response_format" and isinstance(form, dict):
        return form.get("type") == "text"
    return form is None or (name == "grammar" and form == "")


async def held_to_format(sampling: Sampling, format_: Fields) -> Sampling:
    """The sampling with replies in a format: text, any JSON object, or what fits a schema. Raises InvalidFieldError."""
    kind = format_.text("type")
    within = format_.object("json_schema") or format_
    schema = within.object("schema")
    if kind == "text":
        return sampling
    if kind not in ("json_object", "json_schema"):
        format_.refuse("type", "text, json_object or json_schema")
    if kind == "json_schema" and schema is None:
        within.refuse("schema", "a JSON Schema")
    return await _about(within.at("schema"), held_to_schema(sampling, schema.values if schema else True))


async def _about(param: str, held: Awaitable[Sampling]) -> Sampling:
    """The sampling that is awaited. Raises InvalidFieldError for what no reply could be held to."""
    try:
        return await held
    except UsageError as error:
        raise InvalidFieldError(error.message, error.hint, param=param) from None


def effort_of(fields: Fields, name: str, base: str | None) -> str | None:
    """The reasoning that a field asks for, an effort in OpenAI's words; ``base`` if it is missing.

    Raises InvalidFieldError.
    """
    if not fields.has(name):
        return base
    return EFFORTS.get(fields.text(name)) or fields.refuse(name, f"one of {', '.join(EFFORTS)}")


def switched_on(base: str | None) -> str:
    """The reasoning for a request that wants some: the effort of the user's settings, if they have one."""
    return ON if base in (None, OFF) else base


def reasoning_of(fields: Fields, base: str | None) -> str | None:
    """The reasoning that the fields about the chat template ask for, ``base`` if none does.

    Raises InvalidFieldError for another template than the model's, and for values that nothing but a template knows.
    """
    if fields.raw("chat_template") not in (None, ""):
        fields.refuse("chat_template", "empty: the model's own template counts")
    if not fields.flag("add_generation_prompt", default=True) and not _goes_on(fields):
        fields.refuse("add_generation_prompt", "true: a reply follows")
    given = fields.object("chat_template_kwargs") or Fields({})
    if not given.values.keys() <= {*SWITCHES, EFFORT}:
        fields.refuse("chat_template_kwargs", f"an object with {', '.join(SWITCHES)} or {EFFORT} alone")
    reasoning = effort_of(given, EFFORT, effort_of(fields, EFFORT, base))
    switches = [given.flag(name) for name in SWITCHES if given.has(name)]
    return reasoning if not switches else switched_on(reasoning) if all(switches) else OFF


def _goes_on(fields: Fields) -> bool:
    """True if a reply is to go on with the last message, the assistant's, in the words that vLLM has for that."""
    roles = [each.raw("role") for each in fields.objects("messages")]
    return fields.raw("continue_final_message") in (True, "content") and roles[-1:] == [Role.ASSISTANT]


def wants_origins(fields: Fields) -> bool:
    """True if the reply is to tell the origins of its tokens, LocalSpec's own addition. Raises InvalidFieldError."""
    own = fields.object("localspec")
    return own is not None and own.flag("origins")


def wants_usage(fields: Fields) -> bool:
    """True if a stream is to end with the tokens of the whole. Raises InvalidFieldError."""
    about = fields.object("stream_options")
    return about is not None and about.flag("include_usage")
